"""Whole-number designs of arms with several responses: guarantees, re-evaluation, and the best by enumeration."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.criteria.exchange import inverse_factor
from convexdesign.rounding import AverageVariance, MatrixTargets, Minimax, Volume, regret, regret_guarantee, sparsify
from convexdesign.rounding.count_limits import limits

P = cd.DesignProblem
RNG = np.random.default_rng(23)
N, D, R = 6, 4, 2
X = RNG.standard_normal((N, D, R))
ROOT = RNG.standard_normal((N, R, R))
S = ROOT @ ROOT.transpose(0, 2, 1) + 0.2 * np.eye(R)
Z = RNG.standard_normal((5, D))
MAKERS = {
    "g": P.g_optimal,
    "xy": lambda arms, **common: P.xy_allocation(arms, Z, **common),
    "d": P.d_optimal,
    "ds": lambda arms, **common: P.ds_optimal(arms, [1, 2], **common),
    "a": P.a_optimal,
    "e": P.e_optimal,
}
DESIGNS = {name: cd.solve(make(X, noise_variance=S)) for name, make in MAKERS.items()}
each = pytest.mark.parametrize("name", MAKERS)


def information(counts):
    return sum(c * x @ np.linalg.inv(s) @ x.T for c, x, s in zip(counts, X, S))


@each
@pytest.mark.parametrize("method", ["auto", "ceil", "apportion", "regret", "exchange", "optimal"])
def test_counts_are_worth_what_is_said(name, method):
    design = DESIGNS[name]
    exact = design.round(15, method=method)
    assert exact.total == 15 if method != "ceil" else 15 <= exact.total <= 15 + design.support.size
    v = cd.verify(design.problem, counts=exact.counts)
    assert exact.value == pytest.approx(v.value, rel=1e-8, abs=1e-9)
    assert exact.efficiency == pytest.approx(v.efficiency, rel=1e-5)
    if name == "g":
        own = np.einsum("idr,de,ier->ir", X, np.linalg.inv(information(exact.counts)), X)
        assert exact.max_variance == pytest.approx(own.max())
    if method == "ceil" and name in ("g", "xy"):
        assert exact.max_variance <= design.value / 15 * (1 + 1e-9)


@each
def test_the_best_counts_by_enumeration(name):
    """All ways to share five pulls among six arms; auto and optimal against the best of them."""
    design = DESIGNS[name]
    ways = np.array([np.bincount(way, minlength=N) for way in combinations_with_replacement(range(N), 5)])
    sign = -1.0 if design.problem.criterion.maximised else 1.0
    values = sign * np.array([worth(design, way) for way in ways])
    optimal = design.round(5, method="optimal")
    assert optimal.optimality_gap <= 1e-5
    assert sign * worth(design, optimal.counts) == pytest.approx(np.nanmin(values), rel=1e-6)
    assert sign * worth(design, design.round(5).counts) <= np.nanmin(values) + 0.1 * abs(np.nanmin(values))


def worth(design, counts):
    """The criterion of whole numbers, nan where they measure too little."""
    A = information(counts)
    if np.linalg.matrix_rank(A) < D:
        return np.nan
    C = np.linalg.inv(A)
    match design.problem.criterion.name:
        case "D":
            return np.linalg.slogdet(A)[1]
        case "DS":
            return -np.linalg.slogdet(C[1:3, 1:3])[1]
        case "E":
            return np.linalg.eigvalsh(A)[0]
        case "AVERAGE":
            return np.trace(C)
    m = design.problem.targets.m
    every = design.problem.targets.all() if design.problem.kind == "xy-allocation" else np.arange(m)
    V = design.problem.targets.take(every)
    return np.einsum("ij,jk,ik->i", V, C, V).max()


@each
def test_few_pulls_suffice_where_arms_see_much(name):
    """Two arms of two responses span four dimensions; one does not."""
    exact = DESIGNS[name].round(2)
    assert np.isfinite(exact.value)
    with pytest.raises(cd.InputError, match=r"n = 1 pulls cannot estimate all .*least n that works is 2"):
        DESIGNS[name].round(1)


def test_limits_and_costs():
    design = DESIGNS["g"]
    exact = design.round(20, min_counts=1, max_counts=6)
    assert exact.counts.min() >= 1
    assert exact.counts.max() <= 6
    priced = cd.solve(P.d_optimal(X, noise_variance=S, costs=[1.0, 2, 3, 1, 2, 3]))
    plan = priced.round(30)
    assert plan.efficiency > 0.9
    capped = cd.solve(P.a_optimal(X, noise_variance=S, max_weight=0.3)).round(20)
    assert capped.counts.max() <= 6


@pytest.mark.parametrize("criterion", ["minimax", "average", "volume", "part"])
def test_swaps_are_the_criterion_after_them(criterion):
    rng = np.random.default_rng(2)
    arms = rng.standard_normal((8, 3, 5))
    made = {
        "minimax": Minimax(MatrixTargets(rng.standard_normal((9, 5)))),
        "average": AverageVariance(np.diag([1.0, 2, 0, 1, 0.5])),
        "volume": Volume(np.eye(5)),
        "part": Volume(np.eye(5)[:, :2]),
    }[criterion]
    each_information = np.einsum("nlr,nls->nrs", arms, arms)
    counts = np.array([2, 1, 0, 1, 0, 3, 0, 1])
    M = np.einsum("n,nrs->rs", counts, each_information)
    F = inverse_factor(M)
    out, into = np.flatnonzero(counts), np.arange(8)
    swaps = made.swaps(F, arms[out], arms[into])
    for a, i in enumerate(out):
        for b, j in enumerate(into):
            assert swaps[a, b] == pytest.approx(made.value(M - each_information[i] + each_information[j]), rel=1e-8)


def test_a_swap_that_leaves_too_little_is_infinite():
    arms = np.array([np.eye(4)[:2], np.eye(4)[2:], np.eye(4)[:2] * 2])
    F = inverse_factor(np.eye(4))
    swaps = Volume(np.eye(4)).swaps(F, arms[:2], arms)
    assert np.isinf(swaps[1, [0, 2]]).all()
    assert np.isfinite(swaps[0]).tolist() == [True, False, True]


@pytest.mark.parametrize("seed", range(5))
def test_sparsify_keeps_the_information(seed):
    rng = np.random.default_rng(seed)
    arms, w = rng.standard_normal((60, 2, 3)), rng.dirichlet(np.ones(60))
    fewer = sparsify(arms, w)
    assert np.count_nonzero(fewer) <= 7
    assert fewer.sum() == pytest.approx(1)
    A, B = (np.einsum("n,nlr,nls->rs", v, arms, arms) for v in (w, fewer))
    np.testing.assert_allclose(A, B, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_regret_keeps_its_promise(seed):
    """M(n) >= guarantee N A(w) in the order of matrices: the proof needs no rank one."""
    rng = np.random.default_rng(seed)
    arms, w = rng.standard_normal((30, 2, 4)), rng.dirichlet(np.ones(30))
    for total in (12, 40, 200):
        counts = regret(arms, w, limits(total, 30))
        assert counts.sum() == total
        A, M = (np.einsum("n,nlr,nls->rs", v, arms, arms) for v in (w, counts))
        least = np.linalg.eigvals(np.linalg.solve(A, M)).real.min()
        assert least >= regret_guarantee(4, total) * total - 1e-9
