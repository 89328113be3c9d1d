"""A vector with one number per arm: weights or counts, read from CSV or NPY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import nearest, to_path
from convexdesign.errors import InputError
from convexdesign.tables.dialect import read_text_table
from convexdesign.tables.layout import Reading
from convexdesign.tables.table import is_npy, read_npy
from convexdesign.tables.text import read_text

__all__ = ["read_vector"]


def read_vector(
    path: str | PathLike[str],
    n: int,
    *,
    names: Sequence[str] | None = None,
    column: str | None = None,
    usual: Sequence[str] = (),
    unlisted: float = 0.0,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    comment: str | None = None,
    encoding: str | None = None,
) -> NDArray[np.float64]:
    r"""One number for each of n arms, in the order of the arms.

    The file holds one column of n numbers; or arm names and numbers; or arm indices, from 0, and numbers. With names or
    indices the order is free. NPY files hold a vector of length n.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    n : int
        The number of arms.
    names : sequence of str, optional
        Those of the arms.
    column : str, optional
        The header of the column to take, of several.
    usual : sequence of str
        Headers to look for where `column` is not given.
    unlisted : float
        The number of arms that are not listed.
    delimiter, decimal, header, comment, encoding : optional
        As for `read_table`.

    Returns
    -------
    array, shape (n,)
        Double precision.

    Raises
    ------
    InputError
        For a wrong length, unknown or repeated arms, and whatever `read_table` refuses.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "w.csv"
    >>> _ = path.write_text("arm,weight\nblue,0.25\nred,0.75\n")
    >>> read_vector(path, 3, names=["red", "green", "blue"])
    array([0.75, 0.  , 0.25])
    """
    path = to_path(path)
    if is_npy(path):
        vector = read_npy(path, ndim=1)
        if vector.shape != (n,):
            raise InputError(f"{path} holds {vector.size} numbers; there are {n} arms")
        return np.array(vector)

    def parse(text: str) -> NDArray[np.float64]:
        how: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "header": header, "comment": comment}
        reading = read_text_table(text, names=None, keep_index=True, **how)
        return _by_arm(reading, n, names, _Choice(column, usual), unlisted)

    return read_text(path, encoding, parse)


@dataclass(frozen=True)
class _Choice:
    """Which of several columns of numbers is meant: the one asked for, or one headed by a usual name."""

    column: str | None
    usual: Sequence[str]

    def among(self, reading: Reading, start: int) -> int:
        choices = reading.columns[start:]
        if self.column is not None:
            if self.column not in choices:
                raise InputError(f"there is no column {self.column!r}; the columns are {', '.join(choices)}")
            return reading.columns.index(self.column, start)
        if len(choices) == 1:
            return start
        found = [name for name in self.usual if name in choices]
        if len(found) != 1:
            wanted = f"head the one meant {self.usual[0]!r}" if self.usual else "pass column= to pick one"
            raise InputError(f"there are several columns of numbers ({', '.join(choices)}); {wanted}")
        return reading.columns.index(found[0], start)


def _by_arm(
    reading: Reading, n: int, names: Sequence[str] | None, choice: _Choice, unlisted: float
) -> NDArray[np.float64]:
    rows, width = reading.values.shape
    if reading.names is not None:
        values = reading.values[:, choice.among(reading, 0)]
        return _scatter(_positions(reading.names, names), values, n, unlisted)
    if width == 1:
        if rows != n:
            raise InputError(f"the column holds {rows} numbers; there are {n} arms")
        return reading.values[:, 0].copy()
    values = reading.values[:, choice.among(reading, 1)]
    return _scatter(_indices(reading.values[:, 0], n), values, n, unlisted)


def _positions(found: Sequence[str], names: Sequence[str] | None) -> NDArray[np.int64]:
    if names is None:
        raise InputError(f"arms are listed by name ({found[0]!r}) but the arms have no names; list them by index")
    where = {str(name): i for i, name in enumerate(names)}
    unknown = next((name for name in found if name not in where), None)
    if unknown is not None:
        close = nearest(unknown, where)
        hint = f"did you mean {close!r}?" if close else f"the arms are {', '.join(list(where)[:5])}, ..."
        raise InputError(f"there is no arm {unknown!r}; {hint}")
    return np.array([where[name] for name in found], dtype=np.int64)


def _indices(column: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    wrong = np.flatnonzero((column != np.round(column)) | (column < 0) | (column >= n))
    if wrong.size:
        hint = "; indices count from 0" if column.max() == n and column.min() >= 1 else ""
        raise InputError(
            f"row {wrong[0] + 1}: {column[wrong[0]]:g} is no arm index, which lies in 0 .. {n - 1}{hint}. Give one "
            "column of numbers, or arm names or indices followed by one"
        )
    index = column.astype(np.int64)
    values, counts = np.unique(index, return_counts=True)
    if counts.max() > 1:
        raise InputError(f"arm {values[counts.argmax()]} is listed {counts.max()} times; list each arm once")
    return index


def _scatter(where: NDArray[np.int64], values: NDArray[np.float64], n: int, unlisted: float) -> NDArray[np.float64]:
    vector = np.full(n, unlisted)
    vector[where] = values
    return vector
