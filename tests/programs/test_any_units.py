"""Constraints in any units: bounds that no feasible design beats, weights that keep them, and nothing that a unit changes."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from constrained import MAKERS, constrained, miss
from scipy import sparse

import convexdesign as cd
from convexdesign.problem.weights import WeightSet
from convexdesign.programs.body import body
from convexdesign.programs.cone_form import cone_form, into_dual
from convexdesign.programs.constraints import Feasible
from convexdesign.programs.variable_limits import proven_limits

P = cd.DesignProblem
X = np.random.default_rng(2).standard_normal((6, 3))
X[0] *= 10
NOISE = np.arange(1.0, 7.0)
UNITS = (1e-12, 1e-3, 1e5, 1e11)


@pytest.mark.parametrize("seed", range(10))
def test_bounds_hold_and_weights_keep_the_constraints_in_any_units(seed):
    case = constrained(seed)
    value, _ = case.reference()
    design = cd.solve(case.problem())
    assert design.status is cd.Status.CERTIFIED, case.name
    scale = 1.0 if case.kind == "d" else abs(value)
    sign = -1.0 if case.kind == "d" else 1.0
    assert sign * (design.bound - value) <= 1e-6 * scale, case.name
    assert sign * (value - design.value) <= 1e-5 * scale, case.name  # no better than feasible weights can be
    assert miss(case, design.weights) <= 1e-7, case.name
    assert design.weights.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("divided", [False, True])
def test_a_variable_of_the_users_own_in_any_unit(unit, divided):
    def limits(w):
        u = cp.Variable(2)
        return [w[:2] == u / unit if divided else u == unit * w[:2], cp.norm(u, 2) <= 0.15 * unit]

    plain = P.g_optimal(X, noise_variance=NOISE, constraints=lambda w: [cp.norm(w[:2], 2) <= 0.15])
    scaled = P.g_optimal(X, noise_variance=NOISE, constraints=limits)
    good, design = cd.solve(plain), cd.solve(scaled)
    assert design.status is cd.Status.CERTIFIED
    assert design.value == pytest.approx(good.value, rel=2e-6)
    assert design.bound <= good.value * (1 + 1e-9)
    assert np.linalg.norm(design.weights[:2]) <= 0.15 * (1 + 1e-7)
    if unit in (1e-12, 1e11):
        allowed = cd.verify(scaled, weights=good.weights)
        assert allowed.is_allowed
        assert allowed.is_optimal(3e-6)
        assert not cd.verify(scaled, weights=np.full(6, 1 / 6)).is_allowed


@pytest.mark.parametrize("cap", [1e-12, 1e-10, 1e-5])
@pytest.mark.parametrize("form", ["bound", "row", "row with a large neighbour", "two together", "callable"])
def test_narrow_caps_are_kept(cap, form):
    """Arm 1 alone sees the second coefficient: its variance is s^2 / cap, and the cap is used up."""
    arms, noise = [[1.0, 0], [0, 1.0], [1.0, 0], [0.0, 1.0]], [1.0, 1e-7 * cap, 1.0, 1.0]
    keywords = {
        "bound": {"max_weight": [1, cap, 1, 0]},
        "row": {"inequalities": ([[0, 1e7, 0, 0], [0, 0, 0, 1]], [cap * 1e7, 0])},
        "row with a large neighbour": {"inequalities": ([[0, 1, 0, 1e12], [0, 0, 0, 1]], [cap, 0])},
        "two together": {"inequalities": ([[0, 1e-9, 0, 1e-9], [0, 0, 0, 1]], [1e-9 * cap, 0])},
        "callable": {"constraints": lambda w: [1e9 * w[1] <= 1e9 * cap, w[3] <= 0]},
    }[form]
    problem = P(arms, np.eye(2), noise_variance=np.array(noise) * [1, 1e8, 1, 1], **keywords)
    design = cd.solve(problem)
    assert design.status is cd.Status.CERTIFIED
    assert design.value == pytest.approx(10.0, rel=1e-6)
    assert design.weights[1] == pytest.approx(cap, rel=1e-6)
    assert design.weights[1] <= cap * (1 + 1e-9)
    assert design.weights[3] == 0.0
    assert not cd.verify(problem, weights=[0.5, 2 * cap, 0.5 - 2 * cap, 0]).is_allowed


@pytest.mark.parametrize("scale", UNITS)
def test_how_far_weights_are_from_a_constraint_does_not_depend_on_its_unit(scale):
    w, n = np.array([0.5, 0.3, 0.2]), 3
    linear = WeightSet(G=scale * np.array([[1.0, 0, 0], [0, 0, -1.0]]), h=scale * np.array([0.4, -0.1]))
    assert linear.violation(w) == pytest.approx(0.1 / 0.4)
    curved = WeightSet(constraints=lambda v: [scale * cp.sum_squares(v) <= scale * 0.36])
    plain = WeightSet(constraints=lambda v: [cp.sum_squares(v) <= 0.36])
    assert Feasible(curved, n).violation(w) == pytest.approx(Feasible(plain, n).violation(w), rel=1e-9)
    assert Feasible(curved, n).violation(np.full(3, 1 / 3)) == 0.0
    inside = Feasible(curved, n).projected(w)
    assert np.sum(inside**2) <= 0.36 * (1 + 1e-12)
    assert np.abs(inside - w).max() < 0.1


def test_a_row_is_judged_by_what_moves_it():
    arms, noise = [[10, 1], [0, 1], [1, 1]], [1, 2, 3]
    for keywords in (
        {"inequalities": ([[1, 0, 1e12]], [0.1])},
        {"inequalities": {"G": [[1, 0, 1e12]], "h": [0.1]}},
        {"constraints": lambda w: 1e-10 * w[0] + 1e2 * w[2] <= 1e-11},
    ):
        design = cd.solve(P.g_optimal(arms, noise_variance=noise, **keywords))
        assert design.status is cd.Status.CERTIFIED
        assert design.weights[0] <= 0.1 * (1 + 1e-9)
        assert design.weights[0] + 1e12 * design.weights[2] <= 0.1 * (1 + 1e-9)


def test_one_constraint_is_a_list_of_one():
    design = cd.solve(P.d_optimal(np.eye(2), constraints=lambda w: w[0] == 3 * w[1]))
    np.testing.assert_allclose(design.weights, [0.75, 0.25], rtol=1e-9)


# ---------------------------------------------------------------- what the proofs rest on


def _inside(made, w, rng, lower=0.0):
    """Random points of W, each the solution of a program with a random objective over all variables."""
    variables = {v.id: v for c in made for v in c.variables()}
    for _ in range(4):
        objective = sum(cp.sum(cp.multiply(rng.standard_normal(v.shape), v)) for v in variables.values())
        nearby = [cp.abs(v) <= 1e3 for v in variables.values()]
        program = cp.Problem(cp.Minimize(objective), [w >= lower, cp.sum(w) == 1, *made, *nearby])
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        yield np.asarray(w.value)


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in ("inequalities", "bounds", "idle variable")])
def test_limits_of_variables_hold_at_every_feasible_point(name):
    """Whatever interval arithmetic and duals prove: the cone form has no point outside, in any direction."""
    rng = np.random.default_rng(5)
    n = 6
    inside = 0.9 * rng.dirichlet(np.ones(n)) + 0.1 / n
    made_of = MAKERS[name](rng, inside, 1.0, 1.0)[1]
    w = cp.Variable(n)
    form = cone_form(w, made_of(w))
    found = body(form, np.zeros(n), np.ones(n))
    assert found.unlimited.size == 0
    x = cp.Variable(found.lo.size)
    program = [x[:n] >= 0, cp.sum(x[:n]) == 1, *found.members(x[:n])]
    slack = 1e-6 * np.maximum(np.abs(found.lo), np.abs(found.hi)) + 1e-6
    auxiliary = next((v for c in program for v in c.variables() if v.name() == "auxiliary"), None)
    for _ in range(8):
        q, p = rng.standard_normal(n), rng.standard_normal(found.lo.size - n)
        objective = q @ x[:n] + (p @ auxiliary if auxiliary is not None else 0.0)
        cp.Problem(cp.Minimize(objective), program).solve(solver=cp.CLARABEL)
        at = x.value[:n]
        if auxiliary is not None:
            S = found.scaling
            at = np.r_[at, S.middle[n:] + S.unit[n:] * auxiliary.value]
        assert np.all(at >= found.lo - slack), name
        assert np.all(at <= found.hi + slack), name


def test_limits_are_infinite_where_nothing_limits_a_variable_and_bounds_then_leave_it_out():
    w = cp.Variable(3)
    u = cp.Variable()
    form = cone_form(w, [cp.norm(w) <= u, 2 * w[0] <= 1])
    lo, hi = proven_limits(form, np.zeros(3), np.ones(3))
    assert np.isinf(hi).any()
    assert hi[0] == pytest.approx(0.5, rel=1e-12)
    found = body(form, lo[:3], hi[:3])
    assert found.unlimited.size > 0
    assert found.support(np.array([1.0, 0.0, 0.0])) == pytest.approx(0.5, rel=1e-9)
    assert found.support(np.array([0.0, 1.0, 0.0])) == pytest.approx(1.0, rel=1e-9)


def test_any_dual_point_is_moved_into_the_dual_cone():
    """z in K* has a nonnegative product with every point of K; points of K are made from their definitions."""
    rng = np.random.default_rng(1)
    w = cp.Variable(3)
    u = cp.Variable(3)
    form = cone_form(
        w,
        [
            cp.norm(w) <= u[0],
            cp.sum(cp.entr(w)) >= u[1],
            cp.PowCone3D(w[0], u[1], u[2], 0.3),
            cp.diag(w) << cp.diag(u),
            u <= 9,
        ],
    )
    kinds = {block.kind for block in form.blocks}
    assert {"soc", "exp", "psd", "power"} <= kinds
    for _ in range(50):
        z = into_dual(form, rng.standard_normal(len(form.b)) * 10.0 ** rng.uniform(-6, 6))
        assert np.all(z[form.zero : form.zero + form.nonneg] >= 0)
        for block in form.blocks:
            part, size = z[block.rows], block.stop - block.start
            for _ in range(20):
                s = _point(block, size, rng)
                assert part @ s >= -1e-13 * (np.abs(part) @ np.abs(s)), block.kind


def _point(block, size, rng):
    if block.kind == "soc":
        tail = rng.standard_normal(size - 1)
        return np.r_[np.linalg.norm(tail) * (1 + rng.exponential() * (rng.random() < 0.5)), tail]
    if block.kind == "exp":
        y, t = rng.exponential(), rng.standard_normal()
        return np.array([y * t, y, y * np.exp(t)])
    if block.kind == "power":
        a = np.array(block.exponents)
        first = rng.exponential(size=a.size)
        return np.r_[first, rng.choice([-1, 1]) * np.prod(first**a)]
    k = block.order
    root = rng.standard_normal((k, 1 + k * (rng.random() < 0.5)))
    second, first = np.tril_indices(k)
    return (root @ root.T)[first, second] * np.where(first == second, 1.0, np.sqrt(2.0))


def test_a_bound_from_any_multipliers_holds():
    """`support` proves what it says from whatever a solver left: here from noise."""
    rng = np.random.default_rng(3)
    made_of = MAKERS["own variable"](rng, np.full(5, 0.2), 1.0, 1.0)[1]
    w = cp.Variable(5)
    found = body(cone_form(w, made_of(w)), np.zeros(5), np.ones(5))
    points = list(_inside(made_of(w), w, rng))
    for _ in range(100):
        q = np.r_[rng.standard_normal(5), np.zeros(found.lo.size - 5)]
        z = rng.standard_normal(len(found.form.b)) * 10.0 ** rng.uniform(-3, 1)
        bound = found._proven(q, z)
        assert all(bound >= q[:5] @ point - 1e-8 for point in points)


def test_contradictions_are_proven_in_any_unit():
    for scale in UNITS:
        with pytest.raises(cd.InputError, match=r"constraints\[0\].*contradict"):
            Feasible(WeightSet(constraints=lambda w, c=scale: [c * cp.sum_squares(w) <= c * 0.3, w >= 0]), 3)
        thin = WeightSet(constraints=lambda w, c=scale: [c * cp.sum_squares(w) <= c * (1 / 3 + 1e-9)])
        assert (
            1 / 3 + 2.5e-5 <= Feasible(thin, 3).support(np.array([1.0, 0, 0])) <= 1 / 3 + 3e-4
        )  # a ball of radius 3e-5


def test_a_point_of_w_is_there_when_no_time_is():
    problem = P.g_optimal(X, constraints=lambda w: [cp.norm(w[:2]) <= 0.15])
    with pytest.warns(cd.ConvergenceWarning):
        design = cd.solve(problem, time_limit=1e-6)
    assert design.status is cd.Status.TIME_LIMIT
    assert np.linalg.norm(design.weights[:2]) <= 0.15
    assert sparse.issparse(Feasible(problem.weight_set, 6).body.form.A)
