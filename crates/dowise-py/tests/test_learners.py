"""Learners driven from Python: the same decisions as in a run, saved, restored, and given impossible things."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import dowise
from dowise._lib import Simulation


def drive(world, learner, episodes, seed):
    """The loop of a run, in Python."""
    simulation = Simulation(world, seed)
    rewards = []
    for _ in range(episodes):
        state, total = simulation.reset(), 0.0
        for _ in range(world.horizon):
            action = learner.act(state)
            next_state, reward, keys, levers, terms, _ = simulation.step(action)
            learner.observe(state, action, next_state, terms, keys, levers)
            state, total = next_state, total + reward
        learner.end_episode()
        rewards.append(total)
    return np.array(rewards)


LINEAR = ["lsvi-ucb", "c-lsvi-ucb", "c-rlsvi", "c-blsvi"]


@pytest.mark.parametrize("name", [*LINEAR, "lsvi-ucb:beta-scale=0.01", "c-rlsvi:unknown=rewards"])
def test_learners_that_regress_on_features_are_driven_alike(name):
    world = dowise.World.named("linear")
    result = dowise.run(world, name, episodes=30, seed=3)
    learner = dowise.Learner(world, name, episodes=30, seed=3)
    np.testing.assert_array_equal(drive(world, learner, 30, 3), result.reward)
    assert learner.save() == result.learner.save()


@pytest.mark.parametrize("name", [*LINEAR, "lsvi-ucb:beta-scale=0.01", "c-rlsvi:unknown=rewards"])
def test_a_saved_learner_that_regresses_goes_on_as_if_nothing_had_happened(name):
    world = dowise.World.named("linear")
    whole = dowise.run(world, name, episodes=110, seed=5).learner  # past the step at which factors are computed afresh
    pickled = pickle.loads(pickle.dumps(whole))
    restored = dowise.Learner.restore(world, whole.save())
    assert pickled.name == name and restored.name == name.split(":")[0]
    after = dowise.run(world, whole, episodes=10, seed=6)
    for again in (pickled, restored):
        assert again.episodes == 110
        later = dowise.run(world, again, episodes=10, seed=6)
        np.testing.assert_array_equal(later.regret, after.regret)
        assert again.save() == whole.save()
        np.testing.assert_array_equal(again.values(), whole.values())


def test_a_learner_that_regresses_on_rewards_must_be_shown_them():
    world = dowise.World.named("linear")
    with pytest.raises(dowise.LearnError, match="learns the rewards; pass reward="):
        dowise.Learner(world, "lsvi-ucb").observe(0, 0, 0, keys=[0])
    dowise.Learner(world, "c-lsvi-ucb").observe(0, 0, 0, keys=[0])


@pytest.mark.parametrize("name", [n for n in dowise.learners()["learners"] if n not in LINEAR])
def test_a_loop_in_python_does_what_a_run_does(paper, name):
    result = dowise.run(paper, name, episodes=15, seed=3)
    learner = dowise.Learner(paper, name, episodes=15, seed=3)
    np.testing.assert_array_equal(drive(paper, learner, 15, 3), result.reward)
    assert learner.save() == result.learner.save()


@pytest.mark.parametrize("unknown", ["kernel", "rewards", "kernel+rewards"])
def test_learners_that_know_less_learn_from_what_they_see(river, unknown):
    result = dowise.run(river, "graph-psrl", episodes=8, seed=1, unknown=unknown)
    learner = dowise.Learner(river, "graph-psrl", episodes=8, seed=1, unknown=unknown)
    np.testing.assert_array_equal(drive(river, learner, 8, 1), result.reward)


def test_a_saved_learner_goes_on_as_if_nothing_had_happened(paper):
    whole = dowise.Learner(paper, "cf-ucbvi", episodes=20, seed=5)
    drive(paper, whole, 20, 2)
    half = dowise.Learner(paper, "cf-ucbvi", episodes=20, seed=5)
    simulation_seed = 2
    first = drive(paper, half, 10, simulation_seed)
    for again in (dowise.Learner.restore(paper, half.save()), pickle.loads(pickle.dumps(half))):
        assert again.save() == half.save() and again.episodes == 10
        assert again.name == "cf-ucbvi"
    assert len(first) == 10
    less = dowise.Learner(paper, "c-psrl", unknown="kernel+rewards")
    drive(paper, less, 3, 0)
    assert dowise.Learner.restore(paper, less.save()).save() == less.save()


def test_what_was_saved_for_another_world_is_refused(paper, river):
    with pytest.raises(dowise.RestoreError, match="another world"):
        dowise.Learner.restore(river, dowise.Learner(paper).save())
    with pytest.raises(dowise.RestoreError, match="not a saved learner"):
        dowise.Learner.restore(river, "{")
    linear = dowise.World.named("linear")
    with pytest.raises(dowise.RestoreError, match="another world"):
        dowise.Learner.restore(dowise.World.named("linear", seed=3), dowise.Learner(linear, "c-rlsvi").save())
    damaged = dowise.Learner(linear, "c-rlsvi").save().replace('"plans":0', '"plans":9')
    with pytest.raises(dowise.RestoreError, match="the file is damaged"):
        dowise.Learner.restore(linear, damaged)


def test_a_learner_can_be_handed_on_to_a_run(paper):
    learner = dowise.Learner(paper, "c-psrl", seed=1)
    first = dowise.run(paper, learner, episodes=20, seed=1)
    second = dowise.run(paper, learner, episodes=20, seed=2)
    assert first.learner is learner and second.learner is learner and learner.episodes == 40
    with pytest.raises(dowise.LearnError, match="takes no options"):
        dowise.run(paper, learner, episodes=1, prior=2)


def test_what_cannot_be_is_refused(paper, river):
    learner = dowise.Learner(paper, "c-ucbvi")
    with pytest.raises(dowise.LearnError, match="there is no state 8; states run from 0 to 7"):
        learner.act(8)
    with pytest.raises(dowise.LearnError, match="there is no state -1"):
        learner.act(-1)
    with pytest.raises(dowise.LearnError, match="there is no intervention 27; they run from 0 to 26"):
        learner.observe(0, 27, 0, keys=[0, 0, 0])
    with pytest.raises(dowise.LearnError, match="keys is missing; pass the values of z1, z2, z3"):
        learner.observe(0, 0, 0)
    with pytest.raises(dowise.LearnError, match="2 values given for key variables of sizes"):
        learner.observe(0, 0, 0, keys=[0, 0])
    with pytest.raises(dowise.LearnError, match='"z1" has no value 2'):
        learner.observe(0, 0, 0, keys=[2, 0, 0])
    with pytest.raises(dowise.LearnError, match="there is no episode to end"):
        learner.end_episode()
    learner.act(0)
    with pytest.raises(dowise.LearnError, match="between episodes"):
        learner.save()
    for _ in range(paper.horizon):
        learner.observe(0, 0, 0, keys={"z1": 0, "z2": "1", "z3": 0})
    with pytest.raises(dowise.LearnError, match="has had its 5 steps"):
        learner.act(0)
    with pytest.raises(dowise.LearnError, match="no learner called `ucbiv`, did you mean `ucbvi`"):
        dowise.Learner(paper, "ucbiv")
    with pytest.raises(dowise.LearnError, match="no option `widht`, did you mean `width`"):
        dowise.Learner(paper, "ucbvi", widht="paper")
    with pytest.raises(dowise.LearnError, match="takes no `prior`"):
        dowise.Learner(paper, "ucbvi", prior=1)
    with pytest.raises(
        dowise.LearnError, match="the learner was made for .* 27 interventions, 5 steps.*, this world is"
    ):
        dowise.run(river, dowise.Learner(paper), episodes=1)
    unsure = dowise.Learner(river, unknown="rewards")
    with pytest.raises(dowise.LearnError, match="reward is much, expected a number"):
        unsure.observe(0, 0, 0, keys=[0], reward="much")
    with pytest.raises(dowise.LearnError, match="learns the rewards"):
        unsure.observe(0, 0, 0, keys=[0])
    with pytest.raises(dowise.LearnError, match="expected a finite number"):
        unsure.observe(0, 0, 0, keys=[0], reward=float("nan"))


def test_states_and_interventions_have_several_spellings(paper):
    learner = dowise.Learner(paper, "c-ucbvi", seed=1)
    action = learner.act([0, 1, 0])
    assert learner.act(np.array([0, 1, 0])) == learner.act(2) == learner.act({"s1": 0, "s2": "1", "s3": 0}) == action
    learner.observe([0, 1, 0], paper.settings(action), np.int64(3), keys=(0, 0, 1))
    assert learner.stage == 1


def test_policy_and_values_are_arrays(paper):
    learner = dowise.run(paper, "graph-ucbvi", episodes=5).learner
    assert learner.policy().shape == (5, 8) and learner.values().shape == (6, 8)
    np.testing.assert_array_less(-1e-9, paper.plan().values[0] - paper.evaluate(learner.policy())[0])


def test_a_certificate_promises_no_more_than_is_true():
    world = dowise.World.named("river-swim")
    learner = dowise.Learner(world, "c-ucbvi", episodes=200, seed=1)
    dowise.run(world, learner, episodes=200)
    certificate = learner.certificate(delta=0.05)
    best = world.plan().value
    value = world.from_start(world.evaluate(certificate["policy"])[0])
    assert certificate["at_least"] <= value + 1e-9
    assert best <= certificate["best_at_most"] + 1e-9
    assert best - value <= certificate["gap"] + 1e-9
    assert certificate["gap_by_state"].shape == (world.n_states,)
    with pytest.raises(dowise.LearnError, match="delta"):
        learner.certificate(delta=0)


def test_a_baseline_is_kept_and_bad_ones_are_refused(paper):
    best = paper.plan()
    today = np.zeros((paper.horizon, paper.n_states), dtype=int)
    own = paper.evaluate(today)[0]
    for value in (None, own):
        learner = dowise.Learner(paper, "graph-psrl", episodes=300, seed=1)
        assert learner.baseline is None
        learner.keep_baseline(today, alpha=0.1, value=value)
        run = dowise.run(paper, learner, episodes=300)
        kept = learner.baseline
        assert kept["alpha"] == 0.1 and kept["episodes"] == 300 and 0 < kept["fell_back"] < 300 and kept["room"] >= 0
        worth = best.values[0][run.start] - run.regret
        assert worth.sum() >= 0.9 * own[run.start].sum()
    with pytest.raises(dowise.LearnError, match="already"):
        learner.keep_baseline(today)
    fresh = dowise.Learner(paper, "graph-psrl", episodes=10)
    with pytest.raises(dowise.LearnError, match="alpha"):
        fresh.keep_baseline(today, alpha=1)
    with pytest.raises(dowise.PlanError, match="shape"):
        fresh.keep_baseline(today[1:])
    with pytest.raises(dowise.LearnError, match="an episode pays between"):
        fresh.keep_baseline(today, value=own + 100)


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000, 3_000_000_000))
import dowise
world = dowise.World.named("campaign")
for name in ["ucbvi", "psrl", "psrl:stage-dependent=true"]:
    try:
        dowise.Learner(world, name)
    except dowise.LearnError as error:
        assert "bytes" in str(error) or "counters" in str(error), error
    else:
        raise AssertionError(f"{name} was made")
print(dowise.Learner(world, "graph-psrl").act(0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a limit on the address space")
def test_what_does_not_fit_under_a_limit_of_the_process_is_refused():
    # Arenas and threads of other libraries take address space for every core.
    alone = dict(os.environ, MALLOC_ARENA_MAX="1", OPENBLAS_NUM_THREADS="1", RAYON_NUM_THREADS="2")
    limited = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, env=alone)
    assert limited.returncode == 0, limited.stderr
    assert limited.stdout.strip().isdigit()
