"""Small seeded samples of what docs/validation counts in full: crashes, orders, damage, crowds."""

from __future__ import annotations

import os
import sys

import pytest

from convexdesign.reproduce.durability import crashes, crowd, damage, orders

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks and kills processes")


@pytest.fixture
def fast(tmp_path):
    """A folder where a sync costs nothing, for simulations that are not about the disk."""
    if not os.path.isdir("/dev/shm"):
        yield tmp_path
        return
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def test_killed_processes_lose_nothing(tmp_path):
    found = crashes.killed_at_random(8, tmp_path, seed=1)
    assert found["kills"] == 8
    assert found["acknowledged"] > 0
    assert (found["lost"], found["batches_twice"], found["different_transcripts"]) == (0, 0, 0)


def test_any_order_gives_the_same_state(fast):
    found = orders.random_orders(6, fast, seed=1)
    assert found["deliveries"] > 6 * 20
    assert (found["different"], found["repeats_with_effect"]) == (0, 0)


def test_damage_is_detected_or_harmless(fast):
    found = damage.damaged_files(60, fast, seed=1)
    assert found["detected"] > 0
    assert found["harmless"] > 0
    assert found["detected"] + found["harmless"] == 60
    assert (found["silent"], found["wrong_recoveries"]) == (0, 0)


def test_damage_to_the_log_of_a_killed_process_is_detected_or_harmless(fast):
    found = damage.damaged_logs(30, fast, seed=1)
    assert found["detected"] + found["harmless"] == 30
    assert found["silent"] == 0


def test_a_crowd_of_processes_is_counted_exactly(tmp_path):
    found = crowd.crowd(4, 40, tmp_path)
    assert found["results"] == 160
    assert (found["failed_processes"], found["miscounted"], found["problems"]) == (0, 0, 0)
