"""Several problems over the same arms as one: their weighted geometric mean, or the least of their efficiencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import numeric
from convexdesign.criteria import oracle_of
from convexdesign.errors import InputError
from convexdesign.problem import DesignProblem
from convexdesign.problem.continuum import ContinuumProblem
from convexdesign.typing import Floats

__all__ = ["CompoundProblem", "make_compound"]


@dataclass(frozen=True, eq=False, repr=False)
class CompoundProblem(ContinuumProblem):
    """max over designs of sum_j a_j log Phi_j, or of min_j Phi_j / Phi_j*, Phi_j the information function of each problem.

    Parameters
    ----------
    problems : sequence of DesignProblem
        All over the same list of arms.
    weights : array of float, optional
        The a_j, of sum one; None for the least efficiency.
    """

    problems: tuple[DesignProblem, ...]
    weights: Floats | None
    names: tuple[str, ...] = field(default=())

    @property
    def is_maximin(self) -> bool:
        """Whether the least efficiency is maximised."""
        return self.weights is None

    def solved(self, **options: Any) -> Any:
        """The best design for all of them, proven; called by `solve`."""
        from convexdesign.compound.solving import solve_compound

        return solve_compound(self, **options)

    def verified(self, **options: Any) -> Any:
        """Not known."""
        raise InputError("a compound problem is solved, not verified; verify a design for each of its problems")

    def __repr__(self) -> str:
        kind = "maximin" if self.is_maximin else "compound"
        return f"CompoundProblem({kind} of {len(self.problems)}: {', '.join(dict.fromkeys(self.names))})"


def make_compound(problems: Sequence[Any], weights: ArrayLike | None, maximin: bool) -> CompoundProblem:
    """The compound problem; InputError for what does not fit together."""
    if isinstance(problems, (DesignProblem, ContinuumProblem)) or not hasattr(problems, "__iter__"):
        raise InputError("give a list of problems over the same arms")
    listed = tuple(problems)
    if not listed:
        raise InputError("the list of problems is empty; give at least one")
    first = listed[0]
    if isinstance(first, ContinuumProblem):
        return first.together(listed, np.full(len(listed), 1.0) if weights is None and not maximin else weights)  # type: ignore[no-any-return]
    for k, problem in enumerate(listed):
        if isinstance(problem, ContinuumProblem):
            raise InputError(
                f"problem {k} is over a region, the first over a list of arms; all must be over the same arms"
            )
        if not isinstance(problem, DesignProblem):
            raise InputError(f"problem {k} is of type {type(problem).__name__}; give problems over the same arms")
        check(problem, first, k)
    a = None if maximin else shares(weights, len(listed))
    return CompoundProblem(listed, a, tuple(problem.kind for problem in listed))


def check(problem: DesignProblem, first: DesignProblem, k: int) -> None:
    """The same arms and prices, and a criterion that is an information function."""
    if problem.n_arms != first.n_arms:
        raise InputError(
            f"problem {k} has {problem.n_arms} arms, the first {first.n_arms}; all must be over the same arms"
        )
    if not problem.weight_set.is_simplex:
        raise InputError(f"problem {k} has constraints on the weights, which compound designs do not take")
    if problem.responses > 1:
        raise InputError(f"problem {k} has several responses, which compound designs do not take")
    own, other = (np.ones(1) if p.costs is None else np.asarray(p.costs) for p in (problem, first))
    if not np.array_equal(np.broadcast_to(own, problem.n_arms), np.broadcast_to(other, problem.n_arms)):
        raise InputError(f"problem {k} has other costs than the first; one design has one price for each arm")
    if oracle_of(problem).information_form(problem) is None:
        raise InputError(
            f"problem {k} is {problem.kind}; compound designs take D, D_s, A, I, average variance, c, E and worst variances"
        )


def shares(weights: ArrayLike | None, n: int) -> Floats:
    """Positive weights of sum one; equal by default."""
    if weights is None:
        return np.full(n, 1.0 / n)
    a = np.atleast_1d(np.asarray(numeric(weights, "weights"), dtype=float))
    if a.shape != (n,):
        raise InputError(f"weights has the shape {a.shape}; there are {n} problems")
    bad = np.flatnonzero(~(a > 0))
    if bad.size:
        raise InputError(f"weights[{bad[0]}] is {a[bad[0]]:g}; give positive weights, or leave the problem out")
    return a / float(a.sum())
