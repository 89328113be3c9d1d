"""Boxes of parameters: the least information over them is bracketed, and no sampling is outside the bracket."""

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.regions.theta_branch import ThetaBranch

D, M, R = cd.DesignProblem, cd.Model, cd.Region


def michaelis(**limits):
    model = M.nonlinear("vmax*x/(k + x)", theta={"vmax": 1, "k": 1})
    return model.at(R.box(**limits)).over(R.box(x=(0, 10)))


def logistic(a, b, reach=3):
    return M.glm("1 + x", theta=[0, 1], link="logit").at(R.box(a=a, b=b)).over(R.box(x=(-reach, reach)))


def test_a_decay_is_worst_where_it_is_fastest():
    # f^2 = x^2 exp(-2kx) falls in k for every x: the least over k is at the top of the box, the best setting 1/k there.
    curve = M.nonlinear("exp(-k*x)", theta={"k": 1}).at(R.box(k=(0.5, 2))).over(R.box(x=(0, 10)))
    design = cd.solve(D.d_optimal(curve), tol=1e-5)
    assert design.status is cd.Status.CERTIFIED
    exact = np.log(0.25) - 2
    assert design.value - 1e-9 <= exact <= design.bound + 1e-9
    assert design.bound - design.value <= 1.1e-5
    assert design.theta["k"] == pytest.approx(2)
    assert design.points["x"].tolist() == pytest.approx([0.5], abs=2e-3)


def log_det_logistic(design, a, b):
    x, w = design.points["x"].to_numpy(), design.points["weight"].to_numpy()
    eta = a[:, None] + b[:, None] * x
    nu = w / (2 + np.exp(eta) + np.exp(-eta))
    s0, s1, s2 = nu.sum(axis=1), (nu * x).sum(axis=1), (nu * x**2).sum(axis=1)
    return np.log(s0 * s2 - s1**2) / 2


def test_a_grid_of_parameters_overstates_what_the_bracket_proves():
    # A steep curve whose place is not known: between the parameters of a grid the design for the grid is worse.
    design = cd.solve(D.d_optimal(logistic((-6, 6), (2.9, 3), 4)), tol=3e-3)
    assert design.status is cd.Status.CERTIFIED
    assert design.value <= design.found <= design.bound
    a, b = (t.ravel() for t in np.meshgrid(np.linspace(-6, 6, 1201), [2.9, 2.95, 3]))
    dense = log_det_logistic(design, a, b)
    assert design.value <= dense.min()
    assert dense.min() == pytest.approx(design.found, abs=1e-4)
    assert abs(design.theta["a"]) < 5
    values = [[u, v] for u in (-6, -2, 2, 6) for v in (2.9, 3)]
    model = M.glm("1 + x", theta=[0, 1], link="logit").at(values).over(R.box(x=(-4, 4)))
    grid = cd.solve(D.d_optimal(model, over="lowest"), tol=1e-4)
    assert grid.status is cd.Status.CERTIFIED
    assert grid.value > design.bound + 1e-3
    assert log_det_logistic(grid, a, b).min() < design.value
    assert grid.value == pytest.approx(log_det_logistic(grid, *np.array(values).T).min(), abs=1e-9)


def test_the_bound_is_of_any_design():
    design = cd.solve(D.d_optimal(michaelis(k=(0.5, 2))))
    rng = np.random.default_rng(0)
    k = np.linspace(0.5, 2, 101)[:, None]
    for _ in range(200):
        x, w = rng.uniform(0, 10, 4), rng.dirichlet(np.ones(4))
        f = np.stack([x / (k + x), -x / (k + x) ** 2], axis=2)
        A = np.einsum("i,mij,mik->mjk", w, f, f)
        assert (np.linalg.slogdet(A)[1] / 2).min() <= design.bound
    assert design.prior["share"].sum() == pytest.approx(1, abs=1e-4)


def test_boxes_are_halved_along_what_is_felt():
    # 7,600 boxes where all sides are halved in turn and each entry of f is bounded for itself.
    emax = M.nonlinear("e0 + emax*x/(ed + x)", {"e0": 0, "emax": 10, "ed": 5})
    problem = D.d_optimal(emax.at(R.box(emax=(5, 15), ed=(0.1, 20))).over(R.box(x=(0, 10))))
    x, w = np.array([[0.0], [0.5], [3.0], [10.0]]), np.array([0.3, 0.2, 0.2, 0.3])
    branch = ThetaBranch(problem.centre, problem.box, [0] * 4, x, w)
    lowest = branch.values(np.array([[5.0, 20.0]]))[0]
    proof = branch.prove(lowest - 1e-3)
    assert proof.value == lowest - 1e-3
    assert proof.boxes < 3500


KINDS = {
    "d": lambda curve: D.d_optimal(curve),
    "a": lambda curve: D.a_optimal(curve),
    "c": lambda curve: D.c_optimal(curve, [0.5, 1.0]),
    "interest": lambda curve: D.ds_optimal(curve, [1]),
    "held": lambda curve: D.d_optimal(curve, prior_information=[[0.3, 0.1], [0.1, 0.2]], n_new=2),
    "noise": lambda curve: D.a_optimal(curve, noise_variance="1 + x**2", costs="4 + x"),
}


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("model", ["nonlinear", "glm"])
def test_bounds_over_boxes_against_samples(kind, model):
    curve = michaelis(k=(0.5, 2), vmax=(0.5, 2)) if model == "nonlinear" else logistic((-1, 1), (0.5, 2))
    problem = KINDS[kind](curve)
    rng = np.random.default_rng(3)
    x = rng.uniform(*((0, 10) if model == "nonlinear" else (-3, 3)), size=(4, 1))
    branch = ThetaBranch(problem.centre, problem.box, [0] * 4, x, rng.dirichlet(np.ones(4)))
    at = branch.low + (branch.high - branch.low) * rng.random((60, 2))
    half = 10.0 ** rng.uniform(-4, -0.5, size=(60, 1)) * (branch.high - branch.low)
    low, high = np.maximum(at - half, branch.low), np.minimum(at + half, branch.high)
    bound = branch.bound(low, high)
    share = np.concatenate(
        [rng.random((60, 36, 2)), np.broadcast_to([[0, 0], [0, 1], [1, 0], [1, 1]], (60, 4, 2))], axis=1
    )
    inside = low[:, None] + (high - low)[:, None] * share
    values = branch.values(inside.reshape(-1, 2)).reshape(60, 40)
    assert (bound <= values.min(axis=1) + 1e-12).all()
    # What is known after the deadline is a bound, too.
    assert branch.prove(values.min() - 0.1, deadline=0.0).value <= branch.values(branch.box_corners()).min()
    narrow = half[:, 0] < 1e-3 * (branch.high - branch.low)[0]
    assert (values.min(axis=1) - bound)[narrow].max() < 2e-3
    # The values are those of the problem at each of the parameters.
    own = problem.at(at[:1]).mixtures[0].problems[0]
    finite = own.finite([0] * 4, x)
    A = own.frame.rows([0] * 4, x)
    assert A.shape == (4, 2)
    found = cd.verify(finite, branch.effort / branch.effort.sum() if kind != "noise" else branch_share(branch, own, x))
    if kind in ("d", "held"):
        expected = (found.value - 2 * own.frame.log_det) / 2
    else:
        expected = found.value if kind == "interest" else -np.log(found.value)
    if kind != "interest":
        assert branch.values(at[:1])[0] == pytest.approx(expected, abs=1e-9)


def branch_share(branch, problem, x):
    return branch.effort * problem.prices(x)


WRONG = {
    "weights": (lambda: M.glm("1 + x", [0, 1], "logit").at(R.box(a=(0, 1), b=(1, 2)), [1.0]), "a box has none"),
    "names": (lambda: michaelis(q=(0, 1)), "the box names 'q'"),
    "number": (lambda: logistic_one(), "the box has 1 parameters, theta 2"),
    "conditions": (
        lambda: M.glm("1 + x", [0, 1], "logit").at(R.box(a=(0, 1), b=(0, 1)) & R.where("a <= b")),
        "without conditions",
    ),
    "undefined": (lambda: D.d_optimal(michaelis(k=(-1, 1))), "derivative by vmax .* k = "),
    "mean": (
        lambda: D.d_optimal(
            M.glm("1 + x", [2, 1], "identity", "poisson").at(R.box(a=(1, 2), b=(0.5, 1.5))).over(R.box(x=(-1, 1)))
        ),
        "the mean is -0.5 at x = -1, a = 1, b = 1.5",
    ),
    "average": (lambda: D.d_optimal(michaelis(k=(0.5, 1)), over="average"), 'it is "lowest"'),
    "compound": (lambda: D.compound([D.d_optimal(michaelis(k=(0.5, 1)))]), "cannot be compounded"),
    "verified": (lambda: cd.verify(D.d_optimal(michaelis(k=(0.5, 1))), runs={"x": [1.0]}), "solved, not verified"),
}


def logistic_one():
    return M.glm("1 + x", [0, 1], "logit").at(R.box(a=(0, 1)))


@pytest.mark.parametrize("name", list(WRONG))
def test_a_box_that_is_none_is_refused_in_words(name):
    make, message = WRONG[name]
    with pytest.raises(cd.InputError, match=message):
        make()
