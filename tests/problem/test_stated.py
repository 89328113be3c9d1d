"""What a problem was made of makes it again, and the old untyped name still answers."""

from __future__ import annotations

import numpy as np
import pytest

from convexdesign import DesignProblem
from convexdesign.problem.kinds import KINDS

X = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.1], [0.5, 0.5, 1.0], [1.0, -1.0, 0.3], [0.2, 0.1, -1.0]])
OWN = {
    "minimax": {"targets": X[:2]},
    "best-arm-oracle": {"theta": [1.0, 0.3, 0.2]},
    "level-set-oracle": {"theta": [1.0, 0.3, 0.2], "threshold": 0.4, "items": X[1:]},
    "c-optimal": {"direction": [1.0, 1.0, 0.0]},
    "ds-optimal": {"interest": [0, 2]},
    "i-optimal": {"region": X[:3]},
    "average-variance": {"M": np.diag([1.0, 2.0, 3.0])},
}
COMMON = {
    "noise_variance": [1.0, 2.0, 3.0, 1.0, 1.0],
    "existing_counts": [2, 1, 1, 0, 1],
    "n_new": 7,
    "max_weight": 0.5,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_arguments_of_a_problem_make_it_again(kind):
    problem = KINDS[kind].constructor(X, **OWN.get(kind, {}), **COMMON)
    again = KINDS[kind].constructor(**problem.stated.arguments(), noise_variance=problem.noise_variance)
    everything, all_targets = np.arange(5), problem.targets.worst(np.eye(problem.arms.d), 100)[0]
    np.testing.assert_array_equal(again.arms.take(everything), problem.arms.take(everything))
    np.testing.assert_array_equal(again.targets.take(all_targets), problem.targets.take(all_targets))
    np.testing.assert_array_equal(again.contrast_matrix, problem.contrast_matrix)
    np.testing.assert_array_equal(again.prior, problem.prior)
    np.testing.assert_array_equal(again.weight_set.upper, problem.weight_set.upper)
    assert again.n_new == problem.n_new == 7


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_inputs_say_what_they_said():
    problem = DesignProblem.variance_g_optimal(X, n_new=2.0, existing_counts=np.ones(5))
    assert set(problem.inputs) == {"arms", "source", "n_new", "existing_counts"}
    np.testing.assert_array_equal(problem.inputs["source"].values, X)
    assert problem.inputs["arms"].d == 6


def test_inputs_warn_and_name_what_replaces_them():
    with pytest.warns(DeprecationWarning, match="problem.stated"):
        _ = DesignProblem.d_optimal(X).inputs
