"""Verification.plot: an optimal design has no arm above the bound, any other has, by the gap that is proven."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from textbook import PROBLEMS, P, X

import convexdesign as cd
from convexdesign.verification.equivalence import sensitivities

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def no_windows():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def drawn(v):
    """Sensitivities and bound, by the function that the plot is made from."""
    found = sensitivities(v.reference.canonical, v._evaluation, v.reference.certificate.dual)
    return found.values, found.bound


@pytest.mark.parametrize("name", PROBLEMS)
def test_at_the_optimum_no_arm_exceeds_the_bound_and_the_support_meets_it(name):
    problem = PROBLEMS[name]
    w = cd.solve(problem, tol=1e-9).weights
    values, bound = drawn(cd.verify(problem, weights=w))
    # Near the optimum of a log det the excess is of the order of the root of the gap.
    assert values.max() <= bound * (1 + 1e-4)
    assert values[w > 1e-3] == pytest.approx(bound, rel=1e-3)
    assert values @ w == pytest.approx(bound, rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PROBLEMS)
def test_elsewhere_the_excess_is_a_proven_gap(name, seed):
    """The picture must not look better than the design is: value / (value + excess) is at most the true efficiency."""
    problem = PROBLEMS[name]
    v = cd.verify(problem, weights=np.random.default_rng(seed).dirichlet(np.full(9, 3.0)))
    values, bound = drawn(v)
    excess = values.max() - bound
    if problem.criterion.name in ("D", "DS"):
        size = problem.contrast_matrix.shape[1] or 3
        proven = 1 / (1 + excess / size)  # det^(1/s) is concave, so its gap is at most that of its derivative
    else:
        proven = v.value / (v.value + excess)
    assert proven <= v.efficiency_interval[1] + 1e-9
    assert excess > 0


@pytest.mark.parametrize(
    ("problem", "weights"),
    [
        # Elfving: both outer points measure the slope, nothing measures the middle.
        (P.c_optimal([[1, -1], [1, 0], [1, 1]], [1, 0]), [0, 1, 0]),
        (P.c_optimal([[1, 0], [2, 1], [2, -1]], [3, 1]), None),
        (P.ds_optimal([[1, 0, 0], [0, 1, 0], [0.3, 0, 1]], [0]), [1, 0, 0]),
        (P.average_variance([[1, 0], [0, 1], [0.5, 2]], [[1, 0], [0, 0]]), [1, 0, 0]),
        (P([[1, 0, 0], [0, 1, 0], [0.5, 0, 1]], [[1, 0, 0], [0, 1, 0]]), [0.5, 0.5, 0]),
    ],
)
def test_singular_optima_are_recognised(problem, weights):
    w = cd.solve(problem, tol=1e-10).weights if weights is None else weights
    v = cd.verify(problem, weights=w)
    assert v.is_optimal()
    values, bound = drawn(v)
    assert values.max() <= bound * (1 + 1e-5)


def test_a_multiple_least_eigenvalue_at_the_optimum():
    values, bound = drawn(cd.verify(P.e_optimal(np.eye(3)), weights=np.full(3, 1 / 3)))
    assert values == pytest.approx([1 / 3] * 3, rel=1e-6)
    assert bound == pytest.approx(1 / 3)


def test_variance_function_of_the_parabola():
    """D over 21 points: at thirds on -1, 0, 1 the variance function is 3 - 4.5 x^2 (1 - x^2), touching 3 there."""
    x = np.linspace(-1, 1, 21)
    w = np.zeros(21)
    w[[0, 10, 20]] = 1 / 3
    v = cd.verify(P.d_optimal(np.vander(x, 3)), weights=w)
    assert v.is_optimal()
    ax = v.plot(positions=x)
    curve = ax.get_lines()[0]
    assert curve.get_xdata() == pytest.approx(x)
    assert curve.get_ydata() == pytest.approx(3 - 4.5 * x**2 * (1 - x**2))
    assert ax.get_lines()[1].get_ydata() == pytest.approx([3, 3])


def test_the_plot_names_arms_and_draws_where_it_is_told():
    import pandas

    from convexdesign.plotting import new_axes

    problem = P.g_optimal(pandas.DataFrame(X[:4], index=["a", "b", "c", "e"]))
    ax = new_axes()
    assert cd.verify(problem, counts=[1, 2, 3, 4]).plot(ax=ax) is ax
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c", "e"]


def test_a_design_that_measures_too_little_shows_what_is_missing():
    v = cd.verify(P.a_optimal(np.eye(3)), weights=[0.5, 0.5, 0])
    ax = v.plot()
    assert ax.get_title(loc="left") == "coefficient 2 is not measured"
    assert [segment[1][1] for segment in ax.collections[0].get_segments()] == pytest.approx([0, 0, 1])
