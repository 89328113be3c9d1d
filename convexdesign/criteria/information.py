"""Criteria as information functions Phi of A, whose logarithms are added up or compared: what `compound` asks of a criterion.

Phi is concave, homogeneous of degree one and monotone: det^(1/d), one over a variance, or the least eigenvalue. A state has,
beside the values at A, columns V and a level with

    Phi(B) <= exp(level) <VV', B>    for every B >= 0,

which is all that a bound needs (`compound.components`). Of a smooth Phi, VV' is the gradient of log Phi and level log Phi.

Where Phi is the least of several functions it has corners. Solvers climb, for some nu > 0, with f_v the logarithms of the
functions, or lam_1 <= lam_2 <= ... the eigenvalues,

    max over s of  s + nu sum_v log(f_v - s),    max over s of  s + nu log det(exp(-s) A - I),

concave, smooth, and log Phi itself in the limit nu -> 0. Both have gradients VV' with <VV', A> = 1: means of those of f_v with
shares omega_v = nu / (f_v - s), or eigenvectors u_a with shares nu lam_a / (lam_a - exp(s)) for u_a u_a' / lam_a. Where
several decide the shares are what makes the bound tight, and only weights and shares found together do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from convexdesign.problem.prior_information import UNIT
from convexdesign.typing import Floats

__all__ = [
    "Averaged",
    "Determinant",
    "Eigenvalue",
    "InformationForm",
    "InformationState",
    "Interest",
    "Inverses",
    "Worst",
    "gram",
    "slack",
    "squares",
]

# Steps of Newton's method towards a slack, which climbs to it from below.
STEPS = 60


@dataclass(frozen=True, eq=False)
class Inverses:
    """Matrices A (K, d, d) taken apart: R with R'R = A^-1, A^-1, log det A (K,), and by which share log det may be off (K,)."""

    A: Floats
    half: Floats
    inverse: Floats
    log_det: Floats
    error: Floats

    @classmethod
    def of(cls, A: Floats) -> Inverses | None:
        """None where one of them is not positive definite."""
        diagonal = np.einsum("kii->ki", A)
        if not (diagonal > 0).all():
            return None
        scale = 1.0 / np.sqrt(diagonal)
        try:
            root = np.linalg.cholesky(A * scale[:, :, None] * scale[:, None, :])
        except np.linalg.LinAlgError:
            return None
        level = np.einsum("kii->ki", root)
        if not (level.min(axis=1) > 1e-7 * level.max(axis=1)).all():
            return None
        plain = np.linalg.inv(root)
        half = plain * scale[:, None, :]
        log_det = 2.0 * (np.log(level).sum(axis=1) - np.log(scale).sum(axis=1))
        condition = (np.linalg.norm(plain, axis=(1, 2)) * np.linalg.norm(root, axis=(1, 2))) ** 2
        return cls(A, half, np.swapaxes(half, 1, 2) @ half, log_det, 8 * A.shape[1] * UNIT * condition)


@dataclass(frozen=True, eq=False)
class InformationState:
    """K functions of one form at K matrices.

    values (K,): what solvers climb; exact (K,): log Phi; levels (K,) and columns V (K, d, c): the bound; error (K,): by how
    much exact and levels may be off; corners: what the second derivatives of those with corners need.
    """

    values: Floats
    exact: Floats
    levels: Floats
    columns: Floats
    error: Floats
    corners: tuple[Floats, ...] = ()


class InformationForm(ABC):
    """Functions Phi of one form, each with vectors L (d, k) of its own; stateless."""

    # Whether it is the least of several functions; whether these are of targets, which may be generated.
    has_corners: ClassVar[bool] = False
    by_target: ClassVar[bool] = False
    is_determinant: ClassVar[bool] = False

    @abstractmethod
    def logarithm(self, value: float, L: Floats) -> float:
        """log Phi from the criterion's value."""

    @abstractmethod
    def at(self, parts: Inverses, L: Floats, nu: Floats) -> InformationState:
        """At matrices, for L (K, d, k) and the smoothing nu (K,)."""

    @abstractmethod
    def curvature(self, state: InformationState, Y: Floats, z: Floats, share: Floats, nu: Floats) -> Floats:
        """sum_k share_k times the second derivatives of values_k by the weights of rows Y (K, n, d), (n, n).

        z: A^-1/2 y. The derivatives are inner products of z_i z_i', z_i (V'y_i)' and the like: products of matrices.
        """

    def moved(self, state: InformationState, Y: Floats, step: Floats, nu: Floats) -> tuple[Floats, Floats] | None:
        """Levels and columns, to first order, after a step of the weights (n,); None where they are as good as they are.

        Shares of corners change by a whole for changes of A of the order of nu: more finely than doubles tell weights apart.
        """
        return None


class Determinant(InformationForm):
    """det(A)^(1/d)."""

    is_determinant = True

    def logarithm(self, value: float, L: Floats) -> float:
        return float(value) / len(L)

    def at(self, parts: Inverses, L: Floats, nu: Floats) -> InformationState:
        d = L.shape[1]
        values = parts.log_det / d
        return InformationState(values, values, values, np.swapaxes(parts.half, 1, 2) / np.sqrt(d), parts.error)

    def curvature(self, state: InformationState, Y: Floats, z: Floats, share: Floats, nu: Floats) -> Floats:
        return -gram(squares(z), share / z.shape[2])


class Interest(InformationForm):
    """det(K'A^-1K)^(-1/s), the columns of L are those of K."""

    is_determinant = True

    def logarithm(self, value: float, L: Floats) -> float:
        return float(value) / L.shape[1]

    def at(self, parts: Inverses, L: Floats, nu: Floats) -> InformationState:
        s, image = L.shape[2], parts.inverse @ L
        inner = np.linalg.cholesky(np.swapaxes(L, 1, 2) @ image)
        values = -2.0 * np.log(np.einsum("kii->ki", inner)).sum(axis=1) / s
        columns = np.swapaxes(np.linalg.solve(inner, np.swapaxes(image, 1, 2)), 1, 2) / np.sqrt(s)
        return InformationState(values, values, values, columns, parts.error)

    def curvature(self, state: InformationState, Y: Floats, z: Floats, share: Floats, nu: Floats) -> Floats:
        image = Y @ state.columns
        return gram(squares(image), share * image.shape[2]) - 2.0 * gram(products(z, image), share)


class Averaged(InformationForm):
    """1 / tr(A^-1 LL')."""

    def logarithm(self, value: float, L: Floats) -> float:
        return -float(np.log(value))

    def at(self, parts: Inverses, L: Floats, nu: Floats) -> InformationState:
        image = parts.inverse @ L
        trace = np.sum(L * image, axis=(1, 2))
        values = -np.log(trace)
        return InformationState(values, values, values, image / np.sqrt(trace)[:, None, None], parts.error)

    def curvature(self, state: InformationState, Y: Floats, z: Floats, share: Floats, nu: Floats) -> Floats:
        image = Y @ state.columns
        own = np.sum(image**2, axis=2, keepdims=True)
        return gram(own, share) - 2.0 * gram(products(z, image), share)


class Worst(InformationForm):
    """min_v 1 / v'A^-1v over the columns v of L."""

    has_corners = by_target = True

    def logarithm(self, value: float, L: Floats) -> float:
        return -float(np.log(value))

    def at(self, parts: Inverses, L: Floats, nu: Floats) -> InformationState:
        image = parts.inverse @ L
        variance = np.sum(L * image, axis=1)
        f = -np.log(variance)
        least = f.min(axis=1)
        room = f - least[:, None]
        gap = slack(room, nu)
        above = room + gap[:, None]
        values = least - gap + nu * np.log(above).sum(axis=1)
        omega = nu[:, None] / above
        omega /= omega.sum(axis=1, keepdims=True)
        each = image / np.sqrt(variance)[:, None, :]
        columns = each * np.sqrt(omega)[:, None, :]
        return InformationState(values, least, np.sum(omega * f, axis=1), columns, parts.error, (each, omega))

    def curvature(self, state: InformationState, Y: Floats, z: Floats, share: Floats, nu: Floats) -> Floats:
        each, omega = state.corners
        J = (Y @ each) ** 2
        K = J * omega[:, None, :]
        along = np.sum(K * omega[:, None, :], axis=2, keepdims=True) / np.sum(omega**2, axis=1)[:, None, None]
        apart = K - along * omega[:, None, :]
        image = Y @ compressed(state.columns)
        smooth = gram(J * np.sqrt(omega)[:, None, :], share) - 2.0 * gram(products(z, image), share)
        return smooth - gram(apart, share / nu)

    def moved(self, state: InformationState, Y: Floats, step: Floats, nu: Floats) -> tuple[Floats, Floats] | None:
        each, omega = state.corners
        change = np.einsum("n,knm->km", step, (Y @ each) ** 2)
        s = np.sum(omega**2 * change, axis=1) / np.sum(omega**2, axis=1)
        new = np.maximum(omega * (1.0 - omega * (change - s[:, None]) / nu[:, None]), 0.0)
        new /= new.sum(axis=1, keepdims=True)
        f = state.exact[:, None] + (nu[:, None] / omega - (nu[:, None] / omega).min(axis=1, keepdims=True))
        return np.sum(new * f, axis=1), each * np.sqrt(new)[:, None, :]


class Eigenvalue(InformationForm):
    """The least eigenvalue of A; L is the identity."""

    has_corners = True

    def logarithm(self, value: float, L: Floats) -> float:
        return float(np.log(value))

    def at(self, parts: Inverses, L: Floats, nu: Floats) -> InformationState:
        # The largest singular values of R are right to their last digits, however different the units of the coordinates are.
        _, lengths, axes = np.linalg.svd(parts.half)
        size, U = lengths**-2, np.swapaxes(axes, 1, 2)
        error = parts.error + 8 * size.shape[1] * UNIT
        room = size / size[:, :1] - 1.0
        gap = slack(room, nu, 1.0 + room)
        below = 1.0 - gap  # exp(s) in units of the least
        above = room + gap[:, None]
        s = np.log(size[:, 0]) + np.log1p(-gap)
        values = s + nu * np.log(above / below[:, None]).sum(axis=1)
        omega = nu[:, None] * (1.0 + room) / above
        omega /= omega.sum(axis=1, keepdims=True)
        columns = U * np.sqrt(omega / size)[:, None, :]
        # Exact for the columns as they are: lam_min(B) tr VV' <= <VV', B>.
        levels = -np.log(np.sum(columns**2, axis=(1, 2)))
        delta = above * size[:, :1]
        return InformationState(values, np.log(size[:, 0]), levels, columns, error, (U, delta, below * size[:, 0]))

    def curvature(self, state: InformationState, Y: Floats, z: Floats, share: Floats, nu: Floats) -> Floats:
        U, delta, x = state.corners
        own = (Y @ U) / np.sqrt(delta)[:, None, :]
        j, i = np.tril_indices(U.shape[1], -1)
        across = own[:, :, i] * own[:, :, j] * np.sqrt(2.0)
        D, e = own**2, (1.0 / delta)[:, None, :]
        norm = np.sum(e**2, axis=2, keepdims=True)
        along = np.sum(D * e, axis=2, keepdims=True) / norm
        total = np.sum(e, axis=2, keepdims=True) / x[:, None, None]
        straight = along * np.sqrt(norm * total / (norm + total))
        return -gram(np.concatenate([across, D - along * e, straight], axis=2), share * nu)

    def moved(self, state: InformationState, Y: Floats, step: Floats, nu: Floats) -> tuple[Floats, Floats] | None:
        U, delta, x = state.corners
        image = Y @ U
        change = np.swapaxes(image, 1, 2) @ (step[:, None] * image)
        size = delta + x[:, None]
        s = np.einsum("kaa,ka->k", change, delta**-2) / np.sum(size / delta**2, axis=1)
        root = 1.0 / np.sqrt(delta)
        relative = (change - (x * s)[:, None, None] * np.eye(len(size[0]))) * root[:, :, None] * root[:, None, :]
        level, V = np.linalg.eigh(np.eye(len(size[0])) - relative)
        if not (level[:, 0] > 0).all():
            return None
        columns = U @ (root[:, :, None] * V * np.sqrt(level * nu[:, None])[:, None, :])
        return -np.log(np.sum(columns**2, axis=(1, 2))), columns


def slack(room: Floats, nu: Floats, weight: Floats | None = None) -> Floats:
    """delta (K,) with nu_k sum_v weight_kv / (room_kv + delta_k) = 1, for room (K, m) >= 0 with a zero in every row.

    The sum falls and is convex in delta: Newton's method from nu, where the term without room alone is one, climbs to it.
    """
    top = np.ones_like(room) if weight is None else weight
    delta = nu.copy()
    for _ in range(STEPS):
        share = top / (room + delta[:, None])
        value = nu * share.sum(axis=1)
        # In the inverse of the sum, which is nearly linear, it takes few steps.
        step = (1.0 - 1.0 / value) * value**2 / (nu * np.sum(share / (room + delta[:, None]), axis=1))
        delta = delta + np.maximum(step, 0.0)
        if (step <= 4 * UNIT * delta).all():
            break
    return delta


def compressed(columns: Floats) -> Floats:
    """Columns W (K, d, at most d) with WW' = VV'."""
    if columns.shape[2] <= columns.shape[1]:
        return columns
    return np.asarray(np.swapaxes(np.linalg.qr(np.swapaxes(columns, 1, 2), mode="r"), 1, 2))


def products(z: Floats, image: Floats) -> Floats:
    """The entries of z_i image_i' side by side, (K, n, d c)."""
    return np.asarray((z[:, :, :, None] * image[:, :, None, :]).reshape(*z.shape[:2], -1))


def squares(z: Floats) -> Floats:
    """The entries of zz' for the rows z of (K, n, d), each pair once, with the inner products of the matrices."""
    j, i = np.tril_indices(z.shape[2])
    return np.asarray(z[:, :, i] * z[:, :, j] * np.where(i == j, 1.0, np.sqrt(2.0)))


def gram(parts: Floats, share: Floats) -> Floats:
    """sum_k share_k P_k P_k' for P (K, n, m) and share_k >= 0."""
    flat = np.swapaxes(parts * np.sqrt(share)[:, None, None], 0, 1).reshape(parts.shape[1], -1)
    return np.asarray(flat @ flat.T)
