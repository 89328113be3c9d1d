"""The validation of HEAD, on few runs: what it writes, and that it can fail."""

import head_validation
import numpy as np
import pandas as pd
import pytest
from head_validation import bound_coverage, run, unclipped_mean

from convexdesign.estimation import plan_head
from convexdesign.instances import experiment_2


@pytest.fixture
def one_instance(monkeypatch):
    monkeypatch.setattr(head_validation, "BUDGETS", {"experiment_2": 44_550})
    monkeypatch.setattr(head_validation, "NOISES", ("gaussian",))


def test_the_page_shows_what_the_tables_hold(one_instance, tmp_path):
    mean, bound, page = run(tmp_path, replications=40, progress=False)
    means, bounds = pd.read_csv(mean), pd.read_csv(bound)
    assert (means.instance.item(), bounds.noise.item(), bounds.replications.item()) == ("experiment_2", "gaussian", 40)
    # 40 runs without a failure do not yet show that failures are rare: 1 - 0.05^(1/40) = 0.072.
    assert bounds.failures.item() == 0
    assert bounds.upper_95.item() == pytest.approx(1 - 0.05 ** (1 / 40))
    assert not bounds.passed.item()
    text = page.read_text()
    assert "--replications 40 --seed 0" in text
    assert f"{means.largest_z.item():.4g}" in text


def test_the_budgets_are_the_least_for_their_bound():
    inst, plan = experiment_2(), plan_head(experiment_2().arms, tol=1e-6)
    budget = head_validation.BUDGETS["experiment_2"]

    def worst(total):
        return plan.sharp_error_bound(*plan.counts(total), inst.noise_variance.max(), head_validation.DELTA).max()

    assert worst(budget) <= inst.noise_variance.min() / 2 < worst(int(0.998 * budget))


def test_a_bound_that_is_too_small_is_found_out(monkeypatch):
    # With a twentieth of the pulls behind it, the bound for the full budget must fail in most runs.
    full = plan_head(experiment_2().arms, tol=1e-6)
    bound = full.sharp_error_bound(*full.counts(44_550), 1.0, 0.025)
    monkeypatch.setattr(head_validation, "BUDGETS", {"experiment_2": 1_000})
    monkeypatch.setattr(head_validation.HeadPlan, "sharp_error_bound", lambda *_: bound)
    row = bound_coverage("experiment_2", replications=60)
    assert row["failures"] > 30
    assert not row["passed"]


def test_the_mean_check_tells_the_right_mean_from_the_variance():
    # z over 6 arms below 4.5 in 400 runs: false alarm below 6 * 7e-6.
    row = unclipped_mean("experiment_2", replications=400, seed=1)
    assert row["largest_z"] < 4.5
    assert row["critical_z"] == pytest.approx(3.765, abs=1e-3)  # two-sided 1e-3 / 6
    assert np.isfinite(row["largest_z_without_the_term"])
