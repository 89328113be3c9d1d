"""Two versions of the package on the same problems in one run: is anything slower than it was?

    git worktree add --detach /tmp/before COMMIT
    python benchmarks/before_after.py /tmp/before . [--rounds 5] [--only TEXT] [--output docs/benchmarks/before-after.md]

Each case of each version runs in its own process with one BLAS thread, the versions in turn: slow minutes fall on both.
A figure is the least processor time of the call, repeated for a second; the last column is the median over the rounds of after
divided by before. Cases hold only what both versions can do.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import convexdesign as cd

P = cd.DesignProblem
SECONDS_PER_CASE = 1.0  # after a first call
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


SOARE = np.array([[1.0, 0.0], [0.0, 1.0], [np.cos(0.5), np.sin(0.5)]])
NOISE = np.random.default_rng(2).uniform(0.2, 5.0, 100_000)
THETA = np.random.default_rng(3).standard_normal(10)


def gaussian(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d))


def sphere(n: int, d: int) -> np.ndarray:
    X = gaussian(n, d)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def solve(problem: cd.DesignProblem, method: str = "auto") -> Callable[[], object]:
    return lambda: cd.solve(problem, method=method, tol=1e-6)


def round_to(problem: cd.DesignProblem, n: int, method: str) -> Callable[[], object]:
    design = cd.solve(problem, tol=1e-6)
    return lambda: design.round(n, method=method)


# Each gives the call that is timed; what it needs is made before.
CASES: dict[str, Callable[[], Callable[[], object]]] = {
    "G 1e5 x 10 Gaussian": lambda: solve(P.g_optimal(gaussian(100_000, 10))),
    "G 1e5 x 10 sphere": lambda: solve(P.g_optimal(sphere(100_000, 10))),
    "G 1e5 x 10 unequal noise": lambda: solve(P.g_optimal(gaussian(100_000, 10), noise_variance=NOISE)),
    "G 2e4 x 50 Gaussian": lambda: solve(P.g_optimal(gaussian(20_000, 50))),
    "D 1e5 x 10 Gaussian": lambda: solve(P.d_optimal(gaussian(100_000, 10))),
    "D 2e4 x 50 Gaussian": lambda: solve(P.d_optimal(gaussian(20_000, 50))),
    "A 1e4 x 10 Gaussian": lambda: solve(P.a_optimal(gaussian(10_000, 10))),
    "phi d=10 n=1000": lambda: solve(P.variance_g_optimal(gaussian(1000, 10))),
    "XY 1000 x 10 Gaussian": lambda: solve(P.xy_allocation(gaussian(1000, 10))),
    "XY 1e4 x 10 sphere": lambda: solve(P.xy_allocation(sphere(10_000, 10))),
    "best-arm oracle 1e5 x 10": lambda: solve(P.best_arm_oracle(gaussian(100_000, 10), theta=THETA)),
    "level-set oracle 1e4 x 10": lambda: solve(P.level_set_oracle(gaussian(10_000, 10), theta=THETA, threshold=1.0)),
    "conic G 200 x 5": lambda: solve(P.g_optimal(gaussian(200, 5)), "conic"),
    "conic XY 30 x 5": lambda: solve(P.xy_allocation(gaussian(30, 5)), "conic"),
    "conic E 200 x 5": lambda: solve(P.e_optimal(gaussian(200, 5)), "conic"),
    "apportion 1e5 x 10": lambda: round_to(P.g_optimal(gaussian(100_000, 10)), 500, "apportion"),
    "exchange 1000 x 5": lambda: round_to(P.g_optimal(gaussian(1000, 5)), 40, "exchange"),
    "three arms G": lambda: solve(P.g_optimal(SOARE)),
    "three arms XY": lambda: solve(P.xy_allocation(SOARE)),
    "three arms G unequal noise": lambda: solve(P.g_optimal(SOARE, noise_variance=[1.0, 20.0, 1.0])),
    "three arms oracle": lambda: solve(P.best_arm_oracle(SOARE, theta=[1.0, 0.0], noise_variance=[1.0, 20.0, 1.0])),
}
IMPORT = "import convexdesign"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout of the earlier version")
    parser.add_argument("after", type=Path, help="a checkout of the later one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--output", type=Path, help="write the table here")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(least_seconds(CASES[options.case]()))
        return
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in (*CASES, IMPORT) if options.only in name}
    for k in range(options.rounds):
        for name in times:
            pair = [in_a_process(checkout.resolve(), name) for checkout in (options.before, options.after)]
            times[name].append((pair[0], pair[1]))
            print(f"round {k + 1}, {name}: {1e3 * pair[0]:.2f} ms, {1e3 * pair[1]:.2f} ms", flush=True)
    text = table(times, version(options.before), version(options.after), options.rounds)
    print(text)
    if options.output:
        options.output.write_text(text)


def in_a_process(checkout: Path, name: str) -> float:
    """Seconds of a case under the version of a checkout, measured by this very file."""
    environment = os.environ | THREADS | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": ""}
    if name == IMPORT:
        code = f"import resource; {IMPORT}; print(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))"
        return min(seconds_printed([sys.executable, "-c", code], environment) for _ in range(3))
    return seconds_printed([sys.executable, __file__, ".", ".", "--case", name], environment)


def seconds_printed(command: list[str], environment: dict[str, str]) -> float:
    return float(
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()[-1]
    )


def least_seconds(run: Callable[[], object]) -> float:
    run()
    least, until = float("inf"), time.monotonic() + SECONDS_PER_CASE
    while True:
        start = time.process_time()
        run()
        least = min(least, time.process_time() - start)
        if time.monotonic() > until:
            return least


def version(checkout: Path) -> str:
    return subprocess.run(
        ["git", "-C", str(checkout), "log", "-1", "--format=%h"], capture_output=True, text=True, check=True
    ).stdout.strip()


def table(times: dict[str, list[tuple[float, float]]], before: str, after: str, rounds: int) -> str:
    how = (
        f"Made by `python benchmarks/before_after.py`, {rounds} rounds, the versions in turn, on {platform.machine()}, "
    )
    how += f"Python {platform.python_version()}, one BLAS thread. Milliseconds of processor time, the median of the rounds; "
    how += "the ratio is the median of the rounds' ratios."
    lines = [f"# Before and after: {before} and {after}", "", how, ""]
    lines += ["| case | before, ms | after, ms | after / before |", "| --- | --: | --: | --: |"]
    for name, pairs in times.items():
        first, second = (statistics.median(pair[k] for pair in pairs) for k in (0, 1))
        ratio = statistics.median(after_ / before_ for before_, after_ in pairs)
        lines.append(f"| {name} | {1e3 * first:.2f} | {1e3 * second:.2f} | {ratio:.2f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
