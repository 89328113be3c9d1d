"""One shape for arms: what an arm looks like is decided in one room, and nobody else asks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "convexdesign"
# What vectors of arms are called where they are computed with. Elsewhere arrays of users are looked at.
ARMS = {"arms", "groups", "images", "image", "into", "out", "rows", "unit", "U", "Y", "Z"}
ELSEWHERE = ("arms", "cli", "experiment", "explore", "features", "matching", "tables", "reproduce")
MODULES = [p for p in sorted(PACKAGE.rglob("*.py")) if p.relative_to(PACKAGE).parts[0] not in ELSEWHERE]


def name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nobody_asks_how_many_dimensions_arms_have(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr == "ndim":
            assert name_of(node.value) not in ARMS, f"{path.name}:{node.lineno}: a question for convexdesign.arms"


def test_no_kind_of_rows_is_told_from_another():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and name_of(node.func) == "isinstance":
                kinds = {name_of(kind) for kind in ast.walk(node.args[1]) if isinstance(kind, ast.expr)}
                assert "LabelledVectors" not in kinds or path.parent.name in ("arms", "problem"), (
                    f"{path}:{node.lineno}"
                )
                assert not kinds & {"ResponseRows", "ResponseArms", "BlockArms"}, f"{path}:{node.lineno}"


def test_no_property_of_rows_raises():
    """What cannot be said of some arms is a method with a reason, never a property that fails."""
    from convexdesign.arms.read import LabelledVectors, read_arms

    for rows in (read_arms([[1.0, 2.0], [0.0, 1.0]]), read_arms([[[1.0, 0.0], [2.0, 1.0]]])):
        for name, member in vars(LabelledVectors).items():
            if isinstance(member, property):
                getattr(rows, name)
