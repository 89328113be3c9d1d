"""Newton's method on the optimality conditions: they hold to rounding afterwards, or nothing is returned."""

from __future__ import annotations

import numpy as np
import pytest
from duality import bound, value, vectors_of

from convexdesign.programs.backends import run
from convexdesign.programs.polish import polish
from convexdesign.programs.socp import socp

NOTHING_HELD = np.zeros((0, 4))
HELD = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]])


def gaussian(seed, n, m):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)), rng.standard_normal((m, 4)) / 4


@pytest.mark.parametrize("held", [NOTHING_HELD, HELD], ids=["no prior", "prior"])
@pytest.mark.parametrize(("backend", "accuracy"), [("clarabel", 1e-8), ("scs", 1e-5)])
@pytest.mark.parametrize("seed", range(3))
def test_optimality_conditions_hold_afterwards(seed, backend, accuracy, held):
    arms, targets = gaussian(seed, 20, 9)
    prior = held.T @ held if held.size else None
    program = socp(arms, targets, prior)
    run(program, backend, accuracy)
    weights, multipliers = polish(arms, targets, held, program.weights(), program.multipliers())
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert multipliers.sum() == pytest.approx(1.0, abs=1e-14)
    assert np.all(weights >= 0)
    assert np.all(multipliers >= 0)
    C = np.linalg.inv(arms.T @ np.diag(weights) @ arms + held.T @ held)
    variances = np.array([t @ C @ t for t in targets])
    prices = np.array([sum(m * (t @ C @ u) ** 2 for m, t in zip(multipliers, targets)) for u in arms])
    np.testing.assert_allclose(variances[multipliers > 0], variances.max(), rtol=1e-10)
    np.testing.assert_allclose(prices[weights > 0], prices.max(), rtol=1e-10)
    vectors = vectors_of(arms, targets, weights, multipliers, prior)
    assert bound(arms, targets, vectors, prior) == pytest.approx(value(arms, targets, weights, prior), rel=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_a_start_far_from_the_optimum_is_never_made_worse(seed):
    arms, targets = gaussian(seed, 20, 9)
    rng = np.random.default_rng([seed, 1])
    weights, multipliers = rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(9))
    found = polish(arms, targets, NOTHING_HELD, weights, multipliers)

    def gap(w, mu):
        return value(arms, targets, w) / bound(arms, targets, vectors_of(arms, targets, w, mu)) - 1

    if found is not None:
        assert gap(*found) < gap(weights, multipliers)


def test_singular_information_is_refused():
    arms, targets = gaussian(0, 20, 9)
    assert polish(arms, targets, NOTHING_HELD, np.eye(20)[0], np.full(9, 1 / 9)) is None
