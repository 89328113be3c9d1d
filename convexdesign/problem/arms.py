"""Arms as an oracle: what a solver may ask of the vectors that can be measured, without holding them twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arms", "ArrayArms"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows per block such that a block and its image stay in the processor's cache.
BLOCK_BYTES = 2**19


@runtime_checkable
class Arms(Protocol):
    """The rows y_i = x_i / sqrt(noise variance x cost), i < n, in R^d.

    Everything a solver needs is a pass over them with a small matrix; the vectors themselves may lie in memory,
    in a file, or be made block by block.
    """

    names: tuple[str, ...] | None

    @property
    def n(self) -> int: ...

    @property
    def d(self) -> int: ...

    def take(self, index: Indices) -> Floats:
        """The rows y_i at the indices, shape (k, d)."""
        ...

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """All rows in order, as pairs (first index, rows)."""
        ...

    def quadratic(self, factor: Floats) -> Floats:
        """|F'y_i|^2 for every arm, shape (n,); F has shape (d, k)."""
        ...


class ArrayArms:
    """Arms held in one array (n, d), possibly float32 or a memory map; scale (n,) multiplies the rows."""

    def __init__(self, rows: NDArray[Any], scale: Floats | None = None, names: tuple[str, ...] | None = None):
        self.rows = rows
        self.scale = scale
        self.names = names

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    @property
    def d(self) -> int:
        return int(self.rows.shape[1])

    def take(self, index: Indices) -> Floats:
        rows = np.asarray(self.rows.take(index, axis=0), dtype=float)
        return rows if self.scale is None else rows * self.scale.take(index)[:, None]

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        step = block_rows(self.d)
        for start in range(0, self.n, step):
            rows = np.asarray(self.rows[start : start + step], dtype=float)
            yield start, rows if self.scale is None else rows * self.scale[start : start + step, None]

    def quadratic(self, factor: Floats) -> Floats:
        out = quadratic_rows(self.rows, factor)
        if self.scale is not None:
            out *= self.scale
            out *= self.scale
        return out


def block_rows(d: int) -> int:
    """How many rows of d doubles make one block."""
    return max(256, BLOCK_BYTES // (8 * d))


def quadratic_rows(rows: NDArray[Any], factor: Floats) -> Floats:
    """|F'x|^2 for every row x, block by block."""
    n = rows.shape[0]
    out = np.empty(n)
    step = block_rows(rows.shape[1])
    for start in range(0, n, step):
        image = rows[start : start + step] @ factor
        np.einsum("ij,ij->i", image, image, out=out[start : start + step])
    return out
