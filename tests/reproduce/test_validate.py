"""`make validate` runs every module that counts promises, with options that each of them takes."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

import convexdesign.reproduce as package

ROOT = Path(__file__).parents[2]
FOLDER = Path(package.__path__[0])
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))


def test_the_target_finds_them_by_their_main_functions():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "grep -l '^def _main' convexdesign/reproduce/*.py" in makefile
    found = sorted(p.stem for p in FOLDER.glob("*.py") if re.search("^def _main", p.read_text("utf-8"), re.MULTILINE))
    assert found == MODULES
    assert "head_validation" in found


@pytest.mark.parametrize("name", MODULES)
def test_every_module_takes_the_options_of_the_target(name, monkeypatch):
    module = import_module(f"convexdesign.reproduce.{name}")
    calls = []
    monkeypatch.setattr(module, "run", lambda *given: calls.append(given))
    monkeypatch.setattr(sys, "argv", [name, "docs/validation", "--jobs", "3", "--progress"])
    module._main()
    ((output_dir, effort, seed, jobs, progress),) = calls
    assert (output_dir, seed, jobs, progress) == ("docs/validation", 0, 3, True)
    # Replications; durable experiments have counts of several kinds, and take the share of them.
    assert effort == 1.0 if name == "experiment_validation" else effort >= 100
