"""Labels: numbers that say what each of them belongs to are put into its order, or refused with both lists of names.

One rule for every labelled input, per arm (weights, counts, noise, costs, bounds) or per coordinate (theta, direction, M,
columns of items): equal labels in another order are reordered, labels that differ are an error, and numbers without
labels count by position. What has no names of its own is called by its number, so that a sorted Series finds back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.errors import InputError
from convexdesign.typing import Indices

__all__ = [
    "ARMS",
    "COORDINATES",
    "Labelled",
    "as_labelled",
    "called",
    "default_names",
    "in_order",
    "index_labels",
    "keys_of",
    "order_of",
    "place_of_term",
    "places_of_term",
    "spoken",
]


ARMS = "arms"
COORDINATES = "coordinates of the arms"
# Names listed in a message.
LISTED = 12
# Names that programs give to columns without any: x1, x2, ... and column_0, column_1, ...
GENERATED = (re.compile(r"x[1-9]\d*"), re.compile(r"column_\d+"))


@dataclass(frozen=True, eq=False)
class Labelled:
    """values, one entry (or row) a label; labels None where there are none."""

    values: Any
    labels: Sequence[str] | None


def index_labels(index: Any) -> tuple[str, ...] | None:
    """The labels of a pandas index, None for the default one that only counts 0, 1, 2, ..."""
    if index is None:
        return None
    if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
        return None
    return tuple(str(label) for label in index)


def default_names(columns: Sequence[str]) -> bool:
    """Whether the names only count: what tables without a header are given."""
    first = 1 if GENERATED[0].fullmatch(columns[0]) else 0
    stem = "x" if first else "column_"
    return list(columns) == [f"{stem}{k + first}" for k in range(len(columns))]


def keys_of(names: Sequence[str] | None, indices: Indices) -> list[Any]:
    """What arms are called in tables that are read on: their names, or without any their numbers from 0."""
    return [int(i) if names is None else names[i] for i in indices]


def called(names: Sequence[str] | None, i: int) -> str:
    """What one of several is called in messages: by name, and by index too where the name is not its alone.

    >>> called(["red", "blue"], 1), called(["red", "red"], 1), called(None, 1)
    ('blue', 'red (index 1)', '1')
    """
    if names is None:
        return str(i)
    name = str(names[i])
    return name if sum(str(other) == name for other in names) == 1 else f"{name} (index {i})"


def spoken(names: Sequence[str]) -> str:
    """Names of arms in a sentence; those without names of their own are called "arm 3" already.

    >>> spoken(["left", "up"]), spoken(["arm 3"])
    ('arms left, up', 'arm 3')
    """
    listed = ", ".join(names)
    return listed if names[0].startswith("arm ") else f"{'arm' if len(names) == 1 else 'arms'} {listed}"


def place_of_term(name: str, columns: Sequence[str]) -> int | None:
    """The column of that name, or the only one that is the same term written otherwise: b:a for a:b, x**2 for I(x ** 2).

    >>> place_of_term("x**2", ["Intercept", "x", "I(x ** 2)"])
    2
    """
    if name in columns:
        return list(columns).index(name)
    wanted = _parts_of_term(name)
    found = [k for k, column in enumerate(columns) if _parts_of_term(column) == wanted]
    return found[0] if len(found) == 1 else None


def places_of_term(name: str, columns: Sequence[str]) -> list[int]:
    """The column of a term, or all columns of the levels of a category; none where there is neither.

    >>> places_of_term("C(day)", ["Intercept", "C(day)[T.tue]", "C(day)[T.wed]", "C(day)[T.tue]:x"])
    [1, 2]
    """
    place = place_of_term(name, columns)
    if place is not None:
        return [place]
    wanted = _parts_of_term(name)
    return [k for k, column in enumerate(columns) if _parts_of_term(re.sub(r"\[[^\]]*\]", "", column)) == wanted]


def _parts_of_term(name: str) -> list[str]:
    """The factors of a product in order, without blanks and without I() around them."""
    parts, depth = [""], 0
    for mark in re.sub(r"\s+", "", name):
        depth += (mark in "([") - (mark in ")]")
        if mark == ":" and depth == 0:
            parts.append("")
        else:
            parts[-1] += mark
    return sorted(part[2:-1] if part.startswith("I(") and part.endswith(")") else part for part in parts)


def as_labelled(source: Any, what: str) -> Labelled:
    """A vector with its labels: of a Series, a mapping, a DataFrame of one column (or one row), or none."""
    if isinstance(source, Labelled):
        return source
    if isinstance(source, np.ndarray) or np.isscalar(source):
        return Labelled(source, None)
    if isinstance(source, Mapping):
        return Labelled(list(source.values()), tuple(str(label) for label in source))
    if hasattr(source, "columns"):
        return _of_table(source, what)
    if hasattr(source, "index") and hasattr(source, "to_numpy"):
        return Labelled(source.to_numpy(), index_labels(source.index))
    return Labelled(source, None)


def _of_table(source: Any, what: str) -> Labelled:
    from convexdesign.arms.read import read_rows

    rows = read_rows(source, what)
    values = rows.values
    if values.size == 1:
        return Labelled(values.ravel(), None)
    if values.shape[0] == 1:
        return Labelled(values[0], rows.columns)
    return Labelled(values[:, 0] if values.shape[1] == 1 else values, rows.names)


def in_order(source: Any, what: str, names: Sequence[str] | None, of: str = ARMS) -> Any:
    """The entries of a labelled vector in the order of the names; without labels the source as it is.

    of: what the names are names of. Raises InputError, listing both, where labels and names are not the same.
    """
    given = as_labelled(source, what)
    if given.labels is None:
        return given.values
    order = order_of(given.labels, names, what, of)
    return given.values if order is None else np.asarray(given.values)[order]


def order_of(labels: Sequence[str] | None, names: Sequence[str] | None, what: str, of: str) -> Indices | None:
    """p with labels[p[k]] = names[k]; None where they need no reordering, or one of both has no names."""
    if labels is None:
        return None
    unnamed = names is None or (of == COORDINATES and default_names(names))
    if names is None:
        names = _Numbers(len(labels))
    if len(labels) == len(names) and all(a == b for a, b in zip(labels, names)):
        return None
    place = {label: k for k, label in enumerate(labels)}
    known = set(names)
    if (unnamed or (of == COORDINATES and default_names(labels))) and place.keys() != known:
        return None
    twice = next((x for x in (labels, names) if len(set(x)) < len(x)), None)
    if twice is not None:
        name = next(x for k, x in enumerate(twice) if x in set(twice[:k]))
        raise InputError(
            f"the labels of {what} and of the {of} are in different orders, and {name!r} is there twice; make the labels "
            "unique, or give plain numbers"
        )
    if place.keys() != known:
        raise InputError(_difference(labels, names, what, of))
    return np.array([place[name] for name in names], dtype=np.intp)


def _difference(labels: Sequence[str], names: Sequence[str], what: str, of: str) -> str:
    known, found = set(names), set(labels)
    strange = next((label for label in labels if label not in known), None)
    absent = next((name for name in names if name not in found), None)
    noun = {ARMS: "arm", COORDINATES: "coordinate"}.get(of, of)
    wrong = [
        *([] if strange is None else [f"{strange!r} is no {noun}"]),
        *([] if absent is None else [f"{absent!r} has no entry"]),
    ]
    return (
        f"{what}: the labels are {_listed(labels)}, but the {of} are {_listed(names)}: {' and '.join(wrong)}. Give every one "
        "of them by its name, or plain numbers in their order"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[k] for k in range(min(len(names), LISTED)))
    return shown + (f", ... ({len(names)} in all)" if len(names) > LISTED else "")


class _Numbers(Sequence[str]):
    """0, 1, 2, ...: the names of what has none."""

    def __init__(self, n: int):
        self._n = n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, k: Any) -> Any:
        return [str(i) for i in range(self._n)[k]] if isinstance(k, slice) else str(range(self._n)[k])
