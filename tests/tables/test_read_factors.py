"""Tables of factor settings: numbers, categories, names of rows; nothing ambiguous is guessed."""

import numpy as np
import pytest

from convexdesign.errors import InputError
from convexdesign.tables.factors import read_factors


@pytest.fixture
def read(tmp_path):
    def run(text, **options):
        path = tmp_path / "factors.csv"
        path.write_text(text, encoding="utf-8")
        return read_factors(path, **options)

    return run


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_numbers_and_categories_with_any_delimiter(read, delimiter):
    table = read("name,colour,dose\np,red,0.5\nq,none,2\n".replace(",", delimiter))
    assert table.names == ("p", "q")
    assert dict(table.columns) == {"colour": ["red", "none"], "dose": [0.5, 2.0]}
    assert table.n == 2


def test_decimal_comma_where_it_is_said(read):
    text = "dose;colour\n0,5;red\n1,25;blue\n"
    with pytest.raises(InputError, match=r"factors.csv: line 2, column 'dose': '0,5'.*decimal=','"):
        read(text)
    assert read(text, decimal=",").columns["dose"] == [0.5, 1.25]


def test_a_first_column_of_text_under_another_name_is_a_factor(read):
    table = read("colour,dose\nred,1\nred,2\n")
    assert table.names is None
    assert table.columns["colour"] == ["red", "red"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n", "no row of settings"),
        ("1,2\n3,4\n", "names in a header line, but column 1 has '1'"),
        ("a,a\n1,2\n", "two columns 'a'"),
        ("a,b\n1,2\n3\n", "line 3 has 1 cells, the header 2"),
        ("a,b\n1,NA\n", "line 2, column 'b': 'NA' is missing"),
        ("a,b\n1,5%\n", "'5%' is no number"),
        ("a,b\n1,x\n2,3\n", "column 'b' holds numbers .'3'. and text .'x'."),
        ("a,b;c\n1,2\n", "several delimiters"),
        ("name,b\np,2\np,3\n", "lines 2 and 3 have the same name, 'p'"),
        ('a,b\n1,"2\n', "double quotes"),
        ("", "empty"),
    ],
)
def test_what_is_unclear_is_refused_with_its_place(read, text, words):
    with pytest.raises(InputError, match=words) as caught:
        read(text)
    assert str(caught.value).count("factors.csv") == 1


def test_marks_are_checked(read):
    for options in ({"decimal": ";"}, {"delimiter": "::"}):
        with pytest.raises(InputError, match=next(iter(options))):
            read("a\n1\n", **options)


def test_npy_has_no_names(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    with pytest.raises(InputError, match="no names"):
        read_factors(tmp_path / "x.npy")
