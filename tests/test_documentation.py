"""Every example in a docstring runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import convexdesign as cd

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(cd.__path__, "convexdesign.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", ["convexdesign", *MODULES])
def test_examples_run(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.failed == 0


def test_every_public_name_is_documented_with_an_example():
    constructors = [
        name for name, member in inspect.getmembers(cd.DesignProblem, inspect.ismethod) if not name.startswith("_")
    ]
    assert len(constructors) >= 8
    for name in constructors:
        text = inspect.getdoc(getattr(cd.DesignProblem, name))
        assert ">>>" in text, name
    for item in (cd.solve, cd.verify, cd.DesignProblem, cd.Design):
        assert ">>>" in inspect.getdoc(item), item
