"""The record of a solve: its history, who is told, and which limit has been reached."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from convexdesign.outcome import Report, Snapshot, Stats, Status

__all__ = ["Trace"]

# A gap this much smaller is progress.
PROGRESS = 0.99
# A step is begun when at least this share of it fits into the time left.
AHEAD = 0.7


@dataclass
class Trace:
    """Counts iterations and passes, keeps snapshots in the user's units, and reports each to the caller.

    tol is the gap asked for; max_iter and time_limit (seconds) may be None; report may be None. patience: after so many
    records without a smaller gap the solve counts as stalled; None for methods that are slow by nature.
    """

    method: str
    tol: float
    max_iter: int | None = None
    time_limit: float | None = None
    report: Report | None = None
    patience: int | None = None
    started: float = field(default_factory=time.perf_counter)
    iterations: int = 0
    history: list[Snapshot] = field(default_factory=list)
    _least_gap: float = float("inf")
    _last_progress: int = 0
    _asked: float = 0.0
    out_of_time: bool = False

    @property
    def iterations_left(self) -> int:
        return 2**31 if self.max_iter is None else max(self.max_iter - self.iterations, 0)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.started

    @property
    def time_left(self) -> float | None:
        """Seconds left, never negative; None without a limit."""
        return None if self.time_limit is None else max(self.time_limit - self.seconds, 0.0)

    def time_is_up(self) -> bool:
        """Whether the time limit comes before the end of another step as long as the last; asked before each long one."""
        now = self.seconds
        expected, self._asked = now - self._asked, now
        if self.time_limit is not None and now + AHEAD * expected >= self.time_limit:
            self.out_of_time = True
        return self.out_of_time

    def record(self, value: float, bound: float, gap: float, support: int, targets: int = 0) -> None:
        """Add one line to the history."""
        snapshot = Snapshot(self.seconds, self.iterations, value, bound, gap, support, targets)
        self.history.append(snapshot)
        if gap < PROGRESS * self._least_gap:
            self._least_gap, self._last_progress = gap, len(self.history)
        if self.report is not None:
            self.report(snapshot)

    def limit_reached(self) -> Status | None:
        """Which limit stops the solve now, if any."""
        if self.max_iter is not None and self.iterations >= self.max_iter:
            return Status.ITERATION_LIMIT
        if self.out_of_time or (self.time_limit is not None and self.seconds >= self.time_limit):
            return Status.TIME_LIMIT
        if self.patience is not None and len(self.history) - self._last_progress > self.patience:
            return Status.STALLED
        return None

    def stats(self, passes: float) -> Stats:
        """What the solve cost so far."""
        return Stats(
            self.method,
            iterations=self.iterations,
            passes=passes,
            seconds=self.seconds,
            history=tuple(self.history),
        )
