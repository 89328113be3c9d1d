"""The tables in problems/README.md, made from the files of the library: python docs/_ext/library_index.py"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from convexdesign.criteria import oracle_of
from convexdesign.problem import canonicalise
from convexdesign.problemfile import KINDS, library, load_problem
from convexdesign.problemfile.catalogue import folder

__all__ = ["current", "page"]


def page() -> Path:
    """Where the index lies."""
    return folder() / "README.md"


def current(text: str) -> str:
    """The page with its two tables as the files and the kinds are now."""
    for name, rows in (("problems", problems()), ("kinds", kinds())):
        mark = f"<!-- {name}: made by docs/_ext/library_index.py -->"
        table = re.compile(rf"({re.escape(mark)}\n\|[^\n]*\n\|[-|]+\n)(?:\|[^\n]*\n)*")
        start = table.search(text)
        assert start, f"no table of {name}"
        text = text[: start.end(1)] + "".join(f"{row}\n" for row in rows) + text[start.end() :]
    return text


def problems() -> list[str]:
    """A row for each problem: name, title, kind, sizes, and the known value with its provenance."""
    rows = []
    for stated in map(load_problem, library()):
        arms, reference = stated.arms, stated.reference
        size = f"region | {arms.d}" if stated.is_over_region else size_of(arms)
        known = " | " if reference is None else f"{reference.value:.9g} | {reference.provenance}"
        rows.append(f"| [{stated.name}]({stated.path.name}): {stated.title} | {stated.kind} | {size} | {known} |")
    return rows


def size_of(arms: Any) -> str:
    """How many arms, and in how many dimensions."""
    return f"{arms.n} | {arms.d}" + (f", {arms.how_many}" if arms.responses > 1 else "")


def kinds() -> list[str]:
    """A row for each kind: what it is for, the program it expresses, and the formulations that solve it."""
    return [
        f"| {name} | {kind.about} | `{kind.program}` | {', '.join(f'`{f}`' for f in formulations(name))} |"
        for name, kind in KINDS.items()
    ]


def formulations(kind: str) -> list[str]:
    """Those that some problem of this kind in the library has."""
    stated = [file for file in map(load_problem, library()) if file.kind == kind and not file.is_over_region]
    examples = [file.problem() for file in stated]
    found = {name for problem in examples for name in oracle_of(problem).formulations(canonicalise(problem))}
    return [name for name in oracle_of(examples[0]).formulation_names if name in found]


if __name__ == "__main__":
    page().write_text(current(page().read_text(encoding="utf-8")), encoding="utf-8")
