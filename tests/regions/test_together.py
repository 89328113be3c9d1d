"""Several problems over one region, and uncertain parameters: closed forms, published values, and the theorem recomputed."""

import numpy as np
import pytest
from polynomials import line, quadratic

import convexdesign as cd

D = cd.DesignProblem
INTERVAL = cd.Region.box(x=(-3, 3))
POSITIVE = cd.Region.box(x=(0, 4))


def solved(problem):
    design = cd.solve(problem)
    assert design.status is cd.Status.CERTIFIED
    assert 0 <= design.gap <= 1e-6
    assert design.weights.sum() == pytest.approx(1, abs=1e-12)
    assert design.found <= design.most
    return design


def test_the_least_efficiency_of_d_and_of_the_slope():
    # As over the list -1, 0, 1: the slope has efficiency 2w, D (27 w^2 (1 - 2w))^(1/3); they meet at w = 27/62.
    curve = line(2)
    design = solved(D.maximin([D.d_optimal(curve), D.c_optimal(curve, [0, 1, 0])]))
    assert design.kind == "sum of squares"
    assert design.value == pytest.approx(27 / 31, rel=2e-6)
    np.testing.assert_allclose(design.points["x"], [-1, 0, 1], atol=1e-3)


def test_the_worst_combination_and_its_least_favourable_direction_have_one_design():
    # Pukelsheim and Studden (1993): the E-optimal design is that for the coefficients of the Chebyshev polynomial.
    curve = line(3)
    design = solved(D.maximin([D.e_optimal(curve), D.c_optimal(curve, [0, -3, 0, 4])]))
    assert design.value == pytest.approx(1.0, abs=2e-6)
    np.testing.assert_allclose(design.points["x"], [-1, -0.5, 0.5, 1], atol=1e-4)
    # With others the settings are where no closed form is known: a grid fine enough has the same optimum, and no better one.
    grid = np.linspace(-1, 1, 2001)
    both = [D.e_optimal, D.d_optimal]
    mixed = solved(D.compound([make(curve) for make in both], weights=[1, 2]))
    listed = cd.solve(D.compound([make(np.vander(grid, 4, increasing=True)) for make in both], weights=[1, 2]))
    assert mixed.bound - 1e-5 <= listed.value <= mixed.bound + 1e-9


def test_one_problem_is_itself():
    curve = line(3, 2.0, 5.0)
    for problem, value in (
        (D.d_optimal(curve), cd.solve(D.d_optimal(curve)).value / 4),
        (D.ds_optimal(curve, ["x**3"]), cd.solve(D.ds_optimal(curve, ["x**3"])).value),
        (D.a_optimal(curve), -np.log(cd.solve(D.a_optimal(curve)).value)),
        (D.e_optimal(line(3)), -np.log(25)),
        (D.g_optimal(curve), -np.log(4)),
        (D(curve, {"x": [1.0, 6.0]}), -np.log(cd.solve(D(curve, {"x": [1.0, 6.0]})).value)),
    ):
        assert solved(D.compound([problem])).value == pytest.approx(value, abs=2e-6)


def test_the_value_is_that_of_the_weights_handed_back():
    curve = line(2)
    design = solved(D.compound([D.d_optimal(curve), D.c_optimal(curve, [0, 1, 0])], weights=[1, 3]))
    x = design.points["x"].to_numpy()
    F = np.column_stack([np.ones_like(x), x, x**2])
    A = F.T @ (design.points["weight"].to_numpy()[:, None] * F)
    logs = [np.linalg.slogdet(A)[1] / 3, -np.log(np.linalg.inv(A)[1, 1])]
    np.testing.assert_allclose(design.values, logs, rtol=1e-12, atol=1e-12)
    assert design.value == pytest.approx(logs @ np.array([0.25, 0.75]), abs=1e-12)


def test_the_variance_of_predictions_is_proven_over_the_region():
    # G and E of a quadratic whose noise grows: the worst variance over a fine grid is no more than is said, and reached.
    curve = line(2)
    g, e = D.g_optimal(curve, noise_variance="2 + x"), D.e_optimal(curve, noise_variance="2 + x")
    design = solved(D.maximin([g, e]))
    x, grid = design.points["x"].to_numpy(), np.linspace(-1, 1, 4001)
    F, wide = (np.vander(t, 3, increasing=True) for t in (x, grid))
    A = F.T @ ((design.weights / (2 + x))[:, None] * F)
    worst = np.einsum("ij,jk,ik->i", wide, np.linalg.inv(A), wide).max()
    assert worst <= np.exp(-design.values[0]) <= worst * (1 + 1e-6)
    assert design.values[1] == pytest.approx(np.log(np.linalg.eigvalsh(A)[0]), abs=1e-9)
    np.testing.assert_allclose(design.efficiencies, design.value, rtol=2e-6)  # they meet


def test_a_time_limit_holds_for_the_problems_solved_alone(monkeypatch):
    limits = []
    alone = type(D.d_optimal(line(2))).solved

    def noted(self, **options):
        limits.append(options.get("time_limit"))
        return alone(self, **options)

    monkeypatch.setattr(type(D.d_optimal(line(2))), "solved", noted)
    cd.solve(D.maximin([D.d_optimal(line(2)), D.a_optimal(line(2))]), time_limit=60)
    assert len(limits) == 2
    assert all(0 < limit < 60 for limit in limits)


def test_a_list_fine_enough_has_the_same_optimum():
    region = cd.Region.box(x0=(-1, 1), x1=(-1, 1)) & cd.Region.where("x0 + x1 <= 1")
    first = quadratic(2).over(region)
    second = cd.Model.formula("1 + x0 + x1 + x0:x1").over(region)
    design = cd.solve(D.compound([D.d_optimal(first), D.a_optimal(second)], weights=[2, 1]), tol=1e-4)
    assert design.status is cd.Status.CERTIFIED
    grid = np.linspace(-1, 1, 41)
    a, b = (t.ravel() for t in np.meshgrid(grid, grid))
    inside = a + b <= 1 + 1e-9
    table = {"x0": a[inside], "x1": b[inside]}
    listed = cd.solve(D.compound([D.d_optimal(first.at(table)), D.a_optimal(second.at(table))], weights=[2, 1]))
    assert listed.value <= design.bound + 1e-9
    assert listed.value == pytest.approx(design.value, abs=1e-3)


THETAS = np.array([[0, 0.5], [0, 1.0], [0, 2.0], [1, 1.0]])


def test_the_least_eigenvalue_at_uncertain_parameters():
    two = THETAS[1:3]
    curve = cd.Model.glm("1 + x", theta=[0, 1], link="logit").at(two).over(INTERVAL)
    worst, mean = (cd.solve(D.e_optimal(curve, over=over), tol=1e-4) for over in ("worst", "information"))
    assert worst.status is mean.status is cd.Status.CERTIFIED
    logs = [np.log(np.linalg.eigvalsh(information(worst, theta))[0]) for theta in two]
    np.testing.assert_allclose(worst.values, logs, atol=1e-9)
    together = sum(information(mean, theta) for theta in two) / 2
    assert mean.value == pytest.approx(np.log(np.linalg.eigvalsh(together)[0]), abs=1e-9)
    own = cd.solve(D.e_optimal(curve.model.models[0].over(INTERVAL)), tol=1e-4)
    assert worst.efficiencies[0] == pytest.approx(np.exp(logs[0]) / own.value, rel=2e-4)


def information(design, theta):
    x = design.points["x"].to_numpy()
    F = np.column_stack([np.ones_like(x), x])
    nu = 1 / (2 + np.exp(F @ theta) + np.exp(-F @ theta))
    return F.T @ ((design.weights * nu)[:, None] * F)


def test_worst_average_and_mean_information_are_what_they_say():
    model = cd.Model.glm("1 + x", theta=[0, 1], link="logit").at(THETAS)
    curve = model.over(INTERVAL)
    average, worst = solved(D.d_optimal(curve)), solved(D.d_optimal(curve, over="worst"))
    mean = solved(D.d_optimal(curve, over="information"))
    logs = [np.linalg.slogdet(information(average, theta))[1] / 2 for theta in THETAS]
    assert average.value == pytest.approx(np.mean(logs), abs=1e-9)
    best = [cd.solve(D.d_optimal(m.over(INTERVAL))).value / 2 for m in model.models]
    own = [np.exp(np.linalg.slogdet(information(worst, t))[1] / 2 - z) for t, z in zip(THETAS, best)]
    np.testing.assert_allclose(worst.efficiencies, own, rtol=3e-6)
    assert worst.value == pytest.approx(min(own), rel=3e-6)
    together = sum(information(mean, theta) for theta in THETAS) / len(THETAS)
    assert mean.value == pytest.approx(np.linalg.slogdet(together)[1] / 2, abs=1e-9)
    # Each is at least as good as the others by its own measure.
    for other in (worst, mean):
        assert average.value >= np.mean([np.linalg.slogdet(information(other, t))[1] / 2 for t in THETAS]) - 1e-9


def test_an_uncertain_mean_formula():
    model = cd.Model.nonlinear("vmax*x/(k + x)", theta={"vmax": 1, "k": 1}).at(
        {"vmax": [1, 1], "k": [0.5, 3.0]}, [1, 3]
    )
    design = solved(D.d_optimal(model.over(cd.Region.box(x=(0, 10)))))
    x = np.linspace(0, 10, 4001)
    heights = np.zeros_like(x)
    for k, share in ((0.5, 0.25), (3.0, 0.75)):
        rows = lambda t: np.column_stack([t / (k + t), -t / (k + t) ** 2])  # noqa: B023, E731
        F = rows(design.points["x"].to_numpy())
        A = F.T @ (design.weights[:, None] * F)
        heights += share / 2 * np.einsum("ij,jk,ik->i", rows(x), np.linalg.inv(A), rows(x))
    assert heights.max() <= 1 + 2e-6


BAD = {
    "regions": (lambda: D.compound([D.d_optimal(line(2)), D.d_optimal(line(2, 0, 1))]), "another region"),
    "lists": (lambda: D.compound([D.d_optimal(line(2)), D.d_optimal(np.eye(3))]), "not over a region"),
    "box": (
        lambda: D.e_optimal(
            cd.Model.glm("1 + x", [0, 1], "logit").at(cd.Region.box(a=(0, 1), b=(1, 2))).over(INTERVAL)
        ),
        "the least of several functions",
    ),
    "ranking": (
        lambda: D.maximin([D.best_arm_oracle(line(2), theta=[1.0, 0, 0])]),
        "has no meaning over a region",
    ),
    "costs": (lambda: D.compound([D.d_optimal(line(2)), D.d_optimal(line(2), costs="2 + x")]), "other costs"),
    "nested": (lambda: D.compound([D.compound([D.d_optimal(line(2))])]), "cannot be compounded"),
    "linear": (lambda: cd.Model.polynomial("x", 2).at([[1, 2, 3]]), "glm and nonlinear"),
    "thetas": (lambda: cd.Model.glm("1 + x", [0, 1], "logit").at([[1, 2, 3]]), "with 2 parameters"),
    "not finite": (lambda: cd.Model.glm("1 + x", [0, 1], "logit").at([[1, np.nan]]), "row 0"),
    "names": (lambda: cd.Model.nonlinear("a*x", {"a": 1}).at({"b": [1]}), "no column 'a'"),
    "over": (
        lambda: D.d_optimal(cd.Model.glm("1 + x", [0, 1], "logit").at([[0, 1]]).over(INTERVAL), over="best"),
        "choose one of average",
    ),
    "domain": (
        lambda: D.d_optimal(cd.Model.nonlinear("x/(k + x)", {"k": 1}).at([{"k": 1}, {"k": -2}]).over(POSITIVE)),
        "value 1 of the parameters: k = -2",
    ),
    "verify": (lambda: cd.verify(D.compound([D.d_optimal(line(2))]), runs={"x": [0, 1]}), "solved, not verified"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_what_does_not_fit_together_is_refused_in_words(name):
    make, message = BAD[name]
    with pytest.raises(cd.InputError, match=message):
        make()
