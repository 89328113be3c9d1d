"""As many arms as dimensions, within bounds: one number decides, whatever the coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd

P = cd.DesignProblem


@pytest.mark.parametrize("kind", ["average_variance", "c_optimal", "d_optimal", "a_optimal"])
def test_bounded_shares_are_those_of_the_conic_program(kind):
    rng = np.random.default_rng(4)
    X, c = rng.standard_normal((6, 6)), rng.standard_normal(6)
    more = {"average_variance": (np.outer(c, c) + np.eye(6),), "c_optimal": (c,)}.get(kind, ())
    problem = getattr(P, kind)(X, *more, min_weight=0.05, max_weight=np.linspace(0.12, 0.4, 6))
    design = cd.solve(problem)
    assert design.stats.method == "interior-point"
    assert design.gap <= 1e-9
    assert design.value == pytest.approx(cd.solve(problem, method="conic").value, rel=1e-5)


def test_strata_are_allocated_as_designs():
    """Both ways to state it: the closed form of the allocation, and the design with one arm a stratum."""
    rng = np.random.default_rng(2)
    N, S = rng.integers(5, 400, 60), rng.lognormal(2, 1, 60)
    allocation = cd.allocate_strata(S, N, min_weight=0.003, max_weight=0.05)
    for problem in (
        P.average_variance(np.eye(60), np.diag(N**2.0), noise_variance=S**2, min_weight=0.003, max_weight=0.05),
        P.c_optimal(np.eye(60), N, noise_variance=S**2, min_weight=0.003, max_weight=0.05),
    ):
        design = cd.solve(problem)
        assert design.status.name == "CERTIFIED"
        assert design.value == pytest.approx(allocation.value, rel=1e-9)
        np.testing.assert_allclose(design.weights, allocation.weights, rtol=1e-6)


def test_one_target_among_many_arms_within_bounds():
    rng = np.random.default_rng(0)
    X, c = rng.standard_normal((60, 4)), rng.standard_normal(4)
    for cap in (0.1, 0.5):
        problem = P.c_optimal(X, c, max_weight=cap)
        design = cd.solve(problem)
        assert (design.stats.method, design.status.name) == ("interior-point", "CERTIFIED")
        assert design.weights.max() <= cap
        assert design.value == pytest.approx(cd.solve(problem, method="conic").value, rel=1e-5)
