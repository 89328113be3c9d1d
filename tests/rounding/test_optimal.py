"""The best whole-number designs: against enumeration, and against published and certified ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from small_counts import best_by_enumeration, tiny_problem

from convexdesign.rounding import AverageVariance, MatrixTargets, Method, Minimax, Volume, prove_optimal, round_weights
from convexdesign.rounding.count_limits import limits
from convexdesign.rounding.plans import CountInequalities


@pytest.mark.parametrize("block", range(4))
def test_equals_enumeration_on_a_hundred_tiny_problems(block):
    for seed in range(25 * block, 25 * block + 25):
        U, w, n, criterion, prior, lower, upper = tiny_problem(seed)
        best = best_by_enumeration(U, n, criterion, prior, lower, upper)
        found = round_weights(
            U, w, n, criterion, method=Method.OPTIMAL, prior=prior, min_counts=lower, max_counts=upper
        )
        assert found.value == pytest.approx(best, rel=2e-6), seed
        # A false bound would be above the true optimum.
        assert found.lower_bound <= best * (1 + 1e-9), seed
        assert found.optimality_gap <= 2e-6
        assert found.total == found.counts.sum() == n
        assert np.all((found.counts >= lower) & (found.counts <= upper))


def grid_3x3():
    a, b = np.array(list(itertools.product([-1.0, 0.0, 1.0], repeat=2))).T
    return np.stack([np.ones(9), a, b, a * a, b * b, a * b], axis=1)


GRID = {
    6: (0.00548697, 30.0, 16.5),
    7: (0.00815987, 22.75, 9.8),
    8: (0.00878906, 21.0, 10.0),
    9: (0.00975461, 19.25, 7.25),
}


@pytest.mark.parametrize("n", GRID)
@pytest.mark.parametrize("method", [Method.OPTIMAL, Method.EXCHANGE])
def test_quadratic_on_the_3x3_grid(n, method):
    X = grid_3x3()
    det, trace, worst = GRID[n]
    w = np.full(9, 1 / 9)
    within = 1e-6 if method is Method.OPTIMAL else 0.005
    D = round_weights(X, w, n, Volume(np.eye(6)), method=method)
    assert (n * D.value) ** -6 >= det * (1 - within) - 5e-9
    A = round_weights(X, w, n, AverageVariance(np.eye(6)), method=method)
    assert n * A.value <= trace * (1 + within)
    G = round_weights(X, w, n, Minimax(MatrixTargets(X)), method=method)
    assert n * G.value <= worst * (1 + within)


def test_quadratic_regression_with_nine_observations_repeats_the_ends_and_the_centre():
    t = np.linspace(-1, 1, 21)
    X = np.stack([np.ones(21), t, t * t], axis=1)
    found = round_weights(X, np.full(21, 1 / 21), 9, Volume(np.eye(3)), method=Method.OPTIMAL)
    assert {i: int(c) for i, c in enumerate(found.counts) if c} == {0: 3, 10: 3, 20: 3}


def test_a_search_cut_short_reports_the_gap_it_has_proven():
    X = grid_3x3()
    start = np.array([1, 1, 1, 1, 1, 1, 1, 0, 0])
    proven = prove_optimal(X, start, limits(7, 9), AverageVariance(np.eye(6)), time_limit=0.0)
    assert proven.nodes <= 1
    assert proven.lower_bound * 7 <= 22.75
    assert proven.value * 7 >= 22.75 * (1 - 1e-12)
    assert proven.gap > 0


def test_bounds_do_not_depend_on_the_solver_being_right(monkeypatch):
    from convexdesign.rounding import optimal

    rng = np.random.default_rng(0)

    def wrong(self, lower, upper):
        k = self.highs.getNumRow() - 1 - self.m
        point = np.clip(rng.uniform(0, upper.max(), self.n), lower, upper)
        return point, rng.standard_normal(k), rng.standard_normal(self.m)

    monkeypatch.setattr(optimal._LinearProgram, "solve", wrong)
    X = grid_3x3()
    start = np.array([1, 1, 1, 1, 1, 1, 1, 0, 0])
    rows = CountInequalities(np.ones((1, 9)), np.array([7.0]), ("all of them",))
    for extra in (None, rows):
        proven = prove_optimal(X, start, limits(7, 9), AverageVariance(np.eye(6)), rows=extra, time_limit=0.5)
        assert proven.lower_bound * 7 <= 22.75 * (1 + 1e-9) <= proven.value * 7 * (1 + 2e-9)
