"""Finite numbers: the check at the border, block by block, that names the first entry at fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError

__all__ = ["check_finite", "numeric"]

# Larger entries would overflow when squared twice; they mean a wrong unit, not a measurement.
LARGEST_ENTRY = 1e75
# Entries looked at together: a file is read once, and memory holds no second copy.
BLOCK_ENTRIES = 2**16


def numeric(source: Any, what: str) -> NDArray[Any]:
    """The source as an array of real numbers; InputError otherwise."""
    if np.ma.is_masked(source):
        at = ", ".join(str(int(k)) for k in np.argwhere(np.ma.getmaskarray(source))[0])
        raise InputError(f"{what}[{at}] is masked; fill it in or drop its row")
    try:
        values = source if isinstance(source, np.ndarray) else np.asarray(source)
        if values.dtype == object:
            values = values.astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be numbers in a rectangular array: {error}") from None
    if values.dtype.kind not in "fiub":
        raise InputError(f"{what} must be real numbers, got dtype {values.dtype}; convert them first")
    return values


def check_finite(values: NDArray[Any], what: str, names: Sequence[str] | None = None, first: int = 0) -> None:
    """InputError, with its place, for an entry that is not finite or absurdly large; rows are numbered from `first`."""
    plain = np.atleast_1d(np.asarray(values))  # slices of np.memmap itself are slow to make
    width = plain[0].size if plain.shape[0] else 1
    step = max(1, BLOCK_ENTRIES // max(width, 1))
    for start in range(0, plain.shape[0], step):
        block = plain[start : start + step]
        # Largest and smallest are nan where any entry is.
        if block.size and not max(float(block.max()), -float(block.min())) <= LARGEST_ENTRY:
            _refuse(block, what, names, first + start, scalar=values.ndim == 0)


def _refuse(block: NDArray[Any], what: str, names: Sequence[str] | None, first: int, *, scalar: bool) -> None:
    bad = ~(np.abs(np.asarray(block, dtype=float)) <= LARGEST_ENTRY)
    at = [int(k) for k in np.unravel_index(int(np.argmax(bad)), bad.shape)]
    found, row = block[tuple(at)], first + at[0]
    place = what if scalar else f"{what}[{', '.join(str(k) for k in (row, *at[1:]))}]"
    named = f" ({names[row]})" if names else ""
    remedy = f"rescale below {LARGEST_ENTRY:g} (change the unit)" if np.isfinite(found) else "remove or impute it"
    raise InputError(f"{place}{named} is {found}; {remedy}")
