"""Sources of arms: what a solver may ask of the vectors that can be measured, without holding them twice.

A solver asks for the rows of single arms, for the largest of the quadratic forms |F'y_i|^2 and where it is, and for one thing
more: a pass, the same small function of every block of rows. Where the rows lie, in memory, in a file, in a function that
makes them or on a cluster, is the source's affair alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.groups import repeat_per_response, rows_of_arms, sum_per_arm
from convexdesign.arms.monomial import times
from convexdesign.typing import Floats, Indices

__all__ = [
    "Arms",
    "ArrayArms",
    "FiniteArms",
    "LiftedArms",
    "ScaledArms",
    "block_rows",
    "largest",
    "per_arm",
    "quadratic_rows",
]

T = TypeVar("T")

# Rows per block such that a block and its image stay in the processor's cache.
BLOCK_BYTES = 2**19


@runtime_checkable
class Arms(Protocol):
    """n arms of r responses each, in R^d: arms x_i divided by sqrt(noise variance x cost), or any other vectors.

    One shape for all: an arm is r rows that come together, and the rows of several arms lie below one another (`groups`).
    Ordinary arms, r = 1, are their rows.
    """

    @property
    def names(self) -> Sequence[str] | None: ...

    @property
    def n(self) -> int: ...

    @property
    def d(self) -> int: ...

    @property
    def responses(self) -> int: ...

    def take(self, index: Indices) -> Floats:
        """The rows of the arms at the indices (k,), shape (k r, d)."""
        ...

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        """(start, function(rows, *parts)) of every block of arms, in order.

        rows (k r, d) begin with those of arm `start`; each vector `along` (n,) is cut as the arms are. The function runs
        where the rows lie, so only what it returns is moved; it must be picklable and must not change its arguments.
        """
        ...

    def quadratic(self, factor: Floats) -> Floats:
        """|F'y_i|^2 for every arm, the sum over its rows, shape (n,); F has shape (d, k)."""
        ...

    def largest(self, factor: Floats, k: int = 1) -> tuple[Indices, Floats]:
        """The k arms with the largest |F'y_i|^2, largest first, and these values; fewer if there are fewer."""
        ...


class FiniteArms:
    """What sources of finitely many arms have in common: all that they are asked comes from passes."""

    n: int
    d: int
    responses: int = 1

    def take(self, index: Indices) -> Floats:
        """See `Arms.take`."""
        raise NotImplementedError

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        """See `Arms.map`."""
        raise NotImplementedError

    def quadratic(self, factor: Floats) -> Floats:
        """The sums over each arm's rows of y'Cy, C = factor factor', for all arms.

        Parameters
        ----------
        factor : array, shape (d, k)
            Any factor of C.

        Returns
        -------
        array, shape (n,)
            The quadratic forms.
        """
        return per_arm(self, partial(quadratic_rows, factor=factor, responses=self.responses))

    def largest(self, factor: Floats, k: int = 1) -> tuple[Indices, Floats]:
        """The arms with the largest y'Cy, C = factor factor', and these values, largest first.

        Parameters
        ----------
        factor : array, shape (d, k)
            Any factor of C.
        k : int, optional
            How many arms; fewer if there are fewer.

        Returns
        -------
        index : array of int, shape (k,)
            The arms.
        values : array, shape (k,)
            Their quadratic forms.
        """
        return largest(self.quadratic(factor), k)


class ArrayArms(FiniteArms):
    """Arms held in one array of rows (n r, d), possibly float32 or a memory map, read block by block and never copied."""

    def __init__(self, rows: NDArray[Any], names: Sequence[str] | None = None, responses: int = 1):
        self.rows = np.asarray(rows)  # slices of np.memmap itself are slow to make
        self.names = names
        self.responses = responses
        self.n, self.d = self.rows.shape[0] // responses, self.rows.shape[1]

    def take(self, index: Indices) -> Floats:
        return np.asarray(self.rows.take(rows_of_arms(index, self.responses), axis=0), dtype=float)

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        r = self.responses
        step = max(1, block_rows(self.d) // r)
        for start in range(0, self.n, step):
            part = self.rows[start * r : (start + step) * r]
            yield start, function(np.asarray(part, dtype=float), *(vector[start : start + step] for vector in along))

    def quadratic(self, factor: Floats) -> Floats:
        return quadratic_rows(self.rows, factor, responses=self.responses)


class ScaledArms(FiniteArms):
    """y_i = s_i x_i for the arms x_i of another source; scale s (n,)."""

    def __init__(self, arms: Arms, scale: Floats):
        self.arms = arms
        self.scale = scale
        self.names = arms.names
        self.n, self.d, self.responses = arms.n, arms.d, arms.responses

    def take(self, index: Indices) -> Floats:
        return _scaled(self.arms.take(index), self.scale.take(index))

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        return self.arms.map(partial(_on_scaled_rows, function), self.scale, *along)

    def quadratic(self, factor: Floats) -> Floats:
        out = self.arms.quadratic(factor)
        out *= self.scale
        out *= self.scale
        return out


class LiftedArms(FiniteArms):
    """f(x) for every row x of another source, never stored; f maps rows (k, d') to rows (k, d)."""

    def __init__(self, arms: Arms, lift: Callable[[Floats], Floats], d: int):
        self.arms = arms
        self.lift = lift
        self.names = arms.names
        self.n, self.d, self.responses = arms.n, d, arms.responses

    def take(self, index: Indices) -> Floats:
        return self.lift(self.arms.take(index))

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        return self.arms.map(partial(_on_lifted_rows, function, self.lift), *along)

    def __repr__(self) -> str:
        return f"{self.lift.__name__} of {self.arms!r}"


def _scaled(rows: Floats, scale: Floats) -> Floats:
    return np.asarray(rows * repeat_per_response(scale, rows)[:, None])


def _on_scaled_rows(function: Callable[..., T], rows: Floats, scale: Floats, *parts: Floats) -> T:
    return function(_scaled(rows, scale), *parts)


def _on_lifted_rows(function: Callable[..., T], lift: Callable[[Floats], Floats], rows: Floats, *parts: Floats) -> T:
    return function(lift(rows), *parts)


def per_arm(arms: Arms | FiniteArms, function: Callable[..., Floats], *along: Floats) -> Floats:
    """The numbers function(rows, *parts) (k,) of every block of arms, put together to a vector (n,)."""
    out = np.empty(arms.n)
    for start, values in arms.map(function, *along):
        out[start : start + values.size] = values
    return out


def block_rows(d: int) -> int:
    """How many rows of d doubles make one block."""
    return max(256, BLOCK_BYTES // (8 * d))


def quadratic_rows(rows: NDArray[Any], factor: Floats, origin: Floats | None = None, responses: int = 1) -> Floats:
    """|F'(x - o)|^2 for every row x (n r, d), block by block, summed over each arm's; the origin o (d,) is zero by default."""
    out = np.empty(rows.shape[0])
    step = block_rows(rows.shape[1])
    for start in range(0, out.size, step):
        block = rows[start : start + step]
        image = times(block if origin is None else block - origin, factor)
        np.einsum("ij,ij->i", image, image, out=out[start : start + step])
    return sum_per_arm(out, responses)


def largest(values: Floats, k: int) -> tuple[Indices, Floats]:
    """The indices of the k largest entries, largest first, and the entries."""
    if k == 1:
        top = np.array([np.argmax(values)])
    elif k >= values.size:
        top = np.argsort(-values, kind="stable")
    else:
        top = np.argpartition(-values, k - 1)[:k]
        top = top[np.argsort(-values[top], kind="stable")]
    return top, values[top]
