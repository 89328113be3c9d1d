"""Problems to and from JSON documents: the constructor's inputs, with very large arms kept in a file beside."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.problem.problem import DesignProblem
from convexdesign.problem.read import Rows

__all__ = ["digest", "problem_from_json", "problem_to_json"]

# Above this many entries a matrix is not written into the document but beside it.
INLINE_ENTRIES = 500_000

CONSTRUCTORS: dict[str, Any] = {
    "minimax": DesignProblem,
    "g-optimal": DesignProblem.g_optimal,
    "variance-g-optimal": DesignProblem.variance_g_optimal,
    "xy-allocation": DesignProblem.xy_allocation,
    "level-set-allocation": DesignProblem.level_set_allocation,
    "best-arm-oracle": DesignProblem.best_arm_oracle,
    "level-set-oracle": DesignProblem.level_set_oracle,
    "c-optimal": DesignProblem.c_optimal,
    "d-optimal": DesignProblem.d_optimal,
    "ds-optimal": DesignProblem.ds_optimal,
    "a-optimal": DesignProblem.a_optimal,
    "i-optimal": DesignProblem.i_optimal,
    "average-variance": DesignProblem.average_variance,
    "e-optimal": DesignProblem.e_optimal,
}


def digest(values: NDArray[Any]) -> str:
    """SHA-256 over shape and float64 bytes."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    return hashlib.sha256(repr(values.shape).encode() + values.tobytes()).hexdigest()


def problem_to_json(problem: DesignProblem, beside: Path) -> dict[str, Any]:
    """The problem as JSON data; matrices too large to inline are referred to by digest and path."""
    if problem.weight_set.constraints is not None:
        raise InputError(
            "a problem with a callable constraint cannot be saved: a file cannot hold code; state linear constraints "
            "G w <= h in a problem file instead"
        )
    inputs = dict(problem.inputs)
    if problem.kind == "variance-g-optimal":
        inputs["arms"] = inputs.pop("source")
    if "items" in inputs and inputs["items"] is inputs["arms"]:
        del inputs["items"]
    out: dict[str, Any] = {"kind": problem.kind}
    for name, value in inputs.items():
        out[name] = _rows_to_json(value, name, beside) if isinstance(value, Rows) else _plain(value)
    for name in ("noise_variance", "costs"):
        if getattr(problem, name) is not None:
            out[name] = getattr(problem, name).tolist()
    return out


def problem_from_json(document: dict[str, Any], beside: Path) -> DesignProblem:
    """The problem described by JSON data; InputError when the kind is unknown or a digest does not match."""
    inputs = dict(document)
    kind = inputs.pop("kind")
    if kind not in CONSTRUCTORS:
        raise InputError(f"{beside}: unknown kind {kind!r}; this release knows {', '.join(CONSTRUCTORS)}")
    for name in ("arms", "items", "targets", "region"):
        if name in inputs:
            inputs[name] = _rows_from_json(inputs[name], name, beside)
    problem: DesignProblem = CONSTRUCTORS[kind](inputs.pop("arms"), **inputs)
    return problem


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value if np.isscalar(value) else np.asarray(value, dtype=float).tolist()


def _rows_to_json(rows: Rows, name: str, beside: Path) -> dict[str, Any]:
    out: dict[str, Any] = {} if rows.names is None else {"names": list(rows.names)}
    if rows.columns is not None:
        out["columns"] = list(rows.columns)
    if rows.values.size <= INLINE_ENTRIES:
        return out | {"values": rows.values.tolist()}
    source = getattr(rows.values.base, "filename", None) or getattr(rows.values, "filename", None)
    if source is None or Path(source).suffix != ".npy":
        source = beside.with_name(f"{beside.stem}.{name}.npy")
        np.save(source, rows.values)
    return out | {"path": str(source), "digest": digest(rows.values)}


def _rows_from_json(data: dict[str, Any], name: str, beside: Path) -> Rows:
    from convexdesign.problem.read import read_rows

    if "values" in data:
        values = read_rows(np.asarray(data["values"], dtype=float), name).values
    else:
        path = beside.parent / data["path"]
        try:
            values = read_rows(np.load(path, mmap_mode="r", allow_pickle=False), name).values
        except (OSError, ValueError) as error:
            raise InputError(f"{beside}: {name} are stored in {path}, which cannot be read: {error}") from None
        if digest(values) != data["digest"]:
            raise InputError(f"{path}: differs from the {name} this design was made for (digest mismatch)")
    names, columns = data.get("names"), data.get("columns")
    return Rows(values, None if names is None else tuple(names), None if columns is None else tuple(columns))
