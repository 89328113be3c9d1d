"""Variants named one a line: each is an arm of its own, and its own item."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from convexdesign.cli.reading import given_for_arms
from convexdesign.cli.report import is_number
from convexdesign.errors import InputError
from convexdesign.files import is_file, read_regular

if TYPE_CHECKING:
    from convexdesign.cli.arguments import ProblemOptions
    from convexdesign.problem import DesignProblem

__all__ = ["problem_of_names"]

KINDS = (None, "xy-allocation", "level-set-allocation")
# What the first line may be, if it is no name.
TITLES = ("variant", "variants", "version", "versions", "name", "names", "arm", "arms", "item", "items")


def problem_of_names(stated: ProblemOptions) -> DesignProblem | None:
    """The problem of separate variants, where a file holds names and nothing else; None for all other sources."""
    names = names_alone(stated)
    if names is None:
        return None
    import numpy as np

    from convexdesign.arms.read import LabelledVectors
    from convexdesign.problem import DesignProblem

    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{stated.source} has the name {twice!r} twice; give each variant a name of its own")
    arms = LabelledVectors(np.eye(len(names)), names=tuple(names))
    if stated.problem == "level-set-allocation":
        return DesignProblem.level_set_allocation(arms)
    return DesignProblem.xy_allocation(arms)


def names_alone(stated: ProblemOptions) -> list[str] | None:
    """The names, one a line, below a title or not; None where a line holds a number, or a mark that separates cells."""
    path = Path(stated.source)
    plain = stated.formula is None and stated.problem in KINDS and not given_for_arms(stated)
    if not plain or path.suffix.lower() not in ("", ".csv", ".txt") or not is_file(path):
        return None
    try:
        text = read_regular(path, "a list of names").decode(stated.dialect.encoding or "utf-8-sig")
    except (UnicodeDecodeError, LookupError):
        return None  # as a table, with what may be done about it
    lines = [line.strip().strip('"').strip() for line in text.splitlines()]
    names = [line for line in lines if line]
    names = names[1:] if names and names[0].lower() in TITLES else names
    cells = [cell for name in names for cell in name.split()]
    if len(names) < 2 or any(mark in name for name in names for mark in ',;\t|"') or any(map(is_number, cells)):
        return None
    return names
