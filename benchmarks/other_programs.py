"""The same problems in other programs: seconds, and the efficiency that `verify` proves of what each returned.

    OPENBLAS_NUM_THREADS=1 python benchmarks/other_programs.py [FOLDER] [--paper CODE]

Needs Rscript on the path, with those of the R packages OptimalDesign, AlgDesign and skpr installed that are to be compared, as
they are; what is missing is left out and said. CODE is the folder `code` of the supplement to Weltz et al. (2023), whose
`get_oracle` is called as its own `algorithms.py` calls it. With FOLDER the table is written to FOLDER/other-programs.md.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import itertools
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import convexdesign as cd
from convexdesign.problemfile import find, load_problem

KINDS = {"D": cd.DesignProblem.d_optimal, "A": cd.DesignProblem.a_optimal}
EXPERIMENTS = ("soare-best-arm", "experiment-1-best-arm", "experiment-2-best-arm", "experiment-3-best-arm")
WHOLE = {"3^3, quadratic": (12, 15), "2^5, interactions": (18, 21)}

PAGE = """# The same problems in other programs

<!-- from here, on the page of comparisons too -->
Made by `python benchmarks/other_programs.py docs/benchmarks{option}`, {date} on {machine}, one BLAS thread. {versions}.
Seconds of processor time, without starting the program; efficiency: proven by `verify` from the weights or counts that each
program returned. Defaults everywhere, but 20 starts for whole numbers (where AlgDesign takes 5 by default, and OptimalDesign as
many as fit into two minutes).

## Proportions

{shares}

## Whole numbers, D-optimal

{whole}

Efficiency of whole numbers is against the best proportions, which no whole numbers may reach: equal figures are equal plans.
{paper}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--paper", type=Path, help="the folder `code` of the paper's supplement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        shares, whole, versions = in_r(Path(work))
    paper = "" if options.paper is None else PAPER.format(table="\n".join(of_the_paper(options.paper)))
    text = PAGE.format(
        option="" if options.paper is None else " --paper CODE",
        date=datetime.date.today(),
        machine=platform.machine(),
        versions=versions,
        shares="\n".join(shares),
        whole="\n".join(whole),
        paper=paper,
    )
    print(text)
    if options.folder:
        (options.folder / "other-programs.md").write_text(text, encoding="utf-8")


def problems() -> dict[str, np.ndarray]:
    """Arms by name; those for whole numbers begin with an intercept."""
    rng = np.random.default_rng(0)
    grid = np.array(list(itertools.product(np.linspace(-1, 1, 21), repeat=2)))
    return {
        "quadratic on a 21 x 21 grid": quadratic(grid),
        "2,000 Gaussian arms, d = 10": rng.standard_normal((2000, 10)),
        "3^3, quadratic": quadratic(np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=3)))),
        "2^5, interactions": quadratic(np.array(list(itertools.product((-1.0, 1.0), repeat=5))), squares=False),
    }


def quadratic(F: np.ndarray, squares: bool = True) -> np.ndarray:
    pairs = [F[:, i] * F[:, j] for i, j in itertools.combinations(range(F.shape[1]), 2)]
    return np.column_stack([np.ones(len(F)), F, *(F.T**2 if squares else ()), *pairs])


def columns(name: str, d: int) -> list[str]:
    """x0 for the intercept, f for factors, q for squares and t for products, where whole numbers are asked for."""
    if name not in WHOLE:
        return [f"x{j}" for j in range(d)]
    factors = int(name[2])
    squares = factors if "quadratic" in name else 0
    pairs = d - 1 - factors - squares
    counted = (("f", factors), ("q", squares), ("t", pairs))
    return ["x0", *(f"{letter}{j + 1}" for letter, count in counted for j in range(count))]


def in_r(work: Path) -> tuple[list[str], list[str], str]:
    """Rows of both tables, and the versions."""
    shares = ["| problem | criterion | program | seconds | efficiency | arms used |", "|---|---|---|---|---|---|"]
    whole = ["| problem | N | program | seconds | efficiency |", "|---|---|---|---|---|"]
    here = Path(__file__).with_suffix(".R")
    for k, (name, X) in enumerate(problems().items()):
        stem = f"p{k}"
        header = ",".join(columns(name, X.shape[1]))
        np.savetxt(work / f"{stem}.csv", X, delimiter=",", header=header, comments="", fmt="%.17g")
        numbers = WHOLE.get(name)
        packages = ("OptimalDesign", "AlgDesign") if numbers is None else ("OptimalDesign", "AlgDesign", "skpr")
        tasks = [f"{p},{what}" for what in numbers or KINDS for p in packages]
        subprocess.run(
            ["Rscript", os.fspath(here), os.fspath(work), stem, *tasks], check=True, stdout=subprocess.DEVNULL
        )
        for what in numbers or KINDS:
            rows = {p: result(work / f"{stem}.{p}-{what}.out") for p in packages}
            make = partial(KINDS["D" if numbers else str(what)], X)
            problem = make()
            rows |= ours(make, what if numbers else None)
            for program, (seconds, found) in rows.items():
                if found is None:
                    continue
                judged = cd.verify(problem, counts=found) if numbers else cd.verify(problem, found, normalise=True)
                line = f"| {name} | {what} | {program} | {seconds:.2g} | {judged.efficiency:.7f} |"
                (whole if numbers else shares).append(line if numbers else f"{line} {np.sum(found > 1e-6)} |")
    versions = [f"{p.stem} {p.read_text().strip()}" for p in sorted(work.glob("*.version"))]
    missing = {"OptimalDesign", "AlgDesign", "skpr"} - {p.stem for p in work.glob("*.version")}
    said = "R packages: " + ", ".join(versions)
    return shares, whole, said + (f"; not installed: {', '.join(sorted(missing))}" if missing else "")


def result(path: Path) -> tuple[float, np.ndarray | None]:
    if not path.exists():
        return 0.0, None
    numbers = np.loadtxt(path)
    return float(numbers[0]), numbers[1:]


def ours(make: Callable[[], cd.DesignProblem], n: int | None) -> dict[str, tuple[float, np.ndarray]]:
    first = cd.solve(make())  # imports what is imported at first use
    if n is not None:
        first.round(n)
    started = time.process_time()
    design = cd.solve(make())
    if n is None:
        return {"convexdesign, solve": (time.process_time() - started, design.weights)}
    plan = design.round(n)
    return {"convexdesign, round": (time.process_time() - started, plan.counts)}


PAPER = """
## The paper's own code

`get_oracle` of the supplement to Weltz et al. (2023), called as `algorithms.py` there calls it (10,000 steps of Frank-Wolfe
from equal weights, known variances), on problems of the library.

{table}
"""


def of_the_paper(code: Path) -> list[str]:
    """Rows of the oracle designs of the paper's experiments."""
    sys.path.insert(0, os.fspath(code.resolve()))
    with contextlib.redirect_stdout(io.StringIO()):
        from experimental_design import get_oracle
    lines = ["| problem | program | seconds | efficiency |", "|---|---|---|---|"]
    for name in EXPERIMENTS:
        stated = load_problem(find(name))
        problem, X, theta = stated.problem(), np.asarray(stated.arms.values), np.asarray(stated.inputs["theta"])
        Z = np.asarray(getattr(stated.inputs.get("items"), "values", X))
        s2 = np.broadcast_to(stated.inputs["noise_variance"], len(X)).astype(float)
        outers = np.einsum("ni,nj->nij", X, X)
        started = time.process_time()
        equal = np.full(len(X), 1 / len(X))
        best = int(np.argmax(Z @ theta))
        weights = get_oracle(outers, X.copy(), Z.copy(), 10000, best, theta, 0, equal, s2.copy())[2]
        rows = {"get_oracle": (time.process_time() - started, weights)}
        rows |= ours(stated.problem, None)
        for program, (seconds, found) in rows.items():
            efficiency = cd.verify(problem, found, normalise=True).efficiency
            lines.append(f"| {name} | {program} | {seconds:.2g} | {efficiency:.7f} |")
    return lines


if __name__ == "__main__":
    main()
