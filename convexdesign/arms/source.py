"""Arms as an oracle: what a solver may ask of the vectors that can be measured, without holding them twice.

A solver asks for single rows and for one thing more: a pass, the same small function of every block of rows. Where the
rows lie, in memory, in a file, in a function that makes them or on a cluster, is the oracle's affair alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from convexdesign.typing import Floats, Indices

__all__ = ["Arms", "ArrayArms", "LiftedArms", "ScaledArms", "block_rows", "per_row", "quadratic_rows"]

T = TypeVar("T")

# Rows per block such that a block and its image stay in the processor's cache.
BLOCK_BYTES = 2**19


@runtime_checkable
class Arms(Protocol):
    """The rows y_i, i < n, in R^d: arms x_i divided by sqrt(noise variance x cost), or any other vectors.

    An arm with several responses is a group of rows (r, d): then `take` and `map` give groups (k, r, d), and `quadratic`
    sums over each.
    """

    @property
    def names(self) -> Sequence[str] | None: ...

    @property
    def n(self) -> int: ...

    @property
    def d(self) -> int: ...

    def take(self, index: Indices) -> Floats:
        """The rows y_i at the indices, shape (k, d)."""
        ...

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        """(start, function(rows, *parts)) of every block of rows, in order.

        rows (k, d) begin with row `start`; each vector `along` (n,) is cut as the rows are. The function runs where the
        rows lie, so only what it returns is moved; it must be picklable and must not change its arguments.
        """
        ...

    def quadratic(self, factor: Floats) -> Floats:
        """|F'y_i|^2 for every arm, shape (n,); F has shape (d, k)."""
        ...


class ArrayArms:
    """Arms held in one array (n, d), possibly float32 or a memory map, which is read block by block and never copied."""

    def __init__(self, rows: NDArray[Any], names: Sequence[str] | None = None):
        self.rows = np.asarray(rows)  # slices of np.memmap itself are slow to make
        self.names = names

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    @property
    def d(self) -> int:
        return int(self.rows.shape[1])

    def take(self, index: Indices) -> Floats:
        return np.asarray(self.rows.take(index, axis=0), dtype=float)

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        step = block_rows(self.d)
        for start in range(0, self.n, step):
            part = slice(start, start + step)
            yield start, function(np.asarray(self.rows[part], dtype=float), *(vector[part] for vector in along))

    def quadratic(self, factor: Floats) -> Floats:
        return quadratic_rows(self.rows, factor)


class ScaledArms:
    """y_i = s_i x_i for the rows x_i of other arms; scale s (n,)."""

    def __init__(self, arms: Arms, scale: Floats):
        self.arms = arms
        self.scale = scale

    @property
    def names(self) -> Sequence[str] | None:
        return self.arms.names

    @property
    def n(self) -> int:
        return self.arms.n

    @property
    def d(self) -> int:
        return self.arms.d

    def take(self, index: Indices) -> Floats:
        rows = self.arms.take(index)
        scale = self.scale.take(index)
        return rows * (scale[:, None] if rows.ndim == 2 else scale[:, None, None])

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        return self.arms.map(partial(_on_scaled_rows, function), self.scale, *along)

    def quadratic(self, factor: Floats) -> Floats:
        out = self.arms.quadratic(factor)
        out *= self.scale
        out *= self.scale
        return out


class LiftedArms:
    """f(x_i) for the rows x_i of other arms, never stored; f maps rows (k, d') to rows (k, d)."""

    def __init__(self, arms: Arms, lift: Callable[[Floats], Floats], d: int):
        self.arms = arms
        self.lift = lift
        self.d = d

    @property
    def names(self) -> Sequence[str] | None:
        return self.arms.names

    @property
    def n(self) -> int:
        return self.arms.n

    def take(self, index: Indices) -> Floats:
        return self.lift(self.arms.take(index))

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        return self.arms.map(partial(_on_lifted_rows, function, self.lift), *along)

    def quadratic(self, factor: Floats) -> Floats:
        return per_row(self, partial(quadratic_rows, factor=factor))

    def __repr__(self) -> str:
        return f"{self.lift.__name__} of {self.arms!r}"


def _on_scaled_rows(function: Callable[..., T], rows: Floats, scale: Floats, *parts: Floats) -> T:
    return function(rows * (scale[:, None] if rows.ndim == 2 else scale[:, None, None]), *parts)


def _on_lifted_rows(function: Callable[..., T], lift: Callable[[Floats], Floats], rows: Floats, *parts: Floats) -> T:
    return function(lift(rows), *parts)


def per_row(arms: Arms, function: Callable[..., Floats], *along: Floats) -> Floats:
    """The numbers function(rows, *parts) (k,) of every block, put together to a vector (n,)."""
    out = np.empty(arms.n)
    for start, values in arms.map(function, *along):
        out[start : start + values.size] = values
    return out


def block_rows(d: int) -> int:
    """How many rows of d doubles make one block."""
    return max(256, BLOCK_BYTES // (8 * d))


def quadratic_rows(rows: NDArray[Any], factor: Floats, origin: Floats | None = None) -> Floats:
    """|F'(x - o)|^2 for every row x (n, d), block by block; the origin o (d,) is zero by default."""
    n = rows.shape[0]
    out = np.empty(n)
    step = block_rows(rows.shape[1])
    for start in range(0, n, step):
        block = rows[start : start + step]
        image = (block if origin is None else block - origin) @ factor
        np.einsum("ij,ij->i", image, image, out=out[start : start + step])
    return out
