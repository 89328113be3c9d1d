"""The page on plugging `solve` into other code: every block runs and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "docs" / "plug-in.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d[\d,]*\.?\d*")


def assert_same_text(found: str, stated: str) -> None:
    """Equal but for the spacing, with numbers equal to one in a thousand (counts rest on rounded-up products)."""
    assert NUMBER.sub("#", found).split() == NUMBER.sub("#", stated).split()
    for a, b in zip(NUMBER.findall(found), NUMBER.findall(stated), strict=True):
        assert float(a.replace(",", "")) == pytest.approx(float(b.replace(",", "")), rel=1e-3), found


def test_every_block_runs_and_prints_what_follows_it():
    names: dict[str, object] = {}
    shown = 0
    for k, (language, code) in enumerate(BLOCKS):
        if language != "python":
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, f"plug-in.md, block {k}", "exec"), names)
        follows = BLOCKS[k + 1] if k + 1 < len(BLOCKS) else ("", "")
        assert_same_text(output.getvalue(), follows[1] if follows[0] == "text" else "")
        shown += follows[0] == "text"
    assert shown == 3


def test_the_loop_is_as_short_as_the_page_says():
    (loop,) = [code for _, code in BLOCKS if "def rage" in code]
    assert len([line for line in loop.splitlines() if line.strip()]) <= 25
