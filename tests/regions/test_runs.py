"""Run tables against the best possible anywhere in the region: textbook efficiencies, and what should move."""

import numpy as np
import pandas
import pytest
from polynomials import cube, line, quadratic, quadratic_rows

import convexdesign as cd

D = cd.DesignProblem


def table(x):
    return pandas.DataFrame(np.asarray(x, dtype=float), columns=[f"x{k}" for k in range(np.shape(x)[1])])


def factorial(q):
    return np.array(np.meshgrid(*[[-1, 1]] * q)).reshape(q, -1).T


def test_a_central_composite_design_is_judged_by_its_determinant():
    problem = D.d_optimal(quadratic(2).over(cube(2)))
    runs = np.vstack([factorial(2), np.eye(2), -np.eye(2), np.zeros((1, 2))])  # the faces: inside the square
    judged = cd.verify(problem, runs=table(runs))
    F = quadratic_rows(runs)
    log_det = np.linalg.slogdet(F.T @ F / len(F))[1]
    assert judged.value == pytest.approx(log_det, abs=1e-10)
    exact = np.exp((log_det + 4.471776419) / 6)
    low, high = judged.efficiency_interval
    assert low <= exact <= high
    assert high - low <= 1e-6
    assert judged.is_allowed
    assert judged.is_worse_than(1e-3)
    assert not judged.is_optimal()


def test_the_optimum_is_optimal_and_stays():
    problem = D.d_optimal(line(3))
    root = np.sqrt(1 / 5)
    judged = cd.verify(problem, runs={"x": [-1, -root, root, 1]})
    assert judged.is_optimal(1e-6)
    assert judged.efficiency_interval[1] == pytest.approx(1, abs=1e-6)
    assert (judged.moves()["distance"] < 1e-2).all()


def test_runs_that_should_move_are_named():
    judged = cd.verify(D.d_optimal(line(2)), runs={"x": [-1, 0, 0.5]})
    moves = judged.moves()
    assert moves["to_x"].round(3).tolist() == [-1.0, 0.0, 1.0]
    assert moves["distance"].round(2).tolist() == [0.0, 0.0, 0.5]
    assert "1 of 3 should move" in judged.summary()


def test_replicates_counts_and_weights_say_the_same():
    problem = D.a_optimal(line(2))
    rows = cd.verify(problem, runs={"x": [-1, 0, 0, 1]})
    counted = cd.verify(problem, runs={"x": [-1, 0, 1]}, counts=[1, 2, 1])
    weighted = cd.verify(problem, runs={"x": [-1, 0, 1]}, weights=[0.25, 0.5, 0.25])
    assert rows.value == pytest.approx(counted.value, rel=1e-12)
    assert rows.value == pytest.approx(weighted.value, rel=1e-12)
    assert rows.is_optimal()  # 8 by symmetry
    # A table with such a column says it itself, as points of designs and plans do; and runs done likewise.
    for column, values in (("count", [2, 1, 2]), ("weight", [0.4, 0.2, 0.4])):
        own = cd.verify(problem, runs={"x": [-1, 0, 1], column: values})
        assert own.value == pytest.approx(cd.verify(problem, runs={"x": [-1, 0, 1]}, counts=[2, 1, 2]).value, abs=1e-12)
    for column, values, said in (
        ("weight", [70.2, 1, 1], "sums to 72.2"),
        ("count", [1.5, 1, 1], "count in row 0 is 1.5"),
    ):
        with pytest.raises(cd.InputError, match=said):
            cd.verify(problem, runs={"x": [-1, 0, 1], column: values})
    held = [
        D.d_optimal(line(2), existing_runs=runs, n_new=3)
        for runs in ({"x": [-1, 1], "count": [2, 1]}, {"x": [-1, -1, 1]})
    ]
    np.testing.assert_allclose(held[0].prior, held[1].prior, rtol=1e-14)


def test_g_efficiency_is_proven_over_the_region():
    # Equal weights at -1, 0, 1 have the worst variance 3; at -1, -1/2, 1 more, between the settings.
    problem = D.g_optimal(line(2))
    assert cd.verify(problem, runs={"x": [-1, 0, 1]}).is_optimal()
    judged = cd.verify(problem, runs={"x": [-1, -0.5, 1]})
    F, grid = np.vander([-1, -0.5, 1], 3), np.vander(np.linspace(-1, 1, 20_001), 3)
    worst = np.einsum("ij,jk,ik->i", grid, np.linalg.inv(F.T @ F / 3), grid).max()
    assert judged.value == pytest.approx(worst, rel=1e-6)
    assert judged.efficiency == pytest.approx(3 / worst, rel=1e-6)


def test_what_is_not_measured_has_efficiency_zero():
    judged = cd.verify(D.d_optimal(line(2)), runs={"x": [-1, 1, 1]})
    assert judged.efficiency == 0
    assert judged.efficiency_interval == (0, 0)


def test_runs_outside_the_region_are_named():
    judged = cd.verify(D.d_optimal(line(2)), runs={"x": [-2, 0, 2]})
    assert judged.outside.tolist() == [0, 2]
    assert not judged.is_allowed
    assert not judged.is_optimal()
    assert "rows 0, 2 lie outside" in judged.summary()
    assert "better than anything inside" in judged.summary()
    assert "NOT allowed: 2 of 3 runs lie outside" in judged.summary()


@pytest.mark.parametrize(
    ("x", "said"),
    [
        ([-1, 1, 1], "do not measure all"),
        ([-1, -1, 0, 1], "by how often each setting is run"),
        ([-1, 0, 0.5], "should move"),
    ],
)
def test_the_verdict_says_what_is_wrong(x, said):
    assert said in cd.verify(D.d_optimal(line(2)), runs={"x": x}).summary()


def test_a_logistic_dose_design():
    curve = cd.Model.glm("1 + x", [0, 1], "logit").over(cd.Region.box(x=(-5, 5)))
    z, w = 1.0, 1 / (2 + np.e + 1 / np.e)
    judged = cd.verify(D.d_optimal(curve), runs={"x": [-z, z]})
    assert judged.value == pytest.approx(np.log(w**2), abs=1e-9)
    exact = np.exp((np.log(w**2) + 2.9933651906) / 2)
    assert judged.efficiency_interval[0] <= exact * (1 + 1e-9)
    assert judged.efficiency_interval[1] >= exact * (1 - 1e-9)
    assert judged.efficiency_interval[1] - judged.efficiency_interval[0] <= 1e-6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "runs="),
        ({"runs": {"y": [1.0]}}, "no column 'x'"),
        ({"runs": {"x": [1.0, 2.0]}, "counts": [1]}, "counts has the shape"),
        ({"runs": {"x": [1.0]}, "weights": [-1]}, "cannot be negative"),
        ({"runs": {"x": ["a"]}}, "x in row 0"),
    ],
)
def test_a_table_that_is_none_is_refused_in_words(given, message):
    with pytest.raises(cd.InputError, match=message):
        cd.verify(D.d_optimal(line(1)), **given)


def test_runs_over_a_list_name_arms_or_factors():
    with pytest.raises(cd.InputError, match="neither a column arm nor all factors"):
        cd.verify(D.d_optimal([[1, 0], [0, 1]]), runs={"x": [1]})
