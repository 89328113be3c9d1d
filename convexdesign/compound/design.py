"""A design for several problems at once, with its proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign import outcome
from convexdesign.compound.problem import CompoundProblem
from convexdesign.outcome import Stats
from convexdesign.typing import Floats

if TYPE_CHECKING:
    import pandas

__all__ = ["CompoundDesign"]


@dataclass(frozen=True, eq=False, repr=False)
class CompoundDesign:
    """Weights on the arms for several problems at once.

    Parameters
    ----------
    problem : CompoundProblem
        What it is for.
    weights : array of float
        The share of the measurements of every arm.
    value : float
        Of a compound problem sum_j a_j log Phi_j; of a maximin problem the least efficiency.
    bound : float
        A proven upper bound on the value of any design.
    gap : float
        The relative gap between them: of logarithms exp(bound - value) - 1.
    multipliers : array of float
        The a_j that prove the bound; of a maximin problem the least favourable prior.
    efficiencies : array of float
        Of a maximin problem the efficiency for every problem, against the best for it alone; else empty.
    values : array of float
        log Phi_j of every problem: log det / d, or minus the logarithm of the variance.
    status : convexdesign.Status
        Whether the gap is within the tolerance.
    stats : Stats
        What it cost.
    """

    problem: CompoundProblem
    weights: Floats
    value: float
    bound: float
    gap: float
    multipliers: Floats
    efficiencies: Floats
    values: Floats
    status: outcome.Status
    stats: Stats

    @property
    def efficiency(self) -> float:
        """A proven lower bound on the efficiency: 1 / (1 + gap)."""
        return 1.0 / (1.0 + self.gap)

    @property
    def support(self) -> Any:
        """The indices of the arms with weight."""
        return np.flatnonzero(self.weights != 0)

    @property
    def points(self) -> pandas.DataFrame:
        """A row for each arm with weight."""
        import pandas

        return pandas.DataFrame({"arm": self.support, "weight": self.weights[self.support]})

    def __repr__(self) -> str:
        what = "least efficiency" if self.problem.is_maximin else "sum of logarithms"
        return (
            f"CompoundDesign({what} {self.value:.8g}, upper bound {self.bound:.8g}, gap {self.gap:.1e}, "
            f"{self.status.name}; {len(self.support)} with weight)"
        )
