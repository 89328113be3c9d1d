"""The table of identification algorithms: the one place that names them.

The command line, stores, simulations and the paper's figures choose from it. A new algorithm is a subclass of `Identifier`
with its options as fields, exported by `convexdesign.identification`, and a line here. Classes are found when they are
asked for, so that a list of choices costs no import.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from convexdesign.identification import Identifier

__all__ = ["ALGORITHMS", "Algorithm", "Option", "algorithm_of"]


@dataclass(frozen=True)
class Option:
    """An option of an algorithm: its type as written in the code, its unit ("" where it has none), and its default."""

    name: str
    type: str
    unit: str
    default: Any


@dataclass(frozen=True)
class Algorithm:
    """An algorithm by name: a class of `convexdesign.identification`, with some options fixed (preset).

    about: what it does, for lists of choices. adaptive: whether its designs follow the rewards. knows_theta: whether it is
    told the truth, as no experiment can be. needs_bounds: whether it must be given bounds on the variances, or these.
    objectives: what it can be asked.
    """

    name: str
    class_name: str
    about: str
    preset: Mapping[str, Any] = field(default_factory=dict)
    adaptive: bool = True
    knows_theta: bool = False
    needs_bounds: bool = True
    objectives: tuple[str, ...] = ("best-arm", "level-set")

    @property
    def cls(self) -> type[Identifier]:
        """The class."""
        found: type[Identifier] = getattr(import_module("convexdesign.identification"), self.class_name)
        return found

    @property
    def options(self) -> dict[str, Option]:
        """What it takes beside the options of all algorithms, by name."""
        every, common = _options(self.cls), common_options()
        return {name: option for name, option in every.items() if name not in (*common, "arms", "items", "objective")}

    def make(self, arms: Any, items: Any | None, objective: Any, **offered: Any) -> Identifier:
        """A fresh one, told what is offered of the options of all algorithms and of its own."""
        taken = {name: value for name, value in offered.items() if name in self.options or name in common_options()}
        return self.cls(arms, items, objective, **taken | dict(self.preset))


def common_options() -> dict[str, Option]:
    """What every algorithm takes beside arms, items and objective."""
    every = _options(import_module("convexdesign.identification").Identifier)
    return {name: option for name, option in every.items() if name not in ("arms", "items", "objective")}


def _options(cls: type[Any]) -> dict[str, Option]:
    return {f.name: Option(f.name, str(f.type), f.metadata.get("unit", ""), f.default) for f in fields(cls)}


_TABLE = (
    Algorithm("h-rage", "HRage", "variances estimated first, taken to be of the form x'Sigma x"),
    Algorithm("rage", "Rage", "one bound for all variances"),
    Algorithm("martingale", "MartingaleElimination", "needs no bounds", needs_bounds=False),
    Algorithm("static", "StaticAllocation", "one design throughout", {"design": "xy"}, adaptive=False),
    Algorithm("static-g", "StaticAllocation", "the G-optimal design throughout", {"design": "g"}, adaptive=False),
    Algorithm("oracle", "OracleAllocation", "knows the answer", adaptive=False, knows_theta=True, needs_bounds=False),
    Algorithm(
        "oracle-equal-noise",
        "OracleAllocation",
        "knows it, and takes all noise to be the largest",
        {"heteroskedastic": False},
        adaptive=False,
        knows_theta=True,
        needs_bounds=False,
    ),
)
ALGORITHMS: dict[str, Algorithm] = {line.name: line for line in _TABLE}


def algorithm_of(algorithm: Any) -> Algorithm | None:
    """The first line of the table with exactly this object's class; None where there is none."""
    return next((line for line in _TABLE if type(algorithm) is line.cls), None)
