"""The support function of any DCP set: never below the true maximum, tight; contradictions and non-DCP are named."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from convexdesign.errors import InputError
from convexdesign.problem.weights import WeightSet
from convexdesign.programs.constraints import Feasible

N = 6
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
