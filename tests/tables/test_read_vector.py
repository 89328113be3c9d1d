"""Weights and counts: one column, names and numbers, or indices and numbers."""

import numpy as np
import pytest

from convexdesign.errors import InputError
from convexdesign.tables import read_vector

NAMES = ("red", "green", "blue")


@pytest.fixture
def read(tmp_path):
    def run(text, n=3, **options):
        path = tmp_path / "w.csv"
        path.write_text(text)
        return read_vector(path, n, **options)

    return run


@pytest.mark.parametrize(
    "text",
    [
        "0.5\n0\n0.25\n",
        "weight\n0.5\n0\n0.25\n",
        ",weight\n0,0.5\n1,0.0\n2,0.25\n",
        "arm,weight\n0,0.5\n1,0\n2,0.25\n",
        "arm;weight\n2;0,25\n0;0,5\n",
        "0,0.5\n2,0.25\n",
        "red,0.5\ngreen,0\nblue,0.25\n",
        "arm\tw\nblue\t0,25\nred\t0,5\n",
        '"0,5"\n"0"\n"0,25"\n',
    ],
)
def test_the_same_weights_in_every_form(read, text):
    np.testing.assert_array_equal(read(text, names=NAMES), [0.5, 0, 0.25])


def test_a_column_by_name(read):
    text = "arm,weight,count\nred,0.5,10\nblue,0.25,5\n"
    np.testing.assert_array_equal(read(text, names=NAMES, column="count"), [10, 0, 5])
    with pytest.raises(InputError, match=r"weight, count.*column="):
        read(text, names=NAMES)
    with pytest.raises(InputError, match="no column 'w'"):
        read(text, names=NAMES, column="w")


def test_the_usual_column_among_several(read):
    text = "arm,weight,count\nred,0.5,10\nblue,0.25,5\n"
    np.testing.assert_array_equal(read(text, names=NAMES, usual=("count", "counts")), [10, 0, 5])
    np.testing.assert_array_equal(read("arm,w\nred,0.5\n", names=NAMES, usual=("weight",)), [0.5, 0, 0])
    with pytest.raises(InputError, match=r"weight, count.*head the one meant 'variance'"):
        read(text, names=NAMES, usual=("variance",))


def test_arms_that_are_not_listed(read):
    np.testing.assert_array_equal(read("arm,w\nblue,0.25\n", names=NAMES, unlisted=1.0), [1, 1, 0.25])


def test_decimal_commas_in_a_uniform_design_are_not_zeros_and_ones(read):
    """Ten weights of a tenth: 0,1 must not become arm 0 with weight 1."""
    with pytest.raises(InputError, match="two ways"):
        read("0,1\n" * 10, n=10)
    np.testing.assert_array_equal(read("0,1\n" * 10, n=10, decimal=","), np.full(10, 0.1))


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("0.5\n0.5\n", {}, "2 numbers; there are 3 arms"),
        ("0,0.5\n0,0.25\n", {}, "listed 2 times"),
        ("1,0.5\n2,0.25\n3,0.25\n", {}, "count from 0"),
        ("0,0.5\n7,0.25\n", {}, "no arm index"),
        ("0.5,0.5\n1.5,0.25\n", {}, "no arm index"),
        ("red,0.5\ngren,0.5\n", {"names": NAMES}, "did you mean 'green'"),
        ("red,0.5\n", {}, "arms have no names"),
        ("0.5\n\n0.25\n0.25\n", {}, "blank"),
        ("0.5\nx\n0.25\n", {}, "text"),
        ("a,NA\nb,0.5\n", {"names": ("a", "b", "c")}, "missing"),
    ],
)
def test_wrong_vectors_are_refused(read, text, options, words):
    with pytest.raises(InputError, match=words) as caught:
        read(text, **options)
    assert "w.csv" in str(caught.value)


def test_npy_vectors(tmp_path):
    path = tmp_path / "w.npy"
    for array in (np.array([0.5, 0, 0.25]), np.array([[0.5], [0], [0.25]])):
        np.save(path, array)
        np.testing.assert_array_equal(read_vector(path, 3), [0.5, 0, 0.25])
    with pytest.raises(InputError, match="there are 4 arms"):
        read_vector(path, 4)
