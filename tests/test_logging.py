"""What a solve logs: nothing unless asked, to the application's handlers where it wants it, on stderr where verbose."""

from __future__ import annotations

import logging

import pytest

import convexdesign as cd


@pytest.fixture
def problem():
    return cd.DesignProblem.g_optimal([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


def test_silent_by_default(problem, caplog, capsys):
    cd.solve(problem)
    assert caplog.records == []
    assert capsys.readouterr() == ("", "")


def test_verbose_shows_value_and_gap_on_stderr_alone(problem, capsys):
    design = cd.solve(problem, verbose=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"value {design.value:.6g}" in shown.err
    assert "gap" in shown.err
    # It was for that one solve.
    cd.solve(problem)
    assert capsys.readouterr().err == ""


def test_the_application_may_listen(problem, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="convexdesign"):
        cd.solve(problem)
        heard = list(caplog.records)
        cd.solve(problem, verbose=True)
    assert heard
    assert {(r.name, r.levelno) for r in caplog.records} == {("convexdesign.solving", logging.INFO)}
    assert len(caplog.records) == 2 * len(heard)
    assert len(capsys.readouterr().err.splitlines()) == len(heard)


def test_the_library_attaches_nothing_that_writes():
    log = logging.getLogger("convexdesign")
    assert [type(handler) for handler in log.handlers] == [logging.NullHandler]
    assert logging.getLogger("convexdesign.solving").handlers == []
