"""Where a minimax design stands: coordinates in which A(w) = I, and the variances of the targets.

The corrective step for the minimax problem solves, with N_i = u_i u_i' + A0 and A(w) = sum_i w_i N_i,

    min over w >= 0 of  sum_i w_i   subject to   -log f_v(w) >= 0 for every target,      f_v = t_v' A(w)^-1 t_v.

Variances are homogeneous of degree -1, so the least total weight that brings all of them below one, divided by
itself, is the optimal design on the simplex and its total is t*. Each 1/f_v is concave, hence so is -log f_v. Its
derivatives, J_vi = t_v' A^-1 N_i A^-1 t_v / f_v, satisfy sum_i w_i J_vi = 1.

A certificate comes free with multipliers mu >= 0: b_v = sqrt(mu_v / f_v) A^-1 t_v in the bound of weak duality gives

    sum_v mu_v f_v / max_i (J' mu)_i  <=  t*  <=  max_v f_v sum_i w_i.

How J and the Newton system are represented is left to dense_system and matrix_space.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from scipy.linalg.lapack import dpotrf, dtrtrs

from convexdesign.frankwolfe.symmetric import combine
from convexdesign.typing import Floats

__all__ = ["Linearisation", "Solve", "whitened"]

Solve = Callable[[Floats, Floats], tuple[Floats, Floats]]


class Linearisation(Protocol):
    """The problem around weights w, from whitened arms Y (r, n responses), targets T (r, m) and prior (r, r) or None."""

    variances: Floats

    def __init__(self, Y: Floats, T: Floats, prior: Floats | None, responses: int = 1) -> None: ...

    def pull(self, mu: Floats) -> Floats:
        """J' mu, shape (n,)."""
        ...

    def system(self, diagonal: Floats, mu: Floats, s: Floats) -> Solve | None:
        """The map (r1, r2) -> (dw, dmu) that solves, with H0 the Hessian of sum_v mu_v log f_v,

            H0 dw + diagonal * dw - J' dmu = r1,      J dw + (s / mu) dmu = r2,

        or None where rounding makes a matrix indefinite. diagonal = lambda / w (n,); mu, s (m,).
        """
        ...


def whitened(
    vectors: Floats, n: int, weights: Floats, prior: Floats | None
) -> tuple[Floats, Floats, Floats | None] | None:
    """Arms (r, n), targets (r, m) and prior where A(w) = I; vectors (r, n + m) holds n columns of arms, then targets.

    None where A(w) is numerically singular.
    """
    factor, info = dpotrf(combine(vectors[:, :n], weights, prior), lower=1)
    if info:
        return None
    image, _ = dtrtrs(factor, vectors, lower=1)
    if prior is not None:
        half, _ = dtrtrs(factor, prior, lower=1)
        prior, _ = dtrtrs(factor, half.T, lower=1)
    return image[:, :n], image[:, n:], prior
