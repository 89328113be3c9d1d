"""Phi_2, the Frobenius norm of the covariance: closed forms, invariances, its neighbours A and E, proofs, files."""

from __future__ import annotations

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.criteria.frobenius import FROBENIUS
from convexdesign.problemfile import load_problem

P = cd.DesignProblem
RNG = np.random.default_rng(5)


def test_arms_along_the_axes_share_in_proportion_to_their_variances_to_the_power_two_thirds():
    variances = np.array([1.0, 8.0, 27.0])
    design = cd.solve(P.phi2_optimal(np.eye(3), noise_variance=variances), tol=1e-9)
    share = variances ** (2.0 / 3.0)
    np.testing.assert_allclose(design.weights, share / share.sum(), rtol=1e-4)
    assert design.value == pytest.approx(share.sum() ** 1.5, rel=1e-9)
    assert design.lower_bound <= share.sum() ** 1.5 * (1 + 1e-12)


def test_turning_the_coordinates_changes_nothing():
    X, turn = RNG.standard_normal((12, 4)), np.linalg.qr(RNG.standard_normal((4, 4)))[0]
    one, other = (cd.solve(P.phi2_optimal(arms), tol=1e-8) for arms in (X, X @ turn))
    assert one.value == pytest.approx(other.value, rel=1e-7)


def test_it_lies_between_the_average_and_the_worst_variance():
    X = RNG.standard_normal((12, 4))
    phi2 = cd.solve(P.phi2_optimal(X)).value
    assert (
        cd.solve(P.a_optimal(X)).value / 2.0 <= phi2 <= cd.solve(P.a_optimal(X)).value
    )  # tr K / sqrt(4) <= |K| <= tr K
    assert 1.0 / cd.solve(P.e_optimal(X)).value <= phi2 * (1 + 1e-6)


@pytest.mark.parametrize(
    "options", [{"max_weight": 0.2}, {"prior_information": np.eye(3), "n_new": 5}, {"costs": np.arange(1.0, 9.0)}]
)
def test_bounds_information_held_and_costs_are_kept(options):
    X = RNG.standard_normal((8, 3))
    design = cd.solve(P.phi2_optimal(X, **options))
    assert design.status is cd.Status.CERTIFIED
    assert design.weights.max() <= options.get("max_weight", 1.0) + 1e-9
    for _ in range(20):
        w = RNG.dirichlet(np.ones(8))
        if w.max() <= options.get("max_weight", 1.0):
            assert cd.verify(design.problem, weights=w).value >= design.lower_bound * (1 - 1e-9)


def test_a_proof_in_balls_decides_as_doubles_do():
    problem = P.phi2_optimal(RNG.standard_normal((8, 3)), noise_variance=RNG.uniform(0.5, 2, 8))
    w = RNG.dirichlet(np.ones(8))
    (low, high), (least, most) = (cd.verify(problem, weights=w, rigorous=r).efficiency_interval for r in (False, True))
    assert (low, high) == pytest.approx((least, most), rel=1e-6)
    v = cd.verify(problem, weights=np.eye(8)[0], rigorous=True)
    assert v.value == np.inf
    assert v.efficiency_interval == (0.0, 0.0)


def test_arms_that_do_not_span_are_refused_by_the_coefficients_that_they_alias():
    with pytest.raises(cd.UnidentifiableError, match="columns 0, 1 are aliased"):
        cd.solve(P.phi2_optimal([[1.0, 1.0], [2.0, 2.0]]))


def test_frank_wolfe_says_that_it_has_no_step_for_it():
    with pytest.raises(cd.InputError, match=r"frank-wolfe' solves .* for min \|A\^-1\|_F use method='conic'"):
        cd.solve(P.phi2_optimal(np.eye(2)), method="frank-wolfe")


def test_files_know_it(tmp_path):
    path = tmp_path / "phi2.toml"
    path.write_text('title = "t"\nstatement = "s"\nkind = "phi2-optimal"\narms = [[1.0, 0.0], [0.0, 2.0]]\n')
    problem = load_problem(path).problem()
    assert problem.criterion == FROBENIUS
    design = cd.solve(problem)
    design.save(tmp_path / "design.json")
    again = cd.Design.load(tmp_path / "design.json")
    assert again.value == design.value
    assert again.bound == design.bound
