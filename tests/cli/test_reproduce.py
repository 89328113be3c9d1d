"""`convexdesign reproduce`: which figures there are, what each run is told, and one real figure in seconds."""

import json
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from convexdesign.cli.reproduce import figures
from convexdesign.reproduce import figure_2

PACKAGE = Path(figure_2.__file__).parent


def test_every_module_of_a_figure_is_found():
    assert sorted(figures()) == sorted(path.stem.replace("_", "-") for path in PACKAGE.glob("figure_*.py"))
    assert figures() == [f"figure-{k}" for k in range(1, 7)]


@pytest.mark.parametrize("name", figures())
def test_every_figure_takes_the_options(name):
    run = import_module(f"convexdesign.reproduce.{name.replace('-', '_')}").run
    parameters = list(signature(run).parameters)
    assert parameters == ["output_dir", "replications", "seed", "jobs", "quick", "progress"]


@pytest.fixture
def told(monkeypatch):
    """What figure_2.run is called with, without the work."""
    calls = []

    def run(output_dir, **options):
        calls.append((output_dir, options))
        return [Path(output_dir) / "figure-2.png"]

    monkeypatch.setattr(figure_2, "run", run)
    return calls


def test_options_are_passed_on(cli, told, tmp_path):
    words = ("--replications", 5, "--seed", 3, "--jobs", 2, "--quick", "--output-dir", tmp_path, "--no-progress")
    result = cli("reproduce", "figure-2", *words)
    assert (result.code, result.err) == (0, "")
    expected = {"replications": 5, "seed": 3, "jobs": 2, "quick": True, "progress": False}
    assert told == [(tmp_path, expected)]
    assert result.out == f"{tmp_path / 'figure-2.png'}\n"


def test_the_module_decides_how_many_replications_unless_told(cli, told, tmp_path):
    result = cli("reproduce", "figure-2", "figure-2", "--output-dir", tmp_path, "--json")
    document = json.loads(result.out)
    assert document["figures"] == {"figure-2": [str(tmp_path / "figure-2.png")]}
    assert "figure-2" in result.err
    ((_, options),) = told
    assert "replications" not in options
    assert options["progress"] is True


def test_all_runs_every_figure(cli, monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr("convexdesign.cli.reproduce.run_figure", lambda name, *_: ran.append(name) or [])
    assert cli("reproduce", "all", "--output-dir", tmp_path, "--no-progress").code == 0
    assert ran == figures()


def test_a_quick_figure_with_its_bar_on_standard_error(cli, tmp_path):
    folder = tmp_path / "new" / "folder"
    result = cli("reproduce", "figure-2", "--quick", "--replications", 1, "--output-dir", folder)
    assert result.code == 0, result.err
    paths = [Path(line) for line in result.out.splitlines()]
    assert {path.suffix for path in paths} == {".png", ".csv", ".md"}
    assert all(path.parent == folder and path.stat().st_size > 0 for path in paths)
    assert "1/1" in result.err


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ([], ["FIGURE"]),
        (["figure-9"], ["figure-9 cannot be reproduced", "figure-2", "all"]),
        (["figure-2", "--replications", "0"], ["--replications 0"]),
        (["figure-2", "--seed", "-1"], ["seed is -1"]),
        (["figure-2", "--output-dir", __file__], ["is a file"]),
    ],
    ids=lambda value: " ".join(value[:2]),
)
def test_bad_input(cli, tmp_path, monkeypatch, words, parts):
    monkeypatch.chdir(tmp_path)
    result = cli("reproduce", *words, "--no-progress", "--quick")
    assert result.code == 2, result.err
    assert result.out == ""
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err


def test_without_matplotlib_the_extra_is_named(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = cli("reproduce", "figure-2", "--quick", "--output-dir", tmp_path)
    assert result.code == 2
    assert "convexdesign[plot]" in result.err
