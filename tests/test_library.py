"""Every problem of the library, solved by every method that applies: value, bound, gap and status against its file."""

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.criteria import oracle_of
from convexdesign.problemfile import library, load_problem
from convexdesign.solving import takes

EVERY = {path.stem: load_problem(path) for path in library()}
PROBLEMS = {name: stated for name, stated in EVERY.items() if not stated.is_over_region}
# Solved in tests/regions, where they take seconds.
SLOW = {"ball-quadratic-d", "interval-cubic-e", "disc-quadratic-d", "simplex-scheffe-d", "strip-cubic-d"}
REGIONS = {name: stated for name, stated in EVERY.items() if stated.is_over_region and name not in SLOW}
TOL = 1e-7
CLASSIC = ("frank-wolfe-vanilla", "frank-wolfe-away", "multiplicative")

# One conic program and Frank-Wolfe each are enough for the two large ones; the other programs take up to minutes there.
LARGE = {"random-xy": ("socp",), "two-spheres-variance": ("log-det",)}


def applies(stated, formulation):
    problem = stated.problem()
    if stated.name in LARGE and formulation not in LARGE[stated.name]:
        return False
    if formulation == "log-det" and problem.criterion.by_target:
        return problem.is_kiefer_wolfowitz
    return formulation != "dual-socp" or problem.weight_set.is_simplex


def solvers():
    for name, stated in PROBLEMS.items():
        problem = stated.problem()
        oracle = oracle_of(problem)
        if name not in LARGE:
            yield name, "auto", None
        for formulation in oracle.formulation_names:
            if applies(stated, formulation):
                yield name, "conic", formulation
        if takes("frank-wolfe", oracle) and problem.weight_set.is_simplex:
            yield name, "frank-wolfe", None


def classic():
    for name, stated in PROBLEMS.items():
        problem = stated.problem()
        if problem.weight_set.is_simplex:
            yield from ((name, method) for method in CLASSIC if takes(method, oracle_of(problem)))


@pytest.mark.parametrize(("name", "method", "formulation"), list(solvers()))
def test_value_bound_and_status(name, method, formulation):
    stated = PROBLEMS[name]
    reference = stated.reference
    design = cd.solve(stated.problem(), method=method, formulation=formulation, tol=TOL)
    assert design.status is cd.Status.CERTIFIED
    assert 0 <= design.gap <= TOL
    slack = reference.tolerance * max(1.0, abs(reference.value))
    assert design.value == pytest.approx(reference.value, abs=slack)
    assert design.certificate.bound == pytest.approx(reference.value, abs=slack)


@pytest.mark.parametrize("name", list(REGIONS))
def test_value_and_bound_over_a_region(name):
    stated = REGIONS[name]
    reference = stated.reference
    design = cd.solve(stated.problem())
    assert design.status is cd.Status.CERTIFIED
    slack = reference.tolerance * max(1.0, abs(reference.value))
    assert design.value == pytest.approx(reference.value, abs=slack)
    assert design.bound == pytest.approx(reference.value, abs=slack)
    if stated.name == "logistic-bayesian-d":  # for several values of the parameters: a published design
        np.testing.assert_allclose(design.points["x"], reference.settings["x"], atol=2e-3)
        np.testing.assert_allclose(design.weights, reference.weights, atol=2e-4)
        assert design.sensitivity({"x": np.linspace(-3, 3, 4001)}).max() <= design.most
        return
    better = (
        design.bound >= reference.value if design.certificate.criterion.maximised else design.bound <= reference.value
    )
    assert better or design.bound == pytest.approx(reference.value, rel=1e-12)


@pytest.mark.filterwarnings("ignore::convexdesign.ConvergenceWarning")
@pytest.mark.parametrize(("name", "method"), list(classic()))
def test_the_optimum_lies_between_what_a_classic_method_finds_and_proves(name, method):
    stated = PROBLEMS[name]
    problem, reference = stated.problem(), stated.reference
    design = cd.solve(problem, method=method, tol=0.1, max_iter=200)
    slack = reference.tolerance * max(1.0, abs(reference.value))
    low, high = sorted((design.value, design.certificate.bound))
    assert low - slack <= reference.value <= high + slack
    assert design.gap < float("inf")
