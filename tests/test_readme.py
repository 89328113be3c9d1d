"""The README: every block of code runs, and prints what the README says it prints."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from convexdesign.cli import main
from convexdesign.problemfile import KINDS, load_problem

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(TEXT)
RULE = re.compile("─+")
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def assert_same_text(found: str, stated: str) -> None:
    """Equal up to spacing and the length of rules, with numbers equal to 1e-3 or both below the tolerance 1e-6 of a solve."""
    found, stated = RULE.sub("─", found), RULE.sub("─", stated)
    assert NUMBER.sub("#", found).split() == NUMBER.sub("#", stated).split()
    for a, b in zip(NUMBER.findall(found), NUMBER.findall(stated), strict=True):
        assert float(a) == pytest.approx(float(b), rel=1e-3, abs=1e-6), (a, b)


def test_python_blocks_run_in_order_and_print_what_follows_them(tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    ran = 0
    for k, (language, code) in enumerate(BLOCKS):
        if language != "python":
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(code, f"README block {k}", "exec"), names)
        following = BLOCKS[k + 1] if k + 1 < len(BLOCKS) else ("", "")
        assert_same_text(output.getvalue(), following[1] if following[0] == "text" else "")
        ran += 1
    assert ran >= 4
    from matplotlib import pyplot

    pyplot.close("all")


def test_commands_run(tmp_path, monkeypatch, capsys):
    """Every `convexdesign` line of every shell block, in order, with the problem file shown below it."""
    monkeypatch.chdir(tmp_path)
    (problem,) = [code for language, code in BLOCKS if language == "toml"]
    Path("my-problem.toml").write_text(problem, encoding="utf-8")
    load_problem("my-problem.toml").problem()
    Path("arms.csv").write_text("name,a,b\nleft,1,0\nup,0,1\ntilted,0.8,0.6\n")
    Path("noise.csv").write_text("name,variance\nleft,1\nup,20\ntilted,1\n")
    Path("factors.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a in (-1, 0, 1) for b in (-1, 0, 1)))
    Path("observations.csv").write_text("arm,reward\n" + "left,1\nup,2\ntilted,5\n" * 2 + "left,3\nup,8\ntilted,4\n")
    lines = [line for language, code in BLOCKS if language == "sh" for line in code.splitlines()]
    commands = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("convexdesign ")]
    assert len(commands) >= 5
    for words in commands:
        assert main(words) == 0, (words, capsys.readouterr())


def test_the_demo_prints_what_the_readme_shows(capsys):
    assert main(["demo"]) == 0
    (stated,) = [code for _, code in BLOCKS if "Experiment 2 of Weltz" in code]
    assert_same_text(capsys.readouterr().out, stated)


def test_the_make_targets_exist():
    targets = re.findall(r"^make (\w+)", TEXT, re.MULTILINE)
    assert targets[:2] == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_table_lists_every_kind_of_problem():
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| `([\w.]+)(?:\([^`]*\))?` \|", TEXT, re.MULTILINE)
    assert [name for name, _ in listed] == list(KINDS)
    for name, constructor in listed:
        expected = KINDS[name].constructor
        assert constructor.split(".")[-1] == expected.__name__, name


def test_links_lead_to_files():
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / target).exists(), target
