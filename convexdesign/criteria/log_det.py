"""log det of the information: max log det A(w) (D), and of that about K'theta, A_s = (K'A^-K)^-1 (D_s).

Bound for D_s, K (d, s): any H = [b_1 ... b_s] with K'H invertible has L = H(K'H)^-1 with L'K = I, so that A_s* <= L'A*L
(Gauss-Markov: L'A theta-hat is one unbiased estimate of K'theta among others), and because the geometric mean of eigenvalues is
at most their mean,

    log det A_s* <= log det(H'A*H) - 2 log|det K'H| <= s log( tr(H'A*H) / s ) - 2 log|det K'H|,

with tr(H'A*H) <= sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2). Tight at H = CK(K'CK)^(-1/2), C = A^-1. D is D_s for K an
orthonormal basis of the range of the arms (s = rank), tight at HH' = A^-1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.arms.groups import are_groups
from convexdesign.balls import ball, ball_matrix, down, midpoints, up
from convexdesign.criteria.base import CriterionOracle, Found
from convexdesign.criteria.enclosure import EnclosedDesign, ExactProver, Proof
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
from convexdesign.criteria.information import Determinant, InformationForm, Interest
from convexdesign.criteria.program_size import program_size
from convexdesign.criteria.sensitivities import completed
from convexdesign.criteria.side_by_side import determinants_side_by_side
from convexdesign.criteria.smooth import CorrectiveSteps
from convexdesign.criteria.swap_tables import DeterminantTable, SwapTable
from convexdesign.dual_certificate import DualCertificate
from convexdesign.problem import Canonical, Criterion, DesignProblem
from convexdesign.problem.coordinates import amplification
from convexdesign.problem.prior_information import UNIT
from convexdesign.typing import Floats, Indices

__all__ = ["InterestForm", "InterestOracle", "LogDetForm", "LogDetOracle", "Volume"]

# A change of log det beyond this says nothing any more.
HOPELESS = 0.1
DETERMINANT, INTEREST = Determinant(), Interest()


@dataclass(frozen=True)
class LogDetForm:
    """-log det A: q_i = |z_i|^2, H_ik = (z_i'z_k)^2."""

    def at(self, factor: Floats, L: Floats) -> tuple[Floats, float, float]:
        return L, -2.0 * float(np.log(factor.diagonal()).sum()), float(len(factor))

    def image(self, L: Floats, Z: Floats) -> Floats:
        return Z

    def hessian(self, L: Floats, Z: Floats) -> Floats:
        products = Z.T @ Z
        return np.asarray(products * products)

    def pair_weights(self, lengths: Floats) -> Floats | None:
        return None

    def saturated(self, L: Floats) -> Floats | None:
        """sum_i log w_i is largest, within bounds, where sum_i 1 / w_i is least: every w_i is one number, clipped."""
        return np.ones(len(L))


@dataclass(frozen=True)
class InterestForm:
    """log det K'A^-1K, P the projector on the range of K: q_i = z_i'Pz_i, H_ik = 2 (z_i'z_k)(z_i'Pz_k) - (z_i'Pz_k)^2."""

    def at(self, factor: Floats, L: Floats) -> tuple[Floats, float, float]:
        L, triangle = np.linalg.qr(L)
        return L, 2.0 * float(np.log(np.abs(triangle.diagonal())).sum()), float(L.shape[1])

    def image(self, L: Floats, Z: Floats) -> Floats:
        return np.asarray(L.T @ Z)

    def hessian(self, L: Floats, Z: Floats) -> Floats:
        products, image = Z.T @ Z, L.T @ Z
        aimed = image.T @ image
        return np.asarray((2.0 * products - aimed) * aimed)

    def pair_weights(self, lengths: Floats) -> Floats | None:
        return np.maximum(lengths[:, None] + lengths - lengths[:, None] * lengths, 0.0)

    def saturated(self, L: Floats) -> Floats | None:
        return None


class _LogDeterminant(CriterionOracle):
    """What D and D_s have in common: the bound."""

    @abstractmethod
    def _overlap(self, canonical: Canonical, B: Floats) -> tuple[Floats, Floats, float]:
        """B K (s, s), what its rounding is a small multiple of, and log det of the coordinates that K is taken in."""

    def bound(self, canonical: Canonical, targets: Indices, vectors: Floats, most: float) -> float:
        dim, B = self.dimension(canonical), vectors
        if B.shape[0] != dim:
            return np.inf
        hits, off, volume = self._overlap(canonical, B)
        sign, logarithm = np.linalg.slogdet(hits)
        if not sign:
            return np.inf
        # d log|det H| = tr H^-1 dH, and what elimination rounds is of the size of |H| at most.
        off = inner_product(B.shape[1] + dim) * (off + dim * np.abs(hits))
        change = float(np.sum(np.abs(np.linalg.inv(hits)) * off.T))
        total = float(dim * np.log(most / dim) - 2.0 * logarithm + volume)
        size_of_terms = dim * abs(np.log(most / dim)) + 2.0 * abs(logarithm) + abs(volume)
        return total + 4.0 * change + 8 * UNIT * (size_of_terms + dim) if change < HOPELESS else np.inf


class LogDetOracle(_LogDeterminant):
    """log det A on the range of the arms."""

    criterion = Criterion.D

    def value(self, canonical: Canonical, columns: Floats, factor: Floats) -> tuple[float, int]:
        return float(range_volume(canonical) - 2.0 * np.linalg.slogdet(columns)[1]), -1

    def error_in_norms(self, canonical: Canonical, at: Evaluation, inverse: Inverse) -> float:
        # log det K'W'AWK differs from log det F'AF by the rounding of F = WK, on the scale of F^-1 = (AF)'.
        K = np.abs(canonical.inverse @ at.factor)
        rounded = inner_product(K.shape[0]) * np.linalg.norm(np.abs(inverse.M).T @ (np.abs(canonical.basis) @ K))
        return inverse.delta + 4.0 * float(rounded) + volume_error(canonical) / canonical.rank

    def dual_vectors(self, canonical: Canonical, at: Evaluation) -> tuple[Indices, Floats]:
        return np.arange(at.factor.shape[1]), at.factor.T

    def vectors_at(self, problem: DesignProblem, A: Floats) -> Floats:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(A)))

    def _overlap(self, canonical: Canonical, B: Floats) -> tuple[Floats, Floats, float]:
        # In whitened coordinates K is the identity, up to the volume that the basis takes from the range.
        R, W = np.abs(canonical.inverse), np.abs(canonical.basis)
        volume = range_volume(canonical) + volume_error(canonical)
        return B @ canonical.inverse.T, np.abs(B) @ (R + R @ (W @ R)).T, volume

    has_slope = True
    smooth_form = LogDetForm()

    def maximises_log_det(self, problem: DesignProblem) -> bool:
        return True

    def history(self, canonical: Canonical, log_det: float, gap: float) -> tuple[float, float, int]:
        value = log_det + float(np.linalg.slogdet(canonical.inverse @ canonical.inverse.T)[1])
        return value, value + canonical.rank * float(np.log1p(gap)), 0

    def corrective_step(self, canonical: Canonical, steps: CorrectiveSteps[Found]) -> Found | None:
        return steps.log_det()

    formulation_names = ("log-det",)

    def formulations(self, canonical: Canonical) -> Mapping[str, Formulation]:
        from convexdesign.criteria.log_det_programs import log_det

        return {"log-det": log_det_formulation(canonical, log_det)}

    def information_form(self, problem: DesignProblem) -> tuple[InformationForm, Floats | None] | None:
        return DETERMINANT, np.eye(problem.arms.d)

    def of_matrix(self, canonical: Canonical) -> MatrixCriterion:
        return Volume(np.eye(canonical.rank))

    def enclosure(self, prover: ExactProver, design: EnclosedDesign) -> Proof:
        """(det A / det A*)^(1/r) >= det(B'AB)^(1/r) r / ( tr(B'A0B) + h_W(|B'x_i|^2/p_i) ) for any B (r, r), on the range."""
        if prover.unreached_arm(design):
            return Proof(-np.inf, -np.inf, np.inf, 0.0, prover.canonical.rank)
        r, vectors = design.rank, prover.scaled_vectors
        F = design.F if vectors.shape[0] != r else design.functional(vectors.T)
        B = ball_matrix(F)
        ratio = (B.transpose() * design.A * B).det()
        most = ball(prover.largest_sensitivity(design.on(prover.exact.arms), F, B * B.transpose()))
        most += prover.held(B.transpose(), design.dependence)
        value = design.A.det().log() + prover.volume(design)
        if not down(ratio) > 0:
            return Proof(down(value), up(value), np.inf, 0.0, r)
        efficiency = ratio.root(r) * r / most
        return Proof(down(value), up(value), up(value - r * efficiency.log()), max(down(efficiency), 0.0), r)


class InterestOracle(_LogDeterminant):
    """log det (K'A^-K)^-1, K = problem.contrast_matrix."""

    criterion = Criterion.DS

    def value(self, canonical: Canonical, columns: Floats, factor: Floats) -> tuple[float, int]:
        # Elimination, not eigenvalues: the columns of K may be in units that differ by any factor.
        image = factor.T @ canonical.problem.contrast_matrix
        size = np.linalg.norm(image, axis=0)
        return -_squared_volume(image / size) - 2.0 * float(np.log(size).sum()), -1

    def dimension(self, canonical: Canonical) -> int:
        return int(canonical.problem.contrast_matrix.shape[1])

    def error_in_norms(self, canonical: Canonical, at: Evaluation, inverse: Inverse) -> float:
        image = at.factor.T @ canonical.problem.contrast_matrix
        image = image / np.linalg.norm(image, axis=0)
        least = float(np.linalg.svd(image, compute_uv=False)[-1])
        # The second is for the triangular factor that the determinant is read from.
        own = 4 * sum(image.shape) * UNIT
        if not least > 0:
            return np.inf
        return float(inverse.delta + (4.0 * inverse.row + own) * np.sqrt(image.shape[1]) / least)

    def error_by_entries(self, canonical: Canonical, at: Evaluation, rounded: Rounded, in_norms: float) -> float:
        F, K, N = at.factor, canonical.problem.contrast_matrix, rounded.N
        image = F.T @ K
        scale = np.linalg.norm(image, axis=0)
        if not scale.min() > 0:
            return np.inf
        Q, T = np.linalg.qr(image / scale)
        off = inner_product(F.shape[0]) * (np.abs(F).T @ np.abs(K)) / scale + 4 * sum(image.shape) * UNIT
        pulled = np.abs(np.linalg.inv(T)) @ np.abs(Q).T
        change = float(np.vdot(np.abs(Q), N @ np.abs(Q))) + 2.0 * float(np.vdot(pulled.T, off))
        # First order; the next is smaller by the change itself.
        return 2.0 * change / image.shape[1] if change < HOPELESS else np.inf

    def dual_vectors(self, canonical: Canonical, at: Evaluation) -> tuple[Indices, Floats]:
        # With F'K = QS, S square: CK(K'CK)^(-1/2) = FQ up to a rotation.
        vectors = at.factor @ np.linalg.qr(at.factor.T @ canonical.problem.contrast_matrix)[0]
        return np.arange(vectors.shape[1]), vectors.T

    def _overlap(self, canonical: Canonical, B: Floats) -> tuple[Floats, Floats, float]:
        K = canonical.problem.contrast_matrix
        return B @ K, np.abs(B) @ np.abs(K), 0.0

    def completed_vectors(self, canonical: Canonical, at: Evaluation, B: Floats, best: DualCertificate) -> Floats:
        # B = L(K'B) with L'K = I: it is L that is open, and the dual certificate H has one too, H(K'H)^-1.
        K = canonical.problem.contrast_matrix
        L, wanted = (np.asarray(np.linalg.solve(C.T @ K, C.T).T, dtype=float) for C in (B, best.vectors.T))
        return completed(canonical, at, L, wanted) @ (K.T @ B)

    smooth_form = InterestForm()
    formulation_names = ("log-det",)

    def formulations(self, canonical: Canonical) -> Mapping[str, Formulation]:
        from convexdesign.criteria.log_det_programs import interest_log_det

        # Only the span of what is of interest matters for the weights, and solvers want it orthonormal.
        interest = np.linalg.qr(canonical.contrast_matrix / np.abs(canonical.contrast_matrix).max(axis=0))[0]
        r, s, prior, k = canonical.rank, interest.shape[1], canonical.prior, canonical.problem.responses
        return {
            "log-det": Formulation(
                lambda U, _, W: interest_log_det(U, interest, prior, W, k),
                lambda n, _: program_size("interest", n, r, columns=s),
            )
        }

    def information_form(self, problem: DesignProblem) -> tuple[InformationForm, Floats | None] | None:
        return INTEREST, np.asarray(problem.contrast_matrix, dtype=float)

    def of_matrix(self, canonical: Canonical) -> MatrixCriterion:
        return Volume(canonical.contrast_matrix)

    def enclosure(self, prover: ExactProver, design: EnclosedDesign) -> Proof:
        """log det A_s* <= s log(tr(H'A*H)/s) - 2 log|det K'H|, H the vectors as columns, K the combinations of interest."""
        K = prover.rows(prover.canonical.problem.contrast_matrix.T)
        s = K.n
        if design.first_outside(K) is not None:
            prover.refuse_outside(K, prover.noun)
            return Proof(-np.inf, -np.inf, np.inf, 0.0, s)
        inside = design.on(K).balls(np.arange(s))
        value = -(inside * design.inverse * inside.transpose()).det().log()
        vectors = prover.scaled_vectors
        if vectors.shape[0] != s:
            own = design.F @ np.linalg.qr(design.F.T @ midpoints(inside).T)[0]
            vectors = np.zeros((s, prover.exact.arms.d))
            vectors[:, slice(None) if design.dependence is None else design.dependence.chosen] = own.T
        overlap = (K.balls(np.arange(s)) * ball_matrix(vectors).transpose()).det()
        bound = s * (prover.most(vectors) / s).log() - (overlap * overlap).log()
        efficiency = max(down(((value - bound) / s).exp()), 0.0)
        return Proof(down(value), up(value), up(bound), efficiency if np.isfinite(efficiency) else 0.0, s)


def log_det_formulation(canonical: Canonical, program: Any) -> Formulation:
    """The program `log_det`, which also solves the minimax under Kiefer and Wolfowitz's conditions."""
    r, prior, k = canonical.rank, canonical.prior, canonical.problem.responses
    return Formulation(lambda U, _, W: program(U, prior, W, k), lambda n, _: program_size("log-det", n, r))


def range_volume(canonical: Canonical) -> float:
    """log det RR': A = R'A_u R, so that in an orthonormal basis of the range det A = det(A_u) det(RR')."""
    own = _volume(canonical.inverse)
    return own if canonical.restatement is None else own + _volume(canonical.restatement.inverse)


def _volume(R: Floats) -> float:
    """log det RR' of R (r, d)."""
    if R.shape[0] == R.shape[1]:
        # Elimination keeps its digits whatever the scales of the columns are.
        return float(2.0 * np.linalg.slogdet(R)[1])
    return _squared_volume(R.T)


def _squared_volume(columns: Floats) -> float:
    """log det C'C of C (n, k), n >= k: through a QR, and not C'C itself, whose condition is squared.

    Longest rows first and with pivoting, for the same reason.
    """
    from scipy.linalg.lapack import dgeqp3

    rows = columns[np.argsort(-np.abs(columns).max(axis=1), kind="stable")]
    return float(2.0 * np.sum(np.log(np.abs(dgeqp3(rows)[0].diagonal()))))


def volume_error(canonical: Canonical) -> float:
    """By how much log det RR' of the coordinates may be off: little where they are triangular, their rounding else."""
    r = canonical.rank
    error = 256 * r * UNIT
    pairs = [(canonical.basis, canonical.inverse)]
    if canonical.restatement is not None:
        pairs.append((canonical.restatement.basis, canonical.restatement.inverse))
    for W, R in pairs:
        if R.shape[0] < R.shape[1]:
            error += 2.0 * np.sqrt(r) * inner_product(R.shape[1]) * amplification(W, R)
    return float(error)


@dataclass(frozen=True)
class Volume(MatrixCriterion):
    """phi(M) = det(L' M^-1 L)^(1/s); with L = I criterion D, det(M)^(-1/r).

    Parameters
    ----------
    L : array of shape (r, s)
        The combinations of interest, in its columns.

    Examples
    --------
    >>> Volume(np.eye(2)).value(np.diag([1.0, 4.0]))
    0.5
    """

    L: Floats

    def value(self, M: Floats) -> float:
        F = inverse_factor(M)
        if F is None:
            return np.inf
        sign, logdet = np.linalg.slogdet(self.L.T @ F @ F.T @ self.L)
        return float(np.exp(logdet / self.L.shape[1])) if sign > 0 else np.inf

    def cuts(self, F: Floats, k: int) -> Floats:
        C = F @ F.T
        CL = C @ self.L
        inner = self.L.T @ CL
        s = self.L.shape[1]
        phi = np.exp(np.linalg.slogdet(inner)[1] / s)
        G: Floats = (CL @ np.linalg.solve(inner, CL.T) / (s * phi))[None]
        return G

    def swaps(self, F: Floats, out: Floats, into: Floats) -> Floats:
        s = self.L.shape[1]
        if are_groups(out):
            Z = F.T @ self.L
            return group_swaps(F, out, into, lambda C: np.exp(np.linalg.slogdet(Z.T @ C @ Z)[1] / s))
        C = F @ F.T
        CL = C @ self.L
        inner = self.L.T @ CL
        H = CL @ np.linalg.solve(inner, CL.T)
        K_out, K_into = (np.einsum("ir,rs,is->i", A, C, A, optimize=True) for A in (out, into))
        H_out, H_into = (np.einsum("ir,rs,is->i", A, H, A, optimize=True) for A in (out, into))
        K, HK = out @ C @ into.T, out @ H @ into.T
        det = pair_determinants(K_out, K_into, K)
        # det(L'M^-1L) changes by det(S - Z)/det S with S as in Minimax.swaps and Z = [o i]'H[o i]; det S = -det.
        top = (1.0 - K_out + H_out)[:, None] * (1.0 + K_into - H_into)[None, :] + np.square(K - HK)
        good = (det > SINGULAR) & (top > 0)
        ratio = np.where(good, top, 1.0) / np.where(good, det, 1.0)
        phi = np.exp(np.linalg.slogdet(inner)[1] / s)
        return np.where(good, phi * ratio ** (1.0 / s), np.inf)

    def swap_table(self, arms: Floats, M: Floats, F: Floats) -> SwapTable:
        if are_groups(arms):
            return super().swap_table(arms, M, F)
        return DeterminantTable(arms, M, F, self.L, self.value(M))

    def side_by_side(self, arms: Floats, runs: Indices, prior: Floats) -> Indices:
        return determinants_side_by_side(arms, runs, self.L, prior)

    def projected(self, Q: Floats) -> Volume | None:
        inside = Q.T @ self.L
        lost = np.square(self.L).sum() - np.square(inside).sum()
        return Volume(inside) if lost <= OUTSIDE**2 * np.square(self.L).sum() else None

    def wanted(self, N: Floats) -> Floats:
        return span((N.T @ self.L).T, float(np.linalg.norm(self.L, 2)))
