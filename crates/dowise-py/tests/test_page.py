"""The page of the service in a real browser: it shows a running world, asks before it stops it, and fits a phone."""

import shutil

import pytest
from playwright.sync_api import sync_playwright
from service import crowd, served

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
OFFLINE = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    assert found, f"no browser was found (one of {', '.join(BROWSERS)}); on Debian: apt-get install chromium"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=found, args=OFFLINE)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    directory = tmp_path_factory.mktemp("page")
    with served(directory) as process:
        crowd(process.url, directory, 30)
        yield process.url


def opened(browser, url, width, scheme="light"):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(url)
    page.get_by_text("Policy", exact=False).first.wait_for()
    page.locator("#reward canvas").wait_for()
    return page, wrong


@pytest.mark.parametrize("width, scheme", [(1200, "light"), (1200, "dark"), (400, "light")])
def test_the_page_shows_a_running_world_and_fits(browser, url, width, scheme):
    page, wrong = opened(browser, url, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#recent tbody tr").count() == 8
    assert page.locator("#graph svg .node").count() > 5
    assert page.locator("#calibration svg circle").count() > 0
    assert page.locator("#graph svg path.arrow").count() > 10
    assert page.locator("#known tbody tr").count() > 0
    page.locator("#graph-watch", has_text="do not contradict the declared graph").wait_for()
    page.locator("#certificate", has_text="the policy pays at least").wait_for()
    assert wrong == []
    page.close()


def test_the_page_says_how_the_baseline_is_kept(browser, tmp_path):
    with served(tmp_path, options=["--alpha", "0.2"]) as process:
        crowd(process.url, tmp_path, 10)
        page, wrong = opened(browser, process.url, 400)
        page.locator("#kept", has_text="at least 80 % of what the baseline would have returned").wait_for()
        page.locator("#kept", has_text="of 10 episodes").wait_for()
        assert "baseline kept" in page.locator("#recent").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert wrong == []
        page.close()


def test_what_if_says_what_is_best(browser, url):
    page, wrong = opened(browser, url, 1200)
    page.get_by_role("button", name="What would happen?").click()
    page.get_by_text("What is best").wait_for()
    assert page.locator("#what-if-answer .bar").count() > 0
    assert wrong == []
    page.close()


def test_stopping_asks_first_and_works_by_keyboard(browser, url):
    page, wrong = opened(browser, url, 1200)
    page.locator("#stop").focus()
    page.keyboard.press("Enter")
    page.locator("#confirm[open]").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#mode-badge").inner_text() == "online"
    page.locator("#stop").click()
    page.locator("#confirm-yes").click()
    page.locator("#mode-badge.stop").wait_for()
    page.locator("#stop").click()
    page.locator("#confirm-yes").click()
    page.locator("#mode-badge.online").wait_for()
    assert wrong == []
    page.close()
