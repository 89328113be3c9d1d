"""Which swap of a run gains most: every move of one run from an arm of a plan to any arm, valued on the criterion itself.

A swap that would miss a constraint of the problem, or miss one further, is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.allowed import allowed_counts
from convexdesign.criteria import oracle_of
from convexdesign.criteria.swap_tables import swap_table
from convexdesign.problem import Canonical
from convexdesign.typing import Counts
from convexdesign.whole_numbers import per_pull

__all__ = ["Swap", "best_swaps"]


# Numbers that a table of swaps may hold.
MOST_PAIRS = 5_000_000
# Swaps that are held against the constraints, the best first.
MOST_TRIED = 2000
LEAST_GAIN = 1.0 + 1e-9


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
    run : int, optional
        The run that is replaced, by its place in the run sheet, from 1.
    """

    given: int
    taken: int
    names: tuple[str, str]
    factor: float
    run: int | None = None

    def __str__(self) -> str:
        which = f"replace a run at {self.names[0]} by one at {self.names[1]}"
        if self.run is not None:
            which = f"replace run {self.run} ({self.names[0]}) by {self.names[1]}"
        return f"{which}: {100 * (self.factor - 1):.3g} % more efficient"


def best_swaps(
    canonical: Canonical,
    counts: Counts,
    k: int = 3,
    *,
    order: Sequence[int] | None = None,
    blocks: Sequence[Any] | None = None,
) -> list[Swap]:
    """The k swaps of one run that raise the efficiency of the counts (n_arms,) most, best first; none where none does.

    order: the arm of every run of a sheet; blocks (n_arms,): the block of every arm, in which a run stays. Of a plan that does
    not measure what is wanted there is none: several runs may have to change.
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
    if blocks is not None:
        number = {block: k for k, block in enumerate(dict.fromkeys(blocks))}
        block = np.array([number[b] for b in blocks])
        phi = np.where(block[used][:, None] == block[index], phi, np.inf)
    allowed = allowed_counts(problem, int(counts.sum()))
    missed, swaps = allowed.judged(counts)[0], list[Swap]()
    for at in np.argsort(phi, axis=None)[:MOST_TRIED]:
        o, i = int(used[at // index.size]), int(index[at % index.size])
        factor = table.value / float(phi.flat[at])
        if len(swaps) == k or not factor > LEAST_GAIN:
            break
        moved = counts.copy()
        moved[o], moved[i] = moved[o] - 1, moved[i] + 1
        if o != i and allowed.judged(moved)[0] <= missed:
            run = None if order is None else list(order).index(o) + 1
            swaps.append(Swap(o, i, (canonical.given.arm_name(o), canonical.given.arm_name(i)), factor, run))
    return swaps
