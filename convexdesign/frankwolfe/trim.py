"""Weights with the crumbs removed: arms whose loss cannot matter to the certificate."""

from __future__ import annotations

import numpy as np

from convexdesign.typing import Floats

__all__ = ["trimmed"]


def trimmed(weights: Floats, leverages: Floats, allowance: float) -> Floats:
    """The weights (k,), renormalised, without those of least l_i = w_i y_i'A^-1y_i as long as these sum to the allowance.

    Removing arms of total delta = sum l_i leaves A' >= (1 - delta) A, because y y' <= (y'A^-1y) A; so no variance grows
    by more than the factor 1 / (1 - delta), whatever the target.
    """
    if leverages.min() > allowance:
        return weights
    order = np.argsort(leverages, kind="stable")
    gone = order[np.cumsum(leverages[order]) <= allowance]
    kept = weights.copy()
    kept[gone] = 0.0
    # With much information held, no arm may matter: then all weights are crumbs, and stay.
    return np.asarray(kept / kept.sum()) if kept.any() else weights
