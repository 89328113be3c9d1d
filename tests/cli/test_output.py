"""Proven bounds are printed so that what is printed is proven too."""

import ast
import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import convexdesign.cli
from convexdesign.cli.output import at_least, at_most, finite, print_json, print_line, print_table, printable, say


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
