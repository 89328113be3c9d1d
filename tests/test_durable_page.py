"""The page on durable experiments: its commands run in order, print what it shows, and end with the right answer."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from fast_folder import fast_folder

from convexdesign.cli import main

PAGE = (Path(__file__).parents[1] / "docs" / "durable-experiment.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d[\d,]*\.?\d*")


@pytest.fixture(name="tmp_path")
def folder():
    with fast_folder() as path:
        yield path


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """Runs lines of a shell block, the commands of this package and Python scripts in this process; their output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CONVEXDESIGN_STORE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    def one(line):
        words = shlex.split(line, comments=True)
        if words[0] == "export":
            monkeypatch.setenv(*words[1].split("=", 1))
            return 0
        if words[0] == "python":
            monkeypatch.setattr(sys, "argv", words[1:])
            runpy.run_path(words[1])
            return 0
        if words[0] == "convexdesign":
            return main(words[1:])
        return subprocess.run(line, shell=True, check=True).returncode

    def run(block):
        capsys.readouterr()
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        if lines[0].startswith("until "):
            assert lines[-1] == "done"
            rounds = 0
            while one(lines[0].removeprefix("until ").removesuffix("; do")) != 0:
                rounds += 1
                assert rounds < 50
                for line in lines[1:-1]:
                    assert one(line) == 0, line
        else:
            for line in lines:
                expected = re.search(r"# exit code (\d+)$", line)
                assert one(line) == (int(expected[1]) if expected else 0), (line, capsys.readouterr())
        return capsys.readouterr().out

    return run


def assert_same(found, stated):
    """Equal texts, with numbers equal to a thousandth: designs differ in their last digits between machines."""
    assert NUMBER.sub("#", found).split() == NUMBER.sub("#", stated).split()
    numbers = ([float(text.strip(",").replace(",", "")) for text in NUMBER.findall(text)] for text in (found, stated))
    for a, b in zip(*numbers, strict=True):
        assert a == pytest.approx(b, rel=1e-3, abs=8)


def test_the_page_runs_from_beginning_to_end(shell, tmp_path):
    shown = answers = 0
    for k, (language, code) in enumerate(BLOCKS):
        if language == "python" and "shop" in code:
            (tmp_path / "shop.py").write_text(code)
        if language != "sh":
            continue
        output = shell(code)
        if "experiment result" in code:
            assert re.search(r"^answer +001$", output, re.MULTILINE)
            answers += 1
        if k + 1 < len(BLOCKS) and BLOCKS[k + 1][0] == "text":
            assert_same(output, BLOCKS[k + 1][1])
            shown += 1
    assert (shown, answers) == (5, 2)
    text = (tmp_path / "events.csv").read_text()
    assert "mistyped" in text
    assert "log of the second server lost" in text
    (last,) = [code for language, code in BLOCKS if language == "python" and "Experiment.open" in code]
    exec(compile(last, "page", "exec"), {})


def test_processes_of_their_own_do_the_same(tmp_path):
    """The same over real processes: create, ask, tell, status."""
    environment = {**os.environ, "CONVEXDESIGN_STORE": str(tmp_path / "study.db")}

    def run(*words):
        command = [sys.executable, "-m", "convexdesign.cli", "experiment", *words]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    run("create", "experiment-3-best-arm", "--algorithm", "martingale")
    batch = run("ask")
    arm = batch.splitlines()[1].split(",")[1]
    (tmp_path / "results.csv").write_text(f"key,arm,reward\nvisit-1,{arm},0.5\n")
    assert run("tell", "results.csv").startswith("1 result recorded")
    assert run("tell", "results.csv").startswith("0 results recorded")
    assert "0: 1 of " in run("status")
