"""`run` and `compare`: the loops are in Rust, without the interpreter's lock; here only what goes in and comes out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dowise import _lib
from dowise._lib import Learner, World
from dowise._progress import Progress, wanted
from dowise._results import Comparison, Interrupted, Run


def run(
    world: World | str,
    learner: Learner | str = "graph-psrl",
    episodes: int = 1000,
    seed: int = 0,
    *,
    progress: bool | None = None,
    **options: Any,
) -> Run:
    """Lets a learner learn in a world; every policy is judged exactly. The same seed gives what `dowise learn` gives.

    `learner` is a name (`dowise.learners()` lists them) with keyword options, or a `Learner`, which then goes on
    learning. Ctrl-C raises `Interrupted`, with what was done so far in its `result`.

    >>> import dowise
    >>> world = dowise.World.named("paper", levels=3, seed=1)
    >>> result = dowise.run(world, "c-ucbvi", episodes=20, width="paper-plain", scale=0.002)
    >>> result.learner
    <Learner c-ucbvi:width=paper-plain,scale=0.002: 20 episodes, 64 cells>
    >>> bool(result.regret.sum() >= 0)
    True
    """
    if isinstance(world, str):
        world = named(world, seed)
    if isinstance(learner, str):
        learner = Learner(world, learner, episodes=episodes, seed=seed, **options)
    elif options:
        raise _lib.LearnError("a learner that is there already takes no options")
    shown = Progress(learner.name) if wanted(progress) else None
    try:
        start, regret, reward, interrupted = _lib.play(world, learner, episodes, seed, shown)
    finally:
        if shown:
            shown.close()
    result = Run(world, learner, seed, start, regret, reward)
    if interrupted:
        raise Interrupted(f"interrupted after {len(regret)} of {episodes} episodes", result)
    return result


def compare(
    worlds: World | str | Iterable[World | str],
    learners: str | Iterable[str],
    episodes: int = 1000,
    repetitions: int = 10,
    seed: int = 0,
    *,
    threads: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Plays every learner in every world several times, on all cores, with the numbers of `dowise compare`.

    A world is a `World`, a file name, or a text such as "paper:levels=3", which is drawn afresh for each repetition.
    Learners are texts such as "c-ucbvi:width=paper-plain,scale=0.002".

    >>> import dowise
    >>> result = dowise.compare("paper:levels=2,factors=1", ["ucbvi", "c-ucbvi"], episodes=30, repetitions=2)
    >>> result.regret.shape
    (1, 2, 2, 30)
    """
    places = [worlds] if isinstance(worlds, (World, str)) else list(worlds)
    names = [learners] if isinstance(learners, str) else list(learners)
    shown = Progress("comparing") if wanted(progress) else None
    try:
        regret, numbers, interrupted = _lib.play_all(places, names, episodes, repetitions, seed, threads, shown)
    finally:
        if shown:
            shown.close()
    shape = (len(places), len(names), repetitions)
    reward, optimal, value, seconds = np.moveaxis(numbers.reshape(*shape, 4), -1, 0)
    titles = [w if isinstance(w, str) else w.name for w in places]
    result = Comparison(titles, names, seed, regret.reshape(*shape, episodes), reward, optimal, value, seconds)
    if interrupted:
        done = int(np.isfinite(reward).sum())
        raise Interrupted(f"interrupted after {done} of {reward.size} runs", result)
    return result


def named(text: str, seed: int) -> World:
    """A world file, or a ready-made world such as "deep-sea:size=6"; generated ones are drawn from the seed."""
    return World._chosen(text, seed)
