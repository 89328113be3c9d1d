"""Targets as an oracle: the vectors v_j whose values are wanted, of which a solver asks only the worst few.

Pairs of items are never materialised: 100,000 items have five thousand million differences.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.read import LabelledVectors
from convexdesign.arms.source import Arms, ArrayArms, largest, per_arm, quadratic_rows
from convexdesign.typing import Floats, Indices

__all__ = ["ResponseTargets", "Targets", "VectorTargets"]


# What a user calls the row with this number, from its number and what it is.
Called = Callable[[int, str], str]
# The size of more entries than this is judged from a sample.
SIZE_ENTRIES = 100_000


@runtime_checkable
class Targets(Protocol):
    """Vectors v_j in R^d, numbered by integers (not always consecutive: a pair (i, j) has the number i |Z| + j)."""

    @property
    def m(self) -> int:
        """How many targets there are."""
        ...

    @property
    def d(self) -> int: ...

    def take(self, index: Indices) -> Floats:
        """The vectors at the indices, shape (k, d)."""
        ...

    def worst(self, factor: Floats, k: int = 1) -> tuple[Indices, Floats]:
        """The k targets with the largest |F'v|^2, largest first, and these values; fewer if there are fewer."""
        ...

    def size(self, factor: Floats) -> float:
        """The order of magnitude of the largest |F'v|^2; zero only if all are."""
        ...

    def outside(self, null: Floats, size: Floats, tolerance: float) -> int | None:
        """The index of a target with |N'v| > tolerance |S'v|, the most extreme one, or None; N (d, k), S (d, l)."""
        ...

    def shares_outside(self, index: Indices, null: Floats, size: Floats) -> Floats:
        """What `outside` compares with its tolerance, |N'v| / |S'v|, at the indices (k,)."""
        ...

    def label(self, index: int) -> str:
        """What a user calls this target."""
        ...


class VectorTargets:
    """Explicit targets v_j = f_j (x_j - o): rows x (m, d), offset o (d,) and factors f (m,), both optional.

    The offset and the factors give the oracles' scaled differences without a second array. The rows may be an array or
    any oracle: where the arms themselves are wanted, theirs. called: the name of a row; without it noun and number.
    """

    def __init__(
        self,
        rows: NDArray[Any] | Arms,
        called: Called | None = None,
        *,
        noun: str = "target",
        offset: Floats | None = None,
        factor: Floats | None = None,
    ):
        self.source: Arms = ArrayArms(rows) if isinstance(rows, np.ndarray) else rows
        self.called = called
        self.noun = noun
        self.offset = offset
        self.factor = factor

    @property
    def m(self) -> int:
        return self.source.n

    @property
    def d(self) -> int:
        return self.source.d

    def take(self, index: Indices) -> Floats:
        rows = self.source.take(index)
        if self.offset is not None:
            rows = rows - self.offset
        return rows if self.factor is None else rows * self.factor.take(index)[:, None]

    def values(self, factor: Floats) -> Floats:
        """|F'v_j|^2 for every target, shape (m,)."""
        if self.offset is None:
            out = self.source.quadratic(factor)
        else:
            out = per_arm(self.source, partial(quadratic_rows, factor=factor, origin=self.offset))
        if self.factor is not None:
            out *= self.factor
            out *= self.factor
        return out

    def worst(self, factor: Floats, k: int = 1) -> tuple[Indices, Floats]:
        if self.offset is None and self.factor is None:
            return self.source.largest(factor, k)
        return largest(self.values(factor), k)

    def size(self, factor: Floats) -> float:
        step = 1 + self.m * self.d // SIZE_ENTRIES
        image = self.take(np.arange(0, self.m, step)) @ factor
        largest_seen = float(np.einsum("ij,ij->i", image, image).max())
        return largest_seen if largest_seen > 0 or step == 1 else float(self.values(factor).max())

    def outside(self, null: Floats, size: Floats, tolerance: float) -> int | None:
        origin = np.zeros(self.d) if self.offset is None else self.offset
        most_outside = partial(_most_outside, null=null, size=size, origin=origin)
        found, extreme = None, tolerance
        for start, (worst, share) in self.source.map(most_outside, *(() if self.factor is None else (self.factor,))):
            if share > extreme:
                found, extreme = start + worst, share
        return found

    def shares_outside(self, index: Indices, null: Floats, size: Floats) -> Floats:
        origin = np.zeros(self.d) if self.offset is None else self.offset
        factor = None if self.factor is None else self.factor.take(index)
        return _shares_outside(self.source.take(index), factor, null=null, size=size, origin=origin)

    def label(self, index: int) -> str:
        return f"{self.noun} {index}" if self.called is None else self.called(index, self.noun)


class ResponseTargets(VectorTargets):
    """The response vectors of all arms as targets, each called by its arm and its number there."""

    def __init__(self, rows: LabelledVectors):
        super().__init__(rows.vectors.source, rows.called, noun="arm")
        self.owner, self.number = rows.places

    def label(self, index: int) -> str:
        return f"{super().label(int(self.owner[index]))}, response {self.number[index]}"


def _most_outside(
    rows: Floats, factor: Floats | None = None, *, null: Floats, size: Floats, origin: Floats
) -> tuple[int, float]:
    """The row with the largest share |N'(x - o)| / (|S'x| + |S'o|), and this share."""
    share = _shares_outside(rows, factor, null=null, size=size, origin=origin)
    worst = int(np.argmax(share))
    return worst, float(share[worst])


def _shares_outside(
    rows: Floats, factor: Floats | None = None, *, null: Floats, size: Floats, origin: Floats
) -> Floats:
    """|N'(x - o)| / (|S'x| + |S'o|) of every row; a factor of zero makes it nothing."""
    # The size of a difference is that of its terms: cancellation leaves their rounding behind.
    length = np.linalg.norm(rows @ size, axis=1) + np.linalg.norm(origin @ size)
    part = np.linalg.norm((rows - origin) @ null, axis=1)
    if factor is not None:
        part = np.where(factor == 0, 0.0, part)
    return np.asarray(np.divide(part, length, out=np.where(part > 0, np.inf, 0.0), where=length > 0))
