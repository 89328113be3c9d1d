"""Regions: what is inside, how they combine, their moments, and what is wrong with them in words."""

import numpy as np
import pytest
from polynomials import cube, line, quadratic

import convexdesign as cd
from convexdesign.regions.moments import second_moments

R = cd.Region


def test_settings_are_inside_where_all_inequalities_hold():
    region = R.box(a=(0, 2), b=(-1, 1)) & R.where("a + b <= 2", "a**2 + b**2 >= 0.25")
    inside = region.contains({"a": [1.0, 2.0, 0.1, 2.5], "b": [0.5, 0.5, 0.1, 0.0]})
    assert inside.tolist() == [True, False, False, False]


def test_a_simplex_with_limits_keeps_them_and_its_sum():
    region = R.simplex(["a", "b", "c"], lower={"a": 0.1}, upper={"c": 0.5})
    settings = {"a": [0.2, 0.05, 0.1], "b": [0.3, 0.55, 0.3], "c": [0.5, 0.4, 0.6]}
    assert region.contains(settings).tolist() == [True, False, False]
    with pytest.raises(cd.InputError, match=r"row 0: c is 0\.6"):
        region.contains({"a": [0.2], "b": [0.3], "c": [0.6]})


def test_a_polytope_is_bounded_by_proof():
    A = [[1, 1], [-1, 0], [0, -1]]
    region = R.polytope(A, [1, 0, 0], names=["a", "b"])
    assert [float(x) for x in region.lower] == pytest.approx([0, 0], abs=1e-9)
    assert [float(x) for x in region.upper] == pytest.approx([1, 1], abs=1e-9)
    assert all(float(x) <= 0 for x in region.lower)
    assert all(float(x) >= 1 for x in region.upper)


def test_pieces_are_all_combinations_of_levels():
    region = R.levels(batch=["A", "B"], speed=[1, 2, 3]) * R.box(x=(0, 1))
    assert len(region.pieces) == 6
    where, x = region.coordinates({"batch": ["B", "A"], "speed": [3, 1], "x": [0.5, 0.25]})
    assert [region.pieces[k] for k in where] == [{"batch": "B", "speed": 3}, {"batch": "A", "speed": 1}]
    assert x.ravel().tolist() == [0.5, 0.25]


@pytest.mark.parametrize("shape", ["box", "ball", "simplex", "levels"])
def test_moments_are_those_of_a_large_sample(shape):
    rng = np.random.default_rng(3)
    n = 200_000
    match shape:
        case "box":
            region, curve = R.box(a=(1, 3), b=(-2, 0.5)), cd.Model.polynomial(["a", "b"], 2)
            x = {"a": rng.uniform(1, 3, n), "b": rng.uniform(-2, 0.5, n)}
        case "ball":
            region, curve = R.ball({"a": 1.0, "b": -0.5}, 2.0), cd.Model.polynomial(["a", "b"], 2)
            angle, radius = rng.uniform(0, 2 * np.pi, n), 2 * np.sqrt(rng.random(n))
            x = {"a": 1 + radius * np.cos(angle), "b": -0.5 + radius * np.sin(angle)}
        case "simplex":
            region = R.simplex(["a", "b", "c"], lower=[0.1, 0.2, 0])
            curve = cd.Model.formula("0 + a + b + c + a:b")
            z = rng.dirichlet(np.ones(3), n) * 0.7 + np.array([0.1, 0.2, 0])
            x = dict(zip("abc", z.T))
        case _:
            region, curve = R.levels(k=[0, 2]) * R.box(a=(0, 1)), cd.Model.formula("1 + k + a + k:a")
            x = {"k": rng.integers(0, 2, n) * 2, "a": rng.random(n)}
    over = curve.over(region)
    if shape == "levels":
        F = np.column_stack([np.ones(n), x["k"], x["a"], x["k"] * x["a"]])
    elif shape == "simplex":
        F = np.column_stack([x["a"], x["b"], x["c"], x["a"] * x["b"]])
    else:
        F = np.column_stack([np.ones(n), x["a"], x["b"], x["a"] ** 2, x["a"] * x["b"], x["b"] ** 2])
    products = F[:, :, None] * F[:, None, :]
    error = 5 * products.std(axis=0) / np.sqrt(n) + 1e-12  # five standard errors: a false alarm in a million
    assert (np.abs(second_moments(over, region) - products.mean(axis=0)) <= error).all()


BAD = {
    "empty": (lambda: R.box(a=(0, 1)) & R.where("a >= 2"), "empty"),
    "unbounded": (lambda: R.polytope([[1, 1]], [1], names=["a", "b"]), "not bounded"),
    "infeasible": (lambda: R.polytope([[1.0], [-1.0]], [-1, -1], names=["a"]), "empty"),
    "limits": (lambda: R.box(a=(1, 1)), "first must be the smaller"),
    "name": (lambda: R.box(a=(0, 1)) & R.where("a + z <= 1"), "names 'z'"),
    "equation": (lambda: R.box(a=(0, 1)) & R.where("a == 1"), "no inequality"),
    "radius": (lambda: R.ball(["a"], -1), "radius"),
    "twice": (lambda: R.box(a=(0, 1)) * R.box(a=(0, 1)), "both regions have"),
    "levels": (lambda: R.levels(a=["x", "x"]), "different"),
    "too many": (lambda: R.levels(**{f"x{k}": [0, 1, 2] for k in range(9)}), "combinations"),
    "not finite": (lambda: R.box(a=(0, np.inf)), "finite"),
    "no room": (lambda: R.simplex(["a", "b"], upper=0.4), "no room"),
    "nan": (lambda: R.polytope([[1, np.nan]], [1]), r"A\[0, 1\] is nan"),
    "where levels": (lambda: R.levels(k=[1, 2]) * R.box(a=(0, 1)) & R.where("a + k <= 2"), "names k, which has levels"),
    "code": (lambda: R.box(a=(0, 1)) & R.where("__import__('os') <= a"), "holds"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_a_region_that_is_none_is_refused_in_words(name):
    make, message = BAD[name]
    with pytest.raises(cd.InputError, match=message):
        make()


D = cd.DesignProblem
WRONG = {
    "unknown factor": (lambda: D.d_optimal(cd.Model.formula("1 + z").over(cube(1))), "no column 'z'; there are x0"),
    "no polynomial": (lambda: D.d_optimal(cd.Model.formula("1 + log(x0)").over(cube(1))), r"Model\.nonlinear"),
    "nothing": (lambda: D.c_optimal(line(2), [0, 0, 0]), "direction is zero"),
    "over": (lambda: D.d_optimal(line(2), over="average"), "over is for several values"),
    "tolerance": (lambda: cd.solve(D.d_optimal(line(2)), tol=np.nan), "tol is nan"),
    "steep": (
        lambda: D.d_optimal(cd.Model.glm("1 + x", [0, 1000], "logit").over(R.box(x=(-4, 4)))),
        "informative in so small a part",
    ),
    "does not span": (
        lambda: D.d_optimal(cd.Model.formula("1 + a + b").over(R.simplex(["a", "b"]))),
        "does not span",
    ),
    "noise": (lambda: D.d_optimal(line(1), noise_variance="x"), "noise_variance is -.* at x = "),
    "direction": (lambda: D.c_optimal(line(2), [1.0, 0.0]), "direction has the shape"),
    "term": (lambda: D.ds_optimal(line(2), ["y"]), "interest names 'y'"),
    "weights": (lambda: D.d_optimal(line(2), max_weight=0.3), "max_weight is not known"),
    "ranks": (lambda: D.best_arm_oracle(line(2), theta=[1, 2, 3]), "no meaning over a region"),
    "n_new": (lambda: D.d_optimal(line(2), prior_information=np.eye(3)), "n_new"),
    "moments": (
        lambda: D.i_optimal(quadratic(2).over(cube(2) & R.where("x0 + x1 <= 1"))),
        "closed form",
    ),
    "items": (lambda: D.xy_allocation(line(2)), "needs items"),
    "method": (lambda: cd.solve(D.d_optimal(line(2)), method="conic"), "method is not known"),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_problem_that_is_none_is_refused_in_words(name):
    make, message = WRONG[name]
    with pytest.raises(cd.InputError, match=message):
        make()


def test_terms_are_named():
    region = R.levels(batch=["A", "B"]) * R.box(x=(0, 1))
    assert cd.Model.formula("1 + batch*x + x**2").over(region).terms == (
        "1",
        "batch[B]",
        "x",
        "batch[B]:x",
        "x**2",
    )


def test_what_double_precision_cannot_prove_is_a_warning_and_a_bound():
    far = cd.Model.polynomial(["a", "b"], 2).over(R.box(a=(100, 102), b=(-1, 1)))
    with pytest.warns(cd.ConvergenceWarning):
        design = cd.solve(D.d_optimal(far), tol=1e-12)
    assert design.status is not cd.Status.CERTIFIED
    assert 1e-12 < design.gap < 1e-6
