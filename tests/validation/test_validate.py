"""`make validate` runs every program in validation/, with options that each of them takes."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "validation"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))


def test_the_target_runs_every_program_with_these_options():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "grep -l '__main__' validation/*.py" in makefile
    assert "$(BIN)/python $$program docs/validation --jobs $(JOBS)" in makefile
    assert {"adversarial", "head_validation", "identification_promise"} <= set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_takes_the_options_of_the_target(name, monkeypatch):
    """`main()` reads them and calls run(output_dir, ...) with the folder and the number of jobs."""
    module = import_module(name)
    calls = []
    monkeypatch.setattr(module, "run", lambda *given: calls.append(given) or [])
    monkeypatch.setattr(sys, "argv", [name, "docs/validation", "--jobs", "3"])
    assert not module.main()
    (given,) = calls
    assert given[0] == "docs/validation"
    assert 3 in given


def test_a_program_runs_by_its_path_from_anywhere(tmp_path):
    command = [sys.executable, str(FOLDER / "identification_promise.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "--replications" in done.stdout
