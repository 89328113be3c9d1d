"""The index of the problem library, problems/README.md, made from the files: python -m convexdesign.problemfile.index"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from convexdesign.problemfile.kinds import KINDS
from convexdesign.problemfile.library import folder, library
from convexdesign.problemfile.load import ProblemFile, load_problem

__all__ = ["index", "write_index"]

_INTRODUCTION = """\
# The problem library

Design problems whose optimal value is known, one TOML file each: statement, data, value, and where the value comes
from. `n` arms in `R^d`; the value is a worst variance per measurement (for D-optimal problems log det A), in units
that each file states. A value is *closed-form* (the file gives the derivation), *published* (the file names the
source) or *certified* (a design and a proven bound agree to the digits given).

This page is written by `python -m convexdesign.problemfile.index` from the files.

```python
import convexdesign as cd
from convexdesign.problemfile import find, load_problem

stated = load_problem(find("soare-xy"))
design = cd.solve(stated.problem())
print(stated.title, design.value, stated.reference.value)
```
"""

_PROGRAMS = """\
## The programs

In all of them `A(w) = sum_i w_i x_i x_i' / s_i^2` with noise variances `s_i^2` (plus the information already held,
where a file gives some; divided by the price of an arm, where it gives costs), and the weights `w` are nonnegative,
sum to one and satisfy the file's bounds. `A^+` is the inverse on the range of `A`; a variance is infinite outside it.
All formulations of one kind have the same optimum. Kiefer and Wolfowitz's theorem lets `log-det` solve a G-optimal
problem when all noise variances are equal.
"""


def index(problems: Iterable[ProblemFile]) -> str:
    """The page as Markdown: a table of the problems, and for each kind the program it expresses."""
    problems = list(problems)
    lines = [_INTRODUCTION, "| problem | kind | n | d | value | provenance |", "|---|---|---|---|---|---|"]
    for stated in problems:
        n, d = stated.arms.values.shape
        reference = stated.reference
        value, provenance = ("", "") if reference is None else (f"{reference.value:.9g}", reference.provenance)
        link = f"[{stated.name}]({stated.path.name}): {stated.title}"
        lines.append(f"| {link} | {stated.kind} | {n} | {d} | {value} | {provenance} |")
    lines += ["", _PROGRAMS, "| kind | to | program | formulations |", "|---|---|---|---|"]
    for name, kind in KINDS.items():
        formulations = ", ".join(f"`{formulation}`" for formulation in kind.formulations)
        lines.append(f"| {name} | {kind.about} | `{kind.program}` | {formulations} |")
    return "\n".join(lines) + "\n"


def write_index() -> Path:
    """Write README.md beside the files of the library and return its path."""
    path = folder() / "README.md"
    path.write_text(index(load_problem(file) for file in library()), encoding="utf-8")
    return path


if __name__ == "__main__":
    print(write_index())
