"""Noise, costs, means and formulas are proven to be what they must be on the whole region, or the place is named where not."""

from fractions import Fraction

import numpy as np
import pytest
from polynomials import line

import convexdesign as cd
from convexdesign.regions.polynomial import Polynomial
from convexdesign.regions.positive import g_at, inhabitant, positive_on
from convexdesign.regions.text import parse_inequalities

D, R = cd.DesignProblem, cd.Region
SQUARE = R.box(x=(0, 1), y=(0, 1))


def glm(theta, link, family=None):
    return D.d_optimal(cd.Model.glm("1 + x", theta, link, family).over(R.box(x=(-1, 1))))


def mean(text, region, **theta):
    return D.d_optimal(cd.Model.nonlinear(text, theta).over(region))


# No random settings meet these places: a thousandth of the interval, or a point of it.
NOT_EVERYWHERE = {
    "negative noise": (lambda: D.d_optimal(line(2), noise_variance="(x - 0.51234)**2 - 1e-7"), "is -.* at x = 0.512"),
    "no noise at a point": (
        lambda: D.d_optimal(line(2), noise_variance="(x - 0.51234)**2"),
        "from zero near x = 0.51234",
    ),
    "no noise at zero": (lambda: D.d_optimal(line(2), noise_variance="x**2"), "noise_variance is 0 at x = 0;"),
    "negative at the end": (lambda: D.d_optimal(line(2), noise_variance="1/(1 - 1.0001*x**2)"), "is -.* at x = -1;"),
    "costs": (lambda: D.d_optimal(line(2), costs="x + 0.9999"), "costs is -.* at x = -1;"),
    "on a circle": (
        lambda: D.d_optimal(
            cd.Model.polynomial(["x", "y"], 1).over(R.ball(["x", "y"])), noise_variance="0.9999 - x**2 - y**2"
        ),
        "noise_variance is -",
    ),
    "logarithm": (lambda: mean("a + b*log((x - 0.512345)**2)", R.box(x=(0, 1)), a=1, b=1), "near x = 0.512345"),
    "pole": (lambda: mean("vmax*x/(k + x)", R.box(x=(0, 10)), vmax=1, k=-1), "derivative by vmax .* near x = 1;"),
    "root": (lambda: mean("a*sqrt(x - 0.001)", R.box(x=(0, 1)), a=1), "derivative by a is not defined at x = 0;"),
    "overflow": (lambda: mean("a*exp(800*x)", R.box(x=(0, 1)), a=1), "not finite at x = 1;"),
    "pole on a curve": (lambda: mean("a/(x*y - b)", SQUARE, a=1, b=0.3), "derivative by a .* near x = "),
    "poisson mean": (lambda: glm([0.9999, 1], "identity", "poisson"), "theta: the mean is .* at x = -1;"),
    "gamma mean": (lambda: glm([-3, 1], "identity", "gamma"), "theta: the mean is -4 at x = -1;"),
    "log": (lambda: glm([900, 1], "log"), "theta: .* not finite at x = 0, where the predictor is 900"),
    "one of several": (
        lambda: D.d_optimal(
            cd.Model.glm("1 + x", [2, 1], "identity", "poisson").at([[2, 1], [2, 2.1]]).over(R.box(x=(-1, 1)))
        ),
        "theta: the mean is -0.1 at x = -1;",
    ),
}


@pytest.mark.parametrize("name", list(NOT_EVERYWHERE))
def test_a_place_is_named_where_a_problem_is_not_defined(name):
    make, message = NOT_EVERYWHERE[name]
    with pytest.raises(cd.InputError, match=message):
        make()


EVERYWHERE = {
    "infinite at the ends": lambda: D.d_optimal(line(2), noise_variance="1/(1 - x**2)"),
    "two minus signs": lambda: D.d_optimal(line(2), noise_variance="(0 - 1 - x**2)/(x - 2)"),
    "small": lambda: D.d_optimal(line(2), noise_variance="(x - 0.51234)**2 + 1e-6"),
    "infinite on the circle": lambda: D.d_optimal(
        cd.Model.polynomial(["x", "y"], 1).over(R.ball(["x", "y"])), noise_variance="1/(1 - x**2 - y**2)"
    ),
    "outside the region": lambda: mean("a/(x*y - b)", SQUARE & R.where("x + y <= 1"), a=1, b=0.3),
    "root of zero": lambda: mean("a + b*sqrt(x)", R.box(x=(0, 1)), a=1, b=1),
}


@pytest.mark.parametrize("name", list(EVERYWHERE))
def test_what_is_defined_everywhere_is_not_refused(name):
    assert EVERYWHERE[name]().curve.d >= 1


def test_the_root_of_a_setting_is_defined_at_zero():
    # 1 and sqrt x on [0, 1]: half at each end, det of the information 1/4.
    design = cd.solve(mean("a + b*sqrt(x)", R.box(x=(0, 1)), a=1, b=1))
    assert design.status is cd.Status.CERTIFIED
    assert design.value == pytest.approx(np.log(1 / 4), abs=3e-6)


def test_a_ratio_is_bounded_only_with_a_denominator_that_is_proven():
    from convexdesign.regions.frame import Frame
    from convexdesign.regions.proof import RegionProver

    curve = line(2)
    names = curve.region.names
    x, one = Polynomial.variable("x", names), Polynomial.constant(1, names)
    prover = RegionProver(Frame(curve), ((x - one * Polynomial.constant(Fraction(1, 3), names)) ** 2, one))
    p, charge = prover.polynomial(0, np.eye(3))
    assert all(prover.bound(0, p, charge, relaxation) is None for relaxation in prover.hierarchy(p))


@pytest.mark.parametrize("seed", range(12))
def test_positive_polynomials_and_counterexamples_against_samples(seed):
    rng = np.random.default_rng([29, seed])
    region = SQUARE if seed % 2 else SQUARE & R.where("x + y <= 1", "x**2 + y**2 >= 0.1")
    a, b, c = (Fraction(int(v), 1000) for v in rng.integers(0, 1000, size=3))
    names = region.names
    (p,) = parse_inequalities(f"(x - {float(a)})**2 + (y - {float(b)})**2 >= {float(c) / 10}", names)
    found = positive_on(region, p)
    t = np.linspace(0, 1, 301)
    grid = np.array([(u, v) for u in t for v in t])
    values = p.at(grid[region.inside(grid, 0.0)])
    if found.proven:
        assert values.min() > 0
    else:
        assert g_at(p, found.at) <= 0
        assert all(g_at(g, found.at) >= 0 for g in region.inequalities)
    assert found.proven or found.settles


def test_a_region_is_empty_by_proof():
    with pytest.raises(cd.InputError, match="the region is empty: no setting within its limits"):
        SQUARE & R.where("x**2 + y**2 >= 2.001")
    sides = [*parse_inequalities("x**2 + y**2 >= 2.001", SQUARE.names)]
    from dataclasses import replace

    assert inhabitant(replace(SQUARE, inequalities=tuple(sides))).proven


def test_what_was_not_proven_says_how_long_the_next_step_takes():
    curve = cd.Model.polynomial(["a", "b"], 4).over(R.box(a=(-1, 1), b=(-1, 1)) & R.where("a + 2*b <= 1.1"))
    with pytest.warns(cd.ConvergenceWarning, match=r"the next step would take about .* s"):
        design = cd.solve(D.d_optimal(curve), time_limit=0.05)
    assert design.status is cd.Status.TIME_LIMIT
    assert 0 < design.certificate.next_seconds < 100


def test_a_relaxation_that_is_too_large_is_not_tried_but_estimated():
    from convexdesign.regions.frame import Frame
    from convexdesign.regions.proof import RegionProver, Relaxation

    names = [f"x{k}" for k in range(9)]
    text = " + ".join(["1", *(f"{n} + {n}**3" for n in names), ":".join(names[:3])])
    prover = RegionProver(Frame(cd.Model.formula(text).over(R.box(**dict.fromkeys(names, (-1, 1))))), None)
    p, charge = prover.polynomial(0, np.random.default_rng(0).normal(size=(20, prover.frame.d)))
    assert prover.bound(0, p, charge, Relaxation(8, True)) is None
    small, large = prover.size(p, Relaxation(6, False)), prover.size(p, Relaxation(8, True))
    assert 100 < small.seconds < large.seconds
    assert prover.bound(0, p, charge, Relaxation(6, False), time_limit=10.0) is None


@pytest.mark.parametrize(
    ("limit", "value", "words"), [("PATIENCE", 1e-6, "s: it was not begun"), ("memory", 1e3, "GB of memory")]
)
def test_a_step_that_takes_too_much_is_not_begun(monkeypatch, limit, value, words):
    from convexdesign.regions import proof, solving

    if limit == "memory":
        for module in (proof, solving):
            monkeypatch.setattr(module, "memory_allowed", lambda: value)
    else:
        monkeypatch.setattr(proof, limit, value)
    monkeypatch.setattr(proof.SumOfSquaresProgram, "solve", None)  # whoever asks for it fails
    disc = cd.Model.polynomial(["a", "b"], 2).over(R.ball(["a", "b"]))
    with pytest.warns(cd.ConvergenceWarning, match=words):
        design = cd.solve(D.d_optimal(disc))
    assert design.certificate.kind == "sum of coefficients"
    assert design.certificate.next_seconds > 0
    assert design.value <= -8.248544697 <= design.bound < np.inf
