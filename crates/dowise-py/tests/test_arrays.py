"""Worlds from arrays: the same values as plain numpy, and messages that say which number is wrong."""

import numpy as np
import pytest
from conftest import random_mdp, value_iteration

import dowise


def test_an_mdp_has_the_values_of_plain_value_iteration(rng):
    P, R = random_mdp(rng)
    plan = dowise.World.from_mdp(P, R, horizon=8).plan()
    values, policy = value_iteration(P, R, 8)
    np.testing.assert_allclose(plan.values, values, atol=1e-12)
    np.testing.assert_array_equal(plan.policy, policy)


def test_every_layout_and_number_type_gives_the_same_world(rng):
    P, R = random_mdp(rng)
    world = dowise.World.from_mdp(P, R, horizon=4)
    assert dowise.World.from_mdp(np.asfortranarray(P), R[:, :], horizon=4) == world
    assert dowise.World.from_mdp(P.transpose(1, 0, 2), R.T, horizon=4, order="ass") == world
    padded = np.zeros((5, 6, 10))
    padded[:, ::2, ::2] = P
    assert dowise.World.from_mdp(padded[:, ::2, ::2], R, horizon=4) == world
    assert dowise.World.from_mdp(P.tolist(), R.tolist(), horizon=4) == world
    single = dowise.World.from_mdp(P.astype(np.float32), R.astype(np.float32), horizon=4)
    np.testing.assert_allclose(single.plan().values, world.plan().values, atol=1e-5)
    by_next = dowise.World.from_mdp(P, np.repeat(R[:, :, None], 5, axis=2), horizon=4)
    np.testing.assert_allclose(by_next.plan().values, world.plan().values, atol=1e-12)


def test_sparse_matrices_are_taken_if_scipy_is_there(rng):
    sparse = pytest.importorskip("scipy.sparse")
    P, R = random_mdp(rng)
    matrices = [sparse.csr_matrix(P[:, a]) for a in range(3)]
    assert dowise.World.from_mdp(matrices, R.T, horizon=4) == dowise.World.from_mdp(P, R, horizon=4)


def test_rows_off_by_rounding_are_rescaled_and_reported(rng):
    P, R = random_mdp(rng)
    world = dowise.World.from_mdp(P * (1 + 3e-7), R, horizon=4)
    np.testing.assert_allclose(world.tables()["next"]["state"][1].sum(axis=-1), 1, atol=1e-14)
    assert [f["code"] for f in world.check().findings] == ["rounded"]


def test_states_allow_only_what_is_admissible(rng):
    P, R = random_mdp(rng, 30, 6)
    admissible = rng.random((30, 6)) < 0.5
    admissible[:, 2] |= ~admissible.any(axis=1)
    world = dowise.World.from_mdp(P, R, horizon=6, admissible=admissible)
    values, policy = value_iteration(P, R, 6, admissible)
    np.testing.assert_allclose(world.plan().values, values, atol=1e-12)
    np.testing.assert_array_equal(world.plan().policy, policy)
    for state in range(30):
        np.testing.assert_array_equal(world.allowed(state), admissible[state])


def test_a_start_is_a_state_or_a_distribution(rng):
    P, R = random_mdp(rng)
    values, _ = value_iteration(P, R, 3)
    assert dowise.World.from_mdp(P, R, 3).plan().value == pytest.approx(values[0].mean())
    assert dowise.World.from_mdp(P, R, 3, start=2).plan().value == pytest.approx(values[0, 2])
    start = rng.dirichlet(np.ones(5))
    assert dowise.World.from_mdp(P, R, 3, start=start).plan().value == pytest.approx(values[0] @ start)


def test_a_causal_world_is_the_mdp_that_its_causes_mix(rng):
    P_z = rng.dirichlet(np.ones(4), size=(3, 20))
    P, R = rng.dirichlet(np.ones(3), size=(3, 4)), rng.random((3, 4))
    causal = dowise.World.from_arrays(P_z, P, R, horizon=5)
    mixed = dowise.World.from_mdp(np.einsum("saz,szt->sat", P_z, P), np.einsum("saz,sz->sa", P_z, R), horizon=5)
    np.testing.assert_allclose(causal.plan().values, mixed.plan().values, atol=1e-12)
    np.testing.assert_allclose(causal.kernel(), P_z, atol=1e-15)


def test_factors_and_rewards_have_scopes(rng):
    states, levers, keys = {"a": 2, "b": ["low", "mid", "high"]}, {"x": 3, "y": 2}, {"z": 2, "w": 2}
    P_z = rng.dirichlet(np.ones(4), size=36).reshape(2, 3, 3, 2, 2, 2)
    A = rng.dirichlet(np.ones(2), size=(2, 2))
    B = rng.dirichlet(np.ones(3), size=(3, 2, 2))
    R = rng.random((3, 2))
    world = dowise.World.from_arrays(
        P_z,
        {"a": (["a", "z"], A), "b": (["b", "z", "w"], B)},
        {"pay": (["b", "w"], R)},
        horizon=4,
        states=states,
        levers=levers,
        keys=keys,
    )
    P = np.einsum("abxyzw,azc,bzwd->abxycd", P_z, A, B).reshape(6, 6, 6)
    expected = np.einsum("abxyzw,bw->abxy", P_z, R).reshape(6, 6)
    values, _ = value_iteration(P, expected, 4)
    np.testing.assert_allclose(world.plan().values, values, atol=1e-12)
    assert world.variables["b"] == ["low", "mid", "high"]
    assert dowise.World.from_text(world.to_text()) == world


@pytest.mark.parametrize("name", ["paper", "river-swim", "treatment"])
def test_a_world_as_an_mdp_has_its_values_and_is_read_back(name):
    world = dowise.World.named(name)
    P, R = world.mdp()
    assert P.shape == (world.n_states, world.n_actions, world.n_states) and R.shape == P.shape[:2]
    np.testing.assert_allclose(P.sum(axis=2), 1, atol=1e-12)
    allowed = np.array([world.allowed(state) for state in range(world.n_states)])
    values, _ = value_iteration(P, R, world.horizon, allowed)
    np.testing.assert_allclose(world.plan().values, values, atol=1e-9)
    if world.n_actions > 100:
        return
    again = dowise.World.from_mdp(P, R, world.horizon, admissible=allowed)
    np.testing.assert_allclose(again.plan().values, values, atol=1e-9)


def test_a_world_too_large_for_one_array_says_so():
    with pytest.raises(dowise.ArrayError, match="interventions × .* next states are too many for one array"):
        dowise.World.named("campaign").mdp()


def test_tables_come_back_without_copies_and_read_only(paper):
    scope, table = paper.tables()["next"]["s1"]
    assert scope == ["s1", "z1", "z2", "z3"] and table.shape == (2, 2, 2, 2, 2)
    again = paper.tables()["next"]["s1"][1]
    assert table.__array_interface__["data"] == again.__array_interface__["data"]
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0
    del paper
    assert table.sum() == pytest.approx(16)


def wrong(P=None, R=None, **keywords):
    good_p, good_r = np.full((2, 3, 2), 0.5), np.zeros((2, 3))
    with pytest.raises(dowise.ArrayError) as caught:
        dowise.World.from_mdp(good_p if P is None else P, good_r if R is None else R, horizon=3, **keywords)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def changed(shape, index, value):
    array = np.full(shape, 0.5)
    array[index] = value
    return array


def test_messages_say_which_array_which_index_and_what_was_expected():
    p = (2, 3, 2)
    assert wrong(P=changed(p, (1, 2, 0), 0.4)) == "P[1, 2, :] sums to 0.9, expected 1 (up to 1e-6)"
    assert wrong(P=changed(p, (0, 1, 1), -0.5)) == "P[0, 1, 1] is -0.5, expected a probability from 0 to 1"
    assert wrong(P=changed(p, (0, 1, 1), np.nan)) == "P[0, 1, 1] is NaN, expected a probability from 0 to 1"
    assert wrong(R=changed((2, 3), (1, 0), np.inf)) == "R[1, 0] is inf, expected a finite number"
    assert wrong(P=np.full((3, 3, 2), 0.5)) == (
        "P has shape (3, 3, 2), expected (2, 3, 2) for [state, action, next state]"
    )
    assert wrong(P=np.eye(2)) == "P has 2 axes, expected 3: [state, action, next state]"
    assert wrong(R=np.zeros(3)) == ("R has shape (3,), expected (2, 3) or (2,) or (2, 3, 2) for [state, action]")
    assert wrong(P=np.full(p, "a")).startswith("P holds <U1, expected real numbers")
    assert wrong(P=np.full(p, 0.5j)).startswith("P holds complex128, expected real numbers")
    assert wrong(P=None, R="rewards").startswith("R is not an array of real numbers")
    assert wrong(order="sss") == 'order is "sss", expected "sas" (P[s, a, s\']) or "ass"'
    assert wrong(start=2) == "start is state 2, expected 0 to 1"
    assert wrong(start=-1) == "start is state -1, expected 0 to 1"
    assert wrong(P=np.ma.masked_array(np.full(p, 0.5), mask=np.eye(2)[:, None, :].repeat(3, axis=1))) == (
        "P is a masked array, expected numbers everywhere; fill what is masked"
    )
    assert wrong(admissible=np.eye(2, 3) * 2) == "admissible[0, 0] is 2, expected 0 or 1"
    assert wrong(admissible=np.array([[1, 0, 0], [0, 0, 0]])) == (
        "admissible[1, :] allows no action, expected at least one in every state"
    )


def test_whole_numbers_are_refused_by_name(paper):
    P, R = np.full((2, 3, 2), 0.5), np.zeros((2, 3))
    for given, error, message in [
        (-1, dowise.Error, "is -1, expected a whole number from 0 on"),
        (10**30, dowise.Error, "expected a whole number below 2^64"),
        (2.5, TypeError, "is 2.5, expected a whole number"),
        ("3", TypeError, "is '3', expected a whole number"),
    ]:
        for name, make in [
            ("horizon", lambda n: dowise.World.from_mdp(P, R, n)),
            ("episodes", lambda n: dowise.Learner(paper, episodes=n)),
            ("seed", lambda n: dowise.Learner(paper, seed=n)),
            ("episodes", lambda n: dowise.run(paper, dowise.Learner(paper), n)),
            ("repetitions", lambda n: dowise.compare(paper, "psrl", 5, n)),
            ("stage", lambda n: paper.plan().action(n, 0)),
        ]:
            with pytest.raises(error) as caught:
                make(given)
            assert str(caught.value).startswith(f"{name} is ") and message in str(caught.value), (name, given)
    assert dowise.World.from_mdp(P, R, np.int32(3)).horizon == 3


def test_unknown_names_in_scopes_are_named():
    P_z, P, R = np.full((2, 4, 2), 0.5), np.full((2, 2), 0.5), np.zeros((2, 2))
    with pytest.raises(dowise.ArrayError, match='the scope of transitions\\["state"\\] names "zz"; there are state'):
        dowise.World.from_arrays(P_z, {"state": (["zz"], P)}, R, 3)
    with pytest.raises(dowise.ArrayError, match='transitions\\["mood"\\]: there is no such state factor'):
        dowise.World.from_arrays(P_z, {"mood": (["z"], P)}, R, 3)
    with pytest.raises(dowise.ArrayError, match='rewards\\["r"\\] has shape \\(2, 2\\), expected \\(2,\\) for \\[z\\]'):
        dowise.World.from_arrays(P_z, np.full((2, 2, 2), 0.5), {"r": (["z"], R)}, 3)
    with pytest.raises(dowise.ArrayError, match='states\\["s"\\] has 0 values, expected at least 1'):
        dowise.World.from_arrays(P_z, P, R, 3, states={"s": 0})
    with pytest.raises(dowise.ArrayError, match="rewards is None, expected an array of real numbers"):
        dowise.World.from_arrays(P_z, np.full((2, 2, 2), 0.5), None, 3)
