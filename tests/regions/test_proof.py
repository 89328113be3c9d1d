"""A bound holds whatever the solver returned: its squares are changed at will, and dense sampling never exceeds it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from polynomials import cube, quadratic

import convexdesign as cd
from convexdesign.regions.frame import Frame
from convexdesign.regions.proof import RegionProver
from convexdesign.regions.search import inner_points
from convexdesign.regions.sum_of_squares import Code, exponents, products


def random_region(rng, kind):
    if kind == "box":
        low = rng.normal(size=2) * 3
        return cd.Region.box(a=(low[0], low[0] + rng.uniform(0.1, 5)), b=(low[1], low[1] + rng.uniform(0.1, 5)))
    if kind == "simplex":
        return cd.Region.simplex(["a", "b", "c"], lower=[0, 0.1, 0], upper=[0.7, 1, 0.8])
    if kind == "ball":
        return cd.Region.ball({"a": rng.normal(), "b": rng.normal()}, rng.uniform(0.2, 3))
    A = np.vstack([rng.normal(size=(4, 2)), np.eye(2), -np.eye(2)])
    return cd.Region.polytope(A, np.abs(rng.normal(size=8)) + 0.5, names=["a", "b"])


def proof_of(rng, kind):
    region = random_region(rng, kind)
    curve = cd.Model.polynomial(["a", "b"], int(rng.integers(1, 4))).over(region)
    frame = Frame(curve)
    B = rng.normal(size=(int(rng.integers(1, 8)), frame.d))
    x = inner_points(region, 20_000, rng)
    most = float(np.sum((frame.piece_rows(0, x) @ B.T) ** 2, axis=1).max())
    return RegionProver(frame, None), B, most


@pytest.mark.parametrize("kind", ["box", "simplex", "ball", "polytope"])
@pytest.mark.parametrize("seed", range(4))
def test_no_setting_exceeds_a_bound_even_when_the_solver_is_wrong(kind, seed):
    rng = np.random.default_rng([17, seed])
    prover, B, most = proof_of(rng, kind)
    p, charge = prover.polynomial(0, B)
    relaxation = prover.hierarchy(p)[0]
    bound = prover.bound(0, p, charge, relaxation)
    assert bound.value >= most * (1 - 1e-12)
    assert prover.bound_by_coefficients(p, charge) >= bound.value * (1 - 1e-9)
    program = prover._program(p, relaxation)
    found = program.solve(p, prover.top)
    for scale in (1e-6, 1e-2, 1.0):
        squares = tuple(replace(s, root=s.root + scale * rng.normal(size=s.root.shape)) for s in found.squares)
        wrong = replace(found, squares=squares, nu=found.nu * (1 - scale * rng.random()))
        assert program.repaired(wrong, p, prover.top, charge, 1.0) >= most * (1 - 1e-12)


def test_the_rounded_coefficients_are_within_their_charge():
    rng = np.random.default_rng(5)
    prover, B, _ = proof_of(rng, "box")
    p, charge = prover.polynomial(0, B)
    H, keys = prover.H[0], prover.keys[0]
    curve, region, R = prover.frame.curve, prover.region, prover.frame.R
    exact: dict[tuple[int, ...], Fraction] = {}
    rows = [region.scaled(f) for f in curve.polynomials(0)]
    h = []
    for row in R:
        total: dict[tuple[int, ...], Fraction] = {}
        for factor, column in zip(row, rows):
            for key, value in column.items():
                total[key] = total.get(key, Fraction(0)) + Fraction(float(factor)) * value
        h.append(total)
    assert H.shape == (len(h), len(keys))
    for b in B:
        c: dict[tuple[int, ...], Fraction] = {}
        for weight, column in zip(b, h):
            for key, value in column.items():
                c[key] = c.get(key, Fraction(0)) + Fraction(float(weight)) * value
        for a, x in c.items():
            for e, y in c.items():
                for key, share in chebyshev_product(a, e).items():
                    exact[key] = exact.get(key, Fraction(0)) + x * y * share
    off = sum(abs(Fraction(p.get(key, 0.0)) - exact.get(key, Fraction(0))) for key in {*p, *exact})
    assert off <= charge
    assert charge <= 1e-10 * sum(map(abs, p.values()))


def chebyshev_product(a, b):
    """T_a T_b coordinate by coordinate: (T_(a+b) + T_|a-b|) / 2."""
    out = {(): Fraction(1)}
    for i, j in zip(a, b):
        out = (
            {
                (*key, new): value / 2
                for key, value in out.items()
                for new in ([i + j, abs(i - j)] if i and j else [i + j])
            }
            if i and j
            else {(*key, i + j): value for key, value in out.items()}
        )
    return out


def test_products_of_chebyshev_polynomials():
    basis = exponents(2, 2)
    g = {(0, 0): Fraction(1, 2), (2, 0): Fraction(-1, 2)}
    code = Code(2, 6)
    rows, cols, values = products(basis, g, code)
    rng = np.random.default_rng(0)
    u = rng.uniform(-1, 1, size=2)
    T = lambda key: float(np.prod(np.cos(np.array(key) * np.arccos(u))))  # noqa: E731
    j, i = np.tril_indices(len(basis))
    for pair in range(len(i)):
        mine = rows == pair
        total = sum(v * T(key) for v, key in zip(values[mine], code.back(cols[mine])))
        expected = T(basis[i[pair]]) * T(basis[j[pair]]) * sum(float(v) * T(k) for k, v in g.items())
        assert total == pytest.approx(expected, abs=1e-13)


def test_a_search_that_misses_the_maximum_is_refuted():
    # A design that is optimal on a coarse list of settings: the proof says by how much it is not over the region.
    problem = cd.DesignProblem.d_optimal(quadratic(2).over(cube(2)))
    from convexdesign.regions.certifying import certified
    from convexdesign.regions.exchange import Search

    search = Search(problem)
    coarse = np.array([[-0.8, -0.8], [0.8, -0.8], [-0.8, 0.8], [0.8, 0.8], [0.0, 0.0], [0.8, 0.0], [0.0, 0.8]])
    found = search.solved(np.zeros(7, dtype=int), coarse, 1e-8)
    assert found.design.gap <= 1e-8  # of the list, this is the optimum
    certificate, missed = certified(search, RegionProver(problem.frame, None), found, 1e-6, np.inf)
    assert certificate.gap > 0.1
    assert missed is not None
    assert np.abs(missed[1]).max() == pytest.approx(1.0)
