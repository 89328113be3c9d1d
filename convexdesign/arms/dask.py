"""Arms in a Dask array: passes run on the workers, and only numbers per arm and single rows come back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import check_finite
from convexdesign.arms.source import FiniteArms
from convexdesign.errors import InputError
from convexdesign.typing import Floats, Indices

__all__ = ["DaskArms", "is_dask"]

T = TypeVar("T")


def is_dask(source: Any) -> bool:
    """Whether this is a Dask collection; never imports Dask."""
    dask = sys.modules.get("dask")
    return dask is not None and dask.is_dask_collection(source)


class DaskArms(FiniteArms):
    """The rows of a Dask array (n, d), chunked by rows; computed by whatever scheduler or client is current.

    An array that is expensive to make should be persisted on the cluster first (x.persist()): every pass computes its
    chunks again. A worker that dies costs time and nothing else, because the scheduler repeats its tasks.
    """

    def __init__(self, array: Any, what: str = "arms"):
        if not hasattr(array, "to_delayed") or getattr(array, "ndim", None) != 2 or not hasattr(array, "rechunk"):
            raise InputError(
                f"{what} must be a Dask array of two dimensions, got {type(array).__name__}; "
                "a Dask DataFrame becomes one by frame.to_dask_array(lengths=True)"
            )
        if any(not isinstance(size, int) and size != size for size in array.chunks[0]):
            raise InputError(f"{what} are in chunks of unknown length; call compute_chunk_sizes() on the array first")
        if array.dtype.kind not in "fiub":
            raise InputError(f"{what} must be real numbers, got dtype {array.dtype}; convert them first")
        if 0 in array.shape:
            raise InputError(
                f"{what} are empty (shape {array.shape}); give at least one vector with at least one entry"
            )
        self.array = array if len(array.chunks[1]) == 1 else array.rechunk({1: -1})
        self.what = what
        self.n = int(array.shape[0])
        self.d = int(array.shape[1])
        self.names = None
        self.starts = np.concatenate([[0], np.cumsum(array.chunks[0])])

    def take(self, index: Indices) -> Floats:
        index = np.asarray(index, dtype=np.intp)
        chunk = np.searchsorted(self.starts, index, side="right") - 1
        wanted = np.unique(chunk)
        places = [np.flatnonzero(chunk == k) for k in wanted]
        local = {int(k): index[place] - self.starts[k] for k, place in zip(wanted, places, strict=True)}
        out = np.empty((index.size, self.d))
        for place, rows in zip(places, self._compute(_take_rows, local), strict=True):
            out[place] = rows
        return out

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        parts = {
            k: tuple(vector[self.starts[k] : self.starts[k + 1]] for vector in along)
            for k in range(self.starts.size - 1)
            if self.starts[k + 1] > self.starts[k]
        }
        results = self._compute(partial(_on_parts, function), parts)
        return ((int(self.starts[k]), result) for k, result in zip(parts, results, strict=True))

    def _compute(self, function: Callable[[Floats, Any], T], given: dict[int, Any]) -> tuple[T, ...]:
        """function(rows, given[k]) of the chunks k, all at once."""
        import dask

        call = dask.delayed(partial(_on_checked_rows, function, self.what), pure=False)
        blocks = self.array.to_delayed().ravel()
        results: tuple[T, ...] = dask.compute(
            *[call(blocks[k], int(self.starts[k]), part) for k, part in given.items()]
        )
        return results

    def __repr__(self) -> str:
        return f"DaskArms({self.n} rows in R^{self.d}, {self.starts.size - 1} chunks)"


def _on_checked_rows(function: Callable[[Floats, Any], T], what: str, rows: NDArray[Any], start: int, given: Any) -> T:
    check_finite(rows, what, first=start)
    return function(np.asarray(rows, dtype=float), given)


def _on_parts(function: Callable[..., T], rows: Floats, parts: tuple[Floats, ...]) -> T:
    return function(rows, *parts)


def _take_rows(rows: Floats, local: Indices) -> Floats:
    return rows.take(local, axis=0)
