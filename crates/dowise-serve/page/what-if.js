// The what-if panel: choose a state and an intervention, see what it sets off and what would be best.
import { post } from "./api.js";
import { make, number, pairs, percent } from "./words.js";

/** Builds the form for a world; levers begin as in `like`, an intervention that was made. */
export function build(form, answer, world, like, path) {
  const choose = (kind, variable, first, chosen) => {
    const options = variable.values.map((value) => make("option", { value, selected: value === chosen }, value));
    if (first) options.unshift(make("option", { value: "", selected: chosen === undefined }, first));
    return make("label", {}, variable.name, make("select", { name: `${kind}:${variable.name}` }, ...options));
  };
  const stages = Array.from({ length: world.horizon }, (_, i) => String(i + 1));
  form.replaceChildren(
    make("fieldset", {}, make("legend", {}, "State"), make("div", { class: "fields" }, ...world.names.state.map((f) => choose("state", f)), choose("at", { name: "stage", values: stages }))),
    make("fieldset", {}, make("legend", {}, "Intervention"), make("div", { class: "fields" }, ...world.names.levers.map((l) => choose("lever", l, "left alone", like?.[l.name])))),
    make("button", { type: "submit" }, "What would happen?"),
  );
  form.onsubmit = async (event) => {
    event.preventDefault();
    const asked = { state: {}, intervention: {} };
    for (const [name, value] of new FormData(form)) {
      const [kind, variable] = [name.slice(0, name.indexOf(":")), name.slice(name.indexOf(":") + 1)];
      if (kind === "at") asked.stage = Number(value);
      else if (kind === "state") asked.state[variable] = value;
      else if (value !== "") asked.intervention[variable] = value;
    }
    try {
      show(answer, await post(path, asked));
    } catch (wrong) {
      answer.replaceChildren(make("p", { role: "alert" }, wrong.message));
    }
  };
}

function show(answer, given) {
  const column = (title, one, best) =>
    make(
      "div",
      {},
      make("h3", {}, title),
      make("p", {}, pairs(one.intervention)),
      make("p", {}, `Expected from here to the end: ${number(one.expected_value)}`),
      distributions(one.expected_keys, best),
    );
  const parts = [["What you chose", given.asked], ["What is best", given.best], ["The baseline", given.baseline]];
  answer.replaceChildren(make("div", { class: "columns" }, ...parts.filter(([, one]) => one).map(([title, one]) => column(title, one, one === given.best))));
}

function distributions(all, best) {
  const rows = Object.entries(all ?? {}).flatMap(([name, values]) =>
    Object.entries(values).map(([value, p], i) => {
      const bar = make("span", { class: best ? "bar best" : "bar" });
      bar.style.width = `${Math.round(80 * p)}px`;
      return make("tr", {}, make("td", {}, i ? "" : name), make("td", {}, value), make("td", { class: "number" }, percent(p)), make("td", {}, bar));
    }),
  );
  return rows.length ? make("table", {}, make("tbody", {}, ...rows)) : null;
}
