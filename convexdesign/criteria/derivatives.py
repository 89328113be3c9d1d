"""Directional derivatives of the criterion: what a small share of effort does elsewhere, taken from all arms alike.

With w(a) = (1 - a) w + a z the information is A(w(a)) = A - a (A - A0) + a M, M = sum_i z_i y_i y_i'. Every criterion is made
of parts with vectors B = [b_1 ... b_k], and at a = 0 a part changes by g - h times its sign, where

    g = sum_i z_i |B'y_i|^2,   h = tr B'(A - A0)B;    at the optimum g <= h for every arm (the equivalence theorem).

- minimax:  one part for each worst target, B = C v_j, C = A^-1; the derivative is the largest h_j - g_j (Danskin);
- average:  B = CL, M = LL'; derivative h - g;       D:  B = C^(1/2);  D_s:  B = CK(K'CK)^(-1/2); derivative g - h;
- E:        B = U, the eigenvectors of the least eigenvalue; derivative lambda_min(U'(M - A + A0)U).

Where A is singular, B is unique only up to the null space of A, and g is the least over all of these: observations outside
the range of A tell nothing about what lies in it, unless they do so together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.groups import repeat_per_response, squared_norms
from convexdesign.arms.source import per_arm
from convexdesign.criteria.evaluation import OUTSIDE_TOLERANCE, Evaluation
from convexdesign.criteria.matrix_game import MixedStrategies
from convexdesign.problem import Canonical
from convexdesign.typing import Floats, Indices

__all__ = ["TIE", "Derivatives", "outside_range"]


# Targets (and eigenvalues) within this share of the worst count as equal to it.
TIE = 1e-6


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The derivatives of a criterion at weights that measure what is wanted (`at` is their evaluation); here of a smooth one.

    dual: the vectors B (d, k) that the design itself suggests, as columns.
    """

    canonical: Canonical
    at: Evaluation
    dual: Floats

    @cached_property
    def tied(self) -> Indices:
        """The targets that decide a minimax value, worst first; empty for other criteria."""
        return np.empty(0, dtype=np.intp)

    @cached_property
    def vectors(self) -> Floats:
        """Columns (d, k): C v_j for each tied target (minimax), or the one part's B."""
        return self.dual

    @property
    def parts(self) -> int:
        """How many parts decide: tied targets, or the multiplicity of the least eigenvalue; one for smooth criteria."""
        return 1

    @cached_property
    def held(self) -> Floats:
        """B'A0B, (k, k)."""
        B, prior = self.vectors, self.canonical.problem.prior
        return np.zeros((B.shape[1], B.shape[1])) if prior is None else np.asarray(B.T @ prior @ B)

    @cached_property
    def levels(self) -> Floats:
        """h_j of each tied target (k,), or h of the one part (1,); not for E."""
        logarithmic = self.canonical.problem.criterion.logarithmic
        return np.array([(float(self.vectors.shape[1]) if logarithmic else self.at.value) - np.trace(self.held)])

    def mixture(self) -> MixedStrategies | None:
        """The mix of arms with the steepest descent, where several parts decide and one arm alone may not help them all."""
        return None

    def toward_each_arm(self) -> Floats:
        """The derivative towards each single arm, (n,), in one pass over the arms."""
        problem = self.canonical.problem
        out = per_arm(problem.arms, self._change_of_rows())
        if self.at.null.shape[1]:
            lost = np.flatnonzero(outside_range(self.canonical, self.at))
            out[lost] = self._partly_outside(lost) if problem.responses > 1 else self.levels.max()
        return -out if problem.criterion.maximised else out

    def toward(self, z: Floats) -> float:
        """The derivative towards the weights z (n,)."""
        rows = self._rows(z)
        image = rows @ self.vectors
        if self.at.null.shape[1]:
            outside = rows @ self.at.null
            size = np.linalg.norm(rows @ self.canonical.basis, axis=1)
            outside[np.linalg.norm(outside, axis=1) <= OUTSIDE_TOLERANCE * size] = 0.0  # rounding, not a direction
            image = image - outside @ np.linalg.lstsq(outside, image, rcond=1e-12)[0]
        change = float(self._change(np.einsum("ij,ij->j", image, image)[None])[0])
        return -change if self.canonical.problem.criterion.maximised else change

    def _rows(self, z: Floats) -> Floats:
        """The rows sqrt(z_i) y_i of the arms with weight."""
        support = np.flatnonzero(z != 0)
        arms = self.canonical.problem.arms.take(support)
        return np.asarray(np.sqrt(repeat_per_response(z[support], arms))[:, None] * arms)

    def _partly_outside(self, index: Indices) -> Floats:
        """h - g for arms with several responses not all of which lie in the range of A: combinations of them may."""
        arms = self.canonical.problem.arms
        groups = arms.take(index).reshape(index.size, arms.responses, arms.d)
        outside = groups @ self.at.null
        image = groups @ self.vectors
        image = image - outside @ (np.linalg.pinv(outside, rcond=OUTSIDE_TOLERANCE) @ image)
        return self._change((image**2).sum(axis=1))

    def _change(self, gains: Floats) -> Floats:
        """h - g from the squares (n, k) that every vector gains."""
        return np.asarray(self.levels[0] - gains.sum(axis=1))

    def _change_of_rows(self) -> Callable[[Floats], Floats]:
        """h - g for each row of a block of arms."""
        return partial(_change, vectors=self.vectors, levels=self.levels, responses=self.canonical.problem.responses)


def outside_range(canonical: Canonical, at: Evaluation) -> NDArray[np.bool_]:
    """Which arms (n,) have a component outside the range of A(w)."""
    arms = canonical.problem.arms
    if at.null.shape[1] == 0:
        return np.zeros(arms.n, dtype=bool)
    return arms.quadratic(at.null) > OUTSIDE_TOLERANCE**2 * arms.quadratic(canonical.basis)


def _change(rows: Floats, vectors: Floats, levels: Floats, responses: int) -> Floats:
    """h - g for each row, of the one part that all vectors make."""
    return np.asarray(levels[0] - squared_norms(rows @ vectors, responses))
