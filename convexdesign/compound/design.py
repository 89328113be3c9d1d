"""A design for several problems at once, with its proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign import outcome
from convexdesign.arms.labels import keys_of
from convexdesign.compound.problem import CompoundProblem
from convexdesign.outcome import Stats
from convexdesign.result_table import ResultTable
from convexdesign.typing import Floats

if TYPE_CHECKING:
    import pandas

__all__ = ["CompoundDesign", "facts_of_each"]

# A table names so many problems; of a prior there may be hundreds.
NAMED = 12


def facts_of_each(
    names: Sequence[str], multipliers: Floats, efficiencies: Floats, values: Floats
) -> list[tuple[str, str]]:
    """A fact a problem: its efficiency with its multiplier, or its log information with its weight; those that count first.

    Problems of one kind are told apart by their numbers.
    """
    order = np.argsort(efficiencies if efficiencies.size else -multipliers, kind="stable")
    facts = []
    for k in order[:NAMED].tolist():
        name = names[k] if list(names).count(names[k]) == 1 else f"{names[k]}, problem {k}"
        if efficiencies.size:
            facts.append((name, f"efficiency {efficiencies[k]:.6f}, multiplier {multipliers[k]:.4g}"))
        else:
            facts.append((name, f"log information {values[k]:.6g}, weight {multipliers[k]:.4g}"))
    more = order[NAMED:]
    if more.size:
        what = f"efficiency at least {efficiencies[more].min():.6f}, " if efficiencies.size else ""
        facts.append((f"and {more.size} more", f"{what}weight {float(multipliers[more].sum()):.4g} together"))
    return facts


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
        log Phi_j of every problem: log det / d, minus the logarithm of a variance, or that of the least eigenvalue.
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
        """A row for each arm with weight: the arm, by its name where arms have any, and its weight."""
        import pandas

        arms = keys_of(self.problem.problems[0].arms.names, self.support)
        return pandas.DataFrame({"arm": arms, "weight": self.weights[self.support]})

    def to_frame(self) -> pandas.DataFrame:
        """The same as `points`.

        Returns
        -------
        pandas.DataFrame
            In the order of the arms.
        """
        return self.points

    def table(self) -> ResultTable:
        """What was solved, how good it is, and for each problem; then the arms with weight.

        Returns
        -------
        ResultTable
            As text by str, in notebooks as HTML, for papers by as_latex().

        Examples
        --------
        >>> import convexdesign as cd
        >>> arms, D = [[1.0, 0.0], [0.0, 1.0]], cd.DesignProblem
        >>> table = cd.solve(D.compound([D.d_optimal(arms), D.a_optimal(arms)])).table()
        >>> print("\\n".join(str(table).splitlines()[-6:]))
        d-optimal          log information -0.693147, weight 0.5
        a-optimal           log information -1.38629, weight 0.5
        --------------------------------------------------------
        arm      weight
        arm 0  0.500000
        arm 1  0.500000
        """
        first = self.problem.problems[0]
        facts = [(self._called, f"{self.value:.8g}"), ("upper bound", f"{self.bound:.8g}"), ("gap", f"{self.gap:.1e}")]
        facts += [("status", self.status.name), ("method", self.stats.method)]
        facts += facts_of_each(self.problem.names, self.multipliers, self.efficiencies, self.values)
        order = self.support[np.argsort(-self.weights[self.support], kind="stable")]
        rows = tuple((first.arm_name(int(i)), f"{self.weights[i]:.6f}") for i in order)
        kind = "maximin" if self.problem.is_maximin else "compound"
        return ResultTable(f"{kind}, proportions", tuple(facts), ("arm", "weight"), rows)

    def _repr_html_(self) -> str:
        return self.table().as_html()

    @property
    def _called(self) -> str:
        """What the value is."""
        return "least efficiency" if self.problem.is_maximin else "sum of logarithms"

    def __repr__(self) -> str:
        return (
            f"CompoundDesign({self._called} {self.value:.8g}, upper bound {self.bound:.8g}, gap {self.gap:.1e}, "
            f"{self.status.name}; {len(self.support)} with weight)"
        )
