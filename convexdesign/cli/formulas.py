"""Tables of factor settings, taken through a model formula: arms whose coordinates are the formula's terms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from convexdesign.arms.read import LabelledVectors
    from convexdesign.features import ModelSpec
    from convexdesign.features.frame import ModelMatrix
    from convexdesign.matching import Listing
    from convexdesign.tables.factors import Factors

__all__ = ["read_listed_settings", "read_settings"]


def read_settings(
    paths: dict[str, Path], formula: str, dialect: dict[str, Any], names: str | None = None
) -> tuple[ModelSpec, dict[str, LabelledVectors]]:
    """The model matrix of each table; columns are the terms, names the settings ("a=1, b=-1") unless a file has names.

    All tables are coded as the arms are: levels of categories, centres and scales are theirs. names: the column with the
    names of the arms.
    """
    from convexdesign.arms.read import LabelledVectors
    from convexdesign.tables.factors import read_factors

    tables = {name: read_factors(path, **dialect) for name, path in paths.items()}
    spec, out = None, {}
    for name, table in tables.items():
        columns = list(tables["arms"].columns if spec is None else spec.factors)
        matrix = coded(table, columns, paths[name], paths["arms"], spec or formula)
        spec = spec or matrix.spec
        assert spec is not None
        called = (
            names_of(table, spec.factors) if name != "arms" or names is None else named_by(table, names, paths[name])
        )
        out[name] = LabelledVectors(
            np.ascontiguousarray(matrix.to_numpy()), called, tuple(matrix.columns), matrix=matrix
        )
    assert spec is not None
    return spec, out


def coded(table: Factors, columns: list[str], path: Path, arms: Path | str, formula: str | ModelSpec) -> ModelMatrix:
    """The model matrix of the columns of a table; InputError beginning with its file."""
    import pandas as pd

    from convexdesign.features import model_matrix

    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}, which {arms} has; add it")
    try:
        # Rows are counted from 1 in files, the header apart.
        settings = pd.DataFrame({c: table.columns[c] for c in columns}, index=range(1, table.n + 1))
        return model_matrix(settings, formula)
    except MissingExtraError:
        raise
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_listed_settings(path: Path, arms: LabelledVectors, dialect: dict[str, Any]) -> Listing | None:
    """A design that lists settings of the factors that arms were made of, coded as they are; None where it lists none.

    Its other columns stay as they are: weights or counts, and names.
    """
    from convexdesign.matching import Listing
    from convexdesign.tables.factors import read_factors

    if arms.settings is None:
        return None
    spec, columns = arms.matrix.spec, [str(name) for name in arms.settings.columns]
    listed = read_factors(path, **dialect, unique=False)
    if not any(column in listed.columns for column in columns):
        return None
    matrix = coded(listed, list(spec.factors), path, "the table of arms", spec)
    others = {c: column for c, column in listed.columns.items() if c not in columns}
    texts = [c for c, column in others.items() if isinstance(column[0], str)]
    if len(texts) > 1:
        raise InputError(f"{path}: columns {', '.join(map(repr, texts))} hold text; keep the one that names the arms")
    labels = tuple(str(name) for name in others[texts[0]]) if texts else listed.names
    numbers = {c: column for c, column in others.items() if c not in texts}
    values = np.column_stack([matrix.to_numpy(), *numbers.values()])
    written = [[f"{c}={text}" for text in listed.cells[c]] for c in spec.factors]
    names = (*map(str, matrix.columns), *numbers)
    return Listing(values.astype(float), names, labels, str(path), 1, tuple(map(", ".join, zip(*written))))


def names_of(table: Factors, factors: Sequence[str]) -> Sequence[str] | None:
    """The rows' own names, else their settings of the factors, or of all columns, where these differ, else none."""
    if table.names is not None:
        return table.names
    for columns in (list(factors), list(table.columns)):
        cells = {c: table.cells[c] for c in columns}
        settings = [", ".join(f"{c}={text}" for c, text in zip(cells, row)) for row in zip(*cells.values())]
        if settings and len(set(settings)) == len(settings):
            return tuple(settings)
    return None


def named_by(table: Factors, column: str, path: Path) -> Sequence[str]:
    """The names in a column of the table, each differently."""
    if column not in table.cells:
        raise InputError(f"--arm-names {column}: {path} has no such column; it has {', '.join(table.cells)}")
    names = table.cells[column]
    repeated = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if repeated is not None:
        raise InputError(f"--arm-names {column}: {repeated!r} is there twice; names of arms must differ")
    return tuple(names)
