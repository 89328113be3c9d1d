"""What arms and items are called."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["labels"]


def labels(names: Sequence[str] | None, n: int) -> list[str]:
    """What n arms or items are called: by name where names are unique, else by index from 0; never by both.

    >>> labels(["red", "blue"], 2), labels(["red", "red"], 2), labels(None, 2)
    (['red', 'blue'], ['0', '1'], ['0', '1'])
    """
    if names is not None and len(set(names)) == len(names):
        return [str(name) for name in names]
    return [str(i) for i in range(n)]
