"""Folders in memory, where there is such a thing: for tests of stores that sync often and are not about the disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["fast_folder"]

MEMORY = Path("/dev/shm")


@contextmanager
def fast_folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)
