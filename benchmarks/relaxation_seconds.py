"""What relaxations by sums of squares take, beside what `regions/relaxation_size.py` expects, whose constants come from here.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/relaxation_seconds.py [--large]

Polynomials of degree two to nine in one to twelve factors on boxes, simplices and balls, as they are or even in every factor,
at the lowest degree or the next one. Processor time, building included, on one core with Clarabel 0.11; what the peak of the
memory grew by is told where a case is the largest so far.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import convexdesign as cd
from convexdesign.regions.frame import Frame
from convexdesign.regions.proof import RegionProver, Relaxation
from convexdesign.regions.sum_of_squares import Domain, SumOfSquaresProgram

# Factors, degree of the model, region, even in every factor, further degrees of the relaxation.
CASES = (
    (2, 3, "box", False, 0),
    (2, 4, "box", False, 2),
    (2, 6, "box", True, 0),
    (2, 9, "box", True, 2),
    (3, 2, "box", False, 2),
    (3, 3, "box", True, 0),
    (4, 3, "box", True, 2),
    (8, 2, "box", True, 0),
    (8, 2, "box", True, 2),
    (20, 2, "box", True, 0),
    (2, 4, "simplex", False, 0),
    (4, 2, "simplex", False, 0),
    (5, 2, "simplex", False, 0),
    (2, 5, "ball", False, 0),
    (4, 2, "ball", True, 0),
    (2, 6, "box", False, 0),
    (4, 3, "box", False, 0),
    (4, 2, "simplex", False, 2),
    (8, 2, "box", False, 0),
    (2, 8, "box", False, 0),
    (5, 2, "box", False, 2),
)
LARGE = ((12, 2, "box", False, 0),)


def region_of(shape: str, names: list[str]) -> cd.Region:
    match shape:
        case "simplex":
            return cd.Region.simplex([*names, "rest"])
        case "ball":
            return cd.Region.ball(names)
    return cd.Region.box(**dict.fromkeys(names, (-1, 1)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true", help="a relaxation that takes half a minute, too")
    rng = np.random.default_rng(0)
    cd.solve(cd.DesignProblem.d_optimal(cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1)))))  # imports
    ratios, most = [], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for q, degree, shape, even, further in CASES + (LARGE if parser.parse_args().large else ()):
        names = [f"x{k}" for k in range(q)]
        frame = Frame(cd.Model.polynomial(names, degree).over(region_of(shape, names)))
        prover = RegionProver(frame, None)
        p, _ = prover.polynomial(0, rng.normal(size=(frame.d, frame.d)))
        if even:
            p = {key: value for key, value in p.items() if not any(e % 2 for e in key)}
        relaxation = prover.hierarchy(p)[0]
        relaxation = Relaxation(relaxation.degree + further, relaxation.products or further > 0)
        domain = Domain(q, tuple(prover.constraints(relaxation)))
        program = SumOfSquaresProgram(domain, tuple(p), relaxation.degree)
        start = time.process_time()
        program.solve(p, prover.top)
        seconds = time.process_time() - start
        ratios.append(program.size.seconds / seconds)
        peak, before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, most
        most = max(most, peak)
        grown = (
            f", memory {(peak - before) / 1024:.0f} MB of {program.size.memory / 2**20:.0f}" if peak > before else ""
        )
        print(
            f"{q:2} factors, degree {degree}, {shape:7} {'even' if even else '':4} degree {relaxation.degree:2}: "
            f"{seconds:7.3f} s, expected {program.size.seconds:7.3f}, ratio {ratios[-1]:.2f}{grown}",
            flush=True,
        )
    mean, farthest = np.exp(np.mean(np.log(ratios))), np.exp(np.abs(np.log(ratios)).max())
    print(f"geometric mean of the ratios {mean:.2f}, the farthest off by a factor of {farthest:.1f}")


if __name__ == "__main__":
    main()
