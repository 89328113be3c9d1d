"""A problem restated in other coordinates u = W'y, read from the data with twice the digits.

No criterion depends on the coordinates in which arms and targets are written, if both change together: v'A^+v is
(W'v)'(W'AW)^+(W'v) for every W invertible on the range of the arms, log det A changes by a constant, and lambda_min(A) is the
largest l for which W'AW - l W'W is psd, with W' for the aim. So an ill-conditioned problem becomes a well-conditioned one
whose numbers are right to their last places; weights, numbers of arms and targets and their names are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from convexdesign.arms.groups import repeat_per_response
from convexdesign.arms.source import Arms, ArrayArms, LiftedArms, ScaledArms
from convexdesign.problem.compensated import congruence, difference, product, product_error
from convexdesign.problem.pairs import PairTargets
from convexdesign.problem.prior_information import prior_exactly
from convexdesign.problem.psd import psd_root, root_of_moments
from convexdesign.problem.targets import Targets, VectorTargets
from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    from convexdesign.problem.problem import DesignProblem

__all__ = ["as_given", "lifted_map", "precise_rows", "restate"]


# Up to this many entries the new rows are held; beyond, they are made block by block for every pass.
MOST_ENTRIES = 2**22


def precise_rows(arms: Arms, basis: Floats, index: Indices) -> Floats:
    """W'y for the arms at the indices, right to the last place, responses below one another (k, r).

    Where arms are others divided by their noise, these are read, and not the quotients, which are rounded.
    """
    if isinstance(arms, ScaledArms):
        scale = arms.scale.take(index)
        image = product(arms.arms.take(index), basis)
        return np.asarray(image * repeat_per_response(scale, image)[:, None])
    return product(arms.take(index), basis)


def as_given(problem: DesignProblem, index: Indices) -> tuple[Floats, ...]:
    """Rows that span what the arms at the indices and the information held do, as they were given, in any units.

    They are the sum of the parts: products of two doubles, as in phi(x), take two doubles.
    """
    arms = _unscaled(problem.arms)
    if problem.prior is not None and problem.prior_rows is not None:
        index = np.append(index, _counted(problem))
    lifted = problem.stated.lifted and problem.arms.d == _lifted_width(problem)
    parts: tuple[Floats, ...] = _in_parts(problem.stated.arms.source.take(index)) if lifted else (arms.take(index),)
    if problem.prior is None or problem.prior_rows is not None:
        return parts
    matrix = np.asarray(problem.stated.prior_information, dtype=float)
    return np.vstack([parts[0], matrix]), *(np.vstack([part, np.zeros_like(matrix)]) for part in parts[1:])


def _unscaled(arms: Arms) -> Arms:
    return arms.arms if isinstance(arms, ScaledArms) else arms


def _counted(problem: DesignProblem) -> Indices:
    """The arms whose counts make up the information held."""
    return np.flatnonzero(np.asarray(problem.stated.existing_counts, dtype=float))


def _lifted_width(problem: DesignProblem) -> int:
    d = problem.stated.arms.d
    return int(d * (d + 1) // 2)


def _in_parts(rows: Floats) -> tuple[Floats, Floats]:
    """phi(x) of every row x as doubles and what they are short of it."""
    first, second = np.triu_indices(rows.shape[1])
    twice = np.where(first == second, 1.0, 2.0)
    left, right = rows[:, first], rows[:, second]
    return left * right * twice, product_error(left, right) * twice


def lifted_map(W: Floats) -> Floats:
    """S with phi(W'x) = S'phi(x) for every x: what coordinates of x are for those of phi(x)."""
    i, j = np.triu_indices(W.shape[0])
    a, b = np.triu_indices(W.shape[1])
    mixed = np.where((i != j)[:, None], W[j][:, a] * W[i][:, b], 0.0)
    return np.asarray(
        (W[i][:, a] * W[j][:, b] + mixed) * np.where(a == b, 1.0, 2.0) / np.where(i == j, 1.0, 2.0)[:, None]
    )


def _lifted_image(rows: Floats, *, basis: Floats) -> Floats:
    """W'phi(x) for every row x, from phi in twice the digits."""
    return product(np.hstack(_in_parts(rows)), np.vstack([basis, basis]))


def restate(problem: DesignProblem, basis: Floats) -> DesignProblem | None:
    """The problem in the coordinates W (d, r); None where its targets are of a kind that cannot be written in others."""
    lifted = None
    if problem.stated.lifted:
        lifted = _mapped(problem.stated.arms.source, partial(_lifted_image, basis=basis), basis.shape[1])
    targets = _targets(problem.targets, basis, lifted)
    if targets is None:
        return None
    other = copy(problem)
    put = object.__setattr__  # a frozen value, filled in one place
    put(other, "arms", _arms(problem.arms, basis, lifted))
    put(other, "targets", targets)
    if problem.moments is not None:
        put(other, "moments", congruence(basis, problem.moments))
    put(other, "contrast_matrix", _aim(other, problem, basis))
    if problem.prior_rows is not None:
        pulled = None if lifted is None else ArrayArms(lifted.take(_counted(problem)))
        put(other, "prior_rows", _arms(problem.prior_rows, basis, pulled))
        put(other, "prior", _sum_of_squares(_arms(problem.prior_rows, basis, pulled)))
    elif problem.prior is not None:
        put(other, "prior", prior_exactly(problem, basis))
        put(other, "divisor", 1.0)
    return other


def _arms(arms: Arms, basis: Floats, lifted: Arms | None = None) -> Arms:
    if isinstance(arms, ScaledArms):
        return ScaledArms(_arms(arms.arms, basis, lifted), arms.scale)
    return _rows(arms, basis) if lifted is None else lifted


def _rows(rows: Arms, basis: Floats, origin: Floats | None = None) -> Arms:
    """W'(x - o) for every row x."""
    return _mapped(rows, partial(_image, basis=basis, origin=origin), basis.shape[1])


def _mapped(rows: Arms, image: Callable[[Floats], Floats], r: int) -> Arms:
    if rows.n * rows.responses * rows.d > MOST_ENTRIES:
        return LiftedArms(rows, image, r)
    return ArrayArms(image(rows.take(np.arange(rows.n))), rows.names, rows.responses)


def _image(rows: Floats, *, basis: Floats, origin: Floats | None) -> Floats:
    if origin is None:
        return product(rows, basis)
    return product(difference(rows, origin), np.vstack([basis, basis]))


def _targets(targets: Targets, basis: Floats, lifted: Arms | None) -> Targets | None:
    if isinstance(targets, VectorTargets):
        other = copy(targets)
        other.source = _rows(targets.source, basis, targets.offset) if lifted is None else lifted
        other.offset = None
        return other
    if isinstance(targets, PairTargets):
        # Differences keep their digits only if what items have in common goes first.
        items = np.asarray(targets.items, dtype=float)
        return PairTargets(_image(items, basis=basis, origin=items[0]), targets.called)
    return None


def _sum_of_squares(rows: Arms) -> Floats:
    Y = rows.take(np.arange(rows.n))
    return np.asarray(Y.T @ Y)


def _aim(other: DesignProblem, problem: DesignProblem, basis: Floats) -> Floats:
    """The contrast matrix L of the criterion in the new coordinates, from what it was made of where it was rounded."""
    if problem.stated.region is not None:
        return root_of_moments(_rows(problem.stated.region.source, basis))
    if other.moments is not None:
        return np.asarray(psd_root(other.moments).T)
    return product(np.ascontiguousarray(problem.contrast_matrix.T), basis).T
