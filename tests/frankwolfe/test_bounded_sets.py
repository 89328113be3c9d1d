"""Working sets within bounds on the weights of many arms: the same optimum as all arms at once, certified anew."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.criteria.average import AverageForm
from convexdesign.criteria.log_det import InterestForm, LogDetForm
from convexdesign.frankwolfe.bounded import within_bounds
from convexdesign.frankwolfe.bounded_sets import within_bounds_on_sets


@pytest.mark.parametrize("seed", range(9))
def test_the_optimum_is_that_of_all_arms_at_once(seed):
    rng = np.random.default_rng(seed)
    n, r = 1500, 3
    arms, contrast_matrix = rng.standard_normal((n, r)), rng.standard_normal((r, 2))
    kind = seed % 3
    form = (LogDetForm(), AverageForm(), InterestForm())[kind]
    lower = np.full(n, 0.1 / n) if seed % 2 else np.zeros(n)
    upper = rng.uniform(5, 50, n) / n
    prior = 0.1 * np.eye(r) if seed >= 6 else None
    few = within_bounds_on_sets(arms, form, contrast_matrix, lower, upper, 1e-9, prior=prior)
    every = within_bounds(arms, form, contrast_matrix, lower, upper, 1e-9, prior=prior)
    assert few.gap <= 1e-9
    assert np.all((lower <= few.weights) & (few.weights <= upper))
    assert few.weights.sum() == pytest.approx(1.0, abs=1e-12)

    def value(w):
        A = (arms * w[:, None]).T @ arms + (0.0 if prior is None else prior)
        C = np.linalg.inv(A)
        if kind == 1:
            return np.trace(contrast_matrix.T @ C @ contrast_matrix)
        return np.linalg.slogdet(C if kind == 0 else contrast_matrix.T @ C @ contrast_matrix)[1]

    assert value(few.weights) == pytest.approx(value(every.weights), rel=1e-8, abs=1e-8)


def test_capped_d_over_many_arms_is_certified_and_uses_whole_caps():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 6))
    design = cd.solve(cd.DesignProblem.d_optimal(X, max_weight=1 / 300))
    assert design.status.name == "CERTIFIED"
    assert design.weights.max() <= 1 / 300
    assert design.stats.method == "interior-point"
    # Nearly all arms in use are at their cap: that is what a cap of so many arms means.
    assert 300 <= design.support.size <= 300 + 21
