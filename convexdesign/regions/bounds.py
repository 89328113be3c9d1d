"""The box around a polytope, proven, and a test that conditions leave something of a region."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from convexdesign.errors import InputError
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from convexdesign.regions.region import Region

__all__ = ["check_inhabited", "polytope_bounds"]


def polytope_bounds(A: Floats, b: Floats, names: Sequence[str]) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Lower and upper limits of every coordinate where A x <= b, proven from the multipliers y >= 0 of linear programs.

    With r = e - A'y, e'x = y'Ax + r'x <= y'b + |r|_1 R where R bounds all |x_i|; so R <= max(y'b) / (1 - max |r|_1).
    """
    from scipy.optimize import linprog

    q = len(names)
    tops = np.empty((2, q))
    misses = np.empty((2, q))
    for side, sign in enumerate((-1.0, 1.0)):
        for k in range(q):
            cost = np.zeros(q)
            cost[k] = -sign
            found = linprog(cost, A_ub=A, b_ub=b, bounds=[(None, None)] * q, method="highs")
            if found.status == 2:
                raise InputError("the region is empty: no x satisfies A x <= b")
            if found.status != 0:
                raise InputError(
                    f"the region is not bounded: {names[k]} may be as {'large' if sign > 0 else 'small'} as one likes"
                )
            y = [Fraction(max(float(-value), 0.0)) for value in found.ineqlin.marginals]
            rest = [
                Fraction(int(-cost[i])) - sum((Fraction(float(A[j, i])) * y[j] for j in range(len(y))), Fraction(0))
                for i in range(q)
            ]
            misses[side, k] = float(sum(abs(r) for r in rest))
            tops[side, k] = float(sum((Fraction(float(b[j])) * y[j] for j in range(len(y))), Fraction(0)))
    worst = float(misses.max())
    if not worst < 0.5:
        raise InputError("the inequalities are too ill-conditioned to bound the region; rescale the coordinates")
    radius = float(np.abs(tops).max()) / (1.0 - worst) * (1.0 + 1e-12)
    pad = misses * radius + 1e-12 * (np.abs(tops) + radius)
    lower, upper = -(tops[0] + pad[0]), tops[1] + pad[1]
    for k in range(q):
        if not lower[k] + 4 * pad.max() < upper[k]:
            raise InputError(
                f"the region is flat or empty: {names[k]} lies between {lower[k]:g} and {upper[k]:g}; leave out a factor that "
                "the others determine, or widen the limits"
            )
    return tuple(Fraction(float(x)) for x in lower), tuple(Fraction(float(x)) for x in upper)


def check_inhabited(region: Region, text: str) -> None:
    """InputError where the region is proven to be empty, or no setting of it is found."""
    from convexdesign.regions.positive import inhabitant
    from convexdesign.regions.search import inner_points

    if len(inner_points(region, 1, np.random.default_rng(0))):
        return
    found = inhabitant(region)
    if found is not None and found.proven:
        raise InputError(f"the region is empty: no setting within its limits satisfies {text}")
    if found is None:
        raise InputError(
            f"no setting was found that satisfies {text}: the region is empty, or so thin that it seems so"
        )
    at = ", ".join(f"{name} = {float(value):.10g}" for name, value in zip(region.names, found.at))
    raise InputError(f"the region is so thin that a search finds nothing in it but {at}; give {text} more room")
