"""Ugly problems of every kind, with everything recomputed in rational arithmetic: no enclosure, bound or efficiency is false.

The optimum itself is no rational number; it is bracketed by exact values of good designs that keep the rules exactly.
"""

from __future__ import annotations

import itertools
import threading
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb, fmpq, fmpq_mat

import convexdesign as cd
from convexdesign.verification.allowed import exactly_allowed

P = cd.DesignProblem
BITS = 256


def rational(x):
    return fmpq(*float(x).as_integer_ratio())


def table(X):
    X = np.atleast_2d(np.asarray(X, dtype=float))
    return fmpq_mat(X.shape[0], X.shape[1], [rational(x) for x in X.ravel()])


def transposed_times(X, effort):
    """sum_i e_i x_i x_i'."""
    rows = X.tolist()
    scaled = fmpq_mat([[e * x for x in row] for e, row in zip(effort, rows)])
    return X.transpose() * scaled


def inverse_on_range(A):
    """C with v'Cv = v'A^+v for v in the range of A, and the rank."""
    reduced, rank = A.rref()
    d = A.nrows()
    pivots = [next(k for k in range(d) if reduced[i, k] != 0) for i in range(rank)]
    C = fmpq_mat(d, d)
    if rank:
        inner = fmpq_mat(rank, rank, [A[a, b] for a in pivots for b in pivots]).inv()
        for (i, a), (j, b) in itertools.product(enumerate(pivots), repeat=2):
            C[a, b] = inner[i, j]
    return C, rank


def in_range(A, V):
    return fmpq_mat(A.tolist() + V.tolist()).rank() == A.rank()


def values_of(V, C):
    return [sum((a * b for a, b in zip(x, y)), fmpq(0)) for x, y in zip(V.tolist(), (V * C).tolist())]


def trace(M):
    return sum((M[k, k] for k in range(M.nrows())), fmpq(0))


class Stated:
    """A problem with its exact parts: prices s^2 c, A0, and the criterion from an information matrix (None: infinitely bad)."""

    def __init__(self, problem, X, prices, held, wanted, value):
        self.problem, self.prices, self.wanted, self.criterion = problem, prices, wanted, value
        self.X = X
        self.A0 = held

    def value(self, weights):
        A = transposed_times(self.X, [w / p for w, p in zip(weights, self.prices)]) + self.A0
        if not in_range(A, self.wanted):
            return None
        return self.criterion(A)


def of_rows(V):
    return lambda A: max(values_of(V, inverse_on_range(A)[0]))


def phi(X):
    rows = [[x[a] * x[b] * (1 if a == b else 2) for a in range(len(x)) for b in range(a, len(x))] for x in X.tolist()]
    return fmpq_mat(rows)


def log_det_on_range(X):
    """log det in an orthonormal basis of the range of the rows of X, as a ball."""
    reduced, rank = X.rref()
    B = fmpq_mat([list(row) for row in reduced.tolist()[:rank]]).transpose()
    return lambda A: arb((B.transpose() * A * B).det()).log() - arb((B.transpose() * B).det()).log()


def least_eigenvalue(A):
    """A ball for the least root of the characteristic polynomial."""
    if A.rank() < A.nrows():
        return arb(0)
    roots = [r.real for r in flint.acb_mat(flint.arb_mat(A)).eig(multiple=True)]
    return sorted(roots, key=lambda r: float(r.mid()))[0]


KINDS = (
    "minimax",
    "G",
    "phi",
    "XY",
    "level set",
    "best arm",
    "level-set oracle",
    "c",
    "D",
    "D_s",
    "A",
    "I",
    "average",
    "E",
)
EXTRAS = ("plain", "noise", "costs", "held", "counted", "caps", "inequalities")


def drawn(kind, extra, seed):
    """A problem with numbers of very different sizes, now and then of deficient rank, and its exact counterpart."""
    rng = np.random.default_rng([KINDS.index(kind), EXTRAS.index(extra), seed])
    d = 2 if kind == "phi" else int(rng.integers(2, 4))
    n = d + int(rng.integers(2, 5))
    deficient = kind not in ("A", "E") and rng.random() < 0.4
    if deficient:  # whole numbers times powers of two: of rank r exactly
        r = int(rng.integers(1, d))
        X = rng.integers(-5, 6, (n, r)) @ rng.integers(-3, 4, (r, d)) * 2.0 ** rng.integers(-9, 9, (n, 1))
        X[0, 0] = X[0, 0] or 1.0
        X = X[:1] * rng.integers(1, 9, (n, 1)) if np.linalg.matrix_rank(X) > r else X
    else:
        X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, d) * 10.0 ** rng.uniform(-1, 1, (n, 1))
    T = table(X)
    V = rng.integers(-3, 4, (4, n)).astype(float) @ X if not deficient else X[rng.permutation(n)[:4]]
    V = V if V.any() else X
    s2, c = 10.0 ** rng.uniform(-2, 2, n), 10.0 ** rng.uniform(-1, 1, n)
    common, prices, held = {}, [fmpq(1)] * n, fmpq_mat(T.ncols(), T.ncols())
    arms = phi(T) if kind == "phi" else T
    if extra in ("noise", "costs", "counted"):
        common["noise_variance"] = s2
        prices = [rational(s) for s in s2]
    if extra == "costs":
        common["costs"] = c
        prices = [p * rational(x) for p, x in zip(prices, c)]
    held = fmpq_mat(arms.ncols(), arms.ncols())
    if extra == "counted":
        counts = rng.integers(0, 5, n)
        common |= {"existing_counts": counts, "n_new": 7}
        held = transposed_times(arms, [int(k) / p / 7 for k, p in zip(counts, prices)])
    if extra == "held" and kind != "phi":
        L = X[:1] if deficient else rng.integers(-3, 4, (d, d)).astype(float)
        # Rank one, or whole numbers: semidefinite exactly.
        M = np.outer(L[0], L[0]) if deficient else L.T @ L
        M = M if not deficient or exact_outer(L[0]) else np.zeros((d, d))
        common |= {"prior_information": M, "n_new": 3}
        held = table(M) * fmpq(1, 3)
    if extra == "caps":
        common |= {"max_weight": np.minimum(1.0, rng.uniform(1.2, 3, n) / n), "min_weight": rng.choice([0, 0.01], n)}
    if extra == "inequalities":
        G = rng.standard_normal((2, n))
        common["inequalities"] = (G, G.sum(axis=1) / n + 0.1)
    return stated(kind, X, T, arms, V, common, prices, held, rng)


def exact_outer(x):
    M = np.outer(x, x)
    return all(rational(M[a, b]) == rational(x[a]) * rational(x[b]) for a in range(len(x)) for b in range(len(x)))


def stated(kind, X, T, arms, V, common, prices, held, rng):
    d = X.shape[1]
    items = np.unique(np.vstack([X, V]), axis=0)
    Z = table(items)
    minus = [[a - b for a, b in zip(x, y)] for x, y in itertools.combinations(Z.tolist(), 2)]
    theta = rng.standard_normal(d) / np.maximum(np.abs(X).max(axis=0), 1e-9)
    scores = [sum((a * rational(t) for a, t in zip(z, theta)), fmpq(0)) for z in Z.tolist()]
    one = fmpq_mat(d, d, [int(a == b) for a in range(d) for b in range(d)])
    make, wanted, value = {
        "minimax": lambda: (P(X, V, **common), table(V), None),
        "G": lambda: (P.g_optimal(X, **common), T, None),
        "phi": lambda: (P.variance_g_optimal(X, **common), arms, None),
        "XY": lambda: (P.xy_allocation(X, items, **common), fmpq_mat(minus), None),
        "level set": lambda: (P.level_set_allocation(X, items, **common), Z, None),
        "best arm": lambda: best_arm(X, items, theta, scores, Z, common),
        "level-set oracle": lambda: level_set(X, items, theta, scores, Z, common),
        "c": lambda: (P.c_optimal(X, V[np.argmax(np.abs(V).max(axis=1))], **common), None, None),
        "D": lambda: (P.d_optimal(X, **common), T, log_det_on_range(fmpq_mat(T.tolist() + held.tolist()))),
        "D_s": lambda: interest(X, T, held, common, rng),
        "A": lambda: (P.a_optimal(X, **common), one, lambda A: trace(A.inv())),
        "I": lambda: moments(P.i_optimal(X, V, **common), table(V).transpose() * table(V) * fmpq(1, len(V))),
        "average": lambda: average(X, common, rng),
        "E": lambda: (P.e_optimal(X, **common), one, least_eigenvalue),
    }[kind]()
    if wanted is None:
        wanted = table(make.stated.direction[None, :])
    if kind == "D":
        wanted = fmpq_mat(T.tolist() + held.tolist())
    return Stated(make, arms, prices, held, wanted, value or of_rows(wanted))


def best_arm(X, items, theta, scores, Z, common):
    best = max(range(len(scores)), key=lambda k: scores[k])
    rows = [
        [(a - b) / (scores[best] - s) for a, b in zip(Z.tolist()[best], z)]
        for k, (z, s) in enumerate(zip(Z.tolist(), scores))
        if k != best
    ]
    return P.best_arm_oracle(X, items, theta=theta, **common), fmpq_mat(rows), None


def level_set(X, items, theta, scores, Z, common):
    threshold = float(min(float(s.p) / float(s.q) for s in scores)) - 0.5
    rows = [[a / (s - rational(threshold)) for a in z] for z, s in zip(Z.tolist(), scores)]
    return P.level_set_oracle(X, items, theta=theta, threshold=threshold, **common), fmpq_mat(rows), None


def interest(X, T, held, common, rng):
    K = X[: int(np.linalg.matrix_rank(X[:2]))].T if rng.random() < 0.5 else X[-1:].T
    K = K if K.any() else X[np.abs(X).max(axis=1).argmax()][:, None]
    rows = table(K.T)
    return (
        P.ds_optimal(X, K, **common),
        rows,
        lambda A: -arb((rows * inverse_on_range(A)[0] * rows.transpose()).det()).log(),
    )


def moments(problem, M):
    return problem, M, lambda A: trace(inverse_on_range(A)[0] * M)


def average(X, common, rng):
    rows = X[:2] if all(exact_outer(x) for x in X[:2]) else rng.integers(-3, 4, (3, X.shape[1])).astype(float)
    M = rows.T @ rows if rows.any() else np.eye(X.shape[1])
    return moments(P.average_variance(X, M, **common), table(M))


def in_double(x):
    return arb(rational(x))


def judged(kind, extra, seed):
    """Checks one problem; whether its value is finite, None where it cannot be solved."""
    with np.errstate(all="ignore"):
        s = drawn(kind, extra, seed)
    problem, n = s.problem, s.problem.n_arms
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(n))
    if seed % 3 == 0:  # so few arms that they often measure too little
        weights[rng.permutation(n)[: n - int(rng.integers(1, 3))]] = 0.0
        weights /= weights.sum()
    try:
        v = cd.verify(problem, weights=weights, rigorous=True)
    except cd.UnidentifiableError:
        return None
    total = sum((rational(w) for w in weights), fmpq(0))
    exact = s.value([rational(w) / total for w in weights])
    low, high = v.efficiency_interval
    assert 0 <= low <= high <= 1
    worst = problem.criterion.worst_value
    if exact is None or (kind == "E" and float(exact.mid()) == 0):
        assert (v.proof.low, v.proof.high, high) == (worst, worst, 0.0)
        return False
    exact = arb(exact)
    # "Certainly below" and "certainly above" of balls; and tight.
    assert not exact < in_double(v.proof.low)
    assert not exact > in_double(v.proof.high)
    size = 1.0 if kind in ("D", "D_s") else abs(float(exact.mid()))
    assert v.proof.high - v.proof.low <= 1e-12 * size
    assert v.proof.about == "the numbers exactly as given"
    known = exactly_allowed(problem.weight_set, v.reference.weights)
    assert known is not None
    best = s.value([fmpq(w.numerator, w.denominator) for w in known])
    if best is not None:
        best = arb(best)
        if problem.criterion.maximised:
            assert not best > in_double(v.proof.bound)
        else:
            assert not best < in_double(v.proof.bound)
        ratio = efficiency(kind, exact, best, v.proof.dimension)
        assert not ratio < in_double(low)  # the optimum is no worse than the best design known
        if high < 1:
            assert ratio < in_double(high) * (1 + arb(2) ** -40)
    return True


def efficiency(kind, value, best, dimension):
    if kind in ("D", "D_s"):
        return ((value - best) / dimension).exp()
    return value / best if kind == "E" else best / value


@pytest.fixture
def bits():
    before = flint.ctx.prec
    flint.ctx.prec = BITS
    yield
    flint.ctx.prec = before


@pytest.mark.parametrize("kind", KINDS)
def test_every_claim_holds_in_rational_arithmetic(kind, bits):
    found = [judged(kind, extra, seed) for extra in EXTRAS for seed in range(3)]
    assert found.count(True) >= 12
    assert found.count(False) >= 1


# ---------------------------------------------------------------------- what is special


def test_log_det_on_a_range_does_not_depend_on_the_design_that_spans_it(bits):
    """Two arms of four along each of two lines: efficiency 2 sqrt(u1 u2), in whichever coordinates a design is read."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        L = np.array([[1.0, 0, 1], [0, 1, 1]]) * 2.0 ** rng.integers(-3, 4, 3)
        X = np.vstack([L, L / 2]) * rng.choice([-1, 1], (4, 1))
        w = np.zeros(4)
        w[rng.integers(0, 2) * 2], w[1 + rng.integers(0, 2) * 2] = rng.dirichlet(np.ones(2))
        w /= w.sum()
        v = cd.verify(P.d_optimal(X), weights=w, rigorous=True)
        total = sum((rational(x) for x in w), fmpq(0))
        u = [(rational(w[k]) + rational(w[k + 2]) / 4) / total for k in (0, 1)]
        true = 2 * (arb(u[0]) * arb(u[1])).sqrt()
        low, high = v.efficiency_interval
        assert not true < in_double(low)
        assert not true > in_double(high)
        assert high - low < 1e-9
        exact = log_det_on_range(table(X))(transposed_times(table(X), [rational(x) / total for x in w]))
        assert not exact < in_double(v.proof.low)
        assert not exact > in_double(v.proof.high)
        assert v.value == pytest.approx(float(exact.mid()), abs=1e-9)


def test_differences_of_items_lie_in_the_range_where_the_items_do_not():
    """Arms are contrasts, items have an intercept: 4 for the simplex in two dimensions."""
    arms = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    items = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    v = cd.verify(P.xy_allocation(arms, items), weights=[0.5, 0.5], rigorous=True)
    assert v.proof.low <= 4 <= v.proof.high
    assert v.efficiency >= 1 - 1e-12


def test_moments_of_a_region_are_taken_from_its_rows():
    problem = P.i_optimal([[1, 0, 1], [0, 1, 1]], region=[[1, 1, 2], [1, 2, 3], [2, 1, 3]])
    v = cd.verify(problem, weights=[0.5, 0.5], rigorous=True)
    # M restricted to the two coefficients is diag(2, 2): (w1, w2) = (1/2, 1/2), value 2 / w1 + 2 / w2.
    assert v.proof.low <= 8 <= v.proof.high
    assert v.efficiency >= 1 - 1e-12


def test_a_rounded_matrix_of_moments_is_proven_for_the_nearest_one_and_says_so():
    rng = np.random.default_rng(0)
    indefinite = leaving = 0
    for _ in range(20):
        X = rng.integers(-4, 5, (6, 2)) @ np.array([[1.0, 0, 3], [0, 1, 7]])
        V = rng.uniform(-1, 1, (2, 6)) @ X
        M = V.T @ V  # of rank two and in the range of the arms, but for rounding
        if np.linalg.matrix_rank(X) < 2:
            continue
        problem = P.average_variance(X, M)
        design = cd.solve(problem, tol=1e-9)
        v = cd.verify(problem, weights=design.weights, rigorous=True)
        assert v.efficiency >= 1 - 1e-8
        assert v.value == pytest.approx(design.value, rel=1e-9)
        leaving += "semidefinite matrix" in v.proof.about
        assert "semidefinite matrix" not in v.proof.about or v.proof.about in v.summary()
        # The same over arms that span: only definiteness is at stake then.
        rounded = P.average_variance(np.eye(3), M)
        v = cd.verify(rounded, weights=np.full(3, 1 / 3), rigorous=True)
        assert v.proof.high == pytest.approx(3 * np.trace(M), rel=1e-12)
        indefinite += "semidefinite matrix" in v.proof.about
    assert leaving > 10
    assert 5 < indefinite < 20
    with pytest.raises(cd.InputError, match="positive semidefinite"):
        P.average_variance(np.eye(2), [[1.0, 2.0], [2.0, 1.0]])


def test_a_region_beyond_the_design_is_infinite_and_one_beyond_all_arms_by_rounding_is_refused():
    problem = P.i_optimal(np.eye(2), region=[[1.0, 0.0], [1.0, 1e-20]])
    v = cd.verify(problem, weights=[1.0, 0.0], rigorous=True)
    assert (v.value, v.efficiency_interval) == (np.inf, (0.0, 0.0))
    assert v.lower_bound == pytest.approx(1.0)
    arms = [[1.0, 3.0], [2.0, 6.0]]
    with pytest.raises(cd.InputError, match="only up to rounding"):
        cd.verify(P(arms, [[0.1, 0.3]]), weights=[0.5, 0.5], rigorous=True)


def test_counts_cost_exactly_what_they_cost(bits):
    """Three units of .1 are not .3 in doubles: shares of the budget are taken in fractions."""
    costs = np.array([0.1, 0.3])
    v = cd.verify(P.g_optimal(np.eye(2), costs=costs), counts=[3, 1], rigorous=True)
    spent = 3 * Fraction(0.1) + Fraction(0.3)
    exact = max(spent / 3, spent)
    assert Fraction(v.proof.low) <= exact <= Fraction(v.proof.high)


def test_the_upper_end_comes_from_a_design_that_keeps_the_rules_exactly():
    """Orthogonal arms under a cap: t* = max(1 / cap, 1 / (1 - cap)) in fractions, for caps that are no round numbers."""
    for cap in (0.1, 1 / 3, 0.45):
        truth = max(1 / Fraction(cap), 1 / (1 - Fraction(cap)))
        for problem in (
            P.g_optimal(np.eye(2), noise_variance=[1.0, 1.0], max_weight=[1.0, cap]),
            P.g_optimal(np.eye(2), inequalities=([[0.0, 1.0]], [cap])),
        ):
            weights = np.array([1 - cap / 2, cap / 2])
            v = cd.verify(problem, weights=weights, rigorous=True)
            w = Fraction(weights[1]) / (Fraction(weights[0]) + Fraction(weights[1]))
            efficiency = truth * min(w, 1 - w)
            low, high = v.efficiency_interval
            assert Fraction(low) <= efficiency <= Fraction(high)
            assert high < 0.51
    held = P.g_optimal(np.eye(2), constraints=lambda w: [w[1] <= 0.3])
    assert cd.verify(held, weights=[0.9, 0.1], rigorous=True).efficiency_interval[1] == 1.0


def test_effort_too_small_for_doubles_is_proven_all_the_same():
    for make, true in ((P.g_optimal, 2e-30), (P.e_optimal, 2e-30), (P.d_optimal, 2e-15)):
        v = cd.verify(make(np.eye(2)), weights=[1 - 1e-30, 1e-30], rigorous=True)
        assert v.efficiency_interval == pytest.approx((true, true), rel=1e-9)


def test_proofs_in_threads_leave_the_precision_of_flint_alone():
    before = flint.ctx.prec
    problem = P.g_optimal(np.eye(2), noise_variance=[1.0, 2.0])
    failures = []

    def run():
        for _ in range(4):
            v = cd.verify(problem, weights=[0.5, 0.5], rigorous=True)
            if not v.proof.low <= 4 <= v.proof.high <= v.proof.low * (1 + 1e-14):
                failures.append(v)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert flint.ctx.prec == before


def test_rows_of_every_size_take_more_bits_where_they_need_them(bits):
    """phi of rows between 1e-9 and 1e9 has A of condition far above what 256 bits carry."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((7, 3)) * 10.0 ** np.linspace(-9, 9, 7)[:, None]
    T = phi(table(X))
    weights = np.full(7, 1 / 7)
    problem = P.variance_g_optimal(X, noise_variance=10.0 ** rng.uniform(-3, 3, 7))
    v = cd.verify(problem, weights=weights, rigorous=True)
    noise = [rational(s) for s in problem.noise_variance]
    total = sum((rational(w) for w in weights), fmpq(0))
    exact = arb(of_rows(T)(transposed_times(T, [rational(w) / total / s for w, s in zip(weights, noise)])))
    assert not exact < in_double(v.proof.low)
    assert not exact > in_double(v.proof.high)
    assert v.proof.high / v.proof.low - 1 < 1e-12
