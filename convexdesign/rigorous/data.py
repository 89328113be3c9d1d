"""Arms and targets read exactly: doubles for quick screening with a proven error, balls for the final word.

A double is a dyadic rational, and so are x_a x_b in phi(x) and z - z'. The factors 1/gap of the oracles are rational
functions of the doubles given (items, theta, threshold), not the rounded numbers a solver works with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from convexdesign.arms.source import Arms
from convexdesign.balls import ball, ball_matrix
from convexdesign.features import phi
from convexdesign.typing import Floats, Indices

__all__ = ["UNIT", "ExactRows", "Price", "Scale", "exact_rationals"]


# Rounding to nearest changes a number by at most this share of the result.
UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class ExactRows:
    """Vectors x_i - o of R^d, or phi(x_i), for rows of doubles.

    source: the rows x_i in R^e as given; offset o (e,) or None; lifted: whether the vector is phi(x_i), then
    d = e(e+1)/2. columns: which coordinates count, None for all (a set on which the rest depends linearly).
    """

    source: Arms
    offset: Floats | None = None
    lifted: bool = False
    columns: Indices | None = None

    @property
    def n(self) -> int:
        return self.source.n

    @property
    def d(self) -> int:
        if self.columns is not None:
            return int(self.columns.size)
        e = self.source.d
        return e * (e + 1) // 2 if self.lifted else e

    @property
    def relative_error(self) -> float:
        """Every entry of `floats` is within this share of itself of the exact one."""
        return UNIT if self.lifted or self.offset is not None else 0.0

    def restricted(self, columns: Indices) -> ExactRows:
        """The same vectors in some of their coordinates."""
        return ExactRows(self.source, self.offset, self.lifted, columns)

    def map(self, function: Callable[..., Floats], *along: Floats) -> Floats:
        """function(rows, ...) over all rows as doubles rounded once per entry, block by block; results joined, (n,).

        Vectors `along` (n,) are cut as the rows are.
        """
        out = np.empty(self.n)
        prepared = partial(_on_floats, function, self.offset, self.lifted, self.columns)
        for start, values in self.source.map(prepared, *along):
            out[start : start + len(values)] = values
        return out

    def floats(self) -> Floats:
        """All vectors as doubles, rounded once per entry, (n, d)."""
        rows = self.source.take(np.arange(self.n))
        return _on_floats(np.asarray, self.offset, self.lifted, self.columns, rows)

    def balls(self, index: Indices) -> Any:
        """The vectors at the indices as a matrix of exact balls."""
        rows = self.rationals_or_balls(index, ball)
        from flint import arb_mat

        return arb_mat(len(index), self.d, [entry for row in rows for entry in row])

    def rationals(self, index: Indices) -> list[list[Any]]:
        """The vectors at the indices as exact fractions (fmpq)."""
        return self.rationals_or_balls(index, _fraction)

    def whole(self, index: Indices) -> tuple[list[list[int]], list[int]]:
        """The vectors at the indices in whole numbers, and per coordinate the power of two they were multiplied by."""
        x = self.source.take(index)
        known = x if self.offset is None else np.vstack([x, self.offset])
        shifts = _shifts(known)
        rows = _shifted(x, shifts)
        if self.offset is not None:
            (o,) = _shifted(self.offset[None, :], shifts)
            rows = [[a - b for a, b in zip(row, o)] for row in rows]
        if self.lifted:
            first, second = np.triu_indices(x.shape[1])
            pairs = list(zip(first.tolist(), second.tolist()))
            rows = [[row[a] * row[b] * (1 if a == b else 2) for a, b in pairs] for row in rows]
            shifts = [shifts[a] + shifts[b] for a, b in pairs]
        if self.columns is not None:
            keep = self.columns.tolist()
            rows, shifts = [[row[c] for c in keep] for row in rows], [shifts[c] for c in keep]
        return rows, shifts

    def rationals_or_balls(self, index: Indices, number: Any) -> list[list[Any]]:
        x = self.source.take(index)
        rows = [[number(v) for v in row] for row in x.tolist()]
        if self.offset is not None:
            o = [number(v) for v in self.offset.tolist()]
            rows = [[a - b for a, b in zip(row, o)] for row in rows]
        if self.lifted:
            first, second = np.triu_indices(x.shape[1])
            pairs = list(zip(first.tolist(), second.tolist()))
            rows = [[row[a] * row[b] * (1 if a == b else 2) for a, b in pairs] for row in rows]
        if self.columns is not None:
            rows = [[row[c] for c in self.columns.tolist()] for row in rows]
        return rows


def _on_floats(
    function: Callable[..., Floats],
    offset: Floats | None,
    lifted: bool,
    columns: Indices | None,
    rows: Floats,
    *along: Floats,
) -> Floats:
    x = rows if offset is None else rows - offset
    if lifted:
        x = phi(x)  # one product per entry; doubling is exact
    return function(x if columns is None else x[:, columns], *along)


def _shifts(values: Floats) -> list[int]:
    """For each column the least k with 2^k times every entry a whole number."""
    size, power = np.frexp(values)
    digits = np.ldexp(size, 53).astype(np.int64)
    lowest = np.frexp((digits & -digits).astype(float))[1] - 1  # the place of the last bit that is set
    needed = np.where(digits == 0, -(2**30), 53 - power - lowest)
    least: list[int] = needed.max(axis=0, initial=-(2**30)).tolist()
    return [0 if k == -(2**30) else k for k in least]


def _shifted(values: Floats, shifts: list[int]) -> list[list[int]]:
    """The rows times 2^shift in every column, exactly."""
    size, power = np.frexp(values)
    digits = np.ldexp(size, 53).astype(np.int64)
    places = power - 53 + np.array(shifts)
    return [[m << k if k >= 0 else m >> -k for m, k in zip(*row)] for row in zip(digits.tolist(), places.tolist())]


def _fraction(x: float) -> Any:
    from flint import fmpq

    return fmpq(*x.as_integer_ratio())


def exact_rationals(values: Floats) -> list[list[Any]]:
    """A matrix of doubles as exact fractions."""
    return [[_fraction(v) for v in row] for row in values.tolist()]


@dataclass(frozen=True, eq=False)
class Price:
    """1 / (noise variance x cost) per arm: what multiplies x_i x_i' in the information; both (n,) or None for one."""

    noise_variance: Floats | None
    costs: Floats | None

    def upper(self, n: int) -> Floats:
        """Doubles at least 1/p_i."""
        p = np.ones(n)
        for part in (self.noise_variance, self.costs):
            if part is not None:
                with np.errstate(over="ignore"):
                    p = p * part
        # Read prices are at least 1e-150; one beyond all doubles is still no more than nothing.
        return np.maximum((1.0 / p) * (1.0 + 4 * UNIT), 1e-300)

    def balls(self, index: Indices) -> list[Any]:
        """1/p_i as balls."""
        out = [ball(1.0) for _ in index]
        for part in (self.noise_variance, self.costs):
            if part is not None:
                out = [x / ball(v) for x, v in zip(out, part[index].tolist())]
        return out


@dataclass(frozen=True, eq=False)
class Scale:
    """1/g_j^2 per target, g_j = v_j'theta - threshold for the unscaled v_j: the oracles' squared factors."""

    rows: ExactRows
    theta: Floats
    threshold: float

    def upper(self) -> Floats:
        """Doubles at least 1/g_j^2; infinite where doubles cannot bound g_j away from zero."""
        least = partial(_least_gap, theta=self.theta, threshold=self.threshold)
        gap = self.rows.map(least)
        with np.errstate(divide="ignore"):
            return np.where(gap > 0, 1.0 / (gap * gap), np.inf) * (1.0 + 8 * UNIT)

    def balls(self, index: Indices) -> list[Any]:
        """1/g_j^2 as balls."""
        V = self.rows.balls(index)
        g = V * ball_matrix(self.theta[:, None])
        threshold = ball(self.threshold)
        return [1 / (g[i, 0] - threshold) ** 2 for i in range(len(index))]


def _least_gap(V: Floats, *, theta: Floats, threshold: float) -> Floats:
    """Doubles at most |v'theta - threshold| for rows v that are themselves rounded once."""
    gap = np.abs(V @ theta - threshold)
    # d products and sums, the entries' own rounding, the threshold's subtraction.
    error = (2 * theta.size + 8) * UNIT * (np.abs(V) @ np.abs(theta) + abs(threshold)) + 1e-300
    return np.asarray((gap - error) * (1.0 - 4 * UNIT))
