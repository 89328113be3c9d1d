"""Optional libraries: each is imported in one way, and where it is missing the message names the extra that brings it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import convexdesign as cd
from convexdesign.extras import EXTRAS, extra_of, installed, needed

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "convexdesign"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {module for extra in EXTRAS for module in extra.modules}
# Distributions whose module has another name.
IMPORTED_AS = {"python-flint": "flint"}
# Code that is reached only through what asks first.
BEHIND = {
    "rigorous": "balls.py",
    "criteria": "balls.py",
    "plotting": "plotting/canvas.py",
    "reproduce": "plotting/canvas.py",
    "explore/widget.py": "explore/__init__.py",
    "arms/dask.py": None,  # whoever hands over a Dask array has Dask
}
WORDS = re.compile(
    r"^\S.* needs [\w-]+, which is not installed; get it with: pip install 'convexdesign\[(\w+)\]' "
    r"\(in a checkout: pip install '\.\[\1\]'\)$"
)


def distributions(requirements):
    names = (re.split(r"[\[<>=~ ;]", line)[0] for line in requirements)
    return {IMPORTED_AS.get(name, name) for name in names}


def test_the_table_is_that_of_the_project():
    stated = PROJECT["optional-dependencies"]
    for extra in EXTRAS:
        found = distributions(stated[extra.name])
        assert found - {"dask"} <= set(extra.modules) | {"dask"}, extra.name
    assert set(stated) - {e.name for e in EXTRAS} == {"docs", "test"}


def imports_of(path):
    """(module, line) of every import that runs, those for type checkers apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0], node.lineno


def test_every_import_is_required_or_asked_for_in_the_one_way():
    required = distributions(PROJECT["dependencies"]) | {"yaml", "convexdesign", "__future__"}
    asks = {
        path: set(re.findall(r'needed\(\s*"(\w+)', path.read_text(encoding="utf-8"))) for path in PACKAGE.rglob("*.py")
    }
    for path, asked in asks.items():
        here = path.relative_to(PACKAGE).as_posix()
        gate = next((BEHIND[p] for p in BEHIND if here == p or here.startswith(f"{p}/")), "")
        known = asked | (MODULES if gate is None else asks.get(PACKAGE / gate, set()) if gate else set())
        for module, line in imports_of(path):
            if module in sys.stdlib_module_names or module in required:
                continue
            assert module in MODULES or module == "mpl_toolkits", f"{here}:{line}: {module} is required by nothing"
            if here != "explore/widget.py":
                assert module in known, f"{here}:{line}: import {module} through convexdesign.extras.needed"


def test_nothing_else_catches_imports_or_says_how_to_install():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        here = path.relative_to(PACKAGE).as_posix()
        if here in ("extras.py", "cli/extras.py"):
            continue
        assert not re.search(r"except \(?[\w, ]*(ImportError|ModuleNotFoundError)", text), here
        assert "pip install" not in text, here


def test_without_any_extra_it_solves_verifies_and_says_what_is_missing():
    command = [sys.executable, str(Path(__file__).with_name("bare_install.py")), *sorted(MODULES)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert WORDS.match(done.stderr.strip().removeprefix("error: ")), done.stderr
    assert set(said) == {"plot", "figure", "exact", "rigorous", "formula", "nonlinear", "explore"}
    for name, message in said.items():
        assert WORDS.match(message)[1] == {"figure": "plot"}.get(name, name), message


def test_what_a_library_itself_lacks_is_not_taken_for_a_missing_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(cd.MissingExtraError) as caught:
        needed("matplotlib", "drawing")
    assert isinstance(caught.value, (cd.InputError, ImportError))
    assert caught.value.name == "matplotlib"
    with pytest.raises(KeyError):
        extra_of("numpy")


def test_the_extras_are_listed(capsys):
    from convexdesign.cli import main

    assert main(["extras", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["extras"]
    assert [e["name"] for e in listed] == [e.name for e in EXTRAS]
    assert all(e["installed"] == installed(extra) for e, extra in zip(listed, EXTRAS, strict=True))
