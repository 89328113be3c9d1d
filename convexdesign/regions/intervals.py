"""Interval arithmetic on arrays, rounded outwards, and jets: a function, its gradient and its Hessian over boxes.

An Interval encloses every result of an operation on numbers it encloses: each end is moved by one unit in the last place after
the four operations and square roots, and by ULPS units after elementary functions, whose implementations are accurate to a
few. What is undefined is all real numbers. A Jet over a box of q coordinates has the value (n,), the gradient (n, q) and the
Hessian (n, q, q), each an Interval that encloses them at every point of the box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.typing import Floats

__all__ = ["UNARY", "Interval", "Jet", "combined"]

UNIT = 2.0**-53
# Elementary functions are taken to be right to so many units.
ULPS = 8.0
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Interval:
    """All numbers between lo and hi, entry by entry."""

    lo: Floats
    hi: Floats

    @classmethod
    def outward(cls, lo: Any, hi: Any, units: float = 1.0) -> Interval:
        """From ends that are right to so many units; what is no number is unbounded."""
        lo, hi = np.asarray(lo, dtype=float), np.asarray(hi, dtype=float)
        lo = lo - (2.0 * units * UNIT * np.abs(lo) + TINY)
        hi = hi + (2.0 * units * UNIT * np.abs(hi) + TINY)
        return cls(np.where(np.isnan(lo), -np.inf, lo), np.where(np.isnan(hi), np.inf, hi))

    @classmethod
    def of(cls, x: Any) -> Interval:
        """A number as it is, or an interval."""
        return x if isinstance(x, Interval) else cls(np.asarray(x, dtype=float), np.asarray(x, dtype=float))

    def __getitem__(self, index: Any) -> Interval:
        return Interval(self.lo[index], self.hi[index])

    def __add__(self, other: Any) -> Interval:
        other = Interval.of(other)
        return Interval.outward(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __sub__(self, other: Any) -> Interval:
        return self + (-Interval.of(other))

    def __mul__(self, other: Any) -> Interval:
        other = Interval.of(other)
        a, b, c, d = self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi
        # Zero times infinity is zero where the zero is exact; anything else undefined is unbounded.
        with np.errstate(invalid="ignore"):
            return Interval.outward(
                np.minimum(np.minimum(a, b), np.minimum(c, d)), np.maximum(np.maximum(a, b), np.maximum(c, d))
            )

    def __truediv__(self, other: Any) -> Interval:
        return self * Interval.of(other).reciprocal()

    def reciprocal(self) -> Interval:
        """1 / x; unbounded where zero is inside."""
        inside = (self.lo <= 0) & (self.hi >= 0)
        low, high = np.where(inside, 1.0, self.lo), np.where(inside, 1.0, self.hi)
        out = Interval.outward(1.0 / high, 1.0 / low)
        return Interval(np.where(inside, -np.inf, out.lo), np.where(inside, np.inf, out.hi))

    def square(self) -> Interval:
        """x^2, never negative."""
        a, b = self.lo**2, self.hi**2
        low = np.where((self.lo <= 0) & (self.hi >= 0), 0.0, np.minimum(a, b))
        out = Interval.outward(low, np.maximum(a, b))
        return Interval(np.maximum(out.lo, 0.0), out.hi)

    def power(self, n: int) -> Interval:
        """x^n for a whole n."""
        if n < 0:
            return self.power(-n).reciprocal()
        if n == 0:
            return Interval.of(np.ones_like(self.lo))
        if n % 2 == 0:
            return self.square() if n == 2 else self.power(n // 2).square()
        low, high = self.lo**n, self.hi**n
        return Interval.outward(low, high, ULPS)

    def monotone(self, f: Callable[[Floats], Floats], sign: int = 1) -> Interval:
        """f of an increasing function, or a falling one."""
        low, high = (self.lo, self.hi) if sign > 0 else (self.hi, self.lo)
        return Interval.outward(f(low), f(high), ULPS)

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that has both."""
        return Interval(np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi))

    @property
    def size(self) -> Floats:
        """The largest absolute value."""
        return np.maximum(np.abs(self.lo), np.abs(self.hi))


Derivatives = tuple[Interval, Interval, Interval]


@dataclass(frozen=True, eq=False)
class Jet:
    """value (n,), gradient (n, q), Hessian (n, q, q), over boxes."""

    value: Interval
    gradient: Interval
    hessian: Interval

    @classmethod
    def coordinate(cls, box: Interval, k: int) -> Jet:
        """The coordinate x_k of boxes (n, q)."""
        n, q = box.lo.shape
        slope = np.zeros((n, q))
        slope[:, k] = 1.0
        return cls(box[:, k], Interval.of(slope), Interval.of(np.zeros((n, q, q))))

    def __add__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.gradient, self.hessian)
        return Jet(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.gradient, -self.hessian)

    def __sub__(self, other: Any) -> Jet:
        return self + (-other)

    def __mul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.value * other, self.gradient * other, self.hessian * other)
        a, b = self, other
        gradient = a.gradient * b.value[:, None] + b.gradient * a.value[:, None]
        cross = a.gradient[:, :, None] * b.gradient[:, None, :]
        mirrored = Interval(np.swapaxes(cross.lo, 1, 2), np.swapaxes(cross.hi, 1, 2))
        hessian = a.hessian * b.value[:, None, None] + b.hessian * a.value[:, None, None] + cross + mirrored
        return Jet(a.value * b.value, gradient, hessian)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return self * Interval.of(other).reciprocal()
        return self * other.power(-1)

    def chained(self, derivatives: Derivatives) -> Jet:
        """phi(self) from phi, phi' and phi'' over the value."""
        value, first, second = derivatives
        square = self.gradient[:, :, None] * self.gradient[:, None, :]
        index = np.arange(self.gradient.lo.shape[1])
        own = self.gradient.square()
        square.lo[:, index, index], square.hi[:, index, index] = own.lo, own.hi
        hessian = square * second[:, None, None] + self.hessian * first[:, None, None]
        return Jet(value, self.gradient * first[:, None], hessian)

    def power(self, n: int) -> Jet:
        """self^n for a whole n."""
        x = self.value
        if n == 0:
            return self * 0.0 + 1.0
        if n == 1:
            return self
        return self.chained((x.power(n), x.power(n - 1) * float(n), x.power(n - 2) * float(n * (n - 1))))


def combined(M: Floats, parts: Interval, relative: float = 0.0) -> Interval:
    """M a for intervals a (n, m, ...): middles and radii, with all rounding; entries of M right to a share."""
    with np.errstate(invalid="ignore"):
        middle = parts.lo / 2.0 + parts.hi / 2.0
        radius = np.maximum(parts.hi - middle, middle - parts.lo) * (1.0 + 4 * UNIT) + TINY
        size = np.abs(middle) + radius
        charge = (M.shape[1] + 4) * UNIT + relative
        out = np.einsum("km,nm...->nk...", M, middle, optimize=True)
        off = np.einsum("km,nm...->nk...", np.abs(M), radius + charge * size, optimize=True) * (1.0 + M.shape[1] * UNIT)
        low, high = out - off, out + off
    return Interval(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def _exp(x: Interval) -> Derivatives:
    with np.errstate(over="ignore"):
        e = x.monotone(np.exp)
    e = Interval(np.maximum(e.lo, 0.0), e.hi)
    return e, e, e


def _expm1(x: Interval) -> Derivatives:
    e = _exp(x)[0]
    with np.errstate(over="ignore"):
        return x.monotone(np.expm1), e, e


def _log(x: Interval) -> Derivatives:
    with np.errstate(all="ignore"):
        value = Interval.outward(np.where(x.lo > 0, np.log(np.maximum(x.lo, TINY)), np.nan), np.log(x.hi), ULPS)
    first = x.reciprocal()
    return value, first, -first.square()


def _sqrt(x: Interval) -> Derivatives:
    low = np.maximum(x.lo, 0.0)
    with np.errstate(all="ignore"):
        value = Interval.outward(np.where(x.lo >= 0, np.sqrt(low), np.nan), np.sqrt(x.hi))
    value = Interval(np.where(np.isfinite(value.lo), np.maximum(value.lo, 0.0), value.lo), value.hi)
    first = value.reciprocal() * 0.5
    return value, first, -(first * x.reciprocal() * 0.5)


def _tanh(x: Interval) -> Derivatives:
    t = x.monotone(np.tanh)
    first = -t.square() + 1.0
    return t, first, t * first * -2.0


def _logistic(x: Interval) -> Derivatives:
    from scipy.special import expit

    s, c = x.monotone(expit), (-x).monotone(expit)
    first = s * c
    return s, first, first * (c - s)


def _normal(x: Interval) -> Derivatives:
    """The distribution function of the standard normal distribution."""
    from scipy.special import ndtr

    density = _density(x)
    return x.monotone(ndtr), density, -(x * density)


def _density(x: Interval) -> Interval:
    e = _exp(x.square() * -0.5)[0]
    return e * Interval.outward(1.0 / np.sqrt(2.0 * np.pi), 1.0 / np.sqrt(2.0 * np.pi), 2.0)


def _density_jet(x: Interval) -> Derivatives:
    e = _density(x)
    return e, -(x * e), (x.square() - 1.0) * e


def _sin(x: Interval) -> Derivatives:
    value = _wave(x, 0.0)
    return value, _wave(x, 0.25), -value


def _cos(x: Interval) -> Derivatives:
    value = _wave(x, 0.25)
    return value, -_wave(x, 0.0), -value


def _wave(x: Interval, shift: float) -> Interval:
    """sin(x + 2 pi shift): its ends, and 1 or -1 where a turn may lie between."""
    a, b = x.lo / (2 * np.pi) + shift, x.hi / (2 * np.pi) + shift
    slack = 1e-12 * (1.0 + np.abs(a) + np.abs(b))
    f: Callable[[Floats], Floats] = np.sin if shift == 0.0 else np.cos
    with np.errstate(invalid="ignore"):
        ends = np.stack([f(x.lo), f(x.hi)])
        top = np.floor(b - 0.25 + slack) >= np.ceil(a - 0.25 - slack)
        bottom = np.floor(b - 0.75 + slack) >= np.ceil(a - 0.75 - slack)
    out = Interval.outward(ends.min(axis=0) - 1e-15, ends.max(axis=0) + 1e-15, ULPS)
    return Interval(
        np.where(bottom | ~np.isfinite(out.lo), -1.0, out.lo), np.where(top | ~np.isfinite(out.hi), 1.0, out.hi)
    )


def _arctan(x: Interval) -> Derivatives:
    first = (x.square() + 1.0).reciprocal()
    return x.monotone(np.arctan), first, x * first.square() * -2.0


UNARY: dict[str, Callable[[Interval], Derivatives]] = {
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "sqrt": _sqrt,
    "tanh": _tanh,
    "atan": _arctan,
    "sin": _sin,
    "cos": _cos,
    "logistic": _logistic,
    "normal": _normal,
    "density": _density_jet,
}
