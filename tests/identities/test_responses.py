"""Arms with several responses: what must not change the answer, closed forms, and independent optimisation."""

from __future__ import annotations

import warnings

import independent
import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar

import convexdesign as cd

P = cd.DesignProblem
RNG = np.random.default_rng(31)
N, DIM, R = 7, 4, 2
X = RNG.standard_normal((N, DIM, R))
ROOT = RNG.standard_normal((N, R, R))
S = ROOT @ ROOT.transpose(0, 2, 1) + 0.2 * np.eye(R)
Z = RNG.standard_normal((5, DIM))
M = np.cov(Z.T) + 0.1 * np.eye(DIM)
THETA = np.array([1.0, -0.4, 0.3, 0.7])

# Every kind that takes such arms, from arms and the common keywords.
KINDS = {
    "minimax": lambda arms, **common: P(arms, Z, **common),
    "g": P.g_optimal,
    "xy": lambda arms, **common: P.xy_allocation(arms, Z, **common),
    "level-set": lambda arms, **common: P.level_set_allocation(arms, Z, **common),
    "best-arm": lambda arms, **common: P.best_arm_oracle(arms, Z, theta=THETA, **common),
    "level-set-oracle": lambda arms, **common: P.level_set_oracle(arms, Z, theta=THETA, threshold=0.1, **common),
    "c": lambda arms, **common: P.c_optimal(arms, Z[0], **common),
    "d": P.d_optimal,
    "ds": lambda arms, **common: P.ds_optimal(arms, [0, 2], **common),
    "a": P.a_optimal,
    "i": lambda arms, **common: P.i_optimal(arms, Z, **common),
    "average": lambda arms, **common: P.average_variance(arms, M, **common),
    "e": P.e_optimal,
}
every_kind = pytest.mark.parametrize("kind", KINDS)
# With targets of their own, so that the arms may change.
WITHOUT_G = [kind for kind in KINDS if kind != "g"]


def information(weights, arms=X, covariance=S, prior=None):
    A = sum(w * x @ np.linalg.inv(s) @ x.T for w, x, s in zip(weights, arms, covariance))
    return A if prior is None else A + prior


def targets_of(kind, arms=X):
    score = Z @ THETA
    best = int(np.argmax(score))
    i, j = np.triu_indices(len(Z), 1)
    return {
        "g": arms.transpose(0, 2, 1).reshape(-1, arms.shape[1]),
        "xy": Z[i] - Z[j],
        "best-arm": (Z[best] - np.delete(Z, best, 0)) / (score[best] - np.delete(score, best))[:, None],
        "level-set-oracle": Z / (score - 0.1)[:, None],
        "c": Z[:1],
    }.get(kind, Z)


def criterion(kind, A, arms=X):
    """The criterion of an information matrix, written out."""
    C = np.linalg.inv(A)
    match kind:
        case "d":
            return np.linalg.slogdet(A)[1]
        case "ds":
            return -np.linalg.slogdet(C[np.ix_([0, 2], [0, 2])])[1]
        case "a":
            return np.trace(C)
        case "i":
            return np.mean(np.einsum("ij,jk,ik->i", Z, C, Z))
        case "average":
            return np.trace(C @ M)
        case "e":
            return np.linalg.eigvalsh(A)[0]
    V = targets_of(kind, arms)
    return np.einsum("ij,jk,ik->i", V, C, V).max()


def maximised(kind):
    return kind in ("d", "ds", "e")


def bound_of(design, kind, arms, covariance, prior=None):
    """The bound that the certificate's vectors prove, from exact sensitivities."""
    B, chosen = design.certificate.dual.vectors, design.certificate.dual.targets
    B = B / np.abs(B).max()
    held = 0.0 if prior is None else np.einsum("jk,kl,jl->", B, prior, B)
    most = held + independent.sensitivities(arms, covariance, B).max()
    d = arms.shape[1]
    match kind:
        case "d":
            return d * np.log(most / d) - 2 * np.linalg.slogdet(B)[1]
        case "ds":
            return 2 * np.log(most / 2) - 2 * np.linalg.slogdet(B[:, [0, 2]])[1]
        case "e":
            return most / (B**2).sum()
        case "a" | "i" | "average":
            return np.sum(B * design.problem.contrast_matrix.T[chosen]) ** 2 / most
    V = design.problem.targets.take(chosen)
    return ((B * V).sum(axis=1) ** 2).sum() / most


def slopes(kind, w):
    """The derivative of the criterion in each weight, written out; of a maximum that of one worst target."""
    A = information(w)
    C = np.linalg.inv(A)
    each = np.array([x @ np.linalg.inv(s) @ x.T for x, s in zip(X, S)])
    if kind == "d":
        return np.einsum("ijk,kj->i", each, C)
    if kind == "e":
        u = np.linalg.eigh(A)[1][:, 0]
        return np.einsum("j,ijk,k->i", u, each, u)
    if kind == "ds":
        K = np.eye(DIM)[:, [0, 2]]
        B = C @ K @ np.linalg.inv(K.T @ C @ K) @ K.T @ C
        return np.einsum("ijk,kj->i", each, B)
    if kind in ("a", "i", "average"):
        moments = {"a": np.eye(DIM), "i": Z.T @ Z / len(Z), "average": M}[kind]
        return -np.einsum("ijk,kj->i", each, C @ moments @ C)
    V = targets_of(kind)
    b = C @ V[np.argmax(np.einsum("ij,jk,ik->i", V, C, V))]
    return -np.einsum("j,ijk,k->i", b, each, b)


def by_cutting_planes(kind, rounds=250):
    """Kelley's method with SciPy's linear programs: the best value met and a bound that no weights beat."""
    sign = -1.0 if maximised(kind) else 1.0
    w = best = np.full(N, 1 / N)
    least, cuts, levels = np.inf, [], []
    for _ in range(rounds):
        value, slope = sign * criterion(kind, information(w)), sign * slopes(kind, w)
        if value < least:
            best, least = w, value
        cuts.append(np.append(slope, -1.0))
        levels.append(slope @ w - value)
        found = linprog(
            np.append(np.zeros(N), 1.0),
            A_ub=np.array(cuts),
            b_ub=np.array(levels),
            A_eq=[np.append(np.ones(N), 0.0)],
            b_eq=[1.0],
            bounds=[(0, None)] * N + [(None, None)],
        )
        if least - found.fun <= 2e-6 * abs(least):
            break
        # Between the proposal and the best point: there the criterion is finite.
        w = (found.x[:N] + best) / 2
    return sign * least, sign * found.fun


@every_kind
def test_optimum_by_cutting_planes_that_share_nothing(kind):
    design = cd.solve(KINDS[kind](X, noise_variance=S), tol=1e-9)
    assert design.value == pytest.approx(criterion(kind, information(design.weights)), rel=1e-9)
    found, bound = by_cutting_planes(kind)
    assert found == pytest.approx(design.value, rel=1e-5)
    assert bound == pytest.approx(design.bound, rel=1e-5)
    sign = -1.0 if maximised(kind) else 1.0
    assert sign * found >= sign * design.bound - 1e-9 * abs(design.bound)
    assert sign * bound <= sign * design.value + 1e-9 * abs(design.value)


@every_kind
@pytest.mark.parametrize("method", ["auto", "conic"])
def test_certificates_hold_in_exact_arithmetic(kind, method):
    design = cd.solve(KINDS[kind](X, noise_variance=S), method=method)
    assert design.status is cd.Status.CERTIFIED
    assert design.value == pytest.approx(criterion(kind, information(design.weights)), rel=1e-9)
    assert design.bound == pytest.approx(bound_of(design, kind, X, S), rel=1e-8, abs=1e-9)
    np.testing.assert_allclose(design.information, information(design.weights), rtol=1e-10, atol=1e-12)


@every_kind
def test_one_response_is_exactly_an_ordinary_arm(kind):
    rows, noise = X[:, :, 0], S[:, 0, 0]
    ordinary = cd.solve(KINDS[kind](rows, noise_variance=noise))
    for given in (noise, noise[:, None], noise[:, None, None]):
        single = cd.solve(KINDS[kind](rows[:, :, None], noise_variance=given))
        np.testing.assert_array_equal(single.weights, ordinary.weights)
        assert (single.value, single.bound) == (ordinary.value, ordinary.bound)
    listed = cd.solve(KINDS[kind]([x[:, None] for x in rows], noise_variance=noise))
    np.testing.assert_array_equal(listed.weights, ordinary.weights)


def same(design, other, rel=1e-6):
    """The same problem: equal values and, since optima may be many, equally good weights."""
    assert other.value == pytest.approx(design.value, rel=rel, abs=1e-9)
    assert cd.verify(other.problem, design.weights).efficiency == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("kind", WITHOUT_G)
def test_whitening_by_hand_changes_nothing(kind):
    L = np.linalg.cholesky(S)
    whitened = np.linalg.solve(L, X.transpose(0, 2, 1)).transpose(0, 2, 1)
    same(cd.solve(KINDS[kind](X, noise_variance=S)), cd.solve(KINDS[kind](whitened)))


@pytest.mark.parametrize("kind", WITHOUT_G)
def test_invertible_combinations_of_the_responses_change_nothing(kind):
    """X_i R and R'S_iR: the same measurement, other numbers read off it."""
    C = np.random.default_rng(5).standard_normal((N, R, R)) * 10.0 ** np.arange(-3, 4)[:, None, None]
    mixed = KINDS[kind](X @ C, noise_variance=C.transpose(0, 2, 1) @ S @ C)
    same(cd.solve(KINDS[kind](X, noise_variance=S)), cd.solve(mixed))


@every_kind
@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.9])
def test_the_same_response_twice_is_one_with_less_noise(kind, rho):
    """Its mean has variance s^2 (1 + rho) / 2; twins without correlation are twice as good as one."""
    rows = RNG.standard_normal((8, DIM))
    noise = np.linspace(0.5, 3.0, 8)
    twins = KINDS[kind](
        np.stack([rows, rows], axis=2), noise_variance=noise[:, None, None] * np.array([[1, rho], [rho, 1]])
    )
    same(cd.solve(KINDS[kind](rows, noise_variance=noise * (1 + rho) / 2)), cd.solve(twins))


@every_kind
def test_a_silent_response_tells_only_what_it_shares_of_the_noise(kind):
    """A response without signal is worthless alone; correlated, it removes a part rho^2 of the other's noise."""
    rows = RNG.standard_normal((8, DIM))
    arms = np.stack([rows, np.zeros_like(rows)], axis=2)
    ordinary = cd.solve(KINDS[kind](rows))
    same(ordinary, cd.solve(KINDS[kind](arms, noise_variance=np.array([1.0, 7.0]) * np.ones((8, 1)))))
    informed = cd.solve(KINDS[kind](arms, noise_variance=np.tile([[1.0, 1.2], [1.2, 4.0]], (8, 1, 1))))
    same(cd.solve(KINDS[kind](rows, noise_variance=1 - 0.36)), informed)


def test_blocks_of_parameters_measured_apart_add_up():
    """X_i = diag(x_i, z_i) with independent noise: log det is a sum, and so is tr A^-1."""
    x, z = RNG.standard_normal((6, 2)), RNG.standard_normal((6, 3))
    arms = np.zeros((6, 5, 2))
    arms[:, :2, 0], arms[:, 2:, 1] = x, z
    noise = RNG.uniform(0.5, 2, (6, 2))
    for make in (P.d_optimal, P.a_optimal):
        design = cd.solve(make(arms, noise_variance=noise))
        first = cd.verify(make(x, noise_variance=noise[:, 0]), design.weights).value
        second = cd.verify(make(z, noise_variance=noise[:, 1]), design.weights).value
        assert design.value == pytest.approx(first + second, rel=1e-9)


@pytest.mark.parametrize("r", [2, 3, 4])
def test_orthonormal_blocks_are_measured_equally(r):
    """Six blocks that together make an orthonormal basis of R^6r: det A = prod w_i^r."""
    basis = np.linalg.qr(np.random.default_rng(r).standard_normal((6 * r, 6 * r)))[0]
    arms = basis.reshape(6 * r, 6, r).transpose(1, 0, 2)
    for make, value in ((P.d_optimal, -6 * r * np.log(6)), (P.a_optimal, 36 * r), (P.e_optimal, 1 / 6)):
        design = cd.solve(make(arms), tol=1e-9)
        np.testing.assert_allclose(design.weights, 1 / 6, atol=1e-4)
        assert design.value == pytest.approx(value, rel=1e-8)
    assert cd.solve(P.g_optimal(arms)).value == pytest.approx(6, rel=1e-6)


@every_kind
def test_two_full_arms_against_one_dimensional_search(kind):
    """Two arms with as many responses as parameters: A = w N_1 + (1 - w) N_2, a search over w."""
    arms = np.random.default_rng(6).standard_normal((2, DIM, DIM))
    covariance = np.stack([np.eye(DIM), np.diag([0.5, 1.0, 2.0, 4.0]) + 0.3])
    sign = -1.0 if maximised(kind) else 1.0
    found = minimize_scalar(
        lambda w: sign * criterion(kind, information([w, 1 - w], arms, covariance), arms),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-10},
    )
    design = cd.solve(KINDS[kind](arms, noise_variance=covariance), tol=1e-9)
    assert design.value == pytest.approx(sign * found.fun, rel=1e-7)


@every_kind
def test_one_arm_alone(kind):
    """A single arm that measures everything: there is nothing to choose."""
    arms = np.random.default_rng(7).standard_normal((1, DIM, 5))
    design = cd.solve(KINDS[kind](arms, noise_variance=2.0))
    assert design.weights.tolist() == [1.0]
    assert design.value == pytest.approx(criterion(kind, arms[0] @ arms[0].T / 2, arms), rel=1e-9)


@every_kind
def test_costs_divide_the_information(kind):
    costs = RNG.uniform(0.3, 4, N)
    priced = cd.solve(KINDS[kind](X, noise_variance=S, costs=costs))
    dearer = KINDS[kind](X, noise_variance=S * costs[:, None, None])
    same(priced, cd.solve(dearer))


@every_kind
def test_information_held_however_it_is_given(kind):
    counts = np.array([3.0, 0, 1, 0, 2, 0, 0])
    held = information(counts)
    by_counts = cd.solve(KINDS[kind](X, noise_variance=S, existing_counts=counts, n_new=9))
    by_matrix = KINDS[kind](X, noise_variance=S, prior_information=held, n_new=9)
    same(by_counts, cd.solve(by_matrix))
    assert by_counts.value == pytest.approx(criterion(kind, information(by_counts.weights, prior=held / 9)), rel=1e-9)
    assert by_counts.bound == pytest.approx(bound_of(by_counts, kind, X, S, held / 9), rel=1e-8, abs=1e-9)


@every_kind
def test_constraints_hold_and_cost_something(kind):
    free = cd.solve(KINDS[kind](X, noise_variance=S))
    heaviest = int(np.argmax(free.weights))
    capped = cd.solve(KINDS[kind](X, noise_variance=S, max_weight=0.6 * free.weights[heaviest] + 0.05))
    assert capped.status is cd.Status.CERTIFIED
    assert capped.weights.max() <= 0.6 * free.weights[heaviest] + 0.05 + 1e-9
    row = np.eye(N)[[heaviest]]
    linear = cd.solve(KINDS[kind](X, noise_variance=S, inequalities=(row, [0.1])))
    called = cd.solve(KINDS[kind](X, noise_variance=S, constraints=lambda w: [w[heaviest] <= 0.1]))
    assert linear.value == pytest.approx(called.value, rel=1e-5, abs=1e-6)
    sign = -1.0 if maximised(kind) else 1.0
    assert sign * linear.value > sign * free.value
    assert sign * capped.value >= sign * free.value - 1e-6 * abs(free.value)


def test_arms_that_span_only_together():
    """Each arm sees two of six parameters; D, A and G are those of six means measured in pairs."""
    arms = [np.eye(6)[:, [a, b]] for a, b in ((0, 1), (2, 3), (4, 5))]
    assert cd.solve(P.a_optimal(arms)).value == pytest.approx(18)
    assert cd.solve(P.g_optimal(arms)).value == pytest.approx(3)
    assert cd.solve(P.d_optimal(arms)).value == pytest.approx(-6 * np.log(3))


def test_arms_that_do_not_span():
    """On the range everything works, in whatever coordinates; outside it the target is named."""
    T = RNG.standard_normal((6, DIM))
    wide = T @ X  # rank 4 in R^6
    for make, other in ((P.g_optimal, 1.0), (P.d_optimal, None)):
        design, small = cd.solve(make(wide, noise_variance=S)), cd.solve(make(X, noise_variance=S))
        if other is not None:
            assert design.value == pytest.approx(small.value, rel=1e-6)
        assert cd.verify(small.problem, design.weights).efficiency == pytest.approx(1, abs=1e-6)
    with pytest.raises(cd.UnidentifiableError, match="target 1 lies outside the range of the arms"):
        cd.solve(P(wide, [T @ Z[0], np.eye(6)[0]], noise_variance=S))
    with pytest.raises(cd.UnidentifiableError, match="aliased"):
        cd.solve(P.a_optimal(wide, noise_variance=S))


def test_scales_of_the_coordinates_do_not_matter():
    """Coordinates 10^6 apart and responses of very different noise: minimax and D keep their weights' quality."""
    scale = 10.0 ** np.array([-6.0, 0.0, 3.0, 6.0])
    noise = S * 10.0 ** np.array([-4.0, 4.0])[:, None] * 10.0 ** np.array([-4.0, 4.0])
    plain = cd.solve(P(X, Z, noise_variance=noise))
    scaled = cd.solve(P(X * scale[:, None], Z * scale, noise_variance=noise))
    assert scaled.value == pytest.approx(plain.value, rel=1e-6)
    assert cd.solve(P.d_optimal(X * scale[:, None], noise_variance=noise)).value == pytest.approx(
        cd.solve(P.d_optimal(X, noise_variance=noise)).value + 2 * np.log(scale).sum(), rel=1e-6
    )


def test_proportional_arms_are_merged_and_all_programs_agree():
    """An arm three times as loud replaces its copy; the optimum may not depend on copies at all."""
    arms = np.concatenate([X, X[:3] / 3.0, X[:2, :, ::-1]])
    noise = np.concatenate([S, S[:3], S[:2, ::-1, ::-1]])
    once = cd.solve(P(X, Z, noise_variance=S))
    for formulation in ("socp", "sdp", "dual-socp", "matrix-fractional"):
        design = cd.solve(P(arms, Z, noise_variance=noise), method="conic", formulation=formulation)
        assert design.value == pytest.approx(once.value, rel=2e-6)
    assert design.canonical.merged.size == N


def test_many_arms_are_generated():
    """Thousands of arms: Frank-Wolfe and a conic program with column generation agree within their gaps."""
    rng = np.random.default_rng(9)
    arms, items = rng.standard_normal((3000, 5, 3)), rng.standard_normal((40, 5))
    noise = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.1], [0.2, 0.1, 2.0]])[None]
    for problem in (P.xy_allocation(arms, items, noise_variance=noise), P.d_optimal(arms, noise_variance=noise)):
        first, second = (cd.solve(problem, method=method) for method in ("frank-wolfe", "conic"))
        assert first.status is second.status is cd.Status.CERTIFIED
        assert first.value == pytest.approx(second.value, rel=3e-6)


def test_warm_starts_from_fewer_items():
    items = RNG.standard_normal((30, DIM))
    problem = P.xy_allocation(X, items[:25], noise_variance=S)
    before = cd.solve(P.xy_allocation(X, items, noise_variance=S))
    warm, cold = cd.solve(problem, warm_start=before), cd.solve(problem)
    assert warm.status is cd.Status.CERTIFIED
    assert warm.value == pytest.approx(cold.value, rel=2e-6)


@pytest.mark.parametrize("method", ["frank-wolfe-vanilla", "frank-wolfe-away", "multiplicative"])
def test_classic_methods_approach_the_d_optimum(method):
    problem = P.d_optimal(X, noise_variance=S)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.ConvergenceWarning)
        design = cd.solve(problem, method=method, max_iter=400, tol=1e-12)
    assert design.gap < 0.02
    assert design.value <= cd.solve(problem).bound + 1e-9
