"""Solvers that raise, hang, lie or die: another method, or the last certified design, and every attempt in the log."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import convexdesign as cd
import convexdesign.programs.conic  # children then need not import it, each for itself
from convexdesign.experiment import designing
from convexdesign.experiment.bounded import _in_thread, bounded
from convexdesign.experiment.designing import LAST_DESIGN, METHODS, Designer
from convexdesign.problem import DesignProblem

WORLD = cd.instances.soare(kappa=2.0)
PROBLEM = DesignProblem.xy_allocation(WORLD.arms)
OPTIMUM = cd.solve(PROBLEM).value
ALL = np.arange(3)


def failing(monkeypatch, how, methods):
    """Let these methods of the solver do `how` in place of their work."""

    def solve(problem, method="auto", **options):
        return how(problem, method, **options) if method in methods else cd.solve(problem, method=method, **options)

    monkeypatch.setattr(designing, "solve", solve)


def raises(problem, method, **options):
    raise RuntimeError("out of luck")


def hangs(problem, method, **options):
    while True:
        time.sleep(1)


def dies(problem, method, **options):
    os._exit(3)


def lies(problem, method, **options):
    """Weights that are far from optimal, with the certificate of the optimum."""
    right = cd.solve(problem)
    wrong = np.full(right.weights.size, 1.0 / right.weights.size)
    return cd.Design(problem, wrong, right.certificate, right.status)


def babbles(problem, method, **options):
    right = cd.solve(problem)
    return cd.Design(problem, np.full(right.weights.size, np.nan), right.certificate, right.status)


def forgets(problem, method, **options):
    """Weights that leave a direction unmeasured."""
    right = cd.solve(problem)
    return cd.Design(problem, np.eye(right.weights.size)[0], right.certificate, right.status)


FAULTS = {
    raises: "RuntimeError: out of luck",
    hangs: "not done after 3 s",
    dies: "the process that solved it died",
    lies: "gap is above",
    babbles: "no design",
    forgets: "unmeasured",
}


@pytest.mark.parametrize("how", FAULTS, ids=lambda how: how.__name__)
def test_another_method_takes_over(monkeypatch, how):
    failing(monkeypatch, how, METHODS[:1])
    designer = Designer(3.0 if how is hangs else 60.0, None, ALL)
    found = designer(PROBLEM, tol=1e-4)
    assert found.value == pytest.approx(OPTIMUM, rel=1e-4)
    assert found.gap <= 1e-4
    first, second = designer.attempts
    assert (first.method, second.method) == METHODS[:2]
    assert FAULTS[how] in first.failure
    assert second.failure is None


def test_the_last_certified_design_when_no_method_works(monkeypatch):
    failing(monkeypatch, raises, METHODS)
    last = cd.solve(PROBLEM).weights
    designer = Designer(30.0, last, ALL)
    found = designer(PROBLEM)
    assert found.value == pytest.approx(OPTIMUM, rel=1e-6)
    # Without a solver's vectors the bound is weak, but it is a bound.
    assert found.bound <= OPTIMUM * (1 + 1e-9)
    assert found.value / found.bound - 1 == pytest.approx(found.gap)
    assert designer.attempts[-1].method == LAST_DESIGN
    assert designer.record()[-1]["gap"] == designer.attempts[-1].gap


def test_nothing_uncertified_is_ever_used(monkeypatch):
    failing(monkeypatch, lies, METHODS)
    # Equal weights on these arms are hundreds of times worse than the optimum.
    problem = DesignProblem.xy_allocation(np.array([[1.0, 0.0], [1.0, 0.02]] + [[1.0, 0.01]] * 100), WORLD.arms)
    with pytest.raises(
        cd.SolverError, match=r"no certified design for the next batch \(frank-wolfe: its certified gap"
    ):
        Designer(30.0, None, np.arange(102))(problem)


def test_an_ask_survives_and_the_log_says_what_happened(monkeypatch, path, algorithm, env):
    failing(monkeypatch, raises, METHODS[:1])
    with cd.Experiment.create(path, algorithm) as x:
        batch = x.ask()
        x.tell(batch, env.pull(batch.counts))
        # Nothing works: the experiment goes on with the last design, where that is good enough.
        failing(monkeypatch, raises, METHODS)
        again = x.ask()
        designs = [event.body["designs"] for event in x.events() if event.kind.value == "asked"]
    assert [(a["method"], a["failure"] is None) for a in designs[0]] == [("frank-wolfe", False), ("conic", True)]
    if designs[1]:  # the survivors may be the same, and then so is the design
        assert designs[1][-1]["method"] == LAST_DESIGN
        assert designs[1][-1]["gap"] <= 1.0
    assert again.counts.sum() > 0


def test_an_ask_that_finds_no_design_asks_for_nothing_and_can_be_repeated(monkeypatch, path, algorithm):
    failing(monkeypatch, raises, METHODS)
    with cd.Experiment.create(path, algorithm) as x:
        for _ in range(2):
            with pytest.raises(cd.SolverError, match="nothing was asked for, ask again later"):
                x.ask()
        assert x.status().batch is None
        failed = [event.body for event in x.events() if event.kind.value == "failed"]
        assert len(failed) == 2
        assert [a["failure"] for a in failed[0]["designs"]] == ["RuntimeError: out of luck"] * 3
        monkeypatch.undo()
        assert x.ask().id == 0
    assert cd.experiment.check(path).problems == ()


def test_a_hanging_solver_does_not_hang_the_experiment(monkeypatch, path, algorithm):
    failing(monkeypatch, hangs, METHODS[:1])
    started = time.monotonic()
    with cd.Experiment.create(path, algorithm, design_seconds=1.0) as x:
        x.ask()
    # One second, not for ever; the limit leaves room for a busy machine.
    assert time.monotonic() - started < 60.0


def test_the_replay_solves_nothing(monkeypatch, path, algorithm, env):
    with cd.Experiment.create(path, algorithm) as x:
        for _ in range(2):
            batch = x.ask()
            x.tell(batch, env.pull(batch.counts))
        open_batch, digest = x.ask(), x.digest()
    failing(monkeypatch, raises, METHODS)
    monkeypatch.setattr("convexdesign.identification.allocations.solve", raises)
    with cd.Experiment.open(path) as x:
        assert x.ask().counts.tolist() == open_batch.counts.tolist()
        assert x.digest() == digest
        assert x.status().rounds == 2


def test_work_in_a_thread_is_bounded_too():
    assert _in_thread(lambda: 7, 30.0) == 7
    with pytest.raises(cd.SolverError, match=r"not done after 0.05 s"):
        _in_thread(lambda: time.sleep(0.5), 0.05)
    with pytest.raises(cd.SolverError, match="ZeroDivisionError"):
        _in_thread(lambda: 1 / 0, 30.0)


def test_large_answers_come_through_and_children_are_gone(monkeypatch):
    fork, children = os.fork, []

    def watched():
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", watched)
    big = bounded(lambda: np.arange(10**6), 60.0)
    assert big[-1] == 10**6 - 1
    assert len(children) == 1
    with pytest.raises(ChildProcessError):
        os.waitpid(children[0], os.WNOHANG)
