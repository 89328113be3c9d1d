"""One name, one thing: no two classes of the package are called the same, and no two functions of one room."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "convexdesign"
# Commands are called by their names; check.py imports nothing; figures are run by `run`.
ALONE = ("cli/", "rigorous/check.py", "reproduce/figure_")


@cache
def definitions():
    """(kind of node, name, path) of everything public that stands at the top of a module."""
    return [
        (type(node), node.name, path.relative_to(PACKAGE).as_posix())
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")
    ]


def named_twice(places):
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def test_no_two_classes_share_a_name():
    places = defaultdict(list)
    for kind, name, path in definitions():
        if kind is ast.ClassDef:
            places[name].append(path)
    assert named_twice(places) == {}


def test_no_two_functions_of_a_room_share_a_name():
    places = defaultdict(list)
    for kind, name, path in definitions():
        if kind is ast.FunctionDef and not path.startswith(ALONE):
            places[path.split("/")[0], name].append(path)
    assert named_twice(places) == {}
