"""Warm starts: what a related design saves, over sequences of problems each started from the design before it.

    OPENBLAS_NUM_THREADS=1 python benchmarks/warm_start.py [FOLDER] [--repeats K]

Every solve is certified to a gap of 1e-6. Columns: problems after the first; Newton and interior point steps, pricings of
all arms and targets, and milliseconds of processor time (the least of K repeats), each cold and then warm; milliseconds when
each problem is started from its own answer; how far from the optimum the old design is on the new problem, and the
D-optimal one; arms with weight, and the weight shared with the design before. With FOLDER the table is written to
FOLDER/warm-start.md as well.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np

import convexdesign as cd

P = cd.DesignProblem

PAGE = """# What a related design saves

Made by `make bench` (`python benchmarks/warm_start.py docs/benchmarks`), {date} on {machine}, one BLAS thread; every gap is
certified to 1e-6. Sequences of problems, each started from the design before it (`warm_start=`): Newton and interior point
steps, pricings of all arms and targets, and milliseconds of processor time, summed over the problems after the first.

{table}

"From the answer": each problem started from its own optimal design, which is the most that any start could save; what is
left is reading the problem, pricing, the last corrective steps of a minimax problem, and the certificate. "Old" and "D": how
far above the optimum (relatively, the mean over the problems) the design before it is, and the D-optimal design, whose arms a
cold solve of a minimax problem begins with. "Support": arms with weight in the optimum, and "shared": the weight that it has
in common with the design before it (none, maybe, where optima are not unique), both means. A start pays by as much as it is
nearer than the D-optimal design, and as far as its arms are those of the answer.
"""
Sequence = list[cd.DesignProblem]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    heads = ("sequence", "problems", "steps cold", "warm", "ratio", "pricings cold", "warm", "ms cold", "warm", "ratio")
    heads += ("ms from the answer", "ratio", "old", "D", "support", "shared")
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    print("\n".join(lines))
    for name, build in SEQUENCES.items():
        problems = build()
        answers = [cd.solve(problem) for problem in problems]
        # In turns, so that what else the machine does meets all of them.
        turns = [
            (run(problems), run(problems, warm=True), from_the_answer(problems, answers))
            for _ in range(options.repeats)
        ]
        (steps, pricings, ms), (fewer, less, faster) = best([t[0] for t in turns]), best([t[1] for t in turns])
        floor = min(t[2] for t in turns)
        lines.append(
            f"| {name} | {len(problems) - 1} | {steps} | {fewer} | {steps / max(fewer, 1):.1f} | {pricings} | {less} "
            f"| {ms:.0f} | {faster:.0f} | {ms / faster:.1f} | {floor:.0f} | {ms / floor:.1f} "
            f"| {above(problems, answers[:-1]):.3f} | {above(problems, map(d_optimal, problems[1:])):.3f} "
            f"| {np.mean([answer.support.size for answer in answers[1:]]):.0f} | {shared(answers):.2f} |"
        )
        print(lines[-1], flush=True)
    if options.folder:
        page = PAGE.format(date=datetime.date.today(), machine=platform.machine(), table="\n".join(lines))
        (options.folder / "warm-start.md").write_text(page)


def run(problems: Sequence, warm: bool = False) -> tuple[int, int, float]:
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


def from_the_answer(problems: Sequence, answers: list[cd.Design]) -> float:
    """Milliseconds for all problems after the first, each started from its own optimal design."""
    started = time.process_time()
    for problem, answer in zip(problems[1:], answers[1:], strict=True):
        assert cd.solve(problem, warm_start=answer).status is cd.Status.CERTIFIED
    return 1e3 * (time.process_time() - started)


def above(problems: Sequence, others: Iterable[cd.Design]) -> float:
    """How far above the optimum the other designs are on the problems after the first, relatively; the mean."""
    losses = []
    for problem, other in zip(problems[1:], others, strict=True):
        weights = np.zeros(problem.n_arms)
        weights[: other.weights.size] = other.weights
        losses.append(1.0 / cd.verify(problem, weights).efficiency - 1.0)
    return float(np.mean(losses))


def shared(answers: list[cd.Design]) -> float:
    """The weight that a design has in common with the one before it, sum min(w, w'); the mean."""
    return float(
        np.mean([np.minimum(old.weights, new.weights[: old.weights.size]).sum() for old, new in pairwise(answers)])
    )


def d_optimal(problem: cd.DesignProblem) -> cd.Design:
    return cd.solve(P.d_optimal(problem.rows.values, noise_variance=problem.noise_variance))


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


def estimates_settle(arms: np.ndarray, variance: np.ndarray) -> Sequence:
    """The plug-in oracle for the best of 400 items, with estimates of theta whose error halves each time."""
    rng = np.random.default_rng(3)
    errors = [0.3 * 0.5**k * rng.standard_normal(arms.shape[1]) for k in range(6)]
    return [P.best_arm_oracle(arms, arms[:400], theta=theta() + e, noise_variance=variance) for e in errors]


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
    "oracle, estimates settle, 2,000 Gaussian arms": lambda: estimates_settle(gaussian(2000), noise(2000)),
    "G, arms arrive, 2,000 Gaussian arms": lambda: arms_arrive(gaussian(2000), P.g_optimal, noise(2000)),
    "D, arms arrive, 2,000 Gaussian arms": lambda: arms_arrive(gaussian(2000), P.d_optimal, noise(2000)),
    "D, arms arrive, 20,000 Gaussian arms": lambda: arms_arrive(gaussian(20_000), P.d_optimal, noise(20_000)),
    "D, arms arrive, 20,000 arms on a sphere": lambda: arms_arrive(sphere(20_000), P.d_optimal, None),
    "A, arms arrive, 20,000 arms on a sphere": lambda: arms_arrive(sphere(20_000), P.a_optimal, None),
}

if __name__ == "__main__":
    main()
