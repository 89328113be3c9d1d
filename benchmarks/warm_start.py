"""Warm starts: what a related design saves, over sequences of problems each started from the design before it.

    OPENBLAS_NUM_THREADS=1 python benchmarks/warm_start.py [FOLDER] [--repeats K]

Every solve is certified to a gap of 1e-6. Columns: problems after the first; Newton and interior point steps, pricings of
all arms and targets, and milliseconds of processor time (the least of K repeats), each cold and then warm. With FOLDER the
table is written to FOLDER/warm-start.md as well.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import convexdesign as cd

P = cd.DesignProblem

PAGE = """# What a related design saves

Made by `make bench` (`python benchmarks/warm_start.py docs/benchmarks`), {date} on {machine}, one BLAS thread; every gap is
certified to 1e-6. Sequences of problems, each started from the design before it (`warm_start=`): Newton and interior point
steps, pricings of all arms and targets, and milliseconds of processor time, summed over the problems after the first.

{table}

The ratio tells how much: what decides is whether the targets and arms of the old answer are those of the new one.
"""
Sequence = list[cd.DesignProblem]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lines = [
        "| sequence | problems | steps cold | warm | ratio | pricings cold | warm | ms cold | warm | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for name, build in SEQUENCES.items():
        problems = build()
        cold = best([run(problems, warm=False) for _ in range(options.repeats)])
        warm = best([run(problems, warm=True) for _ in range(options.repeats)])
        (steps, pricings, ms), (fewer, less, faster) = cold, warm
        lines.append(
            f"| {name} | {len(problems) - 1} | {steps} | {fewer} | {steps / fewer:.1f} | {pricings} | {less} "
            f"| {ms:.0f} | {faster:.0f} | {ms / faster:.1f} |"
        )
        print(lines[-1], flush=True)
    if options.folder:
        page = PAGE.format(date=datetime.date.today(), machine=platform.machine(), table="\n".join(lines))
        (options.folder / "warm-start.md").write_text(page)


def run(problems: Sequence, warm: bool) -> tuple[int, int, float]:
    """Steps, pricings and milliseconds of all problems after the first."""
    last = cd.solve(problems[0])
    steps = pricings = 0
    seconds = 0.0
    for problem in problems[1:]:
        started = time.process_time()
        last = cd.solve(problem, warm_start=last if warm else None)
        seconds += time.process_time() - started
        assert last.status is cd.Status.CERTIFIED
        steps, pricings = steps + last.stats.iterations, pricings + len(last.stats.history)
    return steps, pricings, 1e3 * seconds


def best(runs: list[tuple[int, int, float]]) -> tuple[int, int, float]:
    return min(runs, key=lambda run: run[2])


def gaussian(n: int, d: int = 10) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((n, d))


def sphere(n: int, d: int = 10) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def noise(n: int) -> np.ndarray:
    return np.random.default_rng(2).uniform(0.2, 3.0, n)


def theta(d: int = 10) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(d)


def a_few_leave(arms: np.ndarray, variance: np.ndarray | None) -> Sequence:
    """XY-allocation on the best items: seven in a hundred leave each time."""
    items = arms[:1000]
    order = np.argsort(-(items @ theta()), kind="stable")
    left = (len(items) * 0.93 ** np.arange(8)).astype(int)
    return [P.xy_allocation(arms, items[np.sort(order[:k])], noise_variance=variance) for k in left]


def gaps_halve(arms: np.ndarray, variance: np.ndarray | None) -> Sequence:
    """XY-allocation on the items within eps of the best, eps halved each time, as phased elimination does."""
    items = arms[:1000]
    score = items @ theta()
    gaps = score.max() - score
    problems, last = [], 0
    for eps in gaps.max() * 0.5 ** np.arange(8):
        keep = np.flatnonzero(gaps <= eps)
        if keep.size >= 2 and keep.size != last:
            problems.append(P.xy_allocation(arms, items[keep], noise_variance=variance))
        last = keep.size
    return problems


def variances_settle(arms: np.ndarray) -> Sequence:
    """G with estimated variances whose relative error halves each time, from ten per cent."""
    rng = np.random.default_rng(1)
    return [
        P.g_optimal(arms, noise_variance=noise(len(arms)) * np.exp(0.1 * 0.5**k * rng.standard_normal(len(arms))))
        for k in range(6)
    ]


def arms_arrive(arms: np.ndarray, build: Callable[..., cd.DesignProblem], variance: np.ndarray | None) -> Sequence:
    """A tenth more arms each time, at the end."""
    counts = (len(arms) * 0.9 ** np.arange(5, -1, -1)).astype(int)
    return [build(arms[:k], noise_variance=None if variance is None else variance[:k]) for k in counts]


SEQUENCES: dict[str, Callable[[], Sequence]] = {
    "XY, a few items leave, 200 Gaussian arms": lambda: a_few_leave(gaussian(200), noise(200)),
    "XY, a few items leave, 20,000 Gaussian arms": lambda: a_few_leave(gaussian(20_000), noise(20_000)),
    "XY, a few items leave, 2,000 arms on a sphere": lambda: a_few_leave(sphere(2000), None),
    "XY, gaps halve, 2,000 Gaussian arms": lambda: gaps_halve(gaussian(2000), noise(2000)),
    "XY, gaps halve, 2,000 arms on a sphere": lambda: gaps_halve(sphere(2000), None),
    "G, variances settle, 200 arms on a sphere": lambda: variances_settle(sphere(200)),
    "G, variances settle, 2,000 Gaussian arms": lambda: variances_settle(gaussian(2000)),
    "G, arms arrive, 2,000 Gaussian arms": lambda: arms_arrive(gaussian(2000), P.g_optimal, noise(2000)),
    "D, arms arrive, 2,000 Gaussian arms": lambda: arms_arrive(gaussian(2000), P.d_optimal, noise(2000)),
    "D, arms arrive, 20,000 Gaussian arms": lambda: arms_arrive(gaussian(20_000), P.d_optimal, noise(20_000)),
    "D, arms arrive, 20,000 arms on a sphere": lambda: arms_arrive(sphere(20_000), P.d_optimal, None),
}

if __name__ == "__main__":
    main()
