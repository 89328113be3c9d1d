"""What is no number, choice, path or array is told from what is one, without raising anything else."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from convexdesign.arguments import (
    flag,
    generator,
    instance,
    is_one_of,
    numeric,
    probability,
    real,
    shown,
    text_of,
    to_path,
    whole,
    whole_at_least,
)
from convexdesign.errors import InputError

STRANGE = [None, "1", b"1", 1j, object(), int, [], [1.0], {}, np.array([1.0]), np.array("a"), pd.DataFrame({"a": [1]})]


@pytest.mark.parametrize(
    "value", [*STRANGE, True, np.bool_(True), Decimal("sNaN")], ids=lambda value: type(value).__name__
)
def test_what_is_no_number_fails_every_comparison(value):
    assert math.isnan(real(value))
    assert whole(value) is None


@pytest.mark.parametrize(
    "value", [2, 2.0, np.int8(2), np.float32(2), np.array(2), np.array(2.0), Fraction(2), Decimal(2)]
)
def test_numbers_of_every_type(value):
    assert real(value) == 2.0
    assert whole(value) == 2
    assert type(whole(value)) is int


def test_numbers_beyond_floats_keep_their_sign_and_whole_ones_their_digits():
    assert (real(10**400), real(-(10**400))) == (math.inf, -math.inf)
    assert whole(10**400) == 10**400
    assert whole(2**53 + 1) == 2**53 + 1
    assert [whole(value) for value in (1.5, math.inf, math.nan)] == [None] * 3


@pytest.mark.parametrize("value", STRANGE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "check",
    [
        lambda value: flag(value, "x"),
        lambda value: whole_at_least(1, value, "x"),
        lambda value: probability(value, "x"),
        lambda value: instance(value, Path, "x", "give one"),
        lambda value: instance(value, Path | Fraction, "x", "give one"),
    ],
    ids=["flag", "whole", "probability", "instance", "instances"],
)
def test_what_does_not_fit_is_named_in_words(check, value):
    with pytest.raises(InputError, match=r"^x (is|must be) .*"):
        check(value)


def test_what_fits_is_returned():
    assert flag(np.bool_(False), "x") is False
    assert whole_at_least(3, 3.0, "x") == 3
    assert probability(Fraction(1, 4)) == 0.25
    assert text_of("a", "x") == "a"
    assert to_path("a") == to_path(Path("a")) == Path("a")
    assert generator(3).random() == generator(np.random.default_rng(3)).random()
    instance(Fraction(1), Path | Fraction, "x", "give one")


@pytest.mark.parametrize("check", [text_of, to_path])
def test_neither_text_nor_path(check):
    for value in (None, 1, b"a", ["a"]):
        with pytest.raises(InputError, match=r"^x is"):
            check(value, "x")


@pytest.mark.parametrize("seed", ["a", -1, 1.5, object(), [0.5]])
def test_what_is_no_seed(seed):
    with pytest.raises(InputError, match=r"^rng is"):
        generator(seed)


def test_choices_compare_with_text_alone():
    assert is_one_of("a", ("a", None))
    assert is_one_of(None, ("a", None))
    assert not any(is_one_of(value, ("a",)) for value in (None, np.array(["a"]), ["a"], 1))


@pytest.mark.parametrize("source", [None, "a", {"a": 1}, [[1.0], [1.0, 2.0]], [1j], [object()], np.array(["a"])])
def test_what_is_no_array_of_numbers(source):
    with pytest.raises(InputError, match=r"^x must be"):
        numeric(source, "x")


def test_values_in_messages_fit_a_line():
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shown(Silent()) == "a Silent"
    for value in ("a" * 1000, np.zeros((50, 50)), 10**400, 10**5000):
        assert len(shown(value)) <= 100
        assert "\n" not in shown(value)


@pytest.mark.parametrize(
    "source",
    [
        [[0, 2**60 + 1], [2**60, 1]],
        [[0, -(2**70) - 1], [1, 1]],
        np.array([[1, 2**64 - 1]], dtype=np.uint64),
        np.array([[1, -(2**53) - 1]]),
    ],
)
def test_a_whole_number_that_is_no_double_is_refused_by_its_place(source):
    with pytest.raises(InputError, match=r"x\[0, 1\] is -?\d+, which double precision rounds to"):
        numeric(source, "x")


@pytest.mark.parametrize("value", [2**53, -(2**53), 2**60, 2**63 - 1024, -(2**63), 2**70])
def test_a_large_whole_number_that_is_a_double_is_taken(value):
    assert float(numeric([value, 1], "x")[0]) == value
