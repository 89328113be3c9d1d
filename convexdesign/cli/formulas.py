"""Tables of factor settings, taken through a model formula: arms whose coordinates are the formula's terms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.matching import Listing
    from convexdesign.problem.read import Rows
    from convexdesign.tables.factors import Factors

__all__ = ["read_listed_settings", "read_settings"]


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


def read_listed_settings(
    path: Path, arms: Path, formula: str, delimiter: str | None, decimal: str | None
) -> Listing | None:
    """A design that lists settings of the factors in `arms`, taken through the formula; None where it lists none of them.

    Its other columns stay as they are: weights or counts, and names.
    """
    import pandas as pd

    from convexdesign.features import model_matrix
    from convexdesign.matching import Listing
    from convexdesign.tables.factors import read_factors

    all_settings = read_factors(arms, delimiter=delimiter, decimal=decimal)
    listed = read_factors(path, delimiter=delimiter, decimal=decimal, unique=False)
    columns = list(all_settings.columns)
    missing = [column for column in columns if column not in listed.columns]
    if len(missing) == len(columns):
        return None
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}, which {arms} has; add it")
    # Together, so that codes of categories are those of the arms.
    both = [pd.DataFrame({c: table.columns[c] for c in columns}) for table in (all_settings, listed)]
    matrix = model_matrix(pd.concat(both).reset_index(drop=True), formula)
    others = {c: column for c, column in listed.columns.items() if c not in columns}
    texts = [c for c, column in others.items() if isinstance(column[0], str)]
    if len(texts) > 1:
        raise InputError(f"{path}: columns {', '.join(map(repr, texts))} hold text; keep the one that names the arms")
    labels = tuple(str(name) for name in others[texts[0]]) if texts else listed.names
    numbers = {c: column for c, column in others.items() if c not in texts}
    values = np.column_stack([matrix.to_numpy()[all_settings.n :], *numbers.values()])
    return Listing(values.astype(float), (*map(str, matrix.columns), *numbers), labels, str(path), 1)


def names_of(table: Factors) -> Sequence[str] | None:
    """The rows' own names, else their settings where these differ, else none."""
    if table.names is not None:
        return table.names
    settings = [", ".join(f"{c}={text}" for c, text in zip(table.columns, row)) for row in zip(*table.cells.values())]
    return tuple(settings) if len(set(settings)) == len(settings) else None
