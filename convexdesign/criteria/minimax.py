"""Minimax variance, min max_j v_j'A(w)^-1 v_j: G, XY, level sets, their oracles, and c.

Bound, for ANY b_j, one per target: t* >= sum_j (b_j'v_j)^2 / ( sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2) ), because
(b_j'v_j)^2 <= (v_j'A^+v_j)(b_j'Ab_j) <= t* b_j'Ab_j; sum over j. A v_j may come as often as one likes, as every term is bounded
by itself. It is tight at b_j = sqrt(mu_j) A^-1 v_j, mu the multipliers of the targets at the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from convexdesign.arms.groups import squared_projections
from convexdesign.balls import ball, ball_matrix, diagonal_products, down
from convexdesign.criteria.average import AverageForm
from convexdesign.criteria.base import CriterionOracle, Found
from convexdesign.criteria.derivatives import TIE, Derivatives, outside_range
from convexdesign.criteria.enclosure import EnclosedDesign, ExactProver, Proof, share
from convexdesign.criteria.evaluation import Evaluation, Inverse, Rounded, inner_product
from convexdesign.criteria.exchange import MatrixCriterion
from convexdesign.criteria.formulation import Formulation
from convexdesign.criteria.information import Averaged, InformationForm, Worst
from convexdesign.criteria.log_det import log_det_formulation
from convexdesign.criteria.matrix_game import MixedStrategies, matrix_game
from convexdesign.criteria.program_size import ProgramSize, program_size
from convexdesign.criteria.sensitivities import Sensitivities, aligned, completed
from convexdesign.criteria.smooth import CorrectiveSteps, SmoothForm
from convexdesign.criteria.worst_target import Minimax, TransformedTargets
from convexdesign.dual_certificate import DualCertificate
from convexdesign.errors import SolverError
from convexdesign.problem import Canonical, Criterion, DesignProblem, PairTargets
from convexdesign.typing import Floats, Indices

__all__ = ["MinimaxOracle"]

# Of very many targets those are looked at that may be the worst, so many times r(r+1)/2 and a few.
CANDIDATES = 4
SPARE = 50
# No more targets than this count as tied for the worst.
MOST_TIES = 4096
# Targets whose multipliers are sought: the worst ones, this many for each entry of a symmetric matrix, and no more in all.
TARGETS_PER_ENTRY = 4
MOST_TARGETS = 400

# Measured with Clarabel: a semidefinite cone of order r + 1 costs about r^6, whatever the number of arms, and
# beyond this rank it is out of the question; second-order cones are as many as arms times targets.
SDP_RANK = 14
SDP_PREFERRED_RANK = 10
SDP_PREFERRED_ARMS = 150

ONE, SEVERAL = Averaged(), Worst()


class MinimaxOracle(CriterionOracle):
    """max_j v_j'A^-1 v_j over the targets of the problem."""

    criterion = Criterion.MINIMAX

    def value(self, canonical: Canonical, columns: Floats, factor: Floats) -> tuple[float, int]:
        index, values = canonical.problem.targets.worst(factor, 1)
        return float(values[0]), int(index[0])

    def error_in_norms(self, canonical: Canonical, at: Evaluation, inverse: Inverse) -> float:
        return inverse.delta + 2.0 * inverse.row + inverse.row**2

    def error_by_entries(self, canonical: Canonical, at: Evaluation, rounded: Rounded, in_norms: float) -> float:
        problem, k = canonical.problem, at.factor.shape[1]
        index, values = problem.targets.worst(at.factor, CANDIDATES * (k * (k + 1) // 2) + SPARE)
        off = rounded.errors(problem.targets.take(index))
        most = float((values + off).max() / values[0]) - 1.0
        if index.size < problem.targets.m:
            most = max(most, float(values[-1] / values[0]) * (1.0 + in_norms) - 1.0)
        return max(most, float(off[0] / values[0]))

    def dual_vectors(self, canonical: Canonical, at: Evaluation) -> tuple[Indices, Floats]:
        targets = np.array([max(at.worst_target, 0)])
        return targets, (canonical.problem.targets.take(targets) @ at.factor) @ at.factor.T

    def smooth(self, canonical: Canonical) -> tuple[SmoothForm, Floats] | None:
        """The variance of one target alone is an average variance, tr(A^-1 vv')."""
        if self.numbered(canonical.problem) != 1:
            return None
        return AverageForm(), canonical.basis.T @ canonical.problem.targets.take(np.zeros(1, dtype=np.int64)).T

    def numbered(self, problem: DesignProblem) -> int | None:
        targets = problem.targets
        return targets.n_items**2 if isinstance(targets, PairTargets) else targets.m

    def bound(self, canonical: Canonical, targets: Indices, vectors: Floats, most: float) -> float:
        B, V, g = vectors, canonical.problem.targets.take(targets), inner_product(vectors.shape[1])
        hits = np.abs(np.einsum("jk,jk->j", B, V)) - g * np.einsum("jk,jk->j", np.abs(B), np.abs(V))
        return self.outwards(float(np.sum(np.maximum(hits, 0.0) ** 2)) / most, B.shape[0])

    def derivatives(self, canonical: Canonical, at: Evaluation) -> Derivatives:
        return TiedTargets(canonical, at, np.empty((0, 0)))

    def sensitivities(self, canonical: Canonical, at: Evaluation, best: DualCertificate | None) -> Sensitivities:
        problem = canonical.problem
        entries = canonical.rank * (canonical.rank + 1) // 2
        index = problem.targets.worst(at.factor, min(TARGETS_PER_ENTRY * entries, MOST_TARGETS))[0]
        if best is not None:
            index = np.union1d(index, best.targets)
        V = problem.targets.take(index)
        image = V @ at.factor
        values = np.einsum("ij,ij->i", image, image)
        keep = values > 0
        index, V, values, B = index[keep], V[keep], values[keep], (image[keep] @ at.factor.T).T
        if best is not None:
            B = completed(canonical, at, B, aligned(B, index, best, V))
        held = np.zeros(index.size) if problem.prior is None else np.einsum("ji,jk,ki->i", B, problem.prior, B)
        mu = matrix_game(problem.arms, B, held, values**2, np.zeros(problem.n_arms, dtype=bool)).multipliers
        mu *= at.value**2 / float(mu @ values**2)
        return Sensitivities(problem.arms.quadratic(B * np.sqrt(mu)), at.value - float(mu @ held))

    formulation_names = ("sdp", "matrix-fractional", "socp", "dual-socp", "log-det")

    def formulations(self, canonical: Canonical) -> Mapping[str, Formulation]:
        from convexdesign.criteria import minimax_programs
        from convexdesign.criteria.log_det_programs import log_det

        problem, prior, whiten = canonical.problem, canonical.prior, canonical.whiten_targets
        k = problem.responses

        def generated(name: str, program: Any) -> Formulation:
            def size(n: int, m: int) -> ProgramSize:
                return program_size(name, n, canonical.rank, targets=m, responses=k)

            return Formulation(lambda U, J, W: program(U, whiten(J), prior, W, k), size, by_target=True)

        found = {
            "socp": generated("socp", minimax_programs.socp),
            "sdp": generated("sdp", minimax_programs.sdp),
            "matrix-fractional": generated("matrix-fractional", minimax_programs.matrix_fractional),
        }
        if problem.weight_set.is_simplex:
            found["dual-socp"] = generated("dual-socp", minimax_programs.dual_socp)
        if problem.is_kiefer_wolfowitz:
            found["log-det"] = log_det_formulation(canonical, log_det)
        return found

    has_slope = True

    def maximises_log_det(self, problem: DesignProblem) -> bool:
        return problem.is_kiefer_wolfowitz

    def history(self, canonical: Canonical, log_det: float, gap: float) -> tuple[float, float, int]:
        bound = canonical.problem.common_variance * canonical.rank
        return bound * (1.0 + gap), bound, canonical.problem.targets.m

    def corrective_step(self, canonical: Canonical, steps: CorrectiveSteps[Found]) -> Found | None:
        return steps.log_det() if canonical.problem.is_kiefer_wolfowitz else steps.two_sided()

    def by_speed(self, names: tuple[str, ...], rank: int, n: int) -> tuple[str, ...]:
        if rank > SDP_RANK:
            return tuple(name for name in ("socp", "dual-socp") if name in names)
        cones = ("socp", "dual-socp", "sdp")
        if rank <= SDP_PREFERRED_RANK and n > SDP_PREFERRED_ARMS:
            cones = ("sdp", "socp", "dual-socp")
        return tuple(name for name in cones if name in names)

    def information_form(self, problem: DesignProblem) -> tuple[InformationForm, Floats | None] | None:
        if self.numbered(problem) == 1:
            return ONE, problem.targets.take(np.zeros(1, dtype=np.int64)).T
        return SEVERAL, None

    def of_matrix(self, canonical: Canonical) -> MatrixCriterion:
        return Minimax(TransformedTargets(canonical.problem.targets, canonical.basis))

    def enclosure(self, prover: ExactProver, design: EnclosedDesign) -> Proof:
        wanted = prover.exact.differences
        bound = self._exact_bound(prover, design.rank)
        if design.first_outside(wanted) is not None:
            prover.refuse_outside(wanted, prover.noun)
            return Proof(np.inf, np.inf, bound, 0.0)
        low, high = prover.worst_target(design)
        return Proof(low, high, bound, share(ball(bound), ball(high)))

    def _exact_bound(self, prover: ExactProver, rank: int) -> float:
        problem = prover.canonical.problem
        if problem.is_kiefer_wolfowitz:
            # t* = s^2 rank of all arms, at least that of the measured ones, which is exact.
            return down(ball(problem.common_variance) * rank)
        V, squares = prover.exact.target_balls(prover.targets)
        hits = diagonal_products(ball_matrix(prover.scaled_vectors), V)
        top = sum((h * h * s for h, s in zip(hits, squares)), ball(0.0))
        return max(down(top / prover.most(prover.scaled_vectors)), 0.0)


@dataclass(frozen=True, eq=False)
class TiedTargets(Derivatives):
    """One part for each target that is tied for the worst, B = C v_j; the derivative is the largest h_j - g_j (Danskin)."""

    @cached_property
    def tied(self) -> Indices:
        k = 8
        while True:
            index, values = self.canonical.problem.targets.worst(self.at.factor, k)
            deciding = values >= (1.0 - TIE) * values[0]
            if not deciding.all() or index.size < k or k >= MOST_TIES:
                return index[deciding]
            k *= 4

    @cached_property
    def vectors(self) -> Floats:
        F = self.at.factor
        return np.asarray(F @ (F.T @ self.canonical.problem.targets.take(self.tied).T))

    @property
    def parts(self) -> int:
        return int(self.vectors.shape[1])

    @cached_property
    def levels(self) -> Floats:
        image = self.canonical.problem.targets.take(self.tied) @ self.at.factor
        return np.asarray(np.einsum("ij,ij->i", image, image) - np.diag(self.held))

    def mixture(self) -> MixedStrategies | None:
        if self.parts == 1:
            return None
        held, wanted = np.diag(self.held), np.ones(self.parts)
        try:
            return matrix_game(
                self.canonical.problem.arms, self.vectors, held, wanted, outside_range(self.canonical, self.at)
            )
        except SolverError:
            return None

    def _change(self, gains: Floats) -> Floats:
        return np.asarray((self.levels - gains).max(axis=1))

    def _change_of_rows(self) -> Callable[[Floats], Floats]:
        return partial(
            _largest_change, vectors=self.vectors, levels=self.levels, responses=self.canonical.problem.responses
        )


def _largest_change(rows: Floats, vectors: Floats, levels: Floats, responses: int) -> Floats:
    """The largest h_j - g_j for each row, of parts of one vector each."""
    return np.asarray((levels - squared_projections(rows, vectors, responses)).max(axis=1))
