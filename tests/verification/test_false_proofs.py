"""No false proof: 200 designs made suboptimal by a known amount are never called optimal, and the interval holds the truth.

The true efficiencies are closed forms. With arms T e_i and T e_i / 2 (the halves are no use) weights w make A = T' diag(u) T,
u_i = w_i + w_(d+i) / 4, so that minimax, c, D and D_s over them are those of separate means, whatever the invertible T.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import convexdesign as cd

P = cd.DesignProblem
# What floating-point rounding may take from a proof that is not rigorous.
ROUNDING = 1e-9


def separate(kind, rng):
    """A problem over twice d arms, its best weights, and the efficiency of any weights (2d,)."""
    d = int(rng.integers(2, 6))
    s2 = 10.0 ** rng.uniform(-1, 1, d)
    orthogonal = np.linalg.qr(rng.standard_normal((d, d)))[0]
    T = rng.standard_normal((d, d)) * 10.0 ** rng.uniform(-6, 6, d)
    c = rng.uniform(0.2, 2, d) * rng.choice([-1, 1], d)
    s = int(rng.integers(1, d + 1))
    both, twice = (lambda X: np.vstack([X, X / 2])), np.tile(s2, 2)
    noise = {"noise_variance": twice}

    def geometric(u, best):
        return np.exp(np.mean(np.log(u) - np.log(best)))

    match kind:
        case "D":
            best = np.full(d, 1 / d)
            return P.d_optimal(both(T), **noise), best, lambda u: geometric(u, best)
        case "D_s":
            best = np.append(np.full(s, 1 / s), np.zeros(d - s))
            K = np.linalg.inv(orthogonal)[:, :s]
            return P.ds_optimal(both(orthogonal), K, **noise), best, lambda u: geometric(u[:s], best[:s])
        case "G":
            best = s2 / s2.sum()
            return P.g_optimal(both(T), **noise), best, lambda u: s2.sum() / (s2 / u).max()
        case "XY":
            best = np.full(d, 1 / d)
            return P.xy_allocation(both(T), T), best, lambda u: 2 * d / np.sort(1 / u)[-2:].sum()
        case "c":
            best = np.abs(c) * np.sqrt(s2) / (np.abs(c) @ np.sqrt(s2))
            value = (np.abs(c) @ np.sqrt(s2)) ** 2
            return P.c_optimal(both(orthogonal), c @ orthogonal, **noise), best, lambda u: value / (c**2 * s2 / u).sum()
        case "c with costs":
            costs = 10.0 ** rng.uniform(-1, 1, d)
            size = np.abs(c) * np.sqrt(s2 * costs)
            problem = P.c_optimal(both(orthogonal), c @ orthogonal, costs=np.tile(costs, 2), **noise)
            return problem, size / size.sum(), lambda u: size.sum() ** 2 / (size**2 / u).sum()
        case "A":
            size = np.sqrt(s2)
            return (
                P.a_optimal(both(orthogonal), **noise),
                size / size.sum(),
                lambda u: size.sum() ** 2 / (s2 / u).sum(),
            )
        case "E":
            return P.e_optimal(both(orthogonal), **noise), s2 / s2.sum(), lambda u: (u / s2).min() * s2.sum()
        case "average with information held":
            # sum_i c_i^2 / (a_i + u_i): effort flows to the largest |c_i| / level - a_i.
            a = rng.uniform(0, 0.5, d)
            held = {"prior_information": orthogonal.T @ (a[:, None] * orthogonal), "n_new": 1}
            order = np.argsort(-np.abs(c) / np.maximum(a, 1e-9))
            for k in range(1, d + 1):
                level = np.abs(c[order[:k]]).sum() / (1 + a[order[:k]].sum())
                if k == d or np.abs(c[order[k]]) / level <= a[order[k]]:
                    break
            best = np.maximum(np.abs(c) / level - a, 0)
            M = orthogonal.T @ (c[:, None] ** 2 * orthogonal)
            value = (c**2 / (a + best)).sum()
            return P.average_variance(both(orthogonal), M, **held), best, lambda u: value / (c**2 / (a + u)).sum()
    raise AssertionError(kind)


KINDS = ["D", "D_s", "G", "XY", "c", "c with costs", "A", "E", "average with information held"]


def spoilt(kind, seed):
    """A problem, weights worse than the best by a known amount between 3e-6 and 1/2, and their true efficiency."""
    rng = np.random.default_rng((KINDS.index(kind), seed))
    problem, best, efficiency = separate(kind, rng)
    d = best.size
    start, other = np.append(best, np.zeros(d)), rng.dirichlet(np.ones(2 * d))
    wanted = 10.0 ** rng.uniform(np.log10(3e-6), np.log10(0.5))

    def at(share):
        w = (1 - share) * start + share * other
        return w, efficiency(w[:d] + w[d:] / 4)

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - at(middle)[1] < wanted else (low, middle)
    w, true = at(high)
    return problem, w / w.sum(), true


def judged(problem, weights, true, rounding, **how):
    v = cd.verify(problem, weights=weights, **how)
    low, high = v.efficiency_interval
    assert 1 - true > 2e-6
    assert low <= true * (1 + rounding)
    assert true <= high * (1 + rounding)
    assert not v.is_optimal()
    assert not v.is_optimal(0.99 * (1 / true - 1))
    # And it is not only not proven: the contrary is.
    assert v.is_worse_than(0.9 * (1 / true - 1))
    return v


@pytest.mark.parametrize("kind", KINDS)
def test_a_spoilt_design_is_never_called_optimal(kind):
    """180 in all."""
    for seed in range(20):
        problem, w, true = spoilt(kind, seed)
        v = judged(problem, w, true, ROUNDING)
        assert v.improvement().gain > 0


@pytest.mark.parametrize("seed", range(20))
def test_polynomials_with_the_determinant_in_fractions(seed):
    """Quadratic regression on 21 points: det A* = 4/27, and det A of any weights by rational arithmetic."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-1, 1, 21)
    w = np.zeros(21)
    w[[0, 10, 20]] = 1 / 3
    share = 10.0 ** rng.uniform(-5, -1)
    w = (1 - share) * w + share * rng.dirichlet(np.ones(21))
    w /= w.sum()
    X = np.vander(x, 3)
    exact = [[Fraction(float(e)) for e in row] for row in X]
    total = sum((Fraction(float(e)) for e in w), Fraction(0))
    weights = [Fraction(float(e)) / total for e in w]
    A = [[sum(p * r[i] * r[j] for p, r in zip(weights, exact)) for j in range(3)] for i in range(3)]
    det = (
        A[0][0] * (A[1][1] * A[2][2] - A[1][2] * A[2][1])
        - A[0][1] * (A[1][0] * A[2][2] - A[1][2] * A[2][0])
        + A[0][2] * (A[1][0] * A[2][1] - A[1][1] * A[2][0])
    )
    judged(P.d_optimal(X), w, float(det / Fraction(4, 27)) ** (1 / 3), ROUNDING)


@pytest.mark.parametrize("kind", ["D", "G", "XY", "c", "A", "E"])
def test_rigorous_intervals_hold_the_truth_to_the_last_digits(kind):
    for seed in range(3):
        problem, w, true = spoilt(kind, seed)
        judged(problem, w, true, 1e-12, rigorous=True)
