"""What the modules that count promises have in common: their command line, and tables as markdown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["count", "markdown", "shown"]

T = TypeVar("T")


def count(run: Callable[..., Any], description: str, replications: int) -> None:
    """Call run(output_dir, replications, seed, jobs, progress) as the command line says."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("output_dir", nargs="?", default="docs/validation")
    parser.add_argument("--replications", type=int, default=replications)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--progress", action=argparse.BooleanOptionalAction, default=sys.stderr.isatty())
    options = parser.parse_args()
    run(options.output_dir, options.replications, options.seed, options.jobs, options.progress)


def shown(found: Iterable[T], total: int, label: str, wanted: bool | None = None) -> Iterator[T]:
    """What is found, with a bar on standard error that says how long the rest will take; by default in terminals alone."""
    from tqdm import tqdm

    yield from tqdm(found, total=total, desc=label, disable=None if wanted is None else not wanted)


def markdown(frame: pd.DataFrame, digits: int = 4) -> str:
    """The frame as a markdown table: so many digits, large numbers whole with thousands separated."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
        return str(value)

    lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * frame.shape[1]]
    lines += ["| " + " | ".join(cell(v) for v in row) + " |" for row in frame.itertuples(index=False)]
    return "\n".join(lines)
