"""A seeded share of the calls with wrong arguments that validation/fuzz_calls.py counts in full."""

from __future__ import annotations

import fuzz_calls
import pytest

import convexdesign as cd

# Files that are not there, a folder that is not, and a batch that was measured otherwise.
REFUSED = {
    "Design.load",
    "Design.save",
    "Experiment.open",
    "check_certificate",
    "load_problem",
    "read_table",
    "read_vector",
}
REFUSED |= {"recover", "tell"}


@pytest.mark.parametrize("name", sorted(fuzz_calls.calls()))
def test_calls_are_valid_before_an_argument_is_exchanged(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    call = fuzz_calls.calls()[name]
    if name in REFUSED:
        with pytest.raises(cd.InputError):
            call.function(**call.arguments)
    else:
        call.function(**call.arguments)


def test_calls_repeat_with_their_seed_and_exchange_something():
    for number in range(30):
        name, arguments = fuzz_calls.call_of(number, seed=5)
        again, repeated = fuzz_calls.call_of(number, seed=5)
        assert (again, list(repeated)) == (name, list(arguments))
        valid = fuzz_calls.calls()[name].arguments
        assert any(arguments[key] is not valid[key] for key in valid)
        assert list(map(type, repeated.values())) == list(map(type, arguments.values()))


@pytest.mark.parametrize(
    ("error", "verdict"), [(cd.InputError("no"), "refused"), (cd.InputError(""), "failed"), (TypeError("a"), "failed")]
)
def test_only_errors_in_words_pass(error, verdict, monkeypatch):
    def fails(**_):
        raise error

    calls = {"fails": fuzz_calls.Call(fails, {"x": 1.0})}
    monkeypatch.setattr(fuzz_calls, "calls", lambda: calls)
    assert fuzz_calls.judge(0, 0).verdict == verdict


def test_a_share_of_all_calls():
    rows = fuzz_calls.run(None, count=1000, seed=2026)
    assert [(row["function"], row["failed"]) for row in rows] == [(name, 0) for name in sorted(fuzz_calls.calls())]
    assert sum(row["answered"] for row in rows) > 20
    assert sum(row["calls"] for row in rows) == 1000
