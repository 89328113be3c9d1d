"""Every kind over an interval against the same kind over a fine list of its settings: never worse, proven no better."""

import numpy as np
import pytest
from polynomials import line

import convexdesign as cd

D = cd.DesignProblem
GRID = np.linspace(-1, 1, 801)
ROWS = np.vander(GRID, 4, increasing=True)
CURVE = line(3)
PAIRS = {
    "d": (lambda **k: D.d_optimal(CURVE, **k), lambda **k: D.d_optimal(ROWS, **k)),
    "a": (lambda **k: D.a_optimal(CURVE, **k), lambda **k: D.a_optimal(ROWS, **k)),
    "ds": (lambda **k: D.ds_optimal(CURVE, ["x**2", "x**3"], **k), lambda **k: D.ds_optimal(ROWS, [2, 3], **k)),
    "c": (lambda **k: D.c_optimal(CURVE, {"x": 1.0}, **k), lambda **k: D.c_optimal(ROWS, [0, 1, 0, 0], **k)),
    "e": (lambda **k: D.e_optimal(CURVE, **k), lambda **k: D.e_optimal(ROWS, **k)),
    "average": (
        lambda **k: D.average_variance(CURVE, np.diag([1.0, 0, 0, 2.0]), **k),
        lambda **k: D.average_variance(ROWS, np.diag([1.0, 0, 0, 2.0]), **k),
    ),
    "minimax": (
        lambda **k: D(CURVE, {"x": [-1.5, 0.0, 1.2]}, **k),
        lambda **k: D(ROWS, np.vander([-1.5, 0.0, 1.2], 4, increasing=True), **k),
    ),
    "xy": (
        lambda **k: D.xy_allocation(CURVE, {"x": [-1.0, 0.0, 1.0, 1.1]}, **k),
        lambda **k: D.xy_allocation(ROWS, np.vander([-1.0, 0.0, 1.0, 1.1], 4, increasing=True), **k),
    ),
    "g": (lambda **k: D.g_optimal(CURVE, **k), lambda **k: D.g_optimal(ROWS, **k)),
}
NOISE = {"plain": ({}, {}), "noise": ({"noise_variance": "1 + x**2"}, {"noise_variance": 1 + GRID**2})}


@pytest.mark.parametrize("noise", list(NOISE))
@pytest.mark.parametrize("kind", list(PAIRS))
def test_a_region_is_at_least_as_good_as_a_list_of_its_settings(kind, noise):
    over, listed = PAIRS[kind]
    own, on_grid = NOISE[noise]
    design, grid = cd.solve(over(**own)), cd.solve(listed(**on_grid))
    assert design.status is cd.Status.CERTIFIED
    sign = -1.0 if design.certificate.criterion.maximised else 1.0
    scale = 1.0 if kind in ("d", "ds") else abs(design.value)
    # The list is a part of the region: its optimum is no better; and settings 1/400 apart lose little.
    assert sign * (grid.value - design.bound) >= -1e-9 * scale
    assert sign * (design.value - grid.value) <= 2e-6 * scale
    assert design.value == pytest.approx(grid.value, abs=2e-4 * scale)


def test_variances_are_those_of_the_information():
    design = cd.solve(D.d_optimal(CURVE))
    C = np.linalg.inv(design.information)
    expected = np.einsum("ij,jk,ik->i", ROWS, C, ROWS)
    np.testing.assert_allclose(design.variance({"x": GRID}), expected, rtol=1e-9)
    np.testing.assert_allclose(design.variance(ROWS), expected, rtol=1e-9)
    assert (design.sensitivity({"x": GRID}) <= design.certificate.most).all()


def test_what_is_not_measured_has_no_finite_variance():
    design = cd.solve(D.c_optimal(line(2), [0.0, 1.0, 0.0]))
    assert np.isinf(design.variance([[0.0, 0.0, 1.0]])).all() or len(design.weights) > 2
    assert np.isfinite(design.variance([[0.0, 1.0, 0.0]])).all()


def test_terms_may_be_written_otherwise():
    region = cd.Region.levels(batch=["A", "B", "C"]) * cd.Region.box(a=(-1, 1), b=(-1, 1))
    curve = cd.Model.formula("1 + batch + a*b + a**2").over(region)
    place = {term: k for k, term in enumerate(curve.terms)}
    c = D.c_optimal(curve, {"b:a": 2.0, "Intercept": 1.0, "I(a ** 2)": 3.0}).fields["direction"]
    assert {term: c[k] for term, k in place.items() if c[k]} == {"1": 1, "a:b": 2, "a**2": 3}
    K = D.ds_optimal(curve, ["b:a", "batch"]).fields["interest"]
    assert [curve.terms[k] for k in K.argmax(axis=0)] == ["a:b", "batch[B]", "batch[C]"]
    for wrong in ({"a*b": 1.0}, {"batch": 1.0}, {"a:b": 1.0, "b:a": 1.0}):
        with pytest.raises(cd.InputError, match=r"the terms of the model are|names the term a:b twice"):
            D.c_optimal(curve, wrong)
