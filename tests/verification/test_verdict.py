"""What a Verification says: optimal or not within a tolerance, the worst targets, and the same in words."""

from __future__ import annotations

import numpy as np
import pytest
from textbook import PROBLEMS, P, all_targets, criterion

import convexdesign as cd

EYE = np.eye(3)


def test_optimal_within_exactly_the_tolerance_proven():
    # Efficiency 4 w (1 - w): at w = .5 + e it is 1 - 4 e^2.
    v = cd.verify(P.xy_allocation(EYE[:2, :2]), weights=[0.501, 0.499])
    gap = 1 / (1 - 4e-6) - 1
    assert v.gap == pytest.approx(gap, rel=1e-6)
    assert v.is_optimal(1.01 * gap)
    assert not v.is_optimal(0.99 * gap)
    assert not v.is_worse_than(1.01 * gap)
    assert v.is_worse_than(0.9 * gap)
    for tol in (0, -1e-6, np.nan):
        with pytest.raises(cd.InputError, match="tol"):
            v.is_optimal(tol)


def test_weights_that_break_the_constraints_are_not_optimal():
    problem = P.g_optimal(EYE, max_weight=0.4, noise_variance=[1, 1, 8])
    free = cd.verify(P.g_optimal(EYE, noise_variance=[1, 1, 8]), weights=[0.1, 0.1, 0.8])
    held = cd.verify(problem, weights=[0.1, 0.1, 0.8])
    assert free.is_optimal()
    assert not held.is_allowed
    assert held.violation == pytest.approx((0.8 - 0.4) / 0.4)
    assert not held.is_optimal(10.0)
    assert held.is_worse_than(10.0)
    assert "NOT allowed" in held.summary()
    assert cd.verify(problem, weights=[0.3, 0.3, 0.4]).is_optimal()


def test_counts_cost_what_they_cost():
    """Two arms for 1 and 10: the budget 1/11, 10/11 is one measurement of each."""
    problem = P.g_optimal(EYE[:2, :2], costs=[1, 10])
    v = cd.verify(problem, counts=[7, 7])
    assert v.weights == pytest.approx([1 / 11, 10 / 11])
    assert v.is_optimal()
    rounded = cd.solve(PROBLEMS["XY"]).round(40)
    again = cd.verify(PROBLEMS["XY"], counts=rounded.counts)
    assert again.value == pytest.approx(rounded.value, rel=1e-9)
    assert again.efficiency == pytest.approx(rounded.efficiency, rel=1e-6)


@pytest.mark.parametrize("name", [name for name, p in PROBLEMS.items() if p.criterion.name != "E"])
def test_worst_targets_are_the_worst(name):
    problem = PROBLEMS[name]
    w = np.random.default_rng(3).dirichlet(np.ones(9))
    V = all_targets(problem)
    single = [criterion(P(problem.arms.take(np.arange(9)), [v]), w) if v.any() else 0.0 for v in V]
    if problem.prior is not None:
        A = np.linalg.inv((problem.arms.take(np.arange(9)).T * w) @ problem.arms.take(np.arange(9)) + problem.prior)
        single = np.einsum("ij,jk,ik->i", V, A, V)
    table = cd.verify(problem, weights=w).worst_targets(4)
    assert table["variance"].to_numpy() == pytest.approx(np.sort(single)[::-1][:4], rel=1e-8)
    assert len(set(table["target"])) == len(table)


def test_worst_combination_is_the_eigenvector():
    import pandas

    arms = pandas.DataFrame([[1.0, 1.0], [1.0, -1.0]], columns=["a", "b"])
    table = cd.verify(P.e_optimal(arms), weights=[0.9, 0.1]).worst_targets()
    # A has eigenvalues 1.8 along (1, 1) and .2 along (1, -1).
    assert table["target"][0] in ("0.707 a - 0.707 b", "0.707 b - 0.707 a")
    assert table["target"][1] in ("0.707 a + 0.707 b", "0.707 b + 0.707 a")
    assert table["variance"].tolist() == pytest.approx([5, 1 / 1.8])
    lost = cd.verify(P.e_optimal(arms), weights=[1, 0]).worst_targets()
    assert lost["variance"].tolist() == pytest.approx([np.inf, 0.5])


def test_unmeasured_targets_come_first():
    v = cd.verify(P.xy_allocation(EYE, items=[[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]), weights=[0.5, 0.5, 0])
    table = v.worst_targets(6)
    assert table["variance"].tolist() == pytest.approx([np.inf] * 3 + [4, 2, 2])
    assert all("item 3" in name for name in table["target"][:3])
    assert table["target"][3] == "item 0 - item 1"
    for k in (0, 1.5, True):
        with pytest.raises(cd.InputError, match="k is"):
            v.worst_targets(k)


def test_worst_arms_tell_weight_and_own_variance():
    v = cd.verify(P.d_optimal(EYE, noise_variance=[1, 2, 4], costs=[1, 1, 2]), weights=[0.25, 0.25, 0.5])
    table = v.worst_arms().sort_index()
    # x'A^-1x = s^2 c / w in units of the budget; the sensitivity is 1 / w and the derivative 1 / w - 3.
    assert table["arm"].tolist() == [0, 1, 2]
    assert table["weight"].tolist() == [0.25, 0.25, 0.5]
    assert table["variance"].tolist() == pytest.approx([4, 8, 16])
    assert table["derivative"].tolist() == pytest.approx([1, 1, -1])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([0.5, 0.5, 0], ["useless", "coefficient 2", "is not measured", "to arm 2", "inf"]),
        ([0.4, 0.3, 0.3], ["NOT optimal", "fewer measurements", "moving 1 % of the effort to arm"]),
        ([1 / 3, 1 / 3, 1 / 3], ["optimal: within"]),
    ],
)
def test_the_summary_says_it(weights, words):
    v = cd.verify(P.a_optimal(EYE), weights=weights)
    text, html = v.summary(), v._repr_html_()
    for word in words:
        assert word in text
        assert word in html
    assert ("NOT" in text) == ("NOT optimal" in words)
    assert f"{v.efficiency_interval[1]:.4f}"[:5] in text


def test_names_are_escaped_in_notebooks():
    import pandas

    problem = P.g_optimal(pandas.DataFrame(EYE, index=["<b>", "x", "y"]))
    assert "<b>" not in cd.verify(problem, weights=[0.2, 0.3, 0.5])._repr_html_()


def test_what_is_not_known_is_called_not_decided():
    # The optimum is known to 1e-7 at least, so a tolerance of 1e-12 is beyond it.
    problem = PROBLEMS["best-arm oracle"]
    v = cd.verify(problem, weights=cd.solve(problem, tol=1e-7).weights)
    if not v.is_optimal(1e-12) and not v.is_worse_than(1e-12):
        assert "not decided" in v.summary(1e-12)
    assert "optimal: within" in v.summary(1e-6)
