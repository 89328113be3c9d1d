"""Matrices read off multipliers: the psd matrix that prices the information A(w), and its root."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexdesign.typing import Floats

__all__ = ["price_of_information", "psd_root"]


def price_of_information(multiplier: Any, r: int) -> Floats:
    """The psd matrix Q with <Q, A> = multiplier of the lower triangle of A, as `information` defines it; nan if unset.

    The triangle holds each off-diagonal entry once, so its multiplier is twice the entry of Q. The sign of an equality's
    multiplier is a convention; that of Q is not.
    """
    Q = np.full((r, r), np.nan)
    if multiplier is None:
        return Q
    row, col = np.tril_indices(r)
    Q[row, col] = np.ravel(multiplier) * np.where(row == col, 1.0, 0.5)
    Q[col, row] = Q[row, col]
    return Q if np.trace(Q) >= 0 else -Q


def psd_root(Q: Floats) -> Floats:
    """The symmetric root of Q, negative eigenvalues (a solver's rounding) taken as zero; nan where Q is."""
    if not np.all(np.isfinite(Q)):
        return np.full_like(Q, np.nan)
    values, axes = np.linalg.eigh((Q + Q.T) / 2)
    return np.asarray((axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T)
