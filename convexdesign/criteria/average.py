"""Average variance, min tr(A(w)^-1 M) for M = LL' = sum_j l_j l_j': A (M = I), I (moments of a region), L (any psd M).

Bound, for any b_j: t* >= (sum_j b_j'l_j)^2 / ( sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2) ), because
(sum_j b_j'l_j)^2 <= (sum_j l_j'A^+l_j)(sum_j b_j'Ab_j), Cauchy-Schwarz over all coordinates of all j. Each l_j must come once:
of vectors for one and the same l_j it is their sum that counts. It is tight at b_j = A^-1 l_j.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from convexdesign.arms.groups import are_groups
from convexdesign.arms.monomial import times
from convexdesign.balls import ball, ball_matrix, diagonal_products, down, midpoints, up
from convexdesign.criteria.base import CriterionOracle, Found
from convexdesign.criteria.enclosure import AS_GIVEN, EnclosedDesign, ExactProver, Proof, share
from convexdesign.criteria.evaluation import Evaluation, Inverse, Rounded, inner_product
from convexdesign.criteria.exchange import (
    OUTSIDE,
    SINGULAR,
    MatrixCriterion,
    group_swaps,
    inverse_factor,
    pair_determinants,
    span,
)
from convexdesign.criteria.formulation import Formulation
from convexdesign.criteria.information import Averaged, InformationForm
from convexdesign.criteria.program_size import program_size
from convexdesign.criteria.sensitivities import aligned, completed
from convexdesign.criteria.smooth import CorrectiveSteps
from convexdesign.criteria.swap_tables import SwapTable, TraceTable
from convexdesign.dual_certificate import DualCertificate
from convexdesign.errors import InputError
from convexdesign.problem import Canonical, Criterion, DesignProblem
from convexdesign.problem.compensated import in_two_parts
from convexdesign.problem.prior_information import UNIT
from convexdesign.typing import Floats, Indices

__all__ = ["AverageForm", "AverageOracle", "AverageVariance"]

FORM = Averaged()

# Below this condition a system may be solved for all vectors at once.
REGULAR = 1e10


# Up to this share the rounding of a root of moments is not looked at more closely.
NEGLIGIBLE = 1e-13
_ROUNDING: WeakKeyDictionary[DesignProblem, Floats] = WeakKeyDictionary()


@dataclass(frozen=True)
class AverageForm:
    """tr(A^-1 M), M = LL': q_i = z_i'Mz_i, H_ik = 2 (z_i'z_k)(z_i'Mz_k)."""

    def at(self, factor: Floats, L: Floats) -> tuple[Floats, float, float]:
        value = float(np.vdot(L, L))
        return L, value, value

    def image(self, L: Floats, Z: Floats) -> Floats:
        return np.asarray(L.T @ Z)

    def hessian(self, L: Floats, Z: Floats) -> Floats:
        image = L.T @ Z
        return np.asarray(2.0 * ((Z.T @ Z) * (image.T @ image)))

    def pair_weights(self, lengths: Floats) -> Floats | None:
        return np.asarray(lengths[:, None] + lengths)

    def saturated(self, L: Floats) -> Floats | None:
        """A is diag(w): tr(A^-1 LL') = sum_i |l_i|^2 / w_i."""
        return np.asarray(np.linalg.norm(L, axis=1))


class AverageOracle(CriterionOracle):
    """tr(A^-1 M), with the columns of L = problem.contrast_matrix."""

    criterion = Criterion.AVERAGE

    def value(self, canonical: Canonical, columns: Floats, factor: Floats) -> tuple[float, int]:
        return float(np.sum(times(factor.T, canonical.problem.contrast_matrix) ** 2)), -1

    def error_in_norms(self, canonical: Canonical, at: Evaluation, inverse: Inverse) -> float:
        return inverse.delta + 2.0 * inverse.row + inverse.row**2 + moments_error(canonical.problem, at.factor)

    def error_by_entries(self, canonical: Canonical, at: Evaluation, rounded: Rounded, in_norms: float) -> float:
        problem = canonical.problem
        return float(rounded.errors(problem.contrast_matrix.T).sum()) / at.value + moments_error(problem, at.factor)

    def dual_vectors(self, canonical: Canonical, at: Evaluation) -> tuple[Indices, Floats]:
        F = at.factor
        vectors = times(times(canonical.problem.contrast_matrix.T, F), F.T)
        return np.arange(vectors.shape[0]), vectors

    def vectors_at(self, problem: DesignProblem, A: Floats) -> Floats | None:
        return np.asarray(np.linalg.solve(A, problem.contrast_matrix).T) if np.linalg.cond(A) < REGULAR else None

    def numbered(self, problem: DesignProblem) -> int | None:
        return int(problem.contrast_matrix.shape[1])

    def joined(self, canonical: Canonical, targets: Indices, vectors: Floats) -> tuple[Indices, Floats]:
        return summed_by_target(targets, vectors, canonical.problem.contrast_matrix.shape[1])

    def bound(self, canonical: Canonical, targets: Indices, vectors: Floats, most: float) -> float:
        problem, B, g = canonical.problem, vectors, inner_product(vectors.shape[1])
        L = problem.contrast_matrix.T[targets]
        hit = abs(float(np.sum(B * L))) - (g + L.shape[0] * UNIT) * float(np.sum(np.abs(B) * np.abs(L)))
        bound = max(hit, 0.0) ** 2 / most * (1.0 - min(moments_error(problem, canonical.basis), 1.0))
        return self.outwards(bound, B.shape[0])

    def completed_vectors(self, canonical: Canonical, at: Evaluation, B: Floats, best: DualCertificate) -> Floats:
        return completed(canonical, at, B, aligned(B, best.targets, best, canonical.problem.contrast_matrix.T))

    smooth_form = AverageForm()

    def corrective_step(self, canonical: Canonical, steps: CorrectiveSteps[Found]) -> Found | None:
        return steps.average_variance()

    formulation_names = ("matrix-fractional",)

    def formulations(self, canonical: Canonical) -> Mapping[str, Formulation]:
        from convexdesign.criteria.average_program import average_variance

        contrast_matrix = canonical.contrast_matrix / np.linalg.norm(
            canonical.contrast_matrix
        )  # the unit of the variance is free
        r, k, prior, responses = canonical.rank, contrast_matrix.shape[1], canonical.prior, canonical.problem.responses
        return {
            "matrix-fractional": Formulation(
                lambda U, _, W: average_variance(U, contrast_matrix, prior, W, responses),
                lambda n, _: program_size("average", n, r, columns=k),
            )
        }

    def information_form(self, problem: DesignProblem) -> tuple[InformationForm, Floats | None] | None:
        return FORM, np.asarray(problem.contrast_matrix, dtype=float)

    def of_matrix(self, canonical: Canonical) -> MatrixCriterion:
        return AverageVariance(canonical.contrast_matrix @ canonical.contrast_matrix.T)

    def enclosure(self, prover: ExactProver, design: EnclosedDesign) -> Proof:
        moments = prover.moments(design)
        if moments is None:
            return Proof(np.inf, np.inf, 0.0, 0.0)
        value = (design.inverse * moments.on(design.dependence)).trace()
        bound = max(_exact_bound(prover, moments, vectors) for vectors in _exact_vectors(prover, moments, design))
        about = AS_GIVEN
        if moments.rounded_by:
            about += (
                f", but M, which is rounded: for a semidefinite matrix {moments.rounded_by:.1e} from it (relative to its "
                "diagonal) and in the span of what is measured"
            )
        return Proof(down(value), up(value), bound, share(ball(bound), value), about=about)


def _exact_vectors(prover: ExactProver, moments: Any, design: EnclosedDesign) -> list[Floats]:
    """Vectors that may prove a good bound: the dual certificate's, and those of the design itself."""
    contrast_matrix = prover.canonical.problem.contrast_matrix
    out = [moments.vectors(contrast_matrix, prover.targets, prover.scaled_vectors)] if prover.targets.size else []
    columns = midpoints(moments.factor)
    if design.dependence is None:
        out.append((design.F @ (design.F.T @ columns)).T)
    return out or [columns.T]


def _exact_bound(prover: ExactProver, moments: Any, vectors: Floats) -> float:
    size = float(np.abs(vectors).max(initial=0.0))
    if not (size > 0 and np.isfinite(size)):
        return 0.0
    vectors = np.ldexp(vectors, -int(np.frexp(size)[1]))
    hits = sum(diagonal_products(ball_matrix(vectors), moments.factor.transpose()), ball(0.0))
    return max(down(hits * hits / prover.most(vectors)), 0.0)


def summed_by_target(targets: Indices, vectors: Floats, count: int) -> tuple[Indices, Floats]:
    """The targets (each below count), each once, and for each the sum of its vectors."""
    if targets.size and not 0 <= targets.min() <= targets.max() < count:
        raise InputError(
            f"a dual certificate names target {targets.min()} or {targets.max()}; there are 0 .. {count - 1}"
        )
    once, place = np.unique(targets, return_inverse=True)
    if once.size == targets.size:
        return targets, vectors
    sums = np.zeros((once.size, vectors.shape[1]))
    np.add.at(sums, place, vectors)
    return once, sums


def moments_error(problem: DesignProblem, factor: Floats) -> float:
    """The share of |F'L|^2 that the rounding of L, M = LL', may amount to: for roots that had to be computed."""
    whole = float(np.linalg.norm(times(factor.T, problem.contrast_matrix)))
    if problem.stated.region is not None:
        size = np.linalg.norm(problem.contrast_matrix, axis=1)
        return 32 * inner_product(len(size)) * float(np.linalg.norm(np.abs(factor).T @ size)) / whole
    if problem.moments is not None:
        # |tr F'EF| <= sum_ij |E_ij| (|F||F|')_ij for E = M - LL' and the rounding of M.
        L, seen = problem.contrast_matrix, times(np.abs(factor), np.abs(factor).T)
        share = float(np.vdot(_rounding_of_moments(problem), seen)) / whole**2
        if share > NEGLIGIBLE:
            # With twice the digits, which takes long in many dimensions.
            high, low = in_two_parts(L, np.ascontiguousarray(L.T))
            E = np.abs((problem.moments - high) - low) + 2 * UNIT * np.abs(problem.moments)
            share = min(share, float(np.vdot(E, seen)) / whole**2)
        return share
    return 0.0


def _rounding_of_moments(problem: DesignProblem) -> Floats:
    """Above |M - LL'| and the rounding of M, entry by entry; remembered, as every certificate of the problem asks."""
    E = _ROUNDING.get(problem)
    if E is None:
        assert problem.moments is not None
        L, size = problem.contrast_matrix, np.abs(problem.moments)
        E = np.abs(problem.moments - times(L, L.T)) + 2 * UNIT * size
        E += inner_product(int(np.count_nonzero(L, axis=1).max(initial=0))) * times(np.abs(L), np.abs(L).T)
        _ROUNDING[problem] = E
    return E


@dataclass(frozen=True)
class AverageVariance(MatrixCriterion):
    """phi(M) = tr(M^-1 Q) for a psd Q.

    Parameters
    ----------
    Q : array of shape (r, r)
        The second moments of what is estimated.
    """

    Q: Floats

    def value(self, M: Floats) -> float:
        F = inverse_factor(M)
        return np.inf if F is None else float(np.sum(F * (self.Q @ F)))

    def cuts(self, F: Floats, k: int) -> Floats:
        C = F @ F.T
        CQ = C @ self.Q
        G: Floats = (CQ @ C / np.trace(CQ) ** 2)[None]
        return G

    def swaps(self, F: Floats, out: Floats, into: Floats) -> Floats:
        if are_groups(out):
            Q = F.T @ self.Q @ F
            return group_swaps(F, out, into, lambda C: np.einsum("prs,rs->p", C, Q))
        C = F @ F.T
        E = C @ self.Q @ C
        K_out, K_into = (np.einsum("ir,rs,is->i", A, C, A, optimize=True) for A in (out, into))
        E_out, E_into = (np.einsum("ir,rs,is->i", A, E, A, optimize=True) for A in (out, into))
        K, EK = out @ C @ into.T, out @ E @ into.T
        det = pair_determinants(K_out, K_into, K)
        safe = np.where(det > SINGULAR, det, 1.0)
        change = (E_out[:, None] * (1.0 + K_into) - (1.0 - K_out)[:, None] * E_into - 2.0 * K * EK) / safe
        return np.where(det > SINGULAR, np.sum(C * self.Q) + change, np.inf)

    def swap_table(self, arms: Floats, M: Floats, F: Floats) -> SwapTable:
        return super().swap_table(arms, M, F) if are_groups(arms) else TraceTable(arms, F, self.Q)

    def projected(self, Q: Floats) -> AverageVariance | None:
        inside = Q.T @ self.Q @ Q
        return AverageVariance(inside) if np.trace(self.Q) - np.trace(inside) <= OUTSIDE * np.trace(self.Q) else None

    def wanted(self, N: Floats) -> Floats:
        lam, axes = np.linalg.eigh(self.Q)
        return span((N.T @ (axes * np.sqrt(np.maximum(lam, 0.0)))).T, float(np.sqrt(lam[-1])))
