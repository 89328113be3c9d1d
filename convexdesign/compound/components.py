"""Problems as information functions Phi of A: det^(1/d), or one over a trace of the inverse; many of a kind at once.

For a concave, monotone function Phi, homogeneous of degree one, with gradient G at A, Phi(B) <= <G, B> with equality at A. So
for all designs w', with a_j >= 0 of sum one, A_j = A0_j + sum_i w_i M_j(x_i), and g_j = G_j / Phi_j(A_j) the gradient of
log Phi_j,

    sum_j a_j log(Phi_j(A_j') / Phi_j(A_j)) <= log( sum_j a_j <g_j, A0_j> + max_x sum_j a_j <g_j, M_j(x)> ),

by concavity of the logarithm and since w' is a mixture. Here log det^(1/d) has g = A^-1 / d, -log tr(A^-1 M) has
g = A^-1 M A^-1 / tr(A^-1 M), and -log det^(1/s) of S = K'A^-1 K, K of s columns, has
g = A^-1 K S^-1 K'A^-1 / s. The same bounds min_j of the logarithms of efficiencies, for any multipliers a.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.typing import Floats, Indices

__all__ = ["UNIT", "Component", "ComponentGroup", "GroupState", "evaluated", "grouped"]

UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Component:
    """One information function: L (d, k) with M = LL' for -log tr(A^-1 M), or None for log det^(1/d); A0; log of the best.

    is_determinant: L is K, of log det(K'A^-1 K)^(-1/s).
    """

    d: int
    L: Floats | None
    held: Floats | None
    best: float = 0.0
    is_determinant: bool = False


@dataclass(frozen=True, eq=False)
class ComponentGroup:
    """Components of one shape: their numbers (K,), L (K, d, k) or None, A0 (K, d, d), best (K,)."""

    numbers: Indices
    d: int
    L: Floats | None
    held: Floats
    best: Floats
    is_determinant: bool = False


def grouped(components: list[Component]) -> list[ComponentGroup]:
    """Components of the same shape together."""
    shapes: dict[tuple[int, int, bool], list[int]] = {}
    for k, c in enumerate(components):
        shapes.setdefault((c.d, 0 if c.L is None else c.L.shape[1], c.is_determinant), []).append(k)
    out = []
    for (d, columns, is_determinant), numbers in shapes.items():
        own = [components[k] for k in numbers]
        L = np.stack([c.L for c in own if c.L is not None]) if columns else None
        held = np.stack([np.zeros((d, d)) if c.held is None else c.held for c in own])
        out.append(ComponentGroup(np.array(numbers), d, L, held, np.array([c.best for c in own]), is_determinant))
    return out


@dataclass(frozen=True, eq=False)
class GroupState:
    """A group at weights: log Phi - best (K,), columns V (K, d, c) with <g, yy'> = |V'y|^2, A^-1, <g, A0>, rounding (K,)."""

    values: Floats
    columns: Floats
    inverse: Floats
    held: Floats
    error: Floats

    def slopes(self, Y: Floats) -> Floats:
        """The derivatives of log Phi by the weights of rows Y (K, n, d): (K, n)."""
        return np.asarray(np.sum((Y @ self.columns) ** 2, axis=2))


def evaluated(group: ComponentGroup, Y: Floats, w: Floats) -> GroupState | None:
    """The group where row i of Y (K, n, d) has weight w_i; None where something wanted is not measured."""
    A = np.swapaxes(Y, 1, 2) @ (w[:, None] * Y) + group.held
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
    inverse = np.swapaxes(half, 1, 2) @ half
    condition = (np.linalg.norm(plain, axis=(1, 2)) * np.linalg.norm(root, axis=(1, 2))) ** 2
    if group.L is None:
        values = 2.0 * (np.log(level).sum(axis=1) - np.log(scale).sum(axis=1)) / group.d
        columns = np.swapaxes(half, 1, 2) / np.sqrt(group.d)
    elif group.is_determinant:
        s, image = group.L.shape[2], inverse @ group.L
        below = np.swapaxes(group.L, 1, 2) @ image
        try:
            inner = np.linalg.cholesky(below)
        except np.linalg.LinAlgError:
            return None
        values = -2.0 * np.log(np.einsum("kii->ki", inner)).sum(axis=1) / s
        columns = np.swapaxes(np.linalg.solve(inner, np.swapaxes(image, 1, 2)), 1, 2) / np.sqrt(s)
    else:
        image = inverse @ group.L
        trace = np.sum(group.L * image, axis=(1, 2))
        values, columns = -np.log(trace), image / np.sqrt(trace)[:, None, None]
    held = np.sum(columns * (group.held @ columns), axis=(1, 2))
    return GroupState(values - group.best, columns, inverse, held, 8 * group.d * UNIT * condition)


def curvature(group: ComponentGroup, state: GroupState, Y: Floats, share: Floats) -> Floats:
    """sum_k share_k times the second derivatives of log Phi_k by the weights, (n, n).

    With z = A^-1/2 y and V'y the derivatives are products such as (z_i'z_j)^2 and z_i'z_j (V'y_i)'(V'y_j), which are inner
    products of the entries of z_i z_i' and of z_i (V'y_i)': all of them are one product of matrices.
    """
    z = Y @ np.linalg.cholesky(state.inverse)
    if group.L is None:
        return -gram(squares(z), share / group.d)
    image = Y @ state.columns
    mixed = (z[:, :, :, None] * image[:, :, None, :]).reshape(*z.shape[:2], -1)
    if group.is_determinant:
        return gram(squares(image), share * image.shape[2]) - 2.0 * gram(mixed, share)
    own = np.sum(image**2, axis=2, keepdims=True)
    return gram(own, share) - 2.0 * gram(mixed, share)


def squares(z: Floats) -> Floats:
    """The entries of zz' for the rows z of (K, n, d), each pair once, with the inner products of the matrices."""
    j, i = np.tril_indices(z.shape[2])
    return np.asarray(z[:, :, i] * z[:, :, j] * np.where(i == j, 1.0, np.sqrt(2.0)))


def gram(parts: Floats, share: Floats) -> Floats:
    """sum_k share_k P_k P_k' for P (K, n, m) and share_k >= 0."""
    flat = np.swapaxes(parts * np.sqrt(share)[:, None, None], 0, 1).reshape(parts.shape[1], -1)
    return np.asarray(flat @ flat.T)
