"""Weights as the rational numbers they are, divided by their exact sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from convexdesign.balls import ball
from convexdesign.typing import Floats, Indices

__all__ = ["ExactWeights"]


@dataclass(frozen=True, eq=False)
class ExactWeights:
    """Arms with weight, index (k,), and positive parts: arm i has the weight parts_i / sum of all; floats (n,) about these."""

    index: Indices
    parts: list[Any]
    floats: Floats

    @staticmethod
    def of(weights: Floats, prices: Floats | None = None) -> ExactWeights:
        """From nonnegative doubles (n,); with prices (n,) the weights are shares of what these counts cost."""
        from flint import fmpq

        index = np.flatnonzero(weights != 0)
        parts = [fmpq(*w.as_integer_ratio()) for w in weights[index].tolist()]
        if prices is not None:
            parts = [w * fmpq(*c.as_integer_ratio()) for w, c in zip(parts, prices[index].tolist())]
        floats = weights if prices is None else weights * prices
        return ExactWeights(index, parts, floats / floats.sum())

    @staticmethod
    def of_fractions(weights: Sequence[Fraction]) -> ExactWeights:
        """From exact weights of all arms."""
        from flint import fmpq

        floats = np.array([float(w) for w in weights])
        index = np.array([i for i, w in enumerate(weights) if w > 0], dtype=np.intp)
        return ExactWeights(index, [fmpq(weights[i].numerator, weights[i].denominator) for i in index], floats)

    def balls(self) -> list[Any]:
        """The parts as balls."""
        from flint import arb

        return [arb(w) for w in self.parts]

    def total(self) -> Any:
        """The sum of the parts as a ball."""
        return sum(self.balls(), ball(0.0))
