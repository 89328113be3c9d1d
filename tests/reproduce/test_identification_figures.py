"""Figures 1 and 3 to 6: what they must show, and that the files are written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from convexdesign.instances import experiment_1, experiment_2, multivariate_testing
from convexdesign.reproduce import figure_1, figure_3, figure_4, figure_5, figure_6
from convexdesign.reproduce.oracle_figure import HETEROSKEDASTIC, HOMOSKEDASTIC, oracle_allocations


def test_homoskedastic_samples_are_linear_in_kappa_and_ours_level_off():
    lines = figure_1.oracle_samples((1.0, 20.0, 40.0, 80.0))
    homoskedastic = lines[HOMOSKEDASTIC].to_numpy()
    np.testing.assert_allclose(homoskedastic / homoskedastic[0], lines["kappa"], rtol=1e-6)
    ours = lines[HETEROSKEDASTIC].to_numpy()
    np.testing.assert_allclose(ours[1:], ours[1], rtol=1e-6)
    assert ours[0] == pytest.approx(homoskedastic[0], rel=1e-6)


def test_oracle_allocations_of_the_experiments():
    first = oracle_allocations(experiment_1(), figure_4.NAMES)
    informative = first[HETEROSKEDASTIC].to_numpy()[1:4]
    np.testing.assert_allclose(informative, informative.mean(), rtol=1e-3)
    assert first[HOMOSKEDASTIC][2] > 6.0 * first[HOMOSKEDASTIC][1]
    second = oracle_allocations(experiment_2(), figure_5.NAMES)
    assert second[HETEROSKEDASTIC][[2, 5]].sum() > 0.98
    np.testing.assert_allclose(second[HOMOSKEDASTIC][3:], 1.0 / 3.0, atol=0.01)
    third = oracle_allocations(multivariate_testing(), figure_6.NAMES)
    noisy = third["noise_variance"] > 0.9
    assert noisy.tolist() == [False] * 4 + [True] * 4
    assert third[HETEROSKEDASTIC][noisy].sum() > 2.0 * third[HOMOSKEDASTIC][noisy].sum()


@pytest.mark.parametrize("figure", [figure_4, figure_5, figure_6, figure_1, figure_3], ids=lambda f: f.__name__[-8:])
def test_figures_are_written(figure, tmp_path):
    paths = figure.run(tmp_path / "out", quick=True, progress=False)
    assert all(path.is_file() and path.stat().st_size > 100 for path in paths)
    assert {path.suffix for path in paths} == {".png", ".csv"}
    if figure is figure_3:
        table = pd.read_csv(paths[2]).set_index(["experiment", "algorithm"])
        for experiment in ("experiment 1", "experiment 2", "experiment 3"):
            mean = table.loc[experiment, "mean_samples"]
            assert mean["oracle"] < mean["homoskedastic oracle"] < mean["RAGE"]
            assert mean["martingale elimination"] < mean["H-RAGE"]
            assert (table.loc[experiment, "times_lower_bound"] > 1.0).all()
