"""model_matrix and ModelSpec: a formula over a table of factor settings, coded once and alike wherever it is used.

What a term is depends on the table where it is centred, scaled, made orthogonal or coded by levels: center(x) of a region is
not center(x) of the arms. A model matrix therefore keeps its specification, which codes other tables as it coded its own
(`spec.apply`), and a DesignProblem brings items, targets and region into the coding of its arms.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.errors import InputError
from convexdesign.extras import needed
from convexdesign.features.expression import NUMERIC, Columns
from convexdesign.features.formula import CONSTANT, Formula, Term, parse_formula

if TYPE_CHECKING:
    import pandas

    from convexdesign.features.frame import ModelMatrix

__all__ = ["ModelSpec", "coded_alike", "coded_settings", "model_matrix", "settings_of"]


@dataclass(frozen=True, eq=False, repr=False)
class ModelSpec:
    """How a formula was coded over a table: its columns, levels, centres and scales.

    Made by `model_matrix`, whose result carries it as `.spec`.

    Attributes
    ----------
    formula : str
        As written.
    columns : tuple of str
        The coordinates of the arms, one a column of the model matrix.
    factors : tuple of str
        The columns of a table that it needs.

    Examples
    --------
    >>> import pandas
    >>> arms = model_matrix(pandas.DataFrame({"dose": [0.0, 1.0, 5.0]}), "center(dose)")
    >>> arms.spec.apply(pandas.DataFrame({"dose": [2.0, 3.0]}))["center(dose)"].tolist()
    [0.0, 1.0]
    """

    formula: str
    columns: tuple[str, ...]
    factors: tuple[str, ...]
    # Whether the columns come in another order than the terms were written in: formulaic sorts by degree.
    reordered: bool
    _table: Columns = field(repr=False)
    _terms: Formula = field(repr=False)
    _inner: Any = field(repr=False)
    _key: str = field(repr=False)

    def apply(self, table: Any) -> ModelMatrix:
        """The model matrix of another table of settings, coded as the first one was.

        Parameters
        ----------
        table : DataFrame
            Settings, a row each, with the columns `factors`.

        Returns
        -------
        ModelMatrix
            A DataFrame with the columns `columns`.

        Raises
        ------
        InputError
            For a missing column, a level that the first table did not have, and terms that are not finite.
        """
        frame = _frame(table)
        _check_columns(self, frame)
        _check_levels(self, frame)
        return _made(self, frame, self._inner)

    def __repr__(self) -> str:
        return f"ModelSpec({self.formula!r}: {', '.join(self.columns)})"


def model_matrix(table: Any, formula: str | ModelSpec) -> ModelMatrix:
    """The model matrix of a formula over a table of factor settings: arms with the terms as column names.

    The result's `.spec` codes other tables alike: `model_matrix(region, arms.spec)`. A DesignProblem does so by itself
    where its arms and its items, targets or region are model matrices of one formula.

    Parameters
    ----------
    table : DataFrame
        One row per setting; its row labels stay.
    formula : str or ModelSpec
        In Wilkinson's notation (extra `formula`, for which the library formulaic does the coding): `1 + a + b + a:b`,
        `C(c)` for categorical factors (text is categorical by itself), `0 + ...` for mixtures without a constant, and
        arithmetic and named functions, `log(a)`, `I(a / b)`, `center(a)`, `poly(a, 2)`, alone. Products of a numeric
        factor with itself are powers: a**2, (a)**2, a:a are its square (in plain Wilkinson notation they would silently
        be a itself); a power of a sum, (a + b)**2, stays the crossing that it is there.

    Returns
    -------
    ModelMatrix
        A DataFrame (n, d).

    Raises
    ------
    InputError
        For formulas that do not fit, and for terms that are not finite, naming term, row and value.

    Examples
    --------
    >>> import pandas
    >>> model_matrix(pandas.DataFrame({"a": [1.0, 2.0], "b": [0.0, 3.0]}), "a + b + a:b + a**2").columns.tolist()
    ['Intercept', 'a', 'b', 'I(a ** 2)', 'a:b']
    """
    if isinstance(formula, ModelSpec):
        return formula.apply(table)
    formulaic = needed("formulaic", "a model formula")
    frame = _frame(table)
    columns = Columns({str(name): _is_numeric(frame[name]) for name in frame.columns})
    try:
        terms = parse_formula(formula, columns)
    except InputError as error:
        raise InputError(
            f"formula {_short(formula)} cannot be used on columns {list(frame.columns)}: {error}"
        ) from None
    ordered = formulaic.Formula([_term(term) for term in terms.terms])
    names = [_written(term, columns) for term in terms.terms]
    reordered = sorted(range(len(names)), key=lambda k: len(terms.terms[k])) != list(range(len(names)))
    draft = ModelSpec(formula, (), terms.used, reordered, columns, terms, None, token_hex(8))
    return _made(draft, frame, ordered)


def coded_settings(arms: Any, source: Any, what: str) -> Any:
    """A table of settings, or one setting as a mapping or Series, coded as the arms; anything else as it is.

    arms: a model matrix or None. Settings are what holds one of its factors, and not all of its terms. Raises InputError for
    settings that cannot be coded so, and where the arms were changed since they were coded.
    """
    spec: ModelSpec | None = getattr(arms, "spec", None)
    names = None if spec is None else _names_in(source)
    if spec is None or names is None or not names & set(spec.factors) or names >= set(spec.columns):
        return source
    settings = settings_of(arms)
    if settings is None or not _is_unchanged(spec, settings, arms):
        raise InputError(
            f"{what} holds settings, but the arms were changed since they were coded; give its model matrix"
        )
    try:
        coded = spec.apply(_as_table(source))
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    return coded[[str(name) for name in arms.columns]]


def _names_in(source: Any) -> set[str] | None:
    """The names of the columns of a table, the keys of a mapping, or the labels of a Series; None of all else."""
    if isinstance(source, np.ndarray) or hasattr(source, "spec"):
        return None
    for names in (getattr(source, "columns", None), source if isinstance(source, Mapping) else None):
        if names is not None:
            return {str(name) for name in names}
    return {str(name) for name in source.index} if hasattr(source, "index") and hasattr(source, "to_numpy") else None


def _as_table(source: Any) -> Any:
    """One setting as a table of one row; tables as they are."""
    if isinstance(source, Mapping) and all(isinstance(value, str) or np.ndim(value) == 0 for value in source.values()):
        return {name: [value] for name, value in source.items()}
    if hasattr(source, "index") and not hasattr(source, "columns"):
        return {str(name): [value] for name, value in zip(source.index, source)}
    return source


def coded_alike(arms: Any, other: Any, what: str) -> Any:
    """The other table in the coding of the arms, where both are model matrices of one formula; otherwise as it is.

    Raises InputError where the two cannot be compared: by formulas that differ in codes of their own, or after changes.
    """
    spec: ModelSpec | None = getattr(arms, "spec", None)
    own: ModelSpec | None = getattr(other, "spec", None)
    if spec is None or own is None or spec._key == own._key:
        return other
    same = set(spec._terms.terms) == set(own._terms.terms) and spec._table.numeric == own._table.numeric
    if not (spec._terms.has_state or own._terms.has_state):
        return other  # every column is what its name says
    remedy = f"make {what} by the arms' own: model_matrix(settings, arms.spec)"
    if not same and spec.formula != own.formula:
        raise InputError(f"the arms were coded by {spec.formula!r} and {what} by {own.formula!r}; {remedy}")
    settings = settings_of(other)
    if settings is None or not _is_unchanged(own, settings, other):
        raise InputError(f"{what} were coded by themselves and changed since; {remedy}")
    try:
        return spec.apply(settings)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


# ------------------------------------------------------------------ tables


def _frame(table: Any) -> pandas.DataFrame:
    import pandas

    if isinstance(table, pandas.DataFrame):
        frame = table
    elif hasattr(table, "columns") and hasattr(table, "to_dict"):  # polars
        frame = pandas.DataFrame(table.to_dict(as_series=False))
    else:
        try:
            frame = pandas.DataFrame(table)
        except (TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"the table must be a DataFrame of factor settings, got {type(table).__name__}: {error}"
            ) from None
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names) or not names or not len(frame):
        raise InputError("the table needs at least one row, and columns of different names")
    return pandas.DataFrame({name: frame.iloc[:, k] for k, name in enumerate(names)}, index=frame.index)


def _is_numeric(column: Any) -> bool:
    import pandas

    return bool(pandas.api.types.is_numeric_dtype(column))


def _check_columns(spec: ModelSpec, frame: pandas.DataFrame) -> None:
    for name in spec.factors:
        if name not in frame.columns:
            raise InputError(f"there is no column {name!r}, which the formula {_short(spec.formula)} needs; add it")
        if _is_numeric(frame[name]) != spec._table.numeric[name]:
            kinds = ("text", "numbers") if spec._table.numeric[name] else ("numbers", "text")
            raise InputError(f"column {name!r} holds {kinds[0]}, but {kinds[1]} where the formula was first used")


def _check_missing(formula: str, frame: pandas.DataFrame, used: Sequence[str]) -> None:
    for name in used:
        missing = np.flatnonzero(frame[name].isna().to_numpy())
        if missing.size == len(frame):
            raise InputError(f"column {name!r} of the table is empty; fill it in, or leave it out of the formula")
        if missing.size:
            row, column = frame.index[missing[0]], name
            raise InputError(f"the table has no value at row {row}, column {column!r}; fill it in or drop the row")


def _check_levels(spec: ModelSpec, frame: pandas.DataFrame) -> None:
    """InputError for a level of a category that was not there before: it has no column."""
    for factor in spec._terms.factors:
        state = spec._inner.encoder_state.get(factor.code)
        if factor.kind != "category" or state is None or len(factor.used) != 1:
            continue
        known = list(state[1].get("categories", ()))
        values = frame[factor.used[0]]
        strange = ~values.isin(known).to_numpy()
        if strange.any():
            row = int(np.argmax(strange))
            levels = ", ".join(map(str, known[:20]))
            raise InputError(
                f"column {factor.used[0]!r} is {values.iloc[row]!r} in row {frame.index[row]}, but its levels where the "
                f"formula was first used are {levels}; keep to these, or add rows with the new one there"
            )


def _inputs(spec: ModelSpec, frame: pandas.DataFrame) -> pandas.DataFrame:
    """The columns used, by their internal names: numbers as float64 (whole ones would overflow), and as they are."""
    import pandas

    columns: dict[str, Any] = {}
    for name in spec.factors:
        if spec._table.numeric[name]:
            columns[spec._table.internal(name)] = frame[name].to_numpy(dtype=float)
        columns[spec._table.internal(name, as_is=True)] = frame[name].array
    return pandas.DataFrame(columns, index=pandas.RangeIndex(len(frame)))


# ------------------------------------------------------------------ terms


def _term(term: Term) -> Any:
    from formulaic.parser.types import Factor as Part
    from formulaic.parser.types import Term as Product

    if term == CONSTANT:
        return Product([Part("1", eval_method="literal")])
    parts = []
    for factor, power in term:
        plain = factor.code.isidentifier()
        if power == 1:
            parts.append(Part(factor.code, eval_method="lookup" if plain else "python"))
        else:
            parts.append(Part(f"I({factor.code} ** {_number(power)})", eval_method="python"))
    return Product(parts)


def _number(power: float) -> str:
    return str(int(power)) if power == int(power) else repr(power)


def _written(term: Term, columns: Columns) -> str:
    codes = [code.code if power == 1 else f"I({code.code} ** {_number(power)})" for code, power in term]
    return columns.shown(":".join(codes) or "1", quote=True)


def _functions() -> Mapping[str, Any]:
    """The functions of expressions that formulaic has not, or has with fewer checks."""
    functions: dict[str, Any] = {name: getattr(np, own) for name, own in NUMERIC.items()}
    functions["exp10"] = _exp10
    functions["poly"] = _checked_poly()
    return functions


def _exp10(x: Any) -> Any:
    return np.power(10.0, x)


def _checked_poly() -> Any:
    from formulaic.transforms.poly import poly
    from formulaic.utils.stateful_transforms import stateful_transform

    def checked(x: Any, degree: int = 1, raw: bool = False, _state: Any = None) -> Any:
        values = np.asarray(x, dtype=float)
        if not (isinstance(degree, int) and not isinstance(degree, bool) and degree >= 1):
            raise InputError(f"poly of degree {degree!r}; give a whole number of at least 1")
        different = np.unique(values[np.isfinite(values)]).size
        if not raw and not _state and degree >= different:
            raise InputError(
                f"poly of degree {degree} needs more than {degree} different values, and there are {different}"
            )
        return poly(x, degree, raw, _state=_state)

    return stateful_transform(checked)


def _made(spec: ModelSpec, frame: pandas.DataFrame, source: Any) -> ModelMatrix:
    """The model matrix by a formulaic Formula or ModelSpec, checked, with the spec that made it."""
    import formulaic
    import pandas

    from convexdesign.features.frame import ModelMatrix

    _check_missing(spec.formula, frame, spec.factors)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", formulaic.errors.DataMismatchWarning)
        try:
            options = {} if isinstance(source, formulaic.ModelSpec) else {"na_action": "ignore"}
            inner = formulaic.model_matrix(source, _inputs(spec, frame), context=_functions(), **options)
            values = np.array(inner, dtype=float)
        except (Exception, RecursionError) as error:  # formulaic raises many kinds; each tells what is wrong
            reason = spec._table.shown(str(error).splitlines()[0] if str(error) else type(error).__name__, quote=False)
            raise InputError(
                f"formula {_short(spec.formula)} cannot be used on columns {list(frame.columns)}: {reason[:500]}"
            ) from None
    columns = tuple(spec._table.shown(str(name), quote=":" in str(name) or "(" in str(name)) for name in inner.columns)
    _check_finite(spec, frame, columns, values)
    if spec._inner is None:
        spec = ModelSpec(
            spec.formula, columns, spec.factors, spec.reordered, spec._table, spec._terms, inner.model_spec, spec._key
        )
    out = ModelMatrix(pandas.DataFrame(values, columns=list(columns), index=frame.index))
    out.spec = spec
    out.settings = frame
    return out


def _check_finite(spec: ModelSpec, frame: pandas.DataFrame, columns: Sequence[str], values: Any) -> None:
    """InputError naming term, row and value where a term is not finite."""
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        row, column = (int(k) for k in bad[0])
        used = [name for name in spec.factors if name in columns[column]] or list(spec.factors)
        settings = ", ".join(f"{name} = {frame[name].iloc[row]}" for name in used[:5])
        raise InputError(
            f"formula {_short(spec.formula)}: the term {columns[column]!r} is {values[row, column]} in row "
            f"{frame.index[row]} ({settings}); leave out such rows, or change the term"
        )


def _short(formula: Any) -> str:
    text = repr(formula)
    return text if len(text) <= 200 else text[:200] + "...'"


# ------------------------------------------------------------------ tables made before


def settings_of(matrix: ModelMatrix) -> pandas.DataFrame | None:
    """The settings of these rows of a model matrix; None where they cannot be told."""
    settings = matrix.settings
    if settings is None:
        return None
    if len(settings) == len(matrix):
        return settings
    if settings.index.is_unique and matrix.index.isin(settings.index).all():
        return settings.loc[matrix.index]
    return None


def _is_unchanged(spec: ModelSpec, settings: pandas.DataFrame, matrix: ModelMatrix) -> bool:
    if set(matrix.columns) != set(spec.columns):
        return False
    again = spec.apply(settings)[list(matrix.columns)]
    return bool(np.array_equal(again.to_numpy(), matrix.to_numpy()))
