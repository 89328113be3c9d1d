"""compare: algorithms that ask and tell beside code that pulls by itself, the same worlds for both; rows kept as they come."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd
from convexdesign.simulation import PullsItself, comparison_rows, comparison_table, run_replications
from convexdesign.simulation.saving import SavedRows

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
THETA = np.array([1.0, 0.2])


def world(rng):
    return cd.simulation.LinearEnvironment(ARMS, THETA, noise_variance=0.5, rng=rng)


def best_of_equal_numbers(pull, rng):
    return int(pull([200, 200, 200]).mean.argmax())


def one_by_one(pull, rng):
    order = rng.permutation(np.repeat(np.arange(3), 200))
    rewards = pull.rewards(order)
    return [int(np.argmax([rewards[order == i].mean() for i in range(3)]))]


def rage(rng):
    return cd.identification.Rage(ARMS, variance_bounds=(0.5, 0.5), rng=rng)


ALL = {"equal": PullsItself(best_of_equal_numbers), "one by one": PullsItself(one_by_one), "RAGE": rage}


def test_both_styles_stand_in_one_table_with_samples_counted_at_the_world():
    table = cd.simulation.compare(ALL, world, [0], 20).set_index("algorithm")
    assert table.index.tolist() == list(ALL)
    assert (table.runs == 20).all()
    assert (table.errors == 0).all()  # gaps of .4 at standard errors of .05
    assert table.mean_samples[["equal", "one by one"]].tolist() == [600.0, 600.0]


def test_a_run_meets_the_same_world_and_draws_as_the_one_that_asks():
    """Equal requests of equal worlds bring equal rewards, whoever makes them."""
    seen = {"asks": [], "pulls": []}

    class Asks:
        done = False

        def ask(self):
            return cd.estimation.Batch(0, np.array([3, 4, 5]))

        def tell(self, batch, observations):
            seen["asks"].append(observations.mean.tolist())
            self.done = True

        def result(self):
            return (0,)

    def pulls(pull, rng):
        seen["pulls"].append(pull([3, 4, 5]).mean.tolist())
        return 0

    cd.simulation.compare({"a": lambda rng: Asks(), "b": PullsItself(pulls)}, world, [0], 4)
    assert seen["asks"] == seen["pulls"]


def test_workers_change_nothing():
    alone, spread = (comparison_rows(ALL, world, [0], 4, n_jobs, seed=3) for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(alone, spread, check_exact=True)


def test_an_answer_may_be_one_index_several_or_none():
    def answering(answer):
        return comparison_rows({"x": PullsItself(lambda pull, rng: answer)}, world, [0, 2], 1).iloc[0]

    assert answering((0, 2)).correct
    assert answering(np.array([0, 2])).correct
    assert not answering(0).correct
    assert answering(np.int64(0)).answer == (0,)
    none = answering(None)
    assert none.undecided
    assert none.status == "UNDECIDED"
    assert comparison_table(pd.DataFrame([none])).errors[0] == 0
    with pytest.raises(cd.simulation.ReplicationError, match="the answer"):
        answering("arm 0")


def test_rows_of_ones_own_and_all_of_them_in_a_file_as_they_come(tmp_path):
    path = tmp_path / "runs.csv"
    there = []

    def record(result, environment):
        there.append(path.read_text(encoding="utf-8").count("\n"))
        return {"noise": environment.noise_variance[0]}

    rows = comparison_rows(ALL, world, [0], 3, record=record, save=path)
    assert there == [0, *range(2, 10)]  # the header and all rows before
    assert rows.noise.tolist() == [0.5] * 9
    kept = pd.read_csv(path)
    assert kept.columns.tolist() == rows.columns.tolist()
    assert kept.samples.tolist() == rows.samples.tolist()
    pd.testing.assert_frame_equal(comparison_table(kept), comparison_table(rows))


def test_what_was_found_before_a_failure_is_kept(tmp_path):
    path = tmp_path / "runs.csv"
    runs = []

    def fails_at_last(pull, rng):
        runs.append(0)
        return 0 if len(runs) < 3 else 1 / 0

    with pytest.raises(cd.simulation.ReplicationError, match="replication 2"):
        cd.simulation.compare({"x": PullsItself(fails_at_last)}, world, [0], 5, save=path)
    assert len(pd.read_csv(path)) == 2


def test_a_run_that_was_cut_off_goes_on_where_the_same_one_is_called_again(tmp_path):
    path, called = tmp_path / "runs.csv", []

    def run(k, last=9):
        called.append(k)
        if k == last:
            raise KeyboardInterrupt
        return [{"run": k, "share": np.float64(1 / (k + 1)), "answer": (k, 1), "none": None}]

    def runs(identity, last=9):
        with SavedRows(path, identity=identity) as saved:
            saved.front = {"part": "a"}
            return run_replications(lambda k: run(k, last), 5, save=saved)

    with pytest.raises(KeyboardInterrupt):
        runs({"seed": np.int64(1), "arms": ARMS}, last=3)
    with (tmp_path / ".runs.csv.unfinished").open("a") as file:
        file.write('[{"run": 3, "sh')  # what a kill leaves
    called.clear()
    whole = runs({"seed": np.int64(1), "arms": ARMS})
    assert called == [3, 4]
    pd.testing.assert_frame_equal(whole, run_replications(run, 5), check_exact=True)
    assert [line.split(",")[:2] for line in path.read_text().splitlines()[1:]] == [["a", str(k)] for k in range(5)]
    assert [file.name for file in tmp_path.iterdir()] == ["runs.csv"]
    with pytest.raises(KeyboardInterrupt):
        runs({"seed": 1, "arms": ARMS}, last=3)
    called.clear()
    runs({"seed": 2, "arms": ARMS})  # another run begins anew
    assert called == [0, 1, 2, 3, 4]


def test_every_bar_has_its_algorithms_name_and_total():
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown):
        cd.simulation.compare(ALL, world, [0], 2, progress=True)
    for number, name in enumerate(ALL, 1):
        assert f"{name} ({number} of 3): 100%" in shown.getvalue()
    assert "2/2" in shown.getvalue()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"save": "nowhere/runs.csv"}, "folder nowhere does not exist"),
        ({"record": 1}, "record"),
        ({"algorithms": {"x": PullsItself}}, "run"),
    ],
)
def test_what_cannot_be_is_refused(more, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((cd.InputError, cd.simulation.ReplicationError), match=words):
        comparison_rows(**{"algorithms": ALL, "make_environment": world, "truth": [0], "replications": 1} | more)
