"""NPY files: memory-mapped, never unpickled, checked for shape, type and finiteness."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convexdesign.errors import InputError
from convexdesign.files import open_array

__all__ = ["read_npy"]

_ROWS_PER_CHECK = 65_536


def read_npy(path: Path, ndim: int) -> NDArray[np.float64]:
    """The array of an NPY file as float64 with `ndim` dimensions; float64 files stay memory-mapped."""
    array = open_array(path)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{path} holds numbers of type {array.dtype}; save it as float64")
    if ndim == 1 and array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != ndim:
        wanted = "a matrix with one row per arm" if ndim == 2 else "a vector"
        raise InputError(f"{path} has shape {array.shape}; it must be {wanted}")
    if array.size == 0:
        raise InputError(f"{path} has shape {array.shape}: it holds no number")
    if array.dtype != np.float64:
        array = array.astype(np.float64)
    for start in range(0, array.shape[0], _ROWS_PER_CHECK):
        block = array[start : start + _ROWS_PER_CHECK]
        finite = np.isfinite(block)
        if not finite.all():
            where = np.argwhere(~finite)[0]
            index = (int(where[0]) + start, *(int(k) for k in where[1:]))
            raise InputError(f"{path}: entry {list(index)} is {array[index]}; every number must be finite")
    return array
