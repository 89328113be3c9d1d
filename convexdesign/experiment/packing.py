"""Columns of numbers inside JSON: short where rows are few, packed and exact where they are a million."""

from __future__ import annotations

from base64 import b64encode
from binascii import a2b_base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation import Observations
from convexdesign.typing import Counts

__all__ = ["packed_numbers", "packed_pulls", "packed_summary", "unpacked_numbers", "unpacked_pulls", "unpacked_summary"]


def packed_numbers(values: NDArray[Any], dtype: str) -> str:
    """Numbers as base64 of their little-endian bytes; dtype "<i4" or "<f8"."""
    return b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


def unpacked_numbers(text: str, dtype: str) -> NDArray[Any]:
    """The numbers that `packed_numbers` gave, bit for bit."""
    return np.frombuffer(a2b_base64(text), dtype=dtype)


def packed_pulls(counts: Counts) -> dict[str, list[int]]:
    """Whole numbers per arm (n,), only where they are not zero."""
    arms = np.flatnonzero(counts != 0)
    return {"arms": arms.tolist(), "pulls": counts[arms].tolist()}


def unpacked_pulls(record: dict[str, Any], n_arms: int) -> Counts:
    """The counts (n,) that `packed_pulls` gave."""
    counts = np.zeros(n_arms, dtype=np.int64)
    counts[np.asarray(record["arms"], dtype=np.intp)] = record["pulls"]
    return counts


def packed_summary(observations: Observations) -> dict[str, list[Any]]:
    """Counts, means and sums of squares, only of the arms with pulls."""
    arms = np.flatnonzero(observations.count != 0)
    columns = {name: getattr(observations, name)[arms].tolist() for name in ("count", "mean", "m2")}
    return {"arms": arms.tolist()} | columns


def unpacked_summary(record: dict[str, Any], n_arms: int) -> Observations:
    """The observations of n arms that `packed_summary` gave, bit for bit."""
    arms = np.asarray(record["arms"], dtype=np.intp)
    count = np.zeros(n_arms, dtype=np.int64)
    mean, m2 = np.zeros(n_arms), np.zeros(n_arms)
    count[arms], mean[arms], m2[arms] = record["count"], record["mean"], record["m2"]
    return Observations(count, mean, m2)
