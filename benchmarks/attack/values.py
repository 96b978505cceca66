"""Exact values of policies in a true world, by the recursion over stages."""

import numpy as np
from worlds import memory_size, settings


def arrays(w, h):
    """Key distribution [u,g,s,a,z], next state [u,g,s,a,z,s'] and mean reward [u,g,s,a,z] of stage h (from 0)."""
    names = (["u"] if "u" in w.cards else []) + (["old"] if w.memory else []) + w.states + w.levers + w.keys
    cards = [w.cards[n] for n in names]
    value = dict(zip(names, np.indices(cards).reshape(len(names), -1)))
    value["stage"] = np.full(value[names[0]].shape, h)
    shape = (len(w.p_hidden), memory_size(w), w.size(w.states), w.size(w.levers), w.size(w.keys))
    rows = lambda n: w.table[n][tuple(value[p] for p in w.parents[n])]
    keys = np.ones(len(value["stage"]))
    for k in w.keys:
        keys = keys * np.take_along_axis(rows(k), value[k][:, None], 1)[:, 0]
    after = np.ones((len(keys), 1))
    for s in w.states:
        after = (after[:, :, None] * rows(s)[:, None, :]).reshape(len(keys), -1)
    reward = np.zeros(len(keys))
    for r in w.terms:
        mean = w.table[r] @ w.amounts[r]
        following = [p for p in w.parents[r] if p.startswith("next.")]
        index = tuple(value[p] for p in w.parents[r] if p not in following)
        if following:  # the next value is the last parent of such a term
            s = following[0][5:]
            reward += (rows(s) * mean[index]).sum(-1)
        else:
            reward += mean[index]
    return keys.reshape(shape), after.reshape(shape + (-1,)), reward.reshape(shape)


def terminal_states(w):
    values = np.array(np.unravel_index(np.arange(w.size(w.states)), [w.cards[s] for s in w.states]))
    return (values[0] == w.cards["s0"] - 1) if w.terminal else np.zeros(w.size(w.states), bool)


def start_of(w):
    p = np.ones(1)
    for s in w.states:
        p = (p[:, None] * w.start[s][None, :]).ravel()
    return p


def lever_values(w):
    return np.array(np.unravel_index(np.arange(w.size(w.levers)), [w.cards[a] for a in w.levers]))


def costs(w):
    """Cost of every intervention: only setting the last value of a lever costs something."""
    values = settings(w)
    return sum(w.cost.get(a, 0.0) * (values[i] == w.cards[a] - 1) for i, a in enumerate(w.levers)) + np.zeros(
        len(values[0])
    )


def brings(w):
    """P(values of the levers | hidden, state, intervention)."""
    U, S, own = len(w.p_hidden), w.size(w.states), np.ones((len(w.p_hidden), w.size(w.states), 1, 1))
    index = dict(zip(w.states, np.unravel_index(np.arange(S), [w.cards[s] for s in w.states])), u=np.arange(U)[:, None])
    for a in w.levers:
        p = np.broadcast_to(np.eye(w.cards[a]), (U, S, w.cards[a], w.cards[a]))
        if w.alone:
            natural = w.table[a][tuple(index[x] for x in w.parents[a])]
            p = np.concatenate([p, np.broadcast_to(natural, (U, S, w.cards[a]))[:, :, None]], 2)
        own = np.einsum("usia,usjb->usijab", own, p)
        own = own.reshape(U, S, own.shape[2] * own.shape[3], -1)
    return own


def backward(w, policy=None):
    """Value of a policy; without one: a good policy [stage, state] of those that see the state alone, and all its q."""
    U, G, S = len(w.p_hidden), memory_size(w), w.size(w.states)
    a0 = lever_values(w)[0]
    go_on = w.discount * (~terminal_states(w)).astype(float)
    stay = 1 - w.stop[a0] if w.stop is not None else np.ones(len(a0))
    V, plan, qs = np.zeros((U, G, S)), np.zeros((w.horizon, S), int), []
    for h in reversed(range(w.horizon)):
        keys, after, reward = arrays(w, h)
        following = V[:, a0 + 1 if w.memory else np.zeros_like(a0), :] * go_on * stay[None, :, None]
        q = (keys * (reward + np.einsum("ugsazt,uat->ugsaz", after, following))).sum(-1)
        q = np.einsum("usia,ugsa->ugsi", brings(w), q) - costs(w)
        qs.insert(0, q)
        if policy is None:
            plan[h] = np.einsum("u,ugsa->sa", w.p_hidden, q).argmax(-1)
            V = np.take_along_axis(q, plan[h][None, None, :, None], -1)[..., 0]
        else:
            V = (q * policy[h]).sum(-1)
        if not w.trait:  # a hidden cause of one step is drawn anew
            V = np.broadcast_to(np.einsum("u,ugs->gs", w.p_hidden, V), V.shape)
    value = float(w.p_hidden @ V[:, 0] @ start_of(w))
    return value if policy is not None else (plan, qs)


def deterministic(w, plan):
    """[stage, state] -> probabilities as in draw_policy."""
    A = len(settings(w)[0])
    p = np.eye(A)[plan][:, None, None]
    return np.broadcast_to(p, (w.horizon, len(w.p_hidden), memory_size(w), w.size(w.states), A))
