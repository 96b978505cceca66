"""Logs of a true world, and what may go wrong while they are recorded."""

import numpy as np
from worlds import settings


def draw(rng, p):
    """One draw from every row of probabilities."""
    return np.minimum((rng.random(len(p))[:, None] >= p.cumsum(-1)).sum(-1), p.shape[-1] - 1)


def simulate(rng, w, policy, n, first=0):
    """A complete log: a dictionary of columns; missing integers are -1, missing payments nan."""
    u = draw(rng, np.broadcast_to(w.p_hidden, (n, len(w.p_hidden))))
    now = {s: draw(rng, np.broadcast_to(w.start[s], (n, w.cards[s]))) for s in w.states}
    old, alive, parts = np.zeros(n, int), np.ones(n, bool), []
    for h in range(w.horizon):
        if h and not w.trait:
            u = draw(rng, np.broadcast_to(w.p_hidden, (n, len(w.p_hidden))))
        v = dict(now, u=u, old=old, stage=np.full(n, h))
        state = np.ravel_multi_index([v[s] for s in w.states], [w.cards[s] for s in w.states])
        a = draw(rng, policy[h, u, old if w.memory else 0, state])
        for lever, setting in zip(w.levers, settings(w)[:, a]):
            v[lever], v["set." + lever] = setting, (setting < w.cards[lever]).astype(int)
            if w.alone:
                v[lever] = np.where(
                    v["set." + lever],
                    setting,
                    draw(
                        rng,
                        w.table[lever][tuple(v[p] for p in w.parents[lever])]
                        if w.parents[lever]
                        else np.broadcast_to(w.table[lever], (n, w.cards[lever])),
                    ),
                )
        for k in w.keys:
            v[k] = draw(rng, w.table[k][tuple(v[p] for p in w.parents[k])])
        for s in w.states:
            v["next." + s] = draw(rng, w.table[s][tuple(v[p] for p in w.parents[s])])
        for r in w.terms:
            v["reward." + r] = w.amounts[r][draw(rng, w.table[r][tuple(v[p] for p in w.parents[r])])]
        over = np.full(n, h == w.horizon - 1)
        if w.terminal:
            over |= v["next.s0"] == w.cards["s0"] - 1
        if w.stop is not None:
            over |= rng.random(n) < w.stop[v["a0"]]
        v["episode"], v["stage"] = first + np.arange(n), v["stage"] + 1
        v["end"] = np.where(over, "terminated", "")
        parts.append({c: x[alive] for c, x in v.items() if c not in ("u", "old")})
        now, old, alive = {s: v["next." + s] for s in w.states}, v["a0"] + 1, alive & ~over
    return {c: np.concatenate([p[c] for p in parts]) for c in parts[0]}


def rows_where(log, keep):
    return {c: x[keep] for c, x in log.items()}


def spoil_log(rng, w, log, kinds):
    """What happens to a log after it was recorded."""
    size = len(log["episode"])
    key = w.keys[rng.integers(len(w.keys))]
    level = lambda x: (x > np.median(x)).astype(int)
    total = sum(log["reward." + r] for r in w.terms)
    r = w.terms[rng.integers(len(w.terms))]
    lose = lambda group, groups: rng.random(size) < rng.choice([0.05, 0.3, 0.6], groups)[group]
    for kind in sorted(kinds):
        if kind == "key_mcar":
            log[key] = np.where(lose(np.zeros(size, int), 1), -1, log[key])
        elif kind == "key_mar":
            log[key] = np.where(
                lose(log["s0"] * w.cards["a0"] + log["a0"], w.cards["s0"] * w.cards["a0"]), -1, log[key]
            )
        elif kind == "key_mnar_value":
            log[key] = np.where((log[key] >= 0) & lose(log[key], w.cards[key]), -1, log[key])
        elif kind == "key_mnar_reward":
            log[key] = np.where(lose(level(total), 2), -1, log[key])
        elif kind == "key_mnar_next":
            log[key] = np.where(lose(log["next.s0"], w.cards["s0"]), -1, log[key])
        elif kind == "pay_mcar":
            log["reward." + r] = np.where(lose(np.zeros(size, int), 1), np.nan, log["reward." + r])
        elif kind == "pay_mnar":
            small = log["reward." + r] <= np.median(log["reward." + r])
            log["reward." + r] = np.where(rng.random(size) < np.where(small, 0.6, 0.05), np.nan, log["reward." + r])
    log = misrecord(rng, w, log, kinds, total)
    for kind in sorted(kinds & {"dropout_random", "dropout_bad", "dropout_next"}):
        log = drop_out(rng, w, log, kind, sum(np.nan_to_num(log["reward." + r]) for r in w.terms))
    size = len(log["episode"])
    if "mislabelled" in kinds:  # in some episodes stages 1 and 2 changed places
        odd = rng.random(log["episode"].max() + 1) < 0.3
        swap = odd[log["episode"]] & (log["stage"] <= 2)
        log["stage"] = np.where(swap, 3 - log["stage"], log["stage"])
        log["end"] = np.where(log["stage"] == w.horizon, log["end"], "")
    if "dup_episodes" in kinds:
        times = int(rng.integers(2, 5))
        shift = log["episode"].max() + 1
        log = {
            c: np.concatenate([x + (i * shift if c == "episode" else 0) if c == "episode" else x for i in range(times)])
            for c, x in log.items()
        }
    if "dup_rows" in kinds:
        again = rng.random(size) < 0.2
        log = {c: np.concatenate([x, x[again]]) for c, x in log.items()}
    order = rng.permutation(len(log["episode"])) if "shuffled" in kinds else np.lexsort((log["stage"], log["episode"]))
    return rows_where(log, order)


def misrecord(rng, w, log, kinds, total):
    """Logs that say something wrong, or that leave steps or episodes out."""
    size = len(total)
    noise = lambda c: np.where(rng.random(size) < 0.25, rng.integers(0, w.cards[c], size), log[c])
    if "noisy_key" in kinds:
        log[w.keys[0]] = noise(w.keys[0])
    if "noisy_state" in kinds:  # every next value is the value that the next row shows
        first = log["stage"] == 1
        seen = np.zeros((log["episode"].max() + 1, w.horizon + 2), int)
        seen[log["episode"], log["stage"] + 1] = np.where(
            rng.random(size) < 0.25, rng.integers(0, w.cards["s0"], size), log["next.s0"]
        )
        seen[log["episode"][first], 1] = noise("s0")[first]
        log["s0"], log["next.s0"] = seen[log["episode"], log["stage"]], seen[log["episode"], log["stage"] + 1]
    if "leaky_state" in kinds:  # of each first step: recorded after what it led to
        leak = (log["stage"] == 1) & (rng.random(size) < 0.4)
        log["s0"] = np.where(leak, log["next.s0"], log["s0"])
    if "late_pay" in kinds:  # payments are booked one step later, the last at once
        for r in w.terms:
            paid = np.zeros((log["episode"].max() + 1, w.horizon + 1))
            paid[log["episode"], log["stage"]] = log["reward." + r]
            log["reward." + r] = np.where(
                log["stage"] == 1, w.range[r][0] if w.range[r][0] > 0 else 0.0, paid[log["episode"], log["stage"] - 1]
            )
    if "selected" in kinds:  # episodes that went badly are not in the log
        result = np.bincount(log["episode"], total)
        lost = (result <= np.median(result)) & (rng.random(len(result)) < 0.6)
        log = rows_where(log, ~lost[log["episode"]])
    if "gaps_random" in kinds:
        log = rows_where(log, rng.random(len(log["stage"])) > 0.15)
    if kinds & {"censored", "stage_unseen"}:  # the record of every episode stops early, whatever happened
        stop = int(rng.integers(1, w.horizon))
        log["end"] = np.where((log["stage"] == stop) & (log["end"] == ""), "truncated", log["end"])
        log = rows_where(log, log["stage"] <= stop)
    return log


def drop_out(rng, w, log, kind, total):
    """Episodes whose record stops, without the next state of the last row."""
    badly = {
        "dropout_random": np.ones(len(total), bool),
        "dropout_bad": total <= np.median(total),
        "dropout_next": log["next.s0"] == 0,
    }[kind]
    gone = badly & (log["end"] == "") & (rng.random(len(total)) < (0.2 if kind == "dropout_random" else 0.6))
    last = np.full(log["episode"].max() + 1, w.horizon + 1)
    np.minimum.at(last, log["episode"][gone], log["stage"][gone])
    stops = log["stage"] == last[log["episode"]]
    log["end"] = np.where(stops, "truncated", log["end"])
    for s in w.states:
        log["next." + s] = np.where(stops, -1, log["next." + s])
    return rows_where(log, log["stage"] <= last[log["episode"]])
