"""Proven bounds are printed so that what is printed is proven too."""

import ast
import json
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import convexdesign.cli
from convexdesign.cli.output import (
    FILE_WIDTH,
    at_least,
    at_most,
    finite,
    print_json,
    print_line,
    print_table,
    printable,
    say,
    wrapped,
)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.floats(0, 1), st.integers(3, 12))
def test_bounds_are_rounded_outwards(number, digits):
    """Up to the rounding of one product of doubles, which is far below the digits shown."""
    low, high = Decimal(at_least(number, digits)), Decimal(at_most(number, digits))
    slack = Decimal("1e-15")
    assert low <= Decimal(number) + slack
    assert high >= Decimal(number) - slack
    assert high - low <= Decimal(10) ** -digits


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_what_is_not_finite_is_said(number):
    assert at_least(number, 6) == at_most(number, 6) == str(number)
    assert finite({"a": [number, 1.0]}) == {"a": [None, 1.0]}


def test_what_moves_a_terminal_is_printed_as_text(capsys):
    text = "a\x1b[31mb\x9bc\x07\u202ed\U000e0001e\n"
    print_line(text)
    say(text)
    print_table(["name"], [[text]], left=["name"])
    print_json({"name": text})
    captured = capsys.readouterr()
    assert all(c.isprintable() or c == "\n" for c in captured.out + captured.err)
    assert "a\\x1b[31mb\\x9bc\\x07\\u202ed\\U000e0001e" in captured.out
    assert json.loads(captured.out.splitlines()[-1]) == {"name": text}
    assert printable("Größe 3 µm") == "Größe 3 µm"


def test_one_place_prints():
    """Names pass `printable` on their way to a terminal because nothing else in the command line writes to one."""
    folder = Path(convexdesign.cli.__file__).parent
    printing = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Name) and node.id == "print")
        or (
            isinstance(node, ast.Attribute)
            and node.attr in ("write", "writelines", "echo", "secho")
            and "std" in ast.dump(node)
        )
    }
    assert printing == {"__init__.py", "output.py"}  # the former says that it was interrupted, and nothing else


def table(capsys, columns, rows, left, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(columns, rows, left=left)
    return capsys.readouterr().out.splitlines()


def test_a_table_is_no_wider_than_its_window_and_cuts_neither_names_nor_numbers(capsys, monkeypatch):
    rows = [("an arm with a long name", "123.456789", "words " * 30), ("x", "1", "short")]
    for width in (60, 90, 400):
        lines = table(capsys, ("arm", "value", "note"), rows, ("arm", "note"), width, monkeypatch)
        assert max(map(len, lines)) <= width
        assert sum(line.count("words") for line in lines) == 30
        assert any("an arm with a long name" in line and "123.456789" in line for line in lines)
    # Long names go on in the next line, broken where they have no blanks; they are there to the last character.
    for name in ("an arm with a long name", "n" * 90, "a=-1, b=2, " * 9):
        lines = table(capsys, ("arm", "value"), [(name, "123.456789"), ("y", "1")], ("arm",), 25, monkeypatch)
        assert max(map(len, lines)) <= 25
        assert any(line.endswith(" 123.456789") for line in lines)
        assert "".join("".join(line[:13] for line in lines[2:]).split()) == "".join(name.split()) + "y"
    # No room for the numbers alone: they are whole all the same.
    lines = table(capsys, ("arm", "value", "other"), [("x", "1" * 12, "2" * 12)], ("arm",), 25, monkeypatch)
    assert any("1" * 12 in line and "2" * 12 in line for line in lines)


def test_where_no_terminal_is_tables_have_a_width_too(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(("arm", "note"), [("x", "words " * 100)], left=("arm", "note"))
    assert max(map(len, capsys.readouterr().out.splitlines())) <= FILE_WIDTH


def test_in_a_terminal_lines_break_between_words_and_hang_behind_their_label(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    text = f"{'gap':<16} 1.0e-07: certified, the tolerance is 1.0e-06\nshort"
    print_line(text)
    say("a message of more words than one line of forty characters can hold")
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert max(map(len, lines + captured.err.splitlines())) <= 40
    assert " ".join(captured.out.split()) == " ".join(text.split())
    assert lines[1].startswith(" " * 17)
    assert lines[1][17] != " "
    assert lines[-1] == "short"


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.text(st.characters(codec="ascii", exclude_categories=["C"])), st.integers(20, 80))
def test_wrapping_loses_nothing_but_blanks(text, width):
    assert "".join(wrapped(text, width).split()) == "".join(text.split())


@pytest.mark.parametrize("columns", ["", "40"])
def test_files_and_logs_are_not_wrapped(capsys, monkeypatch, columns):
    """No terminal, no width: a line is a line, whatever COLUMNS says of tables."""
    monkeypatch.setenv("COLUMNS", columns)
    print_line("word " * 100)
    say("word " * 100)
    captured = capsys.readouterr()
    assert captured.out.count("\n") == captured.err.count("\n") == 1


def test_headings_are_broken_between_words_before_a_table_leaves_the_window(capsys, monkeypatch):
    rows = [("red", "0.5000", "1.0")]
    heads = ("arm", "share of the measurements", "noise variance known")
    monkeypatch.setenv("COLUMNS", "40")
    print_table(heads, rows, left=("arm",))
    narrow = capsys.readouterr().out.splitlines()
    assert max(map(len, narrow)) <= 40
    assert " ".join(" ".join(narrow[:2]).split()).count("share of") == 1
    monkeypatch.setenv("COLUMNS", "20")
    print_table(heads, [("a name that is long", "0.5000", "1.0")], left=("arm",))
    lines = capsys.readouterr().out.splitlines()
    rule = next(k for k, line in enumerate(lines) if set(line) <= set("─-+ ") and line)
    assert sorted(" ".join(lines[:rule]).split()) == sorted(" ".join(heads).split())
    assert any(line.split()[-2:] == ["0.5000", "1.0"] for line in lines)
