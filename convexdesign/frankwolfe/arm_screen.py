"""The screen over all arms of a problem, in whitened coordinates, and the pool that a first choice is made from."""

from __future__ import annotations

import numpy as np

from convexdesign.frankwolfe.screen import FEW_ENTRIES, Screen
from convexdesign.frankwolfe.working_set import WorkingSet, spanning
from convexdesign.problem import Canonical

__all__ = ["arm_pool", "arm_screen"]


def arm_screen(canonical: Canonical, *, pass_first: bool = False) -> Screen:
    """Prices |F'u_i|^2 over all arms. Few arms are all in its front; of many, a sample or, by a pass, the outstanding ones.

    The sample is the one that the canonical form was found from. pass_first spends a pass at the coarse design, which
    finds the arms of high leverage and, unless the optimum looks very different, is the only one needed.
    """
    arms, basis, coarse = canonical.problem.arms, canonical.basis, canonical.coarse
    few = arms.n * arms.d <= FEW_ENTRIES
    front = np.arange(arms.n) if few else coarse[:0] if pass_first else coarse
    screen = Screen(lambda F: arms.quadratic(basis @ F), canonical.whiten_arms, arms.n, front)
    if pass_first and not few:
        screen.price(np.eye(canonical.rank), 0.0)
    return screen


def arm_pool(canonical: Canonical, screen: Screen) -> WorkingSet:
    """The front, and arms that span: those of high leverage need not, since a direction may be known by quiet arms alone."""
    front = WorkingSet(screen.front, screen.vectors)
    if front.size == canonical.problem.arms.n:
        return front
    anchors = canonical.coarse[spanning(canonical.whiten_arms(canonical.coarse))]
    missing = np.setdiff1d(anchors, front.index)
    vectors = np.concatenate([front.vectors, canonical.whiten_arms(missing)])
    return WorkingSet(np.concatenate([front.index, missing]), vectors)
