"""Draws the picture of the explorer's page: the real page, served by the program, as a browser shows it.

    python docs/explorer_picture.py [--chromium PATH]

writes docs/_static/explorer.png, which is kept with the pages, so that building them needs no browser. Needs the extra
`explore`, playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from convexdesign.explore import EXAMPLES

TARGET = Path(__file__).parent / "_static" / "explorer.png"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
VIEW = EXAMPLES["The same: which arm is best?"]


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    options = parser.parse_args()
    command = [sys.executable, "-m", "convexdesign.cli", "explore", "--no-browser", "--view", VIEW.to_query()]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        assert server.stderr is not None
        address = re.search(r"http://\S+", server.stderr.readline())
        assert address
        browser = playwright.chromium.launch(executable_path=options.chromium, args=OPTIONS)
        page = browser.new_page(viewport={"width": 1250, "height": 1400})
        page.goto(address[0])
        page.locator(".convexdesign-explorer[data-state=settled]").wait_for(timeout=90_000)
        box = page.locator(".convexdesign-explorer").bounding_box()
        page.screenshot(path=TARGET, clip={name: box[name] for name in ("x", "y", "width", "height")})
        browser.close()
        server.terminate()


if __name__ == "__main__":
    main()
