"""Exact second moments of a polynomial model over boxes, balls and simplices, and over products and levels of them.

Uniform distribution; levels of discrete factors count alike.
Box: E x^n = (b^(n+1) - a^(n+1)) / ((n+1)(b-a)). Ball of radius 1 in R^q: E prod x_i^(2 a_i) = prod (2 a_i - 1)!! /
prod_(j=1)^k (q + 2j), k = sum a_i, zero for an odd exponent. Simplex of proportions with sum 1 (Dirichlet):
E prod x_i^(a_i) = prod a_i! (q-1)! / (q - 1 + sum a_i)!, q components.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial, prod

import numpy as np

from convexdesign.errors import InputError
from convexdesign.regions.model import Curve
from convexdesign.regions.polynomial import Exponents, Polynomial
from convexdesign.regions.region import Part, Region
from convexdesign.typing import Floats

__all__ = ["mean", "second_moments"]


def second_moments(curve: Curve, over: Region) -> Floats:
    """E f(x)f(x)' for x uniform over a region of the same factors, each entry exact and rounded once."""
    d = curve.d
    if not isinstance(over, Region):
        raise InputError(f"region is of type {type(over).__name__}; give a Region of the same factors")
    if over.parts is None:
        raise InputError(
            "moments are known in closed form for boxes, balls, simplices (with lower limits) and products of them; give "
            "i_optimal a region= of such a shape, or average_variance the matrix M of the mean of f(x)f(x)'"
        )
    if (over.names, over.pieces) != (curve.region.names, curve.region.pieces):
        raise InputError(
            f"the moments are over {over!r}, the model over {curve.region!r}: the factors must be the same"
        )
    pieces = len(over.pieces)
    known: dict[Exponents, Fraction] = {}
    M = [[Fraction(0)] * d for _ in range(d)]
    for piece in range(pieces):
        f = curve.polynomials(piece)
        for i in range(d):
            for j in range(i + 1):
                M[i][j] += mean(f[i] * f[j], over, known)
    out = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            out[i, j] = out[j, i] = float(M[i][j] / pieces)
    return out


def mean(p: Polynomial, region: Region, known: dict[Exponents, Fraction] | None = None) -> Fraction:
    """The mean of a polynomial of the coordinates over the continuous part of the region."""
    known = {} if known is None else known
    total = Fraction(0)
    for key, value in p.terms.items():
        if key not in known:
            known[key] = _monomial(key, region)
        total += value * known[key]
    return total


def _monomial(key: Exponents, region: Region) -> Fraction:
    assert region.parts is not None
    out, at = Fraction(1), 0
    for part in region.parts:
        free = len(part.names) - (part.shape == "simplex")
        own = key[at : at + free]
        at += free
        out *= {"box": _box, "ball": _ball, "simplex": _simplex}[part.shape](own, part)
    return out


def _box(key: Exponents, part: Part) -> Fraction:
    return prod(
        ((b ** (n + 1) - a ** (n + 1)) / ((n + 1) * (b - a)) for n, a, b in zip(key, part.lower, part.upper)),
        start=Fraction(1),
    )


def _shifted(key: Exponents, centre: tuple[Fraction, ...], scale: Fraction) -> Polynomial:
    """x^key for x = centre + scale z, as a polynomial of z."""
    names = tuple(f"z{k}" for k in range(len(key)))
    out = Polynomial.constant(1, names)
    for name, c, n in zip(names, centre, key):
        z = Polynomial.variable(name, names) * Polynomial.constant(scale, names)
        out = out * (z + Polynomial.constant(c, names)) ** n
    return out


def _ball(key: Exponents, part: Part) -> Fraction:
    q, total = len(key), Fraction(0)
    for powers, value in _shifted(key, part.centre, part.radius).terms.items():
        if any(n % 2 for n in powers):
            continue
        k = sum(powers) // 2
        top = prod(prod(range(n - 1, 0, -2)) for n in powers)
        total += value * Fraction(top, prod(q + 2 * j for j in range(1, k + 1)))
    return total


def _simplex(key: Exponents, part: Part) -> Fraction:
    """Proportions lower + (1 - sum lower) z with z uniform on the unit simplex."""
    q, total = len(part.names), Fraction(0)
    scale = 1 - sum(part.lower, Fraction(0))
    for powers, value in _shifted(key, part.lower[:-1], scale).terms.items():
        top = prod(factorial(n) for n in powers) * factorial(q - 1)
        total += value * Fraction(top, factorial(q - 1 + sum(powers)))
    return total
