"""Worlds from arrays: what numpy, scipy and Gymnasium users have, handed to Rust as dense arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dowise._lib import ArrayError, World
from dowise._results import Check


def from_mdp(
    P: Any,
    R: Any,
    horizon: int,
    *,
    order: str = "sas",
    start: Any = None,
    admissible: Any = None,
    name: str = "MDP",
) -> World:
    """An ordinary MDP: `P[s, a, s']` and `R[s, a]` (or `R[s]`, or `R[s, a, s']`).

    `order="ass"` takes `P[a, s, s']` and `R[a, s]`. `P` may be a list with one scipy sparse matrix for each action
    (then the order is "ass"). `start` is a state or a distribution, uniform if left out; `admissible[s, a]` says which
    actions a state allows. Rows may be off by rounding (up to 1e-6).

    >>> import dowise, numpy as np
    >>> P = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> world = dowise.World.from_mdp(P, R=[[0, 0], [1, 0.5]], horizon=10)
    >>> world.plan().policy[0]
    array([1, 0])
    >>> dowise.World.from_mdp(P * 0.9, R=[[0, 0], [1, 0.5]], horizon=10)
    Traceback (most recent call last):
    dowise.ArrayError: P[0, 0, :] sums to 0.9, expected 1 (up to 1e-6)
    """
    if isinstance(P, (list, tuple)) and P and all(hasattr(m, "toarray") for m in P):
        P, order = np.stack([dense(m) for m in P]), "ass"
    return World._from_mdp(dense(P), dense(R), horizon, order, dense(start), dense(admissible), name)


def from_arrays(
    P_z: Any,
    transitions: Any,
    rewards: Any,
    horizon: int,
    *,
    states: Mapping[str, Any] | None = None,
    levers: Mapping[str, Any] | None = None,
    keys: Mapping[str, Any] | None = None,
    start: Any = None,
    name: str = "causal MDP",
) -> World:
    """A causal MDP: `P_z[s, a, z]`, how each state factor moves, and rewards.

    `states`, `levers` and `keys` name the variables with their numbers of values (or the values' names); left out,
    there is one of each, called "state", "action" and "z". `transitions` is `P[s, z, s']` for a single state factor,
    or `{factor: (scope, table)}`; `rewards` is `R[s, z]`, `R[s]`, or `{term: (scope, table)}`. The first of a scope is
    the table's first axis.

    >>> import dowise, numpy as np
    >>> P_z = np.full((2, 50, 3), 1 / 3)
    >>> P = np.full((2, 3, 2), 0.5)
    >>> dowise.World.from_arrays(P_z, P, np.arange(6).reshape(2, 3) / 5, horizon=4)
    <World causal MDP: 2 states, 50 interventions, 4 steps>
    """
    return World._from_arrays(
        dense(P_z), scoped(transitions), scoped(rewards), horizon, states, levers, keys, dense(start), name
    )


def from_gym(env: Any, horizon: int, *, name: str | None = None) -> World:
    """A Gymnasium toy-text environment (FrozenLake, Taxi, CliffWalking): its `P` table over `horizon` steps.

    `P[s][a]` is a list of (probability, next state, reward, done). Where an episode of the environment ends, the world
    goes on in one further state, the last one, that pays nothing and is never left.
    """
    inner = getattr(env, "unwrapped", env)
    table = getattr(inner, "P", inner)
    if not isinstance(table, Mapping):
        raise ArrayError(
            f"{type(inner).__name__} has no table P[s][a] = [(probability, next state, reward, done), ...]"
        )
    n_states, n_actions = len(table), len(table[0])
    P = np.zeros((n_states + 1, n_actions, n_states + 1))
    R = np.zeros((n_states + 1, n_actions))
    P[n_states, :, n_states] = 1
    for s, actions in table.items():
        for a, outcomes in actions.items():
            for probability, next_state, reward, done in outcomes:
                P[s, a, n_states if done else next_state] += probability
                R[s, a] += probability * reward
    start = np.zeros(n_states + 1)
    start[:n_states] = getattr(inner, "initial_state_distrib", np.full(n_states, 1 / n_states))
    title = name or getattr(getattr(env, "spec", None), "id", None) or type(inner).__name__
    return from_mdp(P, R, horizon, start=start, name=title)


def check(self: World, episodes: int = 1000) -> Check:
    """What `dowise check` finds: warnings and notes, sizes, cells to learn and regret bounds.

    >>> import dowise
    >>> dowise.World.named("campaign").check().analysis["interventions"]
    1048576
    """
    findings, analysis = self._check(episodes)
    return Check(findings, analysis)


def scoped(given: Any) -> Any:
    """The tables of `{name: (scope, table)}` as dense arrays."""
    if isinstance(given, Mapping):
        return {
            k: (list(v[0]), dense(v[1])) if isinstance(v, (tuple, list)) and len(v) == 2 else v
            for k, v in given.items()
        }
    return dense(given)


def dense(given: Any) -> Any:
    """A scipy sparse matrix as a dense array, lists as arrays; everything else as it is."""
    if hasattr(given, "toarray"):
        return given.toarray()
    if isinstance(given, (list, tuple)):
        try:
            return np.asarray(given)
        except ValueError:
            return given
    return given


def attach(cls: Any) -> None:
    """Hangs the constructors that need Python onto the class."""
    cls.from_mdp = staticmethod(from_mdp)
    cls.from_arrays = staticmethod(from_arrays)
    cls.from_gym = staticmethod(from_gym)
    cls.check = check
