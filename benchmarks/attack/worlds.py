"""Random true worlds, what the world file says of them, and behaviour policies."""

import numpy as np
from kinds import ALONE, LAGGED, LONG, WITH_HIDDEN


class World:
    """The true world (cards, parents, table) and what the world file says of it (said, form, hidden_said)."""

    def __init__(self):
        self.cards = {}  # number of values of each variable
        self.states, self.levers, self.keys, self.terms = [], [], [], []
        self.parents, self.table = {}, {}  # true mechanisms; the last axis of a table is the variable's own value
        self.said, self.form = {}, {}  # parents and form in the world file
        self.amounts, self.range, self.random = {}, {}, {}
        self.start, self.cost = {}, {}
        self.horizon, self.discount = 1, 1.0
        self.p_hidden, self.trait = np.ones(1), False
        self.memory = False  # whether the previous value of a0 matters (to the world or to the policy)
        self.terminal, self.ends_said = False, False  # last value of s0 ends the episode
        self.stop = None  # probability that the episode ends after a0 = value
        self.hidden_said, self.lever_parents = False, {}
        self.alone = False  # levers may be left alone; they follow parents[a], table[a] then

    def size(self, names):
        return int(np.prod([self.cards[n] for n in names])) if names else 1


def dirichlet(rng, shape, k, weight):
    """Random probabilities with an axis of k values after `shape`."""
    p = rng.gamma(weight, size=tuple(shape) + (k,)) + 1e-9
    return p / p.sum(-1, keepdims=True)


def logit_table(rng, cards, k, sd, interaction=0.0):
    """Additive log-odds over the parents; `interaction` adds effects of pairs, which the form does not have."""
    score = np.zeros(tuple(cards) + (k,))
    score += rng.normal(0, 0.7, k)
    for i, c in enumerate(cards):
        shape = [1] * len(cards) + [k]
        shape[i] = c
        score = score + rng.normal(0, sd, shape)
    if interaction:
        for i in range(len(cards)):
            for j in range(i):
                shape = [1] * len(cards) + [k]
                shape[i], shape[j] = cards[i], cards[j]
                score = score + rng.normal(0, interaction, shape)
    p = np.exp(score - score.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def add_parent(rng, w, name, extra, strength):
    """A further true cause of `name`, of which the world file says nothing (the caller may add it there)."""
    old = w.table[name]
    own = dirichlet(rng, old.shape[:-1] + (w.cards[extra],), old.shape[-1], 0.5)
    w.parents[name] = w.parents[name] + [extra]
    w.table[name] = (1 - strength) * old[..., None, :] + strength * own


def some(rng, names, share, least=0):
    """A random subset of names, in their order, with at least `least` members."""
    chosen = {n for n in names if rng.random() < share}
    while len(chosen) < min(least, len(names)):
        chosen.add(names[rng.integers(len(names))])
    return [n for n in names if n in chosen]


def draw_variables(rng, w, prefix, least, most, limit):
    names = [f"{prefix}{i}" for i in range(max(least, int(rng.choice(most, p=weights_of(len(most))))))]
    for n in names:
        w.cards[n] = int(rng.integers(2, 4))
    while w.size(names) > limit:
        w.cards[max(names, key=lambda n: w.cards[n])] -= 1
    return names


def weights_of(n):
    return {1: [1.0], 2: [0.6, 0.4], 3: [0.45, 0.35, 0.2]}[n]


def draw_graph(rng, w, small):
    """Parents of every mechanism; every lever and every key variable acts on something."""
    for i, k in enumerate(w.keys):
        w.parents[k] = (
            some(rng, w.states, 1.0 if small else 0.6) + some(rng, w.levers, 0.7, least=1) + some(rng, w.keys[:i], 0.3)
        )
    for lever in w.levers:
        if not any(lever in w.parents[k] for k in w.keys):
            k = w.keys[rng.integers(len(w.keys))]
            w.parents[k] = [n for n in w.states + w.levers + w.keys if n in w.parents[k] or n == lever]
    for s in w.states:
        keys = some(rng, w.keys, 0.6, least=1)
        w.parents[s] = (
            [n for n in w.states if rng.random() < (0.8 if n == s else 0.3)]
            + keys
            + some(rng, w.levers, 0 if small else 0.12)
        )
    for r in w.terms:
        w.parents[r] = (
            some(rng, w.states, 0.5) + some(rng, w.keys, 0.6, least=1) + some(rng, w.levers, 0 if small else 0.12)
        )
    for k in w.keys:
        if not any(k in w.parents[n] for n in w.states + w.terms):
            w.parents[w.terms[0]] = [n for n in w.states + w.keys + w.levers if n in w.parents[w.terms[0]] or n == k]


def draw_reward(rng, w, r, kinds):
    """Amounts and their distribution given the parents."""
    cards = [w.cards[p] for p in w.parents[r]]
    how = rng.choice(["binary", "levels", "fixed"])
    if "rare_reward" in kinds:
        w.amounts[r], w.random[r] = np.array([0.0, 1.0]), True
        p = rng.choice([0.002, 0.01, 0.03], size=cards) * rng.uniform(0.3, 2, size=cards)
        w.table[r] = np.stack([1 - p, p], -1)
    elif how == "binary":
        w.amounts[r], w.random[r] = np.array([0.0, 1.0]), True
        w.table[r] = dirichlet(rng, cards, 2, 1.0)
    elif how == "levels":
        w.amounts[r], w.random[r] = np.array([0.0, 0.5, 1.0]), False
        w.table[r] = dirichlet(rng, cards, 3, 0.7)
    else:  # the same amount every time
        w.amounts[r], w.random[r] = np.linspace(0, 1, 11), False
        w.table[r] = np.eye(11)[rng.integers(0, 11, size=cards)]
    low, high = [(0, 1), (-1, 1), (0, 10)][rng.integers(3)]
    w.amounts[r] = low + (high - low) * w.amounts[r]
    w.range[r] = (float(low), float(high))
    if "wide_range" in kinds:
        w.range[r], w.random[r] = (0.0, 200.0), False
        w.amounts[r] = w.amounts[r] - low


def draw_world(rng, kinds, small):
    w = World()
    w.states = draw_variables(rng, w, "s", 1, [1] if small else [1, 2, 3], 12)
    two_levers = kinds & {"together_declared", "together_hidden"}
    w.levers = draw_variables(rng, w, "a", 2 if two_levers else 1, [1] if small else [1, 2, 3], 12)
    two_keys = kinds & {"two_keys_declared", "two_keys_hidden"}
    w.keys = draw_variables(rng, w, "k", 2 if two_keys else 1, [1] if small else [1, 2, 3], 12)
    if small:
        for n in w.cards:
            w.cards[n] = 2
    w.terms = ["r0"] if small or rng.random() < 0.6 else ["r0", "r1"]
    w.horizon = int(rng.integers(3 if "mislabelled" in kinds else 2 if kinds & LONG else 1, 4 if small else 5))
    w.discount = 0.9 if rng.random() < 0.15 and not small else 1.0
    draw_graph(rng, w, small)
    weight = rng.choice([0.5, 1.0, 2.0, 5.0])
    for n in w.states + w.keys:
        cards = [w.cards[p] for p in w.parents[n]]
        w.table[n], w.form[n] = dirichlet(rng, cards, w.cards[n], weight), "table"
        logit = n in w.keys and "table_form" not in kinds and not kinds & WITH_HIDDEN
        if logit and (rng.random() < 0.5 or kinds & {"right_form", "wrong_form"}):
            w.form[n] = "logit"
            w.table[n] = logit_table(
                rng, cards, w.cards[n], rng.uniform(0.5, 3), rng.uniform(1, 3) if "wrong_form" in kinds else 0.0
            )
    for r in w.terms:
        draw_reward(rng, w, r, kinds)
    for s in w.states:
        w.start[s] = dirichlet(rng, (), w.cards[s], 2.0)
    for lever in w.levers:
        if rng.random() < 0.25 and not small:
            w.cost[lever] = round(float(rng.uniform(0, 0.1)) * (w.range["r0"][1] if w.range["r0"][1] < 100 else 1), 3)
    if "weak_effects" in kinds:  # nearly the same whatever was done: false alarms are likeliest here
        for n in w.keys:
            t = w.table[n]
            mix = rng.uniform(0.02, 0.2)
            w.table[n], w.form[n] = (1 - mix) * t.reshape(-1, t.shape[-1]).mean(0) + mix * t, "table"
    w.said = {n: list(p) for n, p in w.parents.items()}
    return w


def spoil_world(rng, w, kinds):
    """Causes that the true world has; the declared kinds also write them to the world file."""
    strength = float(rng.choice([0.3, 0.6, 1.0]))
    pick = lambda names: names[rng.integers(len(names))]
    if kinds & WITH_HIDDEN:
        w.cards["u"], w.p_hidden = 2, dirichlet(rng, (), 2, 5.0)
    w.trait = "hidden_trait" in kinds
    w.memory = bool(kinds & (LAGGED | {"memory_policy"}))
    if w.memory:
        w.cards["old"] = w.cards["a0"] + 1  # value 0: there was no previous step
    w.cards["stage"] = w.horizon
    say_hidden = []
    for kind in sorted(kinds):  # sorted: the order of a set must not change the draws
        if kind in ("hidden_lever_key", "hidden_key_declared", "together_declared", "together_hidden"):
            name = pick(w.keys)
            add_parent(rng, w, name, "u", strength)
            say_hidden += [name] if kind in ("hidden_key_declared", "together_declared") else []
        elif kind in ("hidden_lever_next", "hidden_next_declared"):
            name = pick(w.states)
            add_parent(rng, w, name, "u", strength)
            say_hidden += [name] if kind == "hidden_next_declared" else []
        elif kind == "hidden_lever_reward":
            add_parent(rng, w, pick(w.terms), "u", strength)
        elif kind == "hidden_trait":
            add_parent(rng, w, pick(w.keys + w.states + w.terms), "u", strength)
        elif kind in ("hidden_key_next", "hidden_key_reward"):
            key = pick(w.keys)
            add_parent(rng, w, key, "u", strength)
            add_parent(rng, w, pick(w.states if kind == "hidden_key_next" else w.terms), "u", strength)
        elif kind in ("two_keys_hidden", "two_keys_declared"):
            for name in w.keys[:2]:
                add_parent(rng, w, name, "u", strength)
                say_hidden += [name] if kind == "two_keys_declared" else []
        elif kind in ("arrow_lever_next", "arrow_lever_reward"):
            names = w.states if kind == "arrow_lever_next" else w.terms
            pairs = [(n, a) for n in names for a in w.levers if a not in w.parents[n]]
            if pairs:
                add_parent(rng, w, *pick(pairs), strength)
        elif kind == "arrow_state_key":
            drop_or_add_state(rng, w, pick(w.keys), strength)
        elif kind in ("arrow_stage", "stage_unseen"):
            add_parent(rng, w, pick(w.keys + w.states + w.terms), "stage", strength)
        elif kind in LAGGED:
            add_parent(
                rng, w, pick({"lag_key": w.keys, "lag_next": w.states, "lag_reward": w.terms}[kind]), "old", strength
            )
        elif kind in ("ends_declared", "ends_undeclared"):
            w.terminal, w.ends_said = True, kind == "ends_declared"
            w.start["s0"][-1] = 0
            w.start["s0"] /= w.start["s0"].sum()
        elif kind == "ends_hazard":
            w.stop = rng.uniform(0, 0.6, w.cards["a0"])
        elif kind in ALONE:
            say_hidden += leave_alone(rng, w, kind)
        elif kind == "next_reward":
            add_next_reward(rng, w)
    w.hidden_said = bool(say_hidden)
    for name in say_hidden:
        w.said[name] = w.said[name] + ["u"]
    if kinds & {"hidden_key_declared", "hidden_next_declared", "together_declared"}:
        w.lever_parents["a0"] = w.states + ["u"]


def drop_or_add_state(rng, w, key, strength):
    """A state acts on a key variable and the file does not say so."""
    outside = [s for s in w.states if s not in w.parents[key]]
    if outside:
        add_parent(rng, w, key, outside[0], strength)
    else:
        gone = w.states[rng.integers(len(w.states))]
        w.said[key] = [p for p in w.said[key] if p != gone]


def add_next_reward(rng, w):
    """A reward for the state that is reached: its scope names next values."""
    r = w.terms[-1]
    s = w.states[rng.integers(len(w.states))]
    w.cards["next." + s] = w.cards[s]
    add_parent(rng, w, r, "next." + s, 1.0)
    w.said[r] = w.said[r] + ["next." + s]


def leave_alone(rng, w, kind):
    """Levers have mechanisms of their own; perhaps with a hidden cause of a0 and of a key variable that a0 acts on."""
    w.alone = True
    for a in w.levers:
        w.parents[a], w.lever_parents[a] = some(rng, w.states, 0.5), None
        w.table[a] = dirichlet(rng, [w.cards[p] for p in w.parents[a]], w.cards[a], 1.0)
        w.lever_parents[a] = list(w.parents[a])
    if kind != "left_alone":
        key = next(k for k in w.keys if "a0" in w.parents[k])
        for name in ("a0", key):
            add_parent(rng, w, name, "u", float(rng.choice([0.3, 0.6, 1.0])))
    if kind == "left_alone_declared":
        w.lever_parents["a0"] = w.lever_parents["a0"] + ["u"]
        return [key]
    return []


def settings(w):
    """Value of every lever in every intervention; the number of its values means that it is left alone."""
    shape = [w.cards[a] + w.alone for a in w.levers]
    return np.array(np.unravel_index(np.arange(int(np.prod(shape))), shape))


def memory_size(w):
    return w.cards["old"] if w.memory else 1
