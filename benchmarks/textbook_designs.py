"""Textbook designs for quadratic surfaces, each judged against the best possible anywhere in its region.

    OPENBLAS_NUM_THREADS=1 python benchmarks/textbook_designs.py [FOLDER]

Central composite, Box-Behnken, equiradial and Doehlert designs, a simplex centroid, and D-optimal runs of the literature. For
each the D-, I- and G-efficiency, with bounds that are proven over the whole region, and the D-efficiency of the best plan of as
many runs that `RegionDesign.round` found. With FOLDER the table is written to FOLDER/textbook-designs.md as well.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import platform
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import convexdesign as cd

PAGE = """# Textbook designs, judged

Made by `python benchmarks/textbook_designs.py docs/benchmarks`, {date} on {machine}. Full quadratic models (of the mixture,
Scheffe's). Every efficiency is proven to the digits shown, against the best shares of measurements **anywhere in the region**:
the bounds come from sums of squares, not from a grid. Beside them the D-efficiency of the best plan with as many runs that
`RegionDesign.round` found, and how many runs would move, and how far at most (in half widths of the region), to come to the
best shares for D; on discs and balls, where any rotation is as good, to one of them.

{table}

Sources: central composite designs, Box and Wilson (1951); Box-Behnken, Box and Behnken (1960); equiradial, Box and Hunter
(1957); Doehlert (1970); simplex centroid, Scheffe (1963); six runs on the square, Box and Draper (1971), with
d = (4 - sqrt 13)/3.
"""


def names(q: int) -> list[str]:
    return [f"x{k + 1}" for k in range(q)]


def corners(q: int) -> np.ndarray:
    return np.array(list(itertools.product([-1.0, 1.0], repeat=q)))


def stars(q: int, reach: float) -> np.ndarray:
    return reach * np.vstack([np.eye(q), -np.eye(q)])


def box_behnken(q: int) -> np.ndarray:
    """Corners of every pair of factors, the others at the centre."""
    out = []
    for i, j in itertools.combinations(range(q), 2):
        for a, b in itertools.product([-1.0, 1.0], repeat=2):
            row = np.zeros(q)
            row[[i, j]] = a, b
            out.append(row)
    return np.array(out)


def polygon(m: int) -> np.ndarray:
    angle = 2 * np.pi * np.arange(m) / m
    return np.column_stack([np.cos(angle), np.sin(angle)])


def doehlert(q: int) -> np.ndarray:
    """Differences of the corners of a regular simplex with sides of length one, and the centre."""
    simplex = np.zeros((q + 1, q))
    for k in range(1, q + 1):
        simplex[k] = simplex[:k].mean(axis=0)
        simplex[k, k - 1] = np.sqrt(1.0 - np.sum((simplex[k] - simplex[0]) ** 2))
    return np.array([a - b for a, b in itertools.permutations(simplex, 2)])


def designs() -> Iterator[tuple[str, str, Any, np.ndarray]]:
    """Design, region in words, the model over it, and the runs."""

    def cube(q: int) -> Any:
        return cd.Model.polynomial(names(q), 2).over(cd.Region.box(**dict.fromkeys(names(q), (-1, 1))))

    def ball(q: int, radius: float = 1.0) -> Any:
        return cd.Model.polynomial(names(q), 2).over(cd.Region.ball(names(q), radius))

    def centre(q: int, times: int) -> np.ndarray:
        return np.zeros((times, q))

    for q, times in ((2, 1), (3, 2), (4, 2)):
        runs = np.vstack([corners(q), stars(q, 1.0), centre(q, times)])
        yield f"central composite on the faces, {q} factors", "square" if q == 2 else f"{q}-cube", cube(q), runs
    for q, times in ((2, 5), (3, 6)):
        reach = 2.0 ** (q / 4)
        runs = np.vstack([corners(q) * (1 - 1e-12), stars(q, reach) * (1 - 1e-12), centre(q, times)])
        yield (
            f"central composite, rotatable, {q} factors",
            "disc" if q == 2 else "ball",
            ball(q, max(reach, np.sqrt(q))),
            runs,
        )
    yield "Box-Behnken, 3 factors", "3-cube", cube(3), np.vstack([box_behnken(3), centre(3, 3)])
    yield "Box-Behnken, 3 factors", "ball", ball(3, np.sqrt(2)), np.vstack([box_behnken(3) * (1 - 1e-12), centre(3, 3)])
    yield "Box-Behnken, 4 factors", "4-cube", cube(4), np.vstack([box_behnken(4), centre(4, 3)])
    yield "equiradial, pentagon and centre", "disc", ball(2), np.vstack([polygon(5) * (1 - 1e-12), centre(2, 1)])
    yield (
        "equiradial, hexagon and 3 at the centre",
        "disc",
        ball(2),
        np.vstack([polygon(6) * (1 - 1e-12), centre(2, 3)]),
    )
    yield "Doehlert, 2 factors", "disc", ball(2), np.vstack([doehlert(2) * (1 - 1e-12), centre(2, 1)])
    yield "Doehlert, 3 factors", "ball", ball(3), np.vstack([doehlert(3) * (1 - 1e-12), centre(3, 1)])
    mixture = cd.Model.formula("x1 + x2 + x3 + x1:x2 + x1:x3 + x2:x3 - 1").over(cd.Region.simplex(names(3)))
    yield (
        "simplex centroid, 3 components",
        "mixture",
        mixture,
        np.array([[1, 0], [0, 1], [0, 0], [0.5, 0.5], [0.5, 0], [0, 0.5], [1 / 3, 1 / 3]]),
    )
    d = (4 - np.sqrt(13)) / 3
    six = np.array([[-1, -1], [1, -1], [-1, 1], [-d, -d], [1, 3 * d], [3 * d, 1]])
    yield "Box and Draper, six runs", "square", cube(2), six
    yield "3 x 3 factorial", "square", cube(2), np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=2)))


def shown(interval: tuple[float, float]) -> str:
    """Both ends rounded outwards where they differ in the fourth digit, else the efficiency."""
    low, high = interval
    return (
        f"{low:.4f}"
        if f"{low:.4f}" == f"{high:.4f}"
        else f"{np.floor(low * 1e4) / 1e4:.4f} to {np.ceil(high * 1e4) / 1e4:.4f}"
    )


def row(name: str, region: str, curve: Any, runs: np.ndarray) -> str:
    table = dict(zip(curve.region.names, runs.T))
    problems = [cd.DesignProblem.d_optimal(curve), cd.DesignProblem.i_optimal(curve), cd.DesignProblem.g_optimal(curve)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.ConvergenceWarning)
        judged = [cd.verify(problem, runs=table) for problem in problems]
        best = judged[0].reference.round(len(runs)).efficiency
    moves = judged[0].moves()["distance"]
    cells = [name, region, str(len(runs)), *(shown(j.efficiency_interval) for j in judged), f"{best:.4f}"]
    cells.append(f"{int((moves > 1e-3).sum())}, {moves.max():.2f}")
    print(" | ".join(cells), flush=True)
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args()
    head = ("design", "region", "runs", "D", "I", "G", "D of the best plan found", "runs that move, how far")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *(row(*design) for design in designs())]
    page = PAGE.format(date=datetime.date.today(), machine=platform.machine(), table="\n".join(lines))
    if given.folder is not None:
        (given.folder / "textbook-designs.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
