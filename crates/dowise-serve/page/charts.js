// Charts: reward and shares over decisions (uPlot), predictions against what came true (SVG).
import { draw, make, number, percent } from "./words.js";

const COLOURS = ["--one", "--two", "--three", "--four", "--five", "--six", "--rest"];
const HEIGHT = 230;
const plots = new Map();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The colour at a part of its strength. */
function faint(name, alpha) {
  return `${colour(name)}${Math.round(alpha * 255).toString(16).padStart(2, "0")}`;
}

/** Draws a plot anew in its place; where there is nothing to draw, says so. */
function place(holder, data, options) {
  plots.get(holder)?.destroy();
  plots.delete(holder);
  holder.replaceChildren();
  if (data[0].length === 0) {
    holder.append(make("p", { class: "nothing" }, "Nothing yet."));
    return;
  }
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
  const all = {
    width: holder.clientWidth || 320,
    height: HEIGHT,
    cursor: { drag: { x: false, y: false } },
    ...options,
    // Room for the last time below the axis.
    padding: [null, 28, null, null],
    axes: options.axes.map((own) => ({ ...axis, ...own })),
  };
  plots.set(holder, new uPlot(all, data, holder));
}

export function resize() {
  for (const [holder, plot] of plots) plot.setSize({ width: holder.clientWidth, height: HEIGHT });
}

/** Where a bin stands on the axis: numbers of bins, labelled with the time of day or the date of their last decision. */
function times(bins) {
  const span = bins.length ? bins[bins.length - 1] - bins[0] : 0;
  const format = span > 36 * 3.6e6 ? { month: "short", day: "numeric" } : span > 10 * 6e4 ? { hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit", second: "2-digit" };
  return bins.map((ms) => new Date(ms).toLocaleString("en-GB", format));
}

/** What episodes paid, with intervals; beside it what policy and baseline are expected to pay by all that was learned. */
export function rewards(holder, list, given) {
  const points = given.points;
  const labels = times(points.map((point) => point.to));
  const data = [points.map((_, i) => i + 1), points.map((p) => p.mean), points.map((p) => p.high), points.map((p) => p.low)];
  const edge = { stroke: "transparent", points: { show: false } };
  const series = [{}, { label: "paid", stroke: colour("--one"), width: 2, points: { size: 5 } }, edge, edge];
  const words = [];
  const line = (name, tint, expected) => {
    if (!expected) return;
    data.push(points.map(() => expected.mean));
    series.push({ label: name, stroke: colour(tint), width: 1.5, dash: [6, 4], points: { show: false } });
    words.push(make("li", { class: name }, `${name}, expected of an episode: ${number(expected.mean)} (${number(expected.low)} to ${number(expected.high)})`));
  };
  if (given.paid) words.push(make("li", { class: "paid" }, `paid, the last ${number(given.paid.n)} episodes: ${number(given.paid.mean)} (${number(given.paid.low)} to ${number(given.paid.high)})`));
  line("policy", "--three", given.expected?.policy);
  line("baseline", "--two", given.expected?.baseline);
  place(holder, data, {
    legend: { show: false },
    series,
    bands: [{ series: [2, 3], fill: faint("--one", 0.18) }],
    scales: { x: { time: false } },
    axes: [{ values: (_, ticks) => ticks.map((i) => (Number.isInteger(i) ? (labels[i - 1] ?? "") : "")), space: 70 }, { values: (_, ticks) => ticks.map((v) => String(+v.toPrecision(6))), size: 60 }],
  });
  list.replaceChildren(...words);
}

/** Shares of a lever's values, or of the reasons of decisions, stacked to 100 %. */
export function shares(holder, list, at, given) {
  const labels = times(at);
  const names = Object.keys(given).filter((name) => given[name].some((share) => share > 0));
  const sums = at.map(() => 0);
  const stacked = names.map((name) => given[name].map((value, i) => (sums[i] += value)));
  const tint = (k) => COLOURS[Math.min(k, COLOURS.length - 1)];
  // The highest line is drawn first, so that each area covers the rest of the one above it.
  const order = names.map((_, k) => names.length - 1 - k);
  place(holder, [at.map((_, i) => i + 1), ...order.map((k) => stacked[k])], {
    legend: { show: false },
    series: [{}, ...order.map((k) => ({ label: names[k], stroke: colour(tint(k)), fill: faint(tint(k), 1), width: 1, points: { show: false } }))],
    scales: { x: { time: false }, y: { range: [0, 1] } },
    axes: [{ values: (_, ticks) => ticks.map((i) => (Number.isInteger(i) ? (labels[i - 1] ?? "") : "")), space: 70 }, { values: (_, ticks) => ticks.map((v) => `${Math.round(100 * v)} %`), size: 60 }],
  });
  const last = at.length - 1;
  list.replaceChildren(...names.map((name, k) => make("li", { class: k > 5 ? "rest" : "" }, `${name}: ${percent(given[name][last])} lately`)));
}

/** One small picture for each key variable's value: predicted probability against how often it came true, with intervals. */
export function calibration(holder, all) {
  if (all.length === 0) {
    holder.replaceChildren(make("p", { class: "nothing" }, "Nothing yet: no key variable was observed."));
    return;
  }
  // With two values the second says all there is to say.
  const size = new Map(all.map((one) => [one.key, all.filter((other) => other.key === one.key).length]));
  const shown = all.filter((one, i) => size.get(one.key) > 2 || all.findIndex((other) => other.key === one.key) !== i || size.get(one.key) === 1);
  holder.replaceChildren(
    ...shown.map((one) => {
      const scale = (p) => 26 + 118 * p;
      const flip = (p) => 150 - scale(p);
      const picture = draw("svg", { viewBox: "0 0 150 152", role: "img", "aria-label": describe(one) });
      picture.append(
        draw("rect", { class: "axis", x: scale(0), y: flip(1), width: 118, height: 118 }),
        draw("line", { class: "axis", x1: scale(0), y1: flip(0), x2: scale(1), y2: flip(1) }),
      );
      for (const [p, anchor] of [[0, "start"], [1, "end"]]) {
        const across = draw("text", { class: "soft", x: scale(p), y: 140, "text-anchor": anchor });
        const up = draw("text", { class: "soft", x: 22, y: flip(p) + (p ? 10 : 0), "text-anchor": "end" });
        across.textContent = up.textContent = String(p);
        picture.append(across, up);
      }
      const most = Math.max(...one.points.map((bin) => bin.n));
      for (const bin of one.points) {
        const x = scale(bin.predicted);
        const tip = draw("title");
        tip.textContent = `predicted ${percent(bin.predicted)}, observed ${percent(bin.observed)} of ${number(bin.n)}`;
        picture.append(
          draw("line", { x1: x, x2: x, y1: flip(bin.low), y2: flip(bin.high), stroke: colour("--one"), "stroke-width": 1.5 }),
          draw("circle", { cx: x, cy: flip(bin.observed), r: 2 + 3 * Math.sqrt(bin.n / most), fill: colour("--one") }, tip),
        );
      }
      return make("figure", {}, make("figcaption", {}, `${one.key} = ${one.value}`), picture);
    }),
  );
}

function describe(one) {
  const parts = one.points.map((bin) => `predicted ${percent(bin.predicted)}, observed ${percent(bin.observed)}`);
  return `${one.key} = ${one.value}: ${parts.join("; ")}`;
}
