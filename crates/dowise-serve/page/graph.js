// The causal graph in columns: states and levers, key variables by depth, next states, rewards. An arrow is as thick as it is believed to act, and
// as dark as that is known.
import { draw, number, percent } from "./words.js";

const ROW = 30;
const HIGH = 22;
const GAP = 70;

/** How much is known of what an arrow leads to, 0 to 1: given is 1, else by visits for each row. */
export function knownness(rows, visits) {
  if (visits === null || visits === undefined) return 1;
  const each = visits / Math.max(1, rows ?? 1);
  return each / (each + 10);
}

export function graph(holder, given, mechanisms) {
  const columns = layers(given);
  const rows = new Map(mechanisms.flatMap((m) => m.names.map((name) => [m.of === "transition" ? `${name} next` : name, m.rows])));
  const widths = columns.map((column) => 18 + 7.3 * Math.max(4, ...column.map((n) => n.name.length)));
  const high = Math.max(...columns.map((c) => c.length)) * ROW + 34;
  const at = new Map();
  let x = 4;
  columns.forEach((column, c) => {
    const top = (high - 24 - column.length * ROW) / 2 + 22;
    column.forEach((node, i) => at.set(node.name, { ...node, x, y: top + i * ROW, width: widths[c], column: c }));
    x += widths[c] + GAP;
  });
  const wide = x - GAP + 4;
  const picture = draw("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img" });
  const words = draw("title");
  words.textContent = given.edges.map(believed).join("; ");
  picture.append(words);
  const visits = new Map();
  for (const arrow of given.edges) {
    const [from, to] = [at.get(arrow.from), at.get(arrow.to)];
    visits.set(arrow.to, arrow.visits);
    if (from && to) picture.append(edge(from, to, arrow, 0.15 + 0.8 * knownness(rows.get(arrow.to), arrow.visits)));
  }
  for (const node of at.values()) {
    const box = draw("g", { class: `node ${node.kind}` });
    const text = draw("text", { x: node.x + node.width / 2, y: node.y + 15, "text-anchor": "middle" });
    text.textContent = node.name;
    const tip = draw("title");
    const seen = visits.get(node.name);
    tip.textContent = seen === undefined ? node.name : seen === null ? `${node.name}: given` : `${node.name}: seen ${number(seen)} times`;
    box.append(tip, draw("rect", { x: node.x, y: node.y, width: node.width, height: HIGH, rx: 5 }), text);
    picture.append(box);
  }
  holder.replaceChildren(picture);
}

/** Columns of nodes. A key or hidden variable stands one column after the last of its parents of that kind. */
function layers(given) {
  const inner = new Set(given.nodes.filter((n) => n.kind === "key" || n.kind === "hidden").map((n) => n.name));
  const parents = new Map([...inner].map((name) => [name, []]));
  for (const { from, to } of given.edges) if (inner.has(from) && inner.has(to)) parents.get(to).push(from);
  const depth = new Map();
  const deep = (name) => {
    if (!depth.has(name)) {
      depth.set(name, 0);
      depth.set(name, Math.max(0, ...parents.get(name).map((p) => deep(p) + 1)));
    }
    return depth.get(name);
  };
  const columns = [given.nodes.filter((n) => n.kind === "state" || n.kind === "lever")];
  for (const node of given.nodes.filter((n) => inner.has(n.name))) (columns[1 + deep(node.name)] ??= []).push(node);
  columns.push(given.nodes.filter((n) => n.kind === "next" || n.kind === "reward"));
  return columns.filter((column) => column?.length);
}

/** What is believed of an arrow. */
function believed({ from, to, strength, visits }) {
  const known = visits === null ? "given" : `seen ${number(visits)} times`;
  return strength === null ? `${from} on ${to}: not known yet (${known})` : `${from} changes ${to} by up to ${percent(strength)} (${known})`;
}

function edge(from, to, arrow, dark) {
  const same = from.column === to.column;
  const [x1, y1] = [from.x + from.width, from.y + HIGH / 2];
  const [x2, y2] = [same ? to.x + to.width : to.x, to.y + HIGH / 2];
  const bend = same ? 40 : Math.max(24, (x2 - x1) / 2);
  const path = same ? `M${x1},${y1} C${x1 + bend},${y1} ${x2 + bend},${y2} ${x2 + 6},${y2}` : `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2 - 6},${y2}`;
  const tip = same ? `${x2},${y2} ${x2 + 7},${y2 - 3.5} ${x2 + 7},${y2 + 3.5}` : `${x2},${y2} ${x2 - 7},${y2 - 3.5} ${x2 - 7},${y2 + 3.5}`;
  const words = draw("title");
  words.textContent = believed(arrow);
  const line = draw("path", { class: arrow.strength === null ? "arrow unknown" : "arrow", d: path, "stroke-width": (0.8 + 3.2 * (arrow.strength ?? 0)).toFixed(2) });
  return draw("g", { opacity: dark.toFixed(2) }, words, line, draw("polygon", { class: "tip", points: tip }));
}
