"""Designs for several problems at once against closed forms, other designs, and the equivalence theorem recomputed."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

import convexdesign as cd

D = cd.DesignProblem
QUADRATIC = np.array([[1.0, -1, 1], [1, 0, 0], [1, 1, 1]])


def information(rows, w):
    return rows.T @ (w[:, None] * rows)


def solved(problem):
    design = cd.solve(problem)
    assert design.status is cd.Status.CERTIFIED
    assert 0 <= design.gap <= 1e-6
    assert design.weights.sum() == pytest.approx(1, abs=1e-12)
    return design


def test_one_problem_is_itself():
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(40, 4))
    alone = cd.solve(D.d_optimal(arms))
    assert solved(D.compound([D.d_optimal(arms)])).value == pytest.approx(alone.value / 4, abs=1e-6)
    assert solved(D.maximin([D.a_optimal(arms)])).value == pytest.approx(1.0, abs=2e-6)


def test_a_weighted_mean_of_d_and_a_for_a_quadratic():
    # By symmetry weights w, 1 - 2w, w: det = 4w^2(1 - 2w) and tr A^-1 = (3/2 - ...) from the inverse itself.
    def value(w):
        A = information(QUADRATIC, np.array([w, 1 - 2 * w, w]))
        return 0.7 * np.linalg.slogdet(A)[1] / 3 - 0.3 * np.log(np.trace(np.linalg.inv(A)))

    best = minimize_scalar(lambda w: -value(w), bounds=(0.05, 0.45), method="bounded", options={"xatol": 1e-12})
    design = solved(D.compound([D.d_optimal(QUADRATIC), D.a_optimal(QUADRATIC)], weights=[7, 3]))
    assert design.value == pytest.approx(-best.fun, abs=1e-6)
    np.testing.assert_allclose(design.weights, [best.x, 1 - 2 * best.x, best.x], atol=1e-3)


def test_the_least_efficiency_of_d_and_of_the_slope():
    # The slope has variance 1/(2w), at best 1: efficiency 2w. D: (4w^2(1 - 2w) / (4/27))^(1/3). They meet.
    w = brentq(lambda w: 2 * w - (27 * w**2 * (1 - 2 * w)) ** (1 / 3), 0.35, 0.49)
    design = solved(D.maximin([D.d_optimal(QUADRATIC), D.c_optimal(QUADRATIC, [0, 1, 0])]))
    assert design.value == pytest.approx(2 * w, rel=2e-6)
    np.testing.assert_allclose(design.efficiencies, 2 * w, rtol=2e-6)
    np.testing.assert_allclose(design.weights, [w, 1 - 2 * w, w], atol=1e-4)


def random_problems(seed, n=60):
    rng = np.random.default_rng([41, seed])
    made = []
    for k in range(4):
        d = int(rng.integers(2, 5))
        arms = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, size=d)
        noise = rng.uniform(0.5, 2, size=n)
        c, V = rng.normal(size=d), rng.normal(size=(7, d))
        kind, problem = (
            ("det", D.d_optimal(arms, noise_variance=noise)),
            ("least", D.e_optimal(arms, noise_variance=noise)),
            (c[None, :], D.c_optimal(arms, c, noise_variance=noise)),
            (V, D(arms, V, noise_variance=noise)),
            ("trace", D.a_optimal(arms, noise_variance=noise)),
        )[(k + seed) % 5]
        made.append((arms, noise, kind, problem))
    return made, rng


def log_phi(arms, noise, kind, w):
    """log det / d, log of the least eigenvalue, minus that of the trace of the inverse or of the worst target's variance."""
    A = information(arms / np.sqrt(noise)[:, None], w)
    if isinstance(kind, np.ndarray):
        return -np.log(np.sum(kind.T * np.linalg.solve(A, kind.T), axis=0).max())
    sizes = np.linalg.eigvalsh(A)
    return {"det": np.log(sizes).mean(), "least": np.log(sizes[0]), "trace": -np.log(np.sum(1 / sizes))}[kind]


@pytest.mark.parametrize("seed", range(6))
def test_no_design_is_better_than_the_bound(seed):
    made, rng = random_problems(seed)
    a = rng.dirichlet(np.ones(4))
    problems = [problem for *_, problem in made]
    design, worst = solved(D.compound(problems, a)), solved(D.maximin(problems))
    values = np.array([log_phi(*parts, design.weights) for *parts, _ in made])
    np.testing.assert_allclose(design.values, values, atol=1e-9)
    assert design.value == pytest.approx(a @ values, abs=1e-9)
    best = np.array([log_phi(*parts, cd.solve(problem, tol=1e-8).weights) for *parts, problem in made])
    efficiencies = np.exp(np.array([log_phi(*parts, worst.weights) for *parts, _ in made]) - best)
    np.testing.assert_allclose(worst.efficiencies, efficiencies, rtol=1e-5)
    assert worst.value == pytest.approx(efficiencies.min(), rel=1e-5)
    for _ in range(300):
        # Other designs: far away, and near the one found.
        near = (
            design.weights * rng.lognormal(0, 0.05, size=60) if rng.random() < 0.5 else rng.dirichlet(np.full(60, 0.2))
        )
        w = near / near.sum()
        other = np.array([log_phi(*parts, w) for *parts, _ in made])
        assert a @ other <= design.bound + 1e-9
        assert np.exp(other - best).min() <= worst.bound * (1 + 1e-6)


def test_information_held_and_costs_are_counted():
    rng = np.random.default_rng(3)
    arms, held = rng.normal(size=(30, 3)), np.diag([5.0, 1.0, 0.1])
    common = {"prior_information": held, "n_new": 2, "costs": rng.uniform(1, 3, size=30)}
    assert solved(D.compound([D.d_optimal(arms, **common)])).value == pytest.approx(
        cd.solve(D.d_optimal(arms, **common)).value / 3, abs=1e-6
    )
    for problem, sign in ((D.e_optimal(arms, **common), 1), (D.g_optimal(arms, **common), -1)):
        assert solved(D.compound([problem])).value == pytest.approx(sign * np.log(cd.solve(problem).value), abs=2e-6)
    assert solved(D.maximin([D.e_optimal(arms, **common)])).value == pytest.approx(1.0, abs=2e-6)


@pytest.mark.parametrize("share", [0.4, 0.7])
def test_the_least_eigenvalue_and_the_determinant_of_two_axes(share):
    # Arms e1 and 2 e2 with weights w, 1 - w: eigenvalues w and 4(1 - w), and the mean of logarithms is largest at
    # w = (1 + share)/2 as long as w is the smaller of the two, w <= 4/5, which is where it stays beyond.
    arms = np.diag([1.0, 2.0])
    w = min((1 + share) / 2, 0.8)
    design = solved(D.compound([D.e_optimal(arms), D.d_optimal(arms)], [share, 1 - share]))
    np.testing.assert_allclose(design.weights, [w, 1 - w], atol=1e-5)
    assert design.value == pytest.approx(share * np.log(w) + (1 - share) / 2 * np.log(4 * w * (1 - w)), abs=1e-6)
    scaled = solved(D.compound([D.e_optimal(50 * arms), D.d_optimal(0.01 * arms)], [share, 1 - share]))
    np.testing.assert_allclose(scaled.weights, design.weights, atol=1e-5)
    shift = share * np.log(50**2) + (1 - share) * np.log(0.01**2)
    assert scaled.value == pytest.approx(design.value + shift, abs=1e-6)


def test_units_that_differ_by_a_million_leave_the_least_eigenvalue_its_digits():
    arms = np.random.default_rng(0).normal(size=(60, 3)) * [1, 1e6, 1]
    design = solved(D.compound([D.e_optimal(arms), D.d_optimal(arms)]))
    # Without the large coordinate, of which the others are nearly free: the Schur complement, from exact sums.
    A = information(arms, design.weights)
    small, side = A[np.ix_([0, 2], [0, 2])], A[[0, 2], 1]
    least = np.linalg.eigvalsh(small - np.outer(side, side) / A[1, 1])[0]
    assert design.values[0] == pytest.approx(np.log(least), abs=1e-9)


def program(X, c, V, best=None):
    """max over w of the mean logarithm of det^(1/d), 1/tr A^-1, 1/c'A^-1c, 1/max v'A^-1v and lam_min, or of the least ratio.

    u <= 1/v'A^-1v is [[A, uv], [uv', u]] >= 0, and u <= 1/tr A^-1 is [[A, uI], [uI, Z]] >= 0 with tr Z <= u.
    """
    import cvxpy as cp

    n, d = X.shape
    w, u, Z = cp.Variable(n, nonneg=True), cp.Variable(4, nonneg=True), cp.Variable((d, d), symmetric=True)
    A = X.T @ cp.diag(w) @ X
    limits = [cp.sum(w) == 1, cp.trace(Z) <= u[0], A - u[3] * np.eye(d) >> 0]
    limits.append(cp.bmat([[A, u[0] * np.eye(d)], [u[0] * np.eye(d), Z]]) >> 0)
    for k, v in [(1, c), *((2, v) for v in V)]:
        side = cp.reshape(u[k] * v, (d, 1), order="C")
        limits.append(cp.bmat([[A, side], [side.T, cp.reshape(u[k], (1, 1), order="C")]]) >> 0)
    logs = cp.hstack([cp.log_det(A) / d, cp.log(u)])
    goal = cp.sum(logs) / 5 if best is None else cp.min(logs - best)
    return float(cp.Problem(cp.Maximize(goal), limits).solve(solver="CLARABEL"))


def test_a_conic_program_has_the_same_optimum():
    rng = np.random.default_rng(12)
    X, c, V = rng.normal(size=(25, 3)), rng.normal(size=3), rng.normal(size=(4, 3))
    problems = [D.d_optimal(X), D.a_optimal(X), D.c_optimal(X, c), D(X, V), D.e_optimal(X)]
    assert solved(D.compound(problems)).value == pytest.approx(program(X, c, V), abs=2e-6)
    worst = solved(D.maximin(problems))
    best = np.array([log_phi(X, np.ones(25), kind, cd.solve(p, tol=1e-8).weights) for kind, p in zip(
        ("det", "trace", c[None, :], V, "least"), problems
    )])  # fmt: skip
    assert worst.value == pytest.approx(np.exp(program(X, c, V, best)), rel=2e-6)


def test_many_targets_are_generated_and_all_of_them_judged():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 4))
    design = solved(D.maximin([D.e_optimal(X), D.xy_allocation(X, items=X[:60])]))
    A = information(X, design.weights)
    pairs = (X[:60, None, :] - X[None, :60, :]).reshape(-1, 4)
    worst = np.einsum("ij,ij->i", pairs, np.linalg.solve(A, pairs.T).T).max()
    np.testing.assert_allclose(design.values, [np.log(np.linalg.eigvalsh(A)[0]), -np.log(worst)], atol=1e-9)
    # The equivalence theorem of the bound, from what the design says: no other design has more than it.
    for _ in range(200):
        w = design.weights * rng.lognormal(0, 0.05, size=400)
        A = information(X, w / w.sum())
        own = -np.log(np.einsum("ij,ij->i", pairs, np.linalg.solve(A, pairs.T).T).max())
        other = np.array([np.log(np.linalg.eigvalsh(A)[0]), own])
        assert np.exp(other - design.values + np.log(design.efficiencies)).min() <= design.bound + 1e-9


def test_a_prior_of_many_parameter_values_on_many_arms():
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(20_000), rng.uniform(-2, 2, size=(20_000, 2))])
    thetas = rng.normal(size=(10, 3))
    weights = [1 / (2 + np.exp(X @ t) + np.exp(-X @ t)) for t in thetas]
    design = solved(D.compound([D.d_optimal(X * np.sqrt(nu)[:, None]) for nu in weights]))
    # The equivalence theorem, from the weights alone.
    phi = np.zeros(len(X))
    for nu in weights:
        A = information(X * np.sqrt(nu)[:, None], design.weights)
        phi += nu * np.einsum("ij,jk,ik->i", X, np.linalg.inv(A), X) / 3 / 10
    assert phi.max() <= 1 + 2e-6


BAD = {
    "nothing": (lambda: D.compound([]), "empty"),
    "no list": (lambda: D.compound(D.d_optimal(QUADRATIC)), "a list of problems"),
    "no problem": (lambda: D.compound([1]), "problem 0 is of type int"),
    "other arms": (lambda: D.maximin([D.d_optimal(QUADRATIC), D.d_optimal(np.eye(2))]), "problem 1 has 2 arms"),
    "criterion": (lambda: D.maximin([D.phi2_optimal(QUADRATIC)]), "take D, D_s, A"),
    "weights": (lambda: D.compound([D.d_optimal(QUADRATIC)], [1, 2]), "weights has the shape"),
    "zero": (lambda: D.compound([D.d_optimal(QUADRATIC)] * 2, [1, 0]), "positive weights"),
    "constraints": (lambda: D.compound([D.d_optimal(QUADRATIC, max_weight=0.5)]), "constraints on the weights"),
    "region": (
        lambda: D.compound(
            [D.d_optimal(QUADRATIC), D.d_optimal(cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1))))]
        ),
        "problem 1 is over a region",
    ),
    "costs": (
        lambda: D.compound([D.d_optimal(QUADRATIC, costs=[1, 2, 1]), D.d_optimal(QUADRATIC)]),
        "problem 1 has other costs",
    ),
    "method": (lambda: cd.solve(D.compound([D.d_optimal(QUADRATIC)]), method="conic"), "method is not known"),
    "rank": (lambda: cd.solve(D.compound([D.d_optimal([[1.0, 0], [2, 0]])])), "do not span"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_what_does_not_fit_together_is_refused_in_words(name):
    make, message = BAD[name]
    with pytest.raises(cd.ConvexDesignError, match=message):
        make()


def test_a_part_of_the_parameters_is_an_information_function():
    rng = np.random.default_rng(7)
    arms = rng.normal(size=(40, 4))
    alone, d = D.ds_optimal(arms, [1, 3]), D.d_optimal(arms)
    assert solved(D.compound([alone])).value == pytest.approx(cd.solve(alone).value / 2, abs=1e-6)
    design = solved(D.compound([alone, d], [1, 2]))
    A = information(arms, design.weights)
    inner = np.linalg.inv(A)[np.ix_([1, 3], [1, 3])]
    values = [-np.linalg.slogdet(inner)[1] / 2, np.linalg.slogdet(A)[1] / 4]
    assert design.value == pytest.approx(values @ np.array([1, 2]) / 3, abs=1e-9)
    assert solved(D.maximin([alone, d])).efficiencies.min() > 0.8
