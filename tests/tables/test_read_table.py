"""CSV as people have it: what must be read, and what must be refused with a remedy."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexdesign.errors import InputError
from convexdesign.tables import read_table
from convexdesign.tables.cells import kind, looks_numeric, numbers


@pytest.fixture
def read(tmp_path):
    """Write text or bytes to a file and read it as a table."""

    def run(content, suffix=".csv", **options):
        path = tmp_path / f"arms{suffix}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return run


ARMS = [[0.5, 1.0], [1.25, -2.0]]

SAME_TABLE = {
    "comma": "0.5,1\n1.25,-2\n",
    "comma and blanks": "0.5, 1\n1.25, -2\n",
    "semicolon, decimal comma": "0,5;1\n1,25;-2\n",
    "semicolon, decimal point": "0.5;1\n1.25;-2\n",
    "tab, decimal comma": "0,5\t1\n1,25\t-2\n",
    "tab": "0.5\t1\n1.25\t-2\n",
    "blanks": "0.5 1\n  1.25   -2\n",
    "blanks, decimal comma": "0,5 1,0\n1,25 -2,0\n",
    "bars": "0.5|1\n1.25|-2\n",
    "quoted decimal comma": '"0,5","1,0"\n"1,25","-2,0"\n',
    "windows line ends": "0.5,1\r\n1.25,-2\r\n",
    "old mac line ends": "0.5,1\r1.25,-2\r",
    "no final line end": "0.5,1\n1.25,-2",
    "blank lines": "\n\n0.5,1\n\n1.25,-2\n\n\n",
    "empty rows below": "0.5,1\n1.25,-2\n,\n,\n",
    "delimiter at line ends": "0.5,1,\n1.25,-2,\n",
    "exponents": "5e-1,1E0\n0.125e+1,-2.\n",
    "bare point": ".5,1\n1.25,-2\n",
    "minus sign of typesetters": "0.5,1\n1.25,\u22122\n",
    "sep line": "sep=;\n0,5;1\n1,25;-2\n",
    "quoted numbers": '"0.5","1"\n"1.25","-2"\n',
}


@pytest.mark.parametrize("text", SAME_TABLE.values(), ids=SAME_TABLE.keys())
@pytest.mark.parametrize("mark", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_every_common_form_is_the_same_table(read, text, mark):
    table = read(text.encode(mark))
    np.testing.assert_array_equal(table.values, ARMS)
    assert table.values.dtype == np.float64
    assert table.names is None
    assert table.columns == ("x1", "x2")


NAMED = {
    "comma": "arm,height,width\nred,0.5,1\nblue,1.25,-2\n",
    "semicolon": "arm;height;width\nred;0,5;1\nblue;1,25;-2\n",
    "no name for the names": ",height,width\nred,0.5,1\nblue,1.25,-2\n",
    "header one short": "height,width\nred,0.5,1\nblue,1.25,-2\n",
    "R": '"height","width"\n"red",0.5,1\n"blue",1.25,-2\n',
    "tab, windows": "arm\theight\twidth\r\nred\t0.5\t1\r\nblue\t1.25\t-2\r\n",
    "delimiter at line ends": "arm;height;width;\nred;0,5;1;\nblue;1,25;-2;\n",
    "delimiter at the ends of the rows only": "arm;height;width\nred;0,5;1;\nblue;1,25;-2;\n",
}


@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED.keys())
def test_header_and_row_names(read, text):
    table = read(text)
    np.testing.assert_array_equal(table.values, ARMS)
    assert table.columns == ("height", "width")
    assert table.names == ("red", "blue")


def test_names_without_header(read):
    table = read("red,0.5,1\nblue,1.25,-2\n")
    assert table.names == ("red", "blue")
    assert table.columns == ("x1", "x2")


def test_quoted_names_keep_delimiters_quotes_and_line_ends(read):
    table = read('"a, ""b""",0.5,1\n"two\nlines",1.25,-2\n')
    assert table.names == ('a, "b"', "two\nlines")
    np.testing.assert_array_equal(table.values, ARMS)


def test_names_with_accents(read):
    text = "arm;x\nété;0,5\nœuf;1,5\n"
    assert read(text).names == ("été", "œuf")
    assert read(text.encode("cp1252"), encoding="cp1252").names == ("été", "œuf")
    assert read(text.encode("utf-16-le"), encoding="utf-16-le").names == ("été", "œuf")
    with pytest.raises(InputError, match=r"line 2: byte 0xe9 .*encoding='cp1252'"):
        read(text.encode("cp1252"))
    with pytest.raises(InputError, match="encoding='utf-16-le'"):
        read("arm;x\nred;0,5\n".encode("utf-16-le"))


@pytest.mark.parametrize("options", [{}, {"index": False}])
@pytest.mark.parametrize("columns", [["a", "b", "c"], None])
@pytest.mark.parametrize("marks", [{}, {"sep": ";", "decimal": ","}, {"sep": "\t"}])
def test_data_frames_come_back(read, options, columns, marks):
    """The files pandas writes: with its counting index, or without; names for columns, or numbers."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 3)), columns=columns)
    text = frame.to_csv(**options, **marks)
    if columns is None and options:
        with pytest.raises(InputError, match="header=True"):
            read(text)
        table = read(text, header=True)
    else:
        table = read(text)
    np.testing.assert_array_equal(table.values, frame.to_numpy())
    assert table.columns == tuple(str(c) for c in frame.columns)
    assert table.names == (None if options else tuple("012345"))


def test_savetxt_comes_back(read):
    X = np.random.default_rng(1).normal(size=(5, 2))
    for options in ({}, {"delimiter": ","}, {"delimiter": ";", "newline": "\r\n"}):
        buffer = io.StringIO()
        np.savetxt(buffer, X, **options)
        np.testing.assert_allclose(read(buffer.getvalue()).values, X, rtol=1e-15)
    buffer = io.StringIO()
    np.savetxt(buffer, X, header="made by hand", delimiter=",")
    np.testing.assert_allclose(read(buffer.getvalue(), comment="#").values, X, rtol=1e-15)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    st.lists(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3), min_size=1, max_size=6),
    st.sampled_from([(",", "."), (";", ","), (";", "."), ("\t", ","), ("\t", "."), (" ", ","), ("|", ".")]),
    st.booleans(),
)
def test_what_is_read_is_what_was_written_or_an_error(tmp_path_factory, rows, marks, header):
    """Whatever the dialect: the numbers come back exactly, or the file is called ambiguous. Never others."""
    delimiter, decimal = marks
    lines = [delimiter.join(json.dumps(x).replace(".", decimal) for x in row) for row in rows]
    text = "\n".join([delimiter.join("abc"), *lines] if header else lines)
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    path.write_text(text)
    explicit = read_table(path, delimiter=delimiter, decimal=decimal, header=header, names=False)
    np.testing.assert_array_equal(explicit.values, rows)
    try:
        found = read_table(path).values
    except InputError as error:
        if "pass" not in str(error).lower():
            raise
    else:
        np.testing.assert_array_equal(found, rows)


AMBIGUOUS = {
    "1,5 in one column": ("1,5\n2,5\n", "two ways"),
    "blank or comma": ("a 1,5\nb 2,5\n", "two ways"),
    "thousands": ("1,234;5,678\n2,345;6,789\n", "thousands"),
    "thousands with points": ("1.234;5.678\n2.345;6\n", "two ways"),
    "quoted thousands": ('"1,234","5,678"\n"2,345","6,789"\n', "thousands"),
    "column numbers": ("0,1,2\n0.5,0.25,3\n", "header=True"),
    "column numbers behind a name": ("arm,0,1,2\nred,1,0,0\nblue,0,0,1\n", "header=True"),
    "column numbers over decimals": ("0,1\n0.5,0.25\n", "header=True"),
    "header that a comma splits": ("x,x\n3,4\n5,6\n", "two columns"),
    "text beside zero": ("a,0\n1,0\n0,1\n", "header=True"),
    "infinite first line": ("inf,0\n0,1\n", "infinite"),
    "typing error in the first line": ("1e,0\n0,1\n", "correct the cell"),
    "numbers as labels": ("arm,x,y\n007,1,0\n7,0,1\n7,1,1\n", "names=True"),
    "counting label": ("arm,x\n0,0.5\n1,0.25\n", "names=True"),
    "unnamed first column": (",x\n3,0.5\n7,0.25\n", "names=True"),
    "first line mixes": ("x,1.5\n2.5,3.5\n", "header=True"),
    "first line mixes later": ("1.5,x\n2.5,3.5\n", "header=True"),
    "blanks in numbers": ("a,1 045\nb,1 016\n", "comma splits every line alike, and so does the blank"),
    "blanks and commas in numbers": (
        "a;1 045,5\nb;1 016,5\n",
        "semicolon splits every line alike, and so does the comma",
    ),
    "first column mixes": ("a,1.5\n2,3.5\n", "first column|begins with text"),
}


@pytest.mark.parametrize(("text", "words"), AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_ambiguous_files_are_refused_with_the_argument_that_decides(read, text, words):
    with pytest.raises(InputError, match=words):
        read(text)


def test_whole_numbers_in_more_columns_have_one_meaning(read):
    np.testing.assert_array_equal(read("1,5,2,5\n3,5,4,5\n").values, [[1, 5, 2, 5], [3, 5, 4, 5]])
    np.testing.assert_array_equal(read("1,0,5\n1,2,5\n").values, [[1, 0, 5], [1, 2, 5]])
    assert read("red,1,5\nblue,2,5\n").names == ("red", "blue")


def test_arguments_decide(read):
    np.testing.assert_array_equal(read("1,5\n2,5\n", delimiter=",").values, [[1, 5], [2, 5]])
    np.testing.assert_array_equal(read("1,5\n2,5\n", decimal=".").values, [[1, 5], [2, 5]])
    np.testing.assert_array_equal(read("1,5\n2,5\n", decimal=",").values, [[1.5], [2.5]])
    np.testing.assert_array_equal(read("1,234;5,678\n", decimal=",").values, [[1.234, 5.678]])
    np.testing.assert_array_equal(read("0,1,2\n3,4,5\n", header=True).values, [[3, 4, 5]])
    np.testing.assert_array_equal(read("0,1,2\n3,4,5\n", header=False, decimal=".").values, [[0, 1, 2], [3, 4, 5]])
    table = read("arm,x\n0,0.5\n1,0.25\n", names=True)
    assert table.names == ("0", "1")
    np.testing.assert_array_equal(table.values, [[0.5], [0.25]])
    np.testing.assert_array_equal(read("arm,x\n0,0.5\n1,0.25\n", names=False).values, [[0, 0.5], [1, 0.25]])
    assert read("a 1,5\nb 2,5\n", delimiter=",").names == ("a 1", "b 2")


def test_codes_of_zero_and_one_need_no_argument(read):
    np.testing.assert_array_equal(read("1,0\n0,1\n").values, np.eye(2))
    np.testing.assert_array_equal(read("1,-1,1\n1,1,1\n").values, [[1, -1, 1], [1, 1, 1]])


def test_names_may_hold_other_marks_where_no_number_is_split(read):
    assert read("low|high,1,2\nlow|low,1,3\n").names == ("low|high", "low|low")
    assert read('"x" "y"\n"Smith, J" 1.5 2\n"Doe, K" 3 4\n').names == ("Smith, J", "Doe, K")
    assert read("name,dose\na,1 045\nb,2 500\n", delimiter=" ").names == ("a,1", "b,2")


@pytest.mark.parametrize("cell", ["abc", "1e", "1" * 100_000 + "x", " " * 100_000 + "x", "1 " * 50_000 + "x"])
def test_cells_are_told_apart_in_time_that_grows_with_their_length(cell):
    """A pattern that matches a text in two ways would take years for a row of numbers before one that is none."""
    assert numbers(["123.45"] * 1000 + [cell], ".") is None
    assert kind(cell, ".") == kind(cell, ",") == "text"
    assert not looks_numeric(cell) or cell == "1e"


@pytest.mark.parametrize(
    "cell", ["1\u202f045", "1\u00a0045,5", "1\u2019045", "5 %", "$3", "1_000", "1e5 %", "\u22121 045"]
)
def test_numbers_as_people_write_them(cell):
    assert looks_numeric(cell)
    assert kind(cell, ".") == "text"


def test_both_marks_a_comma_needs_quotes(read):
    with pytest.raises(InputError, match="quoted"):
        read("1,5,2,5\n", delimiter=",", decimal=",")


WRONG = {
    "missing": ("x,y\n1.5,2\n,3\n", r"row 2 on line 3, column 'x': '' is missing"),
    "NA": ("a,0.5,1\nb,NA,2\n", r"row 2 \('b'\) on line 2, column 'x1': 'NA' is missing"),
    "nan": ("0.5,1\nnan,2\n", "'nan' is missing"),
    "infinite": ("0.5,1\ninf,2\n", "row 2 on line 2, column 'x1': 'inf' is infinite"),
    "overflow": ("0.5,1\n1e999,2\n", "infinite"),
    "text": ("x,y\n0.5,1\n1.25,two\n", "row 2 on line 3, column 'y': 'two' is not a number"),
    "blanks in numbers": ("name,dose\na,1 045\nb,2 500\n", r"row 1 \('a'\) on line 2, column 'dose': '1 045' is not"),
    "no-break blanks in numbers": ("name;dose\na;1\u202f045,5\nb;2\u00a0500,0\n", "'1\\\\u202f045,5' is not a number"),
    "blanks and decimal commas": ("name;dose\na;1 045,5\nb;2 500,0\n", "column 'dose': '1 045,5' is not a number"),
    "percent": ("x,y\n0.5,1%\n1.25,2\n", "column 'y': '1%' is not a number"),
    "thousands and decimals": ('x,y\n"1.234,5",1\n"2,5",2\n', r"'1\.234,5' .*thousands"),
    "underscore": ("x,y\n1_000,2.5\n", "'1_000' looks like a number.*names=True"),
    "percentages": ("5%,0.5\n6%,0.7\n", "'5%' is not a number.*units"),
    "currency": ("x,y\n$3,0.5\n$4,0.7\n", r"'\$3' looks like a number"),
    "missing on the first line": ("red,NA\nblue,0.5\n", r"row 1 \('red'\) on line 1, column 'x1': 'NA' is missing"),
    "percentage on the first line": ("red,5%\nblue,0.5\n", "line 1: '5%'"),
    "ragged": ("0.5,1\n1.5,2,3\n2.5,3\n", "line 2 has 3 cells where the others have 2"),
    "short row": ("x,y,z\n0.5,1,2\n2.5,3\n3.5,4,5\n", "line 3 has 2 cells"),
    "header too short": ("x\n1.5,2,3\n2.5,3,4\n", "header has 1 cells but the rows have 3"),
    "only a header": ("x,y\n", "no row of numbers"),
    "only names": ("red\nblue\n", "no numbers"),
    "repeated names": ("red,0.5\nred,0.7\n", "lines 1 and 2 have the same name"),
    "name missing": ("red,0.5\n,0.7\n", "no name"),
    "repeated columns": ("x,x\n0.5,0.7\n", "two columns 'x'"),
    "blank in a column": ("0.5\n\n0.7\n", "line 2 is blank"),
    "open quote": ('x,y\n"0.5,1\n1.5,2\n', "quotes"),
    "comment": ("# by hand\n0.5,1\n", "cells"),
    "wrong decimal": ("1;0,5\n2;1.5\n", r"pass decimal='[.,]'"),
    "json": ('{"arms": [[1, 2]]}\n', "not a number|no numbers|quotes|cells|header"),
    "control character": ("0.5,1\n\x01,2\n", "line 2: control character"),
    "empty": ("", "is empty"),
    "blank": (" \n\n \n", "is empty"),
    "only delimiters": (",,\n,,\n", "no cells|no numbers"),
    "bom only": ("\ufeff", "is empty"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG.keys())
def test_wrong_files_are_refused_with_their_place(read, text, words):
    with pytest.raises(InputError, match=words) as caught:
        read(text)
    assert "arms.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PK\x03\x04rest", "spreadsheet"),
        (b"\x1f\x8b\x08rest", "gzip"),
        (b"PAR1rest", "Parquet"),
        (bytes(range(256)), "binary"),
    ],
)
def test_other_formats_are_named(read, data, words):
    with pytest.raises(InputError, match=words):
        read(data)


def test_missing_folder_and_too_large(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="does not exist"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(70 * 2**20)
    with pytest.raises(InputError, match=r"70 MiB.*NPY"):
        read_table(path)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"delimiter": "::"}, "delimiter"), ({"decimal": "·"}, "decimal"), ({"encoding": "utf-99"}, "unknown")],
)
def test_wrong_arguments_are_named(read, options, words):
    with pytest.raises(InputError, match=words):
        read("0.5,1\n", **options)


def test_a_late_surprise_in_a_long_file_is_found(read):
    """The dialect is found on the beginning of a file; the rest is held to it."""
    lines = ["0.5,1.25"] * 20_000
    table = read("\n".join(lines))
    assert table.values.shape == (20_000, 2)
    lines[19_990] = "0.5,oops"
    with pytest.raises(InputError, match="row 19991 on line 19991, column 'x2': 'oops'"):
        read("\n".join(lines))
    with pytest.raises(InputError, match="two ways"):
        read("\n".join(["1,25"] * 20_000))


def test_npy(tmp_path):
    X = np.random.default_rng(0).normal(size=(7, 3))
    np.save(tmp_path / "x.npy", X)
    table = read_table(tmp_path / "x.npy")
    assert isinstance(table.values, np.memmap)
    np.testing.assert_array_equal(table.values, X)
    np.save(tmp_path / "i.npy", np.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(read_table(tmp_path / "i.npy").values, [[0, 1], [2, 3], [4, 5]])


def test_npy_wrong(tmp_path):
    bad = np.ones((70_000, 2))
    bad[69_999, 1] = np.nan
    cases = {
        "nan": (bad, r"entry \[69999, 1\] is nan"),
        "vector": (np.ones(3), r"shape \(3,\)"),
        "complex": (np.ones((2, 2), complex), "complex128"),
        "text": (np.array([["a"]]), "type"),
        "empty": (np.ones((0, 2)), "holds no number"),
        "objects": (np.array([[None]], object), "NPY"),
    }
    for name, (array, words) in cases.items():
        np.save(tmp_path / f"{name}.npy", array)
        with pytest.raises(InputError, match=words):
            read_table(tmp_path / f"{name}.npy")
    (tmp_path / "fake.npy").write_text("0.5,1\n")
    with pytest.raises(InputError, match=r"numpy\.save"):
        read_table(tmp_path / "fake.npy")
    np.save(tmp_path / "ok.npy", np.ones((2, 2)))
    with pytest.raises(InputError, match="do not apply"):
        read_table(tmp_path / "ok.npy", header=True)


def test_points_between_thousands_are_read_where_the_comma_is_the_decimal_mark(tmp_path):
    """As spreadsheets write numbers where the comma is the decimal mark: semicolons between cells, points between thousands."""
    path = tmp_path / "arms.csv"
    path.write_text("name;dose;weight\na;1.234.567,5;-2.500\nb;0,125;1.000,0\nc;17;3\n", encoding="utf-8")
    table = read_table(path)
    assert table.values.tolist() == [[1234567.5, -2500.0], [0.125, 1000.0], [17.0, 3.0]]
    assert table.names == ("a", "b", "c")
    # Three decimals each, or thousands: whoever knows says so.
    path.write_text("dose;weight\n1.234;5\n2.345;6\n", encoding="utf-8")
    assert read_table(path, decimal=".").values[0, 0] == 1.234
    assert read_table(path, decimal=",").values[0, 0] == 1234.0
    # Not all of them have three decimals, so they are no thousands.
    path.write_text("dose;weight\n1.234;5\n2.5;6\n", encoding="utf-8")
    assert read_table(path).values[:, 0].tolist() == [1.234, 2.5]
