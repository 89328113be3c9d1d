"""Designs over regions drawn: the sensitivity touches its bound at the settings and exceeds it nowhere in the region."""

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.plotting import new_axes, plot_region_design, region_data

D = cd.DesignProblem
LINE = cd.solve(D.d_optimal(cd.Model.polynomial("x", 3).over(cd.Region.box(x=(-1, 1)))))
DISC = cd.solve(D.d_optimal(cd.Model.polynomial(["a", "b"], 2).over(cd.Region.ball(["a", "b"]))))
LEVELS = cd.solve(
    D.a_optimal(cd.Model.formula("1 + m + x").over(cd.Region.levels(m=["A", "B"]) * cd.Region.box(x=(0, 1))))
)


@pytest.mark.parametrize("design", [LINE, DISC, LEVELS], ids=["line", "disc", "levels"])
def test_the_surface_lies_below_the_proven_bound_and_touches_it_at_the_settings(design):
    data = region_data(design)
    assert np.nanmax(data.sensitivity) <= data.most * (1 + 1e-9)
    assert data.heights == pytest.approx(np.full(len(data.heights), data.most), rel=1e-3)
    assert data.weights.sum() == pytest.approx(1)


def test_settings_outside_the_region_have_no_sensitivity():
    data = region_data(DISC)
    a, b = np.meshgrid(*data.axes)
    outside = a**2 + b**2 > 1 + 1e-6
    np.testing.assert_array_equal(np.isnan(data.sensitivity[0]) | ~outside, np.ones_like(outside))
    assert np.isfinite(data.sensitivity[0][a**2 + b**2 < 1 - 1e-6]).all()


def test_every_combination_of_levels_has_its_curve_and_markers():
    ax = LEVELS.plot(new_axes())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["m = A", "m = B", "proven bound"]
    assert len(ax.collections) == 2


def test_whole_numbers_stand_beside_the_settings():
    plan = DISC.round(8)
    ax = plan.plot(new_axes())
    assert sorted(int(text.get_text()) for text in ax.texts) == sorted(plan.counts.tolist())


def test_two_factors_of_three_are_drawn_without_a_surface():
    cube = cd.Region.box(a=(-1, 1), b=(-1, 1), c=(-1, 1))
    design = cd.solve(D.d_optimal(cd.Model.formula("1 + a + b + c").over(cube)))
    assert region_data(design, ["c", "a"]).sensitivity is None
    assert plot_region_design(design, ["c", "a"], ax=new_axes()).get_xlabel() == "c\n(not drawn: b)"


@pytest.mark.parametrize(
    ("factors", "message"), [(["y"], "no continuous factor"), (["x", "x"], "one or two"), ([], "one or two")]
)
def test_what_cannot_be_drawn_is_refused(factors, message):
    with pytest.raises(cd.InputError, match=message):
        region_data(LINE, factors)
