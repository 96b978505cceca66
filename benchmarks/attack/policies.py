"""Behaviour policies."""

import numpy as np
from kinds import ON_LEVER
from values import backward
from worlds import dirichlet, memory_size, settings


def draw_policy(rng, w, kinds):
    """Behaviour policy as probabilities [stage, hidden, memory, state, intervention]."""
    H, U, G, S, A = w.horizon, len(w.p_hidden), memory_size(w), w.size(w.states), len(settings(w)[0])
    how = rng.choice(
        ["uniform", "by state", "near-deterministic", "missing arms", "expert"], p=[0.25, 0.25, 0.1, 0.1, 0.3]
    )
    how = "no_overlap" if "no_overlap" in kinds else how
    if how in ("uniform", "expert"):
        p = np.full((H, S, A), 1.0 / A)
    elif how == "by state":
        p = np.broadcast_to(dirichlet(rng, (S,), A, 1.0), (H, S, A)).copy()
        if rng.random() < 0.2:
            p = dirichlet(rng, (H, S), A, 1.0)
    elif how == "near-deterministic":
        p = np.broadcast_to(0.95 * np.eye(A)[rng.integers(0, A, S)] + 0.05 / A, (H, S, A)).copy()
    elif how == "missing arms":
        seen = rng.random((S, A)) < 0.6
        seen[np.arange(S), rng.integers(0, A, S)] = True
        p = np.broadcast_to(dirichlet(rng, (S,), A, 2.0) * seen, (H, S, A)).copy()
    else:  # one intervention in each state, nothing else
        p = np.broadcast_to(np.eye(A)[rng.integers(0, A, S)], (H, S, A)).copy()
    values = settings(w)
    if kinds & {"together_declared", "together_hidden"}:
        together = values[0] % w.cards["a1"] == values[1] % w.cards["a0"]
        p = p * together + 1e-300 * together
    p = np.broadcast_to(p[:, None, None], (H, U, G, S, A)).copy()
    if how == "expert":
        p *= expert(rng, w, bool(kinds & ON_LEVER))
    elif kinds & ON_LEVER:  # the hidden cause changes the odds of a0
        factor = np.exp(rng.normal(0, rng.uniform(0.5, 3), (U, w.cards["a0"])))
        p *= factor[:, values[0]][None, :, None, None, :]
    if "memory_policy" in kinds:  # keeps what was done last, mostly
        for g in range(1, G):
            p[:, :, g] *= np.where(values[0] == g - 1, 10.0, 1.0)
    return p / p.sum(-1, keepdims=True), str(how)


def expert(rng, w, sees_hidden):
    """Weights of an expert who mostly does what is best, and may see the hidden cause: hardest to improve upon."""
    q = np.array(backward(w)[1])
    if not sees_hidden:
        q = np.broadcast_to(np.einsum("u,hugsa->hgsa", w.p_hidden, q)[:, None], q.shape)
    best = q.max(-1, keepdims=True)
    scale = rng.uniform(0.1, 1.0) * (best - q.min(-1, keepdims=True)) + 1e-12
    return np.exp((q - best) / scale) + 1e-12
