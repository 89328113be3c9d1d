"""What a change of units or of coordinates does to a design over a region: exactly what it must."""

import numpy as np
import pytest
from polynomials import line, settings

import convexdesign as cd

D = cd.DesignProblem


@pytest.mark.parametrize(("low", "high"), [(0.0, 10.0), (150.0, 190.0), (1e-3, 2e-3), (1e4, 1e4 + 1)])
@pytest.mark.parametrize("degree", [2, 3])
def test_an_affine_map_shifts_log_det_by_its_jacobian(low, high, degree):
    # x = c + h u: the monomials change by a triangular matrix with diagonal 1, h, h^2, ...
    design = cd.solve(D.d_optimal(line(degree, low, high)))
    half = (high - low) / 2
    shift = degree * (degree + 1) * np.log(half)
    assert design.status is cd.Status.CERTIFIED
    assert design.value == pytest.approx(cd.solve(D.d_optimal(line(degree))).value + shift, abs=1e-5)


def test_prediction_does_not_depend_on_units():
    plain = cd.solve(D.i_optimal(line(3)))
    moved = cd.solve(D.i_optimal(line(3, 150, 190)))
    assert moved.status is cd.Status.CERTIFIED
    assert moved.value == pytest.approx(plain.value, rel=2e-6)
    far = cd.solve(D.c_optimal(line(3, 150, 190), [1.0, 210.0, 210.0**2, 210.0**3]))
    assert far.value == pytest.approx(26.0**2, rel=2e-6)  # T_3(2)^2 at the setting that is u = 2


def test_a_rotated_square_has_the_same_optimum():
    # |a| + |b| <= sqrt 2 is the square turned by 45 degrees, and the full quadratic is invariant under rotations but for
    # the units of its monomials, whose change has determinant one up to the sign.
    r = np.sqrt(2)
    A = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    turned = cd.Region.polytope(A, [r] * 4, names=["a", "b"])
    design = cd.solve(D.d_optimal(cd.Model.polynomial(["a", "b"], 2).over(turned)))
    plain = cd.solve(D.d_optimal(cd.Model.polynomial(["a", "b"], 2).over(cd.Region.box(a=(-1, 1), b=(-1, 1)))))
    R = np.array([[1, -1], [1, 1]]) / r
    # x'= Rx maps a^2, ab, b^2 linearly; its determinant, computed from the map itself.
    basis = np.array([[1, 0], [0, 1], [1, 1]]) @ R.T
    square = np.column_stack([basis[:, 0] ** 2, basis[:, 0] * basis[:, 1], basis[:, 1] ** 2])
    own = np.array([[1, 0, 0], [0, 0, 1], [1, 1, 1]])
    shift = 2 * (np.linalg.slogdet(square)[1] - np.linalg.slogdet(own)[1])
    assert design.status is cd.Status.CERTIFIED
    assert design.value == pytest.approx(plain.value + shift, abs=1e-5)
    assert (np.abs(settings(design.points, ["a", "b"])).sum(axis=1) <= r + 1e-9).all()


def test_information_held_counts_as_runs_already_done():
    curve = line(2)
    F = np.vander([-1.0, 0.5], 3, increasing=True)
    held = cd.solve(D.d_optimal(curve, prior_information=F.T @ F, n_new=4))
    runs = cd.solve(D.d_optimal(curve, existing_runs={"x": [-1.0, 0.5]}, n_new=4))
    assert held.status is runs.status is cd.Status.CERTIFIED
    assert held.value == pytest.approx(runs.value, abs=1e-5)
    # The same by a list of settings fine enough.
    grid = np.vander(np.linspace(-1, 1, 2001), 3, increasing=True)
    listed = cd.solve(D.d_optimal(grid, prior_information=F.T @ F, n_new=4))
    assert held.value == pytest.approx(listed.value, abs=1e-5)
    assert np.linalg.slogdet(held.information)[1] == pytest.approx(held.value, abs=1e-8)


def test_costs_and_noise_enter_as_their_product():
    curve = line(2)
    one = cd.solve(D.a_optimal(curve, noise_variance="2 + x", costs="3 - x"))
    grid = np.linspace(-1, 1, 2001)
    listed = cd.solve(D.a_optimal(np.vander(grid, 3, increasing=True), noise_variance=2 + grid, costs=3 - grid))
    assert one.status is cd.Status.CERTIFIED
    assert one.value == pytest.approx(listed.value, rel=1e-5)
    assert one.bound <= listed.value * (1 + 1e-9)
