"""How long the explorer takes to answer a change: in Python, and from a key pressed in a real browser to the page redrawn.

    python benchmarks/explorer.py docs/benchmarks [--changes 40] [--only TEXT] [--chromium PATH]

writes explorer.md and explorer.csv. A change moves one arm by a hundredth and never comes back to a place where it was. In
Python: `answer`, from the settings to everything that the page shows (two designs, certificate, sensitivities, whole numbers,
bounds, pictures, code); while an arm is dragged, the same without the whole numbers. In the browser: from the key, or the
mouse's movement, to the end of the page's own script for the answer, the way to the server and back included. Needs the extra
`explore`; the browser's columns also playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from convexdesign.explore import PROBLEMS, State
from convexdesign.explore.answers import answer

SETTLED = ".convexdesign-explorer[data-state=settled]"
WARMING = 3  # changes that are not counted
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
EIGHT = State(
    arms=((1, 0), (0, 1), (0.88, 0.48), (-0.5, 0.7), (0.3, -0.9), (-0.8, -0.3), (0.6, 0.6), (0.2, 0.5)),
    noise_variance=(1, 20, 1, 2, 4, 0.5, 3, 1),
    theta=(0.9, 0.35),
    threshold=0.21,
    direction=(1, 1),
    pulls=100,
)


def cases() -> dict[str, State]:
    """What is changed: three arms and eight arms under every problem."""
    found = {f"3 arms, {p}": replace(State(), problem=p) for p in PROBLEMS}
    return found | {f"8 arms, {p}": replace(EIGHT, problem=p) for p in PROBLEMS}


def in_python(state: State, changes: int, moving: bool) -> list[float]:
    """Milliseconds of each answer, elapsed."""
    taken = []
    for k in range(changes + WARMING):
        (x, y), *others = state.arms
        moved = replace(state, arms=((x + 0.01 * (k + 1) + 0.005 * moving, y), *others))
        start = time.perf_counter()
        answer({"serial": k, "fields": moved.to_fields(), "moving": moving})
        taken.append(1e3 * (time.perf_counter() - start))
    return taken[WARMING:]


def in_browser(states: dict[str, State], changes: int, chromium: str) -> dict[str, tuple[list[float], list[float]]]:
    """Milliseconds from key to page, and from mouse to page, by case, in one server and one browser."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "convexdesign.cli", "explore", "--no-browser"]
    taken = {}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        assert server.stderr is not None
        found = re.search(r"http://\S+", server.stderr.readline())
        assert found
        browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS).new_context()
        for name, state in states.items():
            page = browser.new_page()
            page.goto(f"{found[0]}?{state.to_query()}")
            page.locator(SETTLED).wait_for(timeout=90_000)
            taken[name] = by_key(page, changes), by_mouse(page, changes)
            page.close()
        server.terminate()
    return taken


def by_key(page: Any, changes: int) -> list[float]:
    arm = page.locator('[data-point="arm0"]')
    return [answered(page, lambda: arm.press("ArrowRight")) for _ in range(changes + WARMING)][WARMING:]


def by_mouse(page: Any, changes: int) -> list[float]:
    box = page.locator('[data-point="arm0"] .disc').bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    steps = range(changes + WARMING)
    taken = [answered(page, lambda k=k: page.mouse.move(x - 3 * (k + 1), y - 2 * (k + 1))) for k in steps][WARMING:]
    page.mouse.up()
    return taken


def answered(page: Any, act: Callable[[], None]) -> float:
    """What the page says it waited for the answer to `act`."""
    act()
    page.locator(SETTLED).wait_for()
    return float(page.locator(SETTLED).get_attribute("data-response") or "nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--changes", type=int, default=40)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    options = parser.parse_args()
    states = {name: state for name, state in cases().items() if options.only in name}
    rows = [[name] + [summary(in_python(s, options.changes, m)) for m in (False, True)] for name, s in states.items()]
    browser = in_browser(states, options.changes, options.chromium) if options.chromium else {}
    for row in rows:
        row += [summary(taken) for taken in browser.get(row[0], ([], []))]
    head = ["case", "Python", "Python, dragging", "browser", "browser, dragging"]
    with (options.folder / "explorer.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    (options.folder / "explorer.md").write_text(written(head, rows, options.changes), encoding="utf-8")
    print((options.folder / "explorer.md").read_text(encoding="utf-8"))


def summary(taken: list[float]) -> str:
    """Median and 95th percentile in milliseconds."""
    return f"{statistics.median(taken):.0f} ({statistics.quantiles(taken, n=20)[-1]:.0f})" if taken else ""


def written(head: list[str], rows: list[list[str]], changes: int) -> str:
    """The page: how it was measured, and the table."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    machine += f", load average {os.getloadavg()[0]:.0f}"
    lines = [
        "# The explorer's response",
        "",
        f"Milliseconds until one change is answered, median of {changes} changes and in brackets the 95th percentile: in",
        "Python (everything that the page shows; while dragging, all but the whole numbers), and in the browser from key or",
        "mouse to the page redrawn, over the server and back.",
        "",
        f"`python benchmarks/explorer.py docs/benchmarks --changes {changes}`, {datetime.date.today().isoformat()}, {machine}.",
        "",
        "| " + " | ".join(head) + " |",
        "|---|" + "--:|" * (len(head) - 1),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
