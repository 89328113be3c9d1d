"""Whole-number plans: `auto` beside other programs and coordinate exchange on the thirty problems of `whole_numbers`.

    python benchmarks/whole_numbers_elsewhere.py [FOLDER] [--site SITE_PACKAGES] [--seconds S] [--problems M]

The others (pyDOE3, pyoptex, doekit, BoFire) need an environment of their own (`pip install pyDOE3 pyoptex doekit
"bofire[optimization]"`, which brings torch), whose packages --site appends; those that cannot be imported are said so. Every
rival starts anew with another seed until S seconds of processor time are over (each at least once), and coordinate exchange
makes 100 restarts besides; the best of its plans counts. All are judged by det(X'X)^(1/p) / N against the same proven bound.
With FOLDER the table is written to FOLDER/whole-numbers-elsewhere.md.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import io
import itertools
import platform
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from whole_numbers import cases, coordinate_exchange, terms

import convexdesign as cd

PAGE = """# Whole-number plans beside other programs

Made by `python benchmarks/whole_numbers_elsewhere.py docs/benchmarks --seconds {seconds:g}`, {date} on {machine}, one BLAS
thread, with {versions}.
Efficiency of the best plan found against the proven bound on all proportions: `design.round(n)` with its default effort, and
each of the others started again and again with new seeds for {seconds:g} seconds of processor time; coordinate exchange makes
100 restarts. A dash: the program has no such model (pyDOE3 has full polynomials alone), or no plan of its own estimates all
terms, or none came within eight times that time{missing}. BoFire's plans are of continuous factors, moved to the nearest
levels: told of the levels -1, 0 and 1 it uses two of them.

{table}

`auto` took {own:.2f} s at most, and was worse than the best of the others in {worse} of {problems} problems (by more than
1e-6).
"""

# A plan of a rival's may take so many times the seconds that it is given.
PATIENCE = 8

Rival = Callable[[int], np.ndarray]


def logdet(X: np.ndarray) -> float:
    sign, value = np.linalg.slogdet(X.T @ X)
    return float(value) if sign > 0 else -np.inf


def pydoe3(levels: np.ndarray, k: int, model: str, n: int) -> Rival | None:
    from pyDOE3.doe_optimal.optimal import optimal_design

    if model == "interactions":
        return None
    candidates = np.array(list(itertools.product(levels, repeat=k)))
    methods = ("fedorov", "detmax", "modified_fedorov")

    def plan(seed: int) -> np.ndarray:
        np.random.seed(seed)  # noqa: NPY002  (what the program draws from)
        degree = 1 if model == "main effects" else 2
        chosen, _ = optimal_design(candidates, n, degree, criterion="D", method=methods[seed % 3])
        return terms(np.asarray(chosen, dtype=float), model)

    return plan


def doekit(levels: np.ndarray, k: int, model: str, n: int) -> Rival | None:
    from doekit import kl_exchange

    F = terms(np.array(list(itertools.product(levels, repeat=k))), model)
    return lambda seed: F[kl_exchange(F, n, rng=np.random.default_rng(seed))]


def pyoptex(levels: np.ndarray, k: int, model: str, n: int) -> Rival | None:
    from pyoptex.doe.fixed_structure import Factor, create_fixed_structure_design, create_parameters, default_fn
    from pyoptex.doe.fixed_structure.metric import Dopt
    from pyoptex.utils.model import model2Y2X, partial_rsm_names

    names = [f"x{i}" for i in range(k)]
    factors = [Factor(name, type="continuous") for name in names]
    kind = {"main effects": "lin", "interactions": "tfi", "quadratic": "quad"}[model]
    formula = partial_rsm_names(dict.fromkeys(names, kind))
    parameters = create_parameters(factors, default_fn(factors, Dopt(), model2Y2X(formula, factors)), nruns=n)

    def plan(seed: int) -> np.ndarray:
        np.random.seed(seed)  # noqa: NPY002  (what the program draws from)
        with contextlib.redirect_stderr(io.StringIO()):
            found, _ = create_fixed_structure_design(parameters, n_tries=5)
        return terms(found[names].to_numpy(dtype=float), model)

    return plan


def bofire(levels: np.ndarray, k: int, model: str, n: int) -> Rival | None:
    """Its local search over continuous factors (by scipy's SLSQP in place of Ipopt), every run moved to the nearest levels.

    Told of discrete levels -1, 0 and 1 it makes plans of 0 and 1 alone, which estimate no squares.
    """
    from bofire.data_models.domain.api import Domain
    from bofire.data_models.features.api import ContinuousInput, ContinuousOutput
    from bofire.data_models.strategies.api import DoEStrategy as Data
    from bofire.data_models.strategies.doe import DOptimalityCriterion
    from bofire.strategies.doe_strategy import DoEStrategy

    names = [f"x{i}" for i in range(k)]
    inputs = [ContinuousInput(key=name, bounds=(-1, 1)) for name in names]
    domain = Domain.from_lists(inputs=inputs, outputs=[ContinuousOutput(key="y")])
    parts = ["1", *names]
    if model != "main effects":
        parts += [f"{a}:{b}" for a, b in itertools.combinations(names, 2)]
    if model == "quadratic":
        parts += [f"{{{name}**2}}" for name in names]
    criterion = DOptimalityCriterion(formula=" + ".join(parts))

    def plan(seed: int) -> np.ndarray:
        data = Data(domain=domain, criterion=criterion, seed=seed, use_cyipopt=False)
        found = DoEStrategy(data_model=data).ask(candidate_count=n)
        at = np.abs(found[names].to_numpy(dtype=float)[:, :, None] - levels).argmin(axis=2)
        return terms(levels[at], model)

    return plan


RIVALS = {"pyDOE3": pydoe3, "pyoptex": pyoptex, "doekit": doekit, "bofire": bofire}


def best_of(plan: Rival | None, seconds: float) -> float:
    """The largest log det X'X within the time, -inf without a plan."""
    best, start, seed = -np.inf, time.process_time(), 0
    while plan is not None and (seed == 0 or time.process_time() - start < seconds):
        signal.setitimer(signal.ITIMER_PROF, PATIENCE * seconds)
        with contextlib.suppress(np.linalg.LinAlgError, ValueError, IndexError, TimeoutError):
            best = max(best, logdet(plan(seed)))
        signal.setitimer(signal.ITIMER_PROF, 0)
        seed += 1
    return best


def too_long(*_: object) -> None:
    raise TimeoutError


def rows(seconds: float, problems: int) -> list[tuple[str, int, float, dict[str, float], float]]:
    out = []
    for name, levels, k, model, n in cases()[:problems]:
        F = terms(np.array(list(itertools.product(levels, repeat=k))), model)
        design = cd.solve(cd.DesignProblem.d_optimal(F))
        start = time.process_time()
        own = design.round(n).efficiency
        took = time.process_time() - start
        found = {"coordinate exchange": coordinate_exchange(levels, k, model, n, 100)}
        for rival, make in RIVALS.items():
            with contextlib.suppress(ImportError):
                found[rival] = best_of(make(levels, k, model, n), seconds)
        others = {r: float(np.exp((value - design.bound) / F.shape[1]) / n) for r, value in found.items()}
        out.append((name, n, own, others, took))
        print(f"{name:24} N = {n:3}: {own:.4f} " + " ".join(f"{r} {x:.4f}" for r, x in others.items()), flush=True)
    return out


def version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--site", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--problems", type=int, default=30)
    given = parser.parse_args()
    if given.site is not None:
        sys.path.append(str(given.site))
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, too_long)
    found = rows(given.seconds, given.problems)
    names = list(dict.fromkeys(r for row in found for r in row[3]))
    lines = ["| " + " | ".join(("problem", "N", "auto", *names)) + " |", "|---" * (3 + len(names)) + "|"]
    for name, n, own, others, _ in found:
        cells = [f"{others[r]:.4f}" if others.get(r, 0.0) > 0 else "-" for r in names]
        lines.append(f"| {name} | {n} | {own:.4f} | " + " | ".join(cells) + " |")
    absent = [r for r in RIVALS if version(r) is None]
    said = [f"{r} could not be imported" for r in absent]
    page = PAGE.format(
        date=datetime.date.today(),
        machine=platform.machine(),
        versions=", ".join(f"{r} {version(r)}" for r in RIVALS if version(r)),
        seconds=given.seconds,
        missing="".join(f"; {line}" for line in said),
        table="\n".join(lines),
        own=max(row[4] for row in found),
        worse=sum(max(row[3].values()) > row[2] * (1 + 1e-6) for row in found),
        problems=len(found),
    )
    print(page)
    if given.folder is not None:
        (given.folder / "whole-numbers-elsewhere.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
