"""A problem restated in other coordinates u = W'y, read from the data with twice the digits.

No criterion depends on the coordinates in which arms and targets are written, if both change together: v'A^+v is
(W'v)'(W'AW)^+(W'v) for every W invertible on the range of the arms, log det A changes by a constant, and lambda_min(A) is the
largest l for which W'AW - l W'W is psd, with W' for the aim. So an ill-conditioned problem becomes a well-conditioned one
whose numbers are right to their last places; weights, numbers of arms and targets and their names are the same.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from convexdesign.problem.arms import Arms, ArrayArms, LiftedArms, ScaledArms
from convexdesign.problem.compensated import congruence, difference, product
from convexdesign.problem.moments import root_of_moments
from convexdesign.problem.pairs import PairTargets
from convexdesign.problem.psd import psd_root
from convexdesign.problem.responses import ResponseArms, stacked
from convexdesign.problem.targets import Targets, VectorTargets
from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    from convexdesign.problem.problem import DesignProblem

__all__ = ["as_given", "precise_rows", "restate"]


# Up to this many entries the new rows are held; beyond, they are made block by block for every pass.
MOST_ENTRIES = 2**22


def precise_rows(arms: Arms, basis: Floats, index: Indices) -> Floats:
    """W'y for the arms at the indices, right to the last place, responses below one another (k, r).

    Where arms are others divided by their noise, these are read, and not the quotients, which are rounded.
    """
    if isinstance(arms, ScaledArms):
        scale = arms.scale.take(index)
        image = product(stacked(arms.arms.take(index)), basis)
        return np.asarray(image * np.repeat(scale, len(image) // max(scale.size, 1))[:, None])
    return product(stacked(arms.take(index)), basis)


def as_given(problem: DesignProblem, index: Indices) -> Floats:
    """Rows that span what the arms at the indices and the information held do, as they were given, in any units."""
    arms = problem.arms.arms if isinstance(problem.arms, ScaledArms) else problem.arms
    rows = stacked(arms.take(index))
    return rows if problem.prior is None else np.vstack([rows, problem.prior])


def restate(problem: DesignProblem, basis: Floats) -> DesignProblem | None:
    """The problem in the coordinates W (d, r); None where its targets are of a kind that cannot be written in others."""
    targets = _targets(problem.targets, basis)
    if targets is None:
        return None
    other = copy(problem)
    put = object.__setattr__  # a frozen value, filled in one place
    put(other, "arms", _arms(problem.arms, basis))
    put(other, "targets", targets)
    put(other, "aim", _aim(problem, basis))
    put(other, "prior", None if problem.prior is None else congruence(basis, problem.prior))
    return other


def _arms(arms: Arms, basis: Floats) -> Arms:
    if isinstance(arms, ScaledArms):
        return ScaledArms(_arms(arms.arms, basis), arms.scale)
    if isinstance(arms, ResponseArms):
        shape = (*arms.rows.shape[:2], basis.shape[1])
        return ResponseArms(product(stacked(arms.rows), basis).reshape(shape), arms.names)
    return _rows(arms, basis)


def _rows(rows: Arms, basis: Floats, origin: Floats | None = None) -> Arms:
    """W'(x - o) for every row x."""
    image = partial(_image, basis=basis, origin=origin)
    if rows.n * rows.d > MOST_ENTRIES:
        return LiftedArms(rows, image, basis.shape[1])
    return ArrayArms(image(rows.take(np.arange(rows.n))), rows.names)


def _image(rows: Floats, *, basis: Floats, origin: Floats | None) -> Floats:
    if origin is None:
        return product(rows, basis)
    return product(difference(rows, origin), np.vstack([basis, basis]))


def _targets(targets: Targets, basis: Floats) -> Targets | None:
    if isinstance(targets, VectorTargets):
        other = copy(targets)
        other.source, other.offset = _rows(targets.source, basis, targets.offset), None
        return other
    if isinstance(targets, PairTargets):
        # Differences keep their digits only if what items have in common goes first.
        items = np.asarray(targets.items, dtype=float)
        return PairTargets(_image(items, basis=basis, origin=items[0]), targets.names)
    return None


def _aim(problem: DesignProblem, basis: Floats) -> Floats:
    """The aim L of the criterion in the new coordinates, from what it was made of where it was rounded."""
    if problem.kind == "i-optimal":
        return root_of_moments(_rows(problem.inputs["region"].source, basis))
    if problem.kind == "average-variance":
        return np.asarray(psd_root(congruence(basis, problem.inputs["M"])).T)
    return product(np.ascontiguousarray(problem.aim.T), basis).T
