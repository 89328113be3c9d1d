"""Arms with several responses at the border: what is taken, what is refused by name, and what comes back from files."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.arms import ArrayArms
from convexdesign.arms.groups import repeat_per_response, squared_norms, squared_projections
from convexdesign.arms.read import read_arms

P = cd.DesignProblem
RNG = np.random.default_rng(3)
X = RNG.standard_normal((5, 3, 2))
PLAIN = np.tile(np.eye(2), (5, 1, 1))


def changed(at, value, base=PLAIN):
    out = np.array(base, dtype=float)
    out[at] = value
    return out


WRONG = {
    "nan": (lambda: P.g_optimal(changed((3, 2, 1), np.nan, X)), r"arms\[3, 2, 1\] is nan; remove or impute it"),
    "huge": (lambda: P.d_optimal(changed((0, 0, 0), 1e80, X)), r"arms\[0, 0, 0\] is 1e\+80; rescale"),
    "no responses": (lambda: P.g_optimal(np.zeros((3, 2, 0))), r"arms are empty \(shape \(3, 2, 0\)\).*one response"),
    "no rows": (lambda: P.g_optimal(np.zeros((3, 0, 2))), r"arms are empty \(shape \(3, 0, 2\)\)"),
    "all zero": (lambda: cd.solve(P.g_optimal(np.zeros((3, 2, 2)))), r"all arms are zero: no measurement tells"),
    "heights": (lambda: P.g_optimal([np.eye(2), np.eye(3)]), r"arms\[1\] has 3 rows and arms\[0\] has 2"),
    "not all matrices": (lambda: P.g_optimal([np.eye(2), [1.0, 2.0]]), r"arms\[1\] has shape \(2,\); where one arm is"),
    "ragged matrix": (lambda: P.g_optimal([[[1, 2], [3]], [[1, 2], [3, 4]]]), r"arms\[0\] must be numbers in a rect"),
    "nan in a list": (lambda: P.g_optimal([np.eye(2), [[1.0], [np.inf]]]), r"arms\[1\]\[1, 0\] is inf"),
    "complex": (lambda: P.g_optimal(X * 1j), r"arms must be real numbers, got dtype complex128"),
    "noise shape": (
        lambda: P.g_optimal(X, noise_variance=np.ones((5, 3))),
        r"noise_variance has shape \(5, 3\); for 5 arms with 2 responses give .*\(5, 2, 2\)",
    ),
    "one covariance": (
        lambda: P.g_optimal(X, noise_variance=np.eye(2)),
        r"shape \(2, 2\).*\(1, 2, 2\) is common to all",
    ),
    "scalar": (lambda: P.g_optimal(X, noise_variance=-1.0), r"noise_variance is -1; a variance must be positive"),
    "per arm": (
        lambda: P.g_optimal(X, noise_variance=[1, 1, 0, 1, 1]),
        r"noise_variance\[2\] is 0; a variance must be",
    ),
    "per response": (
        lambda: P.g_optimal(X, noise_variance=changed((4, 1), -2, np.ones((5, 2)))),
        r"noise_variance\[4, 1\] is -2; a variance must be positive",
    ),
    "diagonal": (
        lambda: P.g_optimal(X, noise_variance=changed((1, 1, 1), 0.0)),
        r"noise_variance\[1, 1, 1\] is 0; a variance must be positive",
    ),
    "tiny": (
        lambda: P.g_optimal(X, noise_variance=changed((1, 1, 1), 1e-300)),
        r"noise_variance\[1, 1, 1\] is 1e-300; rescale above 1e-75",
    ),
    "nan noise": (
        lambda: P.g_optimal(X, noise_variance=changed((1, 0, 1), np.nan)),
        r"noise_variance\[1, 0, 1\] is nan",
    ),
    "not symmetric": (
        lambda: P.g_optimal(X, noise_variance=changed((2, 0, 1), 0.3)),
        r"noise_variance\[2\] is not symmetric: \[2, 0, 1\] = 0.3 but \[2, 1, 0\] = 0",
    ),
    "indefinite": (
        lambda: P.g_optimal(X, noise_variance=changed(3, [[1, 2], [2, 1]])),
        r"noise_variance\[3\] is not positive definite.*least eigenvalue is -1;",
    ),
    "singular": (
        lambda: P.g_optimal(X, noise_variance=changed(3, [[1, 1], [1, 1]])),
        r"noise_variance\[3\] is not positive definite.*no combination of the responses is without noise",
    ),
    "items": (lambda: P.xy_allocation(X), r"have 2 responses each and are no items; say which.*items="),
    "oracle": (lambda: P.best_arm_oracle(X, theta=np.ones(3)), r"have 2 responses each and are no items"),
    "level set": (lambda: P.level_set_allocation(X), r"have 2 responses each and are no items"),
    "phi": (lambda: P.variance_g_optimal(X), r"phi\(x\) models the variance of one response"),
    "targets": (lambda: P(X, X), r"targets must be a matrix, one row per vector; got shape \(5, 3, 2\)"),
    "identification": (
        lambda: cd.identification.HRage(X, np.eye(3), variance_bounds=(1, 2)),
        r"only a DesignProblem takes arms with several responses",
    ),
    "estimation": (lambda: cd.estimation.Head(X, 100), r"only a DesignProblem takes arms with several responses"),
    "matching": (lambda: cd.match_design(P.d_optimal(X), [[1, 2, 3]]), r"2 responses each.*list the design by arm"),
    "rigorous": (
        lambda: cd.verify(P.d_optimal(X), np.full(5, 0.2), rigorous=True),
        r"proofs in exact arithmetic take arms with one response each",
    ),
}


@pytest.mark.parametrize(("build", "message"), WRONG.values(), ids=WRONG.keys())
def test_bad_input_is_named(build, message):
    with pytest.raises(cd.InputError, match=message):
        build()


RAGGED = [np.eye(3)[:, :2], np.array([[0.0], [0.0], [1.0]]), np.ones((3, 2))]


def test_noise_of_different_shapes_says_which_arm():
    for noise, message in (
        ([[1.0, 2.0], [3.0]], r"noise_variance has 2 entries, but there are 3 arms"),
        ([[1.0, 2.0], [3.0, 1.0, 1.0], [1.0, 1.0]], r"noise_variance\[1\] has shape \(3,\); arm 1 has 1 response"),
    ):
        with pytest.raises(cd.InputError, match=message):
            P.g_optimal(RAGGED, noise_variance=noise)


@pytest.mark.parametrize("form", ["scalar", "per arm", "per response", "covariance", "common", "common per response"])
def test_every_form_of_noise_is_the_covariance_it_means(form):
    rng = np.random.default_rng(4)
    B = rng.standard_normal((2, 3))
    noise, S = {
        "scalar": (2.5, 2.5 * PLAIN),
        "per arm": (np.arange(1.0, 6), np.arange(1.0, 6)[:, None, None] * PLAIN),
        "per response": ((v := rng.uniform(0.5, 3, (5, 2))), v[:, :, None] * PLAIN),
        "covariance": ((c := np.stack([B @ B.T * k for k in range(1, 6)])), c),
        "common": ((B @ B.T)[None], np.tile(B @ B.T, (5, 1, 1))),
        "common per response": (np.array([[1.0, 4.0]]), np.tile(np.diag([1.0, 4.0]), (5, 1, 1))),
    }[form]
    arms = P.d_optimal(X, noise_variance=noise).arms
    rows = arms.take(np.arange(5))
    assert rows.shape == (10, 3)
    for x, s, y in zip(X, S, rows.reshape(5, 2, 3)):
        np.testing.assert_allclose(y.T @ y, x @ np.linalg.inv(s) @ x.T, rtol=1e-10, atol=1e-12)


def test_whitening_keeps_its_digits_where_variances_differ():
    """Variances 1e-12 and 1e12 with correlation 0.9: relative accuracy in every entry."""
    S = np.array([[1e-12, 0.9], [0.9, 1e12]])
    A = P.d_optimal(X, noise_variance=S[None]).arms.take(np.arange(5))
    D = np.array([1e6, 1e-6])
    inner = np.linalg.inv(np.array([[1.0, 0.9], [0.9, 1.0]]))
    for x, y in zip(X, A.reshape(5, 2, 3)):
        np.testing.assert_allclose(y.T @ y, (x * D) @ inner @ (x * D).T, rtol=1e-9)


def test_the_oracle_sums_over_responses():
    arms = P.d_optimal(X, costs=np.arange(1.0, 6)).arms
    F = RNG.standard_normal((3, 4))
    expected = np.array([np.sum((F.T @ x) ** 2) for x in X]) / np.arange(1, 6)
    np.testing.assert_allclose(arms.quadratic(F), expected)
    pieces = [(start, rows, c) for start, (rows, c) in arms.map(lambda rows, c: (rows, c), np.arange(5.0))]
    np.testing.assert_array_equal(np.concatenate([rows for _, rows, _ in pieces]), arms.take(np.arange(5)))
    np.testing.assert_array_equal(np.concatenate([c for *_, c in pieces]), np.arange(5.0))
    rows = arms.take(np.array([3, 1]))
    np.testing.assert_allclose(squared_norms(rows @ F, 2), expected[[3, 1]])
    np.testing.assert_allclose(squared_projections(rows, F, 2).sum(axis=1), expected[[3, 1]])
    np.testing.assert_array_equal(repeat_per_response(np.array([7, 8]), rows), [7, 7, 8, 8])
    assert rows.shape == (4, 3)
    index, values = arms.largest(F, 2)
    np.testing.assert_array_equal(index, np.argsort(-expected)[:2])
    np.testing.assert_allclose(values, np.sort(expected)[:-3:-1])


def test_blocks_of_many_arms():
    arms = ArrayArms(RNG.standard_normal((140_002, 1)), responses=2)
    starts, sizes = zip(*((start, size) for start, size in arms.map(lambda rows: rows.shape[0] // 2)))
    assert len(starts) > 1
    np.testing.assert_array_equal(np.cumsum((0, *sizes))[:-1], starts)
    assert sum(sizes) == 70_001


def test_one_response_and_lists():
    assert read_arms(X[:, :, :1]).held.shape == (5, 3)
    assert read_arms([[[1.0], [2.0]], [[3.0], [4.0]]]).held.tolist() == [[1, 2], [3, 4]]
    assert read_arms([[[1, 0], [2, 1]], [[3, 0], [4, 1]]]).values.shape == (2, 2, 2)
    assert read_arms([[1, 2], [3, 4]]).held.shape == (2, 2)


def test_the_array_given_may_change_afterwards():
    arms = X.copy()
    problem = P.d_optimal(arms)
    arms[:] = np.nan
    np.testing.assert_array_equal(problem.arms.take(np.arange(5)), X.transpose(0, 2, 1).reshape(10, 3))


def test_targets_of_g_are_all_responses_by_name():
    problem = P.g_optimal(RAGGED, noise_variance=[[1.0, 2.0], [3.0], [[1.0, 0.5], [0.5, 1.0]]])
    assert problem.targets.m == 5
    labels = [problem.targets.label(j) for j in range(5)]
    assert labels[1:4] == ["arm 0, response 1", "arm 1, response 0", "arm 2, response 0"]
    np.testing.assert_array_equal(problem.targets.take(np.arange(5)), np.hstack(RAGGED).T)
    assert "up to 2 responses, 5 targets" in repr(problem)
    assert not problem.is_kiefer_wolfowitz


def test_noise_of_a_response_that_is_not_there_is_not_used():
    """Filled-up columns: whatever an array says of them, they are no observation of noise either."""
    correlated = np.tile([[1.0, 0.9], [0.9, 1.0]], (3, 1, 1))
    given = cd.solve(P.a_optimal(RAGGED, noise_variance=correlated))
    listed = cd.solve(P.a_optimal(RAGGED, noise_variance=[correlated[0], [[1.0]], correlated[2]]))
    np.testing.assert_allclose(given.weights, listed.weights, atol=1e-6)
    assert given.value == pytest.approx(listed.value, rel=1e-9)


@pytest.mark.parametrize("noise", [None, 2.0, "response", "ragged"])
def test_saved_designs_come_back(noise, tmp_path):
    arms = RAGGED if noise == "ragged" else X
    value = {"response": RNG.uniform(1, 2, (5, 2)), "ragged": [np.eye(2), [2.0], [[1.0, 0.5], [0.5, 1.0]]]}.get(
        noise, noise
    )
    design = cd.solve(P.g_optimal(arms, noise_variance=value))
    design.save(tmp_path / "design.json")
    again = cd.Design.load(tmp_path / "design.json")
    assert repr(again) == repr(design)
    assert again.problem.targets.m == design.problem.targets.m
    np.testing.assert_array_equal(again.to_frame(), design.to_frame())


def test_very_many_arms_are_saved_beside(tmp_path):
    arms = np.random.default_rng(1).standard_normal((90_000, 3, 2))
    design = cd.solve(P.d_optimal(arms, noise_variance=np.array([[[1.0, 0.5], [0.5, 2.0]]])))
    design.save(tmp_path / "design.json")
    assert (tmp_path / "design.arms.npy").exists()
    again = cd.Design.load(tmp_path / "design.json")
    assert again.value == design.value


def test_table_of_a_design():
    problem = P.g_optimal(RAGGED, noise_variance=[[1.0, 2.0], [3.0], [[1.0, 0.5], [0.5, 1.0]]])
    design = cd.solve(problem)
    table = design.to_frame()
    assert list(table) == ["arm", "weight", "noise_variance 0", "noise_variance 1", "variance 0", "variance 1"]
    assert table["noise_variance 1"].tolist()[::2] == [2.0, 1.0]
    assert np.isnan(table.loc[1, ["noise_variance 1", "variance 1"]].astype(float)).all()
    own = table[["variance 0", "variance 1"]].to_numpy()
    assert np.nanmax(own) == pytest.approx(design.value)
    C = np.linalg.inv(design.information)
    assert own[0, 1] == pytest.approx(C[1, 1])


def test_efficiencies_of_all_criteria():
    weights = np.full(5, 0.2)
    table = cd.efficiencies(X, weights=weights, noise_variance=2.0)
    C = np.linalg.inv(sum(0.2 * x @ x.T / 2 for x in X))
    own = np.einsum("idr,de,ier->ir", X, C, X)
    assert table.loc["A", "value"] == pytest.approx(np.trace(C))
    assert table.loc["G", "value"] == pytest.approx(own.max())
    assert table.loc["I", "value"] == pytest.approx(own.mean())
    assert table.loc["E", "value"] == pytest.approx(1 / np.linalg.norm(C, 2))
    assert table["efficiency"].between(0, 1).all()
