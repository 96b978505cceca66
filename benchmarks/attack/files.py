"""World file, log and policy as files."""

import json

import numpy as np
from values import terminal_states
from worlds import dirichlet


def listed(x):
    return json.dumps(np.asarray(x).tolist())


def mechanism(rng, w, n, numbers):
    """Numbers of a mechanism for the world file: none, the true ones, or wrong ones."""
    if numbers is None:
        return None
    if numbers == "true":
        return w.table[n]
    return dirichlet(rng, [w.cards[p] for p in w.said[n]], w.table[n].shape[-1], 1.0)


def world_text(rng, w, numbers=None):
    values = lambda n: json.dumps([f"v{i}" for i in range(w.cards[n])])
    out = ["dowise = 1", 'name = "attack"', f"horizon = {w.horizon}"]
    out += [f"discount = {w.discount}"] if w.discount < 1 else []
    if w.ends_said:
        out.append(f'ends = {{ when = {{ s0 = "v{w.cards["s0"] - 1}" }} }}')
    for s in w.states:
        p = mechanism(rng, w, s, numbers)
        out += ["", f"[state.{s}]", f"values = {values(s)}", f"scope = {json.dumps(w.said[s])}"]
        out += [f"start = {listed(w.start[s])}"] + ([f"next = {{ p = {listed(p)} }}"] if p is not None else [])
    for a in w.levers:
        out += ["", f"[lever.{a}]", f"values = {values(a)}"]
        out += [f"cost = {{ v{w.cards[a] - 1} = {w.cost[a]} }}"] if a in w.cost else []
        out += [f"parents = {json.dumps(w.lever_parents[a])}"] if a in w.lever_parents else []
        out += [f"p = {listed(w.table[a])}"] if w.alone and numbers == "true" else []
    out += ["", "[interventions]", 'set = "any"'] if w.alone else []
    for k in w.keys:
        p = mechanism(rng, w, k, numbers)
        out += ["", f"[key.{k}]", f"values = {values(k)}", f"parents = {json.dumps(w.said[k])}"]
        out += ['learn = "logit"'] if w.form[k] == "logit" else []
        out += [f"p = {listed(p)}"] if p is not None else []
    if w.hidden_said:
        out += ["", "[hidden.u]", f"values = {values('u')}", "parents = []"]
        out += [f"p = {listed(w.p_hidden)}"] if numbers is not None else []
    for r in w.terms:
        out += ["", f"[reward.{r}]", f"scope = {json.dumps(w.said[r])}", f"range = {list(w.range[r])}"]
        out += ["random = true"] if w.random[r] else []
        if numbers is not None:
            mean = w.table[r] @ w.amounts[r]
            if numbers != "true":
                mean = rng.uniform(*w.range[r], size=[w.cards[p] for p in w.said[r]])
            out.append(f"value = {listed(mean)}")
    return "\n".join(out) + "\n"


def write_log(rng, path, w, log, binned, always_next):
    """CSV of a log. `always_next`: next values in every row, not only where no row follows."""
    columns = (
        ["episode", "stage"]
        + w.states
        + w.levers
        + (["set." + a for a in w.levers] if w.alone else [])
        + w.keys
        + ["reward." + r for r in w.terms]
    )
    columns += ["next." + s for s in w.states] + ["end"]
    there = set(zip(log["episode"].tolist(), log["stage"].tolist()))
    last = np.array(
        [always_next or (e, h + 1) not in there for e, h in zip(log["episode"].tolist(), log["stage"].tolist())]
    )

    def cell(c, i):
        x = log[c][i]
        if c.startswith("next.") and not last[i]:
            return ""
        if c in ("episode", "stage", "end") or c.startswith("set."):
            return str(x)
        if c.startswith("reward."):
            return "" if np.isnan(x) else repr(round(float(x), 6))
        if c.removeprefix("next.") in binned:  # a number between 10 x value and 10 x value + 10
            return "" if x < 0 else f"{10 * x + (i * 7919 % 1000) / 100:.2f}"
        return "" if x < 0 else f"v{x}"

    with open(path, "w", encoding="utf-8") as f:
        f.write(",".join(columns) + "\n")
        f.writelines(",".join(cell(c, i) for c in columns) + "\n" for i in range(len(log["stage"])))


def map_text(w, binned):
    return "".join(
        f"[bins.{n}]\nedges = {[10 * i for i in range(1, w.cards[n])]}\n"
        f"labels = {json.dumps([f'v{i}' for i in range(w.cards[n])])}\n"
        for n in binned
    )


def read_policy(w, rules):
    """Policy of an answer as [stage, state] -> intervention; the first rule that fits counts."""
    S = w.size(w.states)
    values = np.array(np.unravel_index(np.arange(S), [w.cards[s] for s in w.states]))
    plan = np.full((w.horizon, S), -1)
    for rule in rules:
        fits = np.ones(S, bool)
        for name, value in rule.get("state", {}).items():
            if name in w.states:
                fits &= values[w.states.index(name)] == int(value[1:])
        do = [int(rule["do"][x][1:]) if x in rule["do"] else w.cards[x] for x in w.levers]
        a = np.ravel_multi_index(do, [w.cards[x] + w.alone for x in w.levers])
        stages = [rule["stage"] - 1] if "stage" in rule else range(w.horizon)
        for h in stages:
            plan[h] = np.where(fits & (plan[h] < 0), a, plan[h])
    terminal = terminal_states(w) & w.ends_said  # no rule is needed there, and none is used
    plan[:, terminal] = 0
    if (plan < 0).any():
        raise ValueError("the policy of the answer has no rule for some state")
    return plan
