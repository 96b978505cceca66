// The page of the service: asks for the overview of a world every few seconds and shows it; switches modes after a confirmation.
import { get, post } from "./api.js";
import { calibration, resize, rewards, shares } from "./charts.js";
import { graph, knownness } from "./graph.js";
import { MODES, ago, make, number, pairs, percent, ruleWords } from "./words.js";
import { build } from "./what-if.js";

const EVERY = 3000;
const FEW = 8;
const CLAIMS = 5;
const by = (id) => document.getElementById(id);
const pick = by("world");
let last = null;
let built = null;
let drawn = "";
let wide = false;
let waiting = null;

const path = (rest) => `/v1/${encodeURIComponent(pick.value)}${rest}`;

async function refresh() {
  const asked = pick.value;
  // A service that takes its time is not asked again meanwhile.
  if (waiting === asked) return;
  waiting = asked;
  try {
    const given = await get(path("/overview"));
    if (asked !== pick.value) return;
    by("trouble").hidden = true;
    show(given);
  } catch (wrong) {
    trouble(wrong instanceof TypeError ? "The service does not answer. What is shown may be old." : wrong.message);
  } finally {
    if (waiting === asked) waiting = null;
  }
}

function trouble(words) {
  by("trouble").textContent = words;
  by("trouble").hidden = false;
}

function show(given) {
  last = given;
  const { world } = given;
  const mode = world.standing.mode;
  by("sentence").textContent = world.sentence.replaceAll(" %", "\u00a0%");
  by("mode-badge").textContent = mode;
  by("mode-badge").className = `badge ${mode}`;
  by("stop").textContent = mode === "stop" ? "Go on" : "Stop";
  numbers(given);
  if (built !== world.name) {
    build(by("what-if"), by("what-if-answer"), world, given.decisions[0]?.answer.intervention, path("/what-if"));
    by("what-if-answer").replaceChildren();
    const choice = (name, value) => make("option", { value }, name);
    by("share-of").replaceChildren(choice("why it was decided so", ""), ...world.names.levers.map((l) => choice(l.name, l.name)));
    if (world.names.levers.length) by("share-of").value = world.names.levers[0].name;
    built = given.decisions.length ? world.name : null;
  }
  modes(mode);
  // Charts are drawn anew only when something changed, so that a pointer resting on one is not disturbed.
  const parts = JSON.stringify([given.rewards, given.shares, given.calibration, given.mechanisms]);
  if (parts !== drawn) {
    drawn = parts;
    charts(given);
  }
  promises(world, given.graph_watch);
  recent(given.decisions);
  const { version, hash } = world.policy;
  by("policy").textContent = `Policy ${version}${world.standing.pinned ? " (pinned)" : ""}, ${hash}. Learner: ${world.learner}.`;
  by("refreshed").textContent = `Charts show the last ${number(world.window.decisions)} decisions. As of ${new Date().toLocaleTimeString("en-GB")}.`;
}

function charts(given) {
  rewards(by("reward"), by("reward-names"), given.rewards);
  share();
  calibration(by("calibration"), given.calibration);
  graph(by("graph"), given.graph, given.mechanisms);
  known(given.mechanisms);
}

function share() {
  const of = by("share-of").value;
  shares(by("shares"), by("share-names"), last.shares.to, of ? (last.shares.levers[of] ?? {}) : last.shares.why);
}

function numbers(given) {
  const { world } = given;
  const settled = given.decisions.filter((d) => d.settled).length;
  const all = [
    ["decisions, lately", world.window.decisions],
    ["episodes seen to their end, lately", world.window.episodes],
    ["waiting, of the last decisions", given.decisions.length - settled],
    ["events in the log", world.log.events],
    ["events learned from", world.log.learned_events],
    ["expected of an episode", world.expected?.policy?.mean],
    ["the same, baseline", world.expected?.baseline?.mean],
  ];
  by("numbers").replaceChildren(...all.filter(([, v]) => v !== null && v !== undefined).map(([name, v]) => make("div", {}, make("dt", {}, name), make("dd", {}, number(v)))));
}

function head(...names) {
  return make("thead", {}, make("tr", {}, ...names.map(([name, kind]) => make("th", { scope: "col", class: kind ?? "" }, name))));
}

function known(mechanisms) {
  const cell = (text) => make("td", { class: "number" }, text);
  const rows = mechanisms.map((m) => {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${Math.round(80 * knownness(m.rows, m.visits))}px`;
    return make("tr", {}, make("td", {}, `${m.of} of ${m.names.join(", ")}`), cell(`${number(m.rows_seen)} of ${number(m.rows)}`), cell(number(m.visits)), cell(number(m.visits_per_row)), make("td", {}, bar));
  });
  if (rows.length === 0) rows.push(make("tr", {}, make("td", { colspan: "5" }, "Everything was given: there is nothing to learn.")));
  by("known").replaceChildren(head(["what is learned"], ["rows met", "number"], ["visits", "number"], ["visits of a row", "number"], ["known"]), make("tbody", {}, ...rows));
}

function promises(world, watch) {
  const lines = world.shares.map((rule) => make("p", {}, ruleWords(rule)));
  const say = (text) => lines.push(make("p", { class: "nothing" }, text));
  if (world.shares.length === 0) say("No least or greatest share is kept (dowise serve --share).");
  const kept = world.baseline_kept;
  if (kept) {
    const now = kept.allows_another ? "The next episode may follow the policy." : "The next episode follows the baseline: what episodes paid does not yet allow another one of the policy.";
    lines.push(
      make("p", { id: "kept" }, `The baseline is kept: with ${+(100 * (1 - kept.delta)).toPrecision(4)} % confidence, at all times together, all episodes are worth at least ${+(100 * (1 - kept.alpha)).toPrecision(4)} % of what the baseline would have returned, measured from the least that an episode can pay. The baseline decided in ${number(kept.of_baseline)} of ${number(kept.episodes)} episodes. ${now}`),
    );
  } else say("The baseline is not promised to be kept (dowise serve --alpha).");
  const promised = world.expected?.promised;
  if (promised) {
    const share = promised.share === null ? "" : `, ${percent(promised.share)} of the way from interventions at random to the best`;
    lines.push(
      make("p", { id: "certificate" }, `With ${+(100 * (1 - promised.delta)).toPrecision(4)} % confidence, at all times together: the policy pays at least ${number(promised.at_least)} an episode, and the best policy exceeds it by at most ${number(promised.gap)}${share}. This holds if the graph is right and the world does not change.${watch.contradicted ? " The graph is contradicted, so do not rely on it." : ""}`),
    );
  } else say("Nothing can be promised of the policy yet, or the world is too large to say it while it runs.");
  by("promises").replaceChildren(...lines);
  watched(watch);
}

// What bets have made of their stake, against what would contradict a claim: the bar is full there.
function watched(watch) {
  by("graph-watch").textContent = watch.sentence;
  by("graph-watch").className = watch.contradicted ? "alarm" : "";
  const rows = (watch.claims ?? []).slice(0, CLAIMS).map(({ claim, log_e }) => {
    const bar = make("span", { class: log_e >= watch.bar ? "bar bad" : "bar" });
    bar.style.width = `${Math.round(80 * Math.min(1, Math.max(0, log_e / watch.bar)))}px`;
    return make("tr", {}, make("td", {}, claim), make("td", { class: "number" }, number(Math.exp(log_e))), make("td", {}, bar));
  });
  by("claims-of").hidden = rows.length === 0;
  by("claims-of").firstElementChild.textContent = `The ${rows.length} most doubtful claims, of ${number(watch.n_claims ?? 0)}`;
  by("claims").replaceChildren(head(["claim"], ["a bet of 1 became", "number"], ["doubt"]), make("tbody", {}, ...rows));
}

function recent(all) {
  const more = by("more");
  more.hidden = all.length <= FEW || wide;
  more.textContent = `Show ${all.length - FEW} more`;
  const rows = all.slice(0, wide ? all.length : FEW).map(({ at, state, answer, observed }) => {
    const keys = Object.fromEntries(Object.entries(observed?.keys ?? {}).filter(([, value]) => value !== null));
    const paid = Object.values(observed?.rewards ?? {}).filter((value) => value !== null);
    return make(
      "tr",
      {},
      make("td", { class: "short" }, ago(at)),
      make("td", { class: "name" }, answer.episode_id),
      make("td", { class: "number" }, String(answer.stage)),
      make("td", {}, pairs(state)),
      make("td", {}, pairs(answer.intervention)),
      make("td", { class: `why-${answer.why}` }, answer.why, answer.guardrails?.length ? ` (${answer.guardrails.join(", ")})` : ""),
      make("td", { class: "number" }, percent(answer.propensity)),
      make("td", {}, Object.keys(keys).length ? pairs(keys) : "waiting"),
      make("td", { class: "number" }, paid.length ? number(paid.reduce((sum, value) => sum + value, 0)) : "–"),
    );
  });
  by("recent").replaceChildren(
    head(["when"], ["episode"], ["stage", "number"], ["state"], ["intervention"], ["why"], ["propensity", "number"], ["came of it"], ["reward", "number"]),
    make("tbody", {}, ...rows),
  );
}

function modes(current) {
  const form = by("modes");
  if (form.contains(document.activeElement) || form.dataset.shown === current) return;
  form.dataset.shown = current;
  form.replaceChildren(
    make(
      "fieldset",
      {},
      ...MODES.map(([name, means]) => make("label", {}, make("input", { type: "radio", name: "mode", value: name, checked: name === current }), make("span", {}, name, make("small", {}, means)))),
    ),
    make("button", { type: "submit" }, "Switch"),
  );
}

async function switchTo(mode) {
  const means = MODES.find(([name]) => name === mode)[1];
  if (!(await confirmed(`Switch ${last?.world.title ?? pick.value} to ${mode}? ${means}`, mode === "stop" ? "Stop" : `Switch to ${mode}`))) return;
  try {
    await post(path("/mode"), { mode });
    by("modes").dataset.shown = "";
  } catch (wrong) {
    trouble(wrong.message);
    return;
  }
  await refresh();
}

function confirmed(question, yes) {
  const dialog = by("confirm");
  by("confirm-text").textContent = question;
  by("confirm-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

// Stopping works even where nothing could be shown yet.
by("stop").addEventListener("click", () => pick.value && switchTo(last?.world.standing.mode === "stop" ? "online" : "stop"));
by("modes").addEventListener("submit", (event) => {
  event.preventDefault();
  const mode = new FormData(event.target).get("mode");
  document.activeElement?.blur();
  if (mode && last && mode !== last.world.standing.mode) switchTo(mode);
});
by("more").addEventListener("click", () => {
  wide = true;
  recent(last.decisions);
  by("recent").parentElement.focus();
});
by("share-of").addEventListener("change", () => last && share());
pick.addEventListener("change", () => {
  drawn = "";
  built = null;
  last = null;
  by("modes").dataset.shown = "";
  refresh();
});
new ResizeObserver(resize).observe(by("main"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => last && charts(last));

const worlds = await get("/v1").catch((wrong) => {
  trouble(wrong.message);
  return [];
});
for (const world of worlds) pick.append(make("option", { value: world.name }, world.title ?? world.name));
if (pick.value) {
  await refresh();
  setInterval(() => document.visibilityState === "visible" && refresh(), EVERY);
} else {
  by("sentence").textContent = "No world is served.";
}
