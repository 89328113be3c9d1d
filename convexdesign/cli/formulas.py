"""Tables of factor settings, taken through a model formula: arms whose coordinates are the formula's terms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.problem.read import Rows
    from convexdesign.tables.factors import Factors

__all__ = ["read_settings"]


def read_settings(paths: dict[str, Path], formula: str, delimiter: str | None, decimal: str | None) -> dict[str, Rows]:
    """The model matrix of each table; columns are the terms, names the settings ("a=1, b=-1") unless a file has names.

    All tables go through the formula together, so that codes of categories are the same in all of them.
    """
    import pandas as pd

    from convexdesign.features import model_matrix
    from convexdesign.problem.read import Rows
    from convexdesign.tables.factors import read_factors

    tables = {name: read_factors(path, delimiter=delimiter, decimal=decimal) for name, path in paths.items()}
    columns = list(next(iter(tables.values())).columns)
    for name, table in tables.items():
        missing = [column for column in columns if column not in table.columns]
        if missing:
            raise InputError(f"{paths[name]} has no column {missing[0]!r}, which {paths['arms']} has; add it")
    stacked = pd.concat([pd.DataFrame({c: table.columns[c] for c in columns}) for table in tables.values()])
    try:
        matrix = model_matrix(stacked.reset_index(drop=True), formula)
    except ImportError as error:
        raise InputError(str(error)) from None
    out, start = {}, 0
    for name, table in tables.items():
        values = matrix.to_numpy()[start : start + table.n]
        start += table.n
        out[name] = Rows(np.ascontiguousarray(values), names_of(table), tuple(matrix.columns))
    return out


def names_of(table: Factors) -> Sequence[str] | None:
    """The rows' own names, else their settings where these differ, else none."""
    if table.names is not None:
        return table.names
    settings = [", ".join(f"{c}={text}" for c, text in zip(table.columns, row)) for row in zip(*table.cells.values())]
    return tuple(settings) if len(set(settings)) == len(settings) else None
