"""Arms made block by block by a function: a million layouts or a stream of features that is never stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import check_finite, numeric, shown, whole_at_least
from convexdesign.arms.source import FiniteArms
from convexdesign.errors import InputError
from convexdesign.typing import Floats, Indices

__all__ = ["BlockArms"]

T = TypeVar("T")

# Entries of one block unless the user says otherwise: 4 MB of doubles.
BLOCK_ENTRIES = 2**19
MOST_ROWS = 2**53
# Single rows this close together are made in one call: a call costs about as much as a few hundred rows.
NEAR = 256


class BlockArms(FiniteArms):
    """Rows x_i, i < n, in R^d, from a function make(start, stop) that returns rows start .. stop - 1.

    They may stand wherever a DesignProblem takes arms, items or targets, with noise_variance and costs as usual;
    nothing is kept but numbers per arm. XY-allocation needs its items as an array, and saving needs arms in a file.

    Parameters
    ----------
    n : int
        The number of rows.
    d : int
        The number of coordinates.
    make : callable
        From (start, stop) to rows of shape (stop - start, d). It is called for every pass over the arms, about ten
        times in a solve, and must return the same rows each time: that is the caller's promise, and certificates rest
        on it.
    names : sequence of str, optional
        A name for each row.
    block : int, optional
        The most rows asked for at once; about 4 MB by default.

    Raises
    ------
    InputError
        Here or when a block is made, for rows of a wrong shape or with an entry that is not finite, naming it.

    Examples
    --------
    >>> import numpy as np
    >>> import convexdesign as cd
    >>> def make(start, stop):
    ...     x = np.linspace(-1.0, 1.0, 100_001)[start:stop]
    ...     return np.column_stack([np.ones_like(x), x, x**2])
    >>> design = cd.solve(cd.DesignProblem.g_optimal(cd.BlockArms(100_001, 3, make)))
    >>> round(design.value, 5), design.status.name
    (3.0, 'CERTIFIED')
    """

    def __init__(
        self,
        n: int,
        d: int,
        make: Callable[[int, int], ArrayLike],
        *,
        names: Sequence[str] | None = None,
        block: int | None = None,
    ):
        n, d = whole_at_least(1, n, "n"), whole_at_least(1, d, "d")
        if max(n, d) > MOST_ROWS:
            raise InputError(f"n and d are {shown(n)} and {shown(d)}; rows are counted up to 2^53")
        if not callable(make):
            raise InputError(f"make must be a function from start and stop to rows, got {type(make).__name__}")
        if names is not None and _count(names) != n:
            raise InputError(f"names is {shown(names)}, but there are {n} rows; give one name (text) per row")
        self.n, self.d = n, d
        self.make = make
        self.names = names
        self.block = max(1, BLOCK_ENTRIES // d) if block is None else whole_at_least(1, block, "block")
        try:
            self.rows(0, 1)  # a function of the wrong shape is found here, not in the middle of a solve
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            raise InputError(f"make(0, 1) failed with {type(error).__name__}: {error}") from error

    def rows(self, start: int, stop: int) -> Floats:
        """Rows start .. stop - 1, made and checked.

        Parameters
        ----------
        start, stop : int
            The first row, and the one after the last.

        Returns
        -------
        array, shape (stop - start, d)
            As `make` returned them, in double precision.
        """
        made = numeric(self.make(start, stop), f"the rows made for {start}:{stop}")
        if made.shape != (stop - start, self.d):
            raise InputError(
                f"make({start}, {stop}) returned shape {made.shape}; it must return rows {start} to {stop - 1}, "
                f"shape ({stop - start}, {self.d})"
            )
        check_finite(made, "arms", self.names, first=start)
        return np.asarray(made, dtype=float)

    def take(self, index: Indices) -> Floats:
        """The rows with these numbers.

        Parameters
        ----------
        index : array of int, shape (k,)
            Rows, counted from 0.

        Returns
        -------
        array, shape (k, d)
            In the order of index.
        """
        index = np.asarray(index, dtype=np.intp)
        out = np.empty((index.size, self.d))
        order = np.argsort(index, kind="stable")
        ordered = index[order]
        for first, last in self._runs(ordered):
            start = int(ordered[first])
            made = self.rows(start, int(ordered[last - 1]) + 1)
            out[order[first:last]] = made[ordered[first:last] - start]
        return out

    def _runs(self, ordered: Indices) -> Iterator[tuple[int, int]]:
        """Slices of sorted indices that lie close together, each within one block's length."""
        ends = np.append(np.flatnonzero(np.diff(ordered) > NEAR) + 1, ordered.size)
        first = 0
        for end in ends.tolist():
            while first < end:
                last = min(end, int(np.searchsorted(ordered, ordered[first] + self.block)))
                yield first, last
                first = last

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        """A function of each block in turn.

        Parameters
        ----------
        function : callable
            From a block (k, d), and the parts of `along` that belong to it, to anything.
        *along : array, shape (n, ...)
            Numbers per row, handed on block by block.

        Yields
        ------
        tuple
            The number of the block's first row, and what the function made of it.
        """
        for start in range(0, self.n, self.block):
            stop = min(start + self.block, self.n)
            yield start, function(self.rows(start, stop), *(vector[start:stop] for vector in along))

    def __repr__(self) -> str:
        return f"BlockArms({self.n} rows in R^{self.d}, at most {self.block} at a time)"

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise InputError(f"{self!r} are not in memory; use take(index) for the rows at the indices")


def _count(names: Any) -> int:
    """How many names there are; -1 where they are none. They may be made when asked for, so only the first is looked at."""
    try:
        return len(names) if not isinstance(names, str) and isinstance(names[0], str) else -1
    except (TypeError, LookupError):
        return -1
