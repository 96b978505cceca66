"""Anyone's agent in a comparison: played step by step with the draws of a run of the same seed."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dowise import _lib
from dowise._lib import Learner, Simulation, World

Floats = NDArray[np.float64]

MAKER = "a function (world, episodes, seed) making one"
EXPECTED = f"the name of a learner, an object with act() and observe(), or {MAKER}"


@dataclass(frozen=True)
class Outside:
    """An agent that is not ours: its name, and how one is made for each run."""

    name: str
    make: Callable[[World, int, int], Any]


def outside(given: Any) -> Outside:
    """An object with `act` and `observe`, which is copied for each run, or a class or function that makes one."""
    if isinstance(given, Learner):
        message = f'a Learner belongs to one world and has a past; give its name, "{given.name}", or {MAKER}'
        raise _lib.LearnError(message)
    if not isinstance(given, type) and hasattr(given, "act") and hasattr(given, "observe"):
        return Outside(name_of(given, type(given).__name__), lambda world, episodes, seed: copy.deepcopy(given))
    if callable(given):
        return Outside(name_of(given, getattr(given, "__name__", type(given).__name__)), given)
    raise _lib.LearnError(f"a learner is {given!r}, expected {EXPECTED}")


def name_of(given: Any, otherwise: str) -> str:
    """What it calls itself."""
    name = getattr(given, "name", None)
    return name if isinstance(name, str) else otherwise


@dataclass(frozen=True)
class Played:
    """One run: regret of each episode, its sum of rewards, value of the best and of the last policy, seconds."""

    regret: Floats
    reward: float
    optimal: float
    value: float
    seconds: float
    estimated: bool


def play(agent: Outside, world: World, episodes: int, seed: int, tell: Callable[[], None]) -> Played:
    """Plays episodes; regret is exact if the agent offers `policy()`, else V*(start) less the rewards received."""
    begun = time.monotonic()
    player = agent.make(world, episodes, seed)
    for method in ("act", "observe"):
        if not callable(getattr(player, method, None)):
            raise _lib.LearnError(
                f"{agent.name} made a {type(player).__name__} without {method}(); expected {EXPECTED}"
            )
    simulation, plan = Simulation(world, seed), world.plan()
    evaluator = Evaluator(world, player) if callable(getattr(player, "policy", None)) else None
    taken = accepted(player.observe)
    regret, total, ended = np.zeros(episodes), 0.0, world.ended
    for episode in range(episodes):
        start = state = simulation.reset()
        call(player, "begin_episode")
        received, weight = 0.0, 1.0
        for stage in range(world.horizon):
            action = player.act(state)
            if stage == 0 and evaluator:
                # A policy is one of an episode: it is settled by the first decision, before anything is observed.
                regret[episode] = plan.values[0, start] - evaluator.values()[start]
            try:
                next_state, reward, keys, levers, rewards, done = simulation.step(action)
            except _lib.Error as error:
                where = f"{agent.name}, episode {episode + 1}, stage {stage}"
                raise _lib.LearnError(f"{where}: act({state}) gave {action!r}: {error}") from error
            seen = {"reward": reward, "keys": keys, "levers": levers, "rewards": rewards}
            player.observe(state, done, next_state, **{k: v for k, v in seen.items() if taken is None or k in taken})
            received += weight * reward
            weight *= world.discount
            state = next_state
            if ended[state]:
                break
        call(player, "end_episode")
        total += received
        if not evaluator:
            regret[episode] = plan.values[0, start] - received
        tell()
    value = float("nan")
    if callable(getattr(player, "learned_policy", None)):
        value = world.from_start(world.evaluate(np.asarray(player.learned_policy()))[0])
    elif evaluator:
        # The policy that would be followed next has learned from all episodes.
        call(player, "begin_episode")
        player.act(start if ended[state] else state)
        value = world.from_start(evaluator.values())
    return Played(np.cumsum(regret), total, plan.value, value, time.monotonic() - begun, evaluator is None)


class Evaluator:
    """Values of an agent's present policy; one that has not changed is not evaluated again."""

    def __init__(self, world: World, player: Any) -> None:
        self.world, self.player = world, player
        self.evaluated: Any = None
        self.value_s: Floats = np.zeros(0)

    def values(self) -> Floats:
        """Values at the first stage."""
        policy = np.asarray(self.player.policy())
        if self.evaluated is None or not np.array_equal(policy, self.evaluated):
            self.value_s = self.world.evaluate(policy)[0]
            self.evaluated = policy.copy()
        return self.value_s


def accepted(observe: Callable[..., Any]) -> set[str] | None:
    """Names of the arguments that `observe` takes; `None` if it takes any."""
    try:
        parameters = inspect.signature(observe).parameters.values()
    except (TypeError, ValueError):
        return {"reward", "keys"}
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters if p.kind is not inspect.Parameter.POSITIONAL_ONLY}


def call(player: Any, method: str) -> None:
    """Calls a method that an agent need not have."""
    there = getattr(player, method, None)
    if callable(there):
        there()
