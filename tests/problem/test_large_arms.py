"""Arms that do not fit: maps, blocks made by a function and lifted rows give the answer of the array, in little memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from independent import minimax_value

import convexdesign as cd
from convexdesign.arms.source import LiftedArms
from convexdesign.instances import multivariate_arms, multivariate_layouts
from convexdesign.problem import ArrayArms, ScaledArms, canonicalise

P = cd.DesignProblem
N, D = 20_000, 4
X = np.random.default_rng(8).standard_normal((N, D))
NOISE = np.random.default_rng(9).uniform(0.3, 3.0, N)
ITEMS = np.random.default_rng(10).standard_normal((40, D))
THETA = np.array([1.0, -0.5, 0.2, 0.0])
M = np.diag([1.0, 2.0, 0.5, 0.0])


def block(array, **options):
    return cd.BlockArms(*array.shape, lambda start, stop: array[start:stop], **options)


def mapped(array, path):
    np.save(path, array)
    return np.load(path, mmap_mode="r")


SOURCES = {
    "map": mapped,
    "fortran-map": lambda array, path: mapped(np.asfortranarray(array), path),
    "blocks": lambda array, path: block(array),
    "odd-blocks": lambda array, path: block(array, block=1237),
}

KINDS = {
    "minimax": lambda a: P(a, ITEMS, noise_variance=NOISE),
    "g": lambda a: P.g_optimal(a),
    "g-noise": lambda a: P.g_optimal(a, noise_variance=NOISE),
    "g-costs": lambda a: P.g_optimal(a, noise_variance=2.0, costs=NOISE),
    "g-prior": lambda a: P.g_optimal(a, existing_counts=np.arange(N) % 3, n_new=1e4),
    "variance-g": lambda a: P.variance_g_optimal(a),
    "xy": lambda a: P.xy_allocation(a, ITEMS, noise_variance=NOISE),
    "level-set": lambda a: P.level_set_allocation(a, noise_variance=NOISE),
    "best-arm": lambda a: P.best_arm_oracle(a, theta=THETA, noise_variance=NOISE),
    "level-set-oracle": lambda a: P.level_set_oracle(a, theta=THETA, threshold=5.0),
    "c": lambda a: P.c_optimal(a, THETA),
    "d": lambda a: P.d_optimal(a, noise_variance=NOISE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_answer_of_the_array(kind, tmp_path):
    build = KINDS[kind]
    expected = cd.solve(build(X))
    for name, source in SOURCES.items():
        design = cd.solve(build(source(X, tmp_path / "arms.npy")))
        assert design.status is cd.Status.CERTIFIED, name
        assert design.value == pytest.approx(expected.value, rel=1e-6, abs=2e-6), name


def test_value_and_bound_of_a_map_recomputed_independently(tmp_path):
    arms = mapped(X[:3000].astype(np.float32), tmp_path / "arms.npy")
    design = cd.solve(P.g_optimal(arms, noise_variance=NOISE[:3000]))
    exact = np.asarray(arms, dtype=float)
    assert design.value == pytest.approx(minimax_value(exact, NOISE[:3000], exact, design.weights), rel=1e-9)


@pytest.mark.parametrize("kind", ["a", "average", "i", "e", "ds"])
def test_criteria_that_need_a_conic_program_work_on_few_blocks(kind):
    few = X[:300]
    build = {
        "a": lambda a: P.a_optimal(a),
        "average": lambda a: P.average_variance(a, M),
        "i": lambda a: P.i_optimal(a, region=a),
        "e": lambda a: P.e_optimal(a),
        "ds": lambda a: P.ds_optimal(a, interest=[0, 2]),
    }[kind]
    expected, design = cd.solve(build(few)), cd.solve(build(block(few, block=77)))
    assert design.status is cd.Status.CERTIFIED
    assert design.value == pytest.approx(expected.value, rel=1e-6, abs=1e-6)


def test_constraints_on_few_blocks():
    few = X[:200]
    expected = cd.solve(P.g_optimal(few, max_weight=0.02))
    design = cd.solve(P.g_optimal(block(few), max_weight=0.02))
    assert design.value == pytest.approx(expected.value, rel=1e-6)


def test_conic_programs_refuse_what_memory_should_not_hold():
    n = 5_000_000
    arms = cd.BlockArms(n, 8, lambda start, stop: np.sin(np.arange(start, stop)[:, None] * np.arange(1.0, 9.0)))
    with pytest.raises(cd.SolverError, match=r"5000000 in 8 dimensions are too many; method='frank-wolfe' reads"):
        canonicalise(P.c_optimal(arms, np.ones(8))).arms  # noqa: B018


def test_verify_and_round_and_display():
    design = cd.solve(P.g_optimal(block(X), noise_variance=NOISE))
    report = cd.verify(P.g_optimal(block(X), noise_variance=NOISE), np.full(N, 1 / N))
    plain = cd.verify(P.g_optimal(X, noise_variance=NOISE), np.full(N, 1 / N))
    assert report.value == pytest.approx(plain.value, rel=1e-10)
    assert report.efficiency == pytest.approx(plain.efficiency, rel=1e-6)
    exact = design.round(500)
    assert exact.total == 500
    assert 0.9 < exact.efficiency <= 1.0
    frame = design.to_frame()
    own = ((X @ design._evaluation.factor) ** 2).sum(axis=1)
    np.testing.assert_allclose(frame["variance"], own)
    assert "20000 arms" in repr(design)


@pytest.mark.parametrize(
    "method", ["frank-wolfe", "frank-wolfe-vanilla", "frank-wolfe-away", "multiplicative", "conic"]
)
def test_every_method_reads_blocks(method):
    few = X[:400]
    kwargs = {} if method in ("frank-wolfe", "conic") else {"tol": 0.05, "max_iter": 5000}
    expected = cd.solve(P.g_optimal(few), method=method, **kwargs)
    design = cd.solve(P.g_optimal(block(few, block=90)), method=method, **kwargs)
    np.testing.assert_allclose(design.weights, expected.weights, atol=1e-9)


def test_rank_deficient_blocks_and_targets_outside_them():
    flat = X @ np.diag([1.0, 1.0, 1.0, 0.0]) @ np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]
    design = cd.solve(P.g_optimal(block(flat)))
    assert design.status is cd.Status.CERTIFIED
    assert design.value == pytest.approx(3.0, rel=1e-6)
    outside = flat[:50].copy()
    outside[17] += X[0]
    with pytest.raises(cd.UnidentifiableError, match="item 17 lies outside"):
        cd.solve(P.level_set_allocation(block(flat), block(outside)))
    single = np.zeros(D)
    single[0] = 1.0
    design = cd.solve(P.c_optimal(block(X), single), method="frank-wolfe")
    frame = design.to_frame()
    assert np.isfinite(frame["variance"][design.support]).all()


@pytest.mark.parametrize("spread", [1.0, 1e-6, 1e6])
def test_rare_directions_are_found_wherever_they_hide(spread):
    """Five columns are zero but in one arm each, at any scale: a sample of the arms misses them, a pass does not."""
    n, d = 60_000, 9
    rare = {17: 4, 23_456: 5, 23_457: 6, 41_000: 7, 59_999: 8}
    base = np.random.default_rng(2).standard_normal((n, 4))

    def make(start, stop):
        rows = np.hstack([base[start:stop], np.zeros((stop - start, d - 4))])
        for row, column in rare.items():
            if start <= row < stop:
                rows[row - start, column] = spread
        return rows

    problem = P.d_optimal(cd.BlockArms(n, d, make, block=5000))
    assert canonicalise(problem).rank == 9
    design = cd.solve(problem)
    assert design.status is cd.Status.CERTIFIED
    # No other arm measures these columns, so that each of the five takes its share 1/d.
    np.testing.assert_allclose(design.weights[list(rare)], 1 / 9, rtol=1e-3)


# ------------------------------------------------------------------ oracles


def oracles(tmp_path):
    scale = 1 / np.sqrt(NOISE)
    lift = np.abs
    plain = {
        "array": (ArrayArms(X), X),
        "map": (ArrayArms(mapped(X.astype(np.float32), tmp_path / "x.npy")), X.astype(np.float32).astype(float)),
        "int": (ArrayArms((10 * X).astype(np.int8)), (10 * X).astype(np.int8).astype(float)),
        "blocks": (block(X, block=999), X),
        "one-block": (block(X, block=10**9), X),
    }
    out = dict(plain)
    for name, (arms, rows) in plain.items():
        out[f"scaled-{name}"] = ScaledArms(arms, scale), rows * scale[:, None]
        out[f"lifted-{name}"] = LiftedArms(arms, lift, D), np.abs(rows)
    return out


def test_oracles_answer_alike(tmp_path):
    rng = np.random.default_rng(1)
    F = rng.standard_normal((D, 3))
    v = rng.standard_normal(N)
    indices = [
        rng.integers(0, N, 500),
        np.array([N - 1, 0, 5, 5, 4, 3]),
        np.arange(N),
        np.empty(0, dtype=np.intp),
        np.arange(0, N, 260),
    ]
    for name, (arms, rows) in oracles(tmp_path).items():
        assert (arms.n, arms.d) == rows.shape, name
        np.testing.assert_allclose(arms.quadratic(F), ((rows @ F) ** 2).sum(axis=1), rtol=1e-12, err_msg=name)
        for index in indices:
            np.testing.assert_array_equal(arms.take(index), rows[index], err_msg=name)
        at = 0
        for start, (count, total) in arms.map(lambda part, along: (len(part), along @ part), v):
            assert start == at, name
            np.testing.assert_allclose(total, v[at : at + count] @ rows[at : at + count], err_msg=name)
            at += count
        assert at == N, name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cd.BlockArms(0, 2, X.__getitem__), "n is 0"),
        (lambda: cd.BlockArms(5, 2.5, X.__getitem__), "d is 2.5"),
        (lambda: cd.BlockArms(5, 2, X), "make must be a function"),
        (lambda: cd.BlockArms(5, 2, lambda a, b: X[a:b]), r"make\(0, 1\) returned shape \(1, 4\); .* shape \(1, 2\)"),
        (lambda: cd.BlockArms(5, 4, lambda a, b: X[: b - a, :1]), r"returned shape \(1, 1\)"),
        (lambda: cd.BlockArms(5, 4, lambda a, b: [["x"] * 4]), r"rows made for 0:1 must be real numbers"),
        (lambda: cd.BlockArms(5, 4, lambda a, b: X[a:b] * 1j), "dtype complex128"),
        (lambda: cd.BlockArms(5, 4, lambda a, b: X[a:b], names=["a"]), "there are 5 rows; give one name"),
        (lambda: cd.BlockArms(5, 4, lambda a, b: X[a:b], block=0), "block is 0"),
        (lambda: P.xy_allocation(X, block(X)), "compares every two items: pass an array"),
        (lambda: P.xy_allocation(block(X)), "compares every two items: pass an array"),
        (lambda: P.g_optimal(X, constraints=None, prior_information=block(np.eye(D)), n_new=1), "all vectors at once"),
        (lambda: P.level_set_allocation(X, block(X[:, :2])), "items have 2 entries each, but the arms have 4"),
        (lambda: P.g_optimal(block(X), noise_variance=[1.0, 2.0]), r"one entry per arm \(20000\)"),
        (lambda: np.asarray(block(X)), r"20000 rows in R\^4.* not in memory; use take"),
    ],
)
def test_bad_blocks_are_named(make, message):
    with pytest.raises(cd.InputError, match=message):
        make()


def test_bad_entries_are_found_when_they_are_made():
    bad = X.copy()
    bad[12_345, 2] = np.inf
    with pytest.raises(cd.InputError, match=r"arms\[12345, 2\] is inf; remove or impute"):
        cd.solve(P.g_optimal(block(bad, block=1000)))
    named = block(bad, names=[f"row {i}" for i in range(N)])
    with pytest.raises(cd.InputError, match=r"arms\[12345, 2\] \(row 12345\) is inf"):
        named.quadratic(np.eye(D))


def test_names_reach_the_errors_and_the_table():
    names = [f"layout {i}" for i in range(6)]
    arms = cd.BlockArms(6, 2, lambda a, b: np.column_stack([np.arange(a, b) + 1.0, np.ones(b - a)]), names=names)
    design = cd.solve(P.g_optimal(arms))
    assert list(design.to_frame()["arm"]) == names


# ------------------------------------------------------------------ layouts


def test_layouts_made_in_blocks_are_the_layouts():
    for interactions in (False, True):
        arms = multivariate_arms(3, 4, interactions=interactions, block=10)
        whole = multivariate_layouts(np.arange(81), 3, 4, interactions=interactions)
        np.testing.assert_array_equal(arms.take(np.arange(81)), whole)
        assert np.linalg.matrix_rank(whole) == arms.d
    # Main effects are the first columns of the model with interactions.
    np.testing.assert_array_equal(
        multivariate_layouts(np.arange(81), 3, 4, interactions=False), multivariate_layouts(np.arange(81), 3, 4)[:, :9]
    )


def test_the_optimal_design_of_main_effects_is_the_uniform_one():
    """By symmetry, and by Kiefer and Wolfowitz its worst variance is the dimension."""
    problem = P.g_optimal(multivariate_arms(4, 6))
    assert (problem.arms.n, problem.arms.d) == (4096, 19)
    assert cd.verify(problem, np.full(4096, 1 / 4096)).efficiency == pytest.approx(1.0, abs=1e-9)
    assert cd.solve(problem).value == pytest.approx(19.0, rel=1e-6)


# -------------------------------------------------------------------- files


def test_a_design_over_a_map_is_saved_by_digest_and_path(tmp_path, monkeypatch):
    from convexdesign.problem import storage

    monkeypatch.setattr(storage, "INLINE_ENTRIES", 1000)
    (tmp_path / "data").mkdir()
    (tmp_path / "designs").mkdir()
    path = tmp_path / "data" / "arms.npy"
    arms = mapped(X, path)
    design = cd.solve(P.g_optimal(arms, noise_variance=NOISE))
    saved = tmp_path / "designs" / "design.json"
    design.save(saved)
    assert str(path) in saved.read_text()
    assert saved.stat().st_size < 50_000
    assert sorted(p.name for p in saved.parent.iterdir()) == ["design.json", "design.noise_variance.npy"]
    again = cd.Design.load(saved)
    np.testing.assert_array_equal(again.weights, design.weights)
    assert again.value == pytest.approx(design.value, rel=1e-12)
    # A part of the map is not the file: it is written out.
    cd.solve(P.g_optimal(arms[::2])).save(tmp_path / "designs" / "half.json")
    assert cd.Design.load(tmp_path / "designs" / "half.json").problem.n_arms == N // 2
    changed = X.copy()
    changed[-1, -1] += 1.0
    np.save(path, changed)
    with pytest.raises(cd.InputError, match="digest mismatch"):
        cd.Design.load(saved)


def test_a_function_cannot_be_saved(tmp_path):
    design = cd.solve(P.g_optimal(block(X)))
    with pytest.raises(cd.InputError, match=r"BlockArms\(20000 rows in R\^4.*cannot be saved.*mmap_mode"):
        design.save(tmp_path / "design.json")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------- memory


MEASURED = """
    import sys
    import tracemalloc

    import numpy as np

    import convexdesign as cd

    def anonymous():
        fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
        return int(fields["RssAnon"].split()[0]) / 1024

    path, kind = sys.argv[1:]
    n, d = 500_000, 20
    if kind == "map":
        arms = np.load(path, mmap_mode="r")
    else:
        def make(start, stop):
            return np.sin(np.arange(start, stop)[:, None] * np.sqrt(np.arange(1.0, d + 1.0)))
        arms = cd.BlockArms(n, d, make)
    cd.solve(cd.DesignProblem.g_optimal(np.eye(3), noise_variance=[1.0, 2.0, 3.0]))  # imports count for nothing
    before = anonymous()
    tracemalloc.start()
    design = cd.solve(cd.DesignProblem.g_optimal(arms))
    print(design.status.name, tracemalloc.get_traced_memory()[1] / 2**20, anonymous() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize("kind", ["map", "blocks"])
def test_memory_is_a_few_numbers_per_arm(kind, tmp_path):
    """Half a million arms in twenty dimensions are 76 MB of float64; a solve may take ten numbers per arm, 38 MB."""
    path = tmp_path / "arms.npy"
    if kind == "map":
        n, d = 500_000, 20
        arms = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d))
        rng = np.random.default_rng(0)
        for start in range(0, n, 50_000):
            arms[start : start + 50_000] = rng.standard_normal((50_000, d))
        arms.flush()
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASURED), str(path), kind], capture_output=True, text=True, check=True
    )
    status, peak, resident = run.stdout.split()
    assert status == "CERTIFIED"
    assert float(peak) < 38
    assert float(resident) < 38
