"""Coordinates lent by a related problem: good ones where they serve, left alone where they do not, never trusted."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.problem import canonicalise
from convexdesign.problem.responses import spread, stacked

P = cd.DesignProblem
RNG = np.random.default_rng(8)
X = RNG.standard_normal((40, 4))
NOISE = np.exp(RNG.uniform(-2.0, 2.0, 40))
GROUPS = RNG.standard_normal((12, 2, 4))

SERVED = {
    "the same": (P.g_optimal(X), P.g_optimal(X)),
    "other noise": (P.g_optimal(X), P.g_optimal(X, noise_variance=NOISE)),
    "noise in another unit": (P.g_optimal(X, noise_variance=NOISE), P.g_optimal(X, noise_variance=1e9 * NOISE)),
    "arms added": (P.d_optimal(X[:20]), P.g_optimal(X)),
    "other arms": (P.a_optimal(X), P.g_optimal(RNG.standard_normal((9, 4)))),
    "several responses": (P.d_optimal(GROUPS), P.d_optimal(GROUPS[::-1] * 3.0)),
    "one response, then several": (P.d_optimal(X), P.d_optimal(GROUPS)),
    "information held": (P.g_optimal(X), P.g_optimal(X, existing_counts=np.arange(40), n_new=20)),
    "a coordinate in another unit": (P.d_optimal(X), P.d_optimal(X * [1.0, 1.0, 8.0, 1.0])),
}
FLAT = X * [1.0, 1.0, 1.0, 0.0]
REFUSED = {
    "another dimension": (P.g_optimal(X), P.g_optimal(X[:, :3])),
    "fewer dimensions spanned": (P.d_optimal(X), P.d_optimal(FLAT)),
    "a range to begin with": (P.d_optimal(FLAT), P.d_optimal(X)),
    "a direction seen faintly": (P.d_optimal(X), P.d_optimal(FLAT + 1e-7 * X)),
    "far larger": (P.d_optimal(1e-70 * X), P.d_optimal(1e74 * X, noise_variance=1e-40)),
    "too small to be squared": (P.d_optimal(1e74 * X), P.d_optimal(1e-70 * X)),
}


def assert_canonical(form):
    """R W = I on the range, the coarse design has information I, and no leverage is far above the average."""
    r = form.rank
    np.testing.assert_allclose(form.inverse @ form.basis, np.eye(r), atol=1e-9)
    U = form.whiten_arms(form.coarse)
    held = np.zeros((r, r)) if form.prior is None else form.prior
    information = held + (stacked(U).T * spread(form.coarse_weights, U)) @ stacked(U)
    np.testing.assert_allclose(information, np.eye(r), atol=1e-9)


@pytest.mark.parametrize("name", SERVED)
def test_lent_coordinates_are_as_good_as_found_ones(name):
    before, now = SERVED[name]
    lent, found = canonicalise(now, canonicalise(before)), canonicalise(now)
    assert_canonical(lent)
    np.testing.assert_array_equal(lent.coarse, found.coarse)
    for form in (lent, found):
        leverage = np.sum(stacked(form.whiten_arms(form.coarse)) ** 2, axis=1)
        assert leverage.max() <= 4.0 * form.rank + 1e-9
    # The same variances in either: x'C x does not depend on coordinates.
    w = np.full(now.n_arms, 1.0 / now.n_arms)
    solved = [form.basis @ np.linalg.solve(form.information(w), form.basis.T) for form in (lent, found)]
    np.testing.assert_allclose(solved[0], solved[1], rtol=1e-9, atol=1e-12 * np.abs(solved[1]).max())


@pytest.mark.parametrize("name", REFUSED)
def test_coordinates_that_do_not_serve_are_not_taken(name):
    before, now = REFUSED[name]
    lent, found = canonicalise(now, canonicalise(before)), canonicalise(now)
    np.testing.assert_array_equal(lent.basis, found.basis)
    np.testing.assert_array_equal(lent.coarse_weights, found.coarse_weights)


def test_what_is_wrong_is_said_whatever_was_lent():
    lent = canonicalise(P.g_optimal(X))
    with pytest.raises(cd.InputError, match="all arms are zero"):
        canonicalise(P.d_optimal(np.zeros((5, 4))), lent)
    with pytest.raises(cd.InputError, match="all arms are zero"):
        canonicalise(P.d_optimal(np.zeros((40, 4)), prior_information=X.T @ X, n_new=3), lent)
    with pytest.raises(cd.UnidentifiableError, match="target 0"):
        canonicalise(P(FLAT, [[0.0, 0.0, 0.0, 1.0]]), lent)
    with pytest.raises(cd.InputError, match="all targets are zero"):
        canonicalise(P(X, [[0.0, 0.0, 0.0, 0.0]]), lent)


def test_a_long_chain_of_lent_coordinates_does_not_drift():
    rng = np.random.default_rng(0)
    form = canonicalise(P.g_optimal(X))
    for _ in range(500):
        form = canonicalise(P.g_optimal(X, noise_variance=NOISE * np.exp(rng.standard_normal(40))), form)
    np.testing.assert_allclose(form.inverse @ form.basis, np.eye(4), atol=1e-11)
    assert_canonical(form)


def test_weights_that_faded_in_a_chain_can_come_back():
    """Arms that were useless for a long time, as noisy as 1e4 of the others, are the only ones to see a direction."""
    rng = np.random.default_rng(1)
    arms = np.vstack([np.eye(3) + 0.1 * rng.standard_normal((3, 3)) for _ in range(4)])
    start = None
    for t in range(40):
        noise = np.full(12, 1e2)
        noise[:3] = 1e4
        noise[3 * (1 + t % 3) :][:3] = 1.0
        start = cd.solve(P.d_optimal(arms, noise_variance=noise), warm_start=start)
    arms[3:, 0] = 0.0
    for problem in (P.d_optimal(arms), P.xy_allocation(arms), P.a_optimal(arms)):
        cold, warm = cd.solve(problem), cd.solve(problem, warm_start=start)
        assert warm.status is cd.Status.CERTIFIED
        assert warm.value == pytest.approx(cold.value, rel=2.1e-6)
        assert_canonical(warm.canonical)


def test_the_same_arms_keep_their_coordinates_and_arms_changed_in_place_do_not():
    items = RNG.standard_normal((6, 4))
    form = canonicalise(P.xy_allocation(X, items, noise_variance=NOISE))
    fewer = canonicalise(P.xy_allocation(X, items[:4], noise_variance=NOISE), form)
    np.testing.assert_array_equal(fewer.basis, form.basis)
    assert_canonical(fewer)
    arms = np.asfortranarray(RNG.standard_normal((60_000, 4)))
    before = canonicalise(P.g_optimal(arms))
    arms *= np.geomspace(1.0, 40.0, len(arms))[:, None]
    after = P.g_optimal(arms)
    assert_canonical(canonicalise(after, before))


def test_a_loan_never_raises_the_rank():
    """What is measured is decided in equilibrated coordinates, however sharply others could resolve it."""
    start = None
    for e in 10.0 ** -np.arange(14.0):
        problem = P.g_optimal([[1, 1], [1, 1 + e], [1, 1 - e]])
        cold, start = cd.solve(problem), cd.solve(problem, warm_start=start)
        assert start.status is cd.Status.CERTIFIED
        assert start.canonical.rank == cold.canonical.rank
        assert start.value == pytest.approx(cold.value, rel=1e-6)
    sharp = cd.solve(P.d_optimal([[1.0, 1.0], [1.0, -1.0]], noise_variance=[1.0, 1e24]))
    with pytest.raises(cd.UnidentifiableError, match="rank 1 of 2"):
        cd.solve(P.xy_allocation([[1.0, 1.0], [1.0, np.nextafter(1.0, 2.0)]], items=np.eye(2)), warm_start=sharp)
