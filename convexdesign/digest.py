"""Fingerprints of arrays: of their shape and of their numbers, wherever these are held."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["array_digest"]

BLOCK_ENTRIES = 2**19


def array_digest(values: NDArray[Any], *, short: bool = False) -> str:
    """SHA-256, or a BLAKE2b of 16 bytes, over the shape and the numbers as little-endian doubles, read block by block."""
    plain = np.asarray(values)
    code = hashlib.blake2b(digest_size=16) if short else hashlib.sha256()
    code.update(repr(plain.shape).encode())
    rows = plain if plain.ndim else plain[None]
    step = max(1, BLOCK_ENTRIES // max(rows[:1].size, 1))
    for start in range(0, rows.shape[0], step):
        code.update(np.ascontiguousarray(rows[start : start + step], dtype="<f8").tobytes())
    return code.hexdigest()
