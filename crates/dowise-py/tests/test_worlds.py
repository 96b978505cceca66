"""Worlds from files and names: checks, plans, pictures, pickles, and the command line's messages."""

import pickle

import numpy as np
import pytest

import dowise

NAMES = ["campaign", "treatment", "river-swim", "deep-sea", "paper"]


@pytest.mark.parametrize("name", NAMES)
def test_a_world_survives_its_text_its_pickle_and_a_file(name, tmp_path):
    world = dowise.World.named(name)
    path = tmp_path / "world.toml"
    path.write_text(world.to_text())
    for again in (
        dowise.World.from_text(world.to_text()),
        pickle.loads(pickle.dumps(world)),
        dowise.World.from_file(path),
    ):
        assert again == world and again.to_text() == world.to_text()


def test_a_plan_is_worth_what_evaluating_it_says(paper):
    plan = paper.plan()
    np.testing.assert_allclose(paper.evaluate(plan.policy), plan.values, atol=1e-12)
    assert paper.from_start(plan.values[0]) == pytest.approx(plan.value)
    assert plan.values.shape == (6, 8) and plan.policy.shape == (5, 8)
    assert (plan.values[-1] == 0).all()


def test_policies_may_draw_their_interventions(paper):
    plan = paper.plan()
    certain = np.eye(paper.n_actions)[plan.policy]
    np.testing.assert_allclose(paper.evaluate(certain), plan.values, atol=1e-12)
    uniform = np.full((paper.n_states, paper.n_actions), 1 / paper.n_actions)
    assert paper.evaluate(uniform)[0].max() < plan.values[0].min() + 1
    with pytest.raises(dowise.ArrayError, match=r"policy\[0, :\] sums to 2"):
        paper.evaluate(uniform * 2)


def square():
    """Two stages, states and actions: policies by stage and state look like probabilities by state and action."""
    P = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.25, 0.75]]])
    return dowise.World.from_mdp(P, [[0, 0.25], [1, 0.5]], horizon=2)


def test_where_shapes_allow_both_the_type_says_what_a_policy_is():
    world = square()
    stay, swap = np.eye(2), np.eye(2)[::-1]
    for rows in (stay, swap):
        by_stage = world.evaluate(rows.astype(int))  # 0 and 1 are interventions, the first axis is the stage
        drawn = world.evaluate(rows)  # the first axis is the state, its row says what is done there
        np.testing.assert_array_equal(by_stage, world.evaluate(rows.astype(int), kind="interventions"))
        np.testing.assert_array_equal(drawn, world.evaluate(rows.astype(int), kind="probabilities"))
        np.testing.assert_allclose(drawn, world.evaluate(rows.argmax(axis=1)), atol=1e-12)
        assert not np.allclose(by_stage, drawn)
    half = world.evaluate(np.full((2, 2), 0.5))
    np.testing.assert_allclose(half[1], [0.125, 0.75])
    np.testing.assert_array_equal(world.evaluate(world.plan().policy), world.plan().values)
    np.testing.assert_array_equal(world.evaluate([[1, 1], [1, 0]]), world.evaluate(np.array([[1, 1], [1, 0]])))


def test_intervention_numbers_beyond_float_precision_are_exact():
    levers = "".join(f'[lever.x{i}]\nvalues = ["a", "b", "c", "d"]\n' for i in range(27))
    text = f"""
dowise = 1
horizon = 1
[state.s]
values = ["s"]
scope = []
next = [1.0]
{levers}
[key.z]
values = ["no", "yes"]
parents = ["x26"]
p = [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.0, 1.0]]
[reward.r]
scope = ["z"]
value = [0, 1]
[interventions]
set = "all"
"""
    world = dowise.World.from_text(text)
    for last, worth in enumerate([0.1, 0.5, 0.8, 1.0]):
        number = 3 * 4**26 + last  # above 2**53 every other whole number is no float
        for policy in (np.array([[number]]), [[number]], np.array([number], dtype=np.uint64)):
            np.testing.assert_allclose(world.evaluate(policy)[0], [worth])
    with pytest.raises(dowise.PlanError, match="floats cannot tell numbers of this size apart, so give integers"):
        world.evaluate(np.array([[float(3 * 4**26)]]))


def test_policies_that_could_be_either_are_refused_with_what_to_say():
    world = square()
    for either in (np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([[True, False], [False, True]])):
        with pytest.raises(dowise.PlanError, match='say kind="interventions" or kind="probabilities"'):
            world.evaluate(either)
        assert world.evaluate(either, kind="interventions").shape == (3, 2)
    with pytest.raises(dowise.ArrayError, match=r"policy\[0, :\] sums to 0.75"):
        world.evaluate(np.array([[0.5, 0.25], [0.5, 0.5]]))
    with pytest.raises(dowise.PlanError, match='kind is "numbers", expected "interventions" or "probabilities"'):
        world.evaluate(np.eye(2), kind="numbers")
    with pytest.raises(dowise.PlanError, match=r"policy has shape \(2,\)"):
        world.evaluate([0, 1], kind="probabilities")


def test_policies_that_do_not_fit_are_refused(paper, river):
    with pytest.raises(dowise.PlanError, match=r"policy has shape \(3,\), expected \(5, 8\) or \(8,\)"):
        paper.evaluate(np.zeros(3))
    with pytest.raises(dowise.PlanError, match=r"policy\[2\] is 99, expected the number of an intervention, 0 to 26"):
        paper.evaluate([0, 0, 99, 0, 0, 0, 0, 0])


def test_interventions_have_names_and_numbers():
    campaign = dowise.World.named("campaign")
    levers = campaign.intervention(campaign.plan().policy[0, 0])
    assert levers["subject"] == "first name" and set(levers) == set(campaign.levers)
    assert campaign.intervention(campaign.action(levers)) == levers
    treatment = dowise.World.named("treatment")
    assert treatment.intervention(0) == {} and treatment.action({}) == 0
    for action in range(0, treatment.n_actions, 7):
        assert treatment.action(treatment.settings(action)) == action
    with pytest.raises(
        dowise.LearnError, match='there is no lever "subjekt", did you mean "subject"\\?; there are subject'
    ):
        campaign.action({"subjekt": 0})
    with pytest.raises(dowise.LearnError, match='"subject" has no value 9; it has plain, question'):
        campaign.action({"subject": 9})


def test_a_world_file_with_mistakes_gives_all_of_them():
    text = dowise.World.named("river-swim").to_text().replace("horizon = 20", "horizon = 0", 1)
    with pytest.raises(dowise.WorldError, match="horizon") as caught:
        dowise.World.from_text(text, "river.toml")
    assert caught.value.problems[0]["place"]["file"] == "river.toml"
    assert caught.value.problems[0]["severity"] == "error"
    assert str(caught.value).startswith("river.toml:")
    with pytest.raises(dowise.WorldError, match='no ready-made world "papper".*did you mean "paper"'):
        dowise.World.named("papper")
    with pytest.raises(dowise.WorldError, match='no setting "level".*did you mean "levels"'):
        dowise.World.named("paper", level=3)
    with pytest.raises(dowise.WorldError, match="there is no file nowhere.toml"):
        dowise.World.from_file("nowhere.toml")


def test_what_is_not_known_cannot_be_planned_with():
    world = dowise.World.from_text(
        'dowise = 1\nhorizon = 2\n[state.s]\nvalues = ["a", "b"]\nscope = ["s", "x"]\n'
        '[lever.x]\nvalues = ["0", "1"]\n[reward.r]\nscope = ["s"]\nvalue = [0, 1]\n'
    )
    with pytest.raises(dowise.PlanError, match="the next value of s is not given"):
        world.plan()
    dowise.Learner(world, "psrl").act(0)


def test_the_graph_is_drawn_in_notebooks(paper):
    assert "<svg" in paper._repr_html_() and paper.to_dot().startswith("digraph")


def test_a_check_has_findings_and_an_analysis(paper):
    check = paper.check(episodes=500)
    assert check.analysis["episodes"] == 500 and check.findings == []
    assert "graph-UCBVI" in repr(check)


def test_values_beyond_sixteen_bits_are_not_cut():
    world = dowise.World.from_text(
        """
dowise = 1
horizon = 3
[state.s]
values = 2
scope = ["z"]
next = { p = [[1, 0], [0, 1]] }
start = { "0" = 1 }
[lever.x]
values = 70_000
p = { "4464" = 1 }
[key.z]
values = 2
parents = ["x"]
rows = [{ when = { x = "69999" }, p = [0, 1] }, { p = [1, 0] }]
[reward.r]
scope = ["s"]
value = [0, 1]
[interventions]
set = "all"
"""
    )
    plan = world.plan()
    assert plan.values[0, 0] == 2.0 and world.evaluate(plan.policy)[0, 0] == 2.0
    assert world.intervention(int(plan.policy[0, 0])) == {"x": "69999"}
    env = dowise._lib.Simulation(world, 1)
    state, paid = env.reset(), []
    for stage in range(3):
        state, reward, _, levers, _, _ = env.step(int(plan.policy[stage, state]))
        paid.append(reward)
        assert levers[0] == (69_999 if stage < 2 else 0)
    assert sum(paid) == 2.0
    log = world.simulate_log(5, policy=plan, seed=1)
    assert log["x"] == ["69999", "69999", "0"] * 5
