"""Bounds on the weights: from how many arms working sets and systems of coordinates pay, and what large problems take.

    python benchmarks/bounded_weights.py [docs/benchmarks] [--largest 16000]

Processor seconds of one solve to a gap of 1e-6 for Gaussian arms with max_weight = 20 / n, by the criteria D and G: all arms
at once, with systems of the arms and of the coordinates of symmetric matrices, and by working sets. `BoundedTuning` holds what
follows from it. Then a hundred thousand arms with caps and minimum weights, and strata. With a folder bounded-weights.md is
written there.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import convexdesign as cd
from convexdesign.frankwolfe import interior_point
from convexdesign.frankwolfe.tuning import BOUNDED, BoundedTuning
from convexdesign.problem import canonicalise

P = cd.DesignProblem
EVERY = 10**9
WAYS = {
    "systems of arms": replace(BOUNDED, many=EVERY, dense=EVERY, entries=2**28),
    "of coordinates": replace(BOUNDED, many=EVERY, dense=0),
    "working sets": replace(BOUNDED, many=0),
    "as chosen": BOUNDED,
}
CRITERIA = {"D": P.d_optimal, "G": P.g_optimal}
DENSE_AT_MOST = 4000  # more arms take minutes and gigabytes
MANY = 100_000
REPEATED = 3
PAGE = """# Bounds on the weights

Made by `python benchmarks/bounded_weights.py docs/benchmarks`, {date} on {machine}, one BLAS thread. Processor seconds of one
solve, the least of {repeated}, certified to a gap of 1e-6.

## Large problems

Gaussian arms; caps are 20 / n, minimum weights 0.2 / n. Strata have log-normal sizes and deviations, at least two units and at
most a twentieth of the sample each; as designs they are as many arms as dimensions.

{large}

## Ways to solve them

The method alone, with caps of 20 / n: all arms at once, by systems of the arms or of the coordinates of symmetric matrices, and
by working sets.

{ways}
"""


def least(run: Callable[[], Any], repeated: int = REPEATED) -> tuple[float, Any]:
    """Processor seconds, the least of several, and what comes back."""
    best, out = np.inf, None
    for _ in range(repeated):
        started = time.process_time()
        out = run()
        best = min(best, time.process_time() - started)
    return best, out


def seconds(n: int, d: int, tuning: BoundedTuning, criterion: str) -> float:
    """Of one solve."""
    arms = np.random.default_rng(0).standard_normal((n, d))
    canonical = canonicalise(CRITERIA[criterion](arms, max_weight=20.0 / n))
    taken, outcome = least(lambda: interior_point(canonical, tol=1e-6, tuning=tuning), 1)
    assert outcome.ended is None
    return taken


def large() -> Iterator[tuple[str, float, float]]:
    """What was solved, in how many seconds, to what gap."""
    arms = np.random.default_rng(0).standard_normal((MANY, 10))
    cap, minimum = {"max_weight": 20.0 / MANY}, {"min_weight": 0.2 / MANY}
    for name, make in {**CRITERIA, "A": P.a_optimal}.items():
        for given in (cap, minimum, cap | minimum):
            problem = make(arms, **given)
            taken, design = least(lambda problem=problem: cd.solve(problem))
            bounds = " and ".join({"max_weight": "caps", "min_weight": "minima"}[key] for key in given)
            yield f"{name}, {MANY:,} arms in 10 dimensions, {bounds}", taken, design.gap
    for strata in (MANY, 2000):
        rng = np.random.default_rng(2)
        sizes, sd = np.round(rng.lognormal(4, 1.2, strata)).clip(2), rng.lognormal(2, 1, strata)
        bounds = {"min_weight": 2 / int(0.1 * sizes.sum()), "max_weight": 0.05}
        taken, found = least(lambda sd=sd, sizes=sizes, bounds=bounds: cd.allocate_strata(sd, sizes, **bounds))
        yield f"{strata:,} strata by `allocate_strata`", taken, found.gap
    for kind, wanted in (("c_optimal", sizes), ("average_variance", np.diag(sizes**2))):
        problem = getattr(P, kind)(np.eye(strata), wanted, noise_variance=sd**2, **bounds)
        taken, design = least(lambda problem=problem: cd.solve(problem))
        yield f"{strata:,} strata as a design, `{kind}`", taken, design.gap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--largest", type=int, default=16_000)
    given = parser.parse_args()
    first = ["| problem | seconds | gap |", "|---|---:|---:|"]
    for name, taken, gap in large():
        first.append(f"| {name} | {taken:.2f} | {gap:.1e} |")
        print(first[-1], flush=True)
    second = [f"| criterion | arms | columns | {' | '.join(WAYS)} |", f"|---|---:|---:|{'---:|' * len(WAYS)}"]
    for criterion in CRITERIA:
        for n in (n for n in (250, 1000, 4000, 16_000) if n <= given.largest):
            for d in (4, 10, 20):
                cells = (
                    "" if way == "systems of arms" and n >= DENSE_AT_MOST else f"{seconds(n, d, tuning, criterion):.2f}"
                    for way, tuning in WAYS.items()
                )
                second.append(f"| {criterion} | {n:,} | {d} | {' | '.join(cells)} |")
                print(second[-1], flush=True)
    if given.folder is not None:
        page = PAGE.format(
            date=datetime.date.today(),
            machine=platform.machine(),
            repeated=REPEATED,
            large="\n".join(first),
            ways="\n".join(second),
        )
        (given.folder / "bounded-weights.md").write_text(page)


if __name__ == "__main__":
    main()
