"""Design.round on problems of every kind: totals, certified efficiencies, guarantees, limits."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd

P = cd.DesignProblem
RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
S2 = RNG.uniform(0.5, 3.0, 12)

PROBLEMS = {
    "G": P.g_optimal(X),
    "G with noise": P.g_optimal(X, noise_variance=S2),
    "XY": P.xy_allocation(X, noise_variance=S2),
    "level set": P.level_set_allocation(X, items=X[:4] + 0.1),
    "best-arm oracle": P.best_arm_oracle(X, theta=X[0], noise_variance=S2),
    "level-set oracle": P.level_set_oracle(X, theta=X[0], threshold=0.3),
    "c": P.c_optimal(X, [1.0, 2.0, -1.0]),
    "D": P.d_optimal(X, noise_variance=S2),
    "D_s": P.ds_optimal(X, [0, 2]),
    "A": P.a_optimal(X),
    "I": P.i_optimal(X, region=X[:5]),
    "E": P.e_optimal(X),
    "phi": P.variance_g_optimal(X),
    "G with information held": P.g_optimal(X, existing_counts=np.arange(12), n_new=20),
}
METHODS = ["auto", "ceil", "apportion", "regret", "exchange"]


@pytest.fixture(scope="module")
def designs():
    return {name: cd.solve(problem) for name, problem in PROBLEMS.items()}


def textbook_value(problem, counts, n):
    """The criterion per observation, written out on the arms as given; information held counts as n A0."""
    Y = problem.arms.take(np.arange(problem.n_arms))
    M = (Y * counts[:, None]).T @ Y
    if problem.prior is not None:
        M = M + n * problem.prior
    C = np.linalg.inv(M / counts.sum())
    match problem.criterion.name:
        case "D":
            return -np.linalg.slogdet(C)[1]
        case "DS":
            return -np.linalg.slogdet(problem.contrast_matrix.T @ C @ problem.contrast_matrix)[1]
        case "E":
            return 1 / np.linalg.eigvalsh(C)[-1]
        case "AVERAGE":
            return np.trace(problem.contrast_matrix.T @ C @ problem.contrast_matrix)
    if problem.kind == "xy-allocation":
        return max((a - b) @ C @ (a - b) for a in X for b in X)
    return max(t @ C @ t for t in problem.targets.take(np.arange(problem.targets.m)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_value_and_efficiency_follow_from_the_counts(designs, name, method):
    design, problem, n = designs[name], PROBLEMS[name], 20
    e = design.round(n, method)
    assert e.counts.dtype == np.int64
    assert e.counts.shape == (12,)
    assert e.total == e.counts.sum()
    if method == "ceil":
        assert n <= e.total <= n + design.support.size
    else:
        assert e.total == n
    value = textbook_value(problem, e.counts, n)
    assert e.value == pytest.approx(value, rel=1e-7)
    match problem.criterion.name:
        case "MINIMAX":
            assert e.max_variance == pytest.approx(value / e.total, rel=1e-7)
            expected = design.lower_bound / (e.total * e.max_variance)
        case "AVERAGE":
            expected = design.lower_bound / value
        case "D" | "DS":
            expected = np.exp((value - design.bound) / (3 if name == "D" else 2))
        case "E":
            expected = value / design.bound
    assert e.efficiency == pytest.approx(min(expected, 1.0), rel=1e-6)
    # Certified: no whole-number design beats the best proportions.
    assert 0 < e.efficiency <= 1


@pytest.mark.parametrize("name", [k for k, p in PROBLEMS.items() if p.criterion.name == "MINIMAX"])
def test_ceil_never_has_a_larger_variance_than_promised(designs, name):
    design = designs[name]
    for n in (5, 17, 1000):
        e = design.round(n, "ceil")
        assert e.max_variance <= design.value / n * (1 + 1e-9)
        assert e.total <= n + design.support.size


@pytest.mark.parametrize("name", ["G", "XY", "D", "A", "E"])
def test_optimal_is_at_least_as_good_as_every_other_method(designs, name):
    best = designs[name].round(7, "optimal", time_limit=20)
    assert best.optimality_gap <= 1e-5
    for method in ("auto", "apportion", "regret", "exchange"):
        other = designs[name].round(7, method)
        assert other.efficiency <= best.efficiency * (1 + 1e-5)
        assert other.optimality_gap is None


def test_efficiency_tends_to_that_of_the_weights():
    design = cd.solve(PROBLEMS["XY"])
    for n, least in ((100, 0.9), (10_000, 0.999), (10**15, 1 - 1e-5)):
        assert least <= design.round(n, "apportion").efficiency <= 1


def test_limits_and_bounds_on_weights_are_kept():
    e = cd.solve(PROBLEMS["G"]).round(24, min_counts=1, max_counts=3)
    assert e.counts.min() >= 1
    assert e.counts.max() <= 3
    bounded = cd.solve(P.g_optimal(X, min_weight=0.05, max_weight=0.2))
    for method in ("auto", "apportion", "exchange"):
        e = bounded.round(30, method)
        # 0.05 * 30 = 1.5 and 0.2 * 30 = 6.
        assert np.all((e.counts >= 2) & (e.counts <= 6))
        assert e.is_allowed


def test_costs_are_part_of_what_counts_are_judged_by():
    p = P.g_optimal(X, costs=S2)
    design = cd.solve(p)
    e = design.round(400)
    assert e.total == 400
    assert e.cost == pytest.approx(float(e.counts @ S2), rel=1e-12)
    share = e.counts * S2 / (e.counts @ S2)
    assert np.abs(share - design.weights).max() < 0.01
    M = (X * e.counts[:, None]).T @ X
    variance = max(x @ np.linalg.solve(M, x) for x in X)
    assert e.max_variance == pytest.approx(variance, rel=1e-8)
    assert e.efficiency == pytest.approx(design.lower_bound / (variance * (e.counts @ S2)), rel=1e-8)
    with pytest.raises(cd.InputError, match="budget="):
        design.round(400, "optimal")


def test_refusals_name_the_place():
    design = cd.solve(PROBLEMS["G"])
    with pytest.raises(cd.InputError, match="least n that works is 3"):
        design.round(2)
    with pytest.raises(cd.InputError, match="choose one of auto"):
        design.round(10, "nearest")
    with pytest.raises(cd.InputError, match="whole number"):
        design.round(0)


def test_information_held_lowers_the_least_n():
    p = P.g_optimal(np.eye(3), existing_counts=[5, 5, 0], n_new=2)
    e = cd.solve(p).round(1, "apportion")
    assert e.counts.tolist() == [0, 0, 1]


def test_many_arms_are_rounded_on_the_support_and_the_best_others():
    rng = np.random.default_rng(2)
    arms = rng.standard_normal((6000, 4))
    design = cd.solve(P.d_optimal(arms))
    few, many = design.round(6), design.round(10_000)
    assert few.total == 6
    assert many.efficiency > 0.999
    with pytest.raises(cd.InputError, match="at most 2000 arms"):
        design.round(6, "optimal")


def test_a_frame_lists_the_arms_that_are_pulled():
    frame = cd.solve(PROBLEMS["A"]).round(9).to_frame()
    assert frame["count"].sum() == 9
    assert list(frame.columns) == ["arm", "count"]


def _budgeted(seed):
    """A problem with costs and information held, and what makes the same one for another budget and information."""
    rng = np.random.default_rng([seed, 5])
    d = int(rng.integers(2, 4))
    arms = np.vstack([np.eye(d), rng.standard_normal((4, d))])
    costs = rng.uniform(1.0, 6.0, len(arms)) if seed % 3 else None
    caps = 0.5 if seed % 4 == 1 else None
    root = rng.standard_normal((d, int(rng.integers(1, d + 1)))) * rng.uniform(0.3, 3.0)
    kinds = [P, P.c_optimal, P.a_optimal, P.d_optimal, P.ds_optimal, P.e_optimal, P.i_optimal]
    extra = [np.eye(d)[:2], np.ones(d), None, None, [0], None, arms[:3]][seed % 7]
    inputs = [arms] if extra is None else [arms, extra]

    def make(budget, held):
        return kinds[seed % 7](*inputs, costs=costs, prior_information=held, n_new=budget, max_weight=caps)

    return make, float(rng.integers(8, 25)), root @ root.T


def test_efficiency_is_never_above_the_truth_whatever_is_held_and_spent():
    """The truth: the optimum for the budget that the counts spend, solved for anew with the information held."""
    tight = 0
    for seed in range(28):
        make, n_new, held = _budgeted(seed)
        design = cd.solve(make(n_new, held))
        for n, method in ((4, "auto"), (7, "ceil"), (12, "apportion")):
            e = design.round(n, method)
            problem = design.problem
            spent = float(problem.effort(e.counts.astype(float)).sum())
            # Counts stand beside n A0, in units of the budget planned: e.scale = budget of n pulls in these proportions.
            best = cd.solve(make(spent, held / n_new * e.scale))
            match problem.criterion.name:
                case "D" | "DS":
                    size = problem.arms.d if problem.criterion.name == "D" else 1
                    truth = np.exp((e.value - best.value) / size)
                case "E":
                    truth = e.value / best.value
                case _:
                    truth = best.value / e.value
            # The optimum solved for may be off by its tolerance.
            assert e.efficiency <= truth * (1 + 3e-6), (seed, n, method)
            tight += e.efficiency > 0.99 * truth
    assert tight > 53


@pytest.mark.parametrize("n", [3, 60_000])
def test_a_budget_that_is_not_spent_wholly_has_the_bound_of_the_dual_vectors(n):
    """Information held, pulls of cost 3 for 10, so that 9 are spent: in the bound h_W(q) is .9 of what it is for the whole."""
    turn = np.linspace(0.0, 2.0, n)
    arms, held = np.column_stack([np.cos(turn), np.sin(turn)]), np.diag([4.0, 0.5])
    problem = cd.DesignProblem.c_optimal(arms, [0.3, 1.0], costs=np.full(n, 3.0), prior_information=held, n_new=10.0)
    design = cd.solve(problem)
    plan = design.round(budget=10.0)
    spent = float(problem.effort(plan.counts.astype(float)).sum()) / 10.0
    assert spent == pytest.approx(0.9)
    B = design.certificate.dual.vectors
    q = np.square(arms @ B.T).sum(axis=1) / 3.0
    told = np.square(B @ [0.3, 1.0]).sum()
    proven = spent * told / (np.vdot(B @ (held / 10.0), B) + spent * q.max())
    assert plan.bound == pytest.approx(proven, rel=1e-9)
    assert plan.bound > spent * design.bound * (1.0 + 1e-6)  # what holds without the vectors
