"""Rigorous verification: enclosures of exactly computed values, closed forms, and never a false proof."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction

import numpy as np
import pytest

import convexdesign as cd

P = cd.DesignProblem
RNG = np.random.default_rng(0)
X = RNG.standard_normal((9, 3))
S2 = RNG.uniform(0.5, 3.0, 9)
RNG_PHI = np.random.default_rng(7)
THETA = np.array([1.0, 0.3, -0.2])


def inverse(A):
    """Gauss-Jordan in fractions."""
    d = len(A)
    M = [[*row, *(Fraction(int(i == j)) for j in range(d))] for i, row in enumerate(A)]
    for k in range(d):
        pivot = next(i for i in range(k, d) if M[i][k] != 0)
        M[k], M[pivot] = M[pivot], M[k]
        M[k] = [x / M[k][k] for x in M[k]]
        for i in range(d):
            if i != k:
                M[i] = [x - M[i][k] * y for x, y in zip(M[i], M[k])]
    return [row[d:] for row in M]


def fractions(rows):
    return [[Fraction(float(v)) for v in row] for row in np.atleast_2d(rows)]


def exact_value(arms, variances, weights, targets, held=None):
    """max_j v_j'A^-1 v_j in fractions; weights divided by their exact sum, targets already exact."""
    xs, total = fractions(arms), sum(Fraction(float(w)) for w in weights)
    d = len(xs[0])
    A = [[Fraction(0)] * d for _ in range(d)] if held is None else held
    for x, s, w in zip(xs, variances, weights):
        effort = Fraction(float(w)) / Fraction(float(s)) / total
        A = [[A[a][b] + effort * x[a] * x[b] for b in range(d)] for a in range(d)]
    C = inverse(A)
    return max(sum(v[a] * C[a][b] * v[b] for a in range(d) for b in range(d)) for v in targets)


def minus(u, v):
    return [a - b for a, b in zip(u, v)]


def dot(u, v):
    return sum(a * b for a, b in zip(u, v))


def oracle_targets():
    xs, theta = fractions(X), fractions(THETA)[0]
    star = max(xs, key=lambda x: dot(x, theta))
    return [[a / dot(minus(star, z), theta) for a in minus(star, z)] for z in xs if z != star]


def level_targets(threshold):
    theta = fractions(THETA)[0]
    return [[a / (dot(z, theta) - Fraction(threshold)) for a in z] for z in fractions(X)]


def phi_exact(x):
    return [x[a] * x[b] * (1 if a == b else 2) for a in range(len(x)) for b in range(a, len(x))]


CASES = {
    "G": (P.g_optimal(X, noise_variance=S2), lambda: fractions(X)),
    "XY": (
        P.xy_allocation(X, noise_variance=S2),
        lambda: [minus(a, b) for a, b in itertools.combinations(fractions(X), 2)],
    ),
    "oracle": (P.best_arm_oracle(X, theta=THETA, noise_variance=S2), oracle_targets),
    "level set": (P.level_set_oracle(X, theta=THETA, threshold=0.1, noise_variance=S2), lambda: level_targets(0.1)),
    "given": (P(X, X[:4] * 1e5, noise_variance=S2), lambda: fractions(X[:4] * 1e5)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("optimal", [True, False])
def test_the_criterion_is_enclosed_and_the_optimum_proven(name, optimal):
    problem, targets = CASES[name]
    design = cd.solve(problem, tol=1e-9)
    # Sums that are not one are divided out exactly.
    weights = design.weights * (1 + 3e-7) if optimal else np.full(9, 1 / 9)
    v = cd.verify(problem, weights, rigorous=True)
    exact = exact_value(X, S2, weights, targets())
    assert Fraction(v.proof.low) <= exact <= Fraction(v.proof.high)
    assert v.proof.high / v.proof.low - 1 < 1e-13
    low, high = v.efficiency_interval
    assert high - low < 1e-9
    if optimal:
        assert v.efficiency >= 1 - 1e-8


def test_information_held_enters_exactly():
    counts = np.array([3, 0, 1, 4, 0, 0, 2, 1, 0])
    problem = P.g_optimal(X, noise_variance=S2, existing_counts=counts, n_new=7)
    held = [[Fraction(0)] * 3 for _ in range(3)]
    for x, s, c in zip(fractions(X), S2, counts):
        for a, b in itertools.product(range(3), repeat=2):
            held[a][b] += int(c) * x[a] * x[b] / Fraction(float(s)) / 7
    weights = np.full(9, 1 / 9)
    v = cd.verify(problem, weights, rigorous=True)
    exact = exact_value(X, S2, weights, fractions(X), held)
    assert Fraction(v.proof.low) <= exact <= Fraction(v.proof.high)
    assert v.efficiency_interval[1] - v.efficiency_interval[0] < 1e-9


def test_phi_is_taken_from_the_arms_as_given():
    X = RNG_PHI.standard_normal((9, 3)) @ np.array([[1.0, 1.0, 1.0], [0.0, 1e-2, 1.0], [0.0, 0.0, 1e-2]])
    problem = P.variance_g_optimal(X)
    weights = np.full(9, 1 / 9)
    v = cd.verify(problem, weights, rigorous=True)
    lifted = [phi_exact(x) for x in fractions(X)]
    d = 6
    A = [[sum(f[a] * f[b] for f in lifted) / 9 for b in range(d)] for a in range(d)]
    C = inverse(A)
    exact = max(sum(f[a] * C[a][b] * f[b] for a in range(d) for b in range(d)) for f in lifted)
    assert Fraction(v.proof.low) <= exact <= Fraction(v.proof.high)
    assert v.proof.bound == pytest.approx(6.0)


def closed_forms():
    """Problems, optimal weights, a line of worse weights, and the exact efficiency along it."""
    s = np.array([1.0, 4.0, 0.25, 9.0])

    def basis_with_noise(w):  # g on a basis: value max s_i/w_i, optimum sum s_i
        return sum(map(Fraction, s)) / max(Fraction(float(v)) / (Fraction(float(p)) / total(w)) for v, p in zip(s, w))

    def simplex_xy(w):  # value max 1/w_i + 1/w_j, optimum 2d
        shares = sorted(Fraction(float(p)) / total(w) for p in w)
        return 8 / (1 / shares[0] + 1 / shares[1])

    def a_basis(w):  # tr A^-1 = sum 1/w_i, optimum d^2
        return 16 / sum(total(w) / Fraction(float(p)) for p in w)

    def e_basis(w):  # lambda_min = min w_i, optimum 1/d
        return 4 * min(Fraction(float(p)) / total(w) for p in w)

    def total(w):
        return sum(Fraction(float(p)) for p in w)

    I4 = np.eye(4)
    return {
        "G with noise": (P.g_optimal(I4, noise_variance=s), s / s.sum(), basis_with_noise),
        "XY": (P.xy_allocation(I4), np.full(4, 0.25), simplex_xy),
        "A": (P.a_optimal(I4), np.full(4, 0.25), a_basis),
        "E": (P.e_optimal(I4), np.full(4, 0.25), e_basis),
    }


@pytest.mark.parametrize("name", closed_forms())
def test_no_false_proof_on_deliberately_suboptimal_designs(name):
    problem, optimum, efficiency = closed_forms()[name]
    rng = np.random.default_rng(5)
    claims = 0
    for loss in [0.0] + [10.0**-k for k in range(1, 13)] * 2:
        weights = optimum * (1 + loss * rng.uniform(-1, 1, 4))
        weights = weights / weights.sum()
        true = efficiency(weights)
        v = cd.verify(problem, weights, rigorous=True)
        assert Fraction(v.efficiency) <= true <= Fraction(v.efficiency_interval[1])
        claims += v.efficiency >= 1 - 1e-9
    # The proof is sharp enough to be of use, too: losses up to 1e-10 (and for smooth criteria up to 1e-5) are proven so.
    assert claims >= 5


def test_d_optimality_is_proven_and_its_loss_is_exact():
    problem = P.d_optimal(np.eye(3), noise_variance=[1.0, 2.0, 3.0])
    v = cd.verify(problem, [0.5, 0.25, 0.25], rigorous=True)
    true = 3 * (0.5 * 0.25 * 0.25) ** (1 / 3)
    assert v.efficiency <= true <= v.efficiency_interval[1] + 1e-15
    assert v.efficiency == pytest.approx(true, abs=1e-9)


def test_dependent_arms_are_proven_on_their_range():
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    v = cd.verify(P.variance_g_optimal(signs), np.full(16, 1 / 16), rigorous=True)
    assert v.efficiency >= 1 - 1e-12  # rank 1 + d(d-1)/2 = 7 of 10 dimensions
    assert v.proof.bound == pytest.approx(7.0)
    arms = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.5]])
    v = cd.verify(P.d_optimal(arms), [0.0, 0.5, 0.5, 0.0], rigorous=True)
    assert v.efficiency >= 1 - 1e-9


def test_arms_dependent_only_up_to_rounding_are_refused_by_name():
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 3))
    with pytest.raises(cd.InputError, match="only up to rounding"):
        cd.verify(P.g_optimal(arms), np.full(8, 1 / 8), rigorous=True)


def test_a_target_that_is_not_measured_has_efficiency_zero():
    v = cd.verify(P.g_optimal(np.eye(2)), [1.0, 0.0], rigorous=True)
    assert v.efficiency_interval[0] == 0.0


def test_badly_scaled_and_nearly_collinear_arms_are_still_enclosed():
    rng = np.random.default_rng(4)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    arms = rng.standard_normal((12, 3)) @ np.diag([1e4, 1.0, 1e-4]) @ Q
    weights = np.full(12, 1 / 12)
    from convexdesign.problem import canonicalise
    from convexdesign.rigorous import prove

    proof = prove(canonicalise(P.g_optimal(arms)), weights, np.empty(0, dtype=int), np.empty((0, 3)))
    exact = exact_value(arms, np.ones(12), weights, fractions(arms))
    assert Fraction(proof.low) <= exact <= Fraction(proof.high)
    assert proof.high / proof.low - 1 < 1e-12


def test_large_problems_are_proven_without_listing_pairs():
    rng = np.random.default_rng(6)
    items = rng.standard_normal((1000, 6))
    problem = P.xy_allocation(items, noise_variance=rng.uniform(0.5, 2.0, 1000))
    design = cd.solve(problem, tol=1e-10)
    assert cd.verify(problem, design.weights, rigorous=True).efficiency >= 1 - 1e-9
    arms = rng.standard_normal((50_000, 6))
    assert (
        cd.verify(P.g_optimal(arms), cd.solve(P.g_optimal(arms), tol=1e-10).weights, rigorous=True).efficiency
        >= 1 - 1e-9
    )


def test_bounds_and_inequalities_on_the_weights():
    for problem in (
        P.g_optimal(X, noise_variance=S2, min_weight=0.05, max_weight=0.2),
        P.a_optimal(X, inequalities=(np.ones((1, 9)) * (np.arange(9) < 4), [0.3])),
    ):
        design = cd.solve(problem, tol=1e-8)  # conic programs leave about 1e-9 once the bounds are kept exactly
        v = cd.verify(problem, design.weights, rigorous=True)
        assert 1 - 1e-7 <= v.efficiency <= 1
        assert v.efficiency <= cd.verify(problem, design.weights).efficiency + 1e-7


def test_information_that_is_not_exactly_semidefinite_is_refused():
    B = np.array([[1.0, 0.1], [0.1, 0.1 * 0.1]])
    B[1, 1] = np.nextafter(B[1, 1], 0) - 1e-17
    with pytest.raises(cd.InputError, match="positive semidefinite"):
        cd.verify(P.g_optimal(np.eye(2), prior_information=B, n_new=1), [0.5, 0.5], rigorous=True)


def test_without_python_flint_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(cd.ConvexDesignError, match=r"convexdesign\[rigorous\]"):
        cd.verify(P.g_optimal(np.eye(2)), [0.5, 0.5], rigorous=True)
