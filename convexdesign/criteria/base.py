"""What a criterion has to answer, so that everything else works for it: `CriterionOracle`, one object for each criterion.

A criterion is a function of A(w), and for D in a fixed coordinate system of the range of the arms. To add one, write one file
with a subclass and put it into THE table (`convexdesign.criteria`); whoever needs to know something asks the object:

- evaluation, roundoff: the value at a factor of the inverse, and by how much rounding may have changed it;
- certificate: the bound on the optimum that vectors b_j prove, and the vectors that a design itself suggests;
- verify, plotting: derivatives, sensitivities, the worst targets;
- rounding: the criterion as a function of an information matrix, scaled so that phi(cM) = phi(M)/c, with exchange gains;
- compound: the information function that it is, or None;
- programs: its conic formulations, by name; frankwolfe: its corrective step, and its smooth form, or None;
- rigorous: its enclosure in balls.

Which method solves a criterion follows from these: "conic" where there are formulations, "frank-wolfe" where there is a
corrective step, and so on. Nobody else lists criteria or compares them.

Coordinates: `canonical.problem` holds arms y_i, targets v_j and the contrast matrix L (d, k) (columns l_j) in its own R^d;
whitened coordinates are W'y, W = canonical.basis (d, r). A factor F (d, k) has FF' = A(w)^+ on the range of A(w).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, TypeVar

import numpy as np

from convexdesign.criteria.derivatives import Derivatives
from convexdesign.criteria.enclosure import EnclosedDesign, ExactProver, Proof
from convexdesign.criteria.evaluation import Evaluation, Inverse, Rounded
from convexdesign.criteria.exchange import MatrixCriterion
from convexdesign.criteria.formulation import Formulation
from convexdesign.criteria.information import InformationForm
from convexdesign.criteria.sensitivities import Sensitivities
from convexdesign.criteria.smooth import CorrectiveSteps, SmoothForm
from convexdesign.dual_certificate import DualCertificate
from convexdesign.problem import Canonical, Criterion, DesignProblem
from convexdesign.problem.kinds import Kind
from convexdesign.problem.prior_information import UNIT
from convexdesign.typing import Floats, Indices

__all__ = ["CriterionOracle"]

Found = TypeVar("Found")


class CriterionOracle(ABC):
    """Everything that is computed about one criterion; stateless, one object for all problems."""

    criterion: ClassVar[Criterion]
    # The kinds of problem that this criterion brings along, by name: problem files, the command line and `DesignProblem` (with
    # underscores) know them from here. The classical ones are in `problem.kinds`.
    kinds: ClassVar[Mapping[str, Kind]] = {}

    # ------------------------------------------------------------------ the value

    @abstractmethod
    def value(self, canonical: Canonical, columns: Floats, factor: Floats) -> tuple[float, int]:
        """The value where everything wanted is measured, and the index of the target that decides, or -1.

        columns K (r, k) with KK' = A_u^+ in whitened coordinates; factor = W K.
        """

    def dimension(self, canonical: Canonical) -> int:
        """How many dimensions a log det is over: the rank, or the number of combinations of interest."""
        return canonical.rank

    @abstractmethod
    def error_in_norms(self, canonical: Canonical, at: Evaluation, inverse: Inverse) -> float:
        """By which share the value may be off (of a log det, its difference over the dimension), in terms of norms."""

    def error_by_entries(self, canonical: Canonical, at: Evaluation, rounded: Rounded, in_norms: float) -> float:
        """The same entry by entry, where norms say too little; infinite where nothing better is known."""
        return np.inf

    # ------------------------------------------------------------------ the bound

    @abstractmethod
    def dual_vectors(self, canonical: Canonical, at: Evaluation) -> tuple[Indices, Floats]:
        """Targets (k,) and vectors b_j (k, d) that the weights themselves suggest; of smooth criteria tight at the optimum."""

    def vectors_at(self, problem: DesignProblem, A: Floats) -> Floats | None:
        """The vectors b_j (k, d), numbered by targets from 0, that a regular information matrix A suggests; None for none."""
        return None

    def numbered(self, problem: DesignProblem) -> int | None:
        """How many numbers the targets of a dual certificate have; None where its vectors have no targets."""
        return None

    def joined(self, canonical: Canonical, targets: Indices, vectors: Floats) -> tuple[Indices, Floats]:
        """The vectors as `bound` reads them: where it matters, one for each target."""
        return targets, vectors

    @abstractmethod
    def bound(self, canonical: Canonical, targets: Indices, vectors: Floats, most: float) -> float:
        """The bound on the optimum that vectors b_j (k, d) prove, moved outwards by its rounding.

        most > 0 is at least sum_j b_j'A0b_j + h_W(sum_j (b_j'y_i)^2); the largest entry of the vectors is one.
        """

    def outwards(self, bound: float, terms: int) -> float:
        """The bound moved by what the last sums and quotients may have rounded, in the direction that is safe."""
        share = 2 * (terms + 4) * UNIT
        return float(bound * (1.0 + share if self.criterion.maximised else 1.0 - share))

    # ------------------------------------------------------------------ directional derivatives, and the equivalence theorem

    def derivatives(self, canonical: Canonical, at: Evaluation) -> Derivatives:
        """The derivatives at weights that measure what is wanted; this one is for smooth criteria."""
        return Derivatives(canonical, at, self.dual_vectors(canonical, at)[1].T)

    def sensitivities(self, canonical: Canonical, at: Evaluation, best: DualCertificate | None) -> Sensitivities:
        """Sensitivities of the arms and their bound at weights evaluated by `at`, from vectors that the weights suggest.

        best: what proves the bound on the optimum, where it is known, in the coordinates of `canonical.problem`.
        """
        slopes = self.derivatives(canonical, at)
        vectors = self.completed_vectors(canonical, at, slopes.vectors, best) if best is not None else slopes.vectors
        values = canonical.problem.arms.quadratic(np.ascontiguousarray(vectors))
        return Sensitivities(values, float(slopes.levels[0]))

    def completed_vectors(self, canonical: Canonical, at: Evaluation, B: Floats, best: DualCertificate) -> Floats:
        """B (d, k) with the part in the null space of A(w), which a singular design leaves open, as in the dual certificate."""
        return B

    # ------------------------------------------------------------------ what is wanted

    def worst_combinations(self, canonical: Canonical, at: Evaluation, k: int) -> tuple[Floats, Floats] | None:
        """Where targets are all combinations of some: the k of largest variance (k, d) as given, and these; else None."""
        return None

    # ------------------------------------------------------------------ conic programs

    # The names of all formulations that some problem of this criterion has.
    formulation_names: ClassVar[tuple[str, ...]]

    @abstractmethod
    def formulations(self, canonical: Canonical) -> Mapping[str, Formulation]:
        """The conic formulations that fit the problem, by name, in whitened coordinates; cvxpy is imported here, not above."""

    def by_speed(self, names: tuple[str, ...], rank: int, n: int) -> tuple[str, ...]:
        """Those of the formulations worth trying for n arms, the fastest for this shape first."""
        return names

    # ------------------------------------------------------------------ Frank-Wolfe and interior points

    # Whether the classic first-order methods know its slope: that of log det A, or of the worst target's variance.
    has_slope: ClassVar[bool] = False
    # f, gradient and Hessian, where it is smooth in the weights.
    smooth_form: ClassVar[SmoothForm | None] = None

    def smooth(self, canonical: Canonical) -> tuple[SmoothForm, Floats] | None:
        """The smooth form and its contrast matrix (r, k), in whitened coordinates; None where the criterion has none."""
        form = self.smooth_form
        return None if form is None else (form, canonical.contrast_matrix)

    def maximises_log_det(self, problem: DesignProblem) -> bool:
        """Whether the optimal weights of the problem are those that maximise log det A."""
        return False

    def history(self, canonical: Canonical, log_det: float, gap: float) -> tuple[float, float, int]:
        """Value, bound and number of targets, where log det A in whitened coordinates is within a gap of its maximum."""
        raise NotImplementedError

    def corrective_step(self, canonical: Canonical, steps: CorrectiveSteps[Found]) -> Found | None:
        """What the corrective step that fits the problem finds; None where there is none."""
        return None

    @property
    def has_corrective_step(self) -> bool:
        return type(self).corrective_step is not CriterionOracle.corrective_step

    # ------------------------------------------------------------------ several problems at once

    def information_form(self, problem: DesignProblem) -> tuple[InformationForm, Floats | None] | None:
        """The information function that the criterion is, and its vectors L (d, k), or None for those of the targets.

        None where its logarithm cannot be added to those of others.
        """
        return None

    # ------------------------------------------------------------------ rounding

    @abstractmethod
    def of_matrix(self, canonical: Canonical) -> MatrixCriterion:
        """The criterion as a function of an information matrix in whitened coordinates, scaled to phi(cM) = phi(M)/c."""

    # ------------------------------------------------------------------ rigorous proofs

    @abstractmethod
    def enclosure(self, prover: ExactProver, design: EnclosedDesign) -> Proof:
        """The value of a design enclosed, and the optimum bounded by the prover's vectors, for the numbers read exactly."""
