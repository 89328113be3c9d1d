"""What is told wrongly is refused before anything is written, and so is what no store could hold."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.estimation import Observations

I = cd.identification  # noqa: E741
ROWS = {"arms": [0, 1], "rewards": [1.0, 2.0], "keys": ["a", "b"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (ROWS | {"rewards": [1.0, np.nan]}, r"row 1 \(key 'b'\): the reward of arm 1 is nan"),
        (ROWS | {"rewards": [np.inf, 1.0]}, "is inf"),
        (ROWS | {"rewards": [1.0, 1e308]}, r"row 1 \(key 'b'\): the reward of arm 1 is 1e\+308, and its square"),
        (ROWS | {"rewards": [1.0, -2e100]}, "choose a larger unit"),
        (ROWS | {"rewards": [1.0, 10**400]}, "rewards must be numbers.*too large"),
        (ROWS | {"rewards": [1.0, 1j]}, "rewards must be real numbers"),
        (ROWS | {"arms": [0, 10**30]}, "must be indices"),
        (ROWS | {"keys": 5}, "keys are 5"),
        (ROWS | {"rewards": [1.0, "many"]}, "rewards must be real numbers"),
        (ROWS | {"rewards": [1.0]}, "one length"),
        (ROWS | {"arms": [0, 3]}, "arm 3 is unknown"),
        (ROWS | {"arms": [0, -1]}, "arm -1 is unknown"),
        (ROWS | {"arms": [0.0, 1.0]}, "must be indices"),
        (ROWS | {"arms": [], "rewards": [], "keys": []}, "no row to tell"),
        (ROWS | {"keys": ["a"]}, "one length"),
        (ROWS | {"keys": "ab"}, "one length"),
        (ROWS | {"keys": ["a", ""]}, "printable"),
        (ROWS | {"keys": ["a", "line\nbreak"]}, "printable"),
        (ROWS | {"keys": ["a", "x" * 201]}, "1 to 200"),
        (ROWS | {"keys": ["a", None]}, "key is None"),
        (ROWS | {"keys": ["a", 1.5]}, "key is 1.5"),
        (ROWS | {"key": "a"}, "one key each"),
        ({"arms": [0], "rewards": [1.0]}, "give observations= and key="),
        ({"observations": Observations.empty(3), "key": "a"}, "hold no pull"),
        ({"observations": Observations.from_rewards(2, [0], [1.0]), "key": "a"}, "of 2 arms, the experiment has 3"),
        (
            {"observations": Observations([1, 0, 0], [1e101, 0, 0], [0, 0, 0]), "key": "a"},
            "'a': mean of arm 0 is 1e.101",
        ),
        ({"observations": Observations([1, 2, 0], [1, 1, 0], [0, 1e201, 0]), "key": "a"}, "'a': m2 of arm 1 is 1e.201"),
        (ROWS | {"keys": ["a", "nul\0"]}, "printable"),
        (ROWS | {"keys": ["a", "x" * 10**5]}, "1 to 200"),
        (ROWS | {"keys": ["a", "\ud800"]}, "printable"),
        ({"observations": "many", "key": "a"}, "must be Observations"),
        ({"observations": Observations.from_rewards(3, [0], [1.0])}, "give key="),
        ({"observations": Observations.from_rewards(3, [0], [1.0]), **ROWS}, "give observations= and key="),
        ({}, "give observations= and key="),
        ({"arms": [0] * 1000, "rewards": [1.0] * 1000, "keys": range(1000)}, r"asks for 147 pulls.*and now 1000 more"),
    ],
)
def test_rejected_before_anything_is_written(x, arguments, message):
    batch = x.ask()
    before = x.digest(), len(x.events())
    with pytest.raises(cd.InputError, match=message):
        x.tell(batch, **arguments)
    assert (x.digest(), len(x.events())) == before
    assert x.tell(batch, **ROWS).accepted == 2


@pytest.mark.parametrize("batch", [1, -1, "0", None, True, 0.0])
def test_batches_that_are_not_there(x, batch):
    with pytest.raises(cd.InputError, match="batch"):
        x.tell(batch, **ROWS)
    x.ask()
    with pytest.raises(cd.InputError, match="batch"):
        x.tell(batch, **ROWS)


def test_whole_numbers_are_keys_too_as_their_text(x):
    x.ask()
    x.tell(0, arms=[0, 1], rewards=[1.0, 2.0], keys=np.arange(2))
    assert x.tell(0, arms=[0], rewards=[1.0], keys=["0"]).repeated == 1


def test_the_largest_rewards_there_may_be_can_be_added_up(x, env):
    batch = x.ask()
    arms = np.repeat(np.arange(3), batch.counts)
    rewards = np.array([-1e100, 1e100, 9e99])[np.arange(arms.size) % 3]  # two values alone would be refused
    assert x.tell(batch, arms=arms, rewards=rewards, keys=range(arms.size)).complete
    assert np.isfinite(x.transcript()["steps"][0]["folded"]["m2"]).all()


def test_more_than_fits_into_one_event_is_refused_whole(x):
    import sqlite3

    batch = x.ask()
    before = x.digest()
    x._store._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 3000)
    many = {"arms": [0] * 140, "rewards": [1.0] * 140, "keys": [f"many-{k}" for k in range(140)]}
    with pytest.raises(cd.InputError, match="too much for one event; tell it in parts"):
        x.tell(batch, **many)
    assert x.digest() == before
    x._store._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10**9)
    assert x.tell(batch, **many).accepted == 140


def test_a_reason_is_a_text(x):
    x.ask()
    x.tell(0, **ROWS)
    before = x.digest(), len(x.events())
    changes = (
        lambda: x.mark_missing(0, reason=3),
        lambda: x.amend("a", reward=2.0, reason=b"typo"),
        lambda: x.withdraw([0], reason=None),
    )
    for change in changes:
        with pytest.raises(cd.InputError, match="reason is"):
            change()
    assert (x.digest(), len(x.events())) == before


def test_what_was_closed_is_not_damaged(x):
    x.ask()
    x.close()
    x.close()
    for use in (x.status, x.ask, x.digest, lambda: x.tell(0, **ROWS), lambda: x.mark_missing(0)):
        with pytest.raises(cd.StoreError, match="was closed here; open it again") as caught:
            use()
        assert not isinstance(caught.value, cd.DamagedStoreError)


def test_a_dry_run_says_what_would_happen(x):
    x.ask()
    before = x.digest(), len(x.events())
    assert x.tell(0, **ROWS, dry_run=True).accepted == 2
    assert (x.digest(), len(x.events())) == before
    assert x.tell(0, **ROWS).accepted == 2
    assert x.tell(0, **ROWS, dry_run=True).repeated == 2


def test_all_parts_of_a_delivery_or_none(x):
    from convexdesign.experiment.parsing import reward_rows

    x.ask()
    good = reward_rows(0, ["a"], [0], [1.0], 3)
    surplus = reward_rows(0, [f"s{k}" for k in range(1000)], [0] * 1000, [1.0] * 1000, 3)
    before = x.digest(), len(x.events())
    with pytest.raises(cd.InputError, match="asks for 147 pulls"):
        x.tell_all([good, surplus])
    assert (x.digest(), len(x.events())) == before


# ------------------------------------------------------------------ algorithms that cannot be kept


class Mine(I.Rage):
    """Somebody's own algorithm."""


def begun():
    algorithm = I.Rage(np.eye(2), variance_bounds=(1.0, 1.0))
    batch = algorithm.ask()
    env = cd.simulation.LinearEnvironment(np.eye(2), [1.0, 0.0], 1.0, rng=0)
    algorithm.tell(batch, env.pull(batch.counts))
    return algorithm


def with_a_function():
    algorithm = I.Rage(np.eye(2), variance_bounds=(1.0, 1.0))
    algorithm.set_design_solver(lambda *a, **k: None)
    return algorithm


def without_an_arm():
    algorithm = I.Rage(np.eye(2), variance_bounds=(1.0, 1.0))
    algorithm.withdraw([0])
    return algorithm


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Mine(np.eye(2), variance_bounds=(1.0, 1.0)), "a Mine cannot be described"),
        (lambda: lambda: None, "a function cannot be described"),
        (lambda: cd.estimation.Head(np.eye(2), 100), "a Head cannot be described"),
        (with_a_function, "a function of your own"),
        (begun, "has begun already"),
        (without_an_arm, "has begun already"),
    ],
)
def test_algorithms_that_cannot_be_described_are_refused(path, make, message):
    with pytest.raises(cd.InputError, match=message):
        cd.Experiment.create(path, make())
    assert list(path.parent.iterdir()) == []


def test_files_that_are_there_or_not(path, algorithm):
    with pytest.raises(cd.InputError, match="no such file"):
        cd.Experiment.open(path)
    with pytest.raises(cd.InputError, match=r"folder .* does not exist"):
        cd.Experiment.create(path.parent / "no" / "x.db", algorithm)
    cd.Experiment.create(path, algorithm).close()
    data = path.read_bytes()
    with pytest.raises(cd.InputError, match="exists already"):
        cd.Experiment.create(path, algorithm)
    assert path.read_bytes() == data
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    text = path.with_name("notes.txt")
    text.write_text("no database" * 100)
    with pytest.raises(cd.InputError, match="is a file of text, and not the store"):
        cd.Experiment.open(text)
    text.write_bytes(b"\0no database" * 100)
    with pytest.raises(cd.DamagedStoreError, match="not a database"):
        cd.Experiment.open(text)


def test_a_database_of_something_else_is_refused(path):
    import sqlite3

    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE events (a)")
    other.close()
    with pytest.raises(cd.InputError, match="not the store of an experiment"):
        cd.Experiment.open(path)
