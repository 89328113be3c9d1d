"""The Frobenius norm of the covariance, min |A(w)^-1|_F: Kiefer's Phi_2, the root of the sum of all its squared entries.

Phi_p = (tr A^-p)^(1/p) leads from the average variance (p = 1) to the worst one (p = infinity, E-optimality). At p = 2 a
variance twice as large counts four times.

With K = L'A^-1L, L the contrast matrix, g(K) = |K|_F has the gradient S = K / |K|_F, so that the dual vectors of a design
are the columns of A^-1 L S^(1/2). Bound, for any B = [b_1 ... b_k], with G = B'L = U diag(sigma) V': for every T (k, k)

    tr(B'LT)^2 <= tr(B'A*B) tr(T'K*T) <= tr(B'A*B) |K*|_F |TT'|_F                (Cauchy and Schwarz, twice),

and the best T = V diag(sigma^(1/3)) U' makes it

    |K*|_F >= (sum_i sigma_i^(4/3))^(3/2) / tr(B'A*B),      tr(B'A*B) <= sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2).

It is tight at the dual vectors of the optimum, as then sigma_i = lambda_i(K)^(3/2) up to one factor. Entries of G are known to
within off (k, k); by Weyl's inequality each sigma_i is to within |off|_F.

Source: J. Kiefer, General equivalence theory for optimum designs, Annals of Statistics 2 (1974); Pukelsheim, Optimal Design of
Experiments (2006), chapter 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.balls import ball, ball_matrix, down, up
from convexdesign.criteria.base import CriterionOracle
from convexdesign.criteria.enclosure import EnclosedDesign, ExactProver, Proof, share
from convexdesign.criteria.evaluation import Evaluation, Inverse, inner_product
from convexdesign.criteria.exchange import CovarianceCriterion, MatrixCriterion
from convexdesign.criteria.formulation import Formulation
from convexdesign.criteria.program_size import ProgramSize
from convexdesign.problem import Canonical, Criterion, DesignProblem
from convexdesign.problem.common import Common, spelt_out
from convexdesign.problem.kinds import Kind
from convexdesign.problem.prior_information import UNIT
from convexdesign.typing import Floats, Indices

__all__ = ["FROBENIUS", "FrobeniusNorm", "FrobeniusOracle", "phi2_optimal"]

FROBENIUS = Criterion("PHI2", "min |A^-1|_F", "norm of the covariance", "root of the sum of its squared entries")


@spelt_out
def phi2_optimal(arms: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem:
    """min over w of |A(w)^-1|_F: the root of the sum of all its squared entries, Kiefer's Phi_2.

    It depends on the units of the coordinates, and on no rotation of them.

    Parameters
    ----------
    arms : array_like, shape (n, d) or (n, d, r)
        The arms, which must span R^d.

    Returns
    -------
    DesignProblem
        The problem, for `solve` and `verify`.

    Examples
    --------
    >>> import convexdesign as cd
    >>> design = cd.solve(cd.DesignProblem.phi2_optimal([[1, 0], [0, 2]]))
    >>> design.weights.round(4).tolist()  # in proportion to the variances to the power 2/3
    [0.7159, 0.2841]
    """
    return DesignProblem.of_coefficients("phi2-optimal", FROBENIUS, arms, **common)


@dataclass(frozen=True)
class FrobeniusNorm(CovarianceCriterion):
    """phi(M) = |L'M^-1L|_F.

    >>> FrobeniusNorm(np.eye(2)).value(np.diag([1.0 / 3.0, 1.0 / 4.0]))
    5.0
    """

    def of_covariances(self, K: Floats) -> Floats:
        return np.asarray(np.linalg.norm(K, axis=(1, 2)))

    def prices(self, K: Floats) -> Floats:
        return np.asarray(K / np.linalg.norm(K))


class FrobeniusOracle(CriterionOracle):
    """|A^-1|_F."""

    criterion = FROBENIUS
    formulation_names = ("sdp",)
    kinds: ClassVar[Mapping[str, Kind]] = {
        "phi2-optimal": Kind(
            phi2_optimal,
            "make the sum of all squared variances and covariances of the coefficients small",
            "min over w of (tr A(w)^-2)^(1/2)",
        )
    }

    def value(self, canonical: Canonical, columns: Floats, factor: Floats) -> tuple[float, int]:
        image = factor.T @ canonical.problem.contrast_matrix
        return float(np.linalg.norm(image.T @ image)), -1

    def error_in_norms(self, canonical: Canonical, at: Evaluation, inverse: Inverse) -> float:
        # Every z'Kz is off by this share at most, hence K in the order of psd matrices, hence its norm. The product that makes
        # K rounds by the size of |F'L|_F^2 = tr K, which is at most the root of its order times |K|_F.
        own = 4 * sum(at.factor.shape) * UNIT * np.sqrt(canonical.problem.contrast_matrix.shape[1])
        return float(inverse.delta + 2.0 * inverse.row + inverse.row**2 + own)

    def dual_vectors(self, canonical: Canonical, at: Evaluation) -> tuple[Indices, Floats]:
        image = at.factor.T @ canonical.problem.contrast_matrix
        # K = V diag(s^2) V', and S^(1/2) = V diag(s) V' / |K|^(1/2).
        left, s, right = np.linalg.svd(image, full_matrices=False)
        vectors = at.factor @ (left * s**2) @ right / np.sqrt(np.linalg.norm(s**2))
        return np.arange(vectors.shape[1]), vectors.T

    def bound(self, canonical: Canonical, targets: Indices, vectors: Floats, most: float) -> float:
        L, size = canonical.problem.contrast_matrix, np.abs(vectors)
        off = inner_product(size.shape[1]) * float(np.linalg.norm(size @ np.abs(L)))
        sigma = np.linalg.svd(vectors @ L, compute_uv=False)
        off += 16 * max(vectors.shape) * UNIT * float(sigma[0])
        return self.outwards(float(np.sum(np.maximum(sigma - off, 0.0) ** (4.0 / 3.0)) ** 1.5) / most, 4 * sigma.size)

    def formulations(self, canonical: Canonical) -> Mapping[str, Formulation]:
        from convexdesign.criteria import program

        size = float(np.linalg.norm(canonical.contrast_matrix))
        contrast_matrix, prior, k = canonical.contrast_matrix / size, canonical.prior, canonical.problem.responses
        r, s = contrast_matrix.shape

        def build(arms: Floats, _: Indices, constrain: program.Constrain | None) -> program.Program:
            """min t subject to [[A(w), L], [L', Z]] psd, |Z|_F <= t: Z is at least L'A^-1L, and the norm grows with Z."""
            import cvxpy as cp

            w, members = program.simplex(len(arms) // k, constrain)
            A, definition = program.information_variables(arms, prior, w)
            Z = cp.Variable((s, s), symmetric=True, name="Z")
            fits = cp.bmat([[A, contrast_matrix], [contrast_matrix.T, Z]]) >> 0
            problem = cp.Problem(cp.Minimize(cp.norm(Z, "fro")), [fits, *definition, *members])

            def vectors() -> Floats:
                # The multiplier of A is Q = BB'; B = Q^(1/2) O with the rotation that makes B'L symmetric.
                root = program.symmetric_root(program.price_of_information(definition[0].dual_value, r))
                if not np.all(np.isfinite(root)):
                    return np.full(contrast_matrix.T.shape, np.nan)
                left, _, right = np.linalg.svd(root @ contrast_matrix, full_matrices=False)
                return np.asarray((root @ left @ right).T)

            return program.Program(
                problem,
                weights=lambda: program.normalised(w.value),
                multipliers=lambda: np.ones(s),
                vectors=vectors,
                value=lambda: float(problem.objective.value),
            )

        nonzeros = r * (r + 1) // 2
        return {"sdp": Formulation(build, lambda n, _: ProgramSize("sdp", n, r, n * nonzeros, r + s, 1))}

    def of_matrix(self, canonical: Canonical) -> MatrixCriterion:
        return FrobeniusNorm(canonical.contrast_matrix)

    def enclosure(self, prover: ExactProver, design: EnclosedDesign) -> Proof:
        """The norm of the inverse in balls; the bound with the T of the proof in doubles, for any T is as good as any other."""
        vectors = prover.scaled_vectors
        hits = ball_matrix(vectors)  # L is the identity in the coordinates as given
        left, sigma, right = np.linalg.svd(vectors)
        T = ball_matrix((right.T * np.cbrt(sigma)) @ left.T)
        hit = (hits * T).trace()
        squared = T * T.transpose()
        bound = max(down(hit * hit / (_norm(squared) * prover.most(vectors))), 0.0) if sigma[0] > 0 else 0.0
        if design.dependence is not None:
            prover.refuse_outside(prover.exact.vectors, prover.noun)
            return Proof(np.inf, np.inf, bound, 0.0)
        value = _norm(design.inverse)
        return Proof(down(value), up(value), bound, share(ball(bound), value))


def _norm(matrix: Any) -> Any:
    """|K|_F as a ball."""
    return sum((x * x for row in matrix.tolist() for x in row), ball(0.0)).sqrt()
