"""`run` and `compare`: the loops are in Rust, without the interpreter's lock; here only what goes in and comes out."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np

from dowise import _lib
from dowise._agents import Outside, outside, play
from dowise._lib import Learner, World
from dowise._progress import Progress, wanted
from dowise._results import Comparison, Floats, Interrupted, Run
from dowise._spread import Executor, play_spread


def run(
    world: World | str,
    learner: Learner | str = "graph-psrl",
    episodes: int = 1000,
    seed: int = 0,
    *,
    progress: bool | None = None,
    **options: Any,
) -> Run:
    """Lets a learner learn in a world; every policy is evaluated exactly. A seed gives what `dowise learn` gives.

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
    learners: Any,
    episodes: int = 1000,
    repetitions: int = 10,
    seed: int = 0,
    *,
    threads: int | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
    retries: int = 2,
    evaluate: str | None = None,
    judge: str | None = None,
) -> Comparison:
    """Plays every learner in every world several times, on all cores, with the numbers of `dowise compare`.

    A world is a `World`, a file name, or a text such as "paper:levels=3", which is drawn afresh for each repetition.
    Learners are texts such as "c-ucbvi:width=paper-plain,scale=0.002", or agents of your own: a class or function that
    is called with (world, episodes, seed), or an object, which is copied for each run, with `act(state)` and
    `observe(state, action, next_state, reward, keys)`; `begin_episode()` and `end_episode()` are called if there are
    any. Their draws are those of our learners. If an agent offers `policy()`, in a form that `World.evaluate` takes,
    its regret is exact; otherwise it is the value of the best policy less the rewards received, and the result's
    `estimated` names it. With `evaluate="monte-carlo"`, and in worlds whose states are too many to enumerate
    (`World.is_enumerable`), all regret is estimated with common random numbers: the rewards of a plan by sampled value
    iteration less those of the learner. That is for worlds of low rank. Linear learners then learn from the visited
    states, so that nothing takes time that grows with the number of states. `evaluate="exact"` is refused where states
    cannot be enumerated.

    With an `executor`, anything with `submit(function, *arguments)` (of `concurrent.futures`, dask, submitit, or
    `dowise.ray`), every run is a task of it, on whatever machines it has, with the same numbers; all worlds and
    learners are checked before anything is sent, and a run whose task fails is submitted again up to `retries` times.

    >>> import dowise
    >>> result = dowise.compare("paper:levels=2,factors=1", ["ucbvi", "c-ucbvi"], episodes=30, repetitions=2)
    >>> result.regret.shape
    (1, 2, 2, 30)
    """
    places = [worlds] if isinstance(worlds, (World, str)) else list(worlds)
    given = list(learners) if isinstance(learners, Iterable) and not isinstance(learners, str) else [learners]
    ours = [i for i, learner in enumerate(given) if isinstance(learner, str)]
    others = {i: outside(learner) for i, learner in enumerate(given) if not isinstance(learner, str)}
    names = [others[i].name if i in others else learner for i, learner in enumerate(given)]
    for other in others.values():
        if names.count(other.name) > 1:
            raise _lib.LearnError(f'two learners are called "{other.name}"; give your agent a `name`')
    # `judge` and "play" are what `evaluate` and "monte-carlo" were called before.
    evaluate = "monte-carlo" if (evaluate or judge) == "play" else evaluate or judge
    if others and evaluate == "monte-carlo":
        agent = next(iter(others.values())).name
        raise _lib.Error(f'evaluate="monte-carlo" is for learners by name, and "{agent}" is an agent')
    if others or executor is not None:
        episodes, repetitions, seed = counted(places, episodes=episodes, repetitions=repetitions, seed=seed)
    estimated: set[str] = set()
    shown = Progress("comparing") if wanted(progress) else None

    def play_ours(texts: list[str]) -> tuple[Floats, Floats, bool]:
        regret, numbers, interrupted = _lib.play_all(
            places, texts, episodes, repetitions, seed, threads, shown, evaluate, 0
        )
        shape = (len(places), len(texts), repetitions)
        return regret.reshape(*shape, episodes), numbers.reshape(*shape, 4), interrupted

    try:
        shape, interrupted = (len(places), len(names), repetitions), False
        if not others and executor is None:
            regret, numbers, interrupted = play_ours(names)
        elif executor is not None:
            if threads is not None:
                raise _lib.Error("threads and an executor exclude each other: the executor says how many runs at once")
            if not given:
                raise _lib.Error("a comparison needs at least one world, learner, episode and repetition")
            regret, numbers = np.full((*shape, episodes), np.nan), np.full((*shape, 4), np.nan)
            interrupted, estimated = play_spread(
                executor, places, given, names, seed, regret, numbers, retries, shown, evaluate
            )
        else:
            regret, numbers = np.full((*shape, episodes), np.nan), np.full((*shape, 4), np.nan)
            if ours:
                regret[:, ours], numbers[:, ours], interrupted = play_ours([names[i] for i in ours])
            if not interrupted:
                interrupted = play_others(places, others, seed, regret, numbers, estimated, shown)
    finally:
        if shown:
            shown.close()
    reward, optimal, value, seconds = np.moveaxis(numbers, -1, 0)
    if evaluate == "monte-carlo" or not all(
        (named(w, seed) if isinstance(w, str) else w).is_enumerable for w in places
    ):
        estimated.update(names)
    titles = [w if isinstance(w, str) else w.name for w in places]
    agents = [other.name for other in others.values()]
    result = Comparison(
        titles,
        names,
        seed,
        regret,
        reward,
        optimal,
        value,
        seconds,
        agents=agents,
        estimated=[name for name in names if name in estimated],
    )
    if interrupted:
        done = int(np.isfinite(reward).sum())
        raise Interrupted(f"interrupted after {done} of {reward.size} runs", result)
    return result


def counted(places: list[World | str], **numbers: int) -> tuple[int, ...]:
    """The numbers of a comparison, whole and as large as they must be."""
    for name, number in numbers.items():
        least = 0 if name == "seed" else 1
        if isinstance(number, bool) or not hasattr(number, "__index__") or index(number) < least:
            raise _lib.Error(f"{name} is {number!r}, expected a whole number from {least} on")
    if not places:
        raise _lib.Error("a comparison needs at least one world, learner, episode and repetition")
    return tuple(index(number) for number in numbers.values())


def play_others(
    places: list[World | str],
    others: dict[int, Outside],
    seed: int,
    regret: Floats,
    numbers: Floats,
    estimated: set[str],
    shown: Progress | None,
) -> bool:
    """Plays agents that are not ours, one run after the other; whether it was interrupted."""
    repetitions, episodes = regret.shape[2:]
    total, done = len(places) * len(others) * repetitions * episodes, 0

    def tell() -> None:
        nonlocal done
        done += 1
        if shown and (done % 16 == 0 or done == total):
            shown(done, total)

    try:
        for w, place in enumerate(places):
            for r in range(repetitions):
                world = named(place, seed + r) if isinstance(place, str) else place
                for i, other in others.items():
                    run = play(other, world, episodes, seed + r, tell)
                    regret[w, i, r] = run.regret
                    numbers[w, i, r] = run.reward, run.optimal, run.value, run.seconds
                    if run.estimated:
                        estimated.add(other.name)
    except KeyboardInterrupt:
        return True
    return False


def named(text: str, seed: int) -> World:
    """A world file, or a ready-made world such as "deep-sea:size=6"; generated ones are drawn from the seed."""
    return World._chosen(text, seed)
