"""The page of curves: designs over an interval, with the sensitivity nowhere above its bound."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.explore.curve import CURVES, CurveState, curve_answer

ASKED = {title: curve.to_query() for title, curve in CURVES.items()}


@pytest.mark.parametrize("title", CURVES)
def test_every_example_is_certified_and_its_curve_lies_below_the_bound(title):
    shown = curve_answer({"query": ASKED[title]})
    assert "message" not in shown
    assert shown["status"].startswith("certified") or shown["gap"] <= 1e-6
    heights = np.array(shown["sensitivity"], dtype=float)
    assert heights.max() <= shown["most"] * (1 + 1e-9)
    assert sum(p["weight"] for p in shown["points"]) == pytest.approx(1)
    for point in shown["points"]:
        assert point["height"] == pytest.approx(shown["most"], rel=1e-3)
        assert CURVES[title].low <= point["x"] <= CURVES[title].high


def test_a_cubic_has_its_known_settings():
    """A quarter each on the roots of (1 - x^2) P_3'(x)."""
    points = curve_answer({"query": CurveState(model="1 + x + x**2 + x**3").to_query()})["points"]
    np.testing.assert_allclose([p["x"] for p in points], [-1, -(0.2**0.5), 0.2**0.5, 1], atol=1e-4)
    np.testing.assert_allclose([p["weight"] for p in points], 0.25, atol=1e-4)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("problem=z", "choose one of"),
        ("low=2&high=1", "the second end must be larger"),
        ("low=one", "give a number"),
        ("model=", "the model is empty"),
        ("model=V*x&parameters=V", "write them as"),
        ("model=1%2Bq", "q"),
        ("model=x**", "a power needs a number"),
    ],
)
def test_what_makes_no_sense_is_said(query, said):
    assert said in curve_answer({"query": query})["message"]


def test_a_link_brings_back_what_was_set_and_the_code_gives_the_same():
    curve = CurveState("a-optimal", "V*x/(K + x)", "V=200, K=0.06", 0.01, 1.1)
    assert CurveState.from_query(curve.to_query()) == curve
    names: dict[str, object] = {}
    exec(CURVES["A cubic"].program(), names)
    design = names["design"]
    assert isinstance(design, cd.regions.RegionDesign)
    assert design.value == pytest.approx(curve_answer({"query": ASKED["A cubic"]})["value"])


def test_what_the_explorer_computes_needs_numpy_and_scipy_alone():
    """So that it can be built for a browser once builds of these two can be had."""
    script = (
        "import sys; from convexdesign.explore import EXAMPLES, view; [view(s) for s in EXAMPLES.values()]; "
        "print([m for m in ('cvxpy', 'clarabel', 'scs', 'pandas', 'pydantic', 'joblib', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_link_may_be_written_by_hand():
    assert CurveState.from_query("model=1 + x + x**2&low=0").model == "1 + x + x**2"
    assert CurveState.from_query("model=1+%2B+x").model == "1 + x"
