"""One common noise variance is a unit of the outcome: it scales variances, and nothing else depends on it."""

import numpy as np
import pytest

import convexdesign as cd

P = cd.DesignProblem
X = np.random.default_rng(3).standard_normal((10, 4))
KINDS = {
    "ds": (lambda **k: P.ds_optimal(X, [1, 2], **k), lambda value, s: value + 2 * np.log(s)),
    "ds index": (lambda **k: P.ds_optimal(X, [1], **k), lambda value, s: value + np.log(s)),
    "a capped": (lambda **k: P.a_optimal(X, max_weight=0.2, **k), lambda value, s: value / s),
    "i inequality": (
        lambda **k: P.i_optimal(X, X, inequalities=(np.arange(10.0)[None, :], [4.0]), **k),
        lambda value, s: value / s,
    ),
    "e capped": (lambda **k: P.e_optimal(X, max_weight=0.2, **k), lambda value, s: value * s),
    "c capped": (lambda **k: P.c_optimal(X, [1, 0, 0, 1], max_weight=0.3, **k), lambda value, s: value / s),
}


@pytest.mark.parametrize("variance", [1e-10, 1e-6, 1e6, 1e10])
@pytest.mark.parametrize("kind", KINDS)
def test_a_common_noise_variance_changes_nothing(kind, variance):
    make, in_unit = KINDS[kind]
    plain, scaled = cd.solve(make()), cd.solve(make(noise_variance=variance))
    assert scaled.status is cd.Status.CERTIFIED
    assert abs(scaled.weights.sum() - 1.0) <= 1e-15
    size = 1.0 if kind.startswith("ds") else plain.value
    assert in_unit(scaled.value, variance) == pytest.approx(plain.value, abs=4e-6 * abs(size))
