"""How long certified designs take: fully corrective Frank-Wolfe beside its rivals, and how time grows.

    python benchmarks/frank_wolfe.py docs/benchmarks [--repeat 3] [--rounds 5] [--only TEXT] [--largest 10000000]

writes frank-wolfe.md and .csv (every case, and the gap that each rival has proven in the same time), growth.md, .csv and .png
(time against arms, dimensions and items, with the exponent fitted). Each case runs in its own process with one BLAS thread.
Seconds are processor time of the whole call of solve (construction of the problem apart), the least of the repetitions; `ratio`
divides them by one pass q_i = y_i'Cy_i over the arms; `passes` counts those that the method made over all arms. All cases are
measured in several rounds, minutes apart, because shared machines have slow minutes: the least and the median round are given.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


TOL = 1e-6
# Rivals are asked for the same gap within the same time; the conic program only where a modest multiple of it could do.
RIVALS = ("conic", "frank-wolfe-vanilla", "multiplicative")
MOST_CONIC = 20_000
MEASURED = ("seconds", "median_seconds", "passes", "ratio", "median_ratio", "gap", "support", "memory_mb")
COLUMNS = ("case", "n", "d", "m", *MEASURED, *RIVALS)
GROWTH: dict[str, tuple[Callable[[int], P], tuple[int, ...]]] = {
    "arms n, G in 10 dimensions": (lambda n: P.g_optimal(gaussian(n, 10)), (10**3, 10**4, 10**5, 10**6, 10**7)),
    "dimensions d, G over 20,000 arms": (lambda d: P.g_optimal(gaussian(20_000, d)), (2, 5, 10, 20, 50, 100)),
    "items, XY in 10 dimensions": (lambda k: P.xy_allocation(gaussian(k, 10)), (10**2, 10**3, 10**4, 10**5)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("docs/benchmarks"))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--largest", type=int, default=10**7, help="leave out problems with more arms")
    parser.add_argument("--case", help="measure this one here and print its numbers as JSON")
    parser.add_argument("--growth", nargs=2, metavar=("SERIES", "SIZE"), help="the same for a point of a growth series")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(CASES[options.case](), options.repeat, rivals=True)))
    elif options.growth:
        series, size = options.growth
        print(json.dumps(measure(GROWTH[series][0](int(size)), options.repeat, rivals=False)))
    else:
        options.folder.mkdir(parents=True, exist_ok=True)
        write_cases(options)
        if not options.only:
            write_growth(options)


def measure(problem: P, repeat: int, rivals: bool) -> dict[str, Any]:
    """One line of the table; memory is the peak of the process less what it held before the first solve."""
    repeat = repeat if problem.n_arms > 10 else 100 * repeat
    before = peak_megabytes()
    one_pass = least(lambda: problem.arms.quadratic(np.eye(problem.arms.d)), repeat)
    design = cd.solve(problem, method="frank-wolfe", tol=TOL)
    memory = peak_megabytes() - before
    seconds = least(lambda: cd.solve(problem, method="frank-wolfe", tol=TOL), repeat)
    line: dict[str, Any] = {"n": problem.n_arms, "d": problem.arms.d, "m": problem.targets.m, "seconds": seconds}
    line |= {"passes": design.stats.passes, "ratio": seconds / one_pass, "gap": design.gap}
    line |= {"support": int(design.support.size), "memory_mb": memory}
    return line | ({name: gap_of_rival(problem, name, seconds) for name in RIVALS} if rivals else {})


def gap_of_rival(problem: P, method: str, seconds: float) -> float | None:
    """The gap that another method has proven after the same time (but at least a hundredth of a second)."""
    if method == "conic" and problem.n_arms * problem.arms.d > MOST_CONIC:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.ConvergenceWarning)
        gap = cd.solve(problem, method=method, tol=TOL, time_limit=max(seconds, 0.01)).gap
    return gap if np.isfinite(gap) else None


def write_cases(options: argparse.Namespace) -> None:
    names = [name for name in CASES if options.only in name and size_of(name) <= options.largest]
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for k in range(options.rounds):
        for name in names:
            line = {"case": name} | in_a_process("--case", name, "--repeat", str(options.repeat))
            rounds[name].append(line)
            print(f"round {k + 1}, {name}: {line['seconds']:.4f} s", flush=True)
    lines = [summary(of_a_case) for of_a_case in rounds.values()]
    with (options.folder / "frank-wolfe.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)
    head = [
        "case",
        "n",
        "d",
        "targets",
        "ms",
        "median",
        "passes",
        "ratio to one pass",
        "median",
        "gap",
        "support",
        "MB",
    ]
    head += [f"gap of {name} in the same time" for name in RIVALS]
    rows = [
        [
            line["case"],
            f"{line['n']:,}",
            line["d"],
            f"{line['m']:,}",
            f"{1e3 * line['seconds']:.1f}",
            f"{1e3 * line['median_seconds']:.1f}",
            f"{line['passes']:g}",
            f"{line['ratio']:.1f}",
            f"{line['median_ratio']:.1f}",
        ]
        + [f"{line['gap']:.0e}", line["support"], f"{line['memory_mb']:.0f}"]
        + ["" if line[name] is None else f"{line[name]:.0e}" for name in RIVALS]
        for line in lines
    ]
    fair = f"Milliseconds and ratios: the least and the median of {options.rounds} rounds through all cases. "
    fair += "Rivals get the same time, at least 0.01 s, and finish the step that they are in."
    text = f"# Fully corrective Frank-Wolfe\n\n{provenance()} {fair}\n\n{markdown(head, rows)}\n"
    (options.folder / "frank-wolfe.md").write_text(text)


def summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The round with the least time, and the medians over the rounds."""
    medians = {f"median_{what}": float(np.median([line[what] for line in rounds])) for what in ("seconds", "ratio")}
    return min(rounds, key=lambda line: float(line["seconds"])) | medians


def write_growth(options: argparse.Namespace) -> None:
    """Time against size, and the exponent of the power law fitted to the larger half of each series."""
    from matplotlib.figure import Figure

    lines, rows = [], []
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    for axes, (series, (_, sizes)) in zip(figure.subplots(1, 3), GROWTH.items(), strict=True):
        kept = [k for k in sizes if k <= options.largest]
        seconds = []
        for k in kept:
            line = in_a_process("--growth", series, str(k), "--repeat", str(options.repeat))
            lines.append({"series": series, "size": k, "seconds": line["seconds"], "gap": line["gap"]})
            seconds.append(line["seconds"])
            print(f"{series}, {k}: {seconds[-1]:.4f} s", flush=True)
        upper = slice(len(kept) // 2, None)
        exponent = float(np.polyfit(np.log(kept[upper]), np.log(seconds[upper]), 1)[0])
        rows.append(
            [series, ", ".join(f"{k:,}: {t:.4f}" for k, t in zip(kept, seconds, strict=True)), f"{exponent:.2f}"]
        )
        axes.loglog(kept, seconds, "o-", color="#0072B2")
        axes.set(xlabel=series, ylabel="processor time (s)")
    figure.savefig(options.folder / "growth.png", dpi=150)
    with (options.folder / "growth.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ("series", "size", "seconds", "gap"))
        writer.writeheader()
        writer.writerows(lines)
    table = markdown(["series", "seconds at each size", "exponent of the larger half"], rows)
    picture = "![Processor time against arms, dimensions and items on logarithmic axes](growth.png)"
    (options.folder / "growth.md").write_text(f"# How time grows\n\n{provenance()}\n\n{table}\n\n{picture}\n")


def in_a_process(*arguments: str) -> dict[str, Any]:
    """The JSON that this script prints with the arguments, one BLAS thread."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    line: dict[str, Any] = json.loads(done.stdout)
    return line


def size_of(name: str) -> float:
    """The number of arms that a case's name begins with, after its kind."""
    return max(
        (float(word) for word in name.replace(",", "").split() if word[0].isdigit() and ".." not in word), default=0
    )


def provenance() -> str:
    threads = "one BLAS thread"
    made = (
        f"{datetime.date.today()} on {platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    )
    return f"Made by `make bench` (`python benchmarks/frank_wolfe.py`), {made}, {threads}; every gap is certified."


def markdown(head: list[str], rows: list[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


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
