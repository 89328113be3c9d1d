"""The fully corrective method on whole problems: certified independently, whatever path the screening takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import convexdesign as cd
from convexdesign.certificate import certify
from convexdesign.frankwolfe import Tuning, frank_wolfe
from convexdesign.problem import PairTargets, canonicalise

P = cd.DesignProblem

KINDS = ("g", "d", "g-noise", "xy", "best-arm", "level-set", "c", "held", "d-held")


def a_problem(kind, n, d, seed, shape="gauss"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if shape == "sphere":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    if shape == "wild":
        X *= 10.0 ** rng.uniform(-2, 2, (n, 1))
    if shape == "copies":
        X = rng.integers(0, 2, (n, d)).astype(float)
        X[:, 0] = 1.0
    if shape == "clusters":
        X = X[rng.integers(0, min(n, 8), n)] + 1e-3 * X
    noise = 10.0 ** rng.uniform(-1, 1, n)
    theta = rng.standard_normal(d)
    B = rng.standard_normal((d, d))
    match kind:
        case "g":
            return P.g_optimal(X)
        case "d":
            return P.d_optimal(X, noise_variance=noise)
        case "g-noise":
            return P.g_optimal(X, noise_variance=noise)
        case "xy":
            return P.xy_allocation(X, noise_variance=noise)
        case "best-arm":
            return P.best_arm_oracle(X, theta=theta, noise_variance=noise)
        case "level-set":
            return P.level_set_allocation(X, X[: n // 2])
        case "c":
            return P.c_optimal(X, theta)
        case "held":
            return P.xy_allocation(X, prior_information=B @ B.T, n_new=10)
        case "d-held":
            return P.d_optimal(X, prior_information=B @ B.T, n_new=10)
    raise AssertionError(kind)


# Makes small problems take the path of large ones: few candidates, passes, extensions, pair scans.
SMALL = Tuning(whole=0, first_targets=8, few_entries=100, fewest=15, few_pairs=10, pairs=30, few_items=20)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        (kind, shape)
        for kind in KINDS
        for shape in ("gauss", "sphere", "wild", "copies", "clusters")
        if (kind, shape) != ("best-arm", "copies")  # copies of the best arm tie with it, which is refused
    ],
)
def test_large_and_small_paths_certify_alike(kind, shape):
    for seed in range(3):
        problem = a_problem(kind, 300, 4, seed, shape)
        if isinstance(problem.targets, PairTargets):
            problem.targets.few = 10
        canonical = canonicalise(problem)
        outcome = frank_wolfe(canonical, tol=1e-6, tuning=SMALL)
        certificate = certify(canonical, outcome.weights, outcome.dual)
        assert outcome.ended is None
        assert certificate.gap <= 1.01e-6, (kind, shape, seed)
        # Fifteen candidates are outdated soon, but not at every step.
        assert outcome.stats.passes <= 40


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    kind=st.sampled_from(KINDS),
    shape=st.sampled_from(("gauss", "sphere", "wild")),
    n=st.integers(3, 120),
    d=st.integers(2, 5),
    seed=st.integers(0, 10**6),
    tol=st.sampled_from((1e-2, 1e-6, 1e-9)),
    whole=st.booleans(),
)
def test_certifies_any_tolerance(kind, shape, n, d, seed, tol, whole):
    canonical = canonicalise(a_problem(kind, n, d, seed, shape))
    outcome = frank_wolfe(canonical, tol=tol, tuning=Tuning() if whole else Tuning(whole=0))
    certificate = certify(canonical, outcome.weights, outcome.dual)
    assert certificate.gap <= 1.01 * tol + 1e-11
    assert outcome.weights.sum() == pytest.approx(1)
    assert (outcome.weights >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_history_is_in_the_users_units_and_ends_at_the_answer(kind):
    canonical = canonicalise(a_problem(kind, 150, 4, 1))
    seen = []
    outcome = frank_wolfe(canonical, report=seen.append)
    assert tuple(seen) == outcome.stats.history
    certificate = certify(canonical, outcome.weights, outcome.dual)
    assert seen[-1].value == pytest.approx(certificate.value, rel=2e-6, abs=2e-6)
    assert seen[-1].bound == pytest.approx(certificate.bound, rel=2e-6, abs=2e-6)
    assert seen[-1].iteration == outcome.stats.iterations


@pytest.mark.parametrize("kind", ["g", "xy", "g-noise"])
def test_a_warm_start_is_used_and_not_needed_to_be_good(kind):
    problem = a_problem(kind, 200, 4, 2)
    first = cd.solve(problem, method="frank-wolfe")
    for start in (first, cd.solve(a_problem(kind, 150, 4, 7), method="frank-wolfe")):
        again = cd.solve(problem, method="frank-wolfe", warm_start=start)
        assert again.status is cd.Status.CERTIFIED


@pytest.mark.parametrize("kind", ["g", "d", "xy", "best-arm"])
def test_limits_are_kept_and_the_best_design_so_far_returned(kind):
    canonical = canonicalise(a_problem(kind, 200, 5, 3))
    outcome = frank_wolfe(canonical, tol=1e-12, max_iter=2)
    assert outcome.ended is cd.Status.ITERATION_LIMIT
    assert outcome.stats.iterations <= 2
    assert np.isfinite(certify(canonical, outcome.weights, outcome.dual).gap)
    assert frank_wolfe(canonical, tol=1e-12, time_limit=1e-9).ended is cd.Status.TIME_LIMIT


def test_other_criteria_and_constraints_are_refused():
    X = np.random.default_rng(0).standard_normal((10, 3))
    with pytest.raises(cd.SolverError, match="method='conic'"):
        frank_wolfe(canonicalise(P.e_optimal(X)))
    with pytest.raises(cd.SolverError, match="constraints"):
        frank_wolfe(canonicalise(P.d_optimal(X, max_weight=0.5)))


def test_a_million_arms_take_one_or_two_passes():
    X = np.random.default_rng(0).standard_normal((200_000, 5))
    canonical = canonicalise(P.g_optimal(X))
    outcome = frank_wolfe(canonical)
    assert certify(canonical, outcome.weights).gap <= 1e-6
    assert outcome.stats.passes <= 2
