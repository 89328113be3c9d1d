"""The least eigenvalue, max lambda_min(A(w)): E-optimality, the worst variance over all combinations of length one.

Bound, for any b_j: lambda_min(A*) <= sum_j b_j'A*b_j / sum_j |b_j|^2, whose numerator is at most
sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2); lengths in the coordinates as given: |L'b|, L the
contrast matrix, the identity there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from convexdesign.arms.source import per_arm
from convexdesign.balls import ball, ball_matrix, midpoints, up
from convexdesign.criteria.base import CriterionOracle
from convexdesign.criteria.derivatives import TIE, Derivatives
from convexdesign.criteria.enclosure import EnclosedDesign, ExactProver, Proof, is_positive_definite, quotient, share
from convexdesign.criteria.evaluation import Evaluation, Inverse, inner_product
from convexdesign.criteria.exchange import MatrixCriterion
from convexdesign.criteria.formulation import Formulation
from convexdesign.criteria.information import Eigenvalue, InformationForm
from convexdesign.criteria.program_size import program_size
from convexdesign.criteria.sensitivities import Sensitivities
from convexdesign.criteria.worst_target import Minimax, SphereTargets
from convexdesign.dual_certificate import DualCertificate
from convexdesign.problem import Canonical, Criterion, DesignProblem
from convexdesign.typing import Floats, Indices

__all__ = ["LeastEigenvalueOracle"]

FORM = Eigenvalue()


class LeastEigenvalueOracle(CriterionOracle):
    """lambda_min(A)."""

    criterion = Criterion.E

    def value(self, canonical: Canonical, columns: Floats, factor: Floats) -> tuple[float, int]:
        return float(np.linalg.norm(factor.T @ canonical.problem.contrast_matrix, 2) ** -2), -1

    def error_in_norms(self, canonical: Canonical, at: Evaluation, inverse: Inverse) -> float:
        return float(inverse.delta + 4.0 * inverse.row * np.sqrt(at.factor.shape[1]))

    def dual_vectors(self, canonical: Canonical, at: Evaluation) -> tuple[Indices, Floats]:
        F = at.factor
        _, size, right = np.linalg.svd(canonical.problem.contrast_matrix.T @ F, full_matrices=False)
        return np.arange(1), (F @ right[:1].T / size[0]).T

    def bound(self, canonical: Canonical, targets: Indices, vectors: Floats, most: float) -> float:
        L, g = canonical.problem.contrast_matrix, inner_product(vectors.shape[1])
        hits = np.abs(vectors @ L) - g * (np.abs(vectors) @ np.abs(L))
        total = float(np.sum(np.maximum(hits, 0.0) ** 2))
        return self.outwards(most / total if total > 0 else np.inf, vectors.shape[0])

    def derivatives(self, canonical: Canonical, at: Evaluation) -> Derivatives:
        return LeastEigenvectors(canonical, at, np.empty((0, 0)))

    def sensitivities(self, canonical: Canonical, at: Evaluation, best: DualCertificate | None) -> Sensitivities:
        problem = canonical.problem
        U = self.derivatives(canonical, at).vectors
        mixes = [U[:, :1]]
        if best is not None:
            B = best.vectors.T
            mixes += [U @ ((problem.contrast_matrix.T @ U).T @ (problem.contrast_matrix.T @ B)), B]
        found = []
        for mix in mixes:
            size = float(np.linalg.norm(problem.contrast_matrix.T @ mix))
            if size > 0:
                W = mix / size
                held = 0.0 if problem.prior is None else float(np.einsum("ik,ij,jk->", W, problem.prior, W))
                found.append(Sensitivities(problem.arms.quadratic(np.ascontiguousarray(W)), at.value - held))
        return min(found, key=lambda s: float(s.values.max()) - s.bound)

    def worst_combinations(self, canonical: Canonical, at: Evaluation, k: int) -> tuple[Floats, Floats] | None:
        null, factor = np.linalg.qr(canonical.outward(at.null))[0], canonical.outward(at.factor)
        # Any inverse on the range becomes the Moore-Penrose one between projections onto it.
        left, size, _ = np.linalg.svd(factor - null @ (null.T @ factor), full_matrices=False)
        return np.hstack([null, left]).T[:k], np.append(np.full(null.shape[1], np.inf), size**2)[:k]

    formulation_names = ("sdp",)

    def formulations(self, canonical: Canonical) -> Mapping[str, Formulation]:
        from convexdesign.criteria.least_eigenvalue_program import least_eigenvalue

        metric = canonical.contrast_matrix @ canonical.contrast_matrix.T
        metric /= np.linalg.norm(metric, 2)  # the unit of lambda is free, and solvers want it near one
        r, prior, k = canonical.rank, canonical.prior, canonical.problem.responses
        return {
            "sdp": Formulation(
                lambda U, _, W: least_eigenvalue(U, metric, prior, W, k), lambda n, _: program_size("least", n, r)
            )
        }

    def information_form(self, problem: DesignProblem) -> tuple[InformationForm, Floats | None] | None:
        return FORM, np.asarray(problem.contrast_matrix)

    def of_matrix(self, canonical: Canonical) -> MatrixCriterion:
        return Minimax(SphereTargets(canonical.contrast_matrix))

    def enclosure(self, prover: ExactProver, design: EnclosedDesign) -> Proof:
        """lambda_min(A) >= lam by elimination on A - lam I; lambda_min(A) <= v'Av / v'v and v'v / v'A^-1v for any v."""
        vectors = prover.scaled_vectors
        length = sum((x * x for row in ball_matrix(vectors).tolist() for x in row), ball(0.0))
        bound = prover.most(vectors) / length
        if design.dependence is not None:
            return Proof(0.0, 0.0, up(bound), 0.0)
        values, Q = np.linalg.eigh(midpoints(design.A))
        flat, R = np.linalg.eigh(midpoints(design.inverse))
        # 1 / lambda_max(A^-1): its eigenvector is known to more digits than that of a small eigenvalue.
        high = min(up(quotient(design.A, Q[:, 0])), up(1 / quotient(design.inverse, R[:, -1])))
        trials = [values[0] - k * values[-1] for k in (1e-15, 1e-13, 1e-11, 1e-9, 1e-6)]
        trials += [(1.0 - k) / flat[-1] for k in (1e-15, 1e-13, 1e-11, 1e-9, 1e-6)]
        low = 0.0
        for trial in sorted((float(t) for t in trials if t > 0), reverse=True):
            if is_positive_definite(design.A, trial):
                low = trial
                break
        return Proof(low, high, up(bound), share(ball(low), bound))


@dataclass(frozen=True, eq=False)
class LeastEigenvectors(Derivatives):
    """B = U, the eigenvectors of the least eigenvalue; the derivative is lambda_min(U'(M - A + A0)U)."""

    @cached_property
    def vectors(self) -> Floats:
        """Eigenvectors (d, k), orthonormal as given, with multiplicity k up to TIE."""
        contrast_matrix, at = self.canonical.problem.contrast_matrix, self.at
        if at.null.shape[1]:
            return np.asarray(at.null @ np.linalg.inv(np.linalg.qr(contrast_matrix.T @ at.null, mode="r")))
        _, size, right = np.linalg.svd(contrast_matrix.T @ at.factor, full_matrices=False)
        least = size**2 >= (1.0 - TIE) * size[0] ** 2
        return np.asarray(at.factor @ (right[least].T / size[least]))

    @property
    def parts(self) -> int:
        return int(self.vectors.shape[1])

    def toward_each_arm(self) -> Floats:
        base = self.at.value * np.eye(self.held.shape[0]) - self.held
        arms = self.canonical.problem.arms
        return per_arm(arms, partial(_least_change, vectors=self.vectors, base=base, responses=arms.responses))

    def toward(self, z: Floats) -> float:
        image = self._rows(z) @ self.vectors
        change = image.T @ image - self.at.value * np.eye(image.shape[1]) + self.held
        return float(np.linalg.eigvalsh(change)[0])


def _least_change(rows: Floats, vectors: Floats, base: Floats, responses: int) -> Floats:
    """lambda_min(pp' - base) for each row, p its image; of several responses the sum of their pp'."""
    image = (rows @ vectors).reshape(-1, responses, vectors.shape[1])
    squared = image.transpose(0, 2, 1) @ image
    return np.asarray(np.linalg.eigvalsh(squared - base)[:, 0])
