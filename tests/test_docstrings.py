"""Every public name is documented as numpydoc has it: parameters, what is returned, and an example."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module

import pytest

import convexdesign as cd

SUBPACKAGES = tuple(name for name in cd.__all__ if inspect.ismodule(getattr(cd, name)))
# Of numpydoc's checks those of taste are left out: extended summaries, "See Also", a summary's first letter and verb.
TASTE = {"ES01", "SA01", "SA04", "SS02", "SS05", "GL01"}


def objects():
    """(path, object) of what the packages export, and of the public members of its classes, each once."""
    found = {}
    for package in ("convexdesign", *(f"convexdesign.{name}" for name in SUBPACKAGES)):
        module = import_module(package)
        for name in module.__all__:
            item = getattr(module, name)
            if not (inspect.isclass(item) or inspect.isroutine(item)) or id(item) in found:
                continue
            found[id(item)] = (f"{package}.{name}", item)
            for member, value in vars(item).items() if inspect.isclass(item) else ():
                documented = isinstance(value, (classmethod, staticmethod, property)) or inspect.isfunction(value)
                if documented and not member.startswith("_") and not says_what_its_base_says(item, member):
                    found.setdefault(id(value), (f"{package}.{name}.{member}", value))
    return sorted(found.values(), key=lambda pair: pair[0])


def says_what_its_base_says(item, member):
    """Whether a method without words of its own overrides one that has them, in a class that is public itself."""
    bases = [base for base in item.__mro__[1:] if member in vars(base)]
    return not getattr(vars(item)[member], "__doc__", None) and any(getattr(base, member).__doc__ for base in bases)


OBJECTS = objects()


@pytest.mark.parametrize("path", [path for path, _ in OBJECTS])
def test_numpydoc_finds_no_fault(path):
    from numpydoc.validate import validate

    member = dict(OBJECTS)[path]
    spared = TASTE | (set() if needs_an_example(path, member) else {"EX01"})
    if inspect.isclass(member) and (is_special(member) or is_made_elsewhere(member)):
        spared |= {"PR01"}  # what Python's own constructors take, or nobody else calls
    faults = [f"{code}: {text}" for code, text in validate(path)["errors"] if code not in spared]
    assert faults == []


def needs_an_example(path, item):
    """Functions, constructors, classes with a life of their own; members show in their class, results in their function."""
    if inspect.isclass(item):
        return not (is_special(item) or is_dataclass(item) or hasattr(item, "model_fields"))
    return path.startswith("convexdesign.DesignProblem.") is isinstance(item, classmethod) and (
        isinstance(item, classmethod) or path.count(".") - (path.split(".")[1] in SUBPACKAGES) == 1
    )


def is_made_elsewhere(item):
    return any(name.startswith("_") for name in inspect.signature(item).parameters)


def is_special(item):
    return issubclass(item, (BaseException, Enum)) or ("_is_protocol" in vars(item) and item._is_protocol)


@pytest.mark.parametrize("path", [path for path, item in OBJECTS if callable(item)])
def test_no_option_hides_behind_stars(path):
    item = dict(OBJECTS)[path]
    handed_on = path.startswith("convexdesign.regions.") and path.endswith("Problem.solved")
    if handed_on or (inspect.isclass(item) and is_special(item)):
        return  # what `solve` hands on, and what Python makes
    parameters = inspect.signature(item).parameters.values()
    assert [p.name for p in parameters if p.kind is p.VAR_KEYWORD] == []
