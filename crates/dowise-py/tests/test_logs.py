"""Logs from files and frames, and what they say."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dowise


@pytest.fixture(scope="module")
def treatment():
    return dowise.World.named("treatment")


@pytest.fixture(scope="module")
def played(treatment):
    return treatment.simulate_log(400, seed=3)


def saved(learner):
    return learner.save()


def test_every_kind_of_frame_and_a_file_give_the_same_learner(treatment, played, tmp_path):
    frame = pd.DataFrame(played)
    path = tmp_path / "log.csv"
    frame.to_csv(path, index=False)
    packed = tmp_path / "log.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    texts = []
    for source in (played, frame, pl.DataFrame(played), path, str(packed), dowise.Log(played, treatment)):
        learner = dowise.Learner(treatment, "graph-psrl", unknown="all", seed=5)
        assert learner.observe_log(source) == 400 * treatment.horizon
        texts.append(saved(learner))
    assert len(set(texts)) == 1


def test_shuffled_rows_give_the_same_learner(treatment, played):
    frame = pd.DataFrame(played).sample(frac=1.0, random_state=1)
    one, other = (dowise.Learner(treatment, "graph-psrl", unknown="all") for _ in range(2))
    one.observe_log(played)
    other.observe_log(frame)
    assert saved(one) == saved(other)


def test_whatever_means_missing_is_missing(treatment, played):
    key = treatment.keys[0]
    counts = []
    for nothing in (None, float("nan"), pd.NA, pd.NaT, ""):
        columns = dict(played)
        columns[key] = [nothing if i % 3 == 0 else value for i, value in enumerate(played[key])]
        log = dowise.Log(columns, treatment)
        counts.append({c["name"]: c["missing"] for c in log.report["columns"]}[key])
    assert counts == [-(-len(played[key]) // 3)] * 5


def test_a_wrong_label_is_refused_with_its_place_and_the_nearest_name(treatment, played):
    factor = treatment.states[0]
    wrong = dict(played)
    wrong[factor] = [wrong[factor][0] + "x", *wrong[factor][1:]]
    with pytest.raises(dowise.LogError, match="skip_bad=True") as error:
        dowise.Log(wrong, treatment)
    assert played[factor][0] in str(error.value) and factor in str(error.value)
    log = dowise.Log(wrong, treatment, skip_bad=True)
    assert log.report["left_out"] == 1 and log.steps == len(played["stage"]) - 1


def test_a_map_renames_columns_and_values(treatment, played):
    factor = treatment.states[0]
    other = {("patient" if name == "episode" else name): values for name, values in played.items()}
    values = sorted({v for v in played[factor]})
    other[factor] = [f"code {values.index(v)}" for v in played[factor]]
    lines = [f'"code {i}" = "{value}"' for i, value in enumerate(values)]
    text = "\n".join(["[columns]", 'patient = "episode"', f'[values."{factor}"]', *lines])
    one, two = (dowise.Learner(treatment, "graph-psrl", unknown="all") for _ in range(2))
    one.observe_log(played)
    two.observe_log(other, map=text)
    assert saved(one) == saved(two)


def test_live_steps_contradict_a_log_of_another_world_and_not_one_of_the_same():
    def sale(p):
        return dowise.World.from_text(
            'dowise = 1\nhorizon = 1\n[state.s]\nvalues = 2\nscope = ["z"]\nnext = [[0.5, 0.5], [0.5, 0.5]]\n'
            f'[lever.x]\nvalues = 2\n[key.z]\nvalues = 2\nparents = ["x"]\np = [[0.4, 0.6], [{1 - p}, {p}]]\n'
            '[reward.r]\nscope = ["z"]\nvalue = [0.0, 1.0]\n[interventions]\nset = "all"\n'
        )

    truth = sale(0.4)
    for logged, dropped in [(sale(0.75), True), (truth, None)]:
        learner = dowise.Learner(truth, "graph-psrl", unknown="all", episodes=1500)
        learner.observe_log(logged.simulate_log(1000, seed=1))
        assert learner.log_contradicted is None
        assert {a["about"]: a["status"] for a in learner.log_assumptions["assumptions"]}["confounding"] == "assumed"
        simulation = dowise._lib.Simulation(truth, 2)
        for _ in range(1500):
            state = simulation.reset()
            action = learner.act(state)
            next_state, _, keys, levers, terms, _ = simulation.step(action)
            learner.observe(state, action, next_state, terms, keys, levers)
            learner.end_episode()
        found = learner.log_contradicted
        assert (found and found["dropped"]) is dropped
        assert found is None or found["what"].startswith("z where x=1")


def test_a_certificate_from_a_confounded_log_is_void_unless_the_lever_was_randomised():
    world = dowise.World.from_text(
        'dowise = 1\nhorizon = 1\n[state.s]\nvalues = 2\nscope = ["z"]\nnext = [[0.5, 0.5], [0.5, 0.5]]\n'
        '[lever.x]\nvalues = 2\nparents = ["u"]\np = [[0.8, 0.2], [0.2, 0.8]]\n'
        '[key.z]\nvalues = 2\nparents = ["x", "u"]\np = [[[0.8, 0.2], [0.3, 0.7]], [[0.9, 0.1], [0.4, 0.6]]]\n'
        "[hidden.u]\nvalues = 2\nparents = []\np = [0.5, 0.5]\n"
        '[reward.r]\nscope = ["z"]\nvalue = [0.0, 1.0]\n[interventions]\nset = "all"\n'
    )
    for randomised, void in [([], True), (["x"], False)]:
        learner = dowise.Learner(world, "graph-ucbvi", unknown="all", episodes=100)
        learner.observe_log(world.simulate_log(200, seed=1), randomised=randomised)
        assert learner.certificate()["void"] is void


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"episode": [1], "stage": [1, 2]}, "different lengths"),
        (42, "expected a path"),
        ({"a": [1]}, "column"),
        ("no-such-file.csv", "no-such-file.csv"),
        ({"episode": [[1]], "stage": [1]}, "expected a text or a number"),
    ],
)
def test_what_is_no_log_is_refused_by_name(treatment, source, words):
    with pytest.raises(dowise.LogError, match=words):
        dowise.Log(source, treatment)


def test_a_fit_recovers_the_world_and_is_written_with_its_evidence(treatment, played, tmp_path):
    fit = dowise.Log(played, treatment).fit()
    assert fit.world.states == treatment.states
    frame = fit.to_pandas()
    assert {"what", "given", "outcome", "visits", "mean", "low", "high"} == set(frame.columns)
    assert ((frame["low"] <= frame["mean"]) & (frame["mean"] <= frame["high"])).all()
    fit.save(tmp_path / "fitted.toml")
    again = dowise.World.from_file(tmp_path / "fitted.toml")
    assert again.plan().value == fit.world.plan().value
    assert (tmp_path / "fitted.evidence.json").read_text() == fit.evidence
    # What was learned is worth nearly what can be had.
    assert treatment.evaluate(fit.world.plan().policy)[0].mean() > 0.9 * treatment.plan().values[0].mean()


def test_a_true_graph_is_kept_and_a_wrong_one_is_not(treatment):
    log = dowise.Log(treatment.simulate_log(300, seed=11), treatment)
    test = log.test()
    assert not test.contradicted, test.verdict
    assert len(test.to_pandas()) > 5
    columns = treatment.simulate_log(2000, seed=4)
    lever, factor = treatment.levers[0], treatment.states[0]
    # The next value of a factor follows a lever, which the graph does not know.
    values = sorted(set(columns[factor]))
    frame = pd.DataFrame(columns)
    first = frame[frame["stage"] == "1"].copy()
    first["next." + factor] = [values[0] if v == first[lever].iloc[0] else values[-1] for v in first[lever]]
    for other in treatment.states[1:]:
        following = frame[frame["stage"] == "2"].set_index("episode")[other]
        first["next." + other] = following.loc[first["episode"]].to_numpy()
    assert dowise.Log(first, treatment).test().contradicted


def test_the_logged_policy_is_worth_what_the_log_says(treatment):
    plan = treatment.plan()
    exact = plan.value
    log = dowise.Log(treatment.simulate_log(1500, policy=plan, seed=2), treatment)
    found = log.evaluate(plan)
    assert found.guaranteed[0] < found.posterior[0] < found.value < found.posterior[1] < found.guaranteed[1]
    assert found.guaranteed[0] <= exact <= found.guaranteed[1]
    assert abs(found.value - exact) < 0.1 * abs(exact)
    assert found.unsupported < 0.01
    with pytest.raises(dowise.PlanError, match="shape"):
        log.evaluate(np.zeros((1, 2)))
    with pytest.raises(dowise.Error, match="delta"):
        log.evaluate(plan, delta=2.0)


def test_a_policy_without_overlap_is_refused_unless_the_prior_may_decide(treatment):
    # The log always leaves all levers alone.
    nothing = np.zeros((treatment.horizon, treatment.n_states), dtype=int)
    log = dowise.Log(treatment.simulate_log(300, policy=nothing, seed=2), treatment)
    with pytest.raises(dowise.LogError, match=r"the log never saw it; .*allow_unsupported=True"):
        log.evaluate(treatment.plan())
    assert log.evaluate(treatment.plan(), allow_unsupported=True).unsupported > 0.5


def test_a_recommended_plan_says_how_much_confounding_it_survives(treatment):
    safe = dowise.Log(treatment.simulate_log(300, seed=3), treatment).plan_safely(keep="mechanisms")
    assert safe.recommendation == "deploy-mean"
    found = safe.sensitivity
    assert found["gamma"] > 1 and next(gamma for gamma, _ in found["worst"]) == 1.0
    assert found["claim"] == "better" and found["best"][3][1] > found["worst"][3][1] and safe.tipping_points == []


def test_a_safe_plan_says_what_is_guaranteed(treatment, played):
    safe = dowise.Log(played, treatment).plan_safely()
    assert safe.recommendation in {"deploy-mean", "deploy-pessimistic", "not-yet", "not-better", "nothing-to-compare"}
    about = {found["about"]: found["status"] for found in safe.assumptions}
    assert about["logged-returns"] == "passed" and about["confounding"] == "assumed"
    # Some independences have too few data for a sharp test.
    assert about["graph"] == "not-tested" and about["stationarity"] in {"passed", "not-tested"}
    assert safe.policy.shape == (treatment.horizon, treatment.n_states)
    exact = treatment.evaluate(safe.pessimistic)
    assert safe.report["pessimistic"]["guaranteed"]["low"] <= exact[0].max()


def test_rows_of_a_frame_may_be_randomised(treatment, played):
    rows = len(next(iter(played.values())))
    log = dowise.Log({**played, "randomised": [i % 2 == 0 for i in range(rows)]}, treatment)
    assert log.report["randomised"] == (rows + 1) // 2
    assert log.report["propensities"]["steps"] > 0 and log.report["propensities"]["p"] >= 0.001


def test_what_was_not_recorded_is_tested_and_expected():
    world = dowise.World.named("river-swim")
    columns = world.simulate_log(300, seed=5)
    (key,), (factor,) = world.keys, world.states
    # The key variable is missing more often before the first place than before the others.
    followed = [*columns[factor][1:], None]
    followed = [own or later for own, later in zip(columns["next." + factor], followed, strict=True)]
    chance = np.random.default_rng(1).random(len(followed))
    hidden = [bool(p < (0.6 if v == "0" else 0.1)) for p, v in zip(chance, followed, strict=True)]
    columns[key] = [None if hide else value for hide, value in zip(hidden, columns[key], strict=True)]
    log = dowise.Log(columns, world)
    (found,) = (test for test in log.report["missingness"] if test["what"] == f"key variable {key}")
    assert found["missing"] == sum(hidden) and found["p"] < 0.001 and found["differs"] == f"next {factor}"
    assert found in log.test().report["missingness"]
    expected = log.evaluate(world.plan(), em=True, allow_unsupported=True)
    assert expected.guaranteed is None and expected.robust is None
    assert expected.posterior[0] <= expected.value <= expected.posterior[1]
    safe = log.plan_safely(em=True)
    assert safe.recommendation in {"not-guaranteed", "not-better"}
    assert np.array_equal(safe.policy, safe.mean) and "nothing guaranteed" in repr(safe)
