"""Constructors that a criterion brings along: attached to DesignProblem, and declared there for type checkers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import convexdesign as cd
from convexdesign.criteria import TABLE
from convexdesign.problem import problem

KINDS = {name: kind for oracle in TABLE.values() for name, kind in oracle.kinds.items()}


def signature(function):
    """Parameters with what they are annotated with, and what is returned, as written."""
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return [(p.arg, ast.unparse(p.annotation)) for p in parameters], ast.unparse(function.returns)


def functions(path, within=lambda node: isinstance(node, ast.Module)):
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return {
        node.name: node
        for block in ast.walk(tree)
        if within(block)
        for node in block.body
        if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("name", KINDS)
def test_a_constructor_of_a_criterion_is_declared_for_type_checkers(name):
    constructor = KINDS[name].constructor
    assert getattr(cd.DesignProblem, name.replace("-", "_")) is constructor
    declared = functions(
        problem.__file__, lambda node: isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    written = functions(constructor.__code__.co_filename)[constructor.__name__]
    assert constructor.__name__ in declared, f"declare {constructor.__name__} below TYPE_CHECKING in DesignProblem"
    assert signature(declared[constructor.__name__]) == signature(written)
