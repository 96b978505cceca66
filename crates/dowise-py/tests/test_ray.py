"""Comparisons on a cluster of Ray on loopback: the numbers of one machine, also when a node dies at work."""

import signal
import sys
import threading
import time

import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster

import dowise
import dowise.ray

# Ray takes 127.0.0.1 for the address of the machine; this one stays on loopback.
HERE = {"node_ip_address": "127.0.0.2", "object_store_memory": 80_000_000}
WORLD = "paper:levels=2,factors=1"
SIZE = {"episodes": 15, "repetitions": 4, "seed": 4}


def too_late(*_):
    raise TimeoutError("the cluster gave no answer in four minutes")


@pytest.fixture(autouse=True)
def in_time():
    """Nothing here may wait for ever."""
    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(240)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def cluster():
    """A head that plays nothing, and two nodes that play one run at a time."""
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **HERE})
    for _ in range(2):
        found.add_node(num_cpus=1, **HERE)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # nodes do not have this file
    ray.init(address=found.address, log_to_driver=False, _node_ip_address=HERE["node_ip_address"])
    yield found
    ray.shutdown()
    found.shutdown()


class Stuck:
    """An agent that is stuck on one node, as a machine is before it is given up, and plays well on all others: there it
    waits until that has happened, so that it happens."""

    def __init__(self, node, noted):
        self.name, self.node, self.noted = "stuck", node, noted

    def act(self, state):
        if ray.get_runtime_context().get_node_id() == self.node:
            self.noted.touch()
            time.sleep(600)
        while not self.noted.exists():
            time.sleep(0.05)
        return state % 2

    def observe(self, state, action, next_state, reward):
        pass


def same(found, expected):
    for name in ["regret", "reward", "optimal", "value"]:
        assert np.array_equal(getattr(found, name), getattr(expected, name), equal_nan=True), name


def test_tasks_give_the_numbers_of_one_machine(cluster):
    learners = ["ucbvi", "c-psrl"]
    same(dowise.ray.compare(WORLD, learners, **SIZE), dowise.compare(WORLD, learners, **SIZE))


def test_runs_of_a_node_that_dies_are_run_elsewhere(cluster, tmp_path):
    dying = next(iter(cluster.worker_nodes))
    noted = tmp_path / "noted"
    died = threading.Event()

    def kill():
        while not noted.exists():
            time.sleep(0.05)
        cluster.remove_node(dying, allow_graceful=False)
        died.set()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = dowise.ray.compare(WORLD, [Stuck(dying.node_id, noted), "c-psrl"], **SIZE)
    killer.join(60)
    assert died.is_set()
    same(found, dowise.compare(WORLD, [Still(), "c-psrl"], **SIZE))


class Still(Stuck):
    """The same agent where nothing is stuck."""

    def __init__(self):
        self.name = "stuck"

    def act(self, state):
        return state % 2


def test_what_is_wrong_with_a_world_is_said_before_anything_is_sent(cluster):
    with pytest.raises(dowise.Error, match="nowhere"):
        dowise.ray.compare("nowhere", ["ucbvi"], **SIZE)
