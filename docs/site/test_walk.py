"""Checks all pages of the built site in a browser, at the widths of a phone and a desktop.

``make docs-test`` runs it. Pages must load completely, without console errors, horizontal
scrolling, dead links or images without alternative text; the search must find common queries.
"""

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlparse

import pytest
from playwright.sync_api import Page, sync_playwright

SITE = Path(__file__).resolve().parents[2] / "build" / "site"
FOUND = (path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
PAGES = sorted(name for name in FOUND if not name.startswith("_"))
WIDTHS = {"phone": 390, "desk": 1280}
STYLES = """() => ({
  wide: [document.scrollingElement.scrollWidth, window.innerWidth],
  cut: [...document.querySelectorAll('.bd-article :is(h1, h2, h3, h4, p, li, dt, dd)')].filter(
    e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 &&
         !e.closest('pre, table, .highlight') && !e.querySelector('pre, table, img')
  ).map(e => e.textContent.trim().slice(0, 80)),
  links: [...document.querySelectorAll('a[href]')].map(e => e.href),
  ids: [...document.querySelectorAll('[id]')].map(e => e.id),
  unseen: [...document.images].filter(
    e => !e.alt.trim() || !e.complete || !e.naturalWidth).map(e => e.src),
  titles: document.querySelectorAll('h1').length,
})"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server without a log."""

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the site on a free port."""
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the installed browser, or Playwright's."""
    own = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=own, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """Collect the contents of each page to check links."""
    return {}


def visit(page: Page, url: str) -> tuple[dict[str, Any], list[str]]:
    """Open a page; return its contents and the errors."""
    errors: list[str] = []
    handlers = {
        "console": lambda message: errors.append(message.text) if message.type == "error" else None,
        "pageerror": lambda error: errors.append(str(error)),
        "requestfailed": lambda request: errors.append(f"not loaded: {request.url}"),
        "request": lambda request: (
            None
            if request.url.startswith((url[: url.index("/", 8)], "data:"))
            else errors.append(f"from elsewhere: {request.url}")
        ),
    }
    for event, handler in handlers.items():
        page.on(event, handler)  # type: ignore[call-overload]  # any event
    page.goto(url, wait_until="load")
    page.evaluate("() => document.querySelectorAll('img').forEach(e => e.loading = 'eager')")
    page.wait_for_function("() => [...document.images].every(e => e.complete)")
    found = page.evaluate(STYLES)
    for event, handler in handlers.items():
        page.remove_listener(event, handler)
    return found, errors


@pytest.mark.parametrize("device", WIDTHS)
def test_every_page_is_whole(address: str, browser: Any, seen: dict[str, Any], device: str) -> None:
    """There are no errors, missing files or horizontal scrolling."""
    assert len(PAGES) > 80, "the site has not been built: make docs"
    page = browser.new_page(viewport={"width": WIDTHS[device], "height": 900})
    wrong: list[str] = []
    for name in PAGES:
        found, errors = visit(page, address + name)
        seen[name] = found
        wrong += [f"{name}: {error}" for error in errors]
        if found["wide"][0] > found["wide"][1]:
            wrong.append(f"{name} is {found['wide'][0]} wide")
        wrong += [f"{name}: cut off: {text}" for text in found["cut"]]
        wrong += [f"{name}: picture without words or not loaded: {src}" for src in found["unseen"]]
        if name not in ("search.html", "genindex.html", "py-modindex.html") and not found["titles"]:
            wrong.append(f"{name} has no title")
    page.close()
    assert not wrong, "\n".join(wrong)


def test_no_link_is_dead(address: str, seen: dict[str, Any]) -> None:
    """Every internal link has an existing page and anchor."""
    dead = set()
    for name, found in seen.items():
        for link in found["links"]:
            target, anchor = urldefrag(urljoin(address + name, link))
            if not target.startswith(address):
                continue
            path = unquote(urlparse(target).path).lstrip("/") or "index.html"
            if not (SITE / path).is_file():
                dead.add(f"{name} -> {path}")
            elif anchor and path in seen and unquote(anchor) not in seen[path]["ids"]:
                dead.add(f"{name} -> {path}#{anchor}")
    assert not dead, "\n".join(sorted(dead))


@pytest.mark.parametrize(
    ("words", "page"), [("C", "tuning"), ("SPA", "algorithms"), ("intercept", "algorithms"),
                        ("StreamClassifier", "aggro.StreamClassifier"), ("forgetting", "drift")]
)  # fmt: skip
def test_search_finds(address: str, browser: Any, words: str, page: str) -> None:
    """The search finds the expected page for common queries."""
    tab = browser.new_page()
    tab.goto(f"{address}search.html?q={words}")
    tab.wait_for_function(
        "() => document.querySelector('.search-summary')?.textContent.match(/\\d+ page/)"
    )
    links = tab.eval_on_selector_all("#search-results li a", "all => all.map(a => a.href)")
    tab.close()
    assert any(page in link for link in links), f"{words}: {links[:10]}"


def test_the_menu_opens_on_a_phone(address: str, browser: Any) -> None:
    """On a narrow screen a button opens the menu."""
    tab = browser.new_page(viewport={"width": 390, "height": 900})
    tab.goto(address)
    tab.locator("button.primary-toggle").click()
    link = tab.locator("dialog a, .bd-sidebar-primary a").filter(has_text="User guide").first
    link.wait_for(state="visible")
    link.click()
    assert "user-guide" in tab.url
    tab.close()


@pytest.mark.parametrize("name", ["index.html", "tuning.html", "reference/aggro.sweep.html"])
def test_pages_print_without_the_menu(address: str, browser: Any, name: str) -> None:
    """Printed pages contain the text without navigation."""
    tab = browser.new_page(viewport={"width": 800, "height": 1100})
    tab.goto(address + name)
    tab.emulate_media(media="print")
    for part in (".bd-header", ".bd-sidebar-secondary", ".prev-next-area", ".bd-footer"):
        assert not any(each.is_visible() for each in tab.locator(part).all()), part
    assert tab.locator("h1").first.is_visible()
    assert len(tab.pdf(format="A4")) > 10_000
    tab.close()
