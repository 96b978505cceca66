"""Worlds as Gymnasium environments: checked by Gymnasium, played by others' loops, and others' tables as worlds."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from conftest import value_iteration

import dowise

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

import dowise.gym  # noqa: E402

IDS = ["Campaign", "Treatment", "RiverSwim", "DeepSea", "Paper"]


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("actions", ["levers", "number"])
@pytest.mark.parametrize("observations", ["factors", "state"])
def test_gymnasium_finds_nothing_wrong(name, actions, observations):
    env = gymnasium.make(f"dowise/{name}-v0", actions=actions, observations=observations).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


def test_an_environment_draws_what_a_run_draws(paper):
    env = dowise.gym.make(paper, observations="state", actions="number")
    result = dowise.run(paper, "c-psrl", episodes=10, seed=4)
    learner = dowise.Learner(paper, "c-psrl", episodes=10, seed=4)
    totals, seed = [], 4
    for _ in range(10):
        state, _ = env.reset(seed=seed)
        seed, total, truncated = None, 0.0, False
        while not truncated:
            action = learner.act(state)
            next_state, reward, terminated, truncated, info = env.step(action)
            learner.observe(state, action, next_state, info["rewards"], info["keys"], info["levers"])
            state, total = next_state, total + reward
            assert not terminated
        learner.end_episode()
        totals.append(total)
    assert totals == result.reward.tolist()


def test_a_seed_fixes_everything():
    def play(seed):
        env = gymnasium.make("dowise/Treatment-v0")
        env.action_space.seed(1)
        out = [env.reset(seed=seed)[0].tolist()]
        for _ in range(5):
            observation, reward, *_ = env.step(env.action_space.sample())
            out.append((observation.tolist(), reward))
        return out

    assert play(3) == play(3) != play(4)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_with_the_same_draws(copied):
    env = gymnasium.make("dowise/Treatment-v0", actions="number", observations="state")
    for done in range(4):
        again = copied(env)
        played = []
        for one in (env, again):
            one.action_space.seed(5)
            first = one.reset(seed=3 if done == 0 else None)[0]
            played.append([first, *(one.step(one.action_space.sample())[:2] for _ in range(3))])
        assert played[0] == played[1]


def test_forbidden_interventions_are_masked_replaced_or_refused():
    world = dowise.World.named("treatment")
    env = dowise.gym.make(world, actions="number")
    _, info = env.reset(seed=0)
    mask = info["action_mask"]
    np.testing.assert_array_equal(mask.astype(bool), world.allowed(info["state"]))
    for seed in range(30):
        _, info = env.reset(seed=seed)
        forbidden = np.flatnonzero(info["action_mask"] == 0)
        if len(forbidden):
            break
    else:
        pytest.fail("no starting state forbids anything")
    before = info["state"]
    _, _, _, _, info = env.step(int(forbidden[0]))
    assert info["replaced"] and world.allowed(before)[info["action"]]
    strict = dowise.gym.make(world, actions="number", forbidden="raise")
    strict.reset(seed=seed)
    with pytest.raises(dowise.LearnError, match="is not allowed in state"):
        strict.step(int(forbidden[0]))
    levers = dowise.gym.make(world)
    _, info = levers.reset(seed=seed)
    _, _, _, _, info = levers.step(levers.action_space.sample(mask=info["action_mask"]))
    assert set(info["keys"]) == set(world.keys)


@pytest.mark.parametrize("action", [[9, 0, 0], [0, 0], [0.5, 0, 0], [np.nan] * 3, [-1, 0, 0], "set", None])
def test_actions_outside_the_space_are_refused(paper, action):
    for kind, wanted in [("levers", "one number for each lever"), ("number", "a whole number from 0 to 26")]:
        env = dowise.gym.make(paper, actions=kind)
        env.reset(seed=0)
        with pytest.raises(dowise.Error, match=f"action is .*, expected {wanted}"):
            env.step(action)


def test_the_episode_ends_with_the_horizon(river):
    env = dowise.gym.make(river)
    env.reset(seed=0)
    ends = [env.step(env.action_space.sample())[2:4] for _ in range(river.horizon)]
    assert ends == [(False, False)] * (river.horizon - 1) + [(False, True)]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(env.action_space.sample())
    assert "position" in dowise.gym.make(river, render_mode="ansi").unwrapped.world.states


def test_an_agent_of_another_kind_learns_in_it():
    """Plain tabular Q-learning, which knows nothing of dowise, gets near the exact plan."""
    world = dowise.World.named("river-swim", positions=3, levels=2, good=2, seed=1, horizon=8)
    env = dowise.gym.make(world, observations="state", actions="number")
    rng = np.random.default_rng(0)
    q = np.full((world.horizon + 1, world.n_states, world.n_actions), 1.0)
    q[-1] = 0
    seen = np.zeros_like(q)
    state, _ = env.reset(seed=0)
    for _ in range(4000):
        for h in range(world.horizon):
            best = int(q[h, state].argmax())
            action = best if rng.random() > 0.1 else int(rng.integers(world.n_actions))
            next_state, reward, _, _, _ = env.step(action)
            seen[h, state, action] += 1
            rate = (world.horizon + 1) / (world.horizon + seen[h, state, action])
            q[h, state, action] += rate * (reward + q[h + 1, next_state].max() - q[h, state, action])
            state = next_state
        state, _ = env.reset()
    reached = world.from_start(world.evaluate(q[:-1].argmax(axis=2))[0])
    assert reached > 0.8 * world.plan().value


@pytest.mark.parametrize(("id", "horizon"), [("FrozenLake-v", 100), ("Taxi-v", 25), ("CliffWalking-v", 40)])
def test_toy_text_worlds_have_the_values_of_plain_value_iteration(id, horizon):
    env = gymnasium.make(next(k for k in gymnasium.registry if k.startswith(id)))
    world = dowise.World.from_gym(env, horizon)
    table = env.unwrapped.P
    values = np.zeros(len(table))
    for _ in range(horizon):
        q = [[sum(p * (r + (0 if d else values[t])) for p, t, r, d in table[s][a]) for a in table[s]] for s in table]
        values = np.max(q, axis=1)
    np.testing.assert_allclose(world.plan().values[0, :-1], values, atol=1e-9)
    assert world.plan().values[0, -1] == 0


def test_a_learner_learns_in_an_environment_that_is_not_ours():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    world = dowise.World.from_gym(env, horizon=20)
    learner = dowise.Learner(world, "psrl", episodes=300, seed=1)
    last, won = world.n_states - 1, []
    for episode in range(300):
        state, _ = env.reset(seed=episode)
        done = False
        for _ in range(world.horizon):
            action = learner.act(last if done else state)
            if done:
                learner.observe(last, action, last)
                continue
            next_state, reward, done, _, _ = env.step(action)
            learner.observe(state, action, last if done else next_state)
            state = next_state
        learner.end_episode()
        won.append(reward)
    assert np.mean(won[-50:]) > 0.9


def test_what_has_no_table_is_refused():
    with pytest.raises(dowise.ArrayError, match="has no table P"):
        dowise.World.from_gym(gymnasium.make("Blackjack-v1"), 10)
    with pytest.raises(dowise.Error, match='actions is "all", expected "levers" or "number"'):
        dowise.gym.make("paper", actions="all")


def test_without_gymnasium_it_says_what_to_install():
    code = "import sys; sys.modules['gymnasium'] = None; import dowise; import dowise.gym"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stderr.splitlines()[-1] == "ImportError: dowise.gym needs Gymnasium; `pip install gymnasium`"


def test_value_iteration_itself():
    P = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    values, _ = value_iteration(P, np.array([[0.0, 0.0], [1.0, 1.0]]), 3)
    assert values[0].tolist() == [2, 3]


ENDING = """
dowise = 1
horizon = 6
discount = 0.9
ends = { when = { health = "dead" } }
[state.health]
values = ["well", "ill", "dead"]
scope = ["health", "cared"]
next = { rows = [
  { when = { health = "dead" }, is = "dead" },
  { when = { cared = "yes" }, shift = { "-1" = 0.3, "0" = 0.6, "1" = 0.1 } },
  { shift = { "0" = 0.5, "1" = 0.5 } },
] }
start = "ill"
[lever.visit]
values = ["no", "yes"]
cost = { yes = 0.1 }
[key.cared]
values = ["no", "yes"]
parents = ["visit"]
p = [[0.9, 0.1], [0.2, 0.8]]
[reward.well]
scope = ["next.health"]
value = { well = 1.0, ill = 0.4 }
"""


def test_an_episode_that_ends_is_terminated():
    world = dowise.World.from_text(ENDING)
    assert world.discount == 0.9
    assert world.ended.tolist() == [False, False, True]
    env = dowise.gym.make(world, observations="state", actions="number")
    ends = {"terminated": 0, "truncated": 0}
    for episode in range(400):
        env.reset(seed=episode)
        over = False
        while not over:
            state, reward, terminated, truncated, _info = env.step(0)
            assert reward == pytest.approx([1.0, 0.4, 0.0][state])
            assert terminated == (state == 2)
            over = terminated or truncated
        ends["terminated" if terminated else "truncated"] += 1
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(0)
    assert min(ends.values()) > 0


def test_the_ordinary_process_of_a_world_whose_episodes_end():
    world = dowise.World.from_text(ENDING)
    P, R = world.mdp()
    value = np.zeros(3)
    for _ in range(world.horizon):
        value = (R + world.discount * P @ value).max(axis=1)
    assert value == pytest.approx(world.plan().values[0], abs=1e-12)
    assert value[2] == 0.0


def test_learners_observe_nothing_after_the_end():
    world = dowise.World.from_text(ENDING)
    result = dowise.run(world, "graph-psrl", episodes=200, seed=1)
    assert result.regret[-50:].mean() < 0.5 * result.regret[:5].mean() + 0.05
