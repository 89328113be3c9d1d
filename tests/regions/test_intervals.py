"""Enclosures: values, gradients and Hessians of random formulas at random points lie in their jets over boxes."""

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.regions.branch import Branch
from convexdesign.regions.intervals import Interval, Jet, combined
from convexdesign.regions.tape import parse

FORMULAS = [
    "a*b + a**2 - b**3",
    "exp(-a)/(1 + b**2)",
    "log(3 + a)*sqrt(2 + b)",
    "sin(3*a)*cos(5*b) + tanh(a*b)",
    "atan(a - b) + (2 + a)**1.5",
    "1/(1 + exp(-4*(a - b)))",
    "(a + 2)**b",
    "a**4 - 2*a**2*b**2 + b**5",
]


def enclosed(interval, values, slack=0.0):
    size = slack * (1 + np.abs(values))
    return bool(((interval.lo <= values + size) & (values - size <= interval.hi)).all())


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("width", [1e-8, 1e-2, 0.7])
def test_jets_enclose_values_and_derivatives(formula, width):
    import sympy

    rng = np.random.default_rng(11)
    low = rng.uniform(-1, 1 - width, size=(40, 2))
    box = Interval(low, low + width)
    jet = parse(formula, ("a", "b"), "f").over({"a": Jet.coordinate(box, 0), "b": Jet.coordinate(box, 1)})
    a, b = sympy.symbols("a b")
    f = sympy.sympify(formula)
    for _ in range(20):
        x = low + width * rng.random(low.shape)
        point = {"a": x[:, 0], "b": x[:, 1]}
        at = lambda g: np.broadcast_to(sympy.lambdify((a, b), g)(point["a"], point["b"]), (40,))  # noqa: B023, E731
        assert enclosed(jet.value, at(f), 1e-15)
        for k, u in enumerate((a, b)):
            assert enclosed(jet.gradient[:, k], at(f.diff(u)), 1e-14)
            for j, v in enumerate((a, b)):
                assert enclosed(jet.hessian[:, k, j], at(f.diff(u, v)), 1e-13)


def test_what_is_undefined_is_unbounded():
    box = Interval(np.array([[-1.0]]), np.array([[1.0]]))
    for formula in ("1/a", "log(a)", "sqrt(a)", "1/(a**2)"):
        with np.errstate(all="ignore"):
            value = parse(formula, ("a",), "f").over({"a": Jet.coordinate(box, 0)}).value
        assert np.isinf(value.lo[0]) or np.isinf(value.hi[0])


def test_matrices_times_intervals():
    rng = np.random.default_rng(2)
    M, low = rng.normal(size=(3, 5)), rng.normal(size=(7, 5))
    parts = Interval(low, low + rng.random(low.shape))
    out = combined(M, parts)
    for _ in range(50):
        x = low + (parts.hi - low) * rng.random(low.shape)
        assert enclosed(out, x @ M.T, 1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_no_setting_exceeds_a_bound(seed):
    rng = np.random.default_rng([23, seed])
    region = cd.Region.box(a=(-1, 2), b=(0, 1))
    if seed % 2:
        region = region & cd.Region.where("a + 2*b <= 2")
    model = cd.Model.glm("1 + a*b", rng.normal(size=4), ["logit", "probit", "cloglog"][seed % 3])
    problem = cd.DesignProblem.d_optimal(model.over(region))
    B = rng.normal(size=(3, 4))
    x = np.column_stack([rng.uniform(-1, 2, 50_000), rng.uniform(0, 1, 50_000)])
    x = x[region.inside(x, 0.0)]
    heights = np.sum((problem.frame.piece_rows(0, x) @ B.T) ** 2, axis=1)
    branch = Branch(problem)
    assert len(branch.prove(0, B, 0.999 * heights.max(), np.inf).refuting)
    proof = branch.prove(0, B, 1.05 * heights.max(), np.inf)
    if not len(proof.refuting):
        assert proof.value >= heights.max()
    # The smallest bound that is proven, by halves: never below what was sampled.
    assert not len(branch.prove(0, B, 2.0 * heights.max(), np.inf).refuting)
