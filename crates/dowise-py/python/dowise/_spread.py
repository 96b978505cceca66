"""Comparisons on an executor: every run is one task, on whatever processes or machines it has."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dowise import _lib
from dowise._agents import outside, play
from dowise._lib import World
from dowise._progress import Progress
from dowise._results import Floats

LOOKS = 0.05
"""Seconds between two looks at tasks that are under way."""


class Executor(Protocol):
    """What `submit` gives has `result()` and `done()`: `concurrent.futures`, dask's client, submitit."""

    def submit(self, task: Any, /, *arguments: Any) -> Any: ...


def one_run(
    place: World | str, learner: Any, episodes: int, seed: int, repetition: int, evaluation: str | None
) -> tuple[Floats, Floats, bool]:
    """Regret summed up over episodes; reward, optimal and last value, seconds; whether regret is estimated."""
    if isinstance(learner, str):
        regret, numbers, interrupted = _lib.play_all(
            [place], [learner], episodes, 1, seed, 1, None, evaluation, repetition
        )
        if interrupted:
            raise KeyboardInterrupt
        return regret[0], numbers[0], False
    world = World._chosen(place, seed + repetition) if isinstance(place, str) else place
    played = play(outside(learner), world, episodes, seed + repetition, lambda: None)
    return played.regret, np.array([played.reward, played.optimal, played.value, played.seconds]), played.estimated


def sendable(
    places: Sequence[World | str], learners: Sequence[Any], episodes: int, seed: int, evaluation: str | None
) -> list[World | str]:
    """The worlds as other machines can read them, after everything was checked here; files are read here."""
    sent: list[World | str] = []
    for place in places:
        world = World._chosen(place, seed) if isinstance(place, str) else place
        for learner in learners:
            if isinstance(learner, str):
                _lib.check_run(world, learner, episodes, seed, evaluation)
        sent.append(world if isinstance(place, str) and os.path.exists(place) else place)
    return sent


def play_spread(
    executor: Executor,
    places: Sequence[World | str],
    learners: Sequence[Any],
    names: Sequence[str],
    seed: int,
    regret: Floats,
    numbers: Floats,
    retries: int,
    shown: Progress | None,
    evaluation: str | None,
) -> tuple[bool, set[str]]:
    """Fills in the runs as they come in; whether it was interrupted, and whose regret is estimated.

    A run whose task fails, for a worker was lost or killed, is submitted again `retries` times; what is wrong with a
    world or a learner is raised at once. Every run has its own seed, so that the numbers do not depend on who
    plays it, or how often.
    """
    repetitions, episodes = regret.shape[2:]
    sent = sendable(places, learners, episodes, seed, evaluation)
    runs = list(np.ndindex(len(places), len(learners), repetitions))
    estimated: set[str] = set()

    def submit(run: tuple[int, ...]) -> Any:
        w, i, r = run
        return executor.submit(one_run, sent[w], learners[i], episodes, seed, r, evaluation)

    waiting: list[tuple[tuple[int, ...], int, Any]] = []
    try:
        waiting = [(run, 0, submit(run)) for run in runs]
        while waiting:
            left = []
            for run, failed, task in waiting:
                if not task.done():
                    left.append((run, failed, task))
                    continue
                try:
                    regret[run], numbers[run], is_estimated = task.result()
                except (_lib.Error, TypeError, AttributeError):
                    raise
                except Exception as error:
                    if failed >= retries:
                        w, i, r = run
                        where = f"{names[i]} in world {w + 1}, repetition {r}"
                        raise _lib.Error(f"{where}: its task failed {failed + 1} times, last with {error!r}") from error
                    left.append((run, failed + 1, submit(run)))
                else:
                    if is_estimated:
                        estimated.add(names[run[1]])
            if len(left) == len(waiting):
                time.sleep(LOOKS)
            waiting = left
            if shown:
                shown((len(runs) - len(waiting)) * episodes, len(runs) * episodes)
    except BaseException as error:
        for _, _, task in waiting:
            if hasattr(task, "cancel"):
                task.cancel()
        if not isinstance(error, KeyboardInterrupt):
            raise
        return True, estimated
    return False, estimated
