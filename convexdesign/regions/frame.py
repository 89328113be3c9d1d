"""Coordinates in which a model over a region is well-conditioned: h = R f, over Chebyshev polynomials of settings in [-1, 1].

A factor between 150 and 190 makes 1, x, x^2 nearly dependent in floating point. With x_i = centre_i + half_i u_i every f_j is a
polynomial of u, exactly: f = T m(u), m products of Chebyshev polynomials. Any triangular R, its doubles read as the rationals
that they are, makes h = R f = (RT) m another basis of the same functions; R is chosen so that the rows of RT, which are
computed exactly and rounded once, are nearly orthonormal. A design is optimal for h where it is for f, with A_h = R A_f R',
targets R v, moments R M R', and log det A_h = log det A_f + 2 log |det R|.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from convexdesign.problem.compensated import congruence, product
from convexdesign.regions.model import Curve
from convexdesign.regions.polynomial import Exponents
from convexdesign.regions.region import Region
from convexdesign.typing import Floats, Indices

__all__ = ["Frame", "chebyshev_rows"]

# Coordinates whose condition is below this are left as they are.
GOOD = 1e3
UNIT = 2.0**-53
# Each round gains the digits that its doubles carry.
ROUNDS = 3


class Frame:
    """h(u) = R f: R (d, d), keys (M, q) and rows H = RT (d, M) for every piece of the region."""

    def __init__(self, curve: Curve, plain: bool = False):
        """plain: R is the identity, for criteria that depend on the coordinates of f."""
        self.curve, self.region, self.d = curve, curve.region, curve.d
        self.low = np.array(self.region.lower, dtype=float)
        self.high = np.array(self.region.upper, dtype=float)
        exact = [_table(curve, piece, self.region) for piece in range(len(self.region.pieces))]
        self.keys: list[Indices] = [keys for keys, _ in exact]
        self.R, self.H = np.eye(self.d), [_rounded(keys, columns) for keys, columns in exact]
        for _ in range(0 if plain else ROUNDS):
            step = _orthonormaliser(np.hstack(self.H))
            if step is None:
                break
            self.R = np.tril(step @ self.R)
            self.H = [_rounded(keys, _times(self.R, columns)) for keys, columns in exact]

    def tables(self, box: Region) -> tuple[list[Indices], list[Floats]]:
        """Keys and rows H of every piece over the Chebyshev polynomials of another box, for the same R."""
        if box is self.region:
            return self.keys, self.H
        exact = [_table(self.curve, piece, box) for piece in range(len(self.region.pieces))]
        return [keys for keys, _ in exact], [_rounded(keys, _times(self.R, columns)) for keys, columns in exact]

    @cached_property
    def log_det(self) -> float:
        """log |det R|."""
        return float(np.sum(np.log(np.abs(np.diag(self.R)))))

    def rows(self, where: Sequence[int] | Indices, x: Floats) -> Floats:
        """h at the settings x (n, q) of the pieces `where` (n,)."""
        index = np.asarray(where, dtype=np.intp)
        out = np.empty((len(x), self.d))
        for piece in np.unique(index):
            mine = index == piece
            out[mine] = self.piece_rows(int(piece), x[mine])
        return out

    def piece_rows(self, piece: int, x: Floats) -> Floats:
        """h at the settings x (n, q) of one piece."""
        return np.asarray(chebyshev_rows(self.keys[piece], self.scaled(x)) @ self.H[piece].T)

    def scaled(self, x: Floats) -> Floats:
        """The settings x (n, q) in coordinates between -1 and 1; differences from the sides lose nothing."""
        return np.asarray(((x - self.low) - (self.high - x)) / (self.high - self.low))

    def unscaled(self, u: Floats) -> Floats:
        """The settings at coordinates between -1 and 1, within the box."""
        return np.clip((self.low + self.high) / 2.0 + (self.high - self.low) / 2.0 * u, self.low, self.high)

    def rows_error(self, piece: int) -> Floats:
        """By how much each entry of a row of h may be off (d,), its settings within the box."""
        degree = int(self.keys[piece].sum(axis=1).max(initial=0))
        return np.asarray((8 * degree**2 + len(self.keys[piece]) + 8) * UNIT * np.abs(self.H[piece]).sum(axis=1))

    def vectors(self, V: Floats) -> Floats:
        """R v for rows v (k, d), each entry right to a unit but for what twice the digits do not hold."""
        return product(np.asarray(V, dtype=float), np.ascontiguousarray(self.R.T))

    def matrix(self, M: Floats) -> Floats:
        """R M R'."""
        return congruence(np.ascontiguousarray(self.R.T), np.asarray(M, dtype=float))


def chebyshev_rows(keys: Indices, u: Floats) -> Floats:
    """Products of Chebyshev polynomials with the degrees keys (M, q) at u (n, q): (n, M)."""
    out = np.ones((len(u), len(keys)))
    for k in range(keys.shape[1]):
        most = int(keys[:, k].max(initial=0))
        if not most:
            continue
        T = np.ones((most + 1, len(u)))
        T[1] = u[:, k]
        for j in range(2, most + 1):
            T[j] = 2.0 * u[:, k] * T[j - 1] - T[j - 2]
        out *= T[keys[:, k]].T
    return out


def _table(curve: Curve, piece: int, box: Region) -> tuple[Indices, list[dict[int, Fraction]]]:
    """The exponents (M, q) of a piece, and for every coordinate of f its coefficients by their place."""
    columns = [box.scaled(p) for p in curve.polynomials(piece)]
    keys = sorted({key for column in columns for key in column}) or [(0,) * box.q]
    place: dict[Exponents, int] = {key: k for k, key in enumerate(keys)}
    listed = [{place[key]: value for key, value in column.items()} for column in columns]
    return np.array(keys, dtype=np.int64).reshape(len(keys), box.q), listed


def _rounded(keys: Indices, rows: list[dict[int, Fraction]]) -> Floats:
    out = np.zeros((len(rows), len(keys)))
    for row, entries in zip(out, rows):
        for k, value in entries.items():
            row[k] = float(value)
    return out


def _times(R: Floats, columns: list[dict[int, Fraction]]) -> list[dict[int, Fraction]]:
    """R T, exactly."""
    out: list[dict[int, Fraction]] = []
    for row in R:
        total: dict[int, Fraction] = {}
        for factor, column in zip(row, columns):
            if factor:
                exact = Fraction(float(factor))
                for k, value in column.items():
                    total[k] = total.get(k, Fraction(0)) + exact * value
        out.append(total)
    return out


def _orthonormaliser(H: Floats) -> Floats | None:
    """A lower triangular S with SH nearly orthonormal rows; None where H is good enough as it is."""
    size = np.linalg.norm(H, axis=1)
    if not (size > 0).all():
        return None
    level = np.linalg.svd(H, compute_uv=False)
    if level[0] <= GOOD * level[-1]:
        return None
    triangle = np.linalg.qr((H / size[:, None]).T, mode="r")
    diagonal = np.abs(np.diag(triangle))
    if not (diagonal > 1e-15 * diagonal.max()).all():
        return None
    return np.asarray(np.linalg.inv(triangle).T / size)
