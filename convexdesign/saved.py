"""A saved design's document, field by field: nothing in it is believed that can be computed, nothing is read by guess."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from convexdesign.certificate import DualCertificate
from convexdesign.criteria import oracle_of
from convexdesign.errors import InputError
from convexdesign.files import read_regular
from convexdesign.problem import DesignProblem
from convexdesign.problem.storage import problem_from_json
from convexdesign.typing import Floats

__all__ = ["SavedDesign", "read_document", "read_saved"]


# Weights are written with all their digits: a sum further from one is no rounding, and one within it is rounding.
SUM_TOLERANCE = 1e-9
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SavedDesign:
    """What a document says: the problem, weights (n,) with sum one, and what was asked for and reported beside them.

    Value, bound and status are not among it: they follow from the rest. summary: method, formulation, backend, iterations
    and seconds.
    """

    problem: DesignProblem
    weights: Floats
    dual: DualCertificate | None
    ended: str
    tol: float
    summary: Mapping[str, Any]


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises InputError where there is none, a field comes twice, or a number is not finite."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} comes twice")
        return fields

    def no_number(text: str) -> Any:
        raise ValueError(f"{text} is no number that JSON knows")

    content = read_regular(path, "a saved design")
    try:
        document = json.loads(content.decode("utf-8"), object_pairs_hook=once, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as a saved design: {error}") from None
    return document if isinstance(document, dict) else {}


def read_saved(document: Mapping[str, Any], path: Path) -> SavedDesign:
    """The fields of a document, of the forms that `Design.save` gives them; InputError names the field that is not.

    Indices are whole numbers from 0, none twice; weights nonnegative with sum one; tol lies between 0 and 1.
    """
    read = _Fields(document, path)
    problem = problem_from_json(read.of("problem", dict), path)
    return SavedDesign(
        problem,
        _weights(read, problem.n_arms),
        _dual(read, problem),
        read.of("ended", str),
        _tolerance(read),
        _summary(read),
    )


class _Fields:
    """Fields by name, each of the type it should have."""

    def __init__(self, document: Mapping[str, Any], path: Path):
        self.document = document
        self.path = path

    def of(self, name: str, *types: type) -> Any:
        if name not in self.document:
            raise self.wrong(name, "is missing")
        value = self.document[name]
        if type(value) not in types:
            raise self.wrong(name, f"has the wrong form: {str(value)[:40]!r}")
        return value

    def numbers(self, name: str, values: Any, *types: type) -> list[Any]:
        """A list of finite numbers."""
        if type(values) is not list:
            raise self.wrong(name, "is no list of numbers")
        for k, x in enumerate(values):
            if type(x) not in types or not _is_finite(x):
                raise self.wrong(
                    f"{name}[{k}]", f"is {str(x)[:40]!r}, not a {'whole' if types == (int,) else 'finite'} number"
                )
        return values

    def wrong(self, name: str, what: str) -> InputError:
        return InputError(f"{self.path}: {name} {what}; the file is damaged: solve again, or restore it")


def _is_finite(x: float) -> bool:
    try:
        return isfinite(x)
    except OverflowError:
        return False


def _weights(read: _Fields, n: int) -> Floats:
    support = read.numbers("support", read.of("support", list), int)
    given = read.numbers("weights", read.of("weights", list), int, float)
    if len(support) != len(given):
        raise read.wrong("weights", f"has {len(given)} entries, support {len(support)}")
    outside = next((i for i in support if not 0 <= i < n), None)
    if outside is not None or len(set(support)) < len(support):
        what = "an arm twice" if outside is None else f"arm {outside}, but the arms are 0 .. {n - 1}"
        raise read.wrong("support", f"names {what}")
    weights = np.zeros(n)
    weights[support] = given
    total = float(weights.sum())
    if min(given, default=0.0) < 0 or abs(total - 1.0) > SUM_TOLERANCE:
        raise read.wrong(
            "weights", f"must be nonnegative with sum 1; the least is {min(given, default=0.0)}, the sum {total:.12g}"
        )
    return weights if abs(total - 1.0) <= ROUNDING else weights / total


def _dual(read: _Fields, problem: DesignProblem) -> DualCertificate | None:
    stored = read.of("witness", dict, type(None))
    if stored is None:
        return None
    if stored.keys() - {"remainders"} != {"targets", "vectors"}:
        raise read.wrong("witness", "must hold targets and vectors")
    targets = read.numbers("witness.targets", stored["targets"], int)
    vectors = _rows(read, "vectors", stored, len(targets), problem.arms.d)
    count = _count_targets(problem, len(vectors))
    outside = next((j for j in targets if not 0 <= j < count), None)
    if outside is not None:
        raise read.wrong("witness.targets", f"names target {outside}, but they are 0 .. {count - 1}")
    rest = None if "remainders" not in stored else _rows(read, "remainders", stored, len(targets), problem.arms.d)
    return DualCertificate(np.array(targets, dtype=np.intp), vectors, rest)


def _rows(read: _Fields, name: str, stored: Mapping[str, Any], count: int, d: int) -> Floats:
    """Vectors of a dual certificate (count, d)."""
    if type(stored[name]) is not list:
        raise read.wrong(f"witness.{name}", "is no list of rows")
    rows = [read.numbers(f"witness.{name}[{k}]", row, int, float) for k, row in enumerate(stored[name])]
    if len(rows) != count or any(len(row) != d for row in rows):
        raise read.wrong(f"witness.{name}", f"must hold {count} rows of {d} numbers, one for each target")
    return np.array(rows, dtype=float).reshape(count, d)


def _count_targets(problem: DesignProblem, vectors: int) -> int:
    """How many numbers a dual certificate may use: targets or columns of the contrast matrix, or else one for each vector."""
    count = oracle_of(problem).numbered(problem)
    return vectors if count is None else count


def _tolerance(read: _Fields) -> float:
    tol = read.of("tol", int, float)
    if not (_is_finite(tol) and 0 < tol < 1):
        raise read.wrong("tol", f"is {tol}; a relative gap to be certified lies between 0 and 1")
    return float(tol)


def _summary(read: _Fields) -> dict[str, Any]:
    summary = _Fields(read.of("summary", dict), read.path)
    out: dict[str, Any] = {"method": summary.of("method", str)}
    out |= {name: summary.of(name, str, type(None)) for name in ("formulation", "backend")}
    out |= {"iterations": summary.of("iterations", int), "seconds": float(summary.of("seconds", int, float))}
    for name, value in out.items():
        if not (value is None or (value.isprintable() if isinstance(value, str) else value >= 0)):
            raise read.wrong(f"summary.{name}", f"is {str(value)[:40]!r}")
    return out
