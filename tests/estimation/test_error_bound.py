"""The sharp bound against its formula, its reference budgets, its invariances, and how often it fails."""

import numpy as np
import pytest

from convexdesign import instances
from convexdesign.errors import InputError, UnidentifiableError
from convexdesign.estimation import (
    paper_error_bound,
    plan_head,
    separate_arm_error_bound,
    sharp_error_bound,
)
from convexdesign.features import phi


def by_the_formula(arms, first, second, high, delta, widening=1.0):
    """Pull by pull, with explicit pseudo-inverses."""
    n, u = len(arms), np.log(6 * len(arms) / delta)
    features = phi(arms)
    inverse_1 = np.linalg.pinv(sum(c * np.outer(x, x) for c, x in zip(first, arms)), rcond=1e-11, hermitian=True)
    inverse_2 = np.linalg.pinv(sum(c * np.outer(f, f) for c, f in zip(second, features)), rcond=1e-11, hermitian=True)
    a = [np.sqrt(2 * high * (x @ inverse_1 @ x) * u) for x in arms]
    out = []
    for i in range(n):
        z = [abs(features[i] @ inverse_2 @ f) for c, f in zip(second, features) for _ in range(c)]
        g2 = sum(v**2 for v in z)  # = phi'(Phi'Phi)^-1 phi
        terms = [
            a[i] ** 2,
            2 * high * (np.sqrt(widening * g2 * u) + max(z) * u),
            2 * np.sqrt(high) * max(a) * np.sqrt(2 * g2 * u),
        ]
        out.append(sum(terms))
    return np.array(out)


@pytest.mark.parametrize("name", ["experiment_1", "experiment_2", "multivariate_testing", "two_spheres"])
def test_equals_the_formula(name):
    options = {"d": 2, "outer": 6, "inner": 4, "rng": 0} if name == "two_spheres" else {}
    arms = getattr(instances, name)(**options).arms
    rng = np.random.default_rng(0)
    first, second = rng.integers(1, 30, len(arms)), rng.integers(1, 30, len(arms))
    expected = by_the_formula(arms, first, second, 2.5, 0.05)
    np.testing.assert_allclose(sharp_error_bound(arms, first, second, (0.1, 2.5), 0.05), expected, rtol=1e-7)
    expected = by_the_formula(arms, first, second, 2.5, 0.05, widening=1.5)
    wider = sharp_error_bound(arms, first, second, (0.1, 2.5), 0.05, noise="sub-gaussian")
    np.testing.assert_allclose(wider, expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("name", "budget"), [("experiment_1", 104_697), ("experiment_2", 44_497), ("multivariate_testing", 32_738)]
)
def test_reference_budgets_of_the_paper_s_experiments(name, budget):
    # The least budget with error <= s_min²/2 at failure probability 0.025, arms rounded up, known to a share of 1e-3.
    inst = getattr(instances, name)()
    plan = plan_head(inst.arms, tol=1e-6)
    bounds = (inst.noise_variance.min(), inst.noise_variance.max())

    def worst(total):
        halves = [np.ceil(w * total / 2 - 1e-6).astype(int) for w in (plan.weights_1, plan.weights_2)]
        direct = sharp_error_bound(inst.arms, *halves, bounds, 0.025)
        np.testing.assert_allclose(plan.sharp_error_bound(*halves, bounds[1], 0.025), direct, rtol=1e-6)
        return direct.max()

    assert worst(1.002 * budget) <= bounds[0] / 2 < worst(0.998 * budget)


def test_does_not_depend_on_the_basis_and_scales_like_a_variance():
    inst = instances.experiment_2()
    rng = np.random.default_rng(1)
    first, second = rng.integers(5, 50, 6), rng.integers(5, 50, 6)
    base = sharp_error_bound(inst.arms, first, second, (0.1, 1.0), 0.05)
    T = rng.standard_normal((3, 3)) * [1e-3, 1.0, 1e3]
    np.testing.assert_allclose(sharp_error_bound(inst.arms @ T, first, second, (0.1, 1.0), 0.05), base, rtol=1e-6)
    np.testing.assert_allclose(sharp_error_bound(inst.arms, first, second, (0.1, 7.0), 0.05), 7 * base, rtol=1e-12)
    more = sharp_error_bound(inst.arms, 4 * first, 4 * second, (0.1, 1.0), 0.05)
    assert np.all((more < base / 2 * (1 + 1e-12)) & (more > base / 4))


def test_arms_nobody_pulls_are_bounded_too_unless_undetermined():
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6]])
    assert np.isfinite(sharp_error_bound(arms, [5, 5, 0, 0], [9, 9, 9, 0], (0.1, 1.0), 0.05)).all()
    with pytest.raises(UnidentifiableError, match=r"arm 1 .* stage 1"):
        sharp_error_bound(arms, [5, 0, 0, 0], [9, 9, 9, 0], (0.1, 1.0), 0.05)
    with pytest.raises(UnidentifiableError, match=r"arm 2 .* stage 2"):
        sharp_error_bound(arms, [5, 5, 0, 0], [9, 9, 0, 0], (0.1, 1.0), 0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stage_1": [1, 2]}, "stage_1"),
        ({"stage_2": [1, 2, -3]}, r"stage_2\[2\] is -3"),
        ({"variance_bounds": (2.0, 1.0)}, "variance_bounds"),
        ({"variance_bounds": None}, "needs variance_bounds"),
        ({"delta": 0.0}, "delta"),
        ({"noise": "cauchy"}, "noise"),
    ],
)
def test_wrong_input_is_refused(change, message):
    given = {"stage_1": [5, 5, 5], "stage_2": [5, 5, 5], "variance_bounds": (0.1, 1.0), "delta": 0.05} | change
    with pytest.raises(InputError, match=message):
        sharp_error_bound([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], **given)


def test_one_arm_in_closed_form():
    # n = d = 1: g1 = 1/N1, g2 = z x^2... with x = 1: g2 = z = 1/N2.
    u, first, second = np.log(6 / 0.05), 400, 900
    expected = 2 * u / first + 2 * (np.sqrt(u / second) + u / second) + 4 * u / np.sqrt(first * second)
    got = sharp_error_bound([[1.0]], [first], [second], (0.5, 1.0), 0.05)
    np.testing.assert_allclose(got, [expected])


def test_the_weighted_chi_square_term_is_close_to_what_it_bounds():
    # One arm, all uncertainty in stage 2: estimate = mean of 1,000 squares of a standard Gaussian. Over 20,000 runs the
    # error exceeds the bound at delta = 0.2 at most Binomial(20000, 0.2) often, and half the bound far too often.
    rng = np.random.default_rng(2)
    errors = np.abs(rng.chisquare(1000, 20_000) / 1000 - 1)
    bound = sharp_error_bound([[1.0]], [10**9], [1000], (0.5, 1.0), 0.2)[0]
    assert np.mean(errors > bound) < 0.2
    assert np.mean(errors > bound / 2) > 0.02


def test_the_paper_s_bounds():
    # 4 C' log(|X|/delta) kappa² d² pulls give an error of s_min²/2: the paper's burn-in.
    kappa, low = 6.25, 0.16
    budget = 4 * 2000 * np.log(9 / 0.05) * kappa**2 * 16
    assert paper_error_bound(9, 4, budget, (low, kappa * low), 0.05) == pytest.approx(low / 2)
    # Appendix D.1 with Gamma = M x pulls, long enough for the square root to be the larger.
    M, pulls, high, zeta, delta = 6, 10**5, 2.0, 0.3, 0.05
    expected = 10 / zeta * np.sqrt(32 * high**2 * M**2 * np.log(8 * M / delta) / (M * pulls))
    assert separate_arm_error_bound(M, zeta, 1.0, pulls, (1.0, high), delta) == pytest.approx(expected)
    assert separate_arm_error_bound(M, zeta, 2.0, pulls, (1.0, high), delta) == pytest.approx(4 * expected)
