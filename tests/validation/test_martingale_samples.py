"""The samples that martingale elimination is said to need: what the instances are, and that the pages are written."""

from __future__ import annotations

import martingale_samples
import numpy as np
import pandas as pd
import pytest

from convexdesign.identification import BestArm
from convexdesign.reproduce.contenders import instance_lower_bound


@pytest.mark.parametrize("easy", [False, True])
@pytest.mark.parametrize("kind", ["best-arm", "level-set"])
def test_random_instances_are_what_the_page_says(kind, easy):
    for number in range(4):
        world = martingale_samples.random_instance(kind, number, easy)
        n, d = world.arms.shape
        m = world.items.shape[0]
        assert 2 <= d <= 6
        assert d + 2 <= n <= 30
        assert 5 <= m <= 50
        assert (instance_lower_bound(world, 0.05) < 100 * n) == easy
        np.testing.assert_allclose(world.noise_variance, np.einsum("ij,jk,ik->i", world.arms, world.Sigma, world.arms))
        if not isinstance(world.objective, BestArm):
            assert np.sum(world.items @ world.theta > world.objective.threshold) == m - m // 2


def test_pages_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(martingale_samples, "RANDOM", 1)
    monkeypatch.setattr(
        martingale_samples, "EXPERIMENTS", {"experiment 2": martingale_samples.EXPERIMENTS["experiment 2"]}
    )
    paths = martingale_samples.run(tmp_path, replications=2, progress=False)
    assert all(path.is_file() and path.stat().st_size > 100 for path in paths)
    widths, sized, random = (pd.read_csv(path) for path in paths[:3])
    assert list(widths["bounds"]) == ["tight", "ten times too wide"] * 2
    assert list(random["objective"]) == ["best-arm", "level-set"]
    assert (random["bound_per_arm"] >= 100).all()
    assert list(sized["bounds"]) == list(martingale_samples.TOLD)
    assert (pd.read_csv(paths[3])["bound_per_arm"] < 100).all()
    # No algorithm that is right so often needs fewer on average; two runs may be lucky.
    assert (widths["times_lower_bound"] > 0.5).all()
    page = paths[5].read_text(encoding="utf-8")
    assert "--replications 2" in page
    assert "| experiment 2 | level-set | ten times too wide |" in page
