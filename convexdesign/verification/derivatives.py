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

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.groups import repeat_per_response, squared_norms, squared_projections
from convexdesign.arms.source import per_arm
from convexdesign.certificate import dimension, own_witness
from convexdesign.evaluation import OUTSIDE_TOLERANCE, Evaluation
from convexdesign.problem import Canonical, Criterion
from convexdesign.typing import Floats, Indices

__all__ = ["TIE", "Derivatives", "least_eigenvectors", "outside_range"]


# Targets (and eigenvalues) within this share of the worst count as equal to it, but no more of them than MOST_TIES.
TIE = 1e-6
MOST_TIES = 4096


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The derivatives of the criterion at weights that measure what is wanted (`at` is their evaluation)."""

    canonical: Canonical
    at: Evaluation

    @cached_property
    def tied(self) -> Indices:
        """The targets that decide a minimax value, worst first; empty for other criteria."""
        if self.canonical.problem.criterion is not Criterion.MINIMAX:
            return np.empty(0, dtype=np.intp)
        k = 8
        while True:
            index, values = self.canonical.problem.targets.worst(self.at.factor, k)
            deciding = values >= (1.0 - TIE) * values[0]
            if not deciding.all() or index.size < k or k >= MOST_TIES:
                return index[deciding]
            k *= 4

    @cached_property
    def vectors(self) -> Floats:
        """Columns (d, k): C v_j for each tied target (minimax), or the one part's B."""
        problem, F = self.canonical.problem, self.at.factor
        match problem.criterion:
            case Criterion.MINIMAX:
                return F @ (F.T @ problem.targets.take(self.tied).T)
            case Criterion.E:
                return least_eigenvectors(self.canonical, self.at)
            case _:
                return own_witness(self.canonical, self.at).within(self.canonical).T

    @property
    def parts(self) -> int:
        """How many parts decide: tied targets, or the multiplicity of the least eigenvalue; one for smooth criteria."""
        criterion = self.canonical.problem.criterion
        return int(self.vectors.shape[1]) if criterion in (Criterion.MINIMAX, Criterion.E) else 1

    @cached_property
    def held(self) -> Floats:
        """B'A0B, (k, k)."""
        B, prior = self.vectors, self.canonical.problem.prior
        return np.zeros((B.shape[1], B.shape[1])) if prior is None else np.asarray(B.T @ prior @ B)

    @cached_property
    def levels(self) -> Floats:
        """h_j of each tied target (k,), or h of the one part (1,); not for E."""
        problem = self.canonical.problem
        if problem.criterion is Criterion.MINIMAX:
            image = problem.targets.take(self.tied) @ self.at.factor
            return np.asarray(np.einsum("ij,ij->i", image, image) - np.diag(self.held))
        total = self.at.value if problem.criterion is Criterion.AVERAGE else float(dimension(self.canonical))
        return np.array([total - np.trace(self.held)])

    def toward_each_arm(self) -> Floats:
        """The derivative towards each single arm, (n,), in one pass over the arms."""
        problem = self.canonical.problem
        if problem.criterion is Criterion.E:
            base = self.at.value * np.eye(self.held.shape[0]) - self.held
            return per_arm(
                problem.arms, partial(_least_change, vectors=self.vectors, base=base, responses=problem.responses)
            )
        change = _largest_change if problem.criterion is Criterion.MINIMAX else _change
        out = per_arm(
            problem.arms, partial(change, vectors=self.vectors, levels=self.levels, responses=problem.responses)
        )
        if self.at.null.shape[1]:
            lost = np.flatnonzero(outside_range(self.canonical, self.at))
            out[lost] = self._partly_outside(lost) if problem.responses > 1 else self.levels.max()
        return -out if problem.criterion.maximised else out

    def _partly_outside(self, index: Indices) -> Floats:
        """h - g for arms with several responses not all of which lie in the range of A: combinations of them may."""
        arms = self.canonical.problem.arms
        groups = arms.take(index).reshape(index.size, arms.responses, arms.d)
        outside = groups @ self.at.null
        image = groups @ self.vectors
        image = image - outside @ (np.linalg.pinv(outside, rcond=OUTSIDE_TOLERANCE) @ image)
        gains = (image**2).sum(axis=1)
        if self.canonical.problem.criterion is Criterion.MINIMAX:
            return np.asarray((self.levels - gains).max(axis=1))
        return np.asarray(self.levels[0] - gains.sum(axis=1))

    def toward(self, z: Floats) -> float:
        """The derivative towards the weights z (n,)."""
        problem = self.canonical.problem
        support = np.flatnonzero(z)
        arms = problem.arms.take(support)
        rows = np.sqrt(repeat_per_response(z[support], arms))[:, None] * arms
        image = rows @ self.vectors
        if problem.criterion is Criterion.E:
            change = image.T @ image - self.at.value * np.eye(image.shape[1]) + self.held
            return float(np.linalg.eigvalsh(change)[0])
        if self.at.null.shape[1]:
            outside = rows @ self.at.null
            size = np.linalg.norm(rows @ self.canonical.basis, axis=1)
            outside[np.linalg.norm(outside, axis=1) <= OUTSIDE_TOLERANCE * size] = 0.0  # rounding, not a direction
            image = image - outside @ np.linalg.lstsq(outside, image, rcond=1e-12)[0]
        gains = np.einsum("ij,ij->j", image, image)
        if problem.criterion is Criterion.MINIMAX:
            return float((self.levels - gains).max())
        rise = float(gains.sum() - self.levels[0])
        return rise if problem.criterion.maximised else -rise


def least_eigenvectors(canonical: Canonical, at: Evaluation) -> Floats:
    """Eigenvectors (d, k) of the least eigenvalue of A(w), orthonormal as given, with multiplicity k up to TIE."""
    aim = canonical.problem.aim
    if at.null.shape[1]:
        return np.asarray(at.null @ np.linalg.inv(np.linalg.qr(aim.T @ at.null, mode="r")))
    _, size, right = np.linalg.svd(aim.T @ at.factor, full_matrices=False)
    least = size**2 >= (1.0 - TIE) * size[0] ** 2
    return np.asarray(at.factor @ (right[least].T / size[least]))


def outside_range(canonical: Canonical, at: Evaluation) -> NDArray[np.bool_]:
    """Which arms (n,) have a component outside the range of A(w)."""
    arms = canonical.problem.arms
    if at.null.shape[1] == 0:
        return np.zeros(arms.n, dtype=bool)
    return arms.quadratic(at.null) > OUTSIDE_TOLERANCE**2 * arms.quadratic(canonical.basis)


def _change(rows: Floats, vectors: Floats, levels: Floats, responses: int) -> Floats:
    """h - g for each row, of the one part that all vectors make."""
    return np.asarray(levels[0] - squared_norms(rows @ vectors, responses))


def _largest_change(rows: Floats, vectors: Floats, levels: Floats, responses: int) -> Floats:
    """The largest h_j - g_j for each row, of parts of one vector each."""
    return np.asarray((levels - squared_projections(rows, vectors, responses)).max(axis=1))


def _least_change(rows: Floats, vectors: Floats, base: Floats, responses: int) -> Floats:
    """lambda_min(pp' - base) for each row, p its image; of several responses the sum of their pp'."""
    image = (rows @ vectors).reshape(-1, responses, vectors.shape[1])
    squared = image.transpose(0, 2, 1) @ image
    return np.asarray(np.linalg.eigvalsh(squared - base)[:, 0])
