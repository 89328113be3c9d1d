"""Whatever numbers were told by mistake, the experiment opens, says what is wrong, and is put right by an amendment."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, suppress
from functools import cache

import numpy as np
import pytest
from fast_folder import fast_folder
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.experiment import check, experiments_in
from convexdesign.identification.allocations import allocate

I = cd.identification  # noqa: E741
ARMS = np.eye(2)
ALGORITHMS = {
    "bernoulli": lambda: I.MartingaleElimination(ARMS, rng=0, noise="bernoulli"),
    "bernoulli level set": lambda: I.MartingaleElimination(ARMS, rng=0, objective=I.LevelSet(0.5), noise="bernoulli"),
    "bounded": lambda: I.MartingaleElimination(ARMS, rng=0, noise="bounded", reward_range=(0.0, 1.0), epsilon=0.1),
    "gaussian": lambda: I.MartingaleElimination(ARMS, rng=0),
    "gaussian, known": lambda: I.MartingaleElimination(ARMS, rng=0, known_variances=1.0, budget=5000),
    "sub-gaussian level set": lambda: I.MartingaleElimination(
        ARMS, rng=0, objective=I.LevelSet(0.5), noise="sub-gaussian", variance_bounds=(0.1, 10.0), epsilon=0.1
    ),
    "RAGE": lambda: I.Rage(ARMS, rng=0, variance_bounds=(0.1, 1.0)),
    "RAGE, bernoulli": lambda: I.Rage(ARMS, rng=0, noise="bernoulli"),
    "H-RAGE": lambda: I.HRage(ARMS, rng=0, variance_bounds=(0.5, 1.0)),
}
ABSURD = st.sampled_from([0.0, 1.0, 0.5, -0.2, 1.5, 6.25, 50.0, 100.0, 1e8, 1e100, -1e100, 1e-300]) | st.floats(
    -1e3, 1e3
)
SQUARES = st.sampled_from([0.0, 1e-300, 1e-9, 1.0, 1e200]) | st.floats(0.0, 1e4)


def good(batch, bernoulli):
    share = np.ceil(batch.counts * np.array([0.25, 0.5])) / np.maximum(batch.counts, 1)
    squares = batch.counts * share * (1.0 - share)
    return Observations(batch.counts, share, squares if bernoulli else 3.7 * squares)


class AtOnce:
    """Solves the designs of an experiment here, not in a process of their own."""

    def __init__(self, seconds, weights, arms):
        pass

    def __call__(self, problem, **options):
        return allocate(problem, **options)

    def record(self):
        return []


FOLDERS = ExitStack()


@cache
def begun(name):
    """A folder with a store of which the first batch was asked, and one that was told what is right of it."""
    folder = FOLDERS.enter_context(fast_folder())
    with cd.Experiment.create(folder / "asked.db", ALGORITHMS[name]()) as x:
        batch = x.ask()
    shutil.copy(folder / "asked.db", folder / "clean.db")
    with cd.Experiment.open(folder / "clean.db") as x:
        x.tell(batch, good(batch, "bernoulli" in name), key="k")
        before, void = x.transcript(), x.status().void
        return folder, batch, before, void, None if x.done else x.transcript()


@pytest.fixture(scope="module", autouse=True)
def _at_once():
    with pytest.MonkeyPatch.context() as patch, FOLDERS:
        patch.setattr("convexdesign.experiment.replay.Designer", AtOnce)
        yield


@pytest.mark.filterwarnings("ignore::convexdesign.identification.GuaranteeWarning")
@settings(max_examples=30, deadline=None, phases=[Phase.generate])
@given(name=st.sampled_from(list(ALGORITHMS)), means=st.tuples(ABSURD, ABSURD), squares=st.tuples(SQUARES, SQUARES))
def test_the_experiment_is_put_right_as_if_there_had_been_no_mistake(name, means, squares):
    folder, batch, clean, void, after = begun(name)
    right, path = good(batch, "bernoulli" in name), folder / "mistaken.db"
    shutil.copy(folder / "asked.db", path)
    refused = False
    with cd.Experiment.open(path) as x:
        try:
            x.tell(batch, Observations(batch.counts, means, np.where(batch.counts > 1, squares, 0.0)), key="k")
        except cd.InputError as error:
            refused = True
            words = str(error)
        if refused:
            assert "nothing was recorded" in words
            assert x.outstanding().sum() == batch.total
    with cd.Experiment.open(path, read_only=True) as x:
        assert x.status().pulls_told == (0 if refused else batch.total)
        if not refused:
            with suppress(cd.SolverError):  # no batch may follow from these numbers
                x.result_if_done()
    assert check(path).problems == ()
    with cd.Experiment.open(path) as x:
        if refused:
            x.tell(batch, right, key="k")
        else:
            x.amend("k", observations=right, set_aside=True)
        assert x.transcript() == clean
        assert x.status().void == void
        if after is not None:
            x.ask()
            assert x.transcript() == after


def test_percent_told_as_rates_are_recorded_void_and_amended(path):
    with cd.Experiment.create(path, ALGORITHMS["bernoulli"]()) as x:
        batch = x.ask()
        with pytest.warns(
            I.GuaranteeWarning, match=r"32 of them have mean 6.25: percent must be divided by 100\); correct"
        ):
            x.tell(batch, Observations(batch.counts, [6.25, 12.5], [1.875, 3.5]), key="k")
        state = x.status()
        assert state.void
        assert "correct them if they are mistakes" in state.guarantee
        x.amend("k", observations=Observations(batch.counts, [0.0625, 0.125], [1.875, 3.5]))
        assert not x.status().void


@pytest.fixture
def untaken(path, monkeypatch):
    """A store with results that the algorithm cannot compute with, as an older version recorded them."""
    learn = I.MartingaleElimination._learn

    def fails(self, observations):
        if observations.mean[0] == 7.0:
            raise np.linalg.LinAlgError("SVD did not converge")
        learn(self, observations)

    x = cd.Experiment.create(path, ALGORITHMS["gaussian"]())
    batch = x.ask()
    x.tell(batch, good(batch, bernoulli=False), key="first")
    second = x.ask()
    x.tell(second, Observations(second.counts, [7.0, 0.0], second.counts * 0.3), key="second")
    x.close()
    monkeypatch.setattr(I.MartingaleElimination, "_learn", fails)
    return path


def test_results_that_nothing_can_be_computed_from_are_read_and_amended(untaken, tmp_path):
    cd.Experiment.create(tmp_path / "other.db", ALGORITHMS["RAGE"]()).close()
    with cd.Experiment.open(untaken, read_only=True) as x:
        state = x.status()
        assert (state.rounds, state.void) == (2, True)
        assert "the results of batch 1 are nothing to compute with" in state.guarantee
        for fails in (x.result, x.confidence):
            with pytest.raises(cd.SolverError, match=r"batch 1 .* \(amend"):
                fails()
        assert len(x.results()) == 4
    assert "batch 1" in check(untaken).problems[0]
    assert [entry.status is not None for entry in experiments_in(tmp_path)] == [True, True]
    with cd.Experiment.open(untaken) as x:
        with pytest.raises(cd.SolverError, match=r"batch 1 .* \(amend"):
            x.ask()
        counts = (
            x.outstanding() if x.open_batch is not None else np.array([row[3] for row in x.results() if row[1] == 1])
        )
        with pytest.raises(cd.InputError, match="nothing was recorded"):
            x.amend("second", observations=Observations(counts, [7.0, 1.0], counts * 0.3))
        state = x.amend("second", observations=Observations(counts, [0.2, 0.5], counts * 0.3))
        assert not state.void
        x.ask()
    assert check(untaken).problems == ()


def test_such_results_are_refused_when_they_are_told(untaken, tmp_path):
    with cd.Experiment.create(tmp_path / "new.db", ALGORITHMS["gaussian"]()) as x:
        batch = x.ask()
        with pytest.raises(cd.InputError, match=r"SVD did not converge.* nothing was recorded"):
            x.tell(batch, Observations(batch.counts, [7.0, 1.0], batch.counts * 0.3), key="k")
        assert x.outstanding().sum() == batch.total


def test_one_store_that_fails_in_any_way_does_not_hide_the_others(tmp_path, monkeypatch):
    for name in ("a", "b"):
        cd.Experiment.create(tmp_path / f"{name}.db", ALGORITHMS["RAGE"]()).close()
    events = cd.Experiment.events

    def fails(self):
        if self.path.name == "a.db":
            raise KeyError("something")
        return events(self)

    monkeypatch.setattr(cd.Experiment, "events", fails)
    found = experiments_in(tmp_path)
    assert [entry.trouble for entry in found] == ["KeyError: 'something'", ""]
