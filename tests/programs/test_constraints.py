"""The support function of any DCP set: never below the true maximum, tight; contradictions and non-DCP are named."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import convexdesign as cd
from convexdesign.errors import InputError
from convexdesign.problem.weights import WeightSet
from convexdesign.programs.constraints import Feasible

N = 6
P = cd.DesignProblem
X = np.random.default_rng(0).normal(size=(N, 3))
SETS = {
    "sum of squares": lambda w: [cp.sum_squares(w) <= 0.3],
    "near a design": lambda w: [cp.norm1(w - 1 / N) <= 0.4],
    "equality": lambda w: [w[0] + w[1] == 0.3],
    "entropy": lambda w: [cp.sum(cp.entr(w)) >= 1.5],
    "second-order cone": lambda w: [cp.SOC(0.5 + 0 * w[0], w[:3])],
    "semidefinite": lambda w: [cp.diag(w) << 0.4 * np.eye(N)],
    "auxiliary variable": lambda w: (lambda u: [w <= u, u <= 0.35, cp.sum(u) <= 1.5])(cp.Variable(N)),
    "several": lambda w: [cp.max(w) <= 0.4, w[2] == w[3], cp.norm(w[4:]) <= 0.3],
}


@pytest.mark.parametrize("name", SETS)
def test_support_is_an_upper_bound_and_tight(name):
    weight_set = WeightSet(upper=np.full(N, 0.9), constraints=SETS[name])
    feasible = Feasible(weight_set, N)
    rng = np.random.default_rng(4)
    for _ in range(6):
        q = rng.standard_normal(N) * 10.0 ** rng.uniform(-3, 3)
        w = cp.Variable(N)
        program = cp.Problem(cp.Maximize(q / np.abs(q).max() @ w), [w >= 0, cp.sum(w) == 1, w <= 0.9, *SETS[name](w)])
        program.solve(solver=cp.SCS, eps_abs=1e-8, eps_rel=1e-8, max_iters=200_000)
        best = program.value * np.abs(q).max()
        assert feasible.support(q) >= best - 1e-6 * np.abs(q).max()
        assert feasible.support(q) <= best + 1e-5 * np.abs(q).max()
        assert feasible.violation(w.value) <= 1e-5
    assert feasible.violation(np.eye(N)[0]) > 0.05


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (lambda w: [cp.sum_squares(w) >= 0.3], r"constraints\[0\] is not convex by the DCP rules.*not DCP"),
        (lambda w: [w[0] <= 1, cp.sqrt(w[1]) <= 0.5], r"constraints\[1\] is not convex"),
        (
            lambda w: [w[0] >= 0.6, w[1] >= 0.6],
            r"constraints\[0\]: 0.6 <= w\[0\]; constraints\[1\]: 0.6 <= w\[1\] contra",
        ),
        (lambda w: [w[0] + w[1] >= 1.2, w[2] >= 0], r"no weights satisfy all constraints: constraints\[0\]"),
        (lambda w: 3, r"constraints\[0\] is 3, not a CVXPY constraint"),
        (lambda w: [True], r"constraints\[0\] is True"),
    ],
)
def test_constraints_that_cannot_be(constraints, message):
    with pytest.raises(InputError, match="(?s)" + message):
        Feasible(WeightSet(constraints=constraints), N)


def test_contradictory_inequalities_name_their_rows():
    G = np.array([[1.0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [-1, -1, 0, 0, 0, 0]])
    with pytest.raises(InputError, match=r"inequalities G w <= h \(rows 0, 2\)"):
        Feasible(WeightSet(G=G, h=np.array([0.2, 0.5, -0.4])), N)


@pytest.mark.parametrize("build", [P.g_optimal, P.a_optimal, P.e_optimal, P.xy_allocation])
@pytest.mark.parametrize(
    "constraints", [lambda w: [w[0] == 1], lambda w: [w[0] + w[1] == 1], lambda w: [cp.sum(w[2:]) <= 0]]
)
def test_constraints_that_leave_too_few_arms_are_named(build, constraints):
    problem = build(X, constraints=constraints)
    with pytest.raises(cd.UnidentifiableError, match=r"the arms that may have weight"):
        cd.solve(problem)


def test_d_works_on_the_range_of_the_arms_that_constraints_leave():
    design = cd.solve(P.d_optimal(X, constraints=lambda w: [w[0] + w[1] == 1]))
    assert design.status is cd.Status.CERTIFIED
    assert design.weights[:2] == pytest.approx([0.5, 0.5], abs=1e-5)
    same = cd.solve(P.d_optimal(X, max_weight=np.r_[1.0, 1.0, np.zeros(len(X) - 2)]))
    assert design.value == pytest.approx(same.value, abs=1e-6)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            lambda w: 1 / 0,
            r"constraints raised ZeroDivisionError: division by zero; it is called with a CVXPY variable",
        ),
        (lambda w: [w[99] <= 1], r"constraints raised IndexError: Index 99 is out of bounds"),
    ],
)
def test_constraints_that_raise_say_so(constraints, message):
    with pytest.raises(cd.InputError, match=message):
        cd.solve(P.d_optimal(X, constraints=constraints))
