"""Seconds of fully corrective Frank-Wolfe, certified to 1e-6: a Markdown table of the cases the method was tuned on.

    OPENBLAS_NUM_THREADS=1 python benchmarks/frank_wolfe.py [--repeat 3] [--only TEXT]

Times are processor seconds of the whole call of solve (construction of the problem apart), the least of the repetitions.
`passes` is that time divided by one pass q_i = y_i'Cy_i over the arms; `arm passes` counts those the method made.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import convexdesign as cd

P = cd.DesignProblem
Floats = NDArray[np.float64]


def gaussian(n: int, d: int) -> Floats:
    return np.random.default_rng(0).standard_normal((n, d))


def sphere(n: int, d: int) -> Floats:
    X = gaussian(n, d)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X


def ball(n: int, d: int) -> Floats:
    return sphere(n, d) * np.random.default_rng(1).random((n, 1)) ** (1 / d)


def unequal(n: int) -> Floats:
    return np.random.default_rng(2).uniform(0.2, 5.0, n)


def direction(d: int) -> Floats:
    return np.random.default_rng(3).standard_normal(d)


def spread(X: Floats) -> P:
    """Targets x_i / gap_i with gaps between 1e-4 and 1."""
    return P(X, X / (10.0 ** np.random.default_rng(4).uniform(-4, 0, len(X)))[:, None])


SOARE = np.array([[1.0, 0.0], [0.0, 1.0], [np.cos(0.5), np.sin(0.5)]])

CASES: dict[str, Callable[[], P]] = {
    "G 1e5 x 10 Gaussian": lambda: P.g_optimal(gaussian(100_000, 10)),
    "G 1e5 x 10 sphere": lambda: P.g_optimal(sphere(100_000, 10)),
    "G 1e5 x 10 ball": lambda: P.g_optimal(ball(100_000, 10)),
    "G 1e6 x 20 Gaussian": lambda: P.g_optimal(gaussian(1_000_000, 20)),
    "G 1e6 x 20 sphere": lambda: P.g_optimal(sphere(1_000_000, 20)),
    "G 1e6 x 20 ball": lambda: P.g_optimal(ball(1_000_000, 20)),
    "G 1e7 x 10 Gaussian": lambda: P.g_optimal(gaussian(10_000_000, 10)),
    "G 1e6 x 20 unequal noise": lambda: P.g_optimal(gaussian(1_000_000, 20), noise_variance=unequal(1_000_000)),
    "phi d=15 n=2000 Gaussian": lambda: P.variance_g_optimal(gaussian(2000, 15)),
    "phi d=15 n=2000 sphere": lambda: P.variance_g_optimal(sphere(2000, 15)),
    "XY 1000 x 10 Gaussian": lambda: P.xy_allocation(gaussian(1000, 10)),
    "XY 1000 x 10 sphere": lambda: P.xy_allocation(sphere(1000, 10)),
    "XY 1e4 x 10 Gaussian": lambda: P.xy_allocation(gaussian(10_000, 10)),
    "XY 1e4 x 10 sphere": lambda: P.xy_allocation(sphere(10_000, 10)),
    "XY 1e5 x 10 Gaussian": lambda: P.xy_allocation(gaussian(100_000, 10)),
    "XY 1000 x 50 Gaussian": lambda: P.xy_allocation(gaussian(1000, 50)),
    "best-arm oracle 1e5 x 10": lambda: P.best_arm_oracle(gaussian(100_000, 10), theta=direction(10)),
    "level-set oracle 1e5 x 10": lambda: P.level_set_oracle(gaussian(100_000, 10), theta=direction(10), threshold=1.0),
    "gaps 1e-4..1, 1e5 x 10": lambda: spread(gaussian(100_000, 10)),
    "three arms G": lambda: P.g_optimal(SOARE),
    "three arms XY": lambda: P.xy_allocation(SOARE),
    "three arms G unequal noise": lambda: P.g_optimal(SOARE, noise_variance=[1.0, 20.0, 1.0]),
    "three arms oracle": lambda: P.best_arm_oracle(SOARE, theta=[1.0, 0.0], noise_variance=[1.0, 20.0, 1.0]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    print("| case | gap | steps | arm passes | support | ms | passes |")
    print("|---|---|---|---|---|---|---|")
    for name, build in CASES.items():
        if options.only in name:
            problem = build()
            repeat = options.repeat if problem.n_arms > 10 else 100 * options.repeat
            one_pass = least(lambda problem=problem: problem.arms.quadratic(np.eye(problem.arms.d)), repeat)
            seconds = least(lambda problem=problem: cd.solve(problem, method="frank-wolfe"), repeat)
            design = cd.solve(problem, method="frank-wolfe")
            stats = design.stats
            print(
                f"| {name} | {design.gap:.0e} | {stats.iterations} | {stats.passes:g} | {len(design.support)} "
                f"| {1e3 * seconds:.1f} | {seconds / one_pass:.1f} |",
                flush=True,
            )


def least(run: Callable[[], object], repeat: int) -> float:
    """The least processor time of one call, in seconds."""
    times = []
    for _ in range(repeat):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    main()
