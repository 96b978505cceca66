"""Small worlds that many tests share."""

import numpy as np
import pytest

import dowise


def random_mdp(rng, n_states=5, n_actions=3):
    P = rng.dirichlet(np.ones(n_states), size=(n_states, n_actions))
    R = rng.random((n_states, n_actions))
    return P, R


def value_iteration(P, R, horizon, admissible=None):
    """Plain numpy: values [stage, state] and greedy policies, first of equally good actions."""
    values, policies = [np.zeros(len(P))], []
    for _ in range(horizon):
        q = R + P @ values[0]
        if admissible is not None:
            q = np.where(admissible, q, -np.inf)
        values.insert(0, q.max(axis=1))
        policies.insert(0, q.argmax(axis=1))
    return np.array(values), np.array(policies)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def river():
    return dowise.World.named("river-swim", seed=1)


@pytest.fixture
def paper():
    return dowise.World.named("paper", levels=3, seed=1)
