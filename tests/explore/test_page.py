"""The explorer's page as text: well-formed, escaped, with words for its pictures, and numbers that are those of the view."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from convexdesign.explore import EXAMPLES, PROBLEMS, State, view
from convexdesign.explore.answers import answer
from convexdesign.explore.page import choices, equivalence_picture, examples, page
from convexdesign.explore.widget import Explorer

STATES = [*EXAMPLES.values(), *(replace(State(), problem=problem) for problem in PROBLEMS)]


@pytest.mark.parametrize("state", STATES, ids=lambda s: s.to_query())
def test_every_part_is_well_formed_and_fetches_nothing(state):
    shown = page(view(state))
    for text in [shown["messages"], *shown["parts"].values()]:
        ElementTree.fromstring(f"<div>{text}</div>".replace("&nbsp;", " "))
        assert not re.search(r"\b(src|href|url)\b\s*[=(]", text)
        assert not re.search(r"\b(nan|inf|None)\b", text)


def test_shares_and_counts_are_the_view_s():
    shown = view(State())
    parts = page(shown)["parts"]
    shares = [float(s) for s in re.findall(r'data-share="([\d.]+)"', parts["design"])]
    assert shares == pytest.approx(np.column_stack([shown.design.weights, shown.blind.weights]).ravel(), abs=1e-6)
    counts = [int(c) for c in re.findall(r"<td>(\d+)</td>", parts["plan"])]
    assert counts == shown.plan.counts.tolist()
    assert f"{shown.blind.ratio:.3g} times" in parts["design"]


def test_equal_noise_shows_one_design():
    parts = page(view(EXAMPLES["A hexagon with equal noise"]))["parts"]
    assert "as good here" in parts["design"]
    assert "as if equal</th>" not in parts["design"]


def test_the_picture_puts_marks_where_the_numbers_are():
    """Heights are linear in the sensitivity: an arm at the bound sits on the line, one at zero on the axis."""
    text = equivalence_picture(
        np.array([1.0, 0.0, 0.5]),
        np.array([2.0, 1.0, 0.0]),
        np.array([1.0, 0.0, 0.0]),
        np.array([0.0, 1.0, 0.0]),
        "a < b",
    )
    svg = ElementTree.fromstring(text)
    assert svg.get("aria-label") == "a < b"
    (bound,) = [float(line.get("y1")) for line in svg.iter("line") if line.get("class") == "bound"]
    (floor,) = [float(line.get("y1")) for line in svg.iter("line") if line.get("class") == "axis"]
    heights = [float(c.get("cy")) for c in svg.iter("circle")]
    assert heights == pytest.approx([bound, floor, (bound + floor) / 2], abs=0.11)
    assert [c.get("class") for c in svg.iter("circle")] == ["informed measured"] + ["informed unmeasured"] * 2
    diamonds = [[float(v) for v in p.get("points").replace(",", " ").split()] for p in svg.iter("polygon")]
    assert [(d[1] + d[5]) / 2 for d in diamonds] == pytest.approx([2 * bound - floor, bound, floor], abs=0.11)


def test_an_answer_is_plain_data_with_the_serial_of_its_question():
    import json

    asked = {"serial": 3, "fields": State(pulls=10).to_fields()}
    shown = answer(asked)
    json.dumps(shown, allow_nan=False)
    assert shown["serial"] == 3
    assert State.from_query(shown["query"]) == State(pulls=10)
    assert sum(shown["plane"]["weights"]) == pytest.approx(1.0)


def test_nonsense_is_answered_too():
    shown = answer({"serial": 4, "fields": State().to_fields() | {"noise_variance": [1, "<b>", 1]}})
    assert shown["serial"] == 4
    assert "fields" not in shown
    assert "&lt;b&gt;" in shown["messages"]
    assert "noise variance of arm 1" in shown["messages"]


def test_even_a_bug_is_answered(monkeypatch, caplog):
    from convexdesign.explore import answers

    monkeypatch.setattr(answers, "view", lambda *settings: 1 / 0)
    assert "ZeroDivisionError" in answers.answer({"serial": 5, "query": ""})["messages"]
    assert "ZeroDivisionError" in caplog.text


def test_the_widget_answers_what_the_page_sends():
    explorer = Explorer("problem=d-optimal&arms=1,0,1;0,1,1")
    assert explorer.shown["plane"]["weights"] == pytest.approx([0.5, 0.5], abs=1e-6)
    explorer.sent = {"serial": 1, "query": "problem=c-optimal&arms=1,0,1;0,1,9&direction=1,1"}
    # One target: the shares are proportional to |c_i| s_i.
    assert explorer.shown["plane"]["weights"] == pytest.approx([0.25, 0.75], abs=1e-4)


def test_a_bad_link_opens_with_word_of_it():
    explorer = Explorer("arms=1,0,-1")
    assert "noise variance of arm 0" in explorer.shown["messages"]
    assert State.from_query(explorer.shown["query"]) == State()


def test_the_page_of_the_site_says_what_is_true():
    """The link in it can be opened, and it names every problem that can be chosen."""
    text = (Path(__file__).parents[2] / "docs" / "explorer.md").read_text(encoding="utf-8")
    (query,) = re.findall(r'Explorer\("(.*)"\)', text)
    assert view(State.from_query(query)).design is not None
    for problem in PROBLEMS:
        assert f"`{problem}`" in text


def test_a_refusal_is_not_called_an_arrangement_without_design():
    shown = answer({"serial": 1, "query": "arms=1,0,-1"})
    assert "Not accepted" in shown["messages"]
    assert "No design" not in shown["messages"]
    assert "No design" in answer({"serial": 1, "query": "problem=a-optimal&arms=1,0,1;2,0,1"})["messages"]


def test_elfving_s_polygon_and_where_c_leaves_it():
    """The best variance of c'theta is (|c| / |touch|)^2, and the touch lies on an edge."""
    state = EXAMPLES["Two clean arms and a noisy diagonal"]
    shown = page(view(state))
    touch, hull = np.array(shown["plane"]["touch"]), np.array(shown["plane"]["hull"])
    assert (np.hypot(*state.direction) / np.hypot(*touch)) ** 2 == pytest.approx(view(state).design.value, rel=1e-6)
    edges = np.diff(hull, axis=0)
    across = np.abs(np.cross(np.c_[edges, np.zeros(len(edges))], np.c_[touch - hull[:-1], np.zeros(len(edges))])[:, 2])
    assert (across / np.hypot(*edges.T)).min() < 1e-3
    assert "hull" not in page(view(replace(state, problem="d-optimal")))["plane"]


def test_every_problem_and_example_can_be_chosen():
    assert [c["value"] for c in choices()] == list(PROBLEMS)
    assert [State.from_query(e["query"]) for e in examples()] == list(EXAMPLES.values())
