"""One suite for every solver: the weights are a design, the value is theirs, the bound is proven, the gap is reached."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from geometry import adversarial, adversarial_groups
from independent import minimax_bound, minimax_value

import convexdesign as cd
from convexdesign.frankwolfe import Tuning, frank_wolfe
from convexdesign.judging import judged
from convexdesign.problem import canonicalise
from convexdesign.programs.prover import prover

CONIC = [
    ("conic", formulation, backend)
    for formulation in ("sdp", "matrix-fractional", "socp", "dual-socp")
    for backend in ("clarabel", "scs")
]
EXACT = [("auto", None, None), ("conic", None, None), ("frank-wolfe", None, None)]
CLASSIC = [("frank-wolfe-vanilla", None, None), ("frank-wolfe-away", None, None), ("multiplicative", None, None)]


def label(solver):
    return "-".join(part for part in solver if part)


def problems():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((12, 3))
    s2 = rng.uniform(0.2, 5.0, 12)
    i, j = np.triu_indices(12, 1)
    theta = np.array([1.0, -0.3, 0.2])
    score = X @ theta
    best = int(np.argmax(score))
    others = np.delete(np.arange(12), best)
    return {
        "g": (cd.DesignProblem.g_optimal(X), X, np.ones(12), X),
        "g-noise": (cd.DesignProblem.g_optimal(X, noise_variance=s2), X, s2, X),
        "xy": (cd.DesignProblem.xy_allocation(X, noise_variance=s2), X, s2, X[i] - X[j]),
        "level-set": (cd.DesignProblem.level_set_allocation(X, X[:4]), X, np.ones(12), X[:4]),
        "best-arm": (
            cd.DesignProblem.best_arm_oracle(X, theta=theta, noise_variance=s2),
            X,
            s2,
            (X[best] - X[others]) / (score[best] - score[others])[:, None],
        ),
        "level-set-oracle": (
            cd.DesignProblem.level_set_oracle(X, theta=theta, threshold=0.4),
            X,
            np.ones(12),
            X / (score - 0.4)[:, None],
        ),
        "c": (cd.DesignProblem.c_optimal(X, [1.0, 2.0, 0.0]), X, np.ones(12), np.array([[1.0, 2.0, 0.0]])),
        "one-arm": (
            cd.DesignProblem.g_optimal([[2.0]], noise_variance=3.0),
            np.array([[2.0]]),
            np.array([3.0]),
            [[2.0]],
        ),
    }


def response_problems():
    """Arms with several responses: matrices (n, d, r), covariances (n, r, r)."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((10, 4, 2))
    B = rng.standard_normal((10, 2, 2))
    S = B @ B.transpose(0, 2, 1) + 0.1 * np.eye(2)
    columns = X.transpose(0, 2, 1).reshape(-1, 4)
    Z = rng.standard_normal((6, 4))
    i, j = np.triu_indices(6, 1)
    theta = np.array([1.0, -0.3, 0.2, 0.5])
    best = int(np.argmax(Z @ theta))
    D = Z[best] - np.delete(Z, best, axis=0)
    # Pairs of coordinates, seen together or alone: no arm spans, and the numbers of responses differ.
    ragged = [np.eye(4)[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 3))] + [np.eye(4)[:, [k]] for k in (0, 3)]
    filled = np.zeros((5, 4, 2))
    for k, arm in enumerate(ragged):
        filled[k, :, : arm.shape[1]] = arm
    paired = np.tile(np.array([[1.0, 0.9], [0.9, 2.0]]), (5, 1, 1))
    paired[3:] = np.eye(2)
    noise = [*paired[:3], np.eye(1), np.eye(1)]
    one = np.tile(np.eye(2), (10, 1, 1))
    return {
        "responses-g": (cd.DesignProblem.g_optimal(X, noise_variance=S), X, S, columns),
        "responses-xy": (cd.DesignProblem.xy_allocation(X, Z, noise_variance=S), X, S, Z[i] - Z[j]),
        "responses-best-arm": (
            cd.DesignProblem.best_arm_oracle(X, Z, theta=theta),
            X,
            one,
            D / (D @ theta)[:, None],
        ),
        "responses-c": (cd.DesignProblem.c_optimal(X, Z[0], noise_variance=S), X, S, Z[:1]),
        "responses-ragged": (
            cd.DesignProblem(ragged, np.eye(4) - 0.25, noise_variance=noise),
            filled,
            paired,
            np.eye(4) - 0.25,
        ),
    }


def limited_problems():
    """Weights with caps, minima, both, a budget; as shares of costs, with information held, with several responses."""
    rng = np.random.default_rng(3)
    X, Z = rng.standard_normal((30, 3)), rng.standard_normal((8, 3))
    s2, unit = rng.uniform(0.3, 3.0, 30), np.ones(30)
    i, j = np.triu_indices(8, 1)
    some = np.where(np.arange(30) < 20, 0.05, 1.0)
    costs = rng.uniform(1.0, 4.0, 30)
    budget = (costs[None], [1.1 * costs.min()])
    held = np.diag([0.2, 0.0, 0.1])
    theta = np.array([1.0, 0.2, -0.4])
    best = int(np.argmax(Z @ theta))
    D = Z[best] - np.delete(Z, best, axis=0)
    pairs = rng.standard_normal((20, 3, 2))
    P, columns = cd.DesignProblem, pairs.transpose(0, 2, 1).reshape(-1, 3)
    return {
        "caps-g": (P.g_optimal(X, max_weight=0.07), X, unit, X, Limits(upper=0.07)),
        "both-g": (
            P.g_optimal(X, noise_variance=s2, max_weight=0.1, min_weight=0.01),
            X,
            s2,
            X,
            Limits(0.01, 0.1),
        ),
        "minima-c": (P.c_optimal(X, theta, min_weight=0.02), X, unit, theta[None], Limits(0.02)),
        "costs-g": (P.g_optimal(X, costs=s2, max_weight=0.1), X, s2, X, Limits(upper=0.1)),
        "caps-xy": (
            P.xy_allocation(X, Z, noise_variance=s2, max_weight=some),
            X,
            s2,
            Z[i] - Z[j],
            Limits(upper=some),
        ),
        "budget-g": (P.g_optimal(X, inequalities=budget), X, unit, X, Limits(budget=budget)),
        "all-g": (
            P.g_optimal(X, min_weight=0.005, max_weight=0.2, inequalities=(costs[None], [2.2])),
            X,
            unit,
            X,
            Limits(0.005, 0.2, (costs[None], [2.2])),
        ),
        "held-level-set": (
            P.level_set_allocation(X, Z, prior_information=held, n_new=50, max_weight=0.1),
            X,
            unit,
            Z,
            Limits(upper=0.1, prior=held / 50),
        ),
        "caps-best-arm": (
            P.best_arm_oracle(X, Z, theta=theta, max_weight=0.1),
            X,
            unit,
            D / (D @ theta)[:, None],
            Limits(upper=0.1),
        ),
        "caps-responses": (
            P.g_optimal(pairs, max_weight=0.15),
            pairs,
            np.tile(np.eye(2), (20, 1, 1)),
            columns,
            Limits(upper=0.15),
        ),
    }


@dataclass(frozen=True)
class Limits:
    """What weights may be, written out; information held per measurement."""

    lower: object = 0.0
    upper: object = 1.0
    budget: tuple[np.ndarray, list[float]] | None = None
    prior: np.ndarray | None = None

    def missed(self, w):
        """By how much, at most, of the limit's own size."""
        over = [np.max(w - self.upper), np.max(self.lower - w)]
        if self.budget is not None:
            over.append(float(self.budget[0][0] @ w / self.budget[1][0] - 1.0))
        return max(over)

    def support(self, q):
        """The largest w'q: filled in order, and with a price on the budget, the best of which orders two arms alike."""
        if self.budget is None:
            return self.filled(q)
        costs, most = self.budget[0][0], self.budget[1][0]
        i, j = np.triu_indices(q.size, 1)
        prices = np.append(np.maximum((q[i] - q[j]) / (costs[i] - costs[j]), 0.0), 0.0)
        return min(self.filled(q - price * costs) + price * most for price in prices)

    def filled(self, q):
        low, high = (np.broadcast_to(b, q.shape).astype(float) for b in (self.lower, self.upper))
        order = np.argsort(-q)
        room = (high - low)[order]
        return low @ q + np.clip(1.0 - low.sum() - (np.cumsum(room) - room), 0.0, room) @ q[order]


PROBLEMS = problems() | response_problems()
LIMITED = limited_problems()


def check(design, arms, variance, targets, limits=None, slack=1e-9):
    """Everything a design claims, recomputed: membership, value, bound, gap, status."""
    w = design.weights
    prior = None if limits is None else limits.prior
    assert w.shape == (len(arms),)
    assert np.all(w >= 0)
    assert abs(w.sum() - 1) < 1e-12
    value = minimax_value(arms, variance, targets, w, prior)
    assert design.value == pytest.approx(value, rel=1e-7)
    dual = design.certificate.dual
    if dual is None:  # Kiefer-Wolfowitz: the value is s^2 rank, which no design can beat
        assert design.problem.is_kiefer_wolfowitz
        bound = design.problem.common_variance * design.canonical.rank
    else:
        aims = design.problem.targets.take(dual.targets)
        bound = minimax_bound(arms, variance, dual.vectors, aims, prior, limits and limits.support)
    assert design.lower_bound == pytest.approx(bound, rel=1e-9)
    assert bound <= value * (1 + slack)
    if design.status is cd.Status.CERTIFIED:
        assert value <= bound * (1 + design.tol) * (1 + slack)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", EXACT + CONIC, ids=label)
def test_reaches_the_gap_asked_for(solver, name):
    problem, arms, variance, targets = PROBLEMS[name]
    method, formulation, backend = solver
    with warnings.catch_warnings():
        if backend == "scs":  # first-order: it may stop short, and then must say so
            warnings.simplefilter("ignore", cd.ConvergenceWarning)
        design = cd.solve(problem, method=method, formulation=formulation, backend=backend)
    check(design, arms, variance, targets)
    assert design.gap <= (1e-3 if backend == "scs" else 1e-6)


@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.parametrize("method", ["auto", "conic"])
def test_limits_on_weights_are_kept_and_the_gap_is_reached(method, name):
    problem, *data, limits = LIMITED[name]
    design = cd.solve(problem, method=method, tol=1e-6)
    check(design, *data, limits)
    assert design.status is cd.Status.CERTIFIED
    assert limits.missed(design.weights) <= 1e-12
    if method == "auto":
        assert design.stats.method == ("conic" if limits.budget else "interior-point")


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", CLASSIC, ids=label)
def test_classic_methods_report_an_honest_gap(solver, name):
    problem, arms, variance, targets = PROBLEMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.ConvergenceWarning)
        design = cd.solve(problem, method=solver[0], max_iter=300)
    check(design, arms, variance, targets)
    assert design.stats.history
    best = min(snapshot.gap for snapshot in design.stats.history)
    assert design.gap <= best * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("method", ["conic", "frank-wolfe", "auto"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_tighter_tolerance_is_reached_too(method, name):
    problem, arms, variance, targets = PROBLEMS[name]
    design = cd.solve(problem, method=method, tol=1e-8)
    check(design, arms, variance, targets)
    assert design.status is cd.Status.CERTIFIED


@pytest.mark.parametrize(
    ("make", "count", "method", "whole"),
    [
        (adversarial, 300, "conic", True),
        (adversarial, 500, "frank-wolfe", True),
        (adversarial, 500, "frank-wolfe", False),
        (adversarial_groups, 100, "conic", True),
        (adversarial_groups, 200, "frank-wolfe", True),
        (adversarial_groups, 200, "frank-wolfe", False),
    ],
)
def test_adversarial_problems_never_give_a_false_certificate(make, count, method, whole):
    """whole: small problems go in one piece; otherwise arms and targets are generated, as in large ones."""
    certified = 0
    for seed in range(count):
        case = make(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.ConvergenceWarning)
            if whole:
                design = cd.solve(case.problem, method=method, tol=1e-6)
            else:
                canonical = canonicalise(case.problem)
                design = judged(canonical, frank_wolfe(canonical, tuning=Tuning(whole=0)), prover(canonical), 1e-6)
        value = minimax_value(case.arms, case.variance, case.targets, design.weights)
        if design.status is cd.Status.CERTIFIED:
            certified += 1
            dual = design.certificate.dual
            if dual is None:
                bound = design.problem.common_variance * design.canonical.rank
            else:
                aims = design.problem.targets.take(dual.targets)
                bound = minimax_bound(case.arms, case.variance, dual.vectors, aims)
            assert value <= bound * (1 + 1.05e-6), (seed, case.name, value / bound - 1)
    assert certified >= 0.99 * count


@pytest.mark.parametrize("method", ["conic", "frank-wolfe", "auto"])
def test_limits_return_the_best_certified_design_and_warn(method):
    problem, arms, variance, targets = PROBLEMS["xy"]
    with pytest.warns(cd.ConvergenceWarning, match="gap"):
        design = cd.solve(problem, method=method, max_iter=1, tol=1e-11)
    assert design.status is not cd.Status.CERTIFIED
    check(design, arms, variance, targets)


@pytest.mark.parametrize("solver", EXACT + CLASSIC, ids=label)
def test_interrupts_are_never_swallowed(solver, monkeypatch):
    problem = PROBLEMS["xy"][0]

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(problem.arms), "quadratic", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cd.solve(problem, method=solver[0], max_iter=200, tol=1e-12)
