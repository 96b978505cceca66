"""Runs and comparisons: frames, pictures, threads, Ctrl-C, and the same bytes as the command line."""

import csv
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import dowise

ROOT = Path(__file__).parents[3]


def program():
    """The command line's program: as named, or as cargo built it."""
    named = os.environ.get("DOWISE_PROGRAM")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    found = [p for p in [named, target / "release" / "dowise", target / "debug" / "dowise"] if p and Path(p).exists()]
    if not found:
        pytest.skip("the program is not built; `cargo build -p dowise-cli`")
    return str(max(found, key=lambda p: Path(p).stat().st_mtime) if named is None else named)


@pytest.mark.parametrize("learner", ["graph-psrl", "c-ucbvi:width=paper-plain,scale=0.002", "ucbvi:cap=horizon"])
def test_a_run_is_the_same_as_on_the_command_line(learner):
    command = [program(), "learn", "paper:levels=3", "--learner", learner, "--episodes", "40", "--seed", "7", "--json"]
    given = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    result = dowise.run("paper:levels=3", learner, episodes=40, seed=7)
    assert result.cumulative[-1] == given["regret"]
    assert np.cumsum(result.reward)[-1] == given["reward"]


@pytest.mark.parametrize("learner", ["c-lsvi-ucb", "lsvi-ucb:beta-scale=0.01", "graph-psrl", "ucbvi"])
def test_what_the_command_line_saved_is_restored(learner, tmp_path):
    command = [program(), "--quiet", "learn", "linear:seed=2", "--learner", learner, "--episodes", "25", "--seed", "3"]
    subprocess.run([*command, "--save", tmp_path / "learner.json"], check=True, capture_output=True)
    world = dowise.World.named("linear", seed=2)
    restored = dowise.Learner.restore(world, (tmp_path / "learner.json").read_text())
    assert restored.save() == dowise.run(world, learner, episodes=25, seed=3).learner.save()


def test_a_comparison_has_the_bytes_and_the_picture_of_the_command_line(tmp_path):
    learners = ["ucbvi", "c-psrl", "c-ucbvi:width=paper-plain,scale=0.002"]
    command = [program(), "--quiet", "compare", "paper:levels=2", "river-swim:seed=1", "--learners", ",".join(learners)]
    command += ["--episodes", "30", "--repetitions", "3", "--seed", "5", "-o", str(tmp_path / "out")]
    subprocess.run(command, check=True, capture_output=True)
    result = dowise.compare(["paper:levels=2", "river-swim:seed=1"], learners, episodes=30, repetitions=3, seed=5)
    with open(tmp_path / "out" / "curves.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = result.columns()
    assert [float(r["regret"]) for r in rows] == columns["regret"].tolist()
    assert [int(r["episode"]) for r in rows] == columns["episode"].tolist()
    with open(tmp_path / "out" / "runs.csv", newline="") as file:
        runs = list(csv.DictReader(file))
    assert [float(r["reward"]) for r in runs] == result.reward.ravel().tolist()
    assert [float(r["final_value"]) for r in runs] == result.value.ravel().tolist()
    drawn = (tmp_path / "out" / "figures" / "regret-1.svg").read_text()
    assert result.plot(0).svg == drawn
    assert result.plot(1, log=True).svg == (tmp_path / "out" / "figures" / "regret-2-log.svg").read_text()


def test_the_number_of_threads_changes_nothing(paper):
    one = dowise.compare(paper, ["c-ucbvi", "psrl"], episodes=20, repetitions=4, threads=1)
    two = dowise.compare(paper, ["c-ucbvi", "psrl"], episodes=20, repetitions=4, threads=3)
    np.testing.assert_array_equal(one.regret, two.regret)
    alone = dowise.run(paper, "psrl", episodes=20, seed=2)
    np.testing.assert_allclose(alone.cumulative, one.regret[0, 1, 2], atol=1e-12)


def test_results_become_frames_and_pictures(paper, tmp_path):
    result = dowise.run(paper, "psrl", episodes=25)
    comparison = dowise.compare(paper, ["psrl", "ucbvi"], episodes=25, repetitions=2)
    pandas = pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["cumulative"]) == result.cumulative.tolist()
    tidy = comparison.to_pandas(every=True)
    assert len(tidy) == 2 * 2 * 25
    assert tidy[tidy.learner == "ucbvi"].regret.iloc[-1] == comparison.regret[0, 1, 1, -1]
    for picture in (result.plot(), comparison.plot(log=True)):
        assert picture._repr_svg_().startswith("<svg") or "<svg" in picture.svg
        picture.save(tmp_path / "p.png")
        picture.save(tmp_path / "p.svg")
        assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(dowise.Error, match="must end in .svg or .png"):
        result.plot().save(tmp_path / "p.pdf")
    again = pickle.loads(pickle.dumps(comparison))
    np.testing.assert_array_equal(again.regret, comparison.regret)
    assert pickle.loads(pickle.dumps(result)).learner.save() == result.learner.save()


def test_polars_frames_too(paper):
    pytest.importorskip("polars")
    frame = dowise.run(paper, "psrl", episodes=5).to_polars()
    assert frame.height == 5


def test_wrong_comparisons_are_refused(paper):
    with pytest.raises(dowise.LearnError, match="no learner called"):
        dowise.compare(paper, ["nobody"])
    with pytest.raises(dowise.Error, match="at least one world"):
        dowise.compare([], ["psrl"])
    with pytest.raises(dowise.WorldError, match="did you mean"):
        dowise.compare("papper", ["psrl"])
    with pytest.raises(TypeError):
        dowise.compare(3, ["psrl"])


def test_other_threads_run_while_a_learner_learns(paper):
    ticks = []

    def tick():
        while not done:
            ticks.append(time.monotonic())
            time.sleep(0.001)

    done = False
    thread = threading.Thread(target=tick)
    thread.start()
    dowise.run(paper, "psrl", episodes=3000)
    done = True
    thread.join()
    assert len(ticks) > 5


SCRIPT = """
import dowise, sys
world = dowise.World.named("paper", seed=1)
print("begun", flush=True)
try:
    {call}
except dowise.Interrupted as stop:
    import numpy as np
    regret = stop.result.regret
    print("stopped", stop, regret.shape, flush=True)
    sys.exit(0 if {check} else 1)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    ("call", "check"),
    [
        (
            'dowise.run(world, "psrl", episodes=10**8)',
            "len(regret) > 0 and stop.result.learner.episodes == len(regret)",
        ),
        ('dowise.compare(world, ["psrl"], episodes=10**6, repetitions=3)', "np.isnan(regret).all()"),
    ],
)
def test_ctrl_c_stops_cleanly_with_what_was_done(call, check):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(call=call, check=check)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == b"begun\n"
    time.sleep(0.5)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err.decode()
    assert b"interrupted after" in out
    assert time.monotonic() - begun < 10


def test_progress_is_reported_and_closed(paper, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    dowise.run(paper, "psrl", episodes=6000, progress=True)
    assert "psrl: " in capsys.readouterr().err
    dowise.run(paper, "psrl", episodes=50, progress=False)
    assert capsys.readouterr().err == ""


def test_a_mistake_in_the_callback_is_not_swallowed(paper):
    from dowise import _lib

    def fails(done, total):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        _lib.play(paper, dowise.Learner(paper, "psrl"), 10**7, 0, fails)
