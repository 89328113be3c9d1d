"""Coordinates along the narrow directions of a region: a thin strip across its box is a box in them.

Where -1 <= 10 (a + b) <= 1, products of a and b nearly depend on each other on the region, and no solver tells them apart.
With v_k = (d_k'x - m_k) / r_k, d_k the normals of sides or axes, narrowest first as long as they are independent, the region
fills its box |v_k| <= 1 in every direction. The limits m_k +- r_k are proven from the multipliers of linear programs, in
rational arithmetic, and x is an exact affine function of v, so that every proof over the new region is one over the old.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from convexdesign.regions.polynomial import Polynomial
from convexdesign.regions.region import Region
from convexdesign.typing import Floats

__all__ = ["along_narrow_directions"]

# A region is narrow where its least width is below this share of the largest.
NARROW = 0.25
# Directions this close to the span of narrower ones are left out.
INDEPENDENT = 0.2
MOST_SIDES = 60
Row = tuple[Fraction, ...]


def along_narrow_directions(region: Region) -> Region:
    """The same region in such coordinates; itself where it is not narrow."""
    q, names = region.q, region.names
    units = [tuple(Fraction(int(j == k)) for j in range(q)) for k in range(q)]
    slopes = [slope_of(g) for g in region.inequalities if g.degree == 1]
    if region.forms or q < 2 or not slopes or len(slopes) > MOST_SIDES:
        return region
    A, b = sides(region)
    half = np.array(region.half, dtype=float)
    directions = list(dict.fromkeys(canonical(d) for d in (*units, *slopes)))
    limits = [limits_of(d, A, b, region) for d in directions]
    lengths = [float(np.linalg.norm(np.array(d, dtype=float) * half)) for d in directions]
    widths = np.array([float(top - bottom) / length for (bottom, top), length in zip(limits, lengths)])
    if not (widths > 0).all() or widths.min() > NARROW * widths[:q].max():
        return region
    chosen: list[int] = []
    for k in np.argsort(widths, kind="stable"):
        if independent([np.array(directions[j], dtype=float) * half for j in (*chosen, int(k))]):
            chosen.append(int(k))
    if len(chosen) < q:
        return region
    rows = [directions[k] for k in chosen]
    centre = [(limits[k][0] + limits[k][1]) / 2 for k in chosen]
    radius = [(limits[k][1] - limits[k][0]) / 2 for k in chosen]
    inverse = inverted(rows)
    own = tuple(f"direction_{k + 1}" for k in range(q))
    x = {name: affine([inverse[i][k] for k in range(q)], centre, radius, own) for i, name in enumerate(names)}
    walls = []
    for k, name in enumerate(names):
        if region.boxed[k]:
            walls += [
                x[name] - Polynomial.constant(region.lower[k], own),
                Polynomial.constant(region.upper[k], own) - x[name],
            ]
    inner = [g.substituted(x, own) for g in region.inequalities]
    return replace(
        region,
        names=own,
        lower=(Fraction(-1),) * q,
        upper=(Fraction(1),) * q,
        inequalities=(*walls, *inner),
        boxed=(False,) * q,
        eliminated=(*x.items(), *((name, p.substituted(x, own)) for name, p in region.eliminated)),
        parts=None,
        forms=tuple(
            Polynomial(names, {unit(j, q): row[j] / r for j in range(q) if row[j]}) - Polynomial.constant(m / r, names)
            for row, m, r in zip(rows, centre, radius)
        ),
    )


def unit(j: int, q: int) -> tuple[int, ...]:
    """The exponents of one variable."""
    return tuple(int(i == j) for i in range(q))


def slope_of(g: Polynomial) -> Row:
    """The coefficients of a linear polynomial."""
    q = len(g.names)
    return tuple(g.terms.get(unit(j, q), Fraction(0)) for j in range(q))


def canonical(d: Row) -> Row:
    """The direction with the first nonzero entry one."""
    first = next(x for x in d if x)
    return tuple(x / first for x in d)


def sides(region: Region) -> tuple[list[Row], list[Fraction]]:
    """A x <= b: the box and the linear inequalities."""
    q = region.q
    A, b = [], []
    for k in range(q):
        e = tuple(Fraction(int(j == k)) for j in range(q))
        A += [e, tuple(-x for x in e)]
        b += [region.upper[k], -region.lower[k]]
    for g in region.inequalities:
        if g.degree == 1:
            A.append(tuple(-x for x in slope_of(g)))
            b.append(g.constant_term())
    return A, b


def limits_of(d: Row, A: list[Row], b: list[Fraction], region: Region) -> tuple[Fraction, Fraction]:
    """Lower and upper limits of d'x where A x <= b: d'x = y'Ax + r'x <= y'b + the largest r'x on the box, for any y >= 0."""
    from scipy.optimize import linprog

    matrix, right, cost = np.array(A, dtype=float), np.array(b, dtype=float), np.array(d, dtype=float)
    ends = []
    for sign in (-1, 1):
        found = linprog(-sign * cost, A_ub=matrix, b_ub=right, bounds=[(None, None)] * len(d), method="highs")
        y = (
            [Fraction(max(float(-m), 0.0)) for m in found.ineqlin.marginals]
            if found.status == 0
            else [Fraction(0)] * len(b)
        )
        top = sum((m * value for m, value in zip(y, b) if m), Fraction(0))
        for k in range(len(d)):
            rest = sign * d[k] - sum((m * row[k] for m, row in zip(y, A) if m), Fraction(0))
            top += max(rest * region.lower[k], rest * region.upper[k])
        ends.append(sign * top)
    return rounded(ends[0], -1), rounded(ends[1], 1)


def rounded(x: Fraction, sign: int) -> Fraction:
    """A short fraction beyond x, or x itself where it is one."""
    short = x.limit_denominator(10**6)
    if short == x:
        return x
    near = Fraction(float(x))
    return near + sign * abs(near) * Fraction(1, 2**50) + sign * Fraction(1, 2**200)


def independent(rows: list[Floats]) -> bool:
    """Whether the last direction is far from the span of those before it."""
    units = np.array([row / np.linalg.norm(row) for row in rows])
    if len(units) > units.shape[1]:
        return False
    return bool(np.abs(np.diag(np.linalg.qr(units.T, mode="r")))[-1] > INDEPENDENT)


def inverted(rows: list[Row]) -> list[list[Fraction]]:
    """The inverse of a regular matrix, exactly."""
    q = len(rows)
    M = [[*row, *(Fraction(int(i == k)) for k in range(q))] for i, row in enumerate(rows)]
    for k in range(q):
        pivot = next(i for i in range(k, q) if M[i][k])
        M[k], M[pivot] = M[pivot], M[k]
        M[k] = [x / M[k][k] for x in M[k]]
        for i in range(q):
            if i != k and M[i][k]:
                M[i] = [x - M[i][k] * y for x, y in zip(M[i], M[k])]
    return [row[q:] for row in M]


def affine(row: list[Fraction], centre: list[Fraction], radius: list[Fraction], names: tuple[str, ...]) -> Polynomial:
    """row (centre + radius v) as a polynomial of v."""
    q = len(names)
    terms = {unit(k, q): row[k] * radius[k] for k in range(q) if row[k]}
    constant = sum((a * m for a, m in zip(row, centre)), Fraction(0))
    return Polynomial(names, terms) + Polynomial.constant(constant, names)
