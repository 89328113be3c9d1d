"""What long work is doing, on one line of standard error: its name, how far it is, and how long it will take.

    verify:  62 %, 14 s, about 9 s left (gap 3.1e-05)

Work says how far it is by `tell`; whoever wants to see it says so by `show_progress` around it. Nothing is drawn in the
first second, and the line is gone when the work is done.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from convexdesign.arguments import positive, text_of

__all__ = ["ProgressLine", "in_turn", "show_progress", "tell", "told"]

# Seconds before the line is drawn first, and between two drawings.
DELAY, BETWEEN = 1.0, 0.25
# What a share below this promises of the rest is no estimate.
LEAST_SHARE = 0.05


class ProgressLine:
    """The line of one piece of work; drawn by a thread of its own, so that work that says nothing shows its time too.

    share: how far the work is, 0 to 1, or None where it does not say; it never goes back. detail: what else it says.
    """

    def __init__(
        self,
        label: str,
        at_most: float | None = None,
        stream: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.label = label
        self.at_most = at_most
        self.share: float | None = None
        self.detail = ""
        self.part: tuple[int, int, str] | None = None
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._started = clock()
        self._width = 0

    def tell(self, share: float | None, detail: str = "") -> None:
        """How far the work is, or that part of it which is under way."""
        if self.part is not None:
            number, parts, name = self.part
            share = (
                number + (min(max(share, 0.0), 1.0) if share is not None and math.isfinite(share) else 0.0)
            ) / parts
            detail = f"{name}: {detail}" if detail else name
        if share is not None and math.isfinite(share):
            self.share = max(self.share or 0.0, min(max(share, 0.0), 1.0))
        self.detail = detail

    @property
    def text(self) -> str:
        """The line as it reads now."""
        elapsed = self._clock() - self._started
        parts = [] if self.share is None else [f"{100 * self.share:3.0f} %"]
        parts.append(duration(elapsed))
        left = self.left(elapsed)
        if left:
            parts.append(left)
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.label}: {', '.join(parts)}{detail}"

    def left(self, elapsed: float) -> str:
        """The rest at the pace so far, or by the limit where that comes first or the pace is not known; "" without either."""
        limit = math.inf if self.at_most is None else max(self.at_most - elapsed, 0.0)
        share = self.share if self.share is not None and self.share >= LEAST_SHARE else None
        if share is not None:
            pace = elapsed * (1.0 - share) / share
            return f"about {duration(min(pace, limit))} left"
        return f"at most {duration(limit)} left" if limit < math.inf else ""

    def draw(self) -> None:
        """Draw it over what it was, once the work has taken long enough to be looked at."""
        if self._clock() - self._started < DELAY:
            return
        text = self.text
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)

    def clear(self) -> None:
        """Leave nothing of it."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


_LINE: ContextVar[ProgressLine | None] = ContextVar("convexdesign_line", default=None)


def tell(share: float | None, detail: str = "") -> None:
    """Say how far the work is, to whoever looks; costs nothing where nobody does."""
    line = _LINE.get()
    if line is not None:
        line.tell(share, detail)


def in_turn(names: Sequence[str]) -> Iterator[str]:
    """The names of parts of the work, one after another: what is told meanwhile is how far this part is."""
    line = _LINE.get()
    for number, name in enumerate(names):
        if line is not None:
            line.part = (number, len(names), name)
            line.tell(0.0)
        yield name
    if line is not None:
        line.part = None


def told() -> bool:
    """Whether anybody looks."""
    return _LINE.get() is not None


@contextmanager
def show_progress(label: str = "working", at_most: float | None = None) -> Iterator[ProgressLine]:
    """Show, on standard error, how far `solve`, `verify` and `round` inside are and how long they will take.

    Parameters
    ----------
    label : str
        What the line begins with.
    at_most : float, optional
        Seconds that the work is limited to, where it is.

    Yields
    ------
    ProgressLine
        The line; `line.tell(share)` says how far work of your own is.

    Examples
    --------
    >>> import convexdesign as cd
    >>> with cd.show_progress("an easy one"):
    ...     design = cd.solve(cd.DesignProblem.xy_allocation([[1.0, 0.0], [0.0, 1.0]]))
    """
    label = text_of(label, "label")
    if at_most is not None:
        positive(at_most, "at_most", "give a positive number of seconds")
    line = ProgressLine(label, at_most)
    done = threading.Event()

    def drawing() -> None:
        while not done.wait(BETWEEN):
            line.draw()

    thread = threading.Thread(target=drawing, daemon=True)
    token = _LINE.set(line)
    thread.start()
    try:
        yield line
    finally:
        _LINE.reset(token)
        done.set()
        thread.join()
        line.clear()


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> [duration(s) for s in (0.4, 59.6, 75, 3599.7, 7300)]
    ['0 s', '1 min', '1 min 15 s', '1 h', '2 h 2 min']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min" + (f" {rest} s" if rest and minutes < 10 else "")
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h" + (f" {minutes} min" if minutes else "")
