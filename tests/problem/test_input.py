"""Bad input is refused at the border with the place, the value and the remedy; odd but good input simply works."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import convexdesign as cd

P = cd.DesignProblem
X = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: P.g_optimal([[1.0, np.nan], [0, 1]]), r"arms\[0, 1\] is nan; remove or impute"),
        (lambda: P.g_optimal([[1.0, 2.0], [np.inf, 1]]), r"arms\[1, 0\] is inf; remove or impute"),
        (lambda: P.g_optimal([[1.0, 2.0], [1e200, 1]]), r"arms\[1, 0\] is 1e\+200; rescale"),
        (lambda: P.g_optimal([[np.inf, 2.0], [-np.inf, 1]]), r"arms\[0, 0\] is inf"),
        (lambda: P.g_optimal([1.0, 2.0]), r"arms must be a matrix.*reshape.*got shape \(2,\)"),
        (lambda: P.g_optimal(np.zeros((2, 2, 2, 2))), r"arms must be a matrix.*\(2, 2, 2, 2\)"),
        (lambda: P(X, np.zeros((2, 2, 2))), r"targets must be a matrix.*\(2, 2, 2\)"),
        (lambda: P.g_optimal([]), r"arms must be a matrix"),
        (lambda: P.g_optimal(np.zeros((0, 3))), r"arms are empty \(shape \(0, 3\)\)"),
        (lambda: P.g_optimal(np.zeros((3, 0))), r"arms are empty"),
        (lambda: P.g_optimal([[1.0], [2.0, 3.0]]), r"arms must be numbers in a rectangular array"),
        (lambda: P.g_optimal([["a", "b"]]), r"arms must be real numbers, got dtype <U1"),
        (lambda: P.g_optimal(np.ones((2, 2)) * 1j), r"arms must be real numbers, got dtype complex128"),
        (lambda: P.g_optimal("arms.csv"), r"arms is text .*read_table"),
        (lambda: P.g_optimal(None), r"arms must be"),
        (lambda: P(X, np.zeros((0, 2))), r"targets are empty"),
        (lambda: P(X, [[1.0, 0.0, 0.0]]), r"targets have 3 entries each, but the arms have 2"),
        (lambda: P.xy_allocation(X, [[1.0]]), r"items have 1 entries each, but the arms have 2"),
        (lambda: P.xy_allocation(X, X[:1]), r"at least two items"),
        (lambda: P.g_optimal(X, noise_variance=0.0), r"noise_variance is 0; a variance must be positive"),
        (lambda: P.g_optimal(X, noise_variance=[1.0, 0.0, 2.0]), r"noise_variance\[1\] is 0; a variance must be"),
        (lambda: P.g_optimal(X, noise_variance=[1.0, 2.0, -3.0]), r"noise_variance\[2\] is -3; a variance must be"),
        (lambda: P.g_optimal(X, noise_variance=[1.0, 2.0]), r"one entry per arm \(3\), got shape \(2,\)"),
        (lambda: P.g_optimal(X, noise_variance=[1.0, np.nan, 2.0]), r"noise_variance\[1\] is nan"),
        (lambda: P.best_arm_oracle(X, theta=[1.0]), r"theta must be a vector of length 2, got shape \(1,\)"),
        (lambda: P.best_arm_oracle(X, theta=[np.nan, 1]), r"theta\[0\] is nan"),
        (lambda: P.best_arm_oracle(X, theta=[0.0, 0.0]), r"no unique best item: item 0, item 1, item 2 tie at 0"),
        (lambda: P.best_arm_oracle(X, items=[[1, 0], [1, 0], [0, 1]], theta=[1.0, 0.0]), r"item 0, item 1 tie at 1"),
        (lambda: P.best_arm_oracle(X, items=[[0.1 + 0.2, 0], [0.3, 0]], theta=[1.0, 0.0]), r"item 0, item 1 tie"),
        (lambda: P.level_set_oracle(X, theta=[1.0, 0.0], threshold=0.6), r"item 2 lies exactly on the threshold 0.6"),
        (lambda: P.level_set_oracle(X, theta=[1.0, 0.0], threshold=np.nan), r"threshold is nan"),
        (lambda: P.c_optimal(X, [0.0, 0.0]), r"direction is zero"),
        (lambda: P.average_variance(X, np.zeros((2, 2))), r"M is zero: there is nothing to estimate"),
        (lambda: P.g_optimal([[10**400, 2], [1, 1]]), r"arms must be numbers.*too large"),
        (lambda: P.g_optimal(np.ma.array(X, mask=np.eye(3, 2) == 0)), r"arms\[0, 1\] is masked"),
        (
            lambda: P.level_set_allocation(pd.DataFrame(X, columns=["x", "y"]), pd.DataFrame(X, columns=["y", "z"])),
            r"items: the labels are y, z, but the coordinates of the arms are x, y: 'z' is no coordinate and 'x' has no",
        ),
        (lambda: P.c_optimal(X, [1.0, 0.0, 0.0]), r"direction must be a vector of length 2"),
        (lambda: P.g_optimal(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": ["u", "v"]})), r"column 'b' is not"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(cd.InputError, match=message):
        build()


def test_input_errors_are_value_errors():
    assert issubclass(cd.InputError, ValueError)
    assert issubclass(cd.InputError, cd.ConvexDesignError)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (lambda: P.g_optimal(np.zeros((3, 2))), "all arms are zero"),
        (lambda: P.g_optimal(X * 1e-200), "all arms are below 1e-75"),
        (lambda: P(X, np.zeros((2, 2))), "all targets are zero"),
        (lambda: P.xy_allocation(X, np.ones((3, 2))), "all targets are zero"),
    ],
)
def test_nothing_to_measure_or_to_estimate(problem, message):
    with pytest.raises(cd.InputError, match=message):
        cd.solve(problem())


FLAT = [[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]]


@pytest.mark.parametrize(
    ("problem", "named"),
    [
        (lambda: P(FLAT, [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), "target 1 "),
        (lambda: P.c_optimal(FLAT, [1.0, 0.0, 1e-5]), "direction 0 "),
        (lambda: P.level_set_allocation(FLAT, [[1.0, 0, 0], [1.0, 0, 1e-7]]), "item 1 "),
        (lambda: P.xy_allocation(FLAT, [[1.0, 0, 1.0], [0.0, 1, 1.0], [0.0, 1, 2.0]]), "item 0 - item 2 "),
        (lambda: P.best_arm_oracle(FLAT, [[1.0, 0, 1.0], [0.0, 1, 2.0]], theta=[1.0, 0, 0]), "item 1 "),
        (lambda: P(np.array(FLAT) * 1e-6, [[1e3, 0, 1e-2]]), "target 0 "),
        (lambda: P(FLAT, [[1.0, 0.0, 0.0], [1.0, 0.0, 1e-13]]), "target 1 "),
        (lambda: P(np.array(FLAT) * 1e6, [[1e6, 0.0, 1e-3]]), "target 0 "),
    ],
)
def test_targets_outside_the_range_are_named(problem, named):
    with pytest.raises(cd.UnidentifiableError, match=named + r".*rank 2 of 3.*add an arm"):
        cd.solve(problem())


def test_targets_inside_up_to_rounding_are_accepted():
    rng = np.random.default_rng(3)
    generator = rng.standard_normal((3, 6))
    arms = rng.standard_normal((20, 3)) @ generator
    targets = (rng.standard_normal((5, 3)) @ generator) * 1e5
    assert cd.solve(P(arms, targets)).status is cd.Status.CERTIFIED
    # Differences of items that share a component outside the range are inside it.
    shift = np.linalg.svd(generator)[2][-1]
    assert cd.solve(P.xy_allocation(arms, arms[:8] + shift)).status is cd.Status.CERTIFIED


BASE = np.array([[3, 0], [0, 2], [2, 2], [1, -1]])


@pytest.mark.parametrize(
    "arms",
    [
        BASE.tolist(),
        BASE.astype(np.float32),
        BASE.astype(np.int8),
        BASE.astype(np.uint16).astype(object) * 1.0 if False else BASE.astype(object),
        np.asfortranarray(BASE.astype(float)),
        np.repeat(np.repeat(BASE.astype(float), 2, axis=0), 3, axis=1)[::2, ::3],
        pd.DataFrame(BASE),
        pl.DataFrame({"a": BASE[:, 0], "b": BASE[:, 1]}),
        tuple(map(tuple, BASE)),
    ],
    ids=["list", "float32", "int8", "object", "fortran", "view", "pandas", "polars", "tuple"],
)
def test_any_container_gives_the_same_design(arms):
    expected = cd.solve(P.xy_allocation(BASE.astype(float), noise_variance=[1.0, 2.0, 3.0, 4.0]))
    design = cd.solve(P.xy_allocation(arms, noise_variance=[1.0, 2.0, 3.0, 4.0]))
    assert design.value == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(design.weights, expected.weights, atol=1e-9)


def test_read_only_arrays_and_later_changes_leave_the_problem_alone():
    arms = BASE.astype(float)
    problem = P.g_optimal(arms)
    before = cd.solve(problem).value
    arms[:] = 0.0
    assert cd.solve(problem).value == before
    frozen = BASE.astype(float)
    frozen.flags.writeable = False
    assert cd.solve(P.g_optimal(frozen)).value == pytest.approx(before)


def test_row_labels_become_names():
    frame = pd.DataFrame(BASE, index=["north", "east", "both", "anti"])
    design = cd.solve(P.g_optimal(frame))
    assert list(design.to_frame()["arm"]) == ["north", "east", "both", "anti"]
    table = pl.DataFrame({"name": ["a", "b", "c", "d"], "x": BASE[:, 0], "y": BASE[:, 1]})
    assert P.g_optimal(table).arms.names == ("a", "b", "c", "d")
    with pytest.raises(cd.InputError, match=r"arms\[1, 0\] \(east\) is nan"):
        P.g_optimal(pd.DataFrame([[1.0, 2.0], [np.nan, 1.0]], index=["north", "east"]))


@pytest.mark.parametrize(
    ("arms", "targets"),
    [
        ([[2.0]], [[1.0]]),
        ([[1.0], [2.0], [-3.0]], [[1.0], [0.5]]),
        ([[1.0, 2.0, 3.0]], [[2.0, 4.0, 6.0]]),
        ([[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]], [[1.0, 1.0, 1.0, 1.0]]),
        ([[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5, [[1.0, 1.0]]),
        ([[1.0, 0.0], [2.0, 0.0], [-4.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]),
        ([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]),
    ],
    ids=["one-number", "one-dimension", "one-arm", "more-dimensions", "duplicates", "proportional", "zeros"],
)
def test_degenerate_shapes_work(arms, targets):
    design = cd.solve(P(arms, targets))
    assert design.status is cd.Status.CERTIFIED
    assert design.weights.shape == (len(arms),)


def test_proportional_arms_prefer_the_longest():
    # Four times the length is sixteen times the information: 1/16 against 1.
    design = cd.solve(P([[1.0], [4.0], [-2.0]], [[1.0]]))
    assert design.value == pytest.approx(1 / 16)
    np.testing.assert_allclose(design.weights, [0, 1, 0], atol=1e-6)


def test_options_that_make_no_sense():
    problem = P.g_optimal(X)
    for options, message in [
        ({"method": "frankwolfe"}, "did you mean 'frank-wolfe'"),
        ({"tol": 0.0}, "tol is 0"),
        ({"tol": np.nan}, "tol is nan"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"time_limit": -1.0}, "time_limit is -1"),
        ({"time_limit": "soon"}, "time_limit is 'soon'"),
        ({"max_iter": "many"}, "max_iter is 'many'"),
        ({"formulation": "sdq"}, "did you mean 'sdp'"),
        ({"backend": "mosek"}, "backend is 'mosek'"),
        ({"method": "frank-wolfe", "formulation": "sdp"}, "belong to method='conic'"),
        ({"warm_start": "the last one"}, "warm_start must be real numbers"),
    ]:
        with pytest.raises(cd.InputError, match=message):
            cd.solve(problem, **options)
    with pytest.raises(cd.InputError, match="must be a DesignProblem"):
        cd.solve(X)


def test_labelled_values_follow_the_arms_names():
    import pandas as pd

    arms = pd.DataFrame(np.eye(3), index=["a", "b", "c"])
    noise = pd.Series([9.0, 1.0, 4.0], index=["c", "a", "b"])
    build = cd.DesignProblem.g_optimal
    assert build(arms, noise_variance=noise).noise_variance.tolist() == [1.0, 4.0, 9.0]
    assert build(arms, noise_variance=noise.sort_index()).noise_variance.tolist() == [1.0, 4.0, 9.0]
    assert build(arms, noise_variance=noise.tolist()).noise_variance.tolist() == [9.0, 1.0, 4.0]
    assert build(arms, max_weight=noise / 10.0).weight_set.upper.tolist() == [0.1, 0.4, 0.9]
    # Without names there is nothing to match: positions count.
    assert build(np.eye(3), noise_variance=noise).noise_variance.tolist() == [9.0, 1.0, 4.0]
    with pytest.raises(
        cd.InputError,
        match="are c, a, x, but the arms are a, b, c: 'x' is no arm and 'b' has no",
    ):
        build(arms, noise_variance=noise.rename({"b": "x"}))
    with pytest.raises(cd.InputError, match="labels are d, a, b, c, but the arms are a, b, c: 'd' is no arm"):
        build(arms, costs=pd.Series([1.0, 1, 1, 1], index=list("dabc")))
    with pytest.raises(cd.InputError, match="'b' is there twice; make the labels unique"):
        build(arms, costs=pd.Series([1.0, 1, 1], index=list("bba")))


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1e-76])
def test_variances_too_small_to_divide_by_name_the_unit(value):
    with pytest.raises(cd.InputError, match=r"noise_variance\[1\] is .*; rescale above 1e-75"):
        cd.DesignProblem.g_optimal(np.eye(2), noise_variance=[1.0, value])


@pytest.mark.parametrize("kind", ["d_optimal", "a_optimal", "g_optimal", "e_optimal", "xy_allocation"])
@pytest.mark.parametrize("tiny", [1e-160, 1e-300, 5e-324])
def test_a_column_whose_squares_underflow_is_named(kind, tiny):
    arms = [[0.0, tiny], [1.0, 0.0], [1.0, tiny]]
    with pytest.raises(cd.InputError, match=r"column 1 of the arms is at most .* multiply the column"):
        cd.solve(getattr(cd.DesignProblem, kind)(arms))


def test_a_tiny_column_whose_squares_do_not_underflow_counts_as_any_other():
    arms = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    ordinary, tiny = (cd.solve(cd.DesignProblem.d_optimal(arms * [1.0, unit])) for unit in (1.0, 1e-140))
    assert tiny.status is cd.Status.CERTIFIED
    assert tiny.value - ordinary.value == pytest.approx(2 * np.log(1e-140), rel=1e-9)


@pytest.mark.parametrize("held", [{"existing_counts": [1, 1]}, {"prior_information": np.eye(2)}])
def test_information_held_that_overflows_when_divided_by_the_new_measurements_is_refused(held):
    with pytest.raises(cd.InputError, match="larger n_new"):
        cd.DesignProblem.d_optimal(np.eye(2), n_new=5e-324, **held)


def test_a_row_of_inequalities_too_small_to_be_divided_by_is_named():
    with pytest.raises(cd.InputError, match="row 1 of the matrix G of inequalities"):
        cd.DesignProblem.d_optimal(np.eye(2), inequalities=([[1.0, 0.0], [0.0, 1e-310]], [0.6, 0.6e-310]))
