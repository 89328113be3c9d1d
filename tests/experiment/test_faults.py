"""Small seeded samples of what docs/validation counts in full: crashes, orders, damage, crowds."""

from __future__ import annotations

import sys

import pytest
from durability import crashes, crowd, damage, orders, variants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks and kills processes")


def test_killed_processes_lose_nothing(tmp_path):
    found = crashes.killed_at_random(8, tmp_path, seed=1)
    assert found["kills"] == 8
    assert found["acknowledged"] > 0
    assert (found["lost"], found["batches_twice"], found["different_transcripts"]) == (0, 0, 0)


def test_what_the_killed_left_unacknowledged_is_no_damage(tmp_path):
    found = crashes.killed_beside_another(4, tmp_path, seed=1)
    assert found["kills"] == 8
    assert found["acknowledged"] > 0
    assert (found["lost"], found["taken_for_damaged"]) == (0, 0)


def test_changes_are_there_as_a_whole_or_not_at_all(tmp_path):
    """Killed in and after the writes with which a variant is dropped, and another joins, a level set too."""
    for threshold, write in ((None, 3), (0.4, 8)):
        folder = tmp_path / str(threshold)
        folder.mkdir()
        found = variants.killed_at_every_write(folder, (write,), threshold)
        assert found["kills"] == 2
        assert (found["different"], found["problems"]) == (0, 0)


def test_any_order_gives_the_same_state(tmp_path):
    found = orders.random_orders(6, tmp_path, seed=1)
    assert found["deliveries"] > 6 * 20
    assert (found["different"], found["repeats_with_effect"]) == (0, 0)


def test_damage_is_detected_or_harmless(tmp_path):
    found = damage.damaged_files(60, tmp_path, seed=1)
    assert found["detected"] > 0
    assert found["harmless"] > 0
    assert found["detected"] + found["harmless"] == 60
    assert (found["silent"], found["wrong_recoveries"]) == (0, 0)


def test_a_crowd_of_processes_is_counted_exactly(tmp_path):
    found = crowd.crowd(4, 40, tmp_path)
    assert found["results"] == 160
    assert (found["failed_processes"], found["miscounted"], found["problems"]) == (0, 0, 0)
