"""The design step of public bandit code beside `plugin.design`, on the same arms: seconds, and the efficiency proven.

    git clone https://github.com/fiezt/Transductive-Linear-Bandit-Code CHECKOUT
    OPENBLAS_NUM_THREADS=1 python benchmarks/public_code.py CHECKOUT [FOLDER] [--draws K] [--sizes N ...]

The public code is imported from CHECKOUT as it is, and its method RAGE.optimal_allocation is called on arms drawn as its
run_uniform.py draws them: uniform on the unit sphere, d = 9, np.random.seed(43), all differences of arms as targets. Each
efficiency is a proven lower bound, by `verify`. With FOLDER the table is written to FOLDER/public-code.md as well.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import convexdesign as cd
from convexdesign.plugin import design

DIMENSION = 9
SEED = 43  # that of run_uniform.py
TOLS = (1e-2, 1e-6)

PAGE = """# The design step of public bandit code

Made by `python benchmarks/public_code.py CHECKOUT docs/benchmarks` (with the options below), {date} on {machine}, one BLAS
thread. CHECKOUT is [the code of Fiez, Jain, Jamieson and Ratliff
(2019)](https://github.com/fiezt/Transductive-Linear-Bandit-Code), as it is: its `RAGE.optimal_allocation` on arms drawn as
its `run_uniform.py` draws them (uniform on the unit sphere, d = {d}, seed {seed}; targets: all differences of arms).
Seconds of processor time, the mean over {draws} draws of arms; efficiency: the least over the draws, proven by `verify`, so
that 1 minus it is the largest share of pulls that may go to waste. `whole step` includes writing out the differences, which
`design(X, pairs=True)` does not do.

{table}

Options: `--draws {draws} --sizes {sizes}`. Its Frank-Wolfe stops when a step changes the weights by less than 1 %, which says
nothing of the distance from the optimum; `design` stops when the gap is proven to be within `tol`.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 500, 1000])
    options = parser.parse_args()
    sys.path.insert(0, os.fspath(options.checkout.resolve()))
    lines = ["| arms | pairs | code | seconds | efficiency |", "|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for n in options.sizes:
        for name, step in steps().items():
            seconds, efficiency = measured(step, draws(n, options.draws))
            lines.append(f"| {n:,} | {n * (n - 1) // 2:,} | {name} | {seconds:.3g} | {efficiency:.9f} |")
            print(lines[-1], flush=True)
    if options.folder:
        text = PAGE.format(
            date=datetime.date.today(),
            machine=platform.machine(),
            d=DIMENSION,
            seed=SEED,
            draws=options.draws,
            sizes=" ".join(map(str, options.sizes)),
            table="\n".join(lines),
        )
        (options.folder / "public-code.md").write_text(text, encoding="utf-8")


def draws(n: int, count: int) -> list[np.ndarray]:
    """Arms as run_uniform.py draws them, one draw after another from one seed."""
    rng = np.random.RandomState(SEED)
    arms = [rng.randn(n, DIMENSION) for _ in range(count)]
    return [X / np.linalg.norm(X, axis=1, keepdims=True) for X in arms]


def steps() -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Weights from arms, by name; the public code first."""
    from RAGE import RAGE

    def public(X: np.ndarray) -> np.ndarray:
        algorithm = RAGE(X, X[:1].T, 10, 0.05)
        algorithm.seed, algorithm.active_arms = 0, list(range(len(X)))
        algorithm.build_Y()
        return algorithm.optimal_allocation()[0]

    def ours(tol: float) -> Callable[[np.ndarray], np.ndarray]:
        return lambda X: design(X, pairs=True, tol=tol)[0]

    return {"RAGE.optimal_allocation, whole step": public} | {
        f"design(X, pairs=True, tol={t:g})": ours(t) for t in TOLS
    }


def measured(step: Callable[[np.ndarray], np.ndarray], arms: list[np.ndarray]) -> tuple[float, float]:
    """Mean seconds of processor time, and the least efficiency proven."""
    seconds, efficiency = [], []
    for X in arms:
        started = time.process_time()
        weights = step(X)
        seconds.append(time.process_time() - started)
        problem = cd.DesignProblem.xy_allocation(X)
        efficiency.append(cd.verify(problem, weights, normalise=True).efficiency)
    return float(np.mean(seconds)), min(efficiency)


if __name__ == "__main__":
    main()
