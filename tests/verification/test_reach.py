"""What a design measures at all: near the limits of double precision decided by exact rank, and never guessed."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.evaluation import evaluate
from convexdesign.verification.reach import Reach, exactly_unmeasured, reach

P = cd.DesignProblem
EYE = np.eye(2)


@pytest.mark.parametrize("part", [1e-3, 5e-8, 5e-9, 1e-11, 1e-13])
def test_a_target_barely_outside_is_not_measured_in_either_mode(part):
    problem = P(EYE, [[1.0, part]])
    for rigorous in (False, True):
        v = cd.verify(problem, weights=[1.0, 0.0], rigorous=rigorous)
        assert v.value == np.inf
        assert v.efficiency_interval == (0.0, 0.0)
        assert not v.is_optimal()
        assert v.is_worse_than(1e6)
        assert v.improvement().gain == np.inf
        assert v.improvement().arms == (1,)
        assert v.worst_targets()["variance"].tolist() == [np.inf]
        assert "useless" in v.summary()
        assert v.lower_bound == pytest.approx(1.0, abs=1e-2)


def test_one_outside_by_rounding_counts_as_measured_unless_numbers_are_read_exactly():
    rng = np.random.default_rng(0)
    exact = 0
    for _ in range(20):
        X = rng.standard_normal((3, 3))
        problem = P.c_optimal(X, X[0] + X[1] / 3)
        weights = [0.5, 0.5, 0.0]
        v = cd.verify(problem, weights=weights)
        assert np.isfinite(v.value)
        assert v.efficiency > 0
        read = cd.verify(problem, weights=weights, rigorous=True)
        exact += read.efficiency_interval == (0.0, 0.0)
        assert read.efficiency_interval[1] in (0.0, pytest.approx(v.efficiency_interval[1], rel=1e-6))
        if read.efficiency_interval[1] == 0.0:
            assert "read exactly, direction 0 leaves what the design measures" in read.summary()
    assert exact > 10  # the sum is rounded, so that most directions leave the plane


def test_effort_too_small_to_see_is_no_proof_of_none():
    for problem in (P.g_optimal(EYE), P.d_optimal(EYE), P.e_optimal(EYE), P.a_optimal(EYE)):
        v = cd.verify(problem, weights=[1 - 1e-30, 1e-30])
        low, high = v.efficiency_interval
        assert low <= 4e-15
        assert high >= 1e-31  # the true ones lie between 2e-30 and 2e-15
        assert "useless" not in v.summary()


def test_whole_numbers_of_any_size_are_told_apart_from_dependent_ones():
    """Designs on two arms of rank one or two exactly, with numbers whose dependence doubles cannot see."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        a = rng.integers(-9, 10, 3).astype(float)
        a[0] = a[0] or 1.0
        b = a * 2.0 ** rng.integers(-20, 20)
        dependent = rng.random() < 0.5
        if not dependent:
            b[1] += np.spacing(abs(b).max())
        arms = np.vstack([a, b, rng.standard_normal((4, 3))])
        weights = np.array([0.5, 0.5, 0, 0, 0, 0])
        problem = P(arms, arms[:2])
        canonical = cd.solve(problem).canonical
        assert exactly_unmeasured(canonical, weights) == -1
        assert exactly_unmeasured(canonical, np.array([1.0, 0, 0, 0, 0, 0])) == (-1 if dependent else 1)


def test_every_kind_says_what_is_not_measured():
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    plane = np.array([0.5, 0.5, 0.0, 0.0])
    groups = np.stack([X, X[:, ::-1]], axis=2)
    for problem, whole in (
        (P.g_optimal(X), plane),
        (P.xy_allocation(X, [[0, 0, 1], [1, 0, 1], [0, 0, 2]]), plane),
        (P.d_optimal(X), plane),
        (P.ds_optimal(X, [0, 2]), plane),
        (P.a_optimal(X), plane),
        (P.i_optimal(X, [[1, 0, 0], [0, 0, 1]]), plane),
        (P.e_optimal(X), plane),
        (P.variance_g_optimal(X[:, :2]), plane),
        (P.g_optimal(X, existing_counts=[3, 0, 0, 0], n_new=5), np.array([0.0, 1.0, 0.0, 0.0])),
        (P.d_optimal(groups[:2]), np.array([1.0, 0.0])),
    ):
        canonical = cd.solve(problem).canonical
        at = evaluate(canonical, whole)
        found, target = reach(canonical, whole, at)
        assert found is Reach.UNMEASURED
        assert exactly_unmeasured(canonical, whole) >= 0
        assert target >= 0
        everything = np.full(whole.size, 1 / whole.size)
        assert exactly_unmeasured(canonical, everything) == -1
        assert reach(canonical, everything, evaluate(canonical, everything))[0] is Reach.MEASURED
    # What is held counts as measured.
    held = P(X, [[1.0, 0, 1.0]], prior_information=np.diag([1.0, 0.0, 0.0]), n_new=1)
    assert exactly_unmeasured(cd.solve(held).canonical, np.array([0, 0, 0, 1.0])) == -1
    assert exactly_unmeasured(cd.solve(held).canonical, np.array([0, 1.0, 0, 0])) == 0


def test_budgets_are_spared_where_measurements_cost():
    dear = cd.verify(P.g_optimal(EYE, costs=[1, 10]), weights=[0.5, 0.5])
    assert "less of the budget" in dear.summary()
    assert "fewer measurements" not in dear.summary()
