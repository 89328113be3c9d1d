"""Seconds of sums of squares against the sum of squares of the entries of their cones: the pace in `regions/proof.py`.

    python benchmarks/relaxation_seconds.py

Polynomials of degree two to six in one to five factors, on boxes and simplices. Measured on one core with
Clarabel 0.11: 1.2e-6 s a unit in the mean, none off by more than a factor of two.
"""

from __future__ import annotations

import time

import numpy as np

import convexdesign as cd
from convexdesign.regions.frame import Frame
from convexdesign.regions.proof import RegionProver

CASES = (
    (2, 5, False),
    (2, 4, True),
    (3, 3, False),
    (3, 3, True),
    (3, 4, False),
    (4, 2, True),
    (4, 3, False),
    (5, 2, True),
)


def main() -> None:
    rng = np.random.default_rng(0)
    paces = []
    for q, degree, simplex in CASES:
        names = [f"x{k}" for k in range(q)]
        box = cd.Region.box(**dict.fromkeys(names, (-1, 1)))
        region = cd.Region.simplex([*names, "rest"]) if simplex else box
        frame = Frame(cd.Model.polynomial(names, degree).over(region))
        prover = RegionProver(frame, None)
        p, charge = prover.polynomial(0, rng.normal(size=(frame.d, frame.d)))
        relaxation = prover.hierarchy(p)[0]
        work = prover.expected_seconds(p, relaxation) / prover.pace
        start = time.process_time()
        prover.bound(0, p, charge, relaxation)
        seconds = time.process_time() - start
        paces.append(seconds / work)
        print(
            f"q {q}, degree {degree}, {'simplex' if simplex else 'box':7}: work {work:9.0f}, {seconds:.3f} s, {paces[-1]:.2e}"
        )
    print(f"geometric mean {np.exp(np.mean(np.log(paces))):.2e} s a unit")


if __name__ == "__main__":
    main()
