"""Designs over regions against closed forms; everything is proven over the whole region, and recomputed from the settings."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev, legendre
from polynomials import cube, line, quadratic, quadratic_rows, scheffe, settings

import convexdesign as cd

D = cd.DesignProblem


def solved(problem, tol=1e-6):
    design = cd.solve(problem, tol=tol)
    assert design.status is cd.Status.CERTIFIED
    assert design.certificate.kind == "sum of squares"
    assert 0 <= design.gap <= tol
    assert design.weights.sum() == pytest.approx(1, abs=1e-12)
    assert (design.weights > 0).all()
    return design


def clustered(design, name="x", apart=1e-2):
    """Settings of one factor closer than that as one, with their weights together."""
    x, w = design.points[name].to_numpy(), design.points["weight"].to_numpy()
    order = np.argsort(x)
    x, w = x[order], w[order]
    groups = np.split(np.arange(len(x)), np.flatnonzero(np.diff(x) > apart) + 1)
    return np.array([np.average(x[g], weights=w[g]) for g in groups]), np.array([w[g].sum() for g in groups])


@pytest.mark.parametrize("degree", [2, 3, 4, 5, 6])
def test_polynomials_on_an_interval_are_measured_at_the_zeros_of_legendre(degree):
    # Guest (1958): the zeros of (1 - x^2) P_n', equal weights.
    design = solved(D.d_optimal(line(degree)))
    inner = legendre.legroots(legendre.legder([0] * degree + [1]))
    x, w = clustered(design)
    np.testing.assert_allclose(x, np.sort([-1, *inner, 1]), atol=1e-3)
    np.testing.assert_allclose(w, 1 / (degree + 1), atol=1e-4)
    nodes = np.sort([-1, *inner, 1])
    exact = np.linalg.slogdet(np.vander(nodes).T @ np.vander(nodes) / (degree + 1))[1]
    assert design.value == pytest.approx(exact, abs=1e-6 * (degree + 1))
    assert design.bound >= exact - 1e-11


def cube_log_det(q):
    """Kono (1962), Farrell, Kiefer and Walbran (1967)."""
    root = np.sqrt(4 * q**2 + 12 * q + 17)
    u = (q + 3) / (4 * (q + 1) * (q + 2) ** 2) * (2 * q**2 + 3 * q + 7 + (q - 1) * root)
    v = (q + 3) / (8 * (q + 2) ** 3 * (q + 1)) * (4 * q**3 + 8 * q**2 + 11 * q - 5 + (2 * q**2 + q + 3) * root)
    return (q - 1) * np.log(u - v) + np.log(u - v + q * v - q * u**2) + q * np.log(u) + q * (q - 1) / 2 * np.log(v)


@pytest.mark.parametrize("q", [2, 3, 4, 8])
def test_quadratics_on_cubes(q):
    design = solved(D.d_optimal(quadratic(q).over(cube(q))))
    assert design.value == pytest.approx(cube_log_det(q), abs=1e-5)
    assert design.bound >= cube_log_det(q) - 1e-10
    F = quadratic_rows(settings(design.points, [f"x{k}" for k in range(q)]))
    A = F.T @ (design.weights[:, None] * F)
    assert np.linalg.slogdet(A)[1] == pytest.approx(design.value, abs=1e-9)
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(design.information)), np.linalg.eigvalsh(A), rtol=1e-9)


@pytest.mark.parametrize("q", [2, 3])
def test_quadratics_on_balls_are_measured_at_the_centre_and_on_the_sphere(q):
    names = [f"x{k}" for k in range(q)]
    design = solved(D.d_optimal(quadratic(q).over(cd.Region.ball(names))))
    radius = np.linalg.norm(settings(design.points, names), axis=1)
    inner = radius < 0.1
    assert design.weights[inner].sum() == pytest.approx(2 / ((q + 1) * (q + 2)), abs=1e-3)
    assert design.weights[radius > 0.99].sum() == pytest.approx(1 - 2 / ((q + 1) * (q + 2)), abs=1e-3)
    # Uniform on the sphere: E x_i^2 = 1/q, E x_i^4 = 3/(q(q+2)), E x_i^2 x_j^2 = 1/(q(q+2)).
    s = 1 - 2 / ((q + 1) * (q + 2))
    square = np.full((q, q), s / (q * (q + 2))) + np.eye(q) * 2 * s / (q * (q + 2))
    block = np.block([[np.ones((1, 1)), np.full((1, q), s / q)], [np.full((q, 1), s / q), square]])
    exact = np.linalg.slogdet(block)[1] + q * np.log(s / q) + q * (q - 1) / 2 * np.log(s / (q * (q + 2)))
    assert design.value == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("q", [3, 4])
def test_scheffe_quadratics_are_measured_at_the_lattice(q):
    names = [f"x{k}" for k in range(q)]
    design = solved(D.d_optimal(scheffe(names).over(cd.Region.simplex(names))))
    x = np.vstack([np.eye(q), *[(np.eye(q)[i] + np.eye(q)[j]) / 2 for i in range(q) for j in range(i)]])
    F = np.column_stack([x, *[x[:, i] * x[:, j] for i in range(q) for j in range(i + 1, q)]])
    assert design.value == pytest.approx(np.linalg.slogdet(F.T @ F / len(F))[1], abs=1e-5)
    assert len(design.weights) == len(x)
    np.testing.assert_allclose(design.weights, 1 / len(x), atol=1e-3)
    np.testing.assert_allclose(settings(design.points, names).sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_leading_coefficients_and_extrapolation_follow_chebyshev(degree):
    leading = solved(D.c_optimal(line(degree), {line(degree).terms[-1]: 1.0}))
    assert leading.value == pytest.approx(4.0 ** (degree - 1), rel=2e-6)
    x, _ = clustered(leading)
    np.testing.assert_allclose(x, np.cos(np.pi * np.arange(degree, -1, -1) / degree), atol=2e-3)
    outside = solved(D.c_optimal(line(degree), [2.0**k for k in range(degree + 1)]))
    assert outside.value == pytest.approx(chebyshev.chebval(2, [0] * degree + [1]) ** 2, rel=2e-6)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_e_optimal_polynomials_follow_chebyshev(degree):
    # Pukelsheim and Studden (1993): 1 / (sum of the squared coefficients of T_n).
    design = solved(D.e_optimal(line(degree)))
    coefficients = chebyshev.cheb2poly([0] * degree + [1])
    assert design.value == pytest.approx(1 / np.sum(coefficients**2), rel=2e-6)
    assert np.linalg.eigvalsh(design.information)[0] == pytest.approx(design.value, rel=1e-9)


def test_a_optimal_quadratic():
    design = solved(D.a_optimal(line(2)))
    assert design.value == pytest.approx(8, rel=2e-6)
    assert np.trace(np.linalg.inv(design.information)) == pytest.approx(8, rel=2e-6)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_noise_that_grows_at_the_ends_moves_the_settings_to_the_zeros_of_legendre(degree):
    design = solved(D.d_optimal(line(degree), noise_variance="1/(1 - x**2)"))
    x, w = clustered(design)
    np.testing.assert_allclose(x, legendre.legroots([0] * (degree + 1) + [1]), atol=2e-3)
    np.testing.assert_allclose(w, 1 / (degree + 1), atol=1e-3)


def test_g_optimality_is_proven_from_both_sides():
    design = solved(D.g_optimal(line(3), noise_variance=2.0))
    assert design.bound == pytest.approx(8, rel=1e-12)
    assert 8 <= design.value <= 8 * (1 + 1e-6)
    grid = {"x": np.linspace(-1, 1, 4001)}
    assert design.variance(grid).max() <= design.value


def test_g_optimality_with_unequal_noise():
    # Weights 2/5, 1/5, 2/5 at -1, 0, 1 make the variance 5 at the ends and at 0, and no more between.
    design = solved(D.g_optimal(line(2), noise_variance="1 + x**2"))
    assert design.value == pytest.approx(5, rel=2e-6)
    assert design.variance({"x": np.linspace(-1, 1, 2001)}).max() <= design.value
    np.testing.assert_allclose(clustered(design)[1], [0.4, 0.2, 0.4], atol=1e-3)


def test_average_variance_over_an_interval():
    # The moments 1, 1/3, 1/5 of [-1, 1], and a design at -1, 0, 1 by symmetry: weights 1/4, 1/2, 1/4.
    design = solved(D.i_optimal(line(2)))
    x = np.array([-1.0, 0.0, 1.0])
    F = np.vander(x, 3, increasing=True)
    M = np.array([[1, 0, 1 / 3], [0, 1 / 3, 0], [1 / 3, 0, 1 / 5]])
    exact = np.trace(np.linalg.solve(F.T @ (np.array([0.25, 0.5, 0.25])[:, None] * F), M))
    assert design.value == pytest.approx(exact, rel=2e-6)


def test_levels_times_a_box():
    # An effect for each batch and a quadratic: D-optimal is the product of the two designs.
    region = cd.Region.levels(batch=["A", "B", "C"]) * cd.Region.box(x=(-1, 1))
    design = solved(D.d_optimal(cd.Model.formula("1 + batch + x + x**2").over(region)))
    assert design.points.groupby("batch")["weight"].sum().to_numpy() == pytest.approx([1 / 3] * 3, abs=1e-3)
    assert set(design.points["x"].round(3).abs()) <= {0.0, 1.0}


def test_a_ring_is_measured_on_both_circles():
    region = cd.Region.box(a=(-2, 2), b=(-2, 2)) & cd.Region.where("1 <= a**2 + b**2 <= 4")
    design = solved(D.d_optimal(cd.Model.polynomial(["a", "b"], 2).over(region)))
    radius = np.linalg.norm(settings(design.points, ["a", "b"]), axis=1)
    assert (np.minimum(np.abs(radius - 1), np.abs(radius - 2)) < 1e-2).all()
    # On both circles uniform, w on the inner one: log det is a function of w alone.
    inner = np.linspace(0.01, 0.5, 2000)
    second = (inner + 4 * (1 - inner)) / 2
    fourth = (inner + 16 * (1 - inner)) / 8
    # det of the information: E a^2 = E b^2 = s, E a^4 = 3f, E a^2 b^2 = f with f = E r^4 / 8.
    best = 2 * np.log(second) + np.log(fourth) + np.log(2 * fourth) + np.log(4 * fourth - 2 * second**2)
    assert design.value == pytest.approx(best.max(), abs=1e-5)
