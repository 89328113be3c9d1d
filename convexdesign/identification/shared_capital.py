"""Level sets: what the bets on items that are decided leave over is passed on to those that are not.

Every item z has two bets, that it is above the threshold and that it is below. Of these, one is wrong: it bets against a
hypothesis that is true, and its wealth is a supermartingale. (An item on the threshold is not above it: there both
hypotheses are true, and the wrong bet is that it is above.) Let both start with the capital 1/m, m the number of items
(copies are one, zeros none), and place z on a side once the capital of that bet reaches 1/delta_m. When
z is placed above, the capital of its other bet, that it is below, is divided among the items that are not placed, as
much for both bets of each, and invested in what they are betting on. *The wrong bets' total capital is a
supermartingale that starts at one at most:* bets are; if z was placed on its right side, what it leaves over is its
wrong bet's capital, which goes over to wrong bets as a whole; if z was placed on its wrong side, the wrong bet's
capital, 1/delta_m at least, leaves the total, and what it passes on is less than that. So for every a at once, some
wrong bet ever has a capital of 1/a or more with probability at most a (Ville), and some item is placed on its wrong
side with probability at most delta_m. A union bound, 1/m for each, is what this is without passing on.

Bets lose little on their way, as their mixture is for the most part on sizes that are too small to lose. So the last
items to be decided, which take most of the samples, have almost all of the capital that all had in the beginning.

An item that joins later gets the same capital of 1/m for both of its bets, m the number of items in the beginning. One of
them is wrong, and begins as a supermartingale when it joins; so with J that joined, for any reason, the total of wrong bets
is a supermartingale but for what was added, (1 + J/m) in all, and some item is placed on its wrong side with probability at
most (1 + J/m) delta_m.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convexdesign.typing import Floats, Indices

__all__ = ["SharedCapital"]


class SharedCapital:
    """The capital of both bets (2, m) on each of m items: units of bets, bought at the wealth that these had.

    representative (m,): of each item the first of its copies. zero (m,): items that need no bets. later (m,): items that
    are not there yet. `best` (2, m): the largest logarithms of capital so far.
    """

    def __init__(self, representative: Indices, zero: NDArray[np.bool_], later: Indices) -> None:
        self.representative = representative
        self.bet_on: NDArray[np.bool_] = (representative == np.arange(representative.size)) & ~zero
        self.waiting = self.bet_on.copy()
        self.waiting[later] = False
        self.share = -float(np.log(max(int(np.count_nonzero(self.waiting)), 1)))
        self.log_units: Floats = np.full((2, representative.size), self.share)
        self.log_passed: Floats = np.full((2, representative.size), -np.inf)
        self.best: Floats = self.log_units

    def join(self, items: Indices) -> float:
        """Give items their capital, unless a copy has had it; what was added in all."""
        new = items[self.bet_on[items]]
        self.waiting = self.waiting.copy()
        self.waiting[new] = True
        return new.size * float(np.exp(self.share))

    def take(self, log_wealth: Floats, threshold: float) -> None:
        """Take in the log wealth (2, m) of the bets after a round; who reaches the threshold passes on what is left over."""
        wealth = log_wealth[:, self.representative]
        while True:
            capital = self.log_units + wealth
            self.best = np.maximum(self.best, capital[:, self.representative])
            placed = np.flatnonzero(self.waiting & (self.best >= threshold).any(axis=0))
            if not placed.size:
                return
            self.waiting = self.waiting.copy()
            self.waiting[placed] = False
            left = np.flatnonzero(self.waiting)
            if not left.size:
                return
            # The bet that did not win: the smaller one.
            rest = np.min(capital[:, placed], axis=0)
            passed = np.logaddexp.reduce(rest) - np.log(left.size) - wealth[:, left]
            for name in ("log_units", "log_passed"):
                units = getattr(self, name).copy()
                units[:, left] = np.logaddexp(units[:, left], passed)
                setattr(self, name, units)

    def capital(self, log_wealth: Floats, log_shifted: Floats | None = None) -> Floats:
        """The logarithms (2, m) of capital at this log wealth (2, m); log_shifted: of bets that may count for the first share.

        Bets against a smaller hypothesis, z'theta + epsilon <= threshold, are worth at least as much as these. Where it is
        true, both are supermartingales, and what was passed on has bought units of the latter.
        """
        wealth, passed = log_wealth[:, self.representative], self.log_passed[:, self.representative]
        first = wealth if log_shifted is None else log_shifted[:, self.representative]
        return np.asarray(np.logaddexp(self.share + first, passed + wealth))
