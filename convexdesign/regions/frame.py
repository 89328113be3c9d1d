"""Coordinates in which a model over a region is well-conditioned: h = R f, over Chebyshev polynomials of settings in [-1, 1].

A factor between 150 and 190 makes 1, x, x^2 nearly dependent in floating point. With x_i = centre_i + half_i u_i every f_j is a
polynomial of u, exactly: f = T m(u), m products of Chebyshev polynomials. Any triangular R, its doubles read as the rationals
that they are, makes h = R f = (RT) m another basis of the same functions; R is chosen so that the rows of RT, which are
computed exactly and rounded once, are nearly orthonormal. A design is optimal for h where it is for f, with A_h = R A_f R',
targets R v, moments R M R', and log det A_h = log det A_f + 2 log |det R|.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from convexdesign.problem.compensated import congruence, product
from convexdesign.regions.intervals import Interval, Jet, combined
from convexdesign.regions.model import Curve
from convexdesign.regions.polynomial import Exponents, Polynomial
from convexdesign.regions.region import Region
from convexdesign.typing import Floats, Indices

__all__ = ["Frame", "SampledFrame", "chebyshev_rows"]

# Coordinates whose condition is below this are left as they are.
GOOD = 1e3
UNIT = 2.0**-53
# Each round gains the digits that its doubles carry.
ROUNDS = 3


class Frame:
    """h(u) = R f: R (d, d), keys (M, q) and rows H = RT (d, M) for every piece of the region."""

    def __init__(self, curve: Curve, plain: bool = False):
        """plain: R is the identity, for criteria that depend on the coordinates of f."""
        self.curve: Any = curve
        self.region, self.d = curve.region, curve.d
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

    def of(self, curve: Any) -> Frame:
        """The same coordinates for another curve of the same functions."""
        out = copy(self)
        out.curve = curve
        return out

    @cached_property
    def log_det(self) -> float:
        """log |det R|."""
        return float(np.sum(np.log(np.abs(np.diag(self.R)))))

    def rows(self, where: Sequence[int] | Indices, x: Floats, weighted: bool = True) -> Floats:
        """h at the settings x (n, q) of the pieces `where` (n,), times the root of the model's weight there."""
        index = np.asarray(where, dtype=np.intp)
        out = np.empty((len(x), self.d))
        for piece in np.unique(index):
            mine = index == piece
            out[mine] = self.piece_rows(int(piece), x[mine], weighted)
        return out

    def piece_rows(self, piece: int, x: Floats, weighted: bool = True) -> Floats:
        """h at the settings x (n, q) of one piece, times the root of the model's weight there."""
        rows = np.asarray(chebyshev_rows(self.keys[piece], self.scaled(x)) @ self.H[piece].T)
        if weighted and self.curve.weight is not None:
            rows = rows * np.sqrt(self.curve.weights(piece, x))[:, None]
        return rows

    def jets(self, piece: int, u: Interval) -> Jet:
        """The Chebyshev products m over boxes of u: value (n, M), gradient (n, M, q), Hessian (n, M, q, q)."""
        keys, q = self.keys[piece], u.lo.shape[1]
        out: Jet | None = None
        for k in range(q):
            jets = _chebyshev_jets(Jet.coordinate(u, k), int(keys[:, k].max(initial=0)))
            part = _stacked([jets[int(e)] for e in keys[:, k]])
            out = part if out is None else _product(out, part)
        if out is None:
            n, M = len(u.lo), len(keys)
            return Jet(*(Interval.of(np.ones((n, M) + (0,) * k)) for k in range(3)))
        return out

    def weight_jet(self, piece: int, parts: Jet) -> Jet:
        """The model's weight over the same boxes."""
        eta = self.curve.eta(piece)
        node = self.curve.weight
        assert node is not None
        table = self.region.scaled(eta)
        row = np.array([[float(table.get(tuple(int(e) for e in key), 0)) for key in self.keys[piece]]])
        over = [combined(row, part, 2 * UNIT) for part in (parts.value, parts.gradient, parts.hessian)]
        out: Jet = node.over({"eta": Jet(*(part[:, 0] for part in over))})
        return out

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


class SampledFrame(Frame):
    """The same for functions that are no polynomials: R from their values at settings spread over the region."""

    def __init__(self, curve: Any, sample: list[Floats], plain: bool = False):
        """sample: for every piece settings (n, q) at which f is finite."""
        self.curve: Any = curve
        self.region, self.d = curve.region, curve.d
        self.low = np.array(self.region.lower, dtype=float)
        self.high = np.array(self.region.upper, dtype=float)
        pieces = range(len(self.region.pieces))
        self.R = np.eye(self.d)
        F = np.vstack([curve.rows(piece, sample[piece]) for piece in pieces])
        if not plain:
            self.orthonormalise(F)
        self.H = [self.R for _ in pieces]
        self.keys = [np.zeros((self.d, self.region.q), dtype=np.int64) for _ in pieces]
        self.sizes = np.abs(F).max(axis=0)

    def orthonormalise(self, F: Floats) -> None:
        """R that makes the columns of rows f (n, d) nearly orthonormal."""
        step = _orthonormaliser(F.T / np.sqrt(len(F)), 0.0)
        self.R = self.R if step is None else np.tril(step)

    def piece_rows(self, piece: int, x: Floats, weighted: bool = True) -> Floats:
        """h at the settings x (n, q) of one piece."""
        return np.asarray(self.curve.rows(piece, x) @ self.R.T)

    def rows_error(self, piece: int) -> Floats:
        """By how much an entry of a row may be off, for functions computed to a thousand units."""
        return np.asarray(1000 * UNIT * (np.abs(self.R) @ self.sizes))

    def jets(self, piece: int, u: Interval) -> Jet:
        """f over boxes of u."""
        values: dict[str, Any] = dict(self.curve.constants(piece))
        n, q = u.lo.shape
        for k, name in enumerate(self.region.names):
            a, b = exactly(self.region.centre[k]), exactly(self.region.half[k])
            jet: Jet = Jet.coordinate(u, k) * b + a
            # No setting leaves the box, whatever rounding says: the root of zero is defined, the root of -1e-17 is not.
            box = Interval(
                np.maximum(jet.value.lo, outward(self.region.lower[k], -1)),
                np.minimum(jet.value.hi, outward(self.region.upper[k], 1)),
            )
            values[name] = Jet(box, jet.gradient, jet.hessian)
        for name, p in self.region.eliminated:
            values[name] = _polynomial_jet(p, values)
        out = []
        for tree in self.curve.trees:
            found = tree.over(values)
            if not isinstance(found, Jet):
                wide = Interval(np.broadcast_to(found.lo, (n,)), np.broadcast_to(found.hi, (n,)))
                found = Jet(wide, Interval.of(np.zeros((n, q))), Interval.of(np.zeros((n, q, q))))
            out.append(found)
        return _stacked(out)


def outward(value: Fraction, sign: int) -> float:
    """The double itself, or the next one below (sign -1) or above."""
    near = float(value)
    return near if Fraction(near) == value else float(np.nextafter(near, sign * np.inf))


def exactly(value: Fraction) -> Interval:
    """A rational number as an interval."""
    nearest = float(value)
    return Interval.of(nearest) if Fraction(nearest) == value else Interval.outward(nearest, nearest)


def _polynomial_jet(p: Polynomial, values: dict[str, Any]) -> Jet:
    total: Jet | None = None
    for key, value in p.terms.items():
        part: Any = exactly(value)
        for name, power in zip(p.names, key):
            if power:
                part = values[name].power(power) * part
        if isinstance(part, Jet):
            total = part if total is None else total + part
    assert total is not None
    return total + exactly(p.constant_term())


def _chebyshev_jets(x: Jet, most: int) -> list[Jet]:
    """T_0 .. T_most of a coordinate, T_k = 2 x T_(k-1) - T_(k-2); on the box each lies between -1 and 1."""
    out = [x.power(0), x]
    for _ in range(2, most + 1):
        new = x * out[-1] * 2.0 - out[-2]
        value = Interval(np.maximum(new.value.lo, -1.0), np.minimum(new.value.hi, 1.0))
        out.append(Jet(value, new.gradient, new.hessian))
    return out


def _stacked(jets: list[Jet]) -> Jet:
    """Jets (n,) side by side, (n, M)."""

    def side_by_side(parts: list[Interval]) -> Interval:
        return Interval(np.stack([p.lo for p in parts], axis=1), np.stack([p.hi for p in parts], axis=1))

    return Jet(
        side_by_side([j.value for j in jets]),
        side_by_side([j.gradient for j in jets]),
        side_by_side([j.hessian for j in jets]),
    )


def _product(a: Jet, b: Jet) -> Jet:
    """Products of jets (n, M)."""
    n, M = a.value.lo.shape
    q = a.gradient.lo.shape[2]

    def flat(x: Jet) -> Jet:
        parts = (x.value, x.gradient, x.hessian)
        return Jet(
            *(Interval(p.lo.reshape(n * M, *p.lo.shape[2:]), p.hi.reshape(n * M, *p.hi.shape[2:])) for p in parts)
        )

    out = flat(a) * flat(b)
    shapes = ((n, M), (n, M, q), (n, M, q, q))
    parts = (out.value, out.gradient, out.hessian)
    return Jet(*(Interval(p.lo.reshape(s), p.hi.reshape(s)) for p, s in zip(parts, shapes)))


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


def _orthonormaliser(H: Floats, good: float = GOOD) -> Floats | None:
    """A lower triangular S with SH nearly orthonormal rows; None where H is good enough as it is."""
    size = np.linalg.norm(H, axis=1)
    if not (size > 0).all():
        return None
    level = np.linalg.svd(H, compute_uv=False)
    if level[0] <= good * level[-1]:
        return None
    triangle = np.linalg.qr((H / size[:, None]).T, mode="r")
    diagonal = np.abs(np.diag(triangle))
    if not (diagonal > 1e-15 * diagonal.max()).all():
        return None
    return np.asarray(np.linalg.inv(triangle).T / size)
