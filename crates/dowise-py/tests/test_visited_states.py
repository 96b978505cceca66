"""Learners that work from the states they met, in worlds whose states cannot be enumerated."""

import concurrent.futures

import numpy as np
import pytest

import dowise

BITS = 40

TEXT = """dowise = 1
horizon = 4
[lever.x]
values = ["low", "high"]
[key.z]
values = ["no", "yes"]
parents = ["x"]
p = [[0.9, 0.1], [0.2, 0.8]]
[reward.r]
scope = ["z"]
range = [0.0, 1.0]
[low_rank]
learn = true
""" + "".join(f'[state.b{i}]\nvalues = ["0", "1"]\n' for i in range(BITS))


def features(state):
    """Where most bits are set, z = yes pays."""
    share = sum(state) / BITS
    return [[1.0 - share, share, 0.0], [0.0, share, 1.0 - share]]


def played(learner, world, episodes, seed):
    """Plays a little environment of our own: bits are drawn anew, and yes pays 1."""
    rng = np.random.default_rng(seed)
    total = 0.0
    for _ in range(episodes):
        state = rng.integers(2, size=BITS).tolist()
        for _ in range(world.horizon):
            action = learner.act(state)
            z = int(rng.random() < [0.1, 0.8][action])  # x = low, x = high
            after = rng.integers(2, size=BITS).tolist()
            learner.observe(state, action, after, reward=float(z), keys=[z])
            total += z
            state = after
        learner.end_episode()
    return total / episodes


def make(seed=1, **more):
    world = dowise.World.from_text(TEXT)
    more = {"features": features, "dimension": 3, **more}
    return world, dowise.VisitedStatesLearner(world, "c-blsvi", episodes=60, seed=seed, **more)


def test_it_learns_in_a_custom_environment_with_features_from_python():
    world, learner = make()
    assert learner.causes == [{"z": "no"}, {"z": "yes"}]
    played(learner, world, 30, 3)
    assert learner.episodes == 30 and learner.met == 120 and 1 < learner.plans < 30
    assert learner.learned(0, [0] * BITS) == 1  # x = high, which brings yes; where all bits are set both are alike


def test_a_restored_learner_goes_on_as_if_it_had_never_stopped():
    world, learner = make()
    played(learner, world, 10, 3)
    again = dowise.VisitedStatesLearner.restore(world, learner.save(), features=features, dimension=3)
    assert again.save() == learner.save()
    assert played(again, world, 5, 4) == played(learner, world, 5, 4)
    assert again.save() == learner.save()


def test_mechanisms_are_learned_where_the_world_does_not_give_them():
    text = TEXT.replace("p = [[0.9, 0.1], [0.2, 0.8]]", 'learn = "table"')
    world = dowise.World.from_text(text)
    learner = dowise.VisitedStatesLearner(world, "c-blsvi", episodes=60, features=features, dimension=3)
    played(learner, world, 30, 3)
    assert learner.learned(0, [0] * BITS) == 1
    again = dowise.VisitedStatesLearner.restore(world, learner.save(), features=features, dimension=3)
    assert played(again, world, 5, 4) == played(learner, world, 5, 4)
    # The same by name, in a world that does give them.
    name = "c-blsvi:unknown=kernel"
    learner = dowise.VisitedStatesLearner(
        dowise.World.from_text(TEXT), name, episodes=60, features=features, dimension=3
    )
    assert played(learner, world, 30, 3) > 0.0 and learner.learned(0, [0] * BITS) == 1


def test_a_ready_made_world_has_features_of_its_own():
    world = dowise.World.named("linear-code", seed=1)
    learner = dowise.VisitedStatesLearner(world)
    state = [0] * 11
    assert learner.act(state) >= 0
    with pytest.raises(dowise.PlanError, match="more than can be enumerated"):
        world.plan()


def test_what_is_wrong_with_features_is_said_by_name():
    says = pytest.raises(dowise.LearnError, match="its shape is")
    with says:
        make(features=lambda state: [[1.0, 0.0]])[1].act([0] * BITS)
    with pytest.raises(dowise.LearnError, match=r'b39 = "[01]", z = "yes" have length 2'):
        make(features=lambda state: [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])[1].act([0] * BITS)
    with pytest.raises(dowise.LearnError, match="ZeroDivisionError"):
        make(features=lambda state: 1 / 0)[1].act([0] * BITS)
    with pytest.raises(dowise.LearnError, match="needs dimension="):
        make(dimension=None)
    with pytest.raises(dowise.LearnError, match="the world has no features"):
        make(features=None, dimension=None)
    with pytest.raises(dowise.LearnError, match="counts, and needs all states enumerated"):
        dowise.VisitedStatesLearner(dowise.World.from_text(TEXT), "graph-psrl")


@pytest.mark.parametrize("ask", [lambda w: w.ended, lambda w: w.kernel(), lambda w: w.mdp(), lambda w: w.plan()])
def test_what_would_list_all_states_is_refused_by_name(ask):
    world = dowise.World.named("linear-code")
    assert not world.is_enumerable and dowise.World.named("paper").is_enumerable
    with pytest.raises(dowise.Error, match="more than can be enumerated"):
        ask(world)


def test_learners_are_compared_by_monte_carlo():
    result = dowise.compare(
        "linear-code:places=3,symbols=9", ["c-blsvi", "uniform"], episodes=60, repetitions=2, threads=1
    )
    assert result.estimated == ["c-blsvi", "uniform"]
    assert (result.regret[0, 0, :, -1] < 0.5 * result.regret[0, 1, :, -1]).all()
    again = dowise.compare(
        "linear-code:places=3,symbols=9", ["c-blsvi", "uniform"], episodes=60, repetitions=2, threads=2
    )
    assert np.array_equal(result.regret, again.regret)


def test_the_kind_of_evaluation_is_chosen_by_name():
    river = "linear-river:states=64,causes=9,dimension=5,levels=3,horizon=6,seed=1"
    names = ["c-lsvi-ucb:schedule=doubling", "uniform"]
    few = {"episodes": 40, "repetitions": 2, "threads": 1}
    exact, play = (dowise.compare(river, names, evaluate=how, **few) for how in ("exact", "monte-carlo"))
    assert np.array_equal(dowise.compare(river, names, judge="play", **few).regret, play.regret), "the former names"
    assert exact.estimated == [] and play.estimated == names
    assert np.array_equal(exact.reward[0, 0], play.reward[0, 0])  # the same decisions
    assert np.array_equal(exact.regret, dowise.compare(river, names, **few).regret)
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        spread = dowise.compare(river, names, evaluate="monte-carlo", episodes=40, repetitions=2, executor=executor)
    assert np.array_equal(spread.regret, play.regret) and np.array_equal(spread.value, play.value)
    with pytest.raises(dowise.Error, match="there are exact and monte-carlo"):
        dowise.compare(river, names, evaluate="guess", **few)
    with pytest.raises(dowise.Error, match="exact values need all states enumerated"):
        dowise.compare("linear-code", names, evaluate="exact", **few)
    with pytest.raises(dowise.Error, match="is compared with a plan by sampled states"):
        dowise.compare("paper", names, evaluate="monte-carlo", **few)


def test_who_lists_states_names_the_learner_that_does_not():
    for ask in (dowise.run, dowise.Learner):
        with pytest.raises(dowise.LearnError, match=r"dowise\.VisitedStatesLearner learns from those that it meets"):
            ask(dowise.World.named("linear-code"), "c-blsvi")


def test_a_step_that_was_not_taken_is_refused():
    world = dowise.World.named("linear-lock", seed=1)
    for kind in (dowise.Learner, dowise.VisitedStatesLearner):
        learner = kind(world, "c-blsvi", episodes=60)
        action = learner.act(3)
        with pytest.raises(dowise.LearnError, match="is in state 3, not in state 4"):
            learner.observe(4, action, 5, reward=0.0, keys=[0])
        learner.observe(3, action, 5, reward=0.0, keys=[0])
        with pytest.raises(dowise.LearnError, match="is in state 5, not in state 6"):
            learner.act(6)


def test_a_saved_learner_knows_its_name():
    world = dowise.World.from_text(TEXT)
    name = "c-blsvi:unknown=kernel"
    learner = dowise.VisitedStatesLearner(world, name, episodes=60, features=features, dimension=3)
    played(learner, world, 5, 3)
    again = dowise.VisitedStatesLearner.restore(world, learner.save(), features=features, dimension=3)
    assert again.name == name and again.save() == learner.save()
