"""The report of a study in a real browser: it fits a phone, is dark where that is wanted, and shows what was found."""

import subprocess

import pytest
from test_page import browser  # noqa: F401 (a fixture)
from test_runs import program


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "out"
    worlds = ["river-swim:positions=3,horizon=4,levels=2", "paper:factors=1,levers=1"]
    learners = "c-psrl,c-ucbvi,cf-psrl,cf-ucbvi,graph-psrl,graph-ucbvi,psrl,ucbvi,greedy,uniform"
    command = [program(), "compare", *worlds, "--learners", learners, "--episodes", "30", "--repetitions", "3"]
    subprocess.run([*command, "--out", out], check=True, capture_output=True)
    return (out / "report.html").as_uri()


@pytest.mark.parametrize("width, scheme, ground", [(1200, "light", "255, 255, 255"), (400, "dark", "22, 24, 28")])
def test_the_report_fits_and_keeps_to_the_colours_of_the_reader(browser, report, width, scheme, ground):  # noqa: F811
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(report)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb({ground})"
    heads = page.locator("table").first.locator("th").all_inner_texts()
    assert {"best", "learned", "random", "of the way"} <= set(heads)
    assert page.locator("dt").count() == 6
    figures = page.locator("figure svg")
    assert figures.count() == 4
    assert all(figures.nth(i).bounding_box()["width"] <= width for i in range(4))
    titles = [figures.nth(i).get_attribute("aria-label") for i in range(4)]
    assert len(set(titles)) == 4, titles
    page.close()
