"""Efficiency at least 1 - 1e-9, proven for the numbers as given: every double read as the rational number it is.

The weights are divided by their exact sum. No square root of a noise variance is taken: A = A0 + sum w_i x_i x_i' / p_i.
What is measured at all is decided by exact rank (`dependence`). Where the arms do not span, everything is computed on
coordinates J of their range, and log det moved from there to an orthonormal basis by an exact determinant.
Upper bound on v'A^-1 v: with doubles F ~ A^(-1/2) and |F'AF - I| <= eps in balls, A^-1 <= FF' / (1 - eps), which screens
all targets in doubles; the few that could be the worst are evaluated in balls. Bounds on the optimum hold for any vectors b_j
(`convexdesign.certificate`), read exactly; the largest sum_j (b_j'x_i)^2 / p_i is screened the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from convexdesign.arms.source import ArrayArms
from convexdesign.balls import (
    ball,
    ball_matrix,
    bits,
    cholesky,
    down,
    midpoints,
    precision,
    quadratic_forms,
    up,
)
from convexdesign.criteria import oracle_of
from convexdesign.criteria.enclosure import Proof, share
from convexdesign.errors import InputError, SolverError
from convexdesign.evaluation import evaluate
from convexdesign.problem import Canonical, Criterion
from convexdesign.problem.weights import WeightSet
from convexdesign.rigorous.data import UNIT, ExactRows
from convexdesign.rigorous.dependence import Dependence, find_dependence
from convexdesign.rigorous.exact_problem import ExactProblem, read_exactly
from convexdesign.rigorous.moments import Moments, read_moments
from convexdesign.rigorous.screen import Largest, largest_pair, largest_row, row_bounds
from convexdesign.rigorous.support import weighted_maximum
from convexdesign.rigorous.weights import ExactWeights
from convexdesign.typing import Floats, Indices

__all__ = ["Proof", "Prover", "prove", "strengthened", "upper_efficiency"]


BLOCK = 4096
# Enough for arms of condition 1e15 or so, and for what is worse.
MORE_BITS = (256, 1024)
# An enclosure wider than this share of its numbers has lost digits to the condition of A.
WIDE = 1e-11


def prove(canonical: Canonical, weights: Floats, targets: Indices, vectors: Floats) -> Proof:
    """Enclose the criterion of the weights, any nonnegative doubles, and bound the optimum by the vectors b_j.

    Parameters
    ----------
    canonical : Canonical
        The problem in canonical form.
    weights : array of shape (n,)
        The weights; they are divided by their exact sum.
    targets : array of int, shape (k,)
        The numbers of the targets, as in a DualCertificate.
    vectors : array of shape (k, d)
        The vectors b_j; they only decide how good the bound is.

    Returns
    -------
    Proof
        The enclosure and the bound, rounded outwards.

    Raises
    ------
    MissingExtraError
        Without python-flint (extra `rigorous`).
    InputError
        Where the data, read exactly, are not of the rank they have in doubles.
    SolverError
        Where A is too ill-conditioned for any proof.

    Examples
    --------
    >>> import convexdesign as cd
    >>> design = cd.solve(cd.DesignProblem.c_optimal([[1, 0], [0, 2]], [1, 1]))
    >>> dual = design.certificate.dual
    >>> proof = cd.rigorous.prove(design.canonical, design.weights, dual.targets, dual.vectors)
    >>> proof.low <= 2.2500001 and proof.bound <= 2.25, proof.efficiency > 1 - 1e-6
    (True, True)
    """
    canonical = canonical.plain
    with precision():
        return Prover(canonical, canonical.problem.weight_set, targets, vectors).prove(ExactWeights.of(weights))


def upper_efficiency(canonical: Canonical, own: Proof, other: Proof) -> float:
    """A proven upper bound on the efficiency of one design, from another whose criterion was enclosed as well.

    The other design must satisfy the constraints on the weights exactly.

    Parameters
    ----------
    canonical : Canonical
        The problem in canonical form.
    own, other : Proof
        Of the two designs.

    Returns
    -------
    float
        At most 1.

    Examples
    --------
    >>> import convexdesign as cd
    >>> form = cd.solve(cd.DesignProblem.g_optimal([[1, 0], [0, 1]])).canonical
    >>> own, other = (cd.rigorous.Proof(v, v, 2.0, 2.0 / v) for v in (4.0, 2.0))
    >>> round(cd.rigorous.upper_efficiency(form, own, other), 12)
    0.5
    """
    criterion = canonical.problem.criterion
    with precision():
        if criterion.logarithmic:
            if not np.isfinite(own.high) or not np.isfinite(other.low):
                return 1.0 if own.high > -np.inf else 0.0
            return min(up(((ball(own.high) - ball(other.low)) / own.dimension).exp()), 1.0)
        worse, better = (own.high, other.low) if criterion.maximised else (other.high, own.low)
        if better == np.inf or worse == 0.0:
            return 0.0
        return min(up(ball(worse) / ball(better)), 1.0) if better > 0 and np.isfinite(worse) else 1.0


def strengthened(criterion: Criterion, own: Proof, other: Proof) -> Proof:
    """The first proof, with the other's bound on the optimum where that is tighter.

    Parameters
    ----------
    criterion : Criterion
        What both are about.
    own, other : Proof
        Of two designs of one problem.

    Returns
    -------
    Proof
        With the value of the first.

    Examples
    --------
    >>> import convexdesign as cd
    >>> criterion = cd.DesignProblem.g_optimal([[1, 0], [0, 1]]).criterion
    >>> own, other = cd.rigorous.Proof(4.0, 4.0, 1.0, 0.25), cd.rigorous.Proof(2.0, 2.0, 2.0, 1.0)
    >>> cd.rigorous.strengthened(criterion, own, other).bound
    2.0
    """
    if not criterion.is_better(own.bound, other.bound) or own.about != other.about or not np.isfinite(other.bound):
        return own
    with precision():
        return replace(own, bound=other.bound, efficiency=_efficiency(criterion, own, other.bound))


def _efficiency(criterion: Criterion, own: Proof, bound: float) -> float:
    """A lower bound on the efficiency of an enclosed value against a bound on the optimum."""
    if criterion.logarithmic:
        if not np.isfinite(own.low):
            return 0.0
        return max(down(((ball(own.low) - ball(bound)) / own.dimension).exp()), 0.0)
    part, whole = (own.low, bound) if criterion.maximised else (bound, own.high)
    return share(ball(part), ball(whole)) if np.isfinite(whole) and whole > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Prover:
    """Proofs about designs of one problem, with the weights in W, by the targets and vectors of a dual certificate.

    To be used within `precision`. `moments` of an average are read for the first design that is proven, since a rounded M
    may be proven in what that design measures only.

    Parameters
    ----------
    canonical : Canonical
        The problem in canonical form.
    weight_set : WeightSet
        W, the weights that are allowed.
    targets : array of int, shape (k,)
        The numbers of the targets.
    vectors : array of shape (k, d)
        The vectors b_j.
    """

    canonical: Canonical
    weight_set: WeightSet
    targets: Indices
    vectors: Floats

    @cached_property
    def exact(self) -> ExactProblem:
        return read_exactly(self.canonical.problem)

    @cached_property
    def scaled_vectors(self) -> Floats:
        """The vectors divided by a power of two: no bound depends on their scale, but squares may overflow."""
        size = float(np.abs(self.vectors).max(initial=0.0))
        if not (size > 0 and np.isfinite(size)):
            return np.zeros_like(self.vectors)
        return np.ldexp(self.vectors, -int(np.frexp(size)[1]))

    def prove(self, weights: ExactWeights) -> Proof:
        """Enclose the criterion of the weights and bound the optimum, with more bits where an enclosure comes out wide.

        Parameters
        ----------
        weights : ExactWeights
            The weights as rational numbers.

        Returns
        -------
        Proof
            The enclosure and the bound, rounded outwards.

        Raises
        ------
        SolverError
            Where A is too ill-conditioned for any proof.
        """
        for prec in MORE_BITS:
            with precision(prec):
                try:
                    proof = self._prove(weights)
                except SolverError:
                    if prec == MORE_BITS[-1]:
                        raise
                    continue
            if _is_tight(self.canonical.problem.criterion, proof):
                break
        return proof

    def _prove(self, weights: ExactWeights) -> Proof:
        return oracle_of(self.canonical).enclosure(self, self._design(weights))

    # ------------------------------------------------------------------ the design

    def _design(self, weights: ExactWeights) -> _Design:
        at = evaluate(self.canonical, weights.floats)
        d, most = self.exact.arms.d, self.canonical.rank
        dependence = self._span(weights.index, most) if at.rank < d else None
        A, inverse = self._inverted(weights, dependence)
        if inverse is None and dependence is None and at.rank == d:
            dependence = self._span(weights.index, most)
            A, inverse = self._inverted(weights, dependence)
        if inverse is None:
            raise SolverError(f"A is too ill-conditioned to be inverted even in {MORE_BITS[-1]} bits: rescale the arms")
        rank = d if dependence is None else dependence.rank
        F, growth = np.empty((rank, 0)), np.inf
        if at.rank == rank:
            F = at.factor if dependence is None else dependence.functional(at.factor)
            growth = _growth(A, F)
        if not np.isfinite(growth) and rank:
            F = _root_of_inverse(A)
            growth = _growth(A, F)
        return _Design(A, inverse, F, growth, dependence)

    def _span(self, index: Indices, most: int) -> Dependence | None:
        """How the arms at the indices, and those whose information is held, depend on one another."""
        return find_dependence(self.exact.arms, index, self.exact.prior, most, self._scale)

    @property
    def _scale(self) -> Floats:
        return self.canonical.inverse

    @cached_property
    def _allowed(self) -> Indices:
        return np.flatnonzero(self.weight_set.allowed(self.exact.arms.n))

    @cached_property
    def _whole_span(self) -> Dependence | None:
        """How all arms that may have weight depend on one another."""
        return self._span(self._allowed, self.exact.arms.d)

    def _inverted(self, weights: ExactWeights, dependence: Dependence | None) -> tuple[Any, Any | None]:
        A = _information(self.exact, weights, dependence)
        try:
            return A, A.inv()
        except ZeroDivisionError:
            return A, None

    def refuse_outside(self, rows: ExactRows, what: str) -> None:
        """Refuse vectors that no design can estimate.

        Parameters
        ----------
        rows : ExactRows
            Vectors that a design does not measure.
        what : str
            What the message calls them.

        Raises
        ------
        InputError
            Where one lies outside the span of all arms.
        """
        everywhere = self._whole_span
        outside = None if everywhere is None else everywhere.first_outside(rows)
        if outside is not None:
            raise InputError(
                f"{what} {outside} lies in the span of the arms only up to rounding: read exactly, no design can estimate "
                "it; give coordinates that are exact (whole numbers, say), or drop columns until the arms span"
            )

    # ------------------------------------------------------------------ h_W

    def most(self, vectors: Floats) -> Any:
        """sum_j b_j'A0 b_j + h_W(sum_j (b_j'x_i)^2 / p_i), from above.

        Parameters
        ----------
        vectors : array of shape (k, d)
            The vectors b_j.

        Returns
        -------
        flint.arb
            A ball.
        """
        B = ball_matrix(vectors)
        return self.held(B) + ball(self.largest_sensitivity(self.exact.arms, vectors.T, B.transpose() * B))

    def held(self, B: Any, dependence: Dependence | None = None) -> Any:
        """sum_j b_j'A0 b_j: what the information held adds to the bound.

        Parameters
        ----------
        B : flint.arb_mat
            Rows b_j.
        dependence : Dependence, optional
            Where the rows are in the coordinates J of the range.

        Returns
        -------
        flint.arb
            A ball; zero where nothing is held.
        """
        A0 = self.exact.prior_balls()
        if A0 is None:
            return ball(0.0)
        return sum(quadratic_forms(A0 if dependence is None else _block(A0, dependence.chosen), B), ball(0.0))

    def largest_sensitivity(self, arms: ExactRows, F: Floats, S: Any) -> float:
        """h_W of q_i = x_i'Sx_i / p_i with S = FF' exactly.

        Parameters
        ----------
        arms : ExactRows
            The arms x_i.
        F : array of shape (d, k)
            Doubles, for the screen.
        S : flint.arb_mat
            The same product in balls.

        Returns
        -------
        float
            A double from above.
        """
        price = self.exact.price
        bounds = row_bounds(arms, np.ascontiguousarray(F)) * price.upper(arms.n) * (1.0 + 8 * UNIT)
        if not self.weight_set.is_simplex:
            return weighted_maximum(self.weight_set, bounds)

        def values(index: Indices) -> list[Any]:
            return [q * p for q, p in zip(quadratic_forms(S, arms.balls(index)), price.balls(index))]

        return largest_row(bounds, values).high

    # ------------------------------------------------------------------ what criteria ask for

    @property
    def noun(self) -> str:
        """What a target is called."""
        return str(getattr(self.canonical.problem.targets, "noun", "item"))

    def rows(self, matrix: Floats) -> ExactRows:
        """The rows of a matrix of doubles, read exactly.

        Parameters
        ----------
        matrix : array of shape (k, d)
            Doubles.

        Returns
        -------
        ExactRows
            Each double as the rational number it is.
        """
        return ExactRows(ArrayArms(np.ascontiguousarray(matrix)))

    def worst_target(self, design: _Design) -> tuple[float, float]:
        """The largest v_j'A^-1v_j.

        Parameters
        ----------
        design : EnclosedDesign
            A design, read exactly.

        Returns
        -------
        tuple of float
            From below and from above.
        """
        found = _worst_target(self.exact, design)
        return found.low, found.high

    def volume(self, design: _Design) -> Any:
        """log det of the map from the coordinates J to an orthonormal basis of the range.

        Parameters
        ----------
        design : EnclosedDesign
            A design, read exactly.

        Returns
        -------
        flint.arb
            A ball; zero where the arms span.
        """
        return ball(0.0) if design.dependence is None else _logarithm(design.dependence.volume())

    def unreached_arm(self, design: _Design) -> bool:
        """Whether an arm that may have weight lies outside the span of what is measured.

        Parameters
        ----------
        design : EnclosedDesign
            A design, read exactly.

        Returns
        -------
        bool
            False where the design measures all coordinates.
        """
        dependence = design.dependence
        return dependence is not None and dependence.first_outside(self.exact.arms, self._allowed) is not None

    @cached_property
    def _moments(self) -> dict[int, Moments]:
        """M by the bits it is read in."""
        return {}

    def moments(self, design: _Design) -> Moments | None:
        """M of an average variance.

        Parameters
        ----------
        design : EnclosedDesign
            A design, read exactly.

        Returns
        -------
        Moments or None
            None where the design does not measure M.
        """
        moments = self._moments.get(bits())
        if moments is None:
            moments = read_moments(self.canonical.problem, design.dependence, self._scale)
            if moments is None:
                self._refuse_moments()
            else:
                self._moments[bits()] = moments
        if moments is None or (design.dependence is not None and not design.dependence.holds_for(moments.rows)):
            return None
        return moments

    def _refuse_moments(self) -> None:
        problem = self.canonical.problem
        if problem.moments is not None:
            if self._whole_span is not None and read_moments(problem, self._whole_span, self._scale) is None:
                raise InputError("M, read exactly, leaves the span of the arms, so that no design has a finite average")
            return
        self.refuse_outside(self.exact.vectors, self.noun)


@dataclass(frozen=True, eq=False)
class _Design:
    """A on coordinates J in balls, doubles F there with A^-1 <= FF' growth, and how the other coordinates depend."""

    A: Any
    inverse: Any
    F: Floats
    growth: float
    dependence: Dependence | None

    @property
    def rank(self) -> int:
        return int(self.A.nrows())

    def functional(self, F: Floats) -> Floats:
        """F'x as a function of x_J alone."""
        return F if self.dependence is None else self.dependence.functional(F)

    def on(self, rows: ExactRows) -> ExactRows:
        """Vectors in the coordinates J."""
        return rows if self.dependence is None else rows.restricted(self.dependence.chosen)

    def first_outside(self, rows: ExactRows) -> int | None:
        """A vector that the measured arms do not span exactly, or None."""
        return None if self.dependence is None else self.dependence.first_outside(rows)


def _information(exact: ExactProblem, weights: ExactWeights, dependence: Dependence | None) -> Any:
    from flint import arb, arb_mat

    columns = np.arange(exact.arms.d) if dependence is None else dependence.chosen
    rows = exact.arms.restricted(columns)
    d = columns.size
    A = arb_mat(d, d)
    parts = weights.balls()
    for start in range(0, weights.index.size, BLOCK):
        index = weights.index[start : start + BLOCK]
        X = rows.balls(index)
        effort = [w * p for w, p in zip(parts[start : start + BLOCK], exact.price.balls(index))]
        scaled = arb_mat([[e * x for x in row] for e, row in zip(effort, X.tolist())])
        A += X.transpose() * scaled
    A = A / sum(parts, arb(0))
    A0 = exact.prior_balls()
    return A if A0 is None else A + _block(A0, columns)


def _block(matrix: Any, columns: Indices) -> Any:
    from flint import arb_mat

    entries = matrix.tolist()
    return arb_mat(columns.size, columns.size, [entries[a][b] for a in columns.tolist() for b in columns.tolist()])


def _growth(A: Any, F: Floats) -> float:
    """1 / (1 - |F'AF - I|), rounded up: A^-1 <= FF' times this; infinite where F is not good enough to tell."""
    if not np.isfinite(F).all():
        return np.inf
    B = ball_matrix(F)
    K = B.transpose() * A * B
    r = F.shape[1]
    squares = sum(((K[a, b] - (1 if a == b else 0)) ** 2 for a in range(r) for b in range(r)), ball(0.0))
    off = squares.sqrt()
    return up(1 / (1 - off)) if up(off) < 0.5 else np.inf


def _root_of_inverse(A: Any) -> Floats:
    """Doubles F with FF' ~ A^-1, through a Cholesky factor in balls."""
    L = cholesky(A)
    if L is None:
        return np.zeros((A.nrows(), 0))
    return midpoints(L.inv().transpose())


def _logarithm(fraction: Any) -> Any:
    from flint import arb

    return arb(fraction).log()


def _worst_target(exact: ExactProblem, design: _Design) -> Largest:
    rows = design.on(exact.vectors)

    def pairs(first: Indices, second: Indices) -> list[Any]:
        return quadratic_forms(design.inverse, rows.balls(first) - rows.balls(second))

    if exact.pairs:
        return largest_pair(rows, design.F, design.growth, pairs)
    with np.errstate(invalid="ignore"):
        bounds = row_bounds(rows, design.F) * design.growth * (1.0 + 8 * UNIT)
    bounds[np.isnan(bounds)] = np.inf
    scale = exact.scale
    if scale is not None:
        with np.errstate(invalid="ignore"):
            bounds = bounds * scale.upper() * (1.0 + 8 * UNIT)
        bounds[np.isnan(bounds)] = np.inf
    if exact.no_target is not None:
        bounds[exact.no_target] = -1.0

    def values(index: Indices) -> list[Any]:
        forms = quadratic_forms(design.inverse, rows.balls(index))
        return forms if scale is None else [f * s for f, s in zip(forms, scale.balls(index))]

    return largest_row(bounds, values)


def _is_tight(criterion: Criterion, proof: Proof) -> bool:
    """Whether the enclosure has all the digits of a double but for a few; also where it is infinite on both ends."""
    if proof.low == proof.high:
        return True
    size = 1.0 if criterion.logarithmic else abs(proof.high)
    return bool(proof.high - proof.low <= WIDE * size)
