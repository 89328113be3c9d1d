"""Every kind of problem with bounds, information held, costs and several responses: what a design claims, recomputed."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.problem.kinds import KINDS

RNG = np.random.default_rng(5)
N, D, R = 10, 3, 2
X, GROUPS = RNG.standard_normal((N, D)), RNG.standard_normal((N, D, R))
NOISE = RNG.uniform(0.5, 2.0, N)
ROOTS = RNG.standard_normal((N, R, R))
COVARIANCES = ROOTS @ ROOTS.transpose(0, 2, 1) + 0.2 * np.eye(R)
COSTS = RNG.uniform(0.2, 5.0, N)
HELD = np.diag([2.0, 1.0, 0.0])
THETA = np.array([1.0, -0.5, 0.25])
FIELDS = {
    "targets": RNG.standard_normal((4, D)),
    "items": RNG.standard_normal((4, D)),
    "theta": THETA,
    "threshold": 0.1,
    "direction": np.array([1.0, 1.0, 0.0]),
    "interest": [0, 2],
    "region": RNG.standard_normal((5, D)),
    "M": np.diag([4.0, 1.0, 0.0]),
}
VARIANTS = {
    "plain": {},
    "bounds": {"min_weight": 0.01, "max_weight": 0.3},
    "held": {"n_new": 4},
    "costs": {"costs": COSTS},
    "all": {"n_new": 4, "costs": COSTS, "max_weight": 0.4},
}
LIFTED = "variance-g-optimal"
LARGER_IS_BETTER = ("d-optimal", "ds-optimal", "e-optimal")
CASES = [
    (kind, variant, several)
    for kind in KINDS
    for variant in VARIANTS
    for several in (False, True)
    if not (several and kind == LIFTED)  # the variance of one number
]


def phi(rows):
    i, j = np.triu_indices(D)
    return rows[:, i] * rows[:, j] * np.where(i == j, 1.0, 2.0)


def problem_of(kind, variant, several):
    needs = KINDS[kind]
    names = needs.needs + needs.takes
    common = {"noise_variance": COVARIANCES if several else NOISE, **VARIANTS[variant]}
    if "n_new" in common:
        common["prior_information"] = np.diag([1.0, 2.0, 0.0, 1.0, 0.0, 0.5]) if kind == LIFTED else HELD
    return needs.constructor(GROUPS if several else X, **{name: FIELDS[name] for name in names}, **common), common


def information(kind, several, common, weights):
    """A(w) = A0 / n_new + sum_i w_i X_i S_i^-1 X_i' / c_i, from what was given."""
    arms = GROUPS if several else (phi(X) if kind == LIFTED else X)[:, :, None]
    noise = COVARIANCES if several else NOISE[:, None, None]
    shares = weights / common.get("costs", np.ones(N))
    A = np.einsum("i,idr,irs,ies->de", shares, arms, np.linalg.inv(noise), arms)
    return A + common["prior_information"] / common["n_new"] if "n_new" in common else A


def targets_of(kind, several):
    """Every v_j of a minimax problem."""
    Z = FIELDS["items"]
    score = Z @ THETA
    match kind:
        case "minimax":
            return FIELDS["targets"]
        case "g-optimal":
            return GROUPS.transpose(0, 2, 1).reshape(-1, D) if several else X
        case "variance-g-optimal":
            return phi(X)
        case "xy-allocation":
            i, j = np.triu_indices(len(Z), 1)
            return Z[i] - Z[j]
        case "level-set-allocation":
            return Z
        case "best-arm-oracle":
            best = int(np.argmax(score))
            rest = np.delete(np.arange(len(Z)), best)
            return (Z[best] - Z[rest]) / (score[best] - score[rest])[:, None]
        case "level-set-oracle":
            return Z / (score - FIELDS["threshold"])[:, None]
        case "c-optimal":
            return FIELDS["direction"][None, :]
    raise AssertionError(kind)


def textbook_value(kind, several, common, weights):
    A = information(kind, several, common, weights)
    C = np.linalg.inv(A)
    match kind:
        case "d-optimal":
            return np.linalg.slogdet(A)[1]
        case "ds-optimal":
            return -np.linalg.slogdet(C[np.ix_(FIELDS["interest"], FIELDS["interest"])])[1]
        case "e-optimal":
            return np.linalg.eigvalsh(A)[0]
        case "a-optimal":
            return np.trace(C)
        case "i-optimal":
            return np.einsum("ij,jk,ik->i", FIELDS["region"], C, FIELDS["region"]).mean()
        case "average-variance":
            return np.trace(C @ FIELDS["M"])
        case "phi2-optimal":
            return np.linalg.norm(C)
    V = targets_of(kind, several)
    return np.einsum("ij,jk,ik->i", V, C, V).max()


def allowed_weights(variant, count=12):
    """Weights within the bounds, random and near their corners."""
    bounds = VARIANTS[variant]
    low, high = bounds.get("min_weight", 0.0), bounds.get("max_weight", 1.0)
    rng = np.random.default_rng(1)
    for share in 10.0 ** rng.uniform(-1.0, 1.0, count):
        w = low + (1.0 - N * low) * rng.dirichlet(np.full(N, share))
        even = np.full(N, 1.0 / N)
        most = ((high - even) / np.maximum(w - even, 1e-12))[w > even].min()
        yield even + min(1.0, most) * (w - even)


@pytest.mark.parametrize(("kind", "variant", "several"), CASES)
def test_what_a_design_claims_is_true(kind, variant, several):
    problem, common = problem_of(kind, variant, several)
    design = cd.solve(problem, tol=1e-6)
    w = design.weights
    assert design.status is cd.Status.CERTIFIED
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(w >= common.get("min_weight", 0.0) - 1e-12)
    assert np.all(w <= common.get("max_weight", 1.0) + 1e-12)
    value = textbook_value(kind, several, common, w)
    assert design.value == pytest.approx(value, rel=1e-7, abs=1e-7)
    sign = -1.0 if kind in LARGER_IS_BETTER else 1.0
    others = [sign * textbook_value(kind, several, common, other) for other in allowed_weights(variant)]
    assert sign * design.bound <= min(*others, sign * value) + 1e-9 * max(1.0, abs(value))
    # log det is in units of its own: a gap of a millionth is one of a millionth per dimension.
    assert abs(design.bound - value) <= 3.1e-6 * max(1.0, abs(value))
    assert cd.verify(problem, weights=w).efficiency >= 1.0 - 2e-6


@pytest.mark.parametrize(("kind", "variant", "several"), [case for case in CASES if "n_new" not in VARIANTS[case[1]]])
def test_whole_numbers_are_worth_what_they_say(kind, variant, several):
    problem, common = problem_of(kind, variant, several)
    exact = cd.solve(problem, tol=1e-4).round(500, method="apportion")
    spent = exact.counts * common.get("costs", np.ones(N))
    w = spent / spent.sum()
    assert np.all(w >= common.get("min_weight", 0.0) - 1e-9)
    assert np.all(w <= common.get("max_weight", 1.0) + 1e-9)
    assert exact.value == pytest.approx(textbook_value(kind, several, common, w), rel=1e-7, abs=1e-7)
    assert 0.9 < exact.efficiency <= 1.0 + 1e-9
