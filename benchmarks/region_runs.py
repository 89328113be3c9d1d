"""Plans of N runs over regions: `RegionDesign.round` beside coordinate exchange of 100 random starts, on ten problems.

    OPENBLAS_NUM_THREADS=1 python benchmarks/region_runs.py [FOLDER] [--restarts K] [--problems M]

Coordinate exchange over continuous factors (Meyer and Nachtsheim, 1995, as statistical programs do it): from random runs in the
region, each coordinate of each run is set to the best value that stays inside, over a grid that is refined twice,
and each level of a discrete factor to the best level, until a sweep gains nothing. All starts run side by side, and each is
counted. Everything is judged by one yardstick, (det(X'X) / N^d / det*)^(1/d) with the proven bound det* over the whole
region. With FOLDER the table is written to FOLDER/region-runs.md as well.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from region_problems import problems

import convexdesign as cd

PAGE = """# Plans of N runs over regions, beside coordinate exchange

Made by `python benchmarks/region_runs.py docs/benchmarks`, {date} on {machine}, one BLAS thread. Proven efficiency against the
best shares anywhere in the region, and seconds of processor time: `design.round(n)` with the default effort and with
`effort="thorough"`, and coordinate exchange over continuous factors: the best of {restarts} random starts, and the median
start.

{table}

The default effort was better than {restarts} starts in {better} problems, equal (to 1e-6) in {equal}, and worse in {worse}; the
thorough one better in {better_t}, equal in {equal_t}, and worse in {worse_t}.
"""

# Points of the segment that a coordinate may move along, and how often the grid is refined around the best.
POINTS, REFINED = 17, 3
SWEEPS = 60
GAIN = 1e-7


def random_runs(problem: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Settings drawn evenly from the continuous part of the region."""
    region = problem.region
    low, high = np.array(region.lower, dtype=float), np.array(region.upper, dtype=float)
    found = np.empty((0, region.q))
    while len(found) < count:
        x = low + (high - low) * rng.random((4 * count, region.q))
        found = np.vstack([found, x[region.inside(x, 0.0)]])
    return found[:count]


def coordinate_exchange(problem: Any, n: int, restarts: int, seed: int = 0) -> np.ndarray:
    """log det X'X of every start, in the coordinates of the problem's frame."""
    rng = np.random.default_rng(seed)
    region, frame = problem.region, problem.frame
    q, d, pieces = region.q, frame.d, len(region.pieces)
    low, high = np.array(region.lower, dtype=float), np.array(region.upper, dtype=float)
    x = random_runs(problem, restarts * n, rng).reshape(restarts, n, q)
    where = rng.integers(0, pieces, (restarts, n))

    def rows(where: np.ndarray, x: np.ndarray) -> np.ndarray:
        shape = x.shape[:-1]
        return frame.rows(where.ravel(), x.reshape(-1, q)).reshape(*shape, d)

    ridge = 1e-7 * np.eye(d)
    U = rows(where, x)
    previous = np.linalg.slogdet(np.einsum("snd,sne->sde", U, U) + ridge)[1]
    every = np.arange(restarts)
    for _ in range(SWEEPS):
        for i in range(n):
            C = np.linalg.inv(np.einsum("snd,sne->sde", U, U) + ridge)
            for j in range(q + (pieces > 1)):
                centre, reach = None, high - low
                for _ in range(REFINED if j < q else 1):
                    size = POINTS if j < q else pieces
                    trial = np.repeat(x[:, i, None, :], size, axis=1)
                    level = np.repeat(where[:, i, None], size, axis=1)
                    if j == q:
                        level[:] = np.arange(pieces)
                    elif centre is None:
                        trial[:, :, j] = np.linspace(low[j], high[j], size)
                    else:
                        steps = np.linspace(-1, 1, size) * reach[j]
                        trial[:, :, j] = np.clip(centre[:, None] + steps, low[j], high[j])
                    reach = reach * 1.5 / (POINTS - 1)
                    ok = region.inside(trial.reshape(-1, q), 0.0).reshape(restarts, size)
                    T, u = rows(level, trial), U[:, i]
                    Cu, CT = np.einsum("sde,se->sd", C, u), np.einsum("sde,sge->sgd", C, T)
                    own, cross = np.einsum("sd,sd->s", u, Cu), np.einsum("sgd,sd->sg", T, Cu)
                    factor = (1 - own[:, None]) * (1 + np.einsum("sgd,sgd->sg", CT, T)) + cross**2
                    factor = np.where(ok, factor, -np.inf)
                    at = np.argmax(factor, axis=1)
                    better = factor[every, at] > 1 + 1e-10
                    if better.any():
                        x[better, i] = trial[every, at][better]
                        where[better, i] = level[every, at][better]
                        U[better, i] = T[every, at][better]
                        C = np.linalg.inv(np.einsum("snd,sne->sde", U, U) + ridge)
                    centre = x[:, i, j].copy() if j < q else None
        now = np.linalg.slogdet(np.einsum("snd,sne->sde", U, U) + ridge)[1]
        if (now - previous).max() < GAIN:
            break
        previous = now
    sign, value = np.linalg.slogdet(np.einsum("snd,sne->sde", U, U))
    return np.where(sign > 0, value, -np.inf)


def measured(restarts: int, most: int) -> list[tuple[str, int, list[float]]]:
    """For each problem: efficiency and seconds of quick, thorough, the best start; the median start."""
    out = []
    for name, problem, n in problems()[:most]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.ConvergenceWarning)
            design = cd.solve(problem, tol=1e-5)
        found: list[float] = []
        for effort in ("quick", "thorough"):
            start = time.process_time()
            plan = design.round(n, effort=effort)
            found += [plan.efficiency, time.process_time() - start]
        start = time.process_time()
        values = coordinate_exchange(problem, n, restarts)
        seconds = time.process_time() - start
        d = problem.frame.d
        efficiencies = np.exp((values - 2 * problem.frame.log_det - design.bound) / d) / n
        found += [float(efficiencies.max()), seconds, float(np.median(efficiencies))]
        print(f"{name:22} N = {n:3}: " + " ".join(f"{x:.5f}" for x in found), flush=True)
        out.append((name, n, found))
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--problems", type=int, default=10)
    given = parser.parse_args()
    found = measured(given.restarts, given.problems)
    head = ("problem", "N", "default", "s", "thorough", "s", f"best of {given.restarts} starts", "s", "median start")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, n, numbers in found:
        cells = [f"{x:.2f}" if k in (1, 3, 5) else f"{x:.5f}" for k, x in enumerate(numbers)]
        lines.append(f"| {name} | {n} | " + " | ".join(cells) + " |")
    counts = {}
    for column, suffix in ((0, ""), (2, "_t")):
        ratio = np.array([numbers[column] / numbers[4] for _, _, numbers in found])
        counts[f"better{suffix}"] = int((ratio > 1 + 1e-6).sum())
        counts[f"worse{suffix}"] = int((ratio < 1 - 1e-6).sum())
        counts[f"equal{suffix}"] = len(found) - counts[f"better{suffix}"] - counts[f"worse{suffix}"]
    page = PAGE.format(
        date=datetime.date.today(),
        machine=platform.machine(),
        restarts=given.restarts,
        table="\n".join(lines),
        **counts,
    )
    print(page)
    if given.folder is not None:
        (given.folder / "region-runs.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
