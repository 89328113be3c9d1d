"""What is installed only when asked for: how it is imported, and the one wording where it is missing."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from convexdesign.errors import MissingExtraError

__all__ = ["EXTRAS", "Extra", "extra_of", "installed", "needed"]


@dataclass(frozen=True)
class Extra:
    """Libraries that come with `pip install '.[name]'`.

    Parameters
    ----------
    name : str
        Of the extra.
    what : str
        What it is for.
    modules : dict
        The names to import, and what each library calls itself.
    """

    name: str
    what: str
    modules: dict[str, str]


EXTRAS = (
    Extra("plot", "drawing", {"matplotlib": "matplotlib"}),
    Extra("exact", "best whole numbers, with proof (method='optimal')", {"highspy": "highspy"}),
    Extra("rigorous", "certificates in exact arithmetic (certify, check)", {"flint": "python-flint"}),
    Extra("formula", "model formulas over factors", {"formulaic": "formulaic"}),
    Extra("nonlinear", "derivatives of nonlinear models", {"sympy": "SymPy"}),
    Extra("dask", "arms in Dask arrays", {"dask": "dask", "distributed": "distributed"}),
    Extra(
        "explore",
        "the explorer in notebooks",
        {"anywidget": "anywidget", "traitlets": "traitlets", "threadpoolctl": "threadpoolctl"},
    ),
)


def extra_of(module: str) -> tuple[Extra, str]:
    """The extra that brings a module, and what the library calls itself; KeyError for modules of no extra."""
    top = module.partition(".")[0]
    for extra in EXTRAS:
        if top in extra.modules:
            return extra, extra.modules[top]
    raise KeyError(module)


def needed(module: str, what: str) -> Any:
    """The module, for what is asked; MissingExtraError where it is not installed.

    >>> needed("matplotlib", "drawing").__name__
    'matplotlib'
    """
    extra, library = extra_of(module)
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] not in extra.modules:
            raise  # it is there and something that it needs itself is not
        raise MissingExtraError(
            f"{what} needs {library}, which is not installed; get it with: pip install 'convexdesign[{extra.name}]' "
            f"(in a checkout: pip install '.[{extra.name}]')",
            name=module,
        ) from None


def installed(extra: Extra) -> bool:
    """Whether all its libraries are there (not whether they work)."""
    return all(find_spec(module) is not None for module in extra.modules)
