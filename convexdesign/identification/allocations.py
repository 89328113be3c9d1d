"""Designs as the algorithms use them: solved once per problem, on few arms, with the value they really have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from convexdesign.arms.groups import grouped
from convexdesign.design import Design
from convexdesign.digest import array_digest
from convexdesign.evaluation import evaluate
from convexdesign.problem import DesignProblem, canonicalise
from convexdesign.rounding import sparsify
from convexdesign.solving import solve
from convexdesign.typing import Floats

__all__ = ["Allocation", "DesignSolver", "allocate", "packed", "thinned", "unpacked", "value_on"]


# A design this close to optimal costs a hundredth of a percent of the samples; validity does not depend on it.
DESIGN_TOLERANCE = 1e-4
# Arms beyond this many numbers are not kept for a next time.
REMEMBERED_ENTRIES = 200_000


@dataclass(frozen=True, eq=False)
class Allocation:
    """Proportions (n,) on few arms, `value` = max_j v_j'A(w)^+ v_j of exactly these, and the certified relative gap.

    bound: proven lower bound on the optimal value.
    """

    weights: Floats
    value: float
    bound: float

    @property
    def gap(self) -> float:
        """How far the value is above the proven bound, relatively."""
        return self.value / self.bound - 1.0

    def record(self) -> dict[str, Any]:
        """The allocation as plain data."""
        return {"weights": packed(self.weights), "value": self.value, "bound": self.bound}

    @classmethod
    def from_record(cls, record: Mapping[str, Any] | None, n: int) -> Allocation | None:
        """The allocation over n arms that `record` gave, bit for bit; None for None."""
        return (
            None
            if record is None
            else cls(unpacked(record["weights"], n), float(record["value"]), float(record["bound"]))
        )


class DesignSolver(Protocol):
    """Whatever solves designs for an algorithm: `allocate`, or a function with its contract."""

    def __call__(self, problem: DesignProblem, tol: float = ..., remember: bool = True) -> Allocation: ...


@dataclass(frozen=True)
class _Request:
    """A problem, equal to another when a digest of their data is."""

    digest: str
    problem: DesignProblem = field(compare=False)
    tol: float


def allocate(problem: DesignProblem, tol: float = DESIGN_TOLERANCE, remember: bool = True) -> Allocation:
    """Solve a minimax problem over the simplex, and thin the design to at most r(r+1)/2 + 1 arms.

    The same problem gives the same allocation, without solving again: replications share their designs.
    The result depends on nothing else, so it is the same in every process. remember=False: it will not come again.
    """
    small = problem.arms.n * problem.arms.d <= REMEMBERED_ENTRIES
    if remember and small:
        return _solved(_Request(_digest(problem), problem, tol))
    return thinned(solve(problem, tol=tol))


def value_on(problem: DesignProblem, weights: Floats) -> float:
    """max_j v_j'A(w)^+ v_j of given weights (n,) for the targets of a problem."""
    return evaluate(canonicalise(problem), weights).value


def packed(weights: Floats) -> dict[str, list[Any]]:
    """Weights (n,) as plain data: the arms with any, and their numbers to the last bit."""
    arms = np.flatnonzero(weights != 0)
    return {"arms": arms.tolist(), "weights": weights[arms].tolist()}


def unpacked(record: Mapping[str, Any], n: int) -> Floats:
    """The weights (n,) that `packed` gave."""
    weights = np.zeros(n)
    weights[np.asarray(record["arms"], dtype=np.intp)] = record["weights"]
    weights.flags.writeable = False
    return weights


def thinned(design: Design) -> Allocation:
    """A design on at most r(r+1)/2 + 1 arms, with the value that these weights really have."""
    canonical = design.canonical
    support, r = design.support, canonical.rank
    if support.size <= r * (r + 1) // 2 + 1:
        return Allocation(design.weights, design.value, design.lower_bound)
    weights = np.zeros(design.weights.size)
    weights[support] = sparsify(
        grouped(canonical.whiten_arms(support), canonical.problem.responses), design.weights[support]
    )
    weights /= weights.sum()
    weights.flags.writeable = False
    return Allocation(weights, evaluate(canonical, weights).value, design.lower_bound)


@lru_cache(maxsize=256)
def _solved(request: _Request) -> Allocation:
    return thinned(solve(request.problem, tol=request.tol))


def _digest(problem: DesignProblem) -> str:
    """A fingerprint of kind, arms, targets and noise."""
    given = {name: getattr(value, "values", value) for name, value in problem.stated.arguments().items()}
    if problem.noise_variance is not None:
        given["noise_variance"] = problem.noise_variance
    return " ".join([problem.kind, *(f"{name} {array_digest(given[name], short=True)}" for name in sorted(given))])
