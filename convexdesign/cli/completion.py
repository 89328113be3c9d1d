"""What the Tab key offers: names of problems and files, kinds, methods, figures, algorithms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from glob import escape, glob
from pathlib import Path

__all__ = ["algorithms", "choices", "files_and_problems"]

Completion = Callable[[str], list[str]]


def choices(*words: str) -> Completion:
    """Those of the words that begin as what was typed."""

    def complete(incomplete: str) -> list[str]:
        return beginning(words, incomplete)

    return complete


def beginning(words: Iterable[str], typed: str) -> list[str]:
    return [word for word in words if word.startswith(typed)]


def files_and_problems(incomplete: str) -> list[str]:
    """Files that hold a problem or a table, folders, and names from the library."""
    from convexdesign.problemfile import library

    endings = (".toml", ".csv", ".npy", ".json", ".txt", ".tsv")
    paths = [Path(path) for path in sorted(glob(escape(incomplete) + "*"))]
    files = [f"{path}/" if path.is_dir() else str(path) for path in paths if path.is_dir() or path.suffix in endings]
    return files + beginning((path.stem for path in library()), incomplete)


def algorithms(incomplete: str) -> list[str]:
    """Algorithms, the last of several with commas."""
    from convexdesign.algorithms import ALGORITHMS

    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in beginning(ALGORITHMS, last)]
