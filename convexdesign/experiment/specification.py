"""An algorithm as plain data, from which the same algorithm can be made anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from convexdesign.algorithms import ALGORITHMS, algorithm_of
from convexdesign.arms.read import LabelledVectors, read_rows
from convexdesign.digest import array_digest
from convexdesign.errors import DamagedStoreError, InputError
from convexdesign.identification import BestArm, Identifier, LevelSet
from convexdesign.identification.allocations import allocate
from convexdesign.identification.objectives import Objective

__all__ = ["algorithm_from", "describe"]

# What arguments were before they existed, for stores that are older.
BEFORE: dict[str, dict[str, Any]] = {"h-rage": {"margin": "fixed"}}
# Arguments that older stores have not, left out where they are these: equal experiments are described alike.
LATER: dict[str, dict[str, Any]] = {
    "martingale": {"reward_range": None, "smallest_gap": None},
    "rage": {"noise": "gaussian", "reward_range": None},
}
# Arms are kept in the store as they are; more numbers than this do not belong into an event.
MOST_NUMBERS = 5_000_000


def describe(algorithm: Any) -> dict[str, Any]:
    """The algorithm's specification. InputError where it is not one of ours, has begun, or holds a function."""
    line = algorithm_of(algorithm)
    if line is None:
        known = ", ".join(dict.fromkeys(known.cls.__name__ for known in ALGORITHMS.values()))
        raise InputError(
            f"a {type(algorithm).__name__} cannot be described, so no other process could go on with it; the "
            f"algorithms that can are {known}"
        )
    if algorithm.design_solver is not allocate:
        raise InputError("the algorithm solves its designs by a function of your own, which cannot be described")
    if algorithm.begun:
        raise InputError("the algorithm has begun already; create the experiment with one that was told nothing")
    arms, items = algorithm.arm_rows, algorithm.item_rows
    numbers = arms.values.size + items.values.size
    if numbers > MOST_NUMBERS:
        raise InputError(f"arms and items are {numbers} numbers; a store takes up to {MOST_NUMBERS}")
    options, later = {name: _plain(getattr(algorithm, name)) for name in line.options}, LATER.get(line.name, {})
    confirmed = {"confirm_noise": True} if algorithm.confirm_noise else {}
    return {
        "algorithm": line.name,
        "arms": _rows(arms),
        "items": None if items is arms else _rows(items),
        "objective": _objective(algorithm.objective),
        "delta": algorithm.delta,
        "epsilon": algorithm.epsilon,
        "max_samples": algorithm.max_samples,
        "rng": _plain(algorithm.rng.bit_generator.state),
        "options": {name: value for name, value in options.items() if name not in later or value != later[name]},
        **confirmed,
    }


def algorithm_from(
    specification: dict[str, Any],
    joined: Sequence[tuple[str | None, Sequence[float]]] = (),
    joined_arms: Sequence[dict[str, Any]] = (),
) -> Identifier:
    """The algorithm that `describe` described, as it was then.

    joined: names and values of more items, behind the others. joined_arms: names, values and options of more arms.
    """
    kind = specification["algorithm"]
    if kind not in ALGORITHMS:
        raise InputError(f"the store's algorithm {kind!r} is unknown to this version of convexdesign; upgrade")
    line = ALGORITHMS[kind]
    newer = set(specification["options"]) - set(line.options)
    if newer:
        raise InputError(f"the store's {kind} has {min(newer)}, unknown to this version of convexdesign; upgrade")
    items, arms = specification["items"], _rows_from(specification["arms"])
    rows = None if items is None else _rows_from(items)
    chosen = BEFORE.get(kind, {}) | specification["options"]
    if joined or joined_arms:
        new_arms = [(arm["name"], arm["values"]) for arm in joined_arms]
        rows = _longer(arms if rows is None else rows, joined, new_arms)
        arms = _longer(arms, new_arms, new_arms)
        chosen = _with_options(chosen, [arm["options"] for arm in joined_arms])
    limit = specification["max_samples"]
    if chosen.get("budget") is not None and limit is not None:
        # A budget is kept as the limit too, which is the smaller one where a store that is older was given both.
        chosen["budget"], limit = limit, None
    return line.cls(
        arms,
        rows,
        _objective_from(specification["objective"]),
        specification["delta"],
        epsilon=specification["epsilon"],
        max_samples=limit,
        rng=_generator(specification["rng"]),
        confirm_noise=specification.get("confirm_noise", False),
        **chosen,
    )


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


def _rows(rows: LabelledVectors) -> dict[str, Any]:
    values = np.asarray(rows.values, dtype=float)
    names, columns = (None if labels is None else list(labels) for labels in (rows.names, rows.columns))
    return {"values": values.tolist(), "names": names, "columns": columns, "digest": array_digest(values, short=True)}


def _rows_from(record: dict[str, Any]) -> LabelledVectors:
    rows = read_rows(record["values"], "arms")
    if array_digest(rows.values, short=True) != record["digest"]:
        raise DamagedStoreError("the arms of the store are not those of its digest")
    names, columns = (None if labels is None else tuple(labels) for labels in (record["names"], record["columns"]))
    return LabelledVectors(rows.values, names, columns)


def _longer(
    rows: LabelledVectors,
    joined: Sequence[tuple[str | None, Sequence[float]]],
    arms: Sequence[tuple[str | None, Sequence[float]]],
) -> LabelledVectors:
    """More rows, with zeros in coordinates that came with arms later."""
    old = np.asarray(rows.values, dtype=float)
    width = max([old.shape[1], *(len(values) for _, values in arms)])
    values = np.zeros((len(old) + len(joined), width))
    values[: len(old), : old.shape[1]] = old
    for k, (_, own) in enumerate(joined, start=len(old)):
        values[k, : len(own)] = own
    names = None if rows.names is None else (*rows.names, *(str(name) for name, _ in joined))
    columns = rows.columns
    if columns is not None:
        columns = tuple(columns)
        while len(columns) < width:
            name = f"coordinate {len(columns)}"
            columns = (*columns, name + "'" * sum(str(known).startswith(name) for known in columns))
    return LabelledVectors(values, names, columns)


def _with_options(chosen: dict[str, Any], arms: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Options that are one value for each arm, with those of more arms."""
    if not arms:
        return chosen
    longer = dict(chosen)
    if chosen.get("known_variances") is not None:
        longer["known_variances"] = [*chosen["known_variances"], *(arm["noise_variance"] for arm in arms)]
    if chosen.get("reward_range") is not None:
        ends = zip(chosen["reward_range"], zip(*(arm["reward_range"] for arm in arms)))
        longer["reward_range"] = [[*end, *more] for end, more in ends]
    return longer


def _objective(objective: Objective) -> dict[str, Any]:
    if isinstance(objective, LevelSet):
        return {"kind": "level-set", "threshold": objective.threshold}
    return {"kind": "best-arm"}


def _objective_from(record: dict[str, Any]) -> Objective:
    return LevelSet(record["threshold"]) if record["kind"] == "level-set" else BestArm()
