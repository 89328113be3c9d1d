"""A design problem as a value: arms, targets, criterion, noise; and a constructor for every classical kind."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import numeric, real, shown
from convexdesign.arms.labels import COORDINATES, Labelled, in_order, place_of_term, places_of_term
from convexdesign.arms.read import LabelledVectors, read_alike, read_arms, read_rows, read_vector
from convexdesign.arms.source import Arms, LiftedArms, ScaledArms
from convexdesign.deprecation import deprecated
from convexdesign.errors import InputError
from convexdesign.features import phi
from convexdesign.problem.common import Common, read_common, spelt_out, with_common_parameters
from convexdesign.problem.continuum import Continuum, over_continuum, takes_continuum
from convexdesign.problem.coordinates import rank_of
from convexdesign.problem.criterion import Criterion
from convexdesign.problem.gaps import gaps_to_best, name_of, score_rounding, scores
from convexdesign.problem.pairs import PairTargets
from convexdesign.problem.psd import psd_root, read_psd, root_of_moments
from convexdesign.problem.stated import Stated
from convexdesign.problem.targets import ResponseTargets, Targets, VectorTargets
from convexdesign.problem.weights import WeightSet
from convexdesign.typing import Floats

__all__ = ["DesignProblem"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class DesignProblem:
    """min over w in W of max_j v_j' A(w)^+ v_j, with A(w) = sum_i w_i x_i x_i' / noise_variance_i.

    `DesignProblem(arms, targets)` is the general form; the class methods build the classical kinds. The problem never
    changes after it is built.

    Parameters
    ----------
    arms : array_like, shape (n, d) or (n, d, r)
        What can be measured, a row each: an array, a list, a pandas or polars DataFrame, whose row labels become names,
        and for arms that do not fit into memory a memory map, `BlockArms` (made by a function) or a Dask array. With r
        responses, numbers that one measurement returns at once, (n, d, r) or a list of matrices X_i (d, r_i), a column
        per response.
    targets : array_like, shape (m, d)
        The combinations v_j of the coefficients whose values v_j'theta are wanted, in any form that arms take.

    Raises
    ------
    InputError
        For data of a wrong shape or value, naming the entry at fault and the remedy.

    Notes
    -----
    With several responses A(w) = sum_i w_i X_i S_i^-1 X_i', S_i the covariance of an arm's noise. Every kind but
    variance_g_optimal takes them; kinds that compare or rank arms need `items`. What is labelled (a Series, a
    DataFrame, a dict) is put into the order of the arms' names or, for prior_information, of their columns' names,
    where they have names; labels that differ from these are an error.

    References
    ----------
    Weltz et al. (2023), sections 2 and 4; Pukelsheim, Optimal Design of Experiments (2006); for several responses
    Fedorov, Theory of Optimal Experiments (1972), and Sagnol (2011).

    Examples
    --------
    >>> import convexdesign as cd
    >>> p = cd.DesignProblem([[1.0, 0.0], [0.0, 1.0]], targets=[[1.0, -1.0]], noise_variance=[1.0, 4.0])
    >>> round(cd.solve(p).value, 6)
    9.0

    Two instruments read both coordinates at once, with noise of correlation 0.5 and of none; the difference is wanted:

    >>> both = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
    >>> noise = [[[1.0, 0.5], [0.5, 1.0]], [[0.75, 0.0], [0.0, 0.75]]]
    >>> p = cd.DesignProblem(both, targets=[[1.0, -1.0]], noise_variance=noise)
    >>> d = cd.solve(p)
    >>> round(d.value, 6), d.weights.round(3).tolist()
    (1.0, [1.0, 0.0])
    """

    kind: str
    criterion: Criterion
    arms: Arms
    targets: Targets
    contrast_matrix: Floats
    moments: Floats | None
    noise_variance: Floats | None
    costs: Floats | None
    prior: Floats | None
    prior_rows: ScaledArms | None
    divisor: float
    weight_set: WeightSet
    stated: Stated
    rows: LabelledVectors

    def __new__(cls, arms: Any = None, *args: Any, **keywords: Any) -> DesignProblem:
        """The problem; over a region (`model.over(region)`) the region's own."""
        if isinstance(arms, Continuum):
            return over_continuum("DesignProblem", arms, ("targets",), args, keywords)
        return super().__new__(cls)

    @spelt_out
    def __init__(self, arms: ArrayLike | Any, targets: ArrayLike | Any, **common: Unpack[Common]):
        rows = read_arms(arms)
        aims = read_alike(rows, targets, "targets")
        self._build(
            "minimax",
            Criterion.MINIMAX,
            rows,
            VectorTargets(aims.source, aims.called),
            common,
            Stated(rows, targets=aims),
        )

    def _build(
        self,
        kind: str,
        criterion: Criterion,
        rows: LabelledVectors,
        targets: Targets,
        common: Common,
        stated: Stated,
        contrast_matrix: Floats | None = None,
    ) -> None:
        read = read_common(rows, common)
        put = object.__setattr__  # the one place where a frozen value is filled
        put(self, "kind", kind)
        put(self, "criterion", criterion)
        put(self, "arms", read.arms)
        put(self, "targets", targets)
        put(self, "contrast_matrix", np.empty((rows.d, 0)) if contrast_matrix is None else contrast_matrix)
        put(self, "moments", stated.M)
        put(self, "noise_variance", read.noise_variance)
        put(self, "costs", read.costs)
        put(self, "prior", read.prior)
        put(self, "prior_rows", read.prior_rows)
        put(self, "divisor", read.divisor)
        put(self, "weight_set", read.weight_set)
        put(self, "stated", replace(stated, **read.given))
        put(self, "rows", rows)

    @classmethod
    def _make(cls, kind: str, *args: Any) -> DesignProblem:
        problem = cls.__new__(cls)
        problem._build(kind, *args)
        return problem

    def capped(self, most: Floats) -> DesignProblem:
        """The same problem with upper bounds on the weights.

        Parameters
        ----------
        most : array, shape (n,)
            The largest weight of each arm.

        Returns
        -------
        DesignProblem
            Everything else as it is.
        """
        other = copy(self)
        object.__setattr__(other, "weight_set", replace(self.weight_set, upper=most))
        object.__setattr__(other, "stated", replace(self.stated, max_weight=most))
        return other

    # ------------------------------------------------------------------ kinds

    @classmethod
    @takes_continuum
    @spelt_out
    def g_optimal(cls, arms: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem:
        """min over w of max_i x_i' A(w)^+ x_i: the worst predictive variance over the arms themselves.

        With one common variance s^2 the value is s^2 rank(X); with unequal ones it is not. For arms with several
        responses it is the worst variance of any response, max_ik x_ik' A(w)^+ x_ik over all columns x_ik: every
        response of every arm is predicted.

        Parameters
        ----------
        arms : array_like, shape (n, d) or (n, d, r)
            The arms, which are the targets as well.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        References
        ----------
        Kiefer and Wolfowitz, The equivalence of two extremum problems (1960).

        Examples
        --------
        >>> import convexdesign as cd
        >>> round(cd.solve(cd.DesignProblem.g_optimal([[1, 0], [0, 1]], noise_variance=[1.0, 3.0])).value, 6)
        4.0
        """
        rows = read_arms(arms)
        targets = _own_targets(rows)
        return cls._make("g-optimal", Criterion.MINIMAX, rows, targets, common, Stated(rows))

    @classmethod
    @takes_continuum
    @spelt_out
    def variance_g_optimal(cls, arms: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem:
        """G-optimal design over phi(x) = D' vec(xx'), with which x'Sx = phi(x)' vech(S) is linear in S.

        Used to estimate how variance depends on the arm.

        Parameters
        ----------
        arms : array_like, shape (n, d)
            The arms, of which phi has d(d+1)/2 coordinates.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        Raises
        ------
        InputError
            For arms with several responses: phi(x) models the variance of one.

        References
        ----------
        Weltz et al. (2023), section 3.

        Examples
        --------
        >>> import convexdesign as cd
        >>> round(cd.solve(cd.DesignProblem.variance_g_optimal([[1, 0], [0, 1], [1, 1]])).value, 6)
        3.0
        """
        rows = read_arms(arms)
        if rows.responses > 1:
            raise InputError(
                f"the arms have {rows.responses} responses each; phi(x) models the variance of one response: pass one vector "
                "per arm, (n, d), such as those of one response"
            )
        lifted = _lifted(rows)
        targets = VectorTargets(lifted.source, rows.called, noun="arm")
        return cls._make("variance-g-optimal", Criterion.MINIMAX, lifted, targets, common, Stated(rows, lifted=True))

    @classmethod
    @takes_continuum
    @spelt_out
    def xy_allocation(
        cls,
        arms: ArrayLike | Any,
        items: ArrayLike | Any | None = None,
        **common: Unpack[Common],
    ) -> DesignProblem:
        """min over w of max over z != z' of (z - z')' A(w)^+ (z - z'): tell items apart.

        Differences are never stored.

        Parameters
        ----------
        arms : array_like, shape (n, d) or (n, d, r)
            The arms.
        items : array_like, shape (k, d), optional
            What is compared; the arms themselves by default.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        Raises
        ------
        InputError
            Where there are fewer than two items.

        References
        ----------
        Soare, Lazaric and Munos (2014); Fiez et al. (2019); Weltz et al. (2023), section 4.

        Examples
        --------
        >>> import convexdesign as cd
        >>> round(cd.solve(cd.DesignProblem.xy_allocation([[1, 0], [0, 1]])).value, 6)
        4.0
        """
        rows, items = _arms_and_items(arms, items)
        if items.n < 2:
            raise InputError("items has one row; an XY-allocation needs at least two items to tell apart")
        targets = PairTargets(items.array("XY-allocation compares every two items"), items.called)
        return cls._make("xy-allocation", Criterion.MINIMAX, rows, targets, common, Stated(rows, items=items))

    @classmethod
    @takes_continuum
    @spelt_out
    def level_set_allocation(
        cls,
        arms: ArrayLike | Any,
        items: ArrayLike | Any | None = None,
        **common: Unpack[Common],
    ) -> DesignProblem:
        """min over w of max_z z' A(w)^+ z: estimate the value of every item.

        Parameters
        ----------
        arms : array_like, shape (n, d) or (n, d, r)
            The arms.
        items : array_like, shape (k, d), optional
            What is estimated; the arms themselves by default.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        References
        ----------
        Weltz et al. (2023), section 4.

        Examples
        --------
        >>> import convexdesign as cd
        >>> round(cd.solve(cd.DesignProblem.level_set_allocation([[1, 0], [0, 1]], items=[[1, 1]])).value, 6)
        4.0
        """
        rows, items = _arms_and_items(arms, items)
        targets = VectorTargets(items.source, items.called, noun="item")
        return cls._make("level-set-allocation", Criterion.MINIMAX, rows, targets, common, Stated(rows, items=items))

    @classmethod
    @takes_continuum
    @spelt_out
    def best_arm_oracle(
        cls,
        arms: ArrayLike | Any,
        items: ArrayLike | Any | None = None,
        *,
        theta: ArrayLike | Any,
        **common: Unpack[Common],
    ) -> DesignProblem:
        """psi* = min over w of max over z != z* of |z* - z|^2_{A(w)^+} / ((z* - z)' theta)^2, z* = argmax z'theta.

        The allocation one would use if theta were known; psi* is the complexity of identifying the best item.

        Parameters
        ----------
        arms : array_like, shape (n, d) or (n, d, r)
            The arms.
        items : array_like, shape (k, d), optional
            What is ranked; the arms themselves by default.
        theta : array_like, shape (d,)
            The coefficients, taken as known.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        Raises
        ------
        InputError
            When the best item is not unique, naming the tie.

        References
        ----------
        Weltz et al. (2023), section 4.

        Examples
        --------
        >>> import convexdesign as cd
        >>> round(cd.solve(cd.DesignProblem.best_arm_oracle([[1, 0], [0, 1]], theta=[1.0, 0.5])).value, 4)
        16.0
        """
        rows, items = _arms_and_items(arms, items)
        theta = read_vector(theta, "theta", rows.d, rows.columns, COORDINATES)
        gaps, best = gaps_to_best(items, theta)
        factor = np.zeros_like(gaps)
        np.divide(-1.0, gaps, out=factor, where=np.arange(gaps.size) != best)
        targets = VectorTargets(
            items.source,
            items.called,
            noun="item",
            offset=items.source.take(np.array([best]))[0],
            factor=factor,
        )
        stated = Stated(rows, items=items, theta=theta)
        return cls._make("best-arm-oracle", Criterion.MINIMAX, rows, targets, common, stated)

    @classmethod
    @takes_continuum
    @spelt_out
    def level_set_oracle(
        cls,
        arms: ArrayLike | Any,
        items: ArrayLike | Any | None = None,
        *,
        theta: ArrayLike | Any,
        threshold: float,
        **common: Unpack[Common],
    ) -> DesignProblem:
        """psi* = min over w of max_z |z|^2_{A(w)^+} / (z'theta - threshold)^2.

        The allocation one would use to find {z : z'theta > threshold} if theta were known.

        Parameters
        ----------
        arms : array_like, shape (n, d) or (n, d, r)
            The arms.
        items : array_like, shape (k, d), optional
            What is placed above or below; the arms themselves by default.
        theta : array_like, shape (d,)
            The coefficients, taken as known.
        threshold : float
            In the units of the outcome.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        Raises
        ------
        InputError
            When an item lies exactly on the threshold.

        References
        ----------
        Weltz et al. (2023), appendix (all items, not only those above the threshold).

        Examples
        --------
        >>> import convexdesign as cd
        >>> p = cd.DesignProblem.level_set_oracle([[1, 0], [0, 1]], theta=[1.0, 0.0], threshold=0.5)
        >>> round(cd.solve(p).value, 4)
        8.0
        """
        rows, items = _arms_and_items(arms, items)
        theta = read_vector(theta, "theta", rows.d, rows.columns, COORDINATES)
        if not np.isfinite(real(threshold)):
            raise InputError(f"threshold is {shown(threshold)}; give a finite number in the units of the outcome")
        threshold = real(threshold)
        distance = scores(items, theta) - threshold
        met = np.flatnonzero(np.abs(distance) <= score_rounding(items, theta) + 4e-16 * abs(threshold))
        if met.size:
            raise InputError(
                f"{name_of(items, met[0], 'item')} lies exactly on the threshold {threshold:g}: no number of "
                "measurements can place it; move the threshold or remove the item"
            )
        targets = VectorTargets(items.source, items.called, noun="item", factor=1.0 / distance)
        stated = Stated(rows, items=items, theta=theta, threshold=threshold)
        return cls._make("level-set-oracle", Criterion.MINIMAX, rows, targets, common, stated)

    @classmethod
    @takes_continuum
    @spelt_out
    def c_optimal(cls, arms: ArrayLike | Any, direction: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem:
        """min over w of c' A(w)^+ c: the variance of the best estimate of one combination c'theta.

        Its square root is min |h|_1 subject to sum_i h_i y_i = c.

        Parameters
        ----------
        arms : array_like, shape (n, d) or (n, d, r)
            The arms.
        direction : array_like, shape (d,), or str
            The combination c, or the name of one coordinate.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        Raises
        ------
        InputError
            Where direction is zero.

        References
        ----------
        Elfving, Optimum allocation in linear regression theory (1952).

        Examples
        --------
        >>> import convexdesign as cd
        >>> round(cd.solve(cd.DesignProblem.c_optimal([[1, 0], [0, 1]], [1, 1])).value, 6)
        4.0
        """
        rows = read_arms(arms)
        if isinstance(direction, str):
            direction = np.eye(rows.d)[_coordinate(direction, rows, "direction")]
        direction = read_vector(direction, "direction", rows.d, rows.columns, COORDINATES)
        if not direction.any():
            raise InputError("direction is zero: there is nothing to estimate; give a nonzero combination of theta")
        targets = VectorTargets(
            direction[None, :], partial(_called_by_terms, direction[:, None], rows), noun="direction"
        )
        return cls._make("c-optimal", Criterion.MINIMAX, rows, targets, common, Stated(rows, direction=direction))

    @classmethod
    @takes_continuum
    @spelt_out
    def d_optimal(cls, arms: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem:
        """max over w of log det A(w), on the range of the arms: the smallest confidence ellipsoid for theta.

        Where the arms do not span R^d, the determinant is that of A restricted to their range, taken in an orthonormal
        basis of it.

        Parameters
        ----------
        arms : array_like, shape (n, d) or (n, d, r)
            The arms.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        Examples
        --------
        >>> import convexdesign as cd
        >>> round(cd.solve(cd.DesignProblem.d_optimal([[1, 0], [0, 1]])).value, 6)
        -1.386294
        """
        rows = read_arms(arms)
        targets = _own_targets(rows)
        return cls._make("d-optimal", Criterion.D, rows, targets, common, Stated(rows))

    @classmethod
    @takes_continuum
    @spelt_out
    def ds_optimal(cls, arms: ArrayLike | Any, interest: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem:
        """max over w of log det (K'A(w)^-K)^-1: the smallest ellipsoid for the parameters of interest K'theta alone.

        The other parameters are nuisance. For all coordinates it is D-optimality. The certificate's proof is in
        `certificate`.

        Parameters
        ----------
        arms : array_like, shape (n, d) or (n, d, r)
            The arms.
        interest : sequence of int or str, or array_like of shape (d, s)
            Indices (or names, where the arms' columns have names) of the coordinates of interest, or the matrix K.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        Raises
        ------
        InputError
            For coordinates that do not exist, and for a matrix K without full column rank.

        Examples
        --------
        >>> import convexdesign as cd
        >>> d = cd.solve(cd.DesignProblem.ds_optimal([[1, -2], [1, 0], [1, 2]], interest=[1]))
        >>> round(d.value, 5), d.weights.round(3).tolist()
        (1.38629, [0.5, 0.0, 0.5])
        """
        rows = read_arms(arms)
        K = _interest(interest, rows)
        targets = VectorTargets(
            np.ascontiguousarray(K.T), partial(_called_by_terms, K, rows), noun="combination of interest"
        )
        return cls._make("ds-optimal", Criterion.DS, rows, targets, common, Stated(rows, interest=K), K)

    @classmethod
    @takes_continuum
    @spelt_out
    def a_optimal(cls, arms: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem:
        """min over w of tr A(w)^-1: the average variance of the coefficients.

        It depends on the units of the coordinates.

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
        >>> round(cd.solve(cd.DesignProblem.a_optimal([[1, 0], [0, 1]])).value, 6)
        4.0
        """
        return cls.of_coefficients("a-optimal", Criterion.AVERAGE, arms, **common)

    @classmethod
    @takes_continuum
    @spelt_out
    def i_optimal(cls, arms: ArrayLike | Any, region: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem:
        """min over w of the mean over points v of the region of v'A(w)^+ v: the average predictive variance.

        Also called V- or Q-optimality.

        Parameters
        ----------
        arms : array_like, shape (n, d) or (n, d, r)
            The arms.
        region : array_like, shape (k, d)
            The points at which predictions are wanted, one row each.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        Examples
        --------
        >>> import convexdesign as cd
        >>> round(cd.solve(cd.DesignProblem.i_optimal([[1, 0], [0, 1]], region=[[1, 0], [0, 1]])).value, 6)
        2.0
        """
        rows = read_arms(arms)
        points = read_alike(rows, region, "region")
        targets = VectorTargets(points.source, points.called, noun="point")
        contrast_matrix = root_of_moments(points.source)
        return cls._make(
            "i-optimal", Criterion.AVERAGE, rows, targets, common, Stated(rows, region=points), contrast_matrix
        )

    @classmethod
    @takes_continuum
    @spelt_out
    def average_variance(cls, arms: ArrayLike | Any, M: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem:
        """min over w of tr(A(w)^+ M) for a positive semidefinite M: L-optimality.

        M = I is A-optimality, second moments of a region I-optimality, cc' c-optimality.

        Parameters
        ----------
        arms : array_like, shape (n, d) or (n, d, r)
            The arms.
        M : array_like, shape (d, d)
            Positive semidefinite, in units of the coordinates squared.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        Raises
        ------
        InputError
            Where M is zero, not symmetric or not positive semidefinite.

        Examples
        --------
        >>> import convexdesign as cd
        >>> round(cd.solve(cd.DesignProblem.average_variance([[1, 0], [0, 1]], [[4, 0], [0, 1]])).value, 6)
        9.0
        """
        rows = read_arms(arms)
        matrix = read_psd(M, "M", rows.d, rows.columns)
        if not matrix.any():
            raise InputError("M is zero: there is nothing to estimate; give a nonzero matrix")
        contrast_matrix = psd_root(matrix).T
        targets = VectorTargets(
            np.ascontiguousarray(contrast_matrix.T),
            partial(_called_by_terms, contrast_matrix, rows),
            noun="direction of M, number",
        )
        return cls._make(
            "average-variance", Criterion.AVERAGE, rows, targets, common, Stated(rows, M=matrix), contrast_matrix
        )

    @classmethod
    @takes_continuum
    @spelt_out
    def e_optimal(cls, arms: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem:
        """max over w of lambda_min(A(w)): the smallest worst variance over combinations of length one.

        It depends on the units of the coordinates.

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
        >>> round(cd.solve(cd.DesignProblem.e_optimal([[1, 0], [0, 2]])).value, 6)
        0.8
        """
        return cls.of_coefficients("e-optimal", Criterion.E, arms, **common)

    @classmethod
    @spelt_out
    def of_coefficients(
        cls, kind: str, criterion: Criterion, arms: ArrayLike | Any, **common: Unpack[Common]
    ) -> DesignProblem:
        """A problem whose criterion is a function of the covariance A(w)^-1 of all coefficients: A, E and those of one's own.

        Parameters
        ----------
        kind : str
            What the problem is called, a key of the table of kinds.
        criterion : Criterion
            What is optimised; `convexdesign.criteria` knows all about it.
        arms : array_like, shape (n, d) or (n, d, r)
            The arms, which must span R^d.

        Returns
        -------
        DesignProblem
            The problem, for `solve` and `verify`.

        Examples
        --------
        >>> import convexdesign as cd
        >>> from convexdesign.problem import Criterion
        >>> cd.DesignProblem.of_coefficients("a-optimal", Criterion.AVERAGE, [[1, 0], [0, 1]])
        DesignProblem(a-optimal: 2 arms in R^2, 2 targets)
        """
        rows = read_arms(arms)
        targets = VectorTargets(np.eye(rows.d), rows.column_called, noun="coefficient")
        return cls._make(kind, criterion, rows, targets, common, Stated(rows), np.eye(rows.d))

    if TYPE_CHECKING:
        # What criteria bring along is attached by `convexdesign.criteria`, where a type checker does not see it.

        @staticmethod
        def phi2_optimal(arms: ArrayLike | Any, **common: Unpack[Common]) -> DesignProblem: ...

    # ------------------------------------------------------- several problems

    @classmethod
    def compound(cls, problems: Sequence[DesignProblem], weights: ArrayLike | None = None) -> DesignProblem:
        """max over w of sum_j a_j log Phi_j(A_j(w)): the weighted geometric mean of the information for several problems.

        Parameters
        ----------
        problems : sequence of DesignProblem
            D-, D_s-, A-, I-, c-, E-optimal, average variance, or worst variances (G, XY, level sets, explicit targets), all
            over the same list of arms or one region. Phi_j is det^(1/d), one over the variance, or the least eigenvalue.
        weights : array_like, optional
            The a_j, positive, divided by their sum; equal by default.

        Returns
        -------
        DesignProblem
            The compound problem, for `solve`.

        Examples
        --------
        >>> import convexdesign as cd
        >>> arms = [[1, -1, 1], [1, 0, 0], [1, 1, 1]]
        >>> both = [cd.DesignProblem.d_optimal(arms), cd.DesignProblem.a_optimal(arms)]
        >>> cd.solve(cd.DesignProblem.compound(both, weights=[0.7, 0.3])).weights.round(3).tolist()
        [0.295, 0.41, 0.295]
        """
        made: DesignProblem = import_module("convexdesign.compound.problem").make_compound(problems, weights, False)
        return made

    @classmethod
    def maximin(cls, problems: Sequence[DesignProblem]) -> DesignProblem:
        """max over w of min_j Phi_j(A_j(w)) / Phi_j*: the least efficiency for several problems, each against its best.

        Parameters
        ----------
        problems : sequence of DesignProblem
            As for `compound`.

        Returns
        -------
        DesignProblem
            The maximin problem, for `solve`.

        Examples
        --------
        >>> import convexdesign as cd
        >>> arms = [[1, -1, 1], [1, 0, 0], [1, 1, 1]]
        >>> both = [cd.DesignProblem.d_optimal(arms), cd.DesignProblem.a_optimal(arms)]
        >>> design = cd.solve(cd.DesignProblem.maximin(both))
        >>> round(design.value, 4), [round(float(e), 4) for e in design.efficiencies]
        (0.9805, [0.9805, 0.9805])
        """
        made: DesignProblem = import_module("convexdesign.compound.problem").make_compound(problems, None, True)
        return made

    # ------------------------------------------------------------- properties

    @property
    @deprecated(since="0.2", removed="0.4", instead="problem.stated, whose fields are typed")
    def inputs(self) -> Mapping[str, Any]:
        """The constructor's arguments by name; of variance_g_optimal the arms as given are called source."""
        arguments = self.stated.arguments()
        return (
            arguments if self.rows is self.stated.arms else arguments | {"arms": self.rows, "source": self.stated.arms}
        )

    @property
    def n_new(self) -> float | None:
        """The number of new measurements planned beside information held; None where nothing is held."""
        return self.stated.n_new

    @property
    def n_arms(self) -> int:
        """The number n of arms."""
        return self.arms.n

    @property
    def responses(self) -> int:
        """How many responses one measurement of an arm has; 1 for ordinary arms."""
        return self.rows.responses

    @property
    def is_kiefer_wolfowitz(self) -> bool:
        """Whether the targets are exactly a common multiple of the y_i, so that the optimal value is s^2 rank."""
        if self.responses > 1:
            return False  # the theorem is on tr(X_i'A^-1X_i), not on the worst response
        if self.kind not in ("g-optimal", "variance-g-optimal") or self.prior is not None or self.costs is not None:
            return False
        variance = self.noise_variance
        return self.weight_set.is_simplex and (variance is None or bool(np.all(variance == variance[0])))

    @property
    def common_variance(self) -> float:
        """s^2 where all arms share one noise variance."""
        return 1.0 if self.noise_variance is None else float(self.noise_variance[0])

    def effort(self, counts: Floats) -> Floats:
        """What counts of measurements amount to in the units of the weights: themselves, or with costs their price.

        Parameters
        ----------
        counts : array, shape (n,)
            Measurements of each arm.

        Returns
        -------
        array, shape (n,)
            Counts, times costs where the problem has any.
        """
        return counts if self.costs is None else counts * self.costs

    def arm_name(self, index: int) -> str:
        """What a user calls this arm: its label, or the settings it was made of ("a=-1, b=2"), or else "arm 3".

        Parameters
        ----------
        index : int
            The arm, counted from 0.

        Returns
        -------
        str
            Its name.
        """
        return self.rows.called(index)

    def __repr__(self) -> str:
        noise = "" if self.noise_variance is None else ", noise per arm"
        responses = f" with {self.rows.how_many}" if self.responses > 1 else ""
        return f"DesignProblem({self.kind}: {self.arms.n} arms in R^{self.arms.d}{responses}, {self.targets.m} targets{noise})"


DesignProblem.__doc__ = with_common_parameters(DesignProblem.__doc__)


# What the constructor takes is what its __init__ says; __new__ only looks whether the arms are a list.
setattr(  # noqa: B010
    DesignProblem,
    "__signature__",
    inspect.signature(DesignProblem.__init__).replace(
        parameters=[p for p in inspect.signature(DesignProblem.__init__).parameters.values() if p.name != "self"]
    ),
)


def _arms_and_items(arms: Any, items: Any | None) -> tuple[LabelledVectors, LabelledVectors]:
    rows = read_arms(arms)
    if items is None and rows.responses > 1:
        raise InputError(
            f"the arms have {rows.responses} responses each and are no items; say which vectors to compare: items= (k, d)"
        )
    return rows, rows if items is None else read_alike(rows, items, "items")


def _called_by_terms(K: Floats, rows: LabelledVectors, index: int, noun: str) -> str:
    """What the combination in a column of K is called: by its terms where the coordinates have names."""
    only = np.count_nonzero(K[:, index]) == 1
    return f"{noun} {index}" if rows.columns is None and not only else rows.combination(K[:, index])


def _own_targets(rows: LabelledVectors) -> VectorTargets:
    """The arms themselves as targets, or every response of theirs."""
    if rows.responses > 1:
        return ResponseTargets(rows)
    return VectorTargets(rows.source, rows.called, noun="arm")


def _lifted(rows: LabelledVectors) -> LabelledVectors:
    """phi of every row: an array for an array in memory, made block by block for a map or an oracle."""
    if isinstance(rows.held, np.ndarray) and not isinstance(rows.held, np.memmap):
        return LabelledVectors(phi(rows.held), rows.names)
    return LabelledVectors(LiftedArms(rows.source, phi, rows.d * (rows.d + 1) // 2), rows.names)


def _interest(interest: Any, rows: LabelledVectors) -> Floats:
    """K (d, s) of full column rank, from indices or names of coordinates or from a matrix."""
    d = rows.d
    if isinstance(interest, str):
        interest = [interest]
    if hasattr(interest, "columns") and not isinstance(interest, np.ndarray):
        table = read_rows(interest, "interest")
        interest = in_order(Labelled(table.values, table.names), "interest", rows.columns, COORDINATES)
    elif isinstance(interest, (list, tuple)) or hasattr(interest, "to_list"):
        listed = list(interest)
        if any(isinstance(entry, str) for entry in listed):
            interest = [place for name in listed for place in _coordinates(name, rows)]
    K = numeric(interest, "interest")
    if K.ndim == 1:
        if K.size == 0 or K.dtype.kind not in "iu" or K.min() < 0 or K.max() >= d or np.unique(K).size < K.size:
            raise InputError(
                f"interest is {K[:20].tolist()}; give different indices between 0 and {d - 1}, names of coordinates, or a "
                "matrix (d, s)"
            )
        return np.asarray(np.eye(d)[:, K])
    matrix = np.asarray(read_rows(K, "interest").values, dtype=float)
    if matrix.shape[0] != d:
        raise InputError(f"interest must have one row per coordinate ({d}), got shape {matrix.shape}")
    if rank_of(matrix) < matrix.shape[1]:
        raise InputError("the columns of interest are linearly dependent: their ellipsoid would be flat; drop one")
    return matrix


def _coordinates(name: Any, rows: LabelledVectors) -> list[int]:
    """The indices of the coordinates of interest called by a name: one, or those of all levels of a category."""
    found = [] if rows.columns is None else places_of_term(str(name), rows.columns)
    return found or [_coordinate(name, rows)]


def _coordinate(name: Any, rows: LabelledVectors, what: str = "interest") -> int:
    """The index of a coordinate called by its name."""
    if rows.columns is None:
        raise InputError(f"{what} names {name!r}, but the coordinates of the arms have no names; give indices")
    found = place_of_term(str(name), rows.columns)
    if found is None:
        raise InputError(f"{what} names {name!r}, but the coordinates of the arms are {', '.join(rows.columns)}")
    return found
