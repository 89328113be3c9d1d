"""Designs as the algorithms use them: solved once per problem, on few arms, with the value they really have."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from convexdesign.design import Design
from convexdesign.evaluation import evaluate
from convexdesign.problem import DesignProblem, canonicalise
from convexdesign.rounding import sparsify
from convexdesign.solve import solve

__all__ = ["Allocation", "allocate", "value_on"]

Floats = NDArray[np.float64]

# A design this close to optimal costs a hundredth of a percent of the samples; validity does not depend on it.
DESIGN_TOLERANCE = 1e-4
# Arms beyond this many numbers are not kept for a next time.
REMEMBERED_ENTRIES = 200_000


@dataclass(frozen=True, eq=False)
class Allocation:
    """Proportions (n,) on few arms, `value` = max_j v_j'A(w)^+ v_j of exactly these, and the certified relative gap.

    bound: proven lower bound on the optimal value. design: what a next solve may start from.
    """

    weights: Floats
    value: float
    bound: float
    design: Design

    @property
    def gap(self) -> float:
        """How far the value is above the proven bound, relatively."""
        return self.value / self.bound - 1.0


@dataclass(frozen=True)
class _Request:
    """A problem and its warm start, equal to another when a digest of their data is."""

    digest: bytes
    problem: DesignProblem = field(compare=False)
    start: Design | None = field(compare=False)
    tol: float


def allocate(
    problem: DesignProblem, start: Design | None = None, tol: float = DESIGN_TOLERANCE, remember: bool = True
) -> Allocation:
    """Solve a minimax problem over the simplex, and thin the design to at most r(r+1)/2 + 1 arms.

    The same problem and start give the same allocation, without solving again: replications share their designs.
    The result depends on nothing else, so it is the same in every process. remember=False: it will not come again.
    """
    request = _Request(_digest(problem, start), problem, start, tol)
    small = problem.arms.n * problem.arms.d <= REMEMBERED_ENTRIES
    return _solved(request) if remember and small else _solve(request)


def value_on(problem: DesignProblem, weights: Floats) -> float:
    """max_j v_j'A(w)^+ v_j of given weights (n,) for the targets of a problem."""
    return evaluate(canonicalise(problem), weights).value


def _solve(request: _Request) -> Allocation:
    design = solve(request.problem, tol=request.tol, warm_start=request.start)
    canonical = design.canonical
    support = design.support
    weights = np.zeros(design.weights.size)
    weights[support] = sparsify(canonical.whiten_arms(support), design.weights[support])
    weights /= weights.sum()
    weights.flags.writeable = False
    return Allocation(weights, evaluate(canonical, weights).value, design.lower_bound, design)


_solved = lru_cache(maxsize=256)(_solve)


def _digest(problem: DesignProblem, start: Design | None) -> bytes:
    """A fingerprint of kind, arms, targets, noise and start."""
    h = hashlib.blake2b(problem.kind.encode(), digest_size=16)
    for name, given in sorted(problem.inputs.items()):
        values = getattr(given, "values", given)
        h.update(name.encode())
        h.update(np.ascontiguousarray(values, dtype=float).tobytes())
        h.update(repr(np.shape(values)).encode())
    if problem.noise_variance is not None:
        h.update(problem.noise_variance.tobytes())
    if start is not None:
        h.update(start.weights.tobytes())
    return h.digest()
