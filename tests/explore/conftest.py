"""A server of the explorer and a real browser. Every page that a test opens is watched: nothing may be asked of another host,
and nothing may go wrong on the console."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# A browser that phones home by itself would be taken for a page that does.
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # what is asked elsewhere is recorded, and gets nowhere
)
# What pages may take on a busy machine, in milliseconds; a page that hangs fails by it.
PATIENCE = 90_000


@pytest.fixture(scope="session")
def chromium():
    """The path of a Chromium: $CHROMIUM, or one on the path. Where there is none, $REQUIRE_BROWSER makes that a failure."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        words = "NO BROWSER: the explorer's page is not tested. Install Chromium (Debian: apt-get install chromium)"
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(words)
        pytest.skip(words)
    return found


@pytest.fixture(scope="session")
def address():
    """Where `convexdesign explore` answers, in a process of its own."""
    command = [sys.executable, "-m", "convexdesign.cli", "explore", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/", said)
            assert found, said + server.stderr.read()
            # What it says later must not fill the pipe.
            threading.Thread(target=server.stderr.read, daemon=True).start()
            yield found[0]
        finally:
            server.terminate()
            server.wait(20)


@pytest.fixture(scope="session")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(OPTIONS))
        # One context for all pages, so that the page's own program is read and compiled once.
        yield launched.new_context()
        launched.close()


@dataclass(frozen=True, eq=False)
class Opened:
    """The explorer in a page: what is seen, and how long to wait for it."""

    page: Any

    @property
    def root(self) -> Any:
        return self.page.locator(".convexdesign-explorer")

    def settle(self) -> None:
        """Wait until what is shown answers what is set."""
        self.page.locator(".convexdesign-explorer[data-state=settled]").wait_for(timeout=PATIENCE)

    def input(self, name: str) -> Any:
        return self.root.get_by_label(name, exact=True)

    def handle(self, point: str) -> Any:
        return self.root.locator(f'[data-point="{point}"]')

    def values(self, *names: str) -> list[float]:
        return [float(self.input(name).input_value()) for name in names]

    def shares(self, kind: str = "informed") -> list[float]:
        """The shares in the table, of the design that knows the noise or of the blind one."""
        cells = self.root.locator(f".shares td:has(.bar.{kind})")
        return [float(cell.get_attribute("data-share")) for cell in cells.all()]

    def value(self) -> float:
        return float(self.root.locator("[data-value]").get_attribute("data-value"))

    def link(self) -> str:
        return str(self.root.locator("a.link").get_attribute("href"))

    def messages(self) -> str:
        return str(self.root.locator(".messages").inner_text())


class Watched:
    """Opens pages and keeps what they asked of other hosts, and what went wrong on their consoles."""

    def __init__(self, browser: Any, address: str):
        self.browser = browser
        self.address = address
        self.faults: list[str] = []

    def open(self, query: str = "", width: int = 1250, scheme: str = "light", touch: bool = False) -> Opened:
        context = self.browser.browser.new_context(has_touch=True, is_mobile=True) if touch else self.browser
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.on("request", self.see)
        page.on("websocket", self.see)
        page.on("console", lambda m: self.faults.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("pageerror", lambda error: self.faults.append(f"page: {error}"))
        page.goto(self.address + (f"?{query}" if query else ""))
        opened = Opened(page)
        opened.settle()
        return opened

    def see(self, asked: Any) -> None:
        if urlsplit(asked.url).hostname != "127.0.0.1" and not asked.url.startswith(("data:", "blob:")):
            self.faults.append(f"asked of another host: {asked.url}")


@pytest.fixture(scope="session")
def watched(browser, address):
    return Watched(browser, address)


@pytest.fixture
def visit(watched):
    """Open the explorer with a query; afterwards no page may have asked another host, or logged an error."""
    opened = []

    def open_page(*args: Any, **settings: Any) -> Opened:
        opened.append(watched.open(*args, **settings))
        return opened[-1]

    yield open_page
    for shown in opened:
        shown.page.close()
    assert watched.faults == []


@pytest.fixture
def as_explorer():
    """The explorer in any page that shows one."""
    return Opened


@pytest.fixture(scope="session")
def standing(watched):
    return watched.open()


@pytest.fixture
def shown(watched, standing):
    """The explorer as it opens without a query: one page for all tests, since it is long in loading."""
    standing.page.get_by_label("Start from").select_option(index=1)
    standing.settle()
    yield standing
    assert watched.faults == []
