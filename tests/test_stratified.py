"""Allocation to strata: Neyman's closed form, all whole numbers tried, the general solver, and very many strata."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import convexdesign as cd


def test_without_bounds_shares_are_neymans():
    rng = np.random.default_rng(0)
    sd, sizes = rng.lognormal(0, 1, 30), rng.integers(2, 500, 30)
    found = cd.allocate_strata(sd, sizes)
    a = sd * sizes
    assert found.weights == pytest.approx(a / a.sum(), rel=1e-12)
    assert found.value == pytest.approx(a.sum() ** 2, rel=1e-12)
    assert found.gap <= 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_shares_with_bounds_are_those_of_the_general_solver(seed):
    rng = np.random.default_rng(seed)
    a = rng.lognormal(0, 1.2, 12)
    lower, upper = rng.uniform(0, 0.05, 12), rng.uniform(0.1, 0.25, 12)
    found = cd.allocate_strata(a, min_weight=lower, max_weight=upper)
    design = cd.solve(cd.DesignProblem.average_variance(np.eye(12), np.diag(a**2), min_weight=lower, max_weight=upper))
    assert found.gap <= 1e-12
    assert found.value == pytest.approx(design.value, rel=1e-6)
    assert found.bound <= design.value * (1 + 1e-9)
    assert np.all((found.weights >= lower) & (found.weights <= upper))


@pytest.mark.parametrize("seed", range(8))
def test_whole_numbers_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    a = rng.lognormal(0, 1, 4)
    least, most, n = rng.integers(0, 3, 4), rng.integers(4, 9, 4), 13
    found = cd.allocate_strata(a, n=n, min_counts=least, max_counts=most)
    assert found.counts.sum() == n
    every = [
        c
        for c in itertools.product(*(range(max(lo, 1), hi + 1) for lo, hi in zip(least, most, strict=True)))
        if sum(c) == n
    ]
    assert found.variance == pytest.approx(min((a**2 / np.array(c)).sum() for c in every), rel=1e-12)
    assert np.all((found.counts >= least) & (found.counts <= most))


def test_a_hundred_thousand_strata_with_minima_and_caps():
    rng = np.random.default_rng(1)
    H = 100_000
    sizes, sd = np.round(rng.lognormal(4, 1.2, H)).clip(2), rng.lognormal(2, 1, H)
    n = int(0.1 * sizes.sum())
    found = cd.allocate_strata(sd, sizes, n, min_counts=2, max_counts=sizes)
    assert found.gap <= 1e-10
    assert found.counts.sum() == n
    assert np.all((found.counts >= 2) & (found.counts <= sizes))
    # Whole numbers cost next to nothing, and no exchange of one unit helps.
    a2 = (sizes * sd) ** 2
    gain = np.where(found.counts < sizes, a2 / (found.counts * (found.counts + 1.0)), 0.0)
    loss = np.where(found.counts > 2, a2 / (found.counts * np.maximum(found.counts - 1.0, 1.0)), np.inf)
    assert gain.max() <= loss.min() * (1 + 1e-12)


def test_refusals_name_stratum_or_sums():
    for options, words in (
        ({"min_weight": 0.6}, "minima add up to 1.2"),
        ({"max_weight": 0.4}, "caps add up to 0.8"),
        ({"min_weight": [0.5, 0], "max_weight": [0.3, 1]}, "stratum 0 has a minimum"),
        ({"max_counts": 3}, "need n"),
        ({"n": 1}, "add up to 2"),
    ):
        with pytest.raises(cd.InputError, match=words):
            cd.allocate_strata([1.0, 2.0], **options)
