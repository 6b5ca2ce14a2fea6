"""The live page in a real browser: figures, predictions, explanations, updates, access."""

import os
import random
import re
import runpy
import shutil
import threading

import pytest
from serve_support import DEMO, running

from aggro.serve import Client

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
expect = playwright.expect  # it polls by selectors: the page's own rules forbid to evaluate text
BROWSER = (
    os.environ.get("AGGRO_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no browser: apt-get install chromium, or set AGGRO_BROWSER to one"
)
demo = runpy.run_path(str(DEMO))
EXAMPLE = '{"amount": 2.5, "night": 1.0, "shop": "phones"}'


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    params = {"C": "auto", "probability": True}
    with running(folder, params=params) as found:
        rng = random.Random(0)
        with Client(found.address) as client:
            pairs = [demo["purchase"](rng, False) for _ in range(400)]
            client.learn_many([x for x, _ in pairs], [y for _, y in pairs])
            answers = client.predict_many([x for x, _ in pairs])
            labels = {a["id"]: y for a, (_, y) in zip(answers, pairs, strict=True)}
            client.label_many(labels)
        yield found


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as play:
        found = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(server, browser):
    """A page that has no error and asks no other host."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text)
            if message.type in ("error", "warning") else None)  # fmt: skip
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(server.address)
    page.wait_for_selector("#link.live")
    page.wait_for_selector("#strongest .bar")
    yield page
    page.close()
    assert complaints == []
    foreign = [u for u in requests if not u.startswith((server.address, "data:"))]
    assert foreign == []


def test_figures_change_while_requests_arrive(page, server):
    with Client(server.address) as client:
        before = page.text_content("#model")
        thread = threading.Thread(target=demo["stream"], args=(client, 3.0, 100))
        thread.start()
        expect(page.locator("#model")).not_to_have_text(before, timeout=20_000)
        expect(page.locator("#predictions")).to_have_text(re.compile("[1-9]"), timeout=20_000)
        thread.join()
    assert page.text_content("#recent").endswith("%")
    assert page.locator("#chart-error canvas").count() == 1
    assert page.locator("#candidates .bar.best").count() == 1
    assert page.locator("#calibration circle").count() > 1


def test_the_form_predicts_explains_and_learns(page, server):
    page.fill("#input", EXAMPLE)
    page.focus("#input")
    page.keyboard.press("Control+Enter")  # by the keyboard alone
    page.wait_for_selector("#parts .bar")
    assert page.text_content("#prediction") in ("fraud", "fine")
    shown = page.locator("#parts .name").all_text_contents()
    assert {"night = 1", "shop = phones", "(intercept)"} <= set(shown)
    before = server.service.version
    page.fill("#truth", "fraud")
    page.keyboard.press("Enter")
    expect(page.locator("#learned")).to_have_text(re.compile("^Learned"), timeout=20_000)
    assert server.service.version == before + 1


def test_the_form_shows_errors(page):
    page.fill("#input", "{oops")
    page.click("#predict-form button")
    page.wait_for_selector("#problem:not([hidden])")
    assert "not JSON" in page.text_content("#problem")


def test_the_keyboard_reaches_every_control(page):
    reached = set()
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    assert {"theme", "input"} <= reached


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_there_is_no_serious_accessibility_finding(page, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.fill("#input", EXAMPLE)
    page.click("#predict-form button")
    page.wait_for_selector("#parts .bar")
    if page.evaluate("document.documentElement.dataset.theme") != theme:
        page.click("#theme")
    # A tool of the test, not of the page: it may run although the page's rules forbid it.
    page.evaluate(axe.Axe().axe_script)
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 15
    serious = [f["id"] for f in found["violations"] if f["impact"] in ("serious", "critical")]
    assert serious == []


def test_the_page_does_not_scroll_sideways_on_a_phone(server, browser):
    page = browser.new_page(viewport={"width": 375, "height": 740})
    page.goto(server.address)
    page.wait_for_selector("#strongest .bar")
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert wide <= 375


def test_the_page_asks_for_a_token_and_stores_it_in_the_tab(tmp_path, browser):
    with running(tmp_path, token="t" * 20) as server:
        page = browser.new_page()
        page.goto(server.address)
        page.wait_for_selector("#token-form:not([hidden])")
        page.fill("#token", "t" * 20)
        page.keyboard.press("Enter")
        page.wait_for_selector("#link.live")
        page.close()


def teach_by_the_page(browser, server, true_label, features="{}"):
    """Type a label into the page of a server; return the message of the page."""
    page = browser.new_page()
    page.goto(server.address)
    page.fill("#input", features)
    page.click("#predict-form button")
    page.wait_for_selector("#answer:not([hidden])")
    page.fill("#truth", true_label)
    page.focus("#truth")
    page.keyboard.press("Enter")
    expect(page.locator("#learned")).to_have_text(re.compile("."), timeout=20_000)
    message = page.text_content("#learned")
    page.close()
    return message


@pytest.mark.parametrize(
    ("classes", "true_label", "after"),
    [
        (["0", "1"], "1", ["0", "1"]),
        ([0, 1], "1", [0, 1]),
        ([0, 1], "1.0", [0, 1]),
        ([0, 1], "2", [0, 1, 2]),
        ([False, True], "true", [False, True]),
        (["true", "x"], "true", ["true", "x"]),
        (["0", "1"], "2", ["0", "1", "2"]),
        (["a b", "c"], " c ", ["a b", "c"]),
        ([], "7", ["7"]),
    ],
    ids=str,
)
def test_the_page_sends_labels_of_the_type_of_the_classes(
    classes, true_label, after, tmp_path, browser
):
    with running(tmp_path) as server:
        for label in classes:
            server.learn({"a": 1.0}, label)
        assert teach_by_the_page(browser, server, true_label).startswith("Learned")
        found = server.http.get("/model").json()["classes"]
        assert found == after and list(map(type, found)) == list(map(type, after))


@pytest.mark.parametrize(
    ("classes", "true_label"), [([0, 1], "x"), ([False, True], "1.5")], ids=str
)
def test_the_page_rejects_labels_of_another_type(classes, true_label, tmp_path, browser):
    with running(tmp_path) as server:
        for label in classes:
            server.learn({"a": 1.0}, label)
        assert teach_by_the_page(browser, server, true_label).startswith("Give ")
        assert server.http.get("/model").json()["examples"] == 2


def test_the_page_sends_numbers_to_a_regressor(tmp_path, browser):
    with running(tmp_path, "PAR") as server:
        assert teach_by_the_page(browser, server, "x").startswith("Give a number")
        assert teach_by_the_page(browser, server, "3").startswith("Learned")
