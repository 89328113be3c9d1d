"""Whole-number plans by local search from many starts: random and greedy ones, and the best so far with a few pulls moved.

Each descent makes the best swap of one pull again and again while that lowers the criterion, on tables that follow the design
by rank-two updates (`tables`). The work is counted, not timed, so that a seed gives the same plan on every machine.

Source: Fedorov (1972), Theory of Optimal Experiments; Galil and Kiefer (1980), greedy starts; restarts as in iterated local
search.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from convexdesign.arms.groups import are_groups, as_groups
from convexdesign.criteria.exchange import MatrixCriterion, information, inverse_factor
from convexdesign.criteria.swap_tables import ALL_PAIRS, swap_table
from convexdesign.rounding.count_limits import Limits
from convexdesign.rounding.local_exchange import kicked
from convexdesign.typing import Counts, Floats

__all__ = ["AMOUNTS", "MOVES_PER_TABLE", "PROGRESS", "Effort", "Tell", "best_descent", "search", "useful_arms"]


# Work and patience of what effort is called.
AMOUNTS = {"quick": (5e8, 60), "thorough": (5e9, 5000)}
# A swap must lower the criterion by more than this share, which is rounding.
PROGRESS = 1e-9
# Tables are made anew after so many moves, lest rounding add up.
MOVES_PER_TABLE = 40
# Shares of the pulls that are random in a start; the rest is chosen greedily.
RANDOM_SHARES = (1.0, 0.5, 0.2)
# Information of every direction added while a start does not measure all of them, as a share of the design's own.
RIDGE = 1e-3


Tell = Callable[[float, float], None]


@dataclass
class Effort:
    """What a search may spend: numbers handled, about 1e9 a second, and seconds; and descents in a row without success.

    deadline: on the clock of time.monotonic; tell: told the least value so far and the bound proven (0: none), now and then.
    """

    work: float = np.inf
    patience: int = 10**9
    deadline: float = np.inf
    tell: Tell | None = None

    @classmethod
    def of(cls, effort: str | float, tell: Tell | None = None) -> Effort:
        """ "quick", "thorough", or seconds."""
        if isinstance(effort, str):
            return cls(*AMOUNTS[effort], tell=tell)
        return cls(deadline=time.monotonic() + effort, tell=tell)

    def told(self, value: float) -> None:
        """Say how far the search is."""
        if self.tell is not None:
            self.tell(value, 0.0)

    def spend(self, numbers: float) -> None:
        """Take so much from what is left."""
        self.work -= numbers

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.work <= 0 or time.monotonic() > self.deadline


def search(
    arms: Floats,
    start: Counts,
    bounds: Limits,
    criterion: MatrixCriterion,
    prior: Floats | None,
    effort: Effort,
    *,
    rng: np.random.Generator | None = None,
) -> Counts:
    """Counts (k,) within the bounds whose criterion is no larger than that of the start, which is within them.

    arms (k, r) or groups (k, l, r); prior (r, r) TOTAL information held. rng: fixed by default.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    ridge = _ridge(arms, bounds.total, prior)

    def drawn(tried: int, best: Counts) -> Counts:
        k = tried % (2 * len(RANDOM_SHARES))
        if k % 2:
            return kicked(best, bounds, rng)
        return _started(arms, bounds, criterion, ridge, RANDOM_SHARES[k // 2], rng, effort)

    return best_descent(start, lambda counts: _descended(arms, counts, bounds, criterion, prior, effort), drawn, effort)


def best_descent(
    start: Counts,
    descended: Callable[[Counts], tuple[Counts, float]],
    drawn: Callable[[int, Counts], Counts],
    effort: Effort,
) -> Counts:
    """The best of the local optima that descents lead to, from the start and from others, or the start itself.

    Ends when the effort is spent, or after `patience` descents without success. descended: from counts to a local optimum and
    its value; drawn: the next start, from how many there were before it and the best counts so far.
    """
    best, best_value = start, np.inf
    found, value = descended(start)
    if value < best_value:
        best, best_value = found, value
    futile = tried = 0
    while futile < effort.patience and not effort.spent:
        found, value = descended(drawn(tried, best))
        tried += 1
        effort.told(best_value)
        futile += 1
        if value < best_value * (1.0 - PROGRESS):
            best, best_value, futile = found, value, 0
    return best


def useful_arms(
    arms: Floats, weights: Floats, counts: Counts, bounds: Limits, criterion: MatrixCriterion, prior: Floats | None
) -> Limits:
    """The bounds without arms that no plan better than the counts can have, by a proof.

    1/phi(M) <= tr(G M) for every M, tight at the proportions w. A plan with a pull of arm i has at most
    tr(G M) = tr(G prior) + u_i'Gu_i + (N - 1) max_j u_j'Gu_j: where that is below 1/phi of the counts, the arm cannot help.
    """
    F = inverse_factor(information(arms, weights * (bounds.total / float(weights.sum())), prior))
    best = criterion.value(information(arms, counts, prior))
    if F is None or not np.isfinite(best):
        return bounds
    G = criterion.cuts(F, 1)[0]
    U = as_groups(arms)
    gain = np.einsum("ilr,rs,ils->i", U, G, U, optimize=True)
    open_arms = bounds.upper > 0
    most = float(gain[open_arms].max())
    held = 0.0 if prior is None else float(np.sum(G * prior))
    reach = held + gain + (bounds.total - 1) * most
    useless = (reach < (1.0 - PROGRESS) / best) & (bounds.lower == 0) & (counts == 0)
    return Limits(bounds.total, bounds.lower, np.where(useless, 0, bounds.upper))


def _ridge(arms: Floats, total: int, prior: Floats | None) -> Floats:
    """A little information of every direction, beside what is held."""
    size = RIDGE * total * float(np.square(arms).sum()) / arms.shape[0] / arms.shape[-1]
    little = size * np.eye(arms.shape[-1])
    return little if prior is None else prior + little


def _descended(
    arms: Floats, counts: Counts, bounds: Limits, criterion: MatrixCriterion, prior: Floats | None, effort: Effort
) -> tuple[Counts, float]:
    """The local optimum that best swaps lead to, and its value; infinite where the start measures too little."""
    counts = counts.copy()
    table = None
    moves = 0
    r = arms.shape[-1]
    while True:
        if moves % MOVES_PER_TABLE == 0:
            table = swap_table(arms, counts, criterion, prior)
            effort.spend(arms.size * r)
        if table is None:
            return counts, np.inf
        out = np.flatnonzero(counts > bounds.lower)
        into = np.flatnonzero(counts < bounds.upper)
        if not out.size or not into.size or effort.spent:
            break
        few_out, few_into = table.shortlist(out, into)
        below = table.value * (1.0 - PROGRESS)
        for givers, takers in ((few_out, few_into), (out, into)):
            phi = table.swaps(givers, takers)
            effort.spend(phi.size * r + 2.0 * arms.size + 2e5)
            at = int(np.argmin(phi))
            shortened = phi.size < out.size * into.size
            if phi.flat[at] < below or not shortened or out.size * into.size > ALL_PAIRS:
                break
        if not phi.flat[at] < below:
            break
        o, i = int(givers[at // takers.size]), int(takers[at % takers.size])
        before = table.value
        table.move(o, i)
        if not table.value < before:
            break
        counts[o] -= 1
        counts[i] += 1
        moves += 1
    final = swap_table(arms, counts, criterion, prior)
    return counts, np.inf if final is None else final.value


def _started(
    arms: Floats,
    bounds: Limits,
    criterion: MatrixCriterion,
    prior: Floats,
    share: float,
    rng: np.random.Generator,
    effort: Effort,
) -> Counts:
    """A start within the bounds: a share of the pulls at random, the others by what they add to det M, ties at random."""
    counts = bounds.lower.copy()
    left = bounds.total - int(counts.sum())
    for _ in range(int(np.ceil(share * left)) if not are_groups(arms) else left):
        counts[rng.choice(np.flatnonzero(counts < bounds.upper))] += 1
        left -= 1
    if not left:
        return counts
    M = prior + (arms * counts[:, None]).T @ arms
    C = np.linalg.inv(M)
    UC = arms @ C
    gain = np.einsum("ij,ij->i", UC, arms)
    for _ in range(left):
        free = np.where(counts < bounds.upper, gain, -1.0)
        i = int(rng.choice(np.flatnonzero(free >= free.max() * (1.0 - 1e-9))))
        counts[i] += 1
        b = UC[i] / np.sqrt(1.0 + gain[i])
        K = arms @ b
        UC = UC - K[:, None] * b
        gain = gain - K * K
        effort.spend(4.0 * arms.size + 2e4)
    return counts
