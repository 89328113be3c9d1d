"""load_problem: a TOML file in, a stated problem out, with every shape checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from convexdesign.arguments import to_path
from convexdesign.arms.labels import (
    ARMS,
    COORDINATES,
    Labelled,
    default_names,
    in_order,
    order_of,
    place_of_term,
)
from convexdesign.arms.read import LabelledVectors, column_or_numbers, read_arms, read_rows
from convexdesign.errors import InputError, MissingExtraError
from convexdesign.features.model import model_matrix
from convexdesign.problem.continuum import Continuum
from convexdesign.problem.kinds import KINDS
from convexdesign.problem.psd import read_square
from convexdesign.problemfile.document import FIELDS, ColumnRef, Document, FileRef, Reference, checked, depth, read_toml
from convexdesign.problemfile.over_region import is_over_region, read_over_region
from convexdesign.tables import read_table, read_vector
from convexdesign.tables.factors import Factors, read_factors
from convexdesign.tables.table import stored_array
from convexdesign.typing import Floats

__all__ = ["ProblemFile", "load_problem"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ProblemFile:
    """A problem as its file states it.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    title, statement : str
        What it says in words.
    kind : str
        A key of `KINDS`.
    arms : LabelledVectors or Curve
        Values (n, d), for r responses (n, d, r), and names; or a model over a region.
    inputs : mapping
        The other keywords of the DesignProblem constructor of this kind, in the units of the file (noise_variance is a
        VARIANCE).
    reference : Reference or None
        The known value.
    Sigma : array, shape (d, d), or None
        Where the file gives it, from which noise_variance in `inputs` was computed.
    """

    path: Path
    title: str
    statement: str
    kind: str
    arms: Any
    inputs: Mapping[str, Any]
    reference: Reference | None
    Sigma: Floats | None = None

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @property
    def is_over_region(self) -> bool:
        """Whether the arms are a model over a region and no list."""
        return isinstance(self.arms, Continuum)

    def problem(self) -> Any:
        """The problem, to be solved.

        Returns
        -------
        DesignProblem or RegionProblem
            Of the file's kind.

        Raises
        ------
        InputError
            Prefixed by the file, where the data contradict the kind.
        """
        try:
            return KINDS[self.kind].constructor(self.arms, **self.inputs)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None


def load_problem(path: str | PathLike[str]) -> ProblemFile:
    """Read a problem file.

    The file is TOML: title, statement, kind (one of `KINDS`), arms and, by kind, items, targets, theta, threshold,
    direction, interest, region, M; noise_variance (a scalar or one variance per arm) or Sigma (d, d), which means the
    variances x' Sigma x; costs, existing_counts, existing_runs (a table of them) or prior_information with n_new,
    min_weight, max_weight, inequalities (G, h). Arms with several responses are matrices instead, lists of d rows of
    r_i numbers (or an NPY file (n, d, r)), and their noise_variance a scalar, a variance per arm or per response, or
    a covariance matrix per arm. Matrices are lists of rows, or the path of a CSV or NPY file relative to this one (as
    text, or as a table { file = "arms.csv", decimal = "," } with the arguments of `read_table`); so are numbers per
    arm. With [model] and its formula the files of arms, items, targets, region and existing_runs hold settings of
    factors, numbers per arm and arm_names may be columns of the table of arms ({ column = "price" }), and direction,
    theta and interest name terms. With [model] and [region] and no arms the problem is over a region: shapes (box,
    ball, simplex, polytope, levels) and conditions (where); the model is a formula, perhaps with link and theta, or
    nonlinear with theta, or with thetas, several values, and over beside them; noise_variance and costs may be
    expressions of the factors. [reference] may state the known value, its tolerance, provenance and source.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Returns
    -------
    ProblemFile
        What it states.

    Raises
    ------
    InputError
        Naming the file, the field and the remedy.

    Examples
    --------
    >>> from convexdesign.problemfile import find, load_problem
    >>> load_problem(find("soare-xy")).problem()
    DesignProblem(xy-allocation: 3 arms in R^2, 3 targets, noise per arm)
    """
    path = to_path(path)
    data = read_toml(path)
    if is_over_region(data):
        stated, curve, given = read_over_region(path, data)
        return ProblemFile(path, stated.title, stated.statement.strip(), stated.kind, curve, given, stated.reference)
    document = checked(path, data)
    read = _Reader(path, None if document.model is None else document.model.formula)
    arms = read.arms(document.arms, document.arm_names)
    n, d = arms.n, arms.d
    inputs: dict[str, Any] = {}
    if document.items is not None:
        inputs["items"] = read.vectors("items", document.items, document.item_names, width=d)
    elif document.item_names is not None:
        raise InputError(f"{path}: item_names is given without items; use arm_names, or add items")
    for field in ("targets", "region"):
        if getattr(document, field) is not None:
            inputs[field] = read.vectors(field, getattr(document, field), None, width=d)
    for field in ("theta", "direction"):
        if getattr(document, field) is not None:
            inputs[field] = read.coordinates(field, getattr(document, field), arms)
    if document.threshold is not None:
        inputs["threshold"] = document.threshold
    if document.M is not None:
        inputs["M"] = read.square("M", document.M, arms)
    if document.interest is not None:
        flat = isinstance(document.interest, list) and not isinstance((document.interest or [0])[0], list)
        inputs["interest"] = document.interest if flat else read.interest(document.interest, arms)
    inputs |= _common(read, document, arms)
    reference = document.reference
    if reference is not None and reference.weights is not None and len(reference.weights) != n:
        raise InputError(f"{path}: reference.weights has {len(reference.weights)} entries; there are {n} arms")
    if reference is not None and reference.settings is not None:
        raise InputError(f"{path}: reference.settings are those of a problem over a region; weights follow the arms")
    Sigma = None if document.Sigma is None else read.square("Sigma", document.Sigma, arms)
    return ProblemFile(path, document.title, document.statement.strip(), document.kind, arms, inputs, reference, Sigma)


def _common(read: _Reader, document: Document, arms: LabelledVectors) -> dict[str, Any]:
    n = arms.n
    out: dict[str, Any] = {}
    for field in FIELDS:
        given = getattr(document, field)
        if given is None:
            continue
        if field == "noise_variance" and arms.responses > 1 and not isinstance(given, ColumnRef):
            out[field] = read.noise(given, arms)
        elif field == "Sigma":
            if arms.responses > 1:
                raise InputError(
                    f"{read.path}: Sigma gives an arm x the variance x' Sigma x, but these arms have {arms.responses} "
                    "responses each; give noise_variance, a variance for each response or a covariance matrix for each arm"
                )
            out["noise_variance"] = _quadratic_variance(read.path, arms, read.square("Sigma", given, arms))
        elif field == "existing_runs":
            out[field] = read.runs(given, arms)
        elif isinstance(given, ColumnRef):
            out[field] = read.column(field, given, arms)
        elif field == "prior_information":
            out[field] = read.square(field, given, arms)
        elif field == "inequalities":
            G = read.inequalities(given.G, arms)
            out[field] = (G, read.vector("inequalities.h", given.h, G.shape[0], "per row of G"))
        elif isinstance(given, float | int):
            out[field] = float(given)
        elif isinstance(given, list) and depth(given) > 1:
            raise InputError(
                f"{read.path}: {field} is a list of lists; arms with one response each have one variance each, [..]"
            )
        else:
            out[field] = read.per_arm(field, given, n, arms.names)
    return out


def _quadratic_variance(path: Path, arms: LabelledVectors, Sigma: Floats) -> Floats:
    """x' Sigma x for every arm, after checking that Sigma is a covariance matrix."""
    size = np.abs(Sigma).max()
    skew = np.abs(Sigma - Sigma.T)
    if skew.max() > 1e-10 * size:
        i, j = (int(k) for k in np.unravel_index(skew.argmax(), skew.shape))
        raise InputError(
            f"{path}: Sigma is not symmetric: entry [{i}][{j}] is {Sigma[i, j]:g}, entry [{j}][{i}] {Sigma[j, i]:g}"
        )
    lowest = np.linalg.eigvalsh((Sigma + Sigma.T) / 2)[0]
    if lowest < -1e-10 * size:
        raise InputError(
            f"{path}: Sigma is not positive semidefinite (smallest eigenvalue {lowest:.3g}), so some direction would "
            "have a negative variance; correct it, or give noise_variance, one per arm"
        )
    X = np.asarray(arms.values, dtype=float)
    variance = np.asarray(np.einsum("ij,ij->i", X @ Sigma, X))
    if variance.min() <= 0:
        i = int(variance.argmin())
        name = "" if arms.names is None else f" ({arms.names[i]})"
        raise InputError(f"{path}: Sigma gives arms[{i}]{name} the variance {variance[i]:.3g}; it must be positive")
    return variance


def as_frame(table: Factors) -> Any:
    """The columns of a table of settings, by their names; rows are counted from 1, as in files."""
    import pandas

    return pandas.DataFrame(dict(table.columns), index=range(1, table.n + 1))


def _as_field(error: InputError) -> str:
    """What tables advise as arguments, as it is written in a problem file."""
    text = re.sub(r"(?:pass )?\b(header|names)=(True|False)", lambda f: _table(f"{f[1]} = {f[2].lower()}"), str(error))
    return re.sub(
        r"(?:[Pp]ass )?\b(delimiter|decimal|encoding)='([^']*)'", lambda f: _table(f'{f[1]} = "{f[2]}"'), text
    )


def _table(option: str) -> str:
    return f'write {{ file = "...", {option} }}'


class _Reader:
    """Turns fields into arrays, from the file itself or from files beside it; errors name file and field."""

    def __init__(self, path: Path, formula: str | None = None):
        self.path, self.formula = path, formula
        self.settings: Any = None  # the factors of the arms, with a formula

    def vectors(self, field: str, given: Any, names: list[str] | None, width: int) -> Any:
        """Vectors (k, d), or with a formula the settings, for the arms to code them."""
        if self.formula is None or isinstance(given, list):
            return self.matrix(field, given, names, width)
        table = self.factors(field, given)
        named = names or table.names
        return as_frame(table) if named is None else as_frame(table).set_axis(list(named), axis=0)

    def factors(self, field: str, given: Any, unique: bool = True) -> Factors:
        """A file of settings."""
        target, options = self._beside(given)
        for name in ("header", "names", "comment"):
            options.pop(name, None)
        return self._guarded(field, lambda: read_factors(target, unique=unique, **options))

    def coded_arms(self, given: Any, names: list[str] | ColumnRef | None) -> LabelledVectors:
        """The arms of a table of settings, by the formula."""
        assert self.formula is not None
        if isinstance(given, list):
            raise InputError(
                f"{self.path}: arms: with a [model] they are settings of its factors; name the file of a table"
            )
        table = self.factors("arms", given)
        frame = as_frame(table)
        if isinstance(names, ColumnRef):
            if names.column not in frame and not (table.names is not None and names.column not in table.cells):
                raise InputError(f"{self.path}: arm_names: there is no column {names.column!r} in the table of arms")
            names = [str(x) for x in frame.get(names.column, table.names or ())]
        named = names or (None if table.names is None else list(table.names))
        try:
            matrix = model_matrix(frame, self.formula)
        except MissingExtraError:
            raise
        except InputError as error:
            raise InputError(f"{self.path}: model.formula: {error}") from None
        rows = LabelledVectors(np.ascontiguousarray(matrix.to_numpy()), None, tuple(matrix.columns), matrix=matrix)
        self.settings = frame
        return rows if named is None else self._named("arms", rows, named)

    def column(self, field: str, given: ColumnRef, arms: LabelledVectors) -> Floats:
        """Numbers of every arm from a column of the table of settings."""
        if self.settings is None:
            raise InputError(
                f"{self.path}: {field}: columns are those of a table of settings; add [model] with a formula"
            )
        numbers = self._guarded(field, lambda: np.asarray(column_or_numbers(arms, given.column, field)))
        if numbers.dtype.kind not in "fiu":
            raise InputError(f"{self.path}: {field}: column {given.column!r} holds text, where numbers are needed")
        return numbers

    def runs(self, given: Any, arms: LabelledVectors) -> Any:
        """The runs done, as settings or vectors, with a column count where there is one."""
        if self.formula is not None and not isinstance(given, list):
            return as_frame(self.factors("existing_runs", given, unique=False))
        rows = self.matrix("existing_runs", given, None)
        if rows.columns is None or default_names(rows.columns):
            return rows.values
        return dict(zip(rows.columns, np.asarray(rows.values).T))

    def coordinates(self, field: str, given: Any, arms: LabelledVectors) -> Floats:
        """Numbers of all coordinates, or of some by the names of their terms."""
        if isinstance(given, list):
            return self.vector(field, given, arms.d, "per column of arms")
        out = np.zeros(arms.d)
        for term, number in ({given: 1.0} if isinstance(given, str) else given).items():
            place = None if arms.columns is None else place_of_term(term, arms.columns)
            if place is None:
                known = "without names" if arms.columns is None else ", ".join(arms.columns)
                raise InputError(f"{self.path}: {field}: {term!r} is no coordinate; they are {known}")
            out[place] = number
        return out

    def matrix(self, field: str, given: Any, names: list[str] | None, width: int | None = None) -> LabelledVectors:
        try:
            if isinstance(given, list):
                self._rectangular(field, given)
                rows = read_rows(given, field)
            else:
                target, options = self._beside(given)
                table = read_table(target, **options)
                rows = replace(read_rows(table.values, field), names=table.names, columns=table.columns)
        except InputError as error:
            raise InputError(f"{self.path}: {field}: {_as_field(error)}") from None
        if width is not None and rows.values.shape[1] != width:
            raise InputError(
                f"{self.path}: {field} has rows of {rows.values.shape[1]} numbers where {width} are needed"
            )
        return rows if names is None else self._named(field, rows, names)

    def square(self, field: str, given: Any, arms: LabelledVectors) -> Floats:
        """A matrix of one row and column a coordinate, in their order where the file names them."""
        rows = self.matrix(field, given, None, width=arms.d)
        return self._guarded(field, lambda: np.array(read_square(rows, field, arms.d, arms.columns)))

    def interest(self, given: Any, arms: LabelledVectors) -> Floats:
        """A matrix of one row a coordinate, in their order where the file names them."""
        rows = self.matrix("interest", given, None)
        labelled = Labelled(rows.values, rows.names)
        return self._guarded("interest", lambda: in_order(labelled, "interest", arms.columns, COORDINATES))

    def inequalities(self, given: Any, arms: LabelledVectors) -> Floats:
        """The matrix G of one column an arm, in their order where the file names them."""
        rows = self.matrix("inequalities.G", given, None, width=arms.n)
        labels = None if rows.columns is None or default_names(rows.columns) else rows.columns
        order = self._guarded("inequalities.G", lambda: order_of(labels, arms.names, "the columns of G", ARMS))
        return rows.values if order is None else rows.values[:, order]

    def arms(self, given: Any, names: list[str] | ColumnRef | None) -> LabelledVectors:
        """Vectors or, for several responses, matrices: written out one by one, or an NPY file (n, d, r)."""
        if self.formula is not None:
            return self.coded_arms(given, names)
        if isinstance(names, ColumnRef):
            raise InputError(
                f"{self.path}: arm_names: columns are those of a table of settings; add [model] with a formula"
            )
        stored = self._stored_array(given)
        if isinstance(given, list) and depth(given) > 2:
            for i, matrix in enumerate(given):
                self._guarded(f"arms[{i}]", partial(self._rectangular, "arms", matrix))
            rows = self._guarded("arms", lambda: read_arms(given))
        elif stored is not None and stored.ndim == 3:
            rows = self._guarded("arms", lambda: read_arms(stored))
        else:
            return self.matrix("arms", given, names)
        return rows if names is None else self._named("arms", rows, names)

    def noise(self, given: Any, arms: LabelledVectors) -> Any:
        """The noise of arms with several responses: a number, or lists of any depth, or a file."""
        if isinstance(given, float | int):
            return float(given)
        stored = self._stored_array(given)
        if stored is not None:
            return stored
        if not isinstance(given, list):
            return self.per_arm("noise_variance", given, arms.n, arms.names)
        return given if arms.counts is not None and depth(given) > 1 else self._array("noise_variance", given)

    def _array(self, field: str, given: list[Any]) -> Floats:
        try:
            return np.array(given, dtype=float)
        except ValueError:
            raise InputError(
                f"{self.path}: {field} holds lists of different lengths; give a number, a list or a matrix for each arm, all "
                "of one size"
            ) from None

    def _stored_array(self, given: Any) -> Floats | None:
        """The array of an NPY file, of whatever dimensions; None where the field is no such file."""
        if isinstance(given, list | float | int):
            return None
        with suppress(InputError):  # whoever reads it next says what is wrong
            return stored_array(self._beside(given)[0])
        return None

    def _guarded(self, field: str, read: Callable[[], T]) -> T:
        """What `read` returns; an InputError of its begins with the file and the field."""
        try:
            return read()
        except InputError as error:
            raise InputError(f"{self.path}: {field}: {_as_field(error)}") from None

    def vector(self, field: str, given: list[float], length: int, unit: str) -> Floats:
        if len(given) != length:
            raise InputError(f"{self.path}: {field} has {len(given)} entries; it needs {length}, one {unit}")
        return np.array(given, dtype=float)

    def per_arm(self, field: str, given: Any, n: int, names: Sequence[str] | None) -> Floats:
        if isinstance(given, list):
            return self.vector(field, given, n, "per arm")
        target, options = self._beside(given)
        options.pop("names", None)
        unlisted = 1.0 if field == "max_weight" else 0.0  # no bound for an arm that the file leaves out
        return self._guarded(field, lambda: read_vector(target, n, names=names, unlisted=unlisted, **options))

    def _beside(self, given: str | FileRef) -> tuple[Path, dict[str, Any]]:
        if isinstance(given, str):
            return self.path.parent / given, {}
        return self.path.parent / given.file, given.model_dump(exclude={"file"}, exclude_none=True)

    def _rectangular(self, field: str, rows: list[list[float]]) -> None:
        if not rows or not rows[0]:
            raise InputError("there are no numbers; write one list per row, [[..], [..]]")
        for i, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise InputError(
                    f"row [{i}] has {len(row)} numbers and row [0] has {len(rows[0])}; all rows need the same length"
                )

    def _named(self, field: str, rows: LabelledVectors, names: list[str]) -> LabelledVectors:
        label = "arm_names" if field == "arms" else "item_names"
        if len(names) != rows.n:
            raise InputError(f"{self.path}: {label} has {len(names)} entries; there are {rows.n} rows in {field}")
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise InputError(f"{self.path}: {label} holds {repeated!r} twice; names must differ")
        return replace(rows, names=tuple(names))
