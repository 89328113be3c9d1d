"""Warm starts: the answer is the cold one whatever is given, nothing given is changed, and related designs save work."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from geometry import adversarial

import convexdesign as cd
from convexdesign.evaluation import evaluate
from convexdesign.frankwolfe.start import most_aligned_targets, targets_of_dual

P = cd.DesignProblem
RNG = np.random.default_rng(12)
X = RNG.standard_normal((300, 5))
ITEMS = RNG.standard_normal((60, 5))
NOISE = RNG.uniform(0.3, 3.0, 300)
CLOSE = NOISE * np.exp(0.1 * RNG.standard_normal(300))
THETA = RNG.standard_normal(5)
NEAR = THETA + 0.05 * RNG.standard_normal(5)
LARGE = RNG.standard_normal((60_000, 4))

RELATED = {
    "fewer-items": (
        P.xy_allocation(X, ITEMS, noise_variance=NOISE),
        P.xy_allocation(X, ITEMS[:50], noise_variance=NOISE),
    ),
    "fewer-undecided": (P.level_set_allocation(X, ITEMS), P.level_set_allocation(X, ITEMS[10:])),
    "changed-variances": (P.g_optimal(X, noise_variance=NOISE), P.g_optimal(X, noise_variance=CLOSE)),
    "from-equal-variances": (P.g_optimal(X), P.g_optimal(X, noise_variance=NOISE)),
    "to-equal-variances": (P.g_optimal(X, noise_variance=NOISE), P.g_optimal(X)),
    "changed-costs": (P.d_optimal(X, costs=NOISE), P.d_optimal(X, costs=CLOSE)),
    "arms-added": (P.g_optimal(X[:250], noise_variance=NOISE[:250]), P.g_optimal(X, noise_variance=NOISE)),
    "arms-added-d": (P.d_optimal(X[:200]), P.d_optimal(X)),
    "arms-added-a": (P.a_optimal(X[:200]), P.a_optimal(X)),
    "new-estimate": (P.best_arm_oracle(X, ITEMS, theta=THETA), P.best_arm_oracle(X, ITEMS, theta=NEAR)),
    "more-information": (P.g_optimal(X), P.g_optimal(X, existing_counts=np.arange(300) % 4, n_new=300)),
    "other-criterion": (P.c_optimal(X, THETA), P.xy_allocation(X, ITEMS)),
    "bounded-weights": (P.g_optimal(X[:60]), P.g_optimal(X[:60], max_weight=0.05)),
    "many-arms-added": (P.g_optimal(LARGE[:50_000]), P.level_set_allocation(LARGE, ITEMS[:, :4])),
    "many-noisy": (
        P.g_optimal(LARGE, noise_variance=1.0 + (LARGE[:, 0] > 0)),
        P.g_optimal(LARGE, noise_variance=1.0 + 0.9 * (LARGE[:, 0] > 0)),
    ),
}


def contents(design):
    dual = design.certificate.dual
    parts = [design.weights, design.value, design.bound, design.status, design.stats.iterations]
    parts += [] if dual is None else [dual.targets, dual.vectors]
    parts += [design.problem.arms.take(np.arange(5))]
    return [np.array(part, copy=True) for part in parts]


def assert_same_answer(problem, design, cold):
    assert design.status is cd.Status.CERTIFIED
    scale = 1.0 if problem.criterion.maximised else abs(cold.value)
    assert abs(design.value - cold.value) <= 2.1e-6 * problem.arms.d * scale
    # The certificate belongs to the problem at hand: verified afresh, nothing of the start in it.
    assert cd.verify(problem, design.weights).efficiency >= 1.0 / (1.0 + 1.1e-6)


@pytest.mark.parametrize("name", RELATED)
def test_related_designs_lead_to_the_cold_answer_and_stay_as_they_are(name):
    before, after = RELATED[name]
    given = cd.solve(before)
    kept = contents(given)
    assert_same_answer(after, cd.solve(after, warm_start=given), cd.solve(after))
    for now, then in zip(contents(given), kept, strict=True):
        np.testing.assert_array_equal(now, then)


def nonsense():
    """Designs that mislead: one arm, all arms alike, noise, another dimension, a proof of something else."""
    honest = cd.solve(P.xy_allocation(X, ITEMS))
    one = np.zeros(300)
    one[17] = 1.0
    rough = RNG.random(300) ** 20
    return {
        "one-arm": replace(honest, weights=one),
        "uniform": replace(honest, weights=np.full(300, 1 / 300)),
        "one-arm-and-hardly-others": replace(honest, weights=(one + 1e-14) / (1 + 300e-14)),
        "random": replace(honest, weights=rough / rough.sum()),
        "other-dimension": cd.solve(P.g_optimal(RNG.standard_normal((30, 2)), noise_variance=NOISE[:30])),
        "infinite": replace(honest, weights=np.full(300, np.inf)),
        "huge": replace(honest, weights=np.full(300, 1e308)),
        "negative": replace(honest, weights=np.full(300, -1.0)),
        "zero-proof": proven_by(honest, np.zeros((7, 5))),
        "no-proof": proven_by(honest, np.zeros((0, 5))),
        "infinite-proof": proven_by(honest, np.full((3, 5), np.inf)),
        "huge-proof": proven_by(honest, np.full((3, 5), 1e200)),
        "no-number": proven_by(honest, np.full((3, 5), np.nan)),
    }


def proven_by(design, vectors):
    certificate = design.certificate
    dual = replace(certificate.dual, vectors=vectors, targets=np.zeros(len(vectors), dtype=int))
    return replace(design, certificate=replace(certificate, dual=dual))


NONSENSE = nonsense()
ASKED = {
    "xy": P.xy_allocation(X, ITEMS, noise_variance=NOISE),
    "g": P.g_optimal(X),
    "d": P.d_optimal(X, costs=NOISE),
    "a": P.a_optimal(X),
    "c": P.c_optimal(X, THETA),
    "prior": P.level_set_allocation(X, ITEMS, prior_information=np.eye(5), n_new=10),
    "flat": P.g_optimal(X @ np.diag([1.0, 1, 1, 0, 0]), noise_variance=NOISE),
}


@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_never_trusted(name, kind):
    problem = ASKED[kind]
    assert_same_answer(problem, cd.solve(problem, warm_start=NONSENSE[name]), cd.solve(problem))


def relatives(case, seed):
    """Designs of problems that have something to do with a degenerate one: noise, units, half of the arms, other arms."""
    rng = np.random.default_rng(seed)
    X, noise = case.arms, case.variance
    n, d = X.shape
    half = max(1, n // 2)
    for arms, variance in (
        (X, noise * 10.0 ** rng.uniform(-4, 4, n)),
        (X * 10.0 ** rng.uniform(-3, 3, d), noise),
        (X[:half], noise[:half]),
        (X * (rng.random(d) < 0.7), noise),
        (X + 1e-6 * np.abs(X).max() * rng.standard_normal(X.shape), noise),
        (rng.standard_normal(X.shape), noise),
    ):
        for build in (P.g_optimal, P.xy_allocation, P.d_optimal):
            try:
                yield cd.solve(build(arms, noise_variance=variance), method="frank-wolfe")
            except (cd.InputError, cd.UnidentifiableError, cd.SolverError, cd.ConvergenceWarning):
                continue


# A start at the optimum itself, one dimension, arms that hardly span, a gap right at the tolerance, and others.
@pytest.mark.parametrize("seed", [*range(16), 26, 38, 45, 57])
def test_degenerate_relatives_change_no_answer(seed):
    case = adversarial(seed)
    asked = [case.problem, *(make(case.arms, noise_variance=case.variance) for make in (P.g_optimal, P.d_optimal))]
    starts = list(relatives(case, seed))
    assert starts
    for problem in asked:
        cold = cd.solve(problem, method="frank-wolfe")
        for start in starts:
            warm = cd.solve(problem, method="frank-wolfe", warm_start=start)
            assert warm.status is cd.Status.CERTIFIED
            scale = problem.arms.d if problem.criterion.maximised else abs(cold.value)
            assert abs(warm.value - cold.value) <= 2.1e-6 * scale


@pytest.mark.parametrize("method", ["conic", "frank-wolfe-vanilla", "frank-wolfe-away", "multiplicative"])
@pytest.mark.parametrize("name", ["one-arm", "other-dimension"])
def test_other_methods_distrust_it_too(method, name):
    for problem in (ASKED["xy"], ASKED["d"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.ConvergenceWarning)
            design = cd.solve(problem, method=method, warm_start=NONSENSE[name], max_iter=200)
        best = cd.solve(problem).value
        if problem.criterion.maximised:
            assert design.value <= best + 1e-5 <= design.bound + 2e-5
        else:
            assert design.bound * (1 - 1e-5) <= best <= design.value * (1 + 1e-5)


def test_arms_can_be_added_and_not_removed():
    with pytest.raises(cd.InputError, match=r"warm_start has 300 arms, the problem 200: arms may be added"):
        cd.solve(P.g_optimal(X[:200]), warm_start=NONSENSE["uniform"])


@pytest.mark.parametrize("kind", ["xy", "level-set", "oracle"])
def test_a_proof_points_at_the_targets_it_rested_on(kind):
    problem = {
        "xy": P.xy_allocation(X, ITEMS, noise_variance=NOISE),
        "level-set": P.level_set_allocation(X, ITEMS),
        "oracle": P.best_arm_oracle(X, ITEMS, theta=THETA),
    }[kind]
    design = cd.solve(problem)
    dual = design.certificate.dual
    share = np.einsum("jk,jk->j", dual.vectors, problem.targets.take(dual.targets)) ** 2
    decisive = dual.targets[share > 1e-3 * share.max()]
    assert decisive.size >= 3
    canonical = design.canonical
    factor = canonical.inverse @ evaluate(canonical, design.weights).factor
    told = targets_of_dual(canonical, dual, factor)
    assert np.isin(decisive, told.index).all()
    # Where the targets' variances agree, as at the optimum, so do the multipliers with what the proof was made from.
    mu = dict(zip(told.index, told.weights, strict=True))
    ratio = np.array([mu[j] for j in decisive]) / share[share > 1e-3 * share.max()]
    assert ratio.max() <= 1.01 * ratio.min()
    brute = np.abs(dual.vectors @ problem.targets.take(every(problem)).T)
    assert set(most_aligned_targets(problem.targets, dual.vectors)) == set(every(problem)[brute.argmax(axis=1)])


def every(problem):
    if problem.kind != "xy-allocation":
        return np.arange(problem.targets.m)
    i, j = np.triu_indices(problem.targets.n_items, 1)
    return i * problem.targets.n_items + j


def work(problems, warm):
    """Newton and interior point steps, and pricings, over a sequence."""
    steps = pricings = 0
    last = None
    for k, problem in enumerate(problems):
        design = cd.solve(problem, warm_start=last if warm else None)
        assert design.status is cd.Status.CERTIFIED
        last = design
        if k:  # the first is cold either way
            steps, pricings = steps + design.stats.iterations, pricings + len(design.stats.history)
    return steps, pricings


@pytest.mark.parametrize("related", ["fewer-items", "changed-variances", "arms-added", "new-estimate"])
def test_a_design_is_its_own_best_start(related):
    problem = RELATED[related][1]
    cold = cd.solve(problem)
    warm = cd.solve(problem, warm_start=cold)
    assert warm.stats.iterations <= 5 < cold.stats.iterations


def test_gradual_elimination_takes_half_the_work():
    """Items leave a few at a time (benchmarks/warm_start.py has more)."""
    arms = np.random.default_rng(1).standard_normal((200, 10))
    order = np.argsort(-(arms @ np.random.default_rng(5).standard_normal(10)))
    noise = np.random.default_rng(2).uniform(0.2, 3.0, 200)
    left = [200, 186, 172, 159, 147, 136]
    problems = [P.xy_allocation(arms, arms[np.sort(order[:k])], noise_variance=noise) for k in left]
    cold, warm = work(problems, False), work(problems, True)
    assert warm[0] <= 0.6 * cold[0]
    assert warm[1] <= 0.75 * cold[1]


def test_arms_added_at_the_end_take_half_the_work():
    arms = np.random.default_rng(3).standard_normal((4000, 8))
    problems = [P.d_optimal(arms[:k]) for k in (3000, 3200, 3400, 3600, 3800, 4000)]
    cold, warm = work(problems, False), work(problems, True)
    assert warm[0] <= 0.5 * cold[0]
