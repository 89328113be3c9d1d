"""Which swap of a run gains most: every move of one run from an arm of a plan to any arm, valued on the criterion itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.criteria import oracle_of
from convexdesign.criteria.swap_tables import swap_table
from convexdesign.problem import Canonical
from convexdesign.typing import Counts
from convexdesign.whole_numbers import per_pull

__all__ = ["Swap", "best_swaps"]


# Numbers that a table of swaps may hold.
MOST_PAIRS = 5_000_000


@dataclass(frozen=True)
class Swap:
    """One run of the arm `given` made one of the arm `taken`: how many times as efficient the plan becomes.

    Parameters
    ----------
    given, taken : int
        Arms by index.
    names : (str, str)
        The same by name.
    factor : float
        New efficiency over old, above one where the swap helps.
    """

    given: int
    taken: int
    names: tuple[str, str]
    factor: float

    def __str__(self) -> str:
        return f"replace a run at {self.names[0]} by one at {self.names[1]}: {100 * (self.factor - 1):.3g} % more efficient"


def best_swaps(canonical: Canonical, counts: Counts, k: int = 3) -> list[Swap]:
    """The k swaps of one run that raise the efficiency of the counts (n_arms,) most, best first; none where none does.

    Of a plan that does not measure what is wanted there is none: several runs may have to change.
    """
    problem = canonical.problem
    used = np.flatnonzero(counts != 0)
    n = problem.n_arms
    if used.size * n > MOST_PAIRS:
        n = max(1, MOST_PAIRS // used.size)
    index = np.union1d(used, np.arange(n))
    prior = None if canonical.prior is None else float(problem.effort(counts.astype(float)).sum()) * canonical.prior
    table = swap_table(per_pull(canonical, index), counts[index], oracle_of(canonical).of_matrix(canonical), prior)
    if table is None:
        return []
    out = np.searchsorted(index, used)
    phi = table.swaps(out, np.arange(index.size))
    costs = problem.costs
    if costs is not None:
        spent = float(costs @ counts)
        phi = phi * (spent - costs[used][:, None] + costs[index]) / spent
    order = np.argsort(phi, axis=None)[:k]
    swaps = []
    for at in order:
        o, i = int(used[at // index.size]), int(index[at % index.size])
        factor = table.value / float(phi.flat[at])
        if factor > 1.0 + 1e-9 and o != i:
            swaps.append(Swap(o, i, (canonical.given.arm_name(int(o)), canonical.given.arm_name(int(i))), factor))
    return swaps
