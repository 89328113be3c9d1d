"""The figure's data: recomputed by hand, and honest about who wins."""

import numpy as np
import pandas as pd
import pytest

from convexdesign import instances
from convexdesign.estimation import Head
from convexdesign.plotting import new_axes
from convexdesign.reproduce.figure_2 import (
    draw_figure_2,
    figure_2_data,
    run,
    summarise_figure_2,
    where_head_is_not_best,
)
from convexdesign.simulation import LinearEnvironment, replication_seed, simulate

SMALL = {"budgets": (3000, 8000), "dimensions": (2, 4)}


@pytest.fixture(scope="module")
def data():
    return figure_2_data(3, seed=1, **SMALL)


def test_every_point_is_there_once_and_panels_share_their_common_point(data):
    counts = data.groupby(["panel", "d", "budget", "estimator"]).size()
    assert (counts == 3).all()
    points = set(zip(data.panel, data.d, data.budget))
    assert points == {("a", 4, 3000), ("a", 4, 8000), ("b", 2, 8000), ("b", 4, 8000)}
    common = data[(data.d == 4) & (data.budget == 8000)]
    a, b = (common[common.panel == p].drop(columns="panel").reset_index(drop=True) for p in "ab")
    pd.testing.assert_frame_equal(a, b)
    assert (data.max_error <= data.max_error_unclipped).all()


def test_head_s_error_recomputed_from_its_seed(data):
    for_arms, for_rewards = replication_seed(1, 2).spawn(2)[0].spawn(2)
    inst = instances.two_spheres(2, rng=np.random.default_rng(for_arms))
    env = LinearEnvironment(
        inst.arms, np.ones(2), Sigma=np.diag([1.0, 0.1]), rng=np.random.default_rng(for_rewards.spawn(1)[0])
    )
    error = np.abs(simulate(Head(inst.arms, 8000), env).unclipped - inst.noise_variance).max()
    point = data[(data.d == 2) & (data.replication == 2) & (data.estimator == "HEAD")]
    assert point.max_error_unclipped.item() == pytest.approx(error)


def test_summaries_are_means_and_standard_errors(data):
    summary = summarise_figure_2(data).set_index(["panel", "d", "budget", "estimator"])
    errors = data[(data.panel == "a") & (data.budget == 3000) & (data.estimator == "uniform")].max_error.to_numpy()
    row = summary.loc[("a", 4, 3000, "uniform")]
    assert row.max_error == pytest.approx(errors.mean())
    assert row.max_error_se == pytest.approx(errors.std(ddof=1) / np.sqrt(3))
    assert row.repetitions == 3


def test_where_head_loses_or_ties_is_said():
    rows = []
    for d, gap in ((3, 0.2), (6, 0.0), (9, -0.2)):  # the rival is better, equal, worse
        for replication, noise in enumerate((-0.01, 0.0, 0.01)):
            errors = {"HEAD": 1.0 + gap + noise, "separate-arm": 1.0, "uniform": 5.0}
            point = {"panel": "b", "replication": replication, "d": d, "budget": 10}
            rows += [point | {"estimator": name, "max_error": error} for name, error in errors.items()]
    weak = where_head_is_not_best(pd.DataFrame(rows))
    assert weak.d.tolist() == [3, 6]
    assert set(weak.rival) == {"separate-arm"}
    np.testing.assert_allclose(weak.difference, [0.2, 0.0], atol=1e-12)


def test_pictures_show_the_averages(data):
    ax = draw_figure_2(data, "a", new_axes())
    lines = {c.get_label(): c.lines[0] for c in ax.containers}
    summary = summarise_figure_2(data)
    for estimator in ("HEAD", "separate-arm", "uniform"):
        expected = summary[(summary.panel == "a") & (summary.estimator == estimator)]
        np.testing.assert_allclose(lines[estimator].get_xdata(), expected.budget)
        np.testing.assert_allclose(lines[estimator].get_ydata(), expected.max_error)


def test_files_are_written(tmp_path):
    paths = run(tmp_path / "new", replications=1, quick=True, progress=False)
    assert [p.name for p in paths] == ["figure-2.png", "figure-2.csv", "figure-2-summary.csv", "figure-2.md"]
    assert all(p.stat().st_size > 100 for p in paths)
    written = pd.read_csv(paths[1])
    assert sorted(written.d.unique()) == [3, 9, 15]
    assert "| panel | d | pulls |" in paths[3].read_text() or "HEAD beats both" in paths[3].read_text()
