"""Plans of N runs that BoFire, pyoptex and pyDOE3 make on ten regions, judged, with the restarts that each would need.

    OPENBLAS_NUM_THREADS=1 python benchmarks/region_programs.py [FOLDER] [--site SITE_PACKAGES] [--starts K] [--seconds S]

Programs that are not installed are left out and named; --site appends the packages of another environment. A start of pyoptex
is one random initialisation of its coordinate exchange, one of BoFire a call of its local search over all runs (scipy's SLSQP,
where cyipopt is missing) from random runs; pyDOE3 has classical designs, and no search. Everything is judged by one yardstick,
the D-efficiency against the bound that is proven over the whole region. The restarts needed are those after which a program has
found a plan within 1e-4 of the best of all programs with a probability of 95 %, from the share of its starts that did. With
FOLDER the table is written to FOLDER/region-programs.md as well.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import math
import platform
import sys
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from region_problems import problems

import convexdesign as cd

PAGE = """# Plans of other programs over regions

Made by `{command}`{continued}, {date} on {machine}, one BLAS thread:
{versions}. D-efficiency against the proven best anywhere in the region, of
`design.round(n)` with its default effort and of the best of up to {starts} starts of each program (fewer where these took
{seconds:g} s of processor time, in brackets); and the restarts after which the program has a plan within 1e-4 of the best known
with a probability of 95 %, from the share of its starts that had (with none of K, at least what a share of 3/K would need).

{table}

pyoptex exchanges coordinates among {levels} levels of each factor. pyDOE3 has classical designs and no search: the face-centred
central composite design of the square and the cubes, and `doehlert_simplex_design` for the ball, with the runs that they have
(the latter shrunk into the ball: its runs lie at several distances from the centre, where Doehlert's lie at one). Where there
are levels BoFire reads a formula twice, and takes `x**2` for `x` the second time: it is given `torch.pow(x, 2)`.{missing}
"""

CLOSE = 1e-4
# Of every continuous factor, for pyoptex.
LEVELS = 21


def efficiencies(problem: Any, design: Any, tables: list[dict[str, Any]]) -> np.ndarray:
    """D-efficiency of run tables; 0 for those with a run outside the region."""
    region, frame, d = problem.region, problem.frame, problem.frame.d
    out = []
    for table in tables:
        where, x = region.coordinates(table)
        if not region.inside(x, 1e-6).all():
            out.append(0.0)
            continue
        U = frame.rows(where, x)
        sign, value = np.linalg.slogdet(U.T @ U / len(U))
        out.append(float(np.exp((value - 2 * frame.log_det - design.bound) / d)) if sign > 0 else 0.0)
    return np.array(out)


def limits(region: Any) -> list[tuple[str, float, float]]:
    return [(name, float(a), float(b)) for name, a, b in zip(region.names, region.lower, region.upper)]


def inequalities(region: Any) -> list[Any]:
    """Those beside the sides of the box that holds the region."""
    return [g for g in region.inequalities if g.degree > 1 or sum(map(any, g.terms)) > 1]


def written(g: Any) -> str:
    """A polynomial as text."""
    return " + ".join(
        "*".join([f"({float(value)!r})", *(f"{name}**{e}" for name, e in zip(g.names, key) if e)])
        for key, value in g.terms.items()
    )


def monomials(problem: Any) -> list[dict[str, int]]:
    """The exponents of the model's continuous part, which is a set of monomials in the coordinates."""
    names = problem.region.names
    degree = problem.curve.degree
    keys = sorted(
        {key for p in problem.curve.polynomials(0) for key in p.terms} | {(0,) * len(names)}, key=lambda k: (sum(k), k)
    )
    return [dict(zip(names, key)) for key in keys if sum(key) <= degree]


# ------------------------------------------------------------------ the programs


def pyoptex(problem: Any, n: int) -> Callable[[int], dict[str, Any]]:
    """One start of its coordinate exchange."""
    import pandas as pd
    from pyoptex.doe.fixed_structure.metric import Dopt
    from pyoptex.doe.fixed_structure.utils import Factor
    from pyoptex.doe.fixed_structure.wrapper import create_fixed_structure_design, create_parameters, default_fn
    from pyoptex.utils.model import model2Y2X

    region = problem.region
    # Its exchange tries the levels of each factor, three unless told otherwise.
    factors = [
        Factor(name, type="continuous", min=a, max=b, levels=np.linspace(a, b, LEVELS).tolist())
        for name, a, b in limits(region)
    ]
    factors += [Factor(name, type="categorical", levels=list(levels)) for name, levels in region.choices]
    rows = monomials(problem)
    levels = [name for name, _ in region.choices]
    model = pd.DataFrame(rows + [dict.fromkeys(region.names, 0) for _ in levels]).astype(int)
    for k, name in enumerate(levels):
        model[name] = [int(j == len(rows) + k) for j in range(len(model))]
    constraints = None
    if inequalities(region):
        low, high = (np.array(side, dtype=float) for side in (region.lower, region.upper))
        q = region.q

        def outside(Y: Any) -> Any:
            return ~region.inside(np.asarray(Y, dtype=float)[:, :q], 1e-9)

        def outside_encoded(Y: Any) -> Any:
            return ~region.inside((low + high) / 2 + (high - low) / 2 * np.asarray(Y, dtype=float)[:, :q], 1e-9)

        class Both:
            def func(self) -> Any:
                return outside

            def encode(self) -> Any:
                return outside_encoded

        constraints = Both()
    fn = default_fn(factors, Dopt(), model2Y2X(model, factors), constraints=constraints)

    def one(seed: int) -> dict[str, Any]:
        from pyoptex._seed import set_seed

        set_seed(seed)
        Y, _ = create_fixed_structure_design(create_parameters(factors, fn, n), n_tries=1)
        return {str(name): Y[name].tolist() for name in Y.columns}

    return one


def bofire(problem: Any, n: int) -> Callable[[int], dict[str, Any]]:
    """One local search from random runs."""
    from bofire.data_models.constraints.api import LinearInequalityConstraint, NonlinearInequalityConstraint
    from bofire.data_models.domain.api import Domain
    from bofire.data_models.features.api import CategoricalInput, ContinuousInput, ContinuousOutput
    from bofire.data_models.strategies.api import DoEStrategy as Data
    from bofire.data_models.strategies.doe import DOptimalityCriterion
    from bofire.strategies.doe_strategy import DoEStrategy

    region = problem.region
    constraints: list[Any] = []
    for g in inequalities(region):
        if g.degree == 1:
            features = [
                name for name, key in zip(g.names, np.eye(len(g.names), dtype=int)) if tuple(map(int, key)) in g.terms
            ]
            slopes = [float(g.terms[tuple(int(other == name) for other in g.names)]) for name in features]
            constraints.append(
                LinearInequalityConstraint(
                    features=features, coefficients=[-s for s in slopes], rhs=float(g.constant_term())
                )
            )
        else:
            constraints.append(NonlinearInequalityConstraint(expression=f"-({written(g)})", features=list(g.names)))
    inputs: list[Any] = [ContinuousInput(key=name, bounds=(a, b)) for name, a, b in limits(region)]
    inputs += [CategoricalInput(key=name, categories=list(map(str, levels))) for name, levels in region.choices]
    domain = Domain.from_lists(inputs=inputs, outputs=[ContinuousOutput(key="y")], constraints=constraints)
    # With categories it reads a formula twice, and the second time x**2 is x; a call stays what it is.
    power = "torch.pow({}, {})" if region.choices else "{{{}**{}}}"
    terms = [
        ":".join(power.format(name, e) if e > 1 else name for name, e in row.items() if e) for row in monomials(problem)
    ]
    # Levels become indicators in its relaxation; all but the first, beside the constant.
    terms += [f"aux_{name}_{level}" for name, levels in region.choices for level in levels[1:]]
    formula = " + ".join(term or "1" for term in terms)

    def one(seed: int) -> dict[str, Any]:
        data = Data(domain=domain, criterion=DOptimalityCriterion(formula=formula), seed=seed, use_cyipopt=False)
        found = DoEStrategy(data_model=data).ask(candidate_count=n)
        return {name: found[name].tolist() for name in region.factors}

    return one


def pydoe3(problem: Any, name: str) -> dict[str, Any] | None:
    """The classical design of the region, where there is one."""
    import pyDOE3

    q = problem.region.q
    if name in ("square, quadratic", "cube, quadratic", "4-cube, quadratic"):
        runs = pyDOE3.ccdesign(q, center=(0, 1), face="ccf")
    elif name == "ball, quadratic":
        runs = pyDOE3.doehlert_simplex_design(q)
        runs = runs / np.linalg.norm(runs, axis=1).max()
    else:
        return None
    return dict(zip(problem.region.names, np.asarray(runs).T))


def restarts(found: np.ndarray, best: float) -> str:
    """After how many starts a plan as good as the best is found with a probability of 95 %."""
    hits, K = int((found >= best - CLOSE).sum()), len(found)
    if hits == K:
        return "1"
    share = hits / K if hits else min(3.0 / K, 0.99)
    needed = math.ceil(math.log(0.05) / math.log1p(-share))
    return f"{needed}" if hits else f"over {needed}"


def started(
    make: Callable[[Any, int], Callable[[int], dict[str, Any]]], problem: Any, n: int, starts: int, seconds: float
) -> Any:
    """Run tables of as many starts as the time allows, or the reason why there are none."""
    tables, begun = [], time.process_time()
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            one = make(problem, n)
            for k in range(starts):
                tables.append(one(k))
                begun = begun if k else time.process_time()  # the first compiles what others run
                if time.process_time() - begun > seconds:
                    break
    except Exception as error:
        return tables or f"fails: {type(error).__name__}: {str(error)[:60]}"
    return tables


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--site", type=Path)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--problems", type=int, default=10)
    parser.add_argument("--resume", type=Path, help="what an earlier run has printed: its problems are not run again")
    given = parser.parse_args()
    if given.site is not None:
        sys.path.append(str(given.site))
    makers: dict[str, Any] = {"pyoptex": pyoptex, "bofire": bofire}
    there, missing = [], []
    for name in (*makers, "pyDOE3"):
        try:
            there.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    printed = given.resume.read_text(encoding="utf-8").splitlines() if given.resume is not None else []
    lines = [line for line in printed if line.startswith("| ")]
    for name, problem, n in problems()[len(lines) : given.problems]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.ConvergenceWarning)
            design = cd.solve(problem, tol=1e-5)
        own = design.round(n).efficiency
        made = {
            key: "not installed" if key in missing else started(make, problem, n, given.starts, given.seconds)
            for key, make in makers.items()
        }
        judged = {key: efficiencies(problem, design, value) for key, value in made.items() if isinstance(value, list)}
        best = max([own, *(float(values.max()) for values in judged.values())])
        cells = [name, str(n), f"{own:.5f}"]
        for key in makers:
            if key not in judged:
                cells += [made[key], ""]
                continue
            values = judged[key]
            count = "" if len(values) == given.starts else f" ({len(values)})"
            cells += [f"{values.max():.5f}{count}", restarts(values, best)]
        classical = None if "pyDOE3" in missing else pydoe3(problem, name)
        runs = 0 if classical is None else len(next(iter(classical.values())))
        cells.append("" if classical is None else f"{efficiencies(problem, design, [classical])[0]:.5f}, {runs} runs")
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    head = ("problem", "N", "round", "pyoptex", "restarts", "BoFire", "restarts", "pyDOE3")
    page = PAGE.format(
        command=f"python benchmarks/region_programs.py docs/benchmarks --starts {given.starts} --seconds {given.seconds:g}",
        date=datetime.date.today(),
        machine=platform.machine(),
        versions=", ".join(there),
        starts=given.starts,
        seconds=given.seconds,
        levels=LEVELS,
        table="\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *lines]),
        continued=" (continued with --resume)" if given.resume is not None else "",
        missing=f" Not installed where this was made: {', '.join(missing)}." if missing else "",
    )
    if given.folder is not None:
        (given.folder / "region-programs.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
