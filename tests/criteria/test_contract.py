"""What every criterion of THE table promises: a new one is tested from the day it is in the table."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.certificate import vector_bound
from convexdesign.criteria import TABLE, oracle_of
from convexdesign.criteria.exchange import inverse_factor
from convexdesign.criteria.information import Inverses
from convexdesign.criteria.worst_target import SphereTargets
from convexdesign.dual_certificate import DualCertificate
from convexdesign.evaluation import evaluate
from convexdesign.frankwolfe import interior_point, is_for
from convexdesign.problem import canonicalise
from convexdesign.problem.kinds import KINDS
from convexdesign.rigorous import prove
from convexdesign.roundoff import value_error
from convexdesign.solving import METHODS, takes
from convexdesign.verification.equivalence import sensitivities

RNG = np.random.default_rng(11)
N, D = 7, 3
X = RNG.standard_normal((N, D))
NOISE = RNG.uniform(0.5, 2.0, N)
HELD = {"prior_information": np.diag([1.0, 0.5, 0.0]), "n_new": 4}
FIELDS = {
    "targets": RNG.standard_normal((4, D)),
    "items": RNG.standard_normal((4, D)),
    "theta": np.array([1.0, -0.5, 0.25]),
    "threshold": 0.1,
    "direction": np.array([1.0, 1.0, 0.0]),
    "interest": [0, 1],
    "region": RNG.standard_normal((5, D)),
    "M": np.diag([4.0, 1.0, 0.0]),
}


def stated(kind, **common):
    fields = {name: FIELDS[name] for name in KINDS[kind].needs}
    return KINDS[kind].constructor(X, **fields, noise_variance=NOISE, **common)


SMALL = [
    kind for kind in KINDS if kind != "variance-g-optimal"
]  # seven arms do not span its six dimensions as they should
PROBLEMS = {kind: stated(kind) for kind in SMALL} | {f"{kind}, held": stated(kind, **HELD) for kind in SMALL}
each = pytest.mark.parametrize("name", PROBLEMS)
each_kind = pytest.mark.parametrize("kind", SMALL)


def random_weights(seed):
    return np.random.default_rng(seed).dirichlet(np.ones(N))


def test_every_criterion_has_a_kind_of_problem_and_a_method():
    assert {problem.criterion.name for problem in PROBLEMS.values()} == set(TABLE)
    for oracle in TABLE.values():
        assert takes("auto", oracle)
        assert any(takes(method, oracle) for method in METHODS if method != "auto")


@each_kind
def test_twice_the_information_is_worth_twice_the_measurements(kind):
    problem, richer = stated(kind), KINDS[kind].constructor(
        X, **{name: FIELDS[name] for name in KINDS[kind].needs}, noise_variance=NOISE / 2.0
    )  # fmt: skip
    oracle, w = oracle_of(problem), random_weights(1)
    one, two = (evaluate(canonicalise(p), w).value for p in (problem, richer))
    dim = oracle.dimension(canonicalise(problem))
    assert problem.criterion.per_unit(two, 2.0, dim) == pytest.approx(one, rel=1e-9)
    assert problem.criterion.efficiency(one, two, dim) == pytest.approx(0.5, rel=1e-9)
    assert problem.criterion.relative_gap(one, two, dim) == pytest.approx(1.0, rel=1e-9)
    assert problem.criterion.growth(one, two, dim) == pytest.approx(1.0, rel=1e-9)


@each
@pytest.mark.parametrize("seed", range(3))
def test_no_vectors_prove_more_than_is_true(name, seed):
    canonical, rng = canonicalise(PROBLEMS[name]), np.random.default_rng(seed)
    oracle, criterion = oracle_of(canonical), canonical.problem.criterion
    at = evaluate(canonical, random_weights(seed))
    own, vectors = oracle.dual_vectors(canonical, at)
    count = oracle.numbered(canonical.problem)
    others = own if count is None else own[rng.integers(0, own.size, 4)]
    for targets, B in ((own, vectors), (others, rng.standard_normal((others.size, D)))):
        bound, _ = vector_bound(canonical, DualCertificate(targets, B), canonical.problem.weight_set.support)
        for other in range(5):
            assert not criterion.is_better(evaluate(canonical, random_weights(other)).value, bound)


@each
def test_the_derivative_is_that_of_differences(name):
    canonical, w, step = canonicalise(PROBLEMS[name]), random_weights(3), 1e-6
    slopes = oracle_of(canonical).derivatives(canonical, evaluate(canonical, w))
    found = slopes.toward_each_arm()
    for i, arm in enumerate(np.eye(N)):
        low, high = (evaluate(canonical, w + s * (arm - w)).value for s in (-step, step))
        assert found[i] == pytest.approx((high - low) / (2 * step), rel=1e-5, abs=1e-6)
        assert slopes.toward(arm) == pytest.approx(found[i], rel=1e-9, abs=1e-12)


@each
def test_no_arm_exceeds_the_bound_at_an_optimum(name):
    design = cd.solve(PROBLEMS[name], tol=1e-9)
    found = sensitivities(design.canonical, evaluate(design.canonical, design.weights), design.certificate.dual)
    # Values are off by the gap; sensitivities, of first order in the weights, by its root.
    assert found.values.max() <= found.bound * (1.0 + 1e-4)


@each
def test_exchange_gains_are_those_of_recomputation(name):
    canonical = canonicalise(PROBLEMS[name])
    phi = oracle_of(canonical).of_matrix(canonical)
    U = canonical.whiten_arms(np.arange(N))
    M = canonical.information(random_weights(4))
    F = inverse_factor(M)
    out, into = 0.1 * U[:2], 0.4 * U[2:5]
    sphere = isinstance(getattr(phi, "targets", None), SphereTargets)
    gains = phi.swaps(F, out, into)
    groups = phi.swaps(F, out[:, None], into[:, None])
    for i, o in enumerate(out):
        for j, v in enumerate(into):
            direct = phi.value(M - np.outer(o, o) + np.outer(v, v))
            for gain in (gains[i, j], groups[i, j]):
                assert gain <= direct * (1.0 + 1e-9)
                # Of infinitely many targets a few are looked at, which decides what is tried but not what is taken.
                assert sphere or gain == pytest.approx(direct, rel=1e-9)
    assert phi.value(3.0 * M) == pytest.approx(phi.value(M) / 3.0, rel=1e-12)
    assert phi.value(np.zeros_like(M)) == np.inf


@each
def test_cuts_lie_above_and_touch(name):
    canonical = canonicalise(PROBLEMS[name])
    phi = oracle_of(canonical).of_matrix(canonical)
    M = canonical.information(random_weights(5))
    G = phi.cuts(inverse_factor(M), 4)
    assert np.trace(G[0] @ M) == pytest.approx(1.0 / phi.value(M), rel=1e-9)
    for seed in range(6):
        other = canonical.information(random_weights(seed))
        assert np.all(np.einsum("krs,rs->k", G, other) >= (1.0 - 1e-9) / phi.value(other))


@each
def test_the_function_of_the_information_is_the_value_at_weights(name):
    canonical = canonicalise(PROBLEMS[name])
    oracle = oracle_of(canonical)
    phi = oracle.of_matrix(canonical)
    first, second = random_weights(6), random_weights(7)
    one, other = (evaluate(canonical, w).value for w in (first, second))
    ratio = phi.value(canonical.information(second)) / phi.value(canonical.information(first))
    assert canonical.problem.criterion.efficiency(one, other, oracle.dimension(canonical)) == pytest.approx(
        ratio, rel=1e-9
    )


@each
def test_all_methods_and_formulations_find_one_optimum(name):
    problem = PROBLEMS[name]
    oracle = oracle_of(problem)
    formulations = tuple(oracle.formulations(canonicalise(problem)))
    assert set(formulations) <= set(oracle.formulation_names)
    designs = [cd.solve(problem, method="conic", formulation=each, tol=1e-6) for each in formulations]
    if takes("frank-wolfe", oracle):
        designs.append(cd.solve(problem, method="frank-wolfe", tol=1e-6))
    dim = oracle.dimension(canonicalise(problem))
    for design in designs:
        assert design.status is cd.Status.CERTIFIED
        assert problem.criterion.relative_gap(design.value, designs[0].value, dim) < 3e-6
        assert not problem.criterion.is_better(designs[0].value, design.bound)


@each_kind
def test_interior_points_find_the_optimum_within_bounds(kind):
    problem = stated(kind, max_weight=0.3)
    oracle, canonical = oracle_of(problem), canonicalise(problem)
    if not is_for(canonical):
        with pytest.raises(cd.SolverError, match="smooth criteria"):
            interior_point(canonical)
        return
    found, conic = interior_point(canonical, tol=1e-7), cd.solve(problem, method="conic", tol=1e-6)
    value = evaluate(canonical, found.weights).value
    assert problem.criterion.relative_gap(value, conic.value, oracle.dimension(canonical)) < 3e-6


@each
def test_the_smooth_form_has_the_gradient_and_hessian_of_its_value(name):
    canonical = canonicalise(PROBLEMS[name])
    form = oracle_of(canonical).smooth_form
    if form is None:
        return
    U, w = canonical.whiten_arms(np.arange(N)), random_weights(8)

    def at(weights):
        factor = np.linalg.cholesky(canonical.information(weights))
        Z = np.linalg.solve(factor, U.T)
        L, value, size = form.at(factor, np.linalg.solve(factor, canonical.contrast_matrix))
        return value, (form.image(L, Z) ** 2).sum(axis=0), form.hessian(L, Z), size

    _, q, H, size = at(w)
    step = 1e-5
    rise = [(at(w + step * e)[0] - at(w - step * e)[0]) / (2 * step) for e in np.eye(N)]
    np.testing.assert_allclose(q, -np.array(rise), rtol=1e-5, atol=1e-8 * abs(q).max())
    bend = [(at(w - step * e)[1] - at(w + step * e)[1]) / (2 * step) for e in np.eye(N)]
    np.testing.assert_allclose(H, bend, rtol=1e-4, atol=1e-6 * abs(H).max())
    if canonical.prior is None:
        assert w @ q == pytest.approx(size, rel=1e-9)


@each
def test_the_value_in_doubles_lies_in_the_enclosure(name):
    canonical, w = canonicalise(PROBLEMS[name]), random_weights(9)
    oracle, at = oracle_of(canonical), evaluate(canonical, w)
    targets, vectors = oracle.dual_vectors(canonical, at)
    proof = prove(canonical, w, targets, vectors)
    dim = oracle.dimension(canonical)
    off = value_error(canonical, w, at) * (dim if canonical.problem.criterion.logarithmic else abs(at.value))
    assert 0 < off < 1e-9 * max(1.0, abs(at.value))
    assert proof.low - off <= at.value <= proof.high + off
    assert proof.high - proof.low <= 1e-9 * max(1.0, abs(at.value))
    bound, _ = vector_bound(canonical, DualCertificate(targets, vectors), canonical.problem.weight_set.support)
    if not canonical.problem.is_kiefer_wolfowitz:
        assert proof.bound == pytest.approx(bound, rel=1e-9, abs=1e-9)
    assert 0.0 < proof.efficiency <= 1.0


def information_function(problem):
    """Its form, and the vectors that it is taken on, of all targets where they decide."""
    form, L = oracle_of(problem).information_form(problem)
    if L is None:
        index, values = problem.targets.worst(np.eye(D), problem.targets.m)
        L = problem.targets.take(index[values > 0]).T
    return form, L


@pytest.mark.parametrize("kind", [k for k in SMALL if oracle_of(stated(k)).information_form(stated(k)) is not None])
def test_information_functions_are_concave_bounded_by_their_vectors_and_smooth(kind):
    """log Phi(B) <= level + log <VV', B>, the derivatives against differences, and log Phi(cA) = log Phi(A) + log c."""
    problem = stated(kind)
    form, L = information_function(problem)
    Y, rng = problem.arms.take(np.arange(N)), np.random.default_rng(3)

    def at(w, nu=1e-2):
        parts = Inverses.of((Y.T @ (w[:, None] * Y))[None])
        return parts, form.at(parts, L[None], np.array([nu]))

    w, step = random_weights(2), 1e-5
    parts, state = at(w)
    canonical = canonicalise(problem)
    assert state.exact[0] == pytest.approx(form.logarithm(evaluate(canonical, w).value, L), abs=1e-9)
    assert at(3.0 * w)[1].exact[0] == pytest.approx(state.exact[0] + np.log(3.0), abs=1e-9)
    assert at(3.0 * w)[1].values[0] == pytest.approx(state.values[0] + np.log(3.0), abs=1e-9)
    V = state.columns[0]
    for _ in range(50):
        other = rng.dirichlet(np.full(N, 0.7))
        B = Y.T @ (other[:, None] * Y)
        found = Inverses.of(B[None])
        if found is not None:
            exact = form.at(found, L[None], np.array([1e-9])).exact[0]
            assert exact <= state.levels[0] + np.log(np.trace(V.T @ B @ V)) + 1e-9
    moves = step * np.eye(N)
    slopes = [(at(w + e)[1].values[0] - at(w - e)[1].values[0]) / (2 * step) for e in moves]
    np.testing.assert_allclose(np.sum((Y @ V) ** 2, axis=1), slopes, rtol=1e-5, atol=1e-7)
    z = (Y @ parts.half[0].T)[None]
    bend = form.curvature(state, Y[None], z, np.ones(1), np.array([1e-2]))
    around = [np.sum((Y @ at(w + e)[1].columns[0]) ** 2 - (Y @ at(w - e)[1].columns[0]) ** 2, axis=1) for e in moves]
    np.testing.assert_allclose(bend, np.array(around) / (2 * step), rtol=1e-4, atol=1e-4 * np.abs(bend).max())
    assert np.linalg.eigvalsh(bend)[-1] <= 1e-9 * np.abs(bend).max()
    moved = form.moved(state, Y[None], 1e-3 * w * rng.standard_normal(N), np.array([1e-2]))
    if moved is not None:
        other = rng.dirichlet(np.ones(N))
        B = Y.T @ (other[:, None] * Y)
        exact = form.at(Inverses.of(B[None]), L[None], np.array([1e-9])).exact[0]
        assert exact <= moved[0][0] + np.log(np.sum(moved[1][0] * (B @ moved[1][0]))) + 1e-9
