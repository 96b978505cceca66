"""Anyone's agent in a comparison: the same draws, regret exact or estimated, one figure and table, what is refused."""

import copy

import numpy as np
import pytest

import dowise


def ours(name):
    """One of our learners, driven from Python as if it were somebody else's."""

    def make(world, episodes, seed):
        return dowise.Learner(world, name, episodes=episodes, seed=seed)

    make.name = f"driven {name}"
    return make


class Fixed:
    """Does one thing; keeps what the learner knows."""

    def __init__(self, world=None, episodes=0, seed=0, action=0):
        self.action, self.seen, self.calls, self.made = action, [], [], (episodes, seed)

    def act(self, state):
        return self.action

    def observe(self, state, action, next_state, reward, keys):
        self.seen.append((state, action, next_state, reward, tuple(keys)))


class Judged(Fixed):
    """The same, with a policy."""

    def begin_episode(self):
        self.calls.append("begin")

    def end_episode(self):
        self.calls.append("end")

    def policy(self):
        return np.full(8, self.action)


@pytest.mark.parametrize("learner", ["graph-psrl", "ucbvi", "c-ucbvi:width=paper-plain,scale=0.002"])
@pytest.mark.parametrize("world", ["paper:levels=2", "river-swim:seed=1,horizon=6"])
def test_our_learner_driven_from_outside_has_the_numbers_of_our_learner(world, learner):
    result = dowise.compare(world, [learner, ours(learner)], episodes=30, repetitions=2, seed=4)
    np.testing.assert_allclose(result.regret[:, 0], result.regret[:, 1], atol=1e-12)
    np.testing.assert_allclose(result.reward[:, 0], result.reward[:, 1], atol=1e-12)
    np.testing.assert_array_equal(result.optimal[:, 0], result.optimal[:, 1])
    np.testing.assert_allclose(result.value[:, 0], result.value[:, 1], atol=1e-12)
    assert result.learners == [learner, f"driven {learner}"] and not result.estimated


def test_regret_is_exact_with_a_policy_and_estimated_without(paper):
    result = dowise.compare(paper, [Judged, Fixed], episodes=400, repetitions=3)
    assert list(result.estimated) == ["Fixed"] and list(result.agents) == ["Judged", "Fixed"]
    exact, estimated = result.regret[0]
    # The first is a sum of differences of values, the second of what chance made of them.
    lost = paper.plan().values[0] - paper.evaluate(np.zeros(8, dtype=int))[0]
    starts = dowise.run(paper, "uniform", episodes=400, seed=0).start
    np.testing.assert_allclose(exact[0], np.cumsum(lost[starts]), atol=1e-9)
    np.testing.assert_allclose(estimated[0, -1], paper.plan().values[0][starts].sum() - result.reward[0, 1, 0])
    np.testing.assert_allclose(estimated[:, -1], exact[:, -1], rtol=0.1)
    np.testing.assert_allclose(result.value[0, 0], paper.from_start(paper.evaluate(np.zeros(8, dtype=int))[0]))
    assert np.isnan(result.value[0, 1]).all() and np.isfinite(result.reward).all()
    assert "Fixed: " in repr(result) and repr(result).count("estimated from rewards") == 1


def test_an_object_is_copied_for_each_run_and_observes_its_steps(paper):
    made = []

    class Kept(Judged):
        def __deepcopy__(self, memo):
            made.append(Judged(action=self.action))
            made[-1].seen = list(self.seen)
            return made[-1]

    agent = Kept(action=5)
    agent.name = "always the sixth"
    result = dowise.compare(paper, agent, episodes=2, repetitions=2)
    assert result.learners == ["always the sixth"] and agent.seen == [] and len(made) == 2
    steps = 2 * paper.horizon
    assert [len(copy.seen) for copy in made] == [steps, steps] and made[0].seen != made[1].seen
    assert made[0].calls == ["begin", "end", "begin", "end", "begin"]
    _, action, next_state, _, keys = made[0].seen[0]
    assert action == 5 and len(keys) == 3 and made[0].seen[1][0] == next_state
    assert result.reward[0, 0, 0] == pytest.approx(sum(step[3] for step in made[0].seen))


def test_observe_receives_only_the_arguments_it_names(river):
    class Curious(Fixed):
        def observe(self, state, action, next_state, **given):
            assert set(given) == {"reward", "keys", "levers", "rewards"}

    class Modest(Fixed):
        def observe(self, state, action, next_state):
            self.seen.append(state)

    result = dowise.compare(river, [Curious, Modest], episodes=2, repetitions=1)
    np.testing.assert_array_equal(result.reward[:, 0], result.reward[:, 1])


def test_agents_stand_in_the_figure_and_the_table(paper, tmp_path):
    result = dowise.compare(paper, [Fixed, "c-psrl", Judged, "uniform"], episodes=20, repetitions=2)
    assert result.learners == ["Fixed", "c-psrl", "Judged", "uniform"]
    alone = dowise.compare(paper, ["c-psrl", "uniform"], episodes=20, repetitions=2)
    np.testing.assert_array_equal(result.regret[:, [1, 3]], alone.regret)
    for log in (False, True):
        drawn = result.plot(log=log).svg
        assert all(label in drawn for label in (">Fixed<", ">Judged<", ">C-PSRL<", ">uniform<"))
        assert "Fixed: estimated from the rewards received." in drawn.replace("\n", " ")
    assert ">Judged<" in dowise.compare(paper, Judged, episodes=5, repetitions=2).plot().svg
    columns = result.columns()
    assert set(columns["learner"][columns["estimated"]]) == {"Fixed"}
    again = copy.deepcopy(result)
    assert again.plot().svg == result.plot().svg


def test_agents_that_do_not_fit_are_refused_by_name(paper):
    with pytest.raises(dowise.LearnError, match="a learner is 3, expected the name of a learner, an object with act"):
        dowise.compare(paper, ["psrl", 3])
    with pytest.raises(dowise.LearnError, match=r"nothing made a int without act\(\)"):

        def nothing(world, episodes, seed):
            return 3

        dowise.compare(paper, nothing, episodes=1, repetitions=1)
    with pytest.raises(
        dowise.LearnError, match=r"Fixed, episode 1, stage 0: act\(\d\) gave 99: there is no intervention 99"
    ):
        dowise.compare(paper, Fixed(action=99), episodes=1, repetitions=1)
    with pytest.raises(dowise.LearnError, match='two learners are called "Fixed"'):
        dowise.compare(paper, [Fixed, Fixed(action=1)])
    with pytest.raises(dowise.LearnError, match='a Learner belongs to one world and has a past; give its name, "psrl"'):
        dowise.compare(paper, dowise.Learner(paper, "psrl"))
    with pytest.raises(dowise.Error, match="episodes is 0, expected a whole number from 1 on"):
        dowise.compare(paper, Fixed, episodes=0)
    with pytest.raises(dowise.Error, match="repetitions is 2.5, expected a whole number from 1 on"):
        dowise.compare(paper, Fixed, repetitions=2.5)
    with pytest.raises(dowise.Error, match="at least one world"):
        dowise.compare([], Fixed)


def test_a_mistake_of_the_agent_is_its_own(paper):
    class Broken(Fixed):
        def act(self, state):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        dowise.compare(paper, Broken, episodes=1, repetitions=1)


def test_ctrl_c_keeps_the_runs_that_are_done(paper):
    class Stops(Fixed):
        def act(self, state):
            if self.made[1] == 1:
                raise KeyboardInterrupt
            return 0

    with pytest.raises(dowise.Interrupted, match="interrupted after 4 of 6 runs") as stopped:
        dowise.compare(paper, ["uniform", Stops], episodes=3, repetitions=3)
    assert np.isfinite(stopped.value.result.regret[0, 1, 0]).all()
    assert np.isnan(stopped.value.result.regret[0, 1, 1:]).all()
