"""The mean information of nonlinear models over several parameters: recomputed, and optimal by equivalence on a fine grid."""

import numpy as np
import pytest

import convexdesign as cd

D, M, R = cd.DesignProblem, cd.Model, cd.Region
SHARES, RATES = [0.25, 0.5, 0.25], [0.5, 1.0, 2.0]


def curve(shares=tuple(SHARES), rates=tuple(RATES)):
    model = M.nonlinear("vmax*x/(k + x)", {"vmax": 1, "k": 1})
    return model.at({"vmax": [1.0] * len(rates), "k": list(rates)}, shares).over(R.box(x=(0, 10)))


def rows(x):
    """sqrt(s_k) f_k(x), (n, 2, 3)."""
    return np.stack(
        [np.sqrt(s) * np.stack([x / (k + x), -x / (k + x) ** 2], axis=1) for s, k in zip(SHARES, RATES)], axis=2
    )


KINDS = {
    "d": (lambda c: D.d_optimal(c, over="information"), lambda A: np.linalg.slogdet(A)[1] / 2),
    "a": (
        lambda c: D.a_optimal(c, noise_variance="1 + x", over="information"),
        lambda A: -np.log(np.trace(np.linalg.inv(A))),
    ),
    "c": (lambda c: D.c_optimal(c, [0, 1.0], over="information"), lambda A: -np.log(np.linalg.inv(A)[1, 1])),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_mean_information_is_optimal(kind):
    make, value = KINDS[kind]
    design = cd.solve(make(curve()), tol=1e-5)
    assert design.status is cd.Status.CERTIFIED
    noise = (lambda x: 1 + x) if kind == "a" else np.ones_like

    def information(x, w):
        return np.einsum("i,ijk,ilk->jl", w / noise(x), rows(x), rows(x))

    x, w = design.points["x"].to_numpy(), design.points["weight"].to_numpy()
    assert value(information(x, w)) == pytest.approx(design.value, abs=1e-9)
    assert design.value <= design.bound <= design.value + 1.1e-5
    # No mixture with one setting of a grid is better than the bound.
    A = information(x, w)
    for t in np.linspace(0.01, 10, 200):
        other = information(np.array([t]), np.ones(1))
        assert max(value((1 - e) * A + e * other) for e in (1e-3, 0.1, 0.5)) <= design.bound


def test_one_value_is_the_local_design():
    local = cd.solve(D.d_optimal(M.nonlinear("vmax*x/(k + x)", {"vmax": 1, "k": 1}).over(R.box(x=(0, 10)))), tol=1e-5)
    twice = cd.solve(D.d_optimal(curve((0.5, 0.5), (1.0, 1.0)), over="information"), tol=1e-5)
    assert twice.value == pytest.approx(local.value / 2, abs=1e-5)
    np.testing.assert_allclose(twice.points["x"], local.points["x"], atol=2e-2)
