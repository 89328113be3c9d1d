"""The index of the problem library, problems/README.md, made from the files: python -m convexdesign.problemfile.index"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from convexdesign.problem.responses import ResponseRows
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

_FIELDS = """\
## Writing a problem file

```toml
title = "Two treatments and their interaction"
kind = "xy-allocation"
arms = [[1, -1, -1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, 1, 1, 1]]
arm_names = ["none", "first", "second", "both"]
noise_variance = [1.0, 1.0, 1.0, 2.0]
```

| field | what it is |
|---|---|
| title, statement | the problem in words; name the units |
| kind | one of the kinds below, which also says what else it needs |
| arms | n rows of d numbers, or the path of a CSV or NPY file relative to this one; for several responses see below |
| arm_names, item_names | names of the rows, unless a CSV file names them |
| items | rows of d numbers; the arms if left out |
| targets, region | rows of d numbers |
| theta, direction | d numbers |
| threshold | a number in units of the measurement |
| interest | indices of coordinates, counted from 0, or a matrix with d rows |
| M | d rows of d numbers |
| noise_variance | a variance (squared units of the measurement), one for all arms or one each; 1 if left out; or see below |
| Sigma | d rows of d numbers instead: the noise variance of arm x is x' Sigma x |
| costs | the price of one measurement of each arm; the weights become shares of a budget |
| existing_counts, n_new | measurements already made of each arm, and how many more are planned |
| prior_information, n_new | or the total information already held, d rows of d numbers |
| min_weight, max_weight | bounds on the weights, one for all arms or one each |
| inequalities | { G = rows of n numbers, h = numbers }: only weights with G w <= h |
| reference | value, tolerance, provenance, source and, if known, optimal weights |

Numbers per arm may also come from a file: one column, or arm names and a column. A file that needs telling how to
be read is a table with the arguments of `tables.read_table`: `arms = { file = "arms.csv", decimal = "," }`.

### Several responses

Where one measurement of an arm returns r numbers at once, the arm is a matrix: d rows of r numbers, one column per
response (or all arms are an NPY file of shape n × d × r). Matrices may have different numbers of columns. Then
`noise_variance` is a number, one number per arm, r numbers per arm for independent responses, or per arm a covariance
matrix of r rows of r numbers; a list with a single one of these is common to all arms. Such arms are no items: give
`items` where a kind compares or ranks them. A G-optimal design then predicts every response of every arm.

```toml
title = "Two responses to one dose, their noise correlated"
kind = "d-optimal"
arms = [
  [[1.0, 0.0], [0.0, 1.0]],
  [[2.0, 0.0], [0.0, 1.0]],
]
noise_variance = [[[1.0, 0.5], [0.5, 2.0]]]
```

"""

_PROGRAMS = """\
## The programs

In all of them `A(w) = sum_i w_i x_i x_i' / s_i^2` with noise variances `s_i^2` (plus the information already held,
where a file gives some; divided by the price of an arm, where it gives costs), and the weights `w` are nonnegative,
sum to one and satisfy the file's bounds. `A^+` is the inverse on the range of `A`; a variance is infinite outside it.
Of arms with several responses `x_i x_i' / s_i^2` is `X_i S_i^-1 X_i'`, with the covariance `S_i` of their noise.
All formulations of one kind have the same optimum. Kiefer and Wolfowitz's theorem lets `log-det` solve a G-optimal
problem when all noise variances are equal.
"""


def index(problems: Iterable[ProblemFile]) -> str:
    """The page as Markdown: a table of the problems, and for each kind the program it expresses."""
    problems = list(problems)
    lines = [_INTRODUCTION, "| problem | kind | n | d | value | provenance |", "|---|---|---|---|---|---|"]
    for stated in problems:
        n, d = stated.arms.n, stated.arms.d
        responses = f", {stated.arms.how_many}" if isinstance(stated.arms, ResponseRows) else ""
        reference = stated.reference
        value, provenance = ("", "") if reference is None else (f"{reference.value:.9g}", reference.provenance)
        link = f"[{stated.name}]({stated.path.name}): {stated.title}"
        lines.append(f"| {link} | {stated.kind} | {n} | {d}{responses} | {value} | {provenance} |")
    lines += ["", _FIELDS + _PROGRAMS, "| kind | to | program | formulations |", "|---|---|---|---|"]
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
