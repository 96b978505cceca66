"""Many episodes at once, what was not observed, and what a learner says of itself."""

import numpy as np
import pytest

import dowise


@pytest.fixture
def learner(paper):
    return dowise.Learner(paper, "graph-psrl", seed=1)


def test_two_episodes_at_once_are_not_one(paper, learner):
    learner.act(0)
    with pytest.raises(dowise.LearnError, match="episode 1 is in state 0, not in state 3; if this step is of another"):
        learner.act(3)
    learner.observe(0, 0, 2, keys=[0, 0, 0])
    with pytest.raises(dowise.LearnError, match="at stage 2 episode 1 is in state 2, not in state 3"):
        learner.observe(3, 0, 1, keys=[0, 0, 0])
    assert learner.stage == 1


def test_sessions_are_interleaved_and_late(paper, learner):
    a, b = learner.begin(), learner.begin()
    assert (a.id, b.id, a.stage, a.observed) == (1, 2, 0, 0)
    first, second = a.act(0), b.act(3)
    third = a.act(5)
    a.observe(5, third, 1, keys=[0, 0, 0], stage=1)
    b.observe(3, second, 4, keys=[0, 1, 0])
    with pytest.raises(dowise.LearnError, match="cannot have led to state 6"):
        a.observe(0, first, 6, keys=[0, 0, 0])
    a.observe(0, first, 5, keys=[1, 0, 0])
    assert (a.observed, b.observed) == (2, 1)
    with pytest.raises(dowise.LearnError, match="has been observed already"):
        a.observe(0, first, 5, keys=[1, 0, 0], stage=0)
    a.end()
    b.end()
    assert learner.episodes == 2
    with pytest.raises(dowise.LearnError, match="this episode has ended"):
        a.act(0)


def test_interleaved_sessions_end_like_sequential_ones(paper):
    def played(order):
        learner = dowise.Learner(paper, "graph-ucbvi", seed=2)
        sessions = [learner.begin() for _ in range(3)]
        steps = [[(s, sessions[s].act(s)) for _ in range(1)] for s in range(3)]
        for s in order:
            state, action = steps[s][0]
            sessions[s].observe(state, action, 1, keys=[0, 1, 0])
        for session in sessions:
            session.end()
        return learner.save()

    assert played([0, 1, 2]) == played([2, 0, 1])


def test_what_was_not_observed_is_none_and_a_correction_takes_back(paper, learner):
    before = learner.save()
    with pytest.raises(dowise.LearnError, match='"z3" is not given; say None if it was not observed'):
        learner.learn(0, 0, 1, keys={"z1": 0, "z2": 1})
    learner.learn(0, 0, 1, keys={"z1": 0, "z2": 1, "z3": None})
    learner.learn(0, 0, 1, keys=[0, 1, 1], stage=2)
    learner.take_back(0, 0, 1, keys=[0, 1, None])
    learner.take_back(0, 0, 1, keys=[0, 1, 1], stage=2)
    with pytest.raises(dowise.LearnError, match="not part of the evidence"):
        learner.take_back(0, 0, 1, keys=[0, 1, 1], stage=2)
    assert len(learner.save()) == len(before.replace('"logged":false', '"logged":true'))
    with pytest.raises(dowise.LearnError, match="there is no stage 6"):
        learner.learn(0, 0, 1, keys=[0, 1, 1], stage=5)


def test_a_guard_keeps_a_right_graph_from_python(paper):
    learner = dowise.Learner(paper, "graph-psrl", guard=True, episodes=60, seed=0)
    env = dowise._lib.Simulation(paper, 3)
    with pytest.raises(dowise.LearnError, match="learns the rewards"):
        learner.observe(0, 0, 0, keys=[0, 0, 0])
    for _ in range(60):
        state = env.reset()
        for _ in range(paper.horizon):
            action = learner.act(state)
            after, _, keys, levers, rewards, done = env.step(action)
            learner.observe(state, done, after, reward=rewards, keys=keys, levers=levers)
            state = after
        learner.end_episode()
    assert learner.gave_up_causes is None and learner.amendments == []
    watch = learner.graph_watch()
    assert not watch["contradicted"] and watch["steps"] == 60 * paper.horizon
    assert max(claim["log_e"] for claim in watch["claims"]) < watch["bar"]


def test_a_graph_is_watched_from_python(paper):
    learner = dowise.Learner(paper, "graph-psrl", episodes=60, seed=0)
    assert learner.graph_watch() is None
    with pytest.raises(dowise.LearnError, match="delta"):
        learner.watch_graph(delta=1.5)
    learner.watch_graph()
    # The first factor goes where the first lever was set, whatever the key variables are. These are
    # drawn as given, and pay what is known, so that no known parameter is wrong.
    kernel, rewards, rng = paper.kernel(), paper.tables()["rewards"], np.random.default_rng(0)
    for i in range(200):
        value = 2 * (i % 2)
        chances = kernel[0, 9 * value].ravel()
        keys = np.unravel_index(rng.choice(8, p=chances / chances.sum()), (2, 2, 2))
        paid = [float(table[(0, *keys)]) for _, table in rewards.values()]
        step = {"keys": [int(k) for k in keys], "reward": paid, "stage": 0}
        learner.learn(0, {"x1": value, "x2": 0, "x3": 0}, 4 * (value // 2), **step)
    watch = learner.graph_watch()
    assert watch["contradicted"] and watch["found"]["variable"] == "x1"
    assert watch["untested"] == [] and learner.certificate()["void"]
    assert dowise.Learner.restore(paper, learner.save()).graph_watch() == watch


def test_what_was_learned_is_deployed_bounded_and_explained(paper):
    learner = dowise.run(paper, "graph-psrl", episodes=200, seed=1).learner
    policy = learner.learned_policy()
    assert policy.shape == (paper.horizon, paper.n_states)
    best, deployed = paper.plan().values[0], paper.evaluate(policy)[0]
    assert np.all(deployed <= best + 1e-9) and np.mean(best - deployed) < 0.05 * np.mean(best)
    least, most = learner.bounds()
    assert np.all(least[0] <= best + 1e-9) and np.all(best <= most[0] + 1e-9)
    rows = learner.explain(0, 2, n=3)
    assert len(rows) == 3 and rows[0]["optimistic"] >= rows[1]["optimistic"]
    assert set(rows[0]) == {"intervention", "action", "optimistic", "mean", "visits"}
    assert rows[0]["intervention"] == paper.intervention(rows[0]["action"])
    with pytest.raises(dowise.LearnError, match="there is no stage 5; stages run from 0 to 4"):
        learner.explain(5, 0)
    linear = dowise.Learner(dowise.World.named("linear"), "c-rlsvi").explain(0, 0, n=2)
    assert len(linear) == 2 and linear[0]["visits"] == pytest.approx(0.0, abs=1e-9)


def test_known_transitions_are_not_learned(paper):
    names = [name for name in ("s1", "s2", "s3")]
    assert dowise.Learner(paper, known="s1").cells < dowise.Learner(paper).cells
    assert dowise.Learner(paper, known="+".join(names)).cells == 0
    with pytest.raises(dowise.LearnError, match="there is no state factor `s9`"):
        dowise.Learner(paper, known="s9")


def test_a_change_of_the_world_is_noticed_from_python(paper):
    learner = dowise.Learner(paper, "graph-psrl", episodes=200, seed=0, forget="reset")
    assert learner.name == "graph-psrl:forget=reset" and learner.changes == []
    # The first factor goes to 0, and from some day on to 1.
    for i in range(200):
        learner.learn(0, 0, 0 if i < 120 else 4, reward=[0.1] * 3, keys=[0, 1, 1], stage=i % paper.horizon)
    [change] = [c for c in learner.changes if c["names"] == ["s1"]]
    assert change["of"] == "transition" and change["since"] == 120 // paper.horizon + 1 <= change["episode"]
    assert dict(change["given"]) == {"s1": "0", "z1": "0", "z2": "1", "z3": "1"}
    assert dict(change["shares"]) == {"0": [1.0, 0.0], "1": [0.0, 1.0]} and change["visits"][0] == 120
    again = dowise.Learner.restore(paper, learner.save())
    assert again.changes == learner.changes and again.save() == learner.save()
    for refused in [learner.certificate, learner.watch_graph, learner.bounds]:
        with pytest.raises(dowise.LearnError, match="of a learner that forgets"):
            refused()
    with pytest.raises(dowise.LearnError, match="window:EPISODES"):
        dowise.Learner(paper, "graph-psrl", forget="window")
