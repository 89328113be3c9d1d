"""Weights within their rules to the last bit, near weights that are within them up to rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import convexdesign as cd
from convexdesign.problem.weights import WeightSet
from convexdesign.verification.allowed import exactly_allowed, is_exactly_allowed


def keeps(W, w):
    """Bounds, G w <= h and the sum, in fractions."""
    assert sum(w) == 1
    n = len(w)
    lower = np.zeros(n) if W.lower is None else W.lower
    upper = np.ones(n) if W.upper is None else W.upper
    assert all(Fraction(a) <= x <= Fraction(b) for x, a, b in zip(w, lower.tolist(), upper.tolist()))
    if W.G is not None:
        for g, h in zip(W.G.tolist(), W.h.tolist()):
            assert sum(Fraction(a) * x for a, x in zip(g, w)) <= Fraction(h)
    return True


@pytest.mark.parametrize("seed", range(60))
def test_corners_of_bounds_and_inequalities_are_repaired(seed):
    """Corners found by a linear program, with noise of 1e-10: the repair moves them by little more, and keeps every rule."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 15))
    lower = rng.uniform(0, 0.9 / n, n) if rng.random() < 0.5 else None
    upper = rng.uniform(1.2 / n, 1, n) if rng.random() < 0.5 else None
    inside = WeightSet(lower, upper).projected(rng.dirichlet(np.ones(n)))
    G = rng.standard_normal((int(rng.integers(1, 3)), n)) * 10.0 ** rng.integers(-9, 9)
    h = G @ inside + 0.01 * np.abs(G).max(axis=1) * (seed % 2)
    if seed % 5 == 0:  # one row an equation
        G, h = np.vstack([G, -G[:1]]), np.append(h, -h[:1])
    W = WeightSet(lower, upper, G, h)
    size = np.abs(G).max(axis=1)
    bounds = list(zip(np.zeros(n) if lower is None else lower, np.ones(n) if upper is None else upper))
    corner = linprog(
        rng.standard_normal(n), A_ub=G / size[:, None], b_ub=h / size, A_eq=np.ones((1, n)), b_eq=[1.0], bounds=bounds
    )
    assert corner.status == 0
    w = np.maximum(corner.x + 1e-10 * rng.standard_normal(n) * (corner.x > 0), 0.0)
    found = exactly_allowed(W, w)
    assert found is not None
    assert keeps(W, found)
    assert max(abs(float(a) - b) for a, b in zip(found, w)) < 1e-8


def test_sums_that_miss_one_by_rounding_are_made_one():
    for n in (3, 7, 10):
        w = np.full(n, 1 / n)
        assert sum(exactly_allowed(WeightSet(), w)) == 1
        capped = exactly_allowed(WeightSet(upper=np.full(n, np.nextafter(1 / n, 1))), w)
        assert capped is not None
        assert keeps(WeightSet(upper=np.full(n, np.nextafter(1 / n, 1))), capped)
    # Three times the double 1/3 is less than one: no weights keep that cap exactly.
    assert exactly_allowed(WeightSet(upper=np.full(3, 1 / 3)), np.full(3, 1 / 3)) is None


def test_what_is_broken_is_seen():
    half = Fraction(1, 2)
    assert is_exactly_allowed(WeightSet(), [half, half])
    assert not is_exactly_allowed(WeightSet(), [half, half + Fraction(1, 2**80)])
    assert not is_exactly_allowed(WeightSet(), [half + 1, -half])
    assert not is_exactly_allowed(WeightSet(upper=np.array([np.nextafter(0.5, 0), 1.0])), [half, half])
    assert not is_exactly_allowed(WeightSet(lower=np.array([np.nextafter(0.5, 1), 0.0])), [half, half])
    G, h = np.array([[1.0, 3.0]]), np.array([np.nextafter(2.0, 0)])
    assert not is_exactly_allowed(WeightSet(G=G, h=h), [half, half])
    assert is_exactly_allowed(WeightSet(G=G, h=np.array([2.0])), [half, half])
    assert exactly_allowed(WeightSet(constraints=lambda w: [w[0] <= 0.5]), np.array([half, half], dtype=float)) is None


def test_weights_outside_the_rules_are_at_most_as_good_as_one_and_not_allowed():
    problem = cd.DesignProblem.g_optimal(np.eye(2), noise_variance=[1.0, 9.0], max_weight=0.5)
    for rigorous in (False, True):
        v = cd.verify(problem, weights=[0.1, 0.9], rigorous=rigorous)  # value 10; 18 is the best that is allowed
        assert v.value == pytest.approx(10)
        assert v.lower_bound == pytest.approx(18, rel=1e-6)
        assert 0 < v.efficiency_interval[0] <= v.efficiency_interval[1] == 1.0
        assert not v.is_allowed
        assert not v.is_optimal(1e9)
        assert "NOT allowed" in v.summary()
