"""A seeded share of the broken inputs that validation/fuzz_readers.py counts in full."""

from __future__ import annotations

import random

import fuzz_readers
import pytest


@pytest.mark.parametrize("name", fuzz_readers.READERS)
def test_every_reader_reads_what_the_mutations_start_from(name, tmp_path):
    reader = fuzz_readers.readers()[name]
    for seed in reader.seeds:
        path = tmp_path / f"input{reader.suffix}"
        path.write_bytes(seed)
        assert reader.read(path) is not None


def test_all_readers_are_judged():
    assert set(fuzz_readers.readers()) == set(fuzz_readers.READERS)


def test_mutations_change_their_input_and_repeat_with_their_seed():
    for number in range(30):
        name, data = fuzz_readers.input_of(number, seed=5)
        assert fuzz_readers.input_of(number, seed=5) == (name, data)
    seed = fuzz_readers.PROBLEM
    changed = [fuzz_readers.mutated(seed, (seed,), random.Random(k)) != seed for k in range(100)]
    assert sum(changed) > 90


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (fuzz_readers.cd.InputError("no"), "refused"),
        (fuzz_readers.cd.InputError(""), "failed"),
        (KeyError("a"), "failed"),
    ],
)
def test_only_errors_in_words_pass(error, verdict, tmp_path, monkeypatch):
    def fails(path):
        raise error

    reader = fuzz_readers.Reader(fails, (b"1\n",))
    monkeypatch.setattr(fuzz_readers, "readers", lambda: dict.fromkeys(fuzz_readers.READERS, reader))
    assert fuzz_readers.judge(0, 0, tmp_path).verdict == verdict


def test_a_share_of_all_inputs():
    rows = fuzz_readers.run(None, count=330, seed=2026)
    assert [(row["reader"], row["failed"]) for row in rows] == [(name, 0) for name in fuzz_readers.READERS]
    assert sum(row["read"] for row in rows) > 10
    assert sum(row["inputs"] for row in rows) == 330
