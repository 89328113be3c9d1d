"""Squares that a solver, or anybody, left a little off are corrected, and prove what was wanted."""

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.regions.correction import corrected
from convexdesign.regions.frame import Frame
from convexdesign.regions.proof import RegionProver
from convexdesign.regions.search import inner_points

D = cd.DesignProblem
REGIONS = {
    "box": cd.Region.box(a=(1, 3), b=(-2, 5)),
    "simplex": cd.Region.simplex(["a", "b", "c"], lower=[0, 0.1, 0], upper=[0.7, 1, 0.8]),
    "ball": cd.Region.ball({"a": 1.0, "b": -1.0}, 2),
    "polytope": cd.Region.box(a=(-1, 1), b=(-1, 1)) & cd.Region.where("a + 2*b <= 1", "a - b <= 1.2"),
}


def solved_program(rng, kind):
    """The first relaxation for random vectors: program, polynomial, solution, and the largest value that is found."""
    curve = cd.Model.polynomial(["a", "b"], 2).over(REGIONS[kind])
    frame = Frame(curve)
    B = rng.normal(size=(4, frame.d))
    x = inner_points(REGIONS[kind], 20_000, rng)
    most = float(np.sum((frame.piece_rows(0, x) @ B.T) ** 2, axis=1).max())
    prover = RegionProver(frame, None)
    p, charge = prover.polynomial(0, B)
    program = prover._program(p, prover.hierarchy(p)[0])
    return program, p, prover.top, charge, program.solve(p, prover.top), most


@pytest.mark.parametrize("kind", list(REGIONS))
def test_squares_of_few_digits_prove_what_was_wanted(kind):
    program, p, top, charge, found, most = solved_program(np.random.default_rng(3), kind)
    rough = program.solve(p, top, tol=1e-4)
    wanted = found.nu * (1 + 1e-3)
    value = program.repaired(corrected(program, rough, p, top, wanted, wanted - found.nu), p, top, charge, 1.0)
    assert most * (1 - 1e-12) <= value <= wanted * (1 + 1e-9)


@pytest.mark.parametrize("kind", list(REGIONS))
def test_less_than_is_true_is_not_proven(kind):
    program, p, top, charge, found, most = solved_program(np.random.default_rng(4), kind)
    lower = corrected(program, found, p, top, most * (1 - 1e-3), 1e-3)
    assert program.repaired(lower, p, top, charge, 1.0) >= most * (1 - 1e-12)


def test_a_strip_across_the_square_is_proven():
    # The sensitivity is 3,000 times larger in the corners of the box than on the strip.
    region = cd.Region.box(a=(-1, 1), b=(-1, 1)) & cd.Region.where("-0.5 <= a + b <= 0.7")
    design = cd.solve(D.d_optimal(cd.Model.polynomial(["a", "b"], 3).over(region)))
    assert design.status is cd.Status.CERTIFIED
    assert design.certificate.kind == "sum of squares"
    a, b = (t.ravel() for t in np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-1, 1, 401)))
    inside = region.contains({"a": a, "b": b})
    F = design.problem.curve.at({"a": a[inside], "b": b[inside]})
    assert np.einsum("ij,jk,ik->i", F, np.linalg.inv(design.information), F).max() <= 10 * (1 + 2e-6)
