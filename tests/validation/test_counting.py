"""A long count that is cut off goes on where it stopped, and finds the same."""

from __future__ import annotations

import counting
import pandas as pd
import pytest
from joblib import delayed
from scipy.stats import binom

CALLED: list[int] = []


def square(k):
    CALLED.append(k)
    if k == STOP["at"]:
        raise KeyboardInterrupt
    return k * k


STOP: dict[str, int | None] = {"at": None}


def whole(folder, seed=0):
    with counting.unfinished(folder, "squares", seed):
        first = counting.kept_part(lambda: square(100))
        return [first, *counting.kept_parts((delayed(square)(k) for k in range(5)), 1)]


@pytest.fixture(autouse=True)
def afresh():
    CALLED.clear()
    STOP["at"] = None


def test_what_was_found_before_is_not_computed_again(tmp_path):
    STOP["at"] = 3
    with pytest.raises(KeyboardInterrupt):
        whole(tmp_path)
    kept = tmp_path / ".squares.unfinished"
    assert kept.exists()
    kept.write_bytes(kept.read_bytes() + b"\x80\x05half a resul")  # cut off while it was written
    CALLED.clear()
    STOP["at"] = None
    assert whole(tmp_path) == [10_000, 0, 1, 4, 9, 16]
    assert CALLED == [3, 4]
    assert not kept.exists()


def test_another_seed_or_other_code_begins_anew(tmp_path, monkeypatch):
    STOP["at"] = 3
    with pytest.raises(KeyboardInterrupt):
        whole(tmp_path)
    STOP["at"] = 4
    CALLED.clear()
    with pytest.raises(KeyboardInterrupt):
        whole(tmp_path, seed=1)
    assert CALLED == [100, 0, 1, 2, 3, 4]
    monkeypatch.setattr(counting, "_code", lambda: "other")
    STOP["at"] = None
    CALLED.clear()
    assert len(whole(tmp_path, seed=1)) == 6
    assert CALLED == [100, 0, 1, 2, 3, 4]


def test_without_a_folder_nothing_is_kept():
    with counting.unfinished(None, "squares"):
        assert counting.kept_part(lambda: square(2)) == 4
    assert list(counting.kept_parts((delayed(square)(k) for k in range(3)), 1)) == [0, 1, 4]


def test_too_many_are_shown_at_level_one_in_a_thousand():
    """Against the binomial tail: so many or more of 1,000 at a rate of .05 have probability above and below 1e-3."""
    first = int(binom.isf(1e-3, 1000, 0.05)) + 1
    assert binom.sf(first - 1, 1000, 0.05) <= 1e-3 < binom.sf(first - 2, 1000, 0.05)
    assert counting.shows_more(first, 1000, 0.05)
    assert not counting.shows_more(first - 1, 1000, 0.05)
    assert not counting.shows_more(0, 1000, 0.0)


def test_pages_are_written_after_every_table(tmp_path):
    tables = (pd.DataFrame({"k": range(n)}) for n in (1, 2))
    csv, page = counting.written(tmp_path / "new", "squares", tables, lambda table: f"{len(table)} lines")
    assert (csv.name, page.name, page.read_text()) == ("squares.csv", "squares.md", "2 lines")
    assert len(pd.read_csv(csv)) == 2
