"""The explorer's settings: links bring them back exactly, and what makes no sense is refused with its place and a remedy."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign import InputError
from convexdesign.explore import EXAMPLES, PROBLEMS, State

numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: x + 0.0)  # -0.0 + 0.0 is 0.0
points = st.tuples(numbers, numbers)


@st.composite
def states(draw):
    arms = draw(st.lists(points, min_size=1, max_size=6))
    noise = draw(st.lists(st.floats(1e-9, 1e6), min_size=len(arms), max_size=len(arms)))
    return State(
        draw(st.sampled_from(sorted(PROBLEMS))),
        tuple(arms),
        tuple(noise),
        tuple(draw(st.lists(points, max_size=4))),
        draw(points),
        draw(numbers),
        draw(points),
        draw(st.integers(1, 1_000_000)),
        draw(st.floats(1e-12, 1 - 1e-12)),
    )


@given(states())
@settings(deadline=None, max_examples=200, derandomize=True)
def test_links_and_messages_bring_back_the_same_state(state):
    assert State.from_query(state.to_query()) == state
    assert State.from_query("?" + state.to_query()) == state
    assert State.from_fields(json.loads(json.dumps(state.to_fields()))) == state


def test_a_link_says_each_thing_once_and_survives_encoding():
    """Servers keep only the last of parameters with one name, and browsers write ; as %3B and , as %2C."""
    query = State(items=((1.0, 2.0), (3.0, 4.0))).to_query()
    names = [part.split("=")[0] for part in query.split("&")]
    assert len(set(names)) == len(names)
    encoded = query.replace(";", "%3B").replace(",", "%2C")
    assert State.from_query(encoded) == State.from_query(query)


def test_what_a_link_does_not_say_is_as_without_a_link():
    assert State.from_query("") == State()
    assert State.from_query("pulls=7&utm=elsewhere") == State(pulls=7)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("problem=x-optimal", ["x-optimal", "d-optimal"]),
        ("arms=1,0", ["arms=1,0", "noise variance"]),
        ("arms=1,0,1;a,0,1", ["arms="]),
        ("arms=1,0,0", ["noise variance of arm 0", "positive"]),
        ("arms=1,0,1;0,1,-2", ["noise variance of arm 1", "-2"]),
        ("arms=1,0,1;0,inf,1", ["arm 1", "inf"]),
        ("items=1", ["items=1", "x,y"]),
        ("theta=nan,1", ["theta", "nan"]),
        ("pulls=0", ["pulls is 0"]),
        ("pulls=2.5", ["2.5", "whole number"]),
        ("delta=1", ["delta is 1", "between 0 and 1"]),
        ("threshold=1e300", ["threshold", "moderate"]),
        ("arms=" + ";".join(["1,0,1"] * 25), ["25 arms"]),
        ("items=" + ";".join(["1,0"] * 25), ["25 items"]),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(query, words):
    with pytest.raises(InputError) as caught:
        State.from_query(query)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "fields", [{"arms": None}, {"arms": [[1, 2, 3]]}, {"arms": [], "noise_variance": []}, {"theta": 1}]
)
def test_malformed_settings_of_a_page_are_input_errors(fields):
    with pytest.raises(InputError):
        State.from_fields(fields)


def test_the_examples_cover_every_shape_and_begin_with_what_opens():
    assert next(iter(EXAMPLES.values())) == State()
    assert any(state.items for state in EXAMPLES.values())
    assert len({state.to_query() for state in EXAMPLES.values()}) == len(EXAMPLES)
