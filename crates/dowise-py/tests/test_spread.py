"""Comparisons on executors: the numbers of one machine, whoever plays the runs, and however often some are lost."""

import concurrent.futures
import multiprocessing
import os
import signal

import numpy as np
import pytest

import dowise

WORLDS = ["paper:levels=2,factors=1", "river-swim:seed=1"]
LEARNERS = ["ucbvi", "c-psrl"]
SIZE = {"episodes": 15, "repetitions": 3, "seed": 4}


@pytest.fixture(scope="module")
def alone():
    return dowise.compare(WORLDS, LEARNERS, **SIZE)


def same(found, expected):
    assert list(found.learners) == list(expected.learners) and list(found.worlds) == list(expected.worlds)
    for name in ["regret", "reward", "optimal", "value"]:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_threads_give_the_bytes_of_one_machine(alone):
    with concurrent.futures.ThreadPoolExecutor(3) as executor:
        same(dowise.compare(WORLDS, LEARNERS, **SIZE, executor=executor), alone)


def test_processes_give_the_bytes_of_one_machine(alone):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        same(dowise.compare(WORLDS, LEARNERS, **SIZE, executor=executor), alone)


def test_world_objects_and_files_are_sent_whole(tmp_path):
    world = dowise.World.named("river-swim", seed=2)
    (tmp_path / "river.toml").write_text(world.to_text())
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
        for place in (world, str(tmp_path / "river.toml")):
            expected = dowise.compare(place, "graph-psrl", **SIZE)
            same(dowise.compare(place, "graph-psrl", **SIZE, executor=executor), expected)


class Processes:
    """A process for every task; the first tasks are killed, as if their machine were lost."""

    def __init__(self, lost):
        self.lost, self.submitted = lost, 0

    def submit(self, task, *arguments):
        self.submitted += 1
        pool = concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        if self.submitted <= self.lost:
            return pool.submit(die)
        return pool.submit(task, *arguments)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_runs_whose_worker_was_killed_are_repeated():
    size = {"episodes": 5, "repetitions": 2, "seed": 1}
    expected = dowise.compare(WORLDS[0], "ucbvi", **size)
    executor = Processes(lost=2)
    same(dowise.compare(WORLDS[0], "ucbvi", **size, executor=executor), expected)
    assert executor.submitted == 4
    with pytest.raises(dowise.Error, match="ucbvi in world 1, repetition [01]: its task failed 1 times"):
        dowise.compare(WORLDS[0], "ucbvi", **size, executor=Processes(lost=100), retries=0)


class Refusing:
    def submit(self, task, *arguments):
        raise AssertionError("nothing may be sent before everything was checked")


@pytest.mark.parametrize(
    ("worlds", "learners", "message"),
    [
        (["paper:levels=2", "nowhere"], ["ucbvi"], "nowhere"),
        (["paper:levels=2"], ["ucbvi", "c-ucbvj"], "c-ucbvj"),
        (["paper:levels=2"], [], "at least one"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_sent(worlds, learners, message):
    with pytest.raises(dowise.Error, match=message):
        dowise.compare(worlds, learners, **SIZE, executor=Refusing())


def test_threads_beside_an_executor_are_refused():
    with pytest.raises(dowise.Error, match="exclude each other"):
        dowise.compare(WORLDS, LEARNERS, **SIZE, executor=Refusing(), threads=2)


class Still:
    """An agent of one's own, which never acts otherwise."""

    name = "still"

    def act(self, state):
        return 0

    def observe(self, state, action, next_state, reward):
        pass


def test_agents_of_ones_own_are_sent_as_well():
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        found = dowise.compare(WORLDS[0], ["ucbvi", Still()], **SIZE, executor=executor)
    expected = dowise.compare(WORLDS[0], ["ucbvi", Still()], **SIZE)
    same_numbers = [np.array_equal(found.regret, expected.regret), np.array_equal(found.reward, expected.reward)]
    assert all(same_numbers) and list(found.estimated) == list(expected.estimated) == ["still"]
