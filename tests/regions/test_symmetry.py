"""Symmetries are found by what they do, averages are those of all images, and designs found by them are designs."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from polynomials import cube, quadratic, quadratic_rows, settings

import convexdesign as cd
from convexdesign.plotting.region import region_data
from convexdesign.regions.symmetry import symmetry_of

D = cd.DesignProblem


def signed_images(u):
    return np.array(
        [
            [s * u[k] for s, k in zip(signs, order)]
            for order in permutations(range(len(u)))
            for signs in product((-1, 1), repeat=len(u))
        ]
    )


FOUND = {
    "cube": (lambda: D.d_optimal(quadratic(3).over(cube(3))), (0, 1, 2), ((0, 1, 2),)),
    "other units": (
        lambda: D.d_optimal(cd.Model.formula("1 + a + b + a**2 + b**2").over(cd.Region.box(a=(150, 190), b=(1, 4)))),
        (0, 1),
        ((0, 1),),
    ),
    "an odd term": (lambda: D.d_optimal(cd.Model.formula("1 + a + b + a:b").over(cube_ab())), (0, 1), ((0, 1),)),
    "a mixed term": (lambda: D.d_optimal(cd.Model.formula("1 + I(a + b**2) + b").over(cube_ab())), (1,), ((0,), (1,))),
    "noise": (lambda: D.d_optimal(quadratic(2).over(cube(2)), noise_variance="2 + x0"), (1,), ((0,), (1,))),
    "a corner cut": (
        lambda: D.d_optimal(quadratic(2).over(cube(2) & cd.Region.where("x0 + x1 <= 1"))),
        (),
        ((0, 1),),
    ),
    "runs done": (
        lambda: D.d_optimal(quadratic(2).over(cube(2)), existing_runs={"x0": [0.5, -0.5], "x1": [0, 0]}, n_new=3),
        (0, 1),
        ((0,), (1,)),
    ),
}


def cube_ab():
    return cd.Region.box(a=(-1, 1), b=(-1, 1))


@pytest.mark.parametrize("name", list(FOUND))
def test_only_what_leaves_the_problem_as_it_is_is_found(name):
    make, flips, classes = FOUND[name]
    symmetry = symmetry_of(make())
    assert (symmetry.flips, symmetry.classes) == (flips, classes)


def test_means_are_those_of_all_images():
    problem = D.d_optimal(quadratic(3).over(cube(3)))
    symmetry = symmetry_of(problem)
    u = np.array([0.9, 0.3, 0.3])
    h = problem.frame.rows([0], problem.frame.unscaled(u[None, :]))
    every = problem.frame.piece_rows(0, problem.frame.unscaled(signed_images(u)))
    mean = every.T @ every / len(every)
    np.testing.assert_allclose(symmetry.averaged(h.T @ h), mean, atol=1e-14)
    one_by_one = replace(symmetry)
    one_by_one.__dict__["orbits"] = None  # as where images of coordinates are more than these with a sign
    np.testing.assert_allclose(one_by_one.averaged(h.T @ h), mean, atol=1e-14)
    X = symmetry.roots(h)[0]
    np.testing.assert_allclose(X @ X.T, mean, atol=1e-14)
    images, shares = symmetry.images(u, 1000)
    few = problem.frame.piece_rows(0, problem.frame.unscaled(images))
    np.testing.assert_allclose(few.T @ (shares[:, None] * few), mean, atol=1e-14)


def test_a_fraction_of_the_corners_has_their_moments():
    # Of 2^8 corners 64 have all moments up to degree four: a factorial of resolution five.
    problem = D.d_optimal(quadratic(8).over(cube(8)))
    corners, _ = symmetry_of(problem).images(np.ones(8), 1000)
    F = quadratic_rows(np.array(list(product((-1, 1), repeat=8))))
    G = quadratic_rows(corners)
    assert len(corners) == 64
    np.testing.assert_allclose(G.T @ G / len(G), F.T @ F / len(F), atol=1e-14)


def test_images_that_coincide_count_as_often():
    # A zero in one of twelve places leaves 256 signs of the others for some places, and 128 for others.
    problem = D.d_optimal(quadratic(12).over(cube(12)))
    symmetry = symmetry_of(problem)
    u = np.r_[np.ones(11), 0.0]
    images, shares = symmetry.images(u, 5000)
    few = problem.frame.piece_rows(0, problem.frame.unscaled(images))
    h = problem.frame.piece_rows(0, problem.frame.unscaled(u[None, :]))
    np.testing.assert_allclose(few.T @ (shares[:, None] * few), symmetry.averaged(h.T @ h), atol=1e-13)


@pytest.mark.parametrize("make", [D.a_optimal, D.d_optimal])
def test_designs_sought_by_symmetry_are_optimal_without_it(make):
    design = cd.solve(make(quadratic(3).over(cube(3))))
    assert design.status is cd.Status.CERTIFIED
    x = settings(design.points, ["x0", "x1", "x2"])
    grid = np.array(list(product((-1, -0.5, 0, 0.5, 1), repeat=3)))
    listed = cd.solve(make(quadratic_rows(np.vstack([x, grid]))))
    assert listed.value == pytest.approx(design.value, abs=1e-5)
    F = quadratic_rows(x)
    A = F.T @ (design.weights[:, None] * F)
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(design.information)), np.linalg.eigvalsh(A), rtol=1e-9)


@pytest.mark.parametrize("degree", [2, 3])
def test_thin_strips_are_proven(degree):
    # In v = (a - 2b)/0.02 and b the strip is a box of its own; a = 0.02 v + 2b cuts it at |a| <= 1.
    strip = cube_ab() & cd.Region.where("-0.02 <= a - 2*b <= 0.02")
    design = cd.solve(D.d_optimal(cd.Model.polynomial(["a", "b"], degree).over(strip)))
    assert design.status is cd.Status.CERTIFIED
    assert strip.contains(design.points).all()
    assert design.problem.region is strip
    assert region_data(design).heights.max() <= design.certificate.most * (1 + 1e-9)
    rng = np.random.default_rng(0)
    b = rng.uniform(-0.51, 0.51, 20_000)
    x = {"a": 2 * b + rng.uniform(-0.02, 0.02, b.size), "b": b}
    inside = strip.contains(x)
    heights = design.sensitivity({name: column[inside] for name, column in x.items()})
    assert heights.max() <= design.certificate.most
    if degree == 2:  # in a and b themselves a cubic is beyond double precision
        assert np.linalg.slogdet(design.information)[1] == pytest.approx(design.value, abs=1e-6)
