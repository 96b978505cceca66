"""Side by side with rlberry 0.6.0, which has an environment of its own: one MDP, the same steps, one Gymnasium."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dowise

SCRIPT = Path(__file__).parent / "peer" / "rlberry_side.py"
EPISODES, SEEDS = 400, 10
#: rlberry's bonus with the same ceiling, and like there with counts for each stage.
OURS = {"width": "rlberry", "cap": "horizon", "stage_dependent": True}


@pytest.fixture(scope="module")
def rlberry(tmp_path_factory):
    """Runs a part of the script in rlberry's environment, which `make python` makes, and gives its arrays."""
    python = Path(sys.prefix) / "rlberry" / "bin" / "python"
    if not python.exists():
        pytest.skip("there is no environment with rlberry beside this one; `make python` makes it")
    place = tmp_path_factory.mktemp("rlberry")

    def run(part, source):
        out = place / f"{part}.npz"
        one_core = dict(os.environ, NUMBA_NUM_THREADS="1", OMP_NUM_THREADS="1", SDL_VIDEODRIVER="dummy")
        subprocess.run([python, SCRIPT, part, source, out], cwd=place, env=one_core, check=True, capture_output=True)
        return dict(np.load(out))

    run.place = place
    return run


@pytest.fixture(scope="module")
def mdp():
    """A causal world as arrays: rewards from 0 to 1 (rlberry's ceiling), rows that sum to 1 to the last digit."""
    world = dowise.World.named("paper", factors=2, levers=2, levels=2, horizon=3, seed=1)
    P, R = world.mdp()
    R = (R - R.min()) / (R.max() - R.min())
    P = P / P.sum(axis=2, keepdims=True)
    P[..., -1] += 1.0 - P.sum(axis=2)
    assert np.abs(P.sum(axis=2) - 1.0).max() < 1e-15
    return P, R, dowise.World.from_mdp(P, R, world.horizon, start=np.eye(world.n_states)[0])


@pytest.fixture(scope="module")
def theirs(rlberry, mdp):
    P, R, world = mdp
    source = rlberry.place / "mdp.npz"
    np.savez(source, P=P, R=R, start=0, horizon=world.horizon, episodes=EPISODES, seeds=np.arange(SEEDS))
    return rlberry("ucbvi", source)


def test_the_best_values_are_those_of_rlberry(mdp, theirs):
    np.testing.assert_allclose(mdp[2].plan().values[:-1], theirs["best"], rtol=0, atol=1e-9)


def test_from_the_same_steps_ucbvi_has_the_optimistic_values_of_rlberry(mdp, theirs):
    world = mdp[2]
    # What was never tried is worth the ceiling to us and a bonus to rlberry, so everything that can be must have been.
    assert theirs["visits"][1:].min() > 0 and theirs["visits"][0, 0].min() > 0
    learner = dowise.Learner(world, "ucbvi", episodes=EPISODES, **OURS)
    for stage, state, action, next_state in theirs["steps"].tolist():
        assert learner.stage == (stage or None)
        learner.observe(state, action, next_state)
        if stage == world.horizon - 1:
            learner.end_episode()
    learner.act(0)  # plans
    ours = learner.values()
    np.testing.assert_allclose(ours[1:-1], theirs["values"][1:], rtol=0, atol=1e-9)
    assert ours[0, 0] == pytest.approx(theirs["values"][0, 0], abs=1e-9)
    assert np.ptp(ours[1:-1]) > 0.5, "values that tell nothing apart would prove nothing"


def test_ucbvi_learns_as_well_as_that_of_rlberry(mdp, theirs):
    _, R, world = mdp
    best = world.plan().value
    chance = best - world.evaluate(np.full(R.shape, 1 / R.shape[1]))[0, 0]
    their_regret = np.array([[best - world.evaluate(p)[0, 0] for p in policies] for policies in theirs["policies"]])
    runs = [dowise.run(world, "ucbvi", EPISODES, seed, progress=False, **OURS) for seed in range(SEEDS)]
    at_the_end = [regret[:, -100:].mean(axis=1) for regret in (their_regret, np.array([run.regret for run in runs]))]
    for regret in at_the_end:
        assert (regret < 0.35 * chance).all(), (regret, chance)
    # Over ten seeds each, the means of the last hundred episodes differ by no more than four standard errors.
    error = np.sqrt(sum(regret.var(ddof=1) / SEEDS for regret in at_the_end))
    assert abs(at_the_end[0].mean() - at_the_end[1].mean()) < 4 * error, (at_the_end, error)


def test_an_agent_of_rlberry_learns_in_a_registered_environment(rlberry):
    """Optimistic Q-learning through `gymnasium.make("dowise/World-v0")`, with the older Gymnasium of rlberry."""
    world = dowise.World.named("river-swim", positions=3, levels=2, good=2, horizon=8, seed=1)
    source = rlberry.place / "world.toml"
    source.write_text(world.to_text())
    learned = rlberry("optql", source)
    assert str(learned["gymnasium"]) == "0.29.1"
    best = world.plan().value
    chance = world.from_start(world.evaluate(np.full((world.n_states, world.n_actions), 1 / world.n_actions))[0])
    reached = [world.from_start(world.evaluate(policy)[0]) for policy in learned["policies"]]
    assert chance < 0.2 * best and min(reached) > 0.9 * best, (chance, reached, best)
