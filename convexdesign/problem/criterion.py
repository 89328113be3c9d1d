"""What a criterion is called, and how its values compare: all that a problem itself has to know of it.

What can be computed about it stands in `convexdesign.criteria`, one file for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

__all__ = ["Criterion"]


@dataclass(frozen=True)
class Criterion:
    """What is optimised over the weights w, with A = A0 + sum_i w_i y_i y_i'.

    name: by which THE table of criteria (`convexdesign.criteria`) knows it; formula: in mathematics; value_name, about, symbol:
    what the value is, in a word or two, in plain words, and in short; maximised: whether more is better; logarithmic: whether
    values are log determinants, so that ratios of efficiency are differences of values over their dimension; by_target: whether
    targets decide one by one, so that their size is the unit; on_range: whether it is taken on the range of the arms, whatever
    they span.
    """

    name: str
    formula: str
    value_name: str
    about: str
    symbol: str = "value"
    maximised: bool = False
    logarithmic: bool = False
    by_target: bool = False
    on_range: bool = False

    MINIMAX: ClassVar[Criterion]
    AVERAGE: ClassVar[Criterion]
    D: ClassVar[Criterion]
    DS: ClassVar[Criterion]
    E: ClassVar[Criterion]

    @property
    def worst_value(self) -> float:
        """The value of a design that does not measure what is wanted."""
        if self.maximised:
            return -np.inf if self.logarithmic else 0.0
        return np.inf

    def is_better(self, value: float, other: float) -> bool:
        """Whether a value is better than another; of bounds on the optimum, whether it is looser."""
        return value > other if self.maximised else value < other

    def relative_gap(self, value: float, bound: float, dim: int, error: float = 0.0) -> float:
        """value / bound - 1, oriented, at the worst value within a share `error` of the one computed.

        A value on the wrong side of its bound is rounding, and counts by its size. dim: of a log det.
        """
        if not (np.isfinite(value) and np.isfinite(bound) and error < 1.0):
            return np.inf
        if self.logarithmic:
            gap = abs(float(np.expm1((bound - value) / dim)))
        else:
            high, low = (bound, value) if self.maximised else (value, bound)
            gap = abs(high / low - 1.0) if low > 0 else np.inf
        return (gap + error) / (1.0 - error)

    def efficiency(self, value: float, bound: float, dim: int) -> float:
        """What share of the measurements, or of the budget, the optimum at the bound would need for this value."""
        if self.logarithmic:
            return float(np.exp((value - bound) / dim))
        return float(value / bound if self.maximised else bound / value)

    def growth(self, before: float, after: float, dim: int) -> float:
        """By how much the efficiency grows, relatively; infinitely where it was zero."""
        if not np.isfinite(after):
            return 0.0
        if self.logarithmic:
            return float(np.expm1((after - before) / dim)) if np.isfinite(before) else np.inf
        high, low = (after, before) if self.maximised else (before, after)
        return high / low - 1.0 if low > 0 else (np.inf if high > 0 else 0.0)

    def loosened(self, bound: float, doubt: float, dim: int) -> float:
        """A bound on the optimum moved outwards by a relative doubt (of the geometric mean of eigenvalues, for log det)."""
        if self.logarithmic:
            return bound + dim * float(np.log1p(doubt))
        return bound * (1.0 + doubt) if self.maximised else bound * max(0.0, 1.0 - doubt)

    def per_unit(self, value: float, spent: float, dim: int) -> float:
        """The value, or a bound, for `spent` times the budget planned, per unit of the budget spent."""
        if self.logarithmic:
            return float(value - dim * np.log(spent))
        return value / spent if self.maximised else value * spent


Criterion.MINIMAX = Criterion(
    "MINIMAX", "min max_j v_j' A^-1 v_j", "max variance", "worst variance per measurement", by_target=True
)
Criterion.AVERAGE = Criterion("AVERAGE", "min tr(A^-1 M)", "average variance", "variances, summed, per measurement")
Criterion.D = Criterion(
    "D",
    "max log det A",
    "log det",
    "log determinant of the information",
    "log det",
    maximised=True,
    logarithmic=True,
    on_range=True,
)
Criterion.DS = Criterion(
    "DS",
    "max log det (K' A^-1 K)^-1",
    "log det",
    "log determinant of the information on what is of interest",
    "log det",
    maximised=True,
    logarithmic=True,
)
Criterion.E = Criterion(
    "E", "max lambda_min(A)", "least eigenvalue", "least eigenvalue of the information", "lambda_min", maximised=True
)
