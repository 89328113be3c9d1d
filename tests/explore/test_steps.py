"""Step by step to the design: each step's weights are the method's, and the gaps are certified."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.explore import EXAMPLES, State
from convexdesign.explore.steps import METHODS, walk
from convexdesign.explore.views import problem_of

ARMS = ((1.0, 0.0), (0.0, 1.0), (0.88, 0.48))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", ["g-optimal", "d-optimal", "xy-allocation", "c-optimal"])
def test_every_step_is_a_design_and_no_gap_is_beyond_what_verification_proves(problem, method):
    state = State(problem, ARMS, (1.0, 2.0, 1.0))
    way = walk(state, method)
    ElementTree.fromstring(way["picture"])
    assert len(way["points"]) > 2
    best = cd.solve(problem_of(state))
    for point in way["points"][:8]:
        w = np.array(point["weights"])
        assert w.min() >= 0
        assert w.sum() == pytest.approx(1.0, abs=1e-5)
        excess = cd.verify(problem_of(state), weights=w / w.sum()).value
        worse = best.value - excess if best.problem.criterion.maximised else excess - best.value
        assert worse >= -1e-5 * abs(best.value)


def test_the_textbook_step_goes_to_the_arm_of_largest_variance():
    """D over two arms that differ in length: from (1/2, 1/2) all variances are equal, and nothing is left to do."""
    way = walk(State("d-optimal", ((1.0, 0.0), (0.0, 2.0)), (1.0, 1.0)), "frank-wolfe-vanilla")
    assert [p["weights"] for p in way["points"]] == [[0.5, 0.5]]


def test_where_there_is_no_way_it_says_so():
    assert "worst variance" in walk(State("a-optimal", ARMS, (1.0, 1.0, 1.0)), "multiplicative")["picture"]
    assert "points" not in walk(EXAMPLES["All arms on one line: not enough"], "no such method")


def test_a_method_that_leaves_a_direction_unmeasured_says_where_it_ends():
    """Two arms at right angles: the multiplicative step for the worst target alone would take all weight from the other."""
    (only,) = walk(State("g-optimal", ((1.0, 0.0), (0.0, 1.0)), (1.0, 3.0)), "multiplicative")["points"]
    assert "at its end" in only["words"]
