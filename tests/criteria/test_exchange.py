"""Every criterion: degree of homogeneity, cuts that hold everywhere and touch at their point, swaps that are exact."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.criteria.exchange import inverse_factor
from convexdesign.rounding import AverageVariance, MatrixTargets, Minimax, SphereTargets, Volume

R = 4


def information(rng, n=12):
    U = rng.standard_normal((n, R))
    return U.T @ U, U


def criteria(rng):
    B = rng.standard_normal((R, R))
    return {
        "minimax": Minimax(MatrixTargets(rng.standard_normal((9, R)))),
        "average": AverageVariance(B @ B.T),
        "D": Volume(np.eye(R)),
        "Ds": Volume(np.eye(R)[:, :2]),
        "E": Minimax(SphereTargets(np.eye(R))),
    }


NAMES = ["minimax", "average", "D", "Ds", "E"]


def test_values_are_the_textbook_ones():
    rng = np.random.default_rng(1)
    M, _ = information(rng)
    found = criteria(rng)
    C = np.linalg.inv(M)
    T = found["minimax"].targets.rows
    assert found["minimax"].value(M) == pytest.approx(max(t @ C @ t for t in T))
    assert found["average"].value(M) == pytest.approx(np.trace(C @ found["average"].Q))
    assert found["D"].value(M) == pytest.approx(np.linalg.det(M) ** (-1 / R))
    assert found["Ds"].value(M) == pytest.approx(np.linalg.det(C[:2, :2]) ** 0.5)
    assert found["E"].value(M) == pytest.approx(1 / np.linalg.eigvalsh(M)[0])


@pytest.mark.parametrize("name", NAMES)
def test_homogeneous_of_degree_minus_one_and_infinite_when_singular(name):
    rng = np.random.default_rng(2)
    M, U = information(rng)
    criterion = criteria(rng)[name]
    assert criterion.value(7.0 * M) == pytest.approx(criterion.value(M) / 7.0)
    assert criterion.value(U[:2].T @ U[:2]) == np.inf


@pytest.mark.parametrize("name", NAMES)
def test_cuts_bound_the_reciprocal_everywhere_and_touch_at_their_point(name):
    rng = np.random.default_rng(3)
    M, _ = information(rng)
    criterion = criteria(rng)[name]
    G = criterion.cuts(inverse_factor(M), 5)
    assert np.trace(G[0] @ M) == pytest.approx(1 / criterion.value(M))
    for _ in range(50):
        other, _ = information(rng, int(rng.integers(R, 20)))
        assert np.all(np.einsum("krs,rs->k", G, other) >= (1 - 1e-10) / criterion.value(other))


@pytest.mark.parametrize("name", NAMES)
def test_swaps_equal_the_criterion_of_the_swapped_information(name):
    rng = np.random.default_rng(4)
    M, U = information(rng)
    criterion = criteria(rng)[name]
    into = rng.standard_normal((6, R))
    phi = criterion.swaps(inverse_factor(M), U, into)
    for a, o in enumerate(U):
        for b, i in enumerate(into):
            direct = criterion.value(M - np.outer(o, o) + np.outer(i, i))
            # On the sphere the swap looks at the eigenvectors before it only, hence from below.
            if name == "E":
                assert phi[a, b] <= direct * (1 + 1e-8)
            else:
                assert phi[a, b] == pytest.approx(direct, rel=1e-7)


def test_a_swap_that_leaves_the_information_singular_is_infinite():
    U = np.eye(2)
    for criterion in (Minimax(MatrixTargets(U)), AverageVariance(U), Volume(U)):
        phi = criterion.swaps(np.eye(2), U, U)
        assert np.isinf(phi[0, 1])
        assert np.isinf(phi[1, 0])
        assert phi[0, 0] == pytest.approx(criterion.value(np.eye(2)))


def test_a_restriction_is_exact_where_it_says_so():
    rng = np.random.default_rng(5)
    M, _ = information(rng)
    full = Minimax(MatrixTargets(rng.standard_normal((400, R))))
    local = full.restricted(inverse_factor(M), 40)
    assert local.targets.rows.shape == (40, R)
    settled = 0
    for scale in np.geomspace(1e-3, 10, 200):
        U = rng.standard_normal((3, R))
        other = M + scale * U.T @ U
        assert local.value(other) <= full.value(other) * (1 + 1e-12)
        if local.settles(other):
            settled += 1
            assert local.value(other) == pytest.approx(full.value(other), rel=1e-12)
    assert settled >= 20


@pytest.mark.parametrize("name", ["minimax", "average", "Ds"])
def test_projection_agrees_on_the_range_and_refuses_what_lies_outside(name):
    rng = np.random.default_rng(6)
    Q = np.eye(R)[:, :2]
    inside = {
        "minimax": Minimax(MatrixTargets(rng.standard_normal((5, 2)) @ Q.T)),
        "average": AverageVariance(Q @ np.diag([1.0, 2.0]) @ Q.T),
        "Ds": Volume(Q[:, :1]),
    }[name]
    B = rng.standard_normal((3, 2))
    M = B.T @ B
    beside = np.zeros((R, R))
    beside[:2, :2] = M
    beside[2:, 2:] = np.eye(2)
    assert inside.projected(Q).value(M) == pytest.approx(inside.value(beside))
    assert criteria(rng)[name].projected(np.eye(R)[:, 1:3]) is None


def test_least_eigenvalues_of_badly_scaled_arms_are_rounded_on_the_range_that_is_left():
    """Two of three dimensions are left up to rounding: whole numbers come out all the same, with a proven efficiency."""
    arms = np.random.default_rng(0).standard_normal((6, 3))
    arms[0, 0] = 1e8
    design = cd.solve(cd.DesignProblem.e_optimal(arms))
    plan = design.round(20)
    information = (arms.T * plan.counts) @ arms
    assert plan.counts.sum() == 20
    assert 0 < plan.efficiency <= np.linalg.eigvalsh(information)[0] / (20 * design.value) * (1 + 1e-6)
