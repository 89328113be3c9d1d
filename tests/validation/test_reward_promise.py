"""The counts of bets on rewards in a range: what their cases are, what is an error, and that the page is written."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import reward_promise


def test_cases_are_what_the_page_says():
    cases = {case.name: case for case in reward_promise.CASES}
    assert len(cases) == 10
    rates = [rate for case in cases.values() for rate in case.rates]
    assert (min(rates), max(rates)) == (0.001, 0.5)
    prices = cases["prices 9 to 25"]
    np.testing.assert_allclose(prices.means, [0.9, 0.96, 1.05, 0.95, 1.25])
    seen = reward_promise.Payments(prices, np.random.default_rng(0)).pull(np.full(5, 10**6))
    assert np.all(np.abs(seen.mean - prices.means) < 5.0 * np.sqrt(prices.variances / 1e6))


def test_what_is_an_error():
    tie, level = reward_promise.CASES[5], reward_promise.CASES[8]
    assert not reward_promise.is_wrong(tie, SimpleNamespace(survivors=(0, 1)))
    assert reward_promise.is_wrong(tie, SimpleNamespace(survivors=(1, 2)))
    assert not reward_promise.is_wrong(level, SimpleNamespace(above=(1, 2), below=(0,)))
    assert reward_promise.is_wrong(level, SimpleNamespace(above=(0,), below=()))
    assert reward_promise.is_wrong(level, SimpleNamespace(above=(), below=(1,)))


def test_the_page_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(reward_promise, "CASES", reward_promise.CASES[6:7] + reward_promise.CASES[9:])
    paths = reward_promise.run(tmp_path, replications=2, progress=False)
    table = pd.read_csv(paths[0])
    assert list(table["runs"]) == [2, 2]
    assert table["passed"].all()
    assert "| tie .5, .5, .4 |" in paths[1].read_text(encoding="utf-8")
