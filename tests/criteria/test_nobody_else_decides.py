"""Outside `criteria` and the constructors nobody asks which criterion it is: they ask the criterion itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from convexdesign.criteria import TABLE
from convexdesign.problem.kinds import KINDS

PACKAGE = Path(__file__).parents[2] / "convexdesign"
# The constructors, and the names that they give.
STATED = {PACKAGE / "problem" / "problem.py", PACKAGE / "problem" / "criterion.py"}
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.parts[len(PACKAGE.parts)] != "criteria" and p not in STATED)
DECIDING = ("name", "formula")


def is_criterion(node):
    if isinstance(node, ast.Attribute):
        return node.attr == "criterion" or (node.attr in DECIDING and is_criterion(node.value))
    return isinstance(node, ast.Name) and node.id == "criterion"


def decides(node):
    if isinstance(node, ast.Compare):
        return any(map(is_criterion, (node.left, *node.comparators)))
    if isinstance(node, ast.Match):
        return is_criterion(node.subject)
    if isinstance(node, ast.Subscript):
        return is_criterion(node.slice)
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Criterion" and node.attr in TABLE


def decisions(tree):
    return [node for node in ast.walk(tree) if decides(node)]


# A certificate's kind is part of its format, which writers and checkers read alone.
FORMAT = {
    PACKAGE / path
    for path in (
        "rigorous/certifying.py",
        "rigorous/check.py",
        "rigorous/check_region.py",
        "regions/rational.py",
        "problemfile/certificate.py",
        "cli/certify.py",
    )
}


def decides_by_kind(node):
    sides = (node.left, *node.comparators) if isinstance(node, ast.Compare) else ()
    named = any(
        isinstance(constant, ast.Constant) and constant.value in KINDS for side in sides for constant in ast.walk(side)
    )
    return named and any(isinstance(side, ast.Attribute) and side.attr == "kind" for side in sides)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_decides_by_the_name_of_a_criterion_or_a_kind(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [ast.unparse(node) for node in decisions(tree)]
    assert not found, f"{path}: {found[0]}; ask convexdesign.criteria.oracle_of(problem)"
    found = [] if path in FORMAT else [ast.unparse(node) for node in ast.walk(tree) if decides_by_kind(node)]
    assert not found, (
        f"{path}: {found[0]}; ask for what the problem was stated with, or add a column to the table of kinds"
    )


def test_a_decision_is_seen():
    assert decides_by_kind(ast.parse("p.kind not in ('a-optimal', 'x')", mode="eval").body)

    for line in (
        "x = p.criterion is Criterion.D",
        "criterion == y",
        "if c.criterion.name in ('D',): pass",
        "T[p.criterion]",
    ):
        assert decisions(ast.parse(line)), line
