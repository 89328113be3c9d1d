"""Problems to and from JSON documents: the constructor's inputs, with very large arms kept in a file beside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.read import LabelledVectors, read_arms, read_rows
from convexdesign.digest import array_digest
from convexdesign.errors import InputError, MissingExtraError
from convexdesign.files import open_array
from convexdesign.problem.kinds import KINDS
from convexdesign.problem.problem import DesignProblem

__all__ = ["problem_from_json", "problem_to_json"]

# Above this many entries a matrix is not written into the document but beside it.
INLINE_ENTRIES = 500_000


def problem_to_json(problem: DesignProblem, beside: Path) -> dict[str, Any]:
    """The problem as JSON data; what is too large to inline is referred to by digest and path.

    Raises InputError for a callable constraint and for arms that only a function or a cluster holds.
    """
    if problem.weight_set.constraints is not None:
        raise InputError(
            "a problem with a callable constraint cannot be saved: a file cannot hold code; state linear constraints "
            "G w <= h in a problem file instead"
        )
    inputs = problem.stated.arguments()
    if "items" in inputs and inputs["items"] is inputs["arms"]:
        del inputs["items"]
    out: dict[str, Any] = {"kind": problem.kind}
    for name, value in inputs.items():
        out[name] = (
            _rows_to_json(value, name, beside) if isinstance(value, LabelledVectors) else _plain(value, name, beside)
        )
    for name in ("noise_variance", "costs"):
        if getattr(problem, name) is not None:
            out[name] = _plain(getattr(problem, name), name, beside)
    return out


def problem_from_json(document: dict[str, Any], beside: Path) -> DesignProblem:
    """The problem described by JSON data; InputError when the kind is unknown or a digest does not match."""
    inputs = dict(document)
    kind = inputs.pop("kind")
    if kind not in KINDS:
        raise InputError(f"{beside}: unknown kind {kind!r}; this release knows {', '.join(KINDS)}")
    for name in ("arms", "items", "targets", "region"):
        if name in inputs:
            inputs[name] = _rows_from_json(inputs[name], name, beside)
    for name, value in inputs.items():
        if isinstance(value, dict):
            inputs[name] = _stored(value, name, beside)
    problem: DesignProblem = KINDS[kind].constructor(inputs.pop("arms"), **inputs)
    return problem


def _plain(value: Any, name: str, beside: Path) -> Any:
    if isinstance(value, tuple):
        return [_plain(part, f"{name}-{k}", beside) for k, part in enumerate(value)]
    if np.isscalar(value):
        return value
    numbers = np.asarray(value, dtype=float)
    return numbers.tolist() if numbers.size <= INLINE_ENTRIES else _store(numbers, name, beside)


def _store(values: NDArray[Any], name: str, beside: Path) -> dict[str, Any]:
    """Digest and path: of the file the values are a map of, or else of a new one beside the document."""
    mapped = _mapped_file(values)
    if mapped is not None:
        return {"path": str(mapped), "digest": array_digest(values)}
    own = beside.with_name(f"{beside.stem}.{name}.npy")
    np.save(own, values)
    return {"path": own.name, "digest": array_digest(values)}


def _stored(data: dict[str, Any], name: str, beside: Path) -> NDArray[Any]:
    path = beside.parent / data["path"]
    try:
        values: NDArray[Any] = open_array(path)
    except InputError as error:
        raise InputError(f"{beside}: {name} are stored in {path}, which cannot be read: {error}") from None
    if array_digest(values) != data["digest"]:
        raise InputError(f"{path}: differs from the {name} this design was made for (digest mismatch)")
    return values


def _mapped_file(values: NDArray[Any]) -> Path | None:
    """The NPY file that the values are a map of, all of it and in its order."""
    name = getattr(values, "filename", None)
    if name is None or Path(name).suffix != ".npy":
        return None
    whole = open_array(name)
    # A part of the file, or its rows in another order, has another shape or other strides.
    same = (whole.shape, whole.strides, whole.dtype) == (values.shape, values.strides, values.dtype)
    return Path(name).resolve() if same else None


def _rows_to_json(rows: LabelledVectors, name: str, beside: Path) -> dict[str, Any]:
    out: dict[str, Any] = {} if rows.names is None else {"names": list(rows.names)}
    if rows.columns is not None:
        out["columns"] = list(rows.columns)
    if rows.counts is not None:
        out["responses"] = rows.counts.tolist()
    if not isinstance(rows.held, np.ndarray):
        raise InputError(
            f"{rows.held!r} cannot be saved: a file cannot hold a function or a cluster's data. Write the {name} to an NPY "
            "file and solve with np.load(path, mmap_mode='r'), or keep the weights alone: np.save(path, design.weights)"
        )
    settings = rows.settings
    if settings is not None and rows.matrix.spec.formula and settings.size <= INLINE_ENTRIES:
        table = {str(c): settings[c].tolist() for c in settings.columns}
        out["model"] = {"formula": rows.matrix.spec.formula, "settings": table}
    values = rows.values
    if values.size <= INLINE_ENTRIES:
        return out | {"values": values.tolist()}
    return out | _store(values, name, beside)


def _rows_from_json(data: dict[str, Any], name: str, beside: Path) -> LabelledVectors:
    values = np.asarray(data["values"], dtype=float) if "values" in data else _stored(data, name, beside)
    names, columns = data.get("names"), data.get("columns")
    rows = read_arms(values, data.get("responses")) if name == "arms" else read_rows(values, name)
    if name == "arms" and data.get("model") is not None:
        rows = replace(rows, matrix=_coded_again(data["model"], values, beside))
    return replace(
        rows,
        names=None if names is None else tuple(names),
        columns=None if columns is None else tuple(columns),
    )


def _coded_again(model: Any, values: NDArray[Any], beside: Path) -> Any:
    """The model matrix of the settings in the file, where it is the arms there; None without the extra that codes it."""
    import pandas

    from convexdesign.features.model import model_matrix

    try:
        matrix = model_matrix(pandas.DataFrame(model["settings"]), model["formula"])
    except MissingExtraError:
        return None
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{beside}: the settings that arms were made of cannot be read: {error}") from None
    if matrix.shape != values.shape or not np.allclose(matrix.to_numpy(), values, rtol=1e-9, atol=0.0):
        raise InputError(f"{beside}: the arms are not those of the settings and the formula; the file is damaged")
    return matrix
