"""What the documents show runs: docstrings, the quick start, the notebook."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "name",
    ["dowise", "dowise._worlds", "dowise._graphs", "dowise._logs", "dowise._runs", "dowise._results", "dowise.gym"],
)
def test_docstrings(name):
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert failed == 0
    assert tried > 0 or name == "dowise._results"


def test_the_quick_start_and_the_loop_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8"), re.DOTALL
    )
    scope = {}
    for block in blocks:
        exec(block, scope)
    assert len([line for line in blocks[0].splitlines() if line.strip()]) <= 10
    assert (tmp_path / "regret.svg").read_text().count("<svg") == 1


def test_the_lines_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL):
        exec(block, {})
    assert (tmp_path / "regret.svg").exists()


def test_every_class_and_function_says_what_it_is():
    import dowise

    for name in dowise.__all__:
        if name != "__version__":
            assert getattr(dowise, name).__doc__, name
    for cls in (dowise.World, dowise.Learner, dowise.Plan):
        for name in dir(cls):
            if not name.startswith("_"):
                assert getattr(cls, name).__doc__, f"{cls.__name__}.{name}"


@pytest.mark.parametrize(("name", "kind", "pictures"), [("experiment", "image/svg+xml", 1), ("clinic", "image/png", 3)])
def test_the_notebooks_run(name, kind, pictures):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    if name == "clinic":
        pytest.importorskip("matplotlib")
    path = ROOT / "examples" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    drawn = [o for c in notebook.cells for o in c.get("outputs", []) if kind in o.get("data", {})]
    assert len(drawn) >= pictures


def test_the_records_of_the_clinic_are_what_their_script_writes(tmp_path):
    import runpy
    import shutil

    shutil.copy(ROOT / "examples" / "make_clinic.py", tmp_path)
    runpy.run_path(str(tmp_path / "make_clinic.py"), run_name="__main__")
    assert (tmp_path / "clinic.csv").read_bytes() == (ROOT / "examples" / "clinic.csv").read_bytes()
