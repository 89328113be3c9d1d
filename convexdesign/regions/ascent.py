"""Local maxima of a sensitivity over a region with inequalities, all starts at once: a barrier method with exact derivatives.

Maximise log p(u) + mu sum_i log g_i(u), mu -> 0, by Newton steps whose Hessian has its eigenvalues made negative, so that every
step climbs, also where p is not concave; p = |C m(u)|^2 times bottom / top, m products of Chebyshev polynomials. A start ends
at a maximum near it. Nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from convexdesign.regions.polynomial import Exponents
from convexdesign.typing import Floats, Indices

__all__ = ["Barrier", "ChebyshevFunctions"]

# The weights of the barrier, one for each step.
FIRST, LAST, STEPS = 1e-3, 1e-13, 34
HALVINGS = 12
# Starts keep this share of the box from every side, where they can.
INWARD = 1e-3


@dataclass(frozen=True, eq=False)
class ChebyshevFunctions:
    """Functions K m(u): keys (M, q), K (k, M); values (n, k), gradients (n, k, q), Hessians (n, k, q, q)."""

    keys: Indices
    K: Floats

    @classmethod
    def of(cls, polynomials: list[dict[Exponents, float]], q: int) -> ChebyshevFunctions:
        """Of dictionaries of Chebyshev coefficients."""
        keys = sorted({key for p in polynomials for key in p}) or [(0,) * q]
        K = np.array([[float(p.get(key, 0.0)) for key in keys] for p in polynomials]).reshape(
            len(polynomials), len(keys)
        )
        return cls(np.array(keys, dtype=np.int64).reshape(len(keys), q), K)

    def values(self, u: Floats) -> Floats:
        """K m(u)."""
        return np.asarray(self._products(u, (0,) * u.shape[1]) @ self.K.T)

    def derivatives(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Values, gradients and Hessians."""
        n, q = u.shape
        tables = [_with_derivatives(u[:, k], int(self.keys[:, k].max(initial=0))) for k in range(q)]

        def product(orders: list[int]) -> Floats:
            out = np.ones((n, len(self.keys)))
            for k in range(q):
                out *= tables[k][orders[k]][self.keys[:, k]].T
            return np.asarray(out @ self.K.T)

        value = product([0] * q)
        gradient = np.empty((*value.shape, q))
        hessian = np.empty((*value.shape, q, q))
        for k in range(q):
            orders = [0] * q
            orders[k] += 1
            gradient[..., k] = product(orders)
            for j in range(k + 1):
                second = [0] * q
                second[k] += 1
                second[j] += 1
                hessian[..., k, j] = hessian[..., j, k] = product(second)
        return value, gradient, hessian

    def _products(self, u: Floats, orders: tuple[int, ...]) -> Floats:
        from convexdesign.regions.frame import chebyshev_rows

        return chebyshev_rows(self.keys, u)


def _with_derivatives(x: Floats, most: int) -> Floats:
    """T_k and its first two derivatives at x, k = 0 .. most: (3, most + 1, n)."""
    out = np.zeros((3, most + 1, len(x)))
    out[0, 0] = 1.0
    if most:
        out[0, 1], out[1, 1] = x, 1.0
    for k in range(2, most + 1):
        out[0, k] = 2.0 * x * out[0, k - 1] - out[0, k - 2]
        out[1, k] = 2.0 * out[0, k - 1] + 2.0 * x * out[1, k - 1] - out[1, k - 2]
        out[2, k] = 4.0 * out[1, k - 1] + 2.0 * x * out[2, k - 1] - out[2, k - 2]
    return out


@dataclass(frozen=True, eq=False)
class Pointwise:
    """p itself, and its jet at points: (value, gradient, Hessian), its price included."""

    value: Callable[[Floats], Floats]
    jet: Callable[[Floats], tuple[Floats, Floats, Floats]]

    def values(self, u: Floats) -> Floats:
        """p (n, 1)."""
        return self.value(u)[:, None]

    def derivatives(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Values, gradients and Hessians."""
        value, slope, bend = self.jet(u)
        return value[:, None], slope[:, None, :], bend[:, None, :, :]


@dataclass(frozen=True, eq=False)
class Barrier:
    """The region {g >= 0}, all sides of its box among the g, and the price top / bottom."""

    g: ChebyshevFunctions
    price: ChebyshevFunctions | None

    def climb(self, squares: ChebyshevFunctions | Pointwise, u: Floats) -> Floats:
        """A maximum of |squares|^2 / price near each row of u (n, q)."""
        u = self._inside(u)
        u = u[(self.g.values(u) > 0).all(axis=1)]
        for mu in np.geomspace(FIRST, LAST, STEPS) if len(u) else ():
            value, slope, bend = self._derivatives(squares, u, mu)
            size, vectors = np.linalg.eigh(bend)
            size = np.maximum(np.abs(size), 1e-9 * np.abs(size).max(axis=1, keepdims=True) + 1e-12)
            step = np.einsum("nij,nj->ni", vectors, np.einsum("nji,nj->ni", vectors, slope) / size)
            # No further than a share of the box, so that the maximum is the one nearby.
            length = np.abs(step).max(axis=1, keepdims=True)
            step = step * np.minimum(1.0, 0.1 / np.maximum(length, 1e-300))
            share, best = np.ones(len(u)), u
            waiting = np.ones(len(u), dtype=bool)
            for _ in range(HALVINGS):
                trial = u + share[:, None] * step
                better = waiting & (self._value(squares, trial, mu) > value)
                best = np.where(better[:, None], trial, best)
                waiting &= ~better
                share = np.where(waiting, share / 3.0, share)
                if not waiting.any():
                    break
            u = best
        return u

    def _inside(self, u: Floats) -> Floats:
        """Starts moved a little away from every side that they are close to."""
        for _ in range(6):
            g, slope, _ = self.g.derivatives(u)
            short = np.maximum(INWARD - g, 0.0)
            if not short.any():
                break
            length = np.maximum(np.einsum("nkq,nkq->nk", slope, slope), 1e-12)
            u = u + np.einsum("nk,nkq->nq", 1.2 * short / length, slope)
        return u

    def _value(self, squares: ChebyshevFunctions | Pointwise, u: Floats, mu: float) -> Floats:
        g = self.g.values(u)
        with np.errstate(all="ignore"):
            p = squares.values(u)[:, 0] if isinstance(squares, Pointwise) else np.sum(squares.values(u) ** 2, axis=1)
            out = np.log(p) + mu * np.log(g).sum(axis=1)
            if self.price is not None:
                part = self.price.values(u)
                out += np.log(part[:, 1]) - np.log(part[:, 0])
        return np.where((g > 0).all(axis=1) & np.isfinite(out), out, -np.inf)

    def _derivatives(
        self, squares: ChebyshevFunctions | Pointwise, u: Floats, mu: float
    ) -> tuple[Floats, Floats, Floats]:
        z, dz, ddz = squares.derivatives(u)
        if isinstance(squares, Pointwise):
            p = np.maximum(z[:, 0], 1e-300)
            first, second = dz[:, 0] / p[:, None], ddz[:, 0] / p[:, None, None]
        else:
            p = np.maximum(np.sum(z * z, axis=1), 1e-300)
            first = 2.0 * np.einsum("nk,nki->ni", z, dz) / p[:, None]
            second = 2.0 * (np.einsum("nki,nkj->nij", dz, dz) + np.einsum("nk,nkij->nij", z, ddz)) / p[:, None, None]
        value, slope = np.log(p), first
        bend = second - first[:, :, None] * first[:, None, :]
        g, dg, ddg = self.g.derivatives(u)
        weights = np.full(g.shape, mu)
        parts = [(g, dg, ddg, weights)]
        if self.price is not None:
            r, dr, ddr = self.price.derivatives(u)
            parts.append((r, dr, ddr, np.broadcast_to(np.array([-1.0, 1.0]), r.shape)))
        for f, df, ddf, weight in parts:
            ratio = df / f[..., None]
            value = value + np.sum(weight * np.log(np.abs(f)), axis=1)
            slope = slope + np.einsum("nk,nki->ni", weight, ratio)
            bend = bend + np.einsum(
                "nk,nkij->nij", weight, ddf / f[..., None, None] - ratio[..., :, None] * ratio[..., None, :]
            )
        return value, slope, bend
