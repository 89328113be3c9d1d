"""Bounds on the weights: from how many arms working sets, and systems of coordinates instead of arms, are the faster.

    python benchmarks/bounded_weights.py [--largest 16000] [--criterion g]

Processor seconds of one solve to a gap of 1e-6 for Gaussian arms with max_weight = 20 / n, by the criterion D or G: all arms
at once, with systems of the arms and of the coordinates of symmetric matrices, and by working sets. `BoundedTuning` holds what
follows from it.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import convexdesign as cd
from convexdesign.frankwolfe import interior_point
from convexdesign.frankwolfe.tuning import BOUNDED, BoundedTuning
from convexdesign.problem import canonicalise

EVERY = 10**9
WAYS = {
    "systems of arms": replace(BOUNDED, many=EVERY, dense=EVERY, entries=2**28),
    "of coordinates": replace(BOUNDED, many=EVERY, dense=0),
    "working sets": replace(BOUNDED, many=0),
    "as chosen": BOUNDED,
}
CRITERIA = {"d": cd.DesignProblem.d_optimal, "g": cd.DesignProblem.g_optimal}
DENSE_AT_MOST = 4000  # more arms take minutes and gigabytes


def seconds(n: int, d: int, tuning: BoundedTuning, criterion: str) -> float:
    """Of one solve."""
    arms = np.random.default_rng(0).standard_normal((n, d))
    canonical = canonicalise(CRITERIA[criterion](arms, max_weight=20.0 / n))
    started = time.process_time()
    outcome = interior_point(canonical, tol=1e-6, tuning=tuning)
    assert outcome.ended is None
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=16_000)
    parser.add_argument("--criterion", choices=CRITERIA, default="d")
    given = parser.parse_args()
    print(f"| arms | columns | {' | '.join(WAYS)} |\n|---:|---:|{'---:|' * len(WAYS)}")
    for n in (n for n in (250, 1000, 4000, 16_000, 100_000) if n <= given.largest):
        for d in (4, 10, 20):
            cells = (
                ""
                if way == "systems of arms" and n >= DENSE_AT_MOST
                else f"{seconds(n, d, tuning, given.criterion):.2f}"
                for way, tuning in WAYS.items()
            )
            print(f"| {n:,} | {d} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
