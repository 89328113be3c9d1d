"""An algorithm as plain data, from which the same algorithm can be made anywhere."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import DamagedStoreError, InputError
from convexdesign.identification import (
    BestArm,
    HRage,
    Identifier,
    LevelSet,
    MartingaleElimination,
    OracleAllocation,
    Rage,
    StaticAllocation,
)
from convexdesign.identification.allocations import allocate
from convexdesign.identification.identifier import MOST_SAMPLES
from convexdesign.problem.objectives import Objective
from convexdesign.problem.read import Rows, read_rows

__all__ = ["ALGORITHMS", "algorithm_from", "describe"]

# What an algorithm is called in a store, and its arguments beyond those of all, each an attribute of the same name.
ALGORITHMS: dict[str, tuple[type[Identifier], tuple[str, ...]]] = {
    "h-rage": (HRage, ("variance_bounds", "burn_in", "known_variances", "noise", "margin")),
    "rage": (Rage, ("variance_bounds",)),
    "martingale": (MartingaleElimination, ("variance_bounds", "known_variances", "noise", "budget")),
    "static": (StaticAllocation, ("variance_bounds", "known_variances", "design")),
    "oracle": (OracleAllocation, ("theta", "noise_variance", "heteroskedastic")),
}
# What arguments were before they existed, for stores that are older.
BEFORE: dict[str, dict[str, Any]] = {"h-rage": {"margin": "fixed"}}
# Arms are kept in the store as they are; more numbers than this do not belong into an event.
MOST_NUMBERS = 5_000_000


def describe(algorithm: Any) -> dict[str, Any]:
    """The algorithm's specification. InputError where it is not one of ours, has begun, or holds a function."""
    kind = next((kind for kind, (cls, _) in ALGORITHMS.items() if type(algorithm) is cls), None)
    if kind is None:
        known = ", ".join(cls.__name__ for cls, _ in ALGORITHMS.values())
        raise InputError(
            f"a {type(algorithm).__name__} cannot be described, so no other process could go on with it; the "
            f"algorithms that can are {known}"
        )
    if algorithm._allocate is not allocate:
        raise InputError("the algorithm solves its designs by a function of your own, which cannot be described")
    if algorithm._told or algorithm._usable.size < algorithm.arms.shape[0]:
        raise InputError("the algorithm has begun already; create the experiment with one that was told nothing")
    arms, items = algorithm._arm_rows, algorithm._item_rows
    numbers = arms.values.size + items.values.size
    if numbers > MOST_NUMBERS:
        raise InputError(f"arms and items are {numbers} numbers; a store takes up to {MOST_NUMBERS}")
    limit = algorithm.max_samples
    return {
        "algorithm": kind,
        "arms": _rows(arms),
        "items": None if items is arms else _rows(items),
        "objective": _objective(algorithm.objective),
        "delta": algorithm.delta,
        "epsilon": algorithm.epsilon,
        "max_samples": None if limit == MOST_SAMPLES else limit,
        "rng": _plain(algorithm.rng.bit_generator.state),
        "options": {name: _plain(_option(algorithm, name)) for name in ALGORITHMS[kind][1]},
    }


def algorithm_from(specification: dict[str, Any]) -> Identifier:
    """The algorithm that `describe` described, as it was then."""
    kind = specification["algorithm"]
    if kind not in ALGORITHMS:
        raise InputError(f"the store's algorithm {kind!r} is unknown to this version of convexdesign; upgrade")
    cls, options = ALGORITHMS[kind]
    newer = set(specification["options"]) - set(options)
    if newer:
        raise InputError(f"the store's {kind} has {min(newer)}, unknown to this version of convexdesign; upgrade")
    items = specification["items"]
    chosen = BEFORE.get(kind, {}) | specification["options"]
    limit = specification["max_samples"]
    if chosen.get("budget") is not None and limit is not None:
        # A budget is kept as the limit too, which is the smaller one where a store that is older was given both.
        chosen["budget"], limit = limit, None
    make: Any = cls
    algorithm: Identifier = make(
        _rows_from(specification["arms"]),
        None if items is None else _rows_from(items),
        _objective_from(specification["objective"]),
        specification["delta"],
        epsilon=specification["epsilon"],
        max_samples=limit,
        rng=_generator(specification["rng"]),
        **chosen,
    )
    return algorithm


def _option(algorithm: Any, name: str) -> Any:
    """The value of a constructor's argument."""
    value = getattr(algorithm, "burn_in_kind" if name == "burn_in" else name)
    if name == "variance_bounds" and value is not None and not np.isfinite(value[1]):
        return None
    return value


def _plain(value: Any) -> Any:
    """Arrays as lists, at any depth."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _generator(state: dict[str, Any]) -> np.random.Generator:
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def _rows(rows: Rows) -> dict[str, Any]:
    values = np.asarray(rows.values, dtype=float)
    names, columns = (None if labels is None else list(labels) for labels in (rows.names, rows.columns))
    return {"values": values.tolist(), "names": names, "columns": columns, "digest": _digest(values)}


def _rows_from(record: dict[str, Any]) -> Rows:
    rows = read_rows(record["values"], "arms")
    if _digest(np.asarray(rows.values)) != record["digest"]:
        raise DamagedStoreError("the arms of the store are not those of its digest")
    names, columns = (None if labels is None else tuple(labels) for labels in (record["names"], record["columns"]))
    return Rows(rows.values, names, columns)


def _digest(values: NDArray[np.float64]) -> str:
    h = blake2b(repr(values.shape).encode(), digest_size=16)
    h.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return h.hexdigest()


def _objective(objective: Objective) -> dict[str, Any]:
    if isinstance(objective, LevelSet):
        return {"kind": "level-set", "threshold": objective.threshold}
    return {"kind": "best-arm"}


def _objective_from(record: dict[str, Any]) -> Objective:
    return LevelSet(record["threshold"]) if record["kind"] == "level-set" else BestArm()
