"""How far proofs over regions reach, and how long they take: polynomial models, models that are not linear, priors.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/region_reach.py [FOLDER] [--only TEXT] [--rounds K]

Every case is the whole call of `solve` at a tolerance of 1e-6, from the problem to the design with its proof: the least
processor time of K rounds, in one process, after a small problem of each kind has loaded what is imported late. Making the
region, the model and the problem counts too. With FOLDER the table is written to FOLDER/region-reach.md as well.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import convexdesign as cd

PAGE = """# How far proofs over regions reach

Made by `python benchmarks/region_reach.py docs/benchmarks`, {date} on {machine}, one thread. Each case is the whole call of
`solve`, problem included, at the tolerance {tol:g}: the gap that is proven over the whole region, by sums of squares of the
degree named or by interval branch and bound, and seconds of processor time, the least of {rounds}, beside what was asked
for.

{table}

Certified were {certified} of {count}, within the time that was asked for {within} of {asked}.
"""

TOL = 1e-6
D = cd.DesignProblem
Case = tuple[str, float | None, Callable[[], Any]]


def names(q: int) -> list[str]:
    return [f"x{k + 1}" for k in range(q)]


def cube(q: int) -> cd.Region:
    return cd.Region.box(**dict.fromkeys(names(q), (-1, 1)))


def polynomial(q: int, degree: int, region: cd.Region | None = None) -> Any:
    return D.d_optimal(cd.Model.polynomial(names(q), degree).over(cube(q) if region is None else region))


def scheffe(q: int, limited: bool = False) -> Any:
    """Scheffe's quadratic on the simplex, or with a least share of the first component and a largest of the second."""
    terms = names(q) + [f"{a}:{b}" for k, a in enumerate(names(q)) for b in names(q)[k + 1 :]]
    limits: Any = {"lower": {"x1": 0.1}, "upper": {"x1": 0.7, "x2": 0.6}} if limited else {}
    return D.d_optimal(cd.Model.formula(" + ".join(terms) + " - 1").over(cd.Region.simplex(names(q), **limits)))


def strip() -> Any:
    return polynomial(2, 3, cube(2) & cd.Region.where("x1 + x2 <= 0.7", "x1 + x2 >= -0.5"))


def ring() -> Any:
    region = cube(2) & cd.Region.where("x1**2 + x2**2 <= 1", "x1**2 + x2**2 >= 0.25")
    return polynomial(2, 2, region)


def levels() -> Any:
    """Six factors of two levels beside two continuous ones."""
    coded = [f"z{k + 1}" for k in range(6)]
    region = cd.Region.levels(**{name: [-1, 1] for name in coded}) * cube(2)
    return D.d_optimal(cd.Model.formula("1 + x1*x2 + x1**2 + x2**2 + " + " + ".join(coded)).over(region))


def curve(model: Any, low: float, high: float) -> Any:
    return model.over(cd.Region.box(x=(low, high)))


def mean(text: str, theta: dict[str, float], low: float, high: float) -> Any:
    return D.d_optimal(curve(cd.Model.nonlinear(text, theta), low, high))


def answers(link: str, low: float, high: float, theta: tuple[float, float] = (0.0, 1.0)) -> Any:
    return D.d_optimal(curve(cd.Model.glm("1 + x", list(theta), link), low, high))


def slope() -> Any:
    return D.c_optimal(curve(cd.Model.glm("1 + x", [0, 1], "logit"), -5, 5), {"x": 1.0})


def two_factors() -> Any:
    return D.d_optimal(cd.Model.glm("1 + x1*x2", [0.35, 1.5, -0.2, 0.4], "logit").over(cube(2)))


def bayesian() -> Any:
    """Chaloner and Larntz (1989): 12 x 12 nodes of a prior of a logistic curve."""
    nodes, shares = np.polynomial.legendre.leggauss(12)
    a, b = (t.ravel() for t in np.meshgrid(3 * nodes, 1.05 + 0.95 * nodes))
    model = cd.Model.glm("1 + x", theta=[0, 1], link="logit")
    unsure = model.at(np.column_stack([-a * b, b]), np.outer(shares, shares).ravel() / 4)
    return D.d_optimal(curve(unsure, -3, 3), over="average")


def uncertain(over: str) -> Any:
    """Nine values of the parameters of the logistic model of two factors with interaction."""
    thetas = [[0.35, a, -0.2 + b, 0.4] for a in (1.0, 1.5, 2.0) for b in (-0.5, 0.0, 0.5)]
    return D.d_optimal(cd.Model.glm("1 + x1*x2", thetas[0], "logit").at(thetas).over(cube(2)), over=over)


def means_at(over: str) -> Any:
    values = {"e0": [0.0] * 5, "emax": [10.0] * 5, "ed": [1.0, 2.0, 5.0, 10.0, 20.0]}
    model = cd.Model.nonlinear("e0 + emax*x/(ed + x)", {"e0": 0, "emax": 10, "ed": 5}).at(values)
    return D.d_optimal(curve(model, 0, 10), over=over)


def mixed(make: Callable[..., Any]) -> Any:
    """Criteria of three sorts over one square."""
    full, plane = (cd.Model.polynomial(names(2), k).over(cube(2)) for k in (2, 1))
    return make([D.d_optimal(full), D.a_optimal(plane), D.i_optimal(full)])


def rows(over: str) -> Any:
    """Ten logistic models over a list of 100,000 arms with four functions."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(100_000), rng.uniform(-1, 1, (100_000, 3))])
    problems = []
    for theta in rng.normal(0, 1, (10, 4)):
        eta = X @ theta
        problems.append(D.d_optimal(X / np.sqrt(2 + np.exp(eta) + np.exp(-eta))[:, None]))
    return D.compound(problems) if over == "average" else D.maximin(problems)


def cases() -> list[Case]:
    """Name, seconds that were asked for, and what makes the problem."""
    limits = {10: 15.0}
    out: list[Case] = [
        (f"full quadratic, {q}-cube", limits.get(q, 2.0), lambda q=q: polynomial(q, 2)) for q in (*range(2, 9), 10)
    ]
    out += [
        ("cubic, square", 5.0, lambda: polynomial(2, 3)),
        ("quartic, square", 5.0, lambda: polynomial(2, 4)),
        ("cubic, cube", 5.0, lambda: polynomial(3, 3)),
        ("cubic, strip across the square", 5.0, strip),
        ("full quadratic, disc", 5.0, lambda: polynomial(2, 2, cd.Region.ball(names(2)))),
        ("cubic, disc", 5.0, lambda: polynomial(2, 3, cd.Region.ball(names(2)))),
        ("full quadratic, ball", 5.0, lambda: polynomial(3, 2, cd.Region.ball(names(3)))),
        *((f"Scheffe quadratic, {q} components", 5.0, lambda q=q: scheffe(q)) for q in (3, 4, 5)),
        *((f"the same with limits, {q} components", 5.0, lambda q=q: scheffe(q, True)) for q in (3, 4, 5)),
        ("full quadratic, ring", 5.0, ring),
        ("64 combinations of levels, square", 5.0, levels),
        ("logit", 1.0, lambda: answers("logit", -5, 5)),
        ("probit", 1.0, lambda: answers("probit", -5, 5)),
        ("complementary log-log", 1.0, lambda: answers("cloglog", -5, 3)),
        ("Poisson, log link", 1.0, lambda: answers("log", -3, 1, (1.0, 2.0))),
        ("slope of a logistic curve, c", 1.0, slope),
        ("Michaelis-Menten", 1.0, lambda: mean("vmax*x/(k + x)", {"vmax": 1, "k": 1}, 0, 10)),
        ("Emax", 1.0, lambda: mean("e0 + emax*x/(ed + x)", {"e0": 0, "emax": 10, "ed": 5}, 0, 10)),
        ("exponential", 1.0, lambda: mean("e0 + e1*exp(x/d)", {"e0": 0, "e1": 1, "d": 1.5}, 0, 4)),
        ("logarithm", 1.0, lambda: mean("e0 + e1*log(x + c)", {"e0": 0, "e1": 1, "c": 1}, 0, 4)),
        (
            "dose-response of four parameters",
            1.0,
            lambda: mean("b + (t - b)/(1 + exp(-s*(x - m)))", {"b": 0.1, "t": 1, "s": 1.5, "m": 4}, 0, 10),
        ),
        ("logistic, two factors with interaction", 1.0, two_factors),
        ("Bayesian logistic, 144 values", 1.0, bayesian),
        ("Emax at 5 values, average", None, lambda: means_at("average")),
        ("Emax at 5 values, worst", None, lambda: means_at("worst")),
        ("two-factor logistic at 9 values, average", None, lambda: uncertain("average")),
        ("two-factor logistic at 9 values, worst", None, lambda: uncertain("worst")),
        ("two-factor logistic at 9 values, information", None, lambda: uncertain("information")),
        ("D, A and I over a square, compound", None, lambda: mixed(D.compound)),
        ("D, A and I over a square, maximin", None, lambda: mixed(D.maximin)),
        ("10 models, list of 100,000, average", 2.0, lambda: rows("average")),
        ("10 models, list of 100,000, worst", None, lambda: rows("worst")),
    ]
    return out


def warmed() -> None:
    """What is imported late."""
    for problem in (
        polynomial(1, 2),
        scheffe(3),
        answers("logit", -5, 5),
        mean("a*x/(b + x)", {"a": 1, "b": 1}, 0, 2),
        D.compound([polynomial(1, 2)]),
        D.maximin([D.d_optimal(np.eye(2)), D.a_optimal(np.eye(2))]),
    ):
        cd.solve(problem)


def measured(only: str, rounds: int) -> list[tuple[str, float | None, float, Any]]:
    """Name, seconds asked for, seconds taken, and the design."""
    out = []
    for name, asked, make in cases():
        if not re.search(only, name):
            continue
        seconds = np.inf
        for _ in range(rounds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cd.ConvergenceWarning)
                start = time.process_time()
                design = cd.solve(make(), tol=TOL)
                seconds = min(seconds, time.process_time() - start)
        print(f"{name:45} {seconds:7.2f} s (asked {asked}) gap {design.gap:.1e} {design.status.name}", flush=True)
        out.append((name, asked, seconds, design))
    return out


def proof(design: Any) -> str:
    """How the bound was proven."""
    certificate = getattr(design, "certificate", None)
    kind = getattr(design, "kind", None) or getattr(certificate, "kind", "") or "every arm"
    degree = getattr(certificate, "degree", 0)
    return f"{kind}, degree {degree}" if degree else kind


def support(design: Any) -> int:
    return int(np.count_nonzero(design.weights))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--only", default="", help="cases whose names have this regular expression")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    warmed()
    found = measured(given.only, given.rounds)
    head = ("case", "settings", "proven gap", "by", "status", "s", "asked for")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, asked, seconds, design in found:
        wish = "" if asked is None else f"{asked:g} s"
        cells = [name, str(support(design)), f"{design.gap:.1e}", proof(design), design.status.name.lower()]
        lines.append("| " + " | ".join([*cells, f"{seconds:.2f}", wish]) + " |")
    timed = [seconds <= asked for _, asked, seconds, _ in found if asked is not None]
    page = PAGE.format(
        date=datetime.date.today(),
        machine=platform.machine(),
        tol=TOL,
        rounds="one round" if given.rounds == 1 else f"{given.rounds} rounds",
        table="\n".join(lines),
        certified=sum(design.status is cd.Status.CERTIFIED for *_, design in found),
        count=len(found),
        within=sum(timed),
        asked=len(timed),
    )
    print(page)
    if given.folder is not None:
        (given.folder / "region-reach.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
