"""The line that long work shows: its share, its times, and that nothing of it is left."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.showing import DELAY, ProgressLine, duration, show_progress, tell, told


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def line():
    """A line, its clock and what was drawn."""
    clock, stream = Clock(), io.StringIO()
    return ProgressLine("verify", None, stream, clock), clock, stream


def test_the_time_left_is_that_of_the_pace_so_far(line):
    line, clock, _ = line
    clock.now += 30.0
    assert line.text == "verify: 30 s"
    line.tell(0.75, "gap 1e-05")
    assert line.text == "verify:  75 %, 30 s, about 10 s left (gap 1e-05)"
    line.tell(0.5)  # nothing goes back
    clock.now += 30.0
    assert line.text == "verify:  75 %, 1 min, about 20 s left"
    line.tell(float("nan"))
    line.tell(7.0)
    assert line.text == "verify: 100 %, 1 min, about 0 s left"


def test_no_more_is_left_than_the_limit(line):
    line, clock, _ = line
    line.at_most = 60.0
    clock.now += 20.0
    assert line.text == "verify: 20 s, at most 40 s left"
    line.tell(0.01)
    assert "at most 40 s" in line.text
    line.tell(0.1)  # at this pace three minutes more
    assert "about 40 s left" in line.text
    line.tell(0.5)
    assert "about 20 s left" in line.text


def test_it_is_drawn_after_a_while_over_itself_and_leaves_nothing(line):
    line, clock, stream = line
    line.draw()
    line.clear()
    assert stream.getvalue() == ""
    clock.now += DELAY + 1.0
    line.tell(0.5, "a long detail")
    line.draw()
    line.tell(0.5)
    line.draw()
    first, second = stream.getvalue().split("\r")[1:]
    assert len(second) == len(first)  # blanks over the rest of what was there
    line.clear()
    assert stream.getvalue().endswith("\r" + " " * len(second.rstrip()) + "\r")


def test_solve_tells_how_many_digits_are_proven():
    """Shares never fall, end at one where the gap is proven, and are those of the logarithm of the gap."""
    problem = cd.DesignProblem.xy_allocation(np.random.default_rng(0).standard_normal((200, 6)))
    seen = []
    with show_progress("work") as shown:
        original = shown.tell
        shown.tell = lambda share, detail="": (seen.append((share, detail)), original(share, detail))
        design = cd.solve(problem)
    assert len(seen) == len(design.stats.history)
    gaps = [snapshot.gap for snapshot in design.stats.history]
    expected = np.log(gaps[0] / np.array(gaps)) / np.log(gaps[0] / 1e-6)
    np.testing.assert_allclose([share for share, _ in seen], expected, rtol=1e-9, atol=1e-12)
    assert shown.share == 1.0
    assert "arms" in seen[-1][1]


def test_nobody_looks_and_nothing_is_said(capsys):
    assert not told()
    tell(0.5)
    with show_progress("quick"):
        assert told()
        cd.verify(cd.DesignProblem.g_optimal([[1.0, 0.0], [0.0, 1.0]]), [0.5, 0.5])
    assert not told()
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""  # it was over within the first second


def test_a_failure_ends_the_line():
    with pytest.raises(ZeroDivisionError), show_progress("fails"):
        raise ZeroDivisionError
    assert not told()


def test_work_that_says_nothing_shows_its_time(capsys, monkeypatch):
    monkeypatch.setattr("convexdesign.showing.DELAY", 0.0)
    monkeypatch.setattr("convexdesign.showing.BETWEEN", 0.001)
    with show_progress("silent", at_most=1000.0):
        deadline = time.monotonic() + 10.0
        while "silent" not in (text := capsys.readouterr().err) and time.monotonic() < deadline:
            time.sleep(0.001)
    assert "silent: 0 s, at most" in text


@pytest.mark.parametrize("arguments", [{"label": 3}, {"at_most": 0.0}, {"at_most": "soon"}])
def test_what_cannot_be_is_refused(arguments):
    with pytest.raises(cd.InputError), show_progress(**arguments):
        pass


def test_durations_are_said_as_people_say_them():
    assert [duration(s) for s in (0.0, 59.4, 61.0, 599.0, 600.0, 3600.0, 86_400.0)] == [
        "0 s",
        "59 s",
        "1 min 1 s",
        "9 min 59 s",
        "10 min",
        "1 h",
        "24 h",
    ]


def test_parts_of_the_work_share_one_line():
    from convexdesign.showing import in_turn, tell

    shares = []
    with show_progress("all") as shown:
        for name in in_turn(["D", "A", "G", "E"]):
            tell(7.0 if name == "A" else 0.5, "gap 1e-3")
            shares.append(shown.share)
            assert shown.detail == f"{name}: gap 1e-3"
        tell(None, "done")
    assert shares == [0.125, 0.5, 0.625, 0.875]
    assert shown.detail == "done"
