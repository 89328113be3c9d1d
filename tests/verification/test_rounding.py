"""An interval that is not rigorous allows for rounding: it meets the proven one however ill-conditioned the problem is."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.problem import Criterion
from convexdesign.verification.rounding import rounding_of

P = cd.DesignProblem


def twins(seed, closeness):
    """Arms that come in pairs almost alike, with noise and information held."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 4))
    X[4:, :] = X[:4] * (1 + closeness * rng.standard_normal((4, 4)))
    X[:, 3] = X[:, 2] * (1 + closeness * rng.standard_normal(8))
    return rng, X, {"noise_variance": 10.0 ** rng.uniform(-3, 3, 8)}


@pytest.mark.parametrize("closeness", [1e-2, 1e-6, 1e-10, 1e-12])
def test_the_interval_meets_the_proven_one(closeness):
    for seed in range(3):
        rng, X, noise = twins(seed, closeness)
        w = rng.dirichlet(np.ones(8))
        for problem in (
            P.ds_optimal(X, [2, 3], **noise),
            P.c_optimal(X, X.sum(axis=0), **noise),
            P.g_optimal(X, prior_information=1e9 * np.ones((4, 4)), n_new=3),
        ):
            v, proven = cd.verify(problem, weights=w), cd.verify(problem, weights=w, rigorous=True)
            (low, high), (least, most) = v.efficiency_interval, proven.efficiency_interval
            assert low <= most * (1 + 1e-12)
            assert least <= high * (1 + 1e-12)
            # The optimum is at least that of the reference, whose exact value gave the upper end.
            if problem.criterion == Criterion.DS:
                assert v.lower_bound >= proven.proof.low - proven.proof.dimension * np.log(most) - 1e-12
            else:
                assert v.lower_bound <= proven.proof.high * most * (1 + 1e-12)


def test_nothing_is_lost_where_numbers_are_tame_and_what_is_lost_is_said():
    rng = np.random.default_rng(5)
    problem = P.g_optimal(rng.standard_normal((20, 4)), noise_variance=rng.uniform(0.5, 2, 20))
    design = cd.solve(problem)
    v = cd.verify(problem, weights=design.weights)
    assert rounding_of(design.canonical, v._evaluation) < 1e-12
    assert not v.remark
    assert v.lower_bound == pytest.approx(design.lower_bound, rel=1e-6)
    rng, X, noise = twins(0, 1e-12)
    v = cd.verify(P.c_optimal(X, X.sum(axis=0), **noise), weights=np.full(8, 1 / 8))
    assert "ill-conditioned" in v.remark
    low, high = v.efficiency_interval
    assert high - low > 1e-6


def test_bounds_are_moved_outwards():
    assert Criterion.MINIMAX.loosened(4.0, 0.25, 1) == 3.0
    assert Criterion.MINIMAX.loosened(4.0, 2.0, 1) == 0.0
    assert Criterion.E.loosened(4.0, 0.25, 1) == 5.0
    assert np.exp((Criterion.D.loosened(1.0, 0.25, 3) - 1.0) / 3) == pytest.approx(1.25)
