"""Exact polynomials: rational coefficients over powers, and their expansion in products of Chebyshev polynomials.

On the box |u_i| <= 1 every product of Chebyshev polynomials is at most one in size, so that the sum of the absolute
coefficients bounds a polynomial; and T_a T_b = (T_(a+b) + T_|a-b|) / 2, so that this sum of a product is at most the product of
the sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from convexdesign.typing import Floats

__all__ = ["Exponents", "Polynomial", "Terms"]

Exponents = tuple[int, ...]
Terms = Mapping[Exponents, Fraction]


@dataclass(frozen=True)
class Polynomial:
    """A polynomial in the variables `names` with rational coefficients: {exponents: coefficient}, none of them zero."""

    names: tuple[str, ...]
    terms: Terms

    @classmethod
    def constant(cls, value: float | Fraction, names: Sequence[str]) -> Polynomial:
        """The constant."""
        number = Fraction(value)
        return cls(tuple(names), {(0,) * len(names): number} if number else {})

    @classmethod
    def variable(cls, name: str, names: Sequence[str]) -> Polynomial:
        """One of the variables."""
        place = list(names).index(name)
        return cls(tuple(names), {tuple(int(k == place) for k in range(len(names))): Fraction(1)})

    def __add__(self, other: Polynomial) -> Polynomial:
        sums = dict(self.terms)
        for key, value in other.terms.items():
            sums[key] = sums.get(key, Fraction(0)) + value
        return Polynomial(self.names, {key: value for key, value in sums.items() if value})

    def __neg__(self) -> Polynomial:
        return Polynomial(self.names, {key: -value for key, value in self.terms.items()})

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + (-other)

    def __mul__(self, other: Polynomial) -> Polynomial:
        out: dict[Exponents, Fraction] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                key = tuple(i + j for i, j in zip(a, b))
                out[key] = out.get(key, Fraction(0)) + x * y
        return Polynomial(self.names, {key: value for key, value in out.items() if value})

    def __pow__(self, power: int) -> Polynomial:
        out = Polynomial.constant(1, self.names)
        for _ in range(power):
            out = out * self
        return out

    @property
    def degree(self) -> int:
        """The largest sum of exponents; 0 for a constant."""
        return max((sum(key) for key in self.terms), default=0)

    @property
    def is_constant(self) -> bool:
        """Whether no variable occurs."""
        return self.degree == 0

    def constant_term(self) -> Fraction:
        """The coefficient of 1."""
        return self.terms.get((0,) * len(self.names), Fraction(0))

    def substituted(self, values: Mapping[str, Polynomial], names: Sequence[str]) -> Polynomial:
        """The polynomial in the variables `names` with every other variable replaced by a polynomial in these."""
        parts = [values[name] if name in values else Polynomial.variable(name, names) for name in self.names]
        out = Polynomial.constant(0, names)
        for key, value in self.terms.items():
            product = Polynomial.constant(value, names)
            for part, power in zip(parts, key):
                if power:
                    product = product * part**power
            out = out + product
        return out

    def at(self, points: Floats) -> Floats:
        """The values at the rows of points (n, q)."""
        out = np.zeros(len(points))
        for key, value in self.terms.items():
            product = np.full(len(points), float(value))
            for k, power in enumerate(key):
                if power:
                    product = product * points[:, k] ** power
            out += product
        return out

    def gradient(self) -> list[Polynomial]:
        """The derivatives by each variable."""
        out = []
        for k in range(len(self.names)):
            terms = {
                (*key[:k], key[k] - 1, *key[k + 1 :]): value * key[k] for key, value in self.terms.items() if key[k]
            }
            out.append(Polynomial(self.names, terms))
        return out

    def chebyshev(self, centre: Sequence[Fraction], half: Sequence[Fraction]) -> dict[Exponents, Fraction]:
        """Coefficients over products of Chebyshev polynomials of u, where x_i = centre_i + half_i u_i; exact."""
        q = len(self.names)
        tables = [_powers(centre[k], half[k], max((key[k] for key in self.terms), default=0)) for k in range(q)]
        out: dict[Exponents, Fraction] = {}
        for key, value in self.terms.items():
            partial: dict[Exponents, Fraction] = {(): value}
            for k in range(q):
                row = tables[k][key[k]]
                partial = {(*head, j): x * y for head, x in partial.items() for j, y in enumerate(row) if y}
            for exponents, x in partial.items():
                out[exponents] = out.get(exponents, Fraction(0)) + x
        return {key: value for key, value in out.items() if value}


def _powers(centre: Fraction, half: Fraction, most: int) -> list[list[Fraction]]:
    """(centre + half u)^n in Chebyshev polynomials of u, for n = 0 .. most."""
    rows = [[Fraction(1)]]
    for _ in range(most):
        last = rows[-1]
        new = [Fraction(0)] * (len(last) + 1)
        for k, value in enumerate(last):
            new[k] += centre * value
            new[k + 1] += half * value / (1 if k == 0 else 2)
            if k:
                new[k - 1] += half * value / 2
        rows.append(new)
    return rows
