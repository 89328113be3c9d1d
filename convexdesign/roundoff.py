"""What rounding may have done to a criterion and to its bound: proven limits, from the numbers computed themselves.

With u = 2^-53 an inner product of p terms is computed to within g |x|'|y|, g = (p + 8) u, a few units of which are for the
rounding of the rows themselves: an arm over its noise, a row in restated coordinates. Let F be the factor computed, so that
FF' ~ A^-1 on the range of A, Z = Y F for the rows Y = sqrt(w_i) y_i, and E = g |Y| |F|: |Z - exact| <= E. Then

    |F'AF - I| <= delta = |Z'Z + F'A0F - I| + 2 |E| |Z|_2 + |E|^2 + rounding of the sum     (Frobenius norms),

and for every v in the range of A, with z = F'v exactly,

    |z|^2 / (1 + delta) <= v'A^-1v = z'(F'AF)^-1 z <= |z|^2 / (1 - delta),      v = AF (F'AF)^-1 z.

The last equation limits v: |F|'|v| <= |F|'|AF| |(F'AF)^-1 z|, hence |z computed - z| <= g k |z| with k little above the norm
of |F|'|AF|, Skeel's condition number, whatever v. It is small where coordinates are good, and where they are not the problem
has been restated in better ones (`problem.restated`). No pass over arms or targets beyond those of the criterion is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.arms.groups import repeat_per_response
from convexdesign.evaluation import Evaluation
from convexdesign.problem import Canonical, Criterion, DesignProblem
from convexdesign.problem.compensated import in_two_parts
from convexdesign.problem.coordinates import amplification
from convexdesign.problem.held import UNIT, held_form
from convexdesign.typing import Floats

__all__ = ["inner_product", "moments_error", "value_error", "volume_error"]


# Rows of A(w) at a time.
BLOCK = 4096
# Further from the identity than this the factor is no inverse, and nothing is known of the value.
HOPELESS = 0.1
# Up to this an error in terms of norms will do; beyond, entries are looked at one by one.
SMALL = 1e-11
# Of very many targets those are looked at that may be the worst, so many times r(r+1)/2 and a few.
CANDIDATES = 4
SPARE = 50


def inner_product(p: int) -> float:
    """g: the share of |x|'|y| by which an inner product of p terms may be off, the rounding of one factor included."""
    return (p + 8) * UNIT


def value_error(canonical: Canonical, weights: Floats, at: Evaluation) -> float:
    """By which share the value may be off, either way; of a log det, its difference over the dimension. Infinite if unknown."""
    p, k = at.factor.shape
    if not np.isfinite(at.value) or k == 0:
        return 0.0
    inverse = _inverse(canonical, weights, at.factor)
    if not (inverse.delta < HOPELESS and inverse.row < HOPELESS):
        return np.inf
    error = _in_norms(canonical, at, inverse)
    if error > SMALL:
        error = min(error, _by_entries(canonical, at, inverse))
    return float(error + 4 * (k + p) * UNIT)


@dataclass(frozen=True, eq=False)
class _Inverse:
    """How well FF' is known to be A^-1: M = AF; delta and row as above; entries (k, k) above those of |F'AF - I|."""

    M: Floats
    delta: float
    row: float
    entries: Floats


def _inverse(canonical: Canonical, weights: Floats, F: Floats) -> _Inverse:
    problem = canonical.problem
    size, g = np.abs(F), inner_product(F.shape[0])
    G, held_off = held_form(problem, F)
    off = held_off
    M = np.zeros_like(F) if problem.prior is None else problem.prior @ F
    cross, squared = np.zeros_like(G), np.zeros_like(G)
    support = np.flatnonzero(weights)
    for start in range(0, support.size, BLOCK):
        part = support[start : start + BLOCK]
        rows = problem.arms.take(part)
        Y = np.sqrt(repeat_per_response(weights.take(part), rows))[:, None] * rows
        Z = Y @ F
        G = G + Z.T @ Z
        M = M + Y.T @ Z
        E = g * (np.abs(Y) @ size)
        # What a sum of squares rounds is charged to its terms.
        cross += np.abs(Z).T @ (E + len(Y) * UNIT / 2.0 * np.abs(Z))
        squared += E.T @ E
        off += len(Y) * UNIT * float(np.vdot(Z, Z))
    # Blocks are summed up one by one.
    off += (support.size // BLOCK + 2) * UNIT * float(np.trace(G))
    G.ravel()[:: len(G) + 1] -= 1.0
    bulk = float(np.trace(squared))
    delta = float(np.linalg.norm(G)) + off + 2.1 * np.sqrt(bulk) + bulk
    entries = np.abs(G) + cross + cross.T + squared + held_off
    entries += (support.size // BLOCK + 2) * UNIT
    row = g * float(np.linalg.norm(size.T @ np.abs(M))) * (1.0 + 2.0 * delta)
    return _Inverse(M, delta * (1.0 + 2.0 * delta), row, entries)


def _in_norms(canonical: Canonical, at: Evaluation, inverse: _Inverse) -> float:
    problem, F, delta, row = canonical.problem, at.factor, inverse.delta, inverse.row
    match problem.criterion:
        case Criterion.MINIMAX:
            return delta + 2.0 * row + row**2
        case Criterion.AVERAGE:
            return delta + 2.0 * row + row**2 + moments_error(problem, F)
        case Criterion.D:
            # log det K'W'AWK differs from log det F'AF by the rounding of F = WK, on the scale of F^-1 = (AF)'.
            K = np.abs(canonical.inverse @ F)
            rounded = inner_product(K.shape[0]) * np.linalg.norm(np.abs(inverse.M).T @ (np.abs(canonical.basis) @ K))
            return delta + 4.0 * float(rounded) + volume_error(canonical) / canonical.rank
        case Criterion.DS:
            image = F.T @ problem.aim
            image = image / np.linalg.norm(image, axis=0)
            least = float(np.linalg.svd(image, compute_uv=False)[-1])
            # The second is for the triangular factor that the determinant is read from.
            own = 4 * sum(image.shape) * UNIT
            return delta + (4.0 * row + own) * np.sqrt(image.shape[1]) / least if least > 0 else np.inf
        case Criterion.E:
            return delta + 4.0 * row * np.sqrt(F.shape[1])
    raise AssertionError(problem.criterion)


def _by_entries(canonical: Canonical, at: Evaluation, inverse: _Inverse) -> float:
    """The same error entry by entry: where the information is nearly singular, as many optima are, F is large in directions
    that no target has much of, and norms see the one and not the other.

    With N above the entries of |(F'AF)^-1 - I| and e = g |F|'|v|, the variance of v is off by at most
    (|z| + e)'N(|z| + e) + 2|z|'e + e'e.
    """
    problem, F = canonical.problem, at.factor
    k = F.shape[1]
    spectral = float(np.linalg.norm(inverse.entries))
    if not spectral < 0.5:
        return np.inf
    N = inverse.entries @ np.linalg.inv(np.eye(k) - inverse.entries)

    def errors(rows: Floats) -> Floats:
        z = np.abs(rows @ F)
        e = inner_product(F.shape[0]) * (np.abs(rows) @ np.abs(F))
        return np.asarray(np.einsum("ij,ij->i", z + e, (z + e) @ N) + np.einsum("ij,ij->i", e, 2.0 * z + e))

    match problem.criterion:
        case Criterion.MINIMAX:
            number = CANDIDATES * (k * (k + 1) // 2) + SPARE
            index, values = problem.targets.worst(F, number)
            off = errors(problem.targets.take(index))
            most = float((values + off).max() / values[0]) - 1.0
            if index.size < problem.targets.m:
                most = max(most, float(values[-1] / values[0]) * (1.0 + _in_norms(canonical, at, inverse)) - 1.0)
            return max(most, float(off[0] / values[0]))
        case Criterion.AVERAGE:
            L = problem.aim.T
            return float(errors(L).sum()) / at.value + moments_error(problem, F)
        case Criterion.DS:
            image = F.T @ problem.aim
            scale = np.linalg.norm(image, axis=0)
            if not scale.min() > 0:
                return np.inf
            Q, T = np.linalg.qr(image / scale)
            off = inner_product(F.shape[0]) * (np.abs(F).T @ np.abs(problem.aim)) / scale + 4 * sum(image.shape) * UNIT
            pulled = np.abs(np.linalg.inv(T)) @ np.abs(Q).T
            change = float(np.vdot(np.abs(Q), N @ np.abs(Q))) + 2.0 * float(np.vdot(pulled.T, off))
            # First order; the next is smaller by the change itself.
            return 2.0 * change / image.shape[1] if change < HOPELESS else np.inf
    return np.inf


def volume_error(canonical: Canonical) -> float:
    """By how much log det RR' of the coordinates may be off: little where they are triangular, their rounding else."""
    r = canonical.rank
    error = 256 * r * UNIT
    pairs = [(canonical.basis, canonical.inverse)]
    if canonical.frame is not None:
        pairs.append((canonical.frame.basis, canonical.frame.inverse))
    for W, R in pairs:
        if R.shape[0] < R.shape[1]:
            error += 2.0 * np.sqrt(r) * inner_product(R.shape[1]) * amplification(W, R)
    return float(error)


def moments_error(problem: DesignProblem, factor: Floats) -> float:
    """The share of |F'L|^2 that the rounding of L, M = LL', may amount to: for roots that had to be computed."""
    whole = float(np.linalg.norm(factor.T @ problem.aim))
    if problem.kind == "i-optimal":
        size = np.linalg.norm(problem.aim, axis=1)
        return 32 * inner_product(len(size)) * float(np.linalg.norm(np.abs(factor).T @ size)) / whole
    if problem.moments is not None:
        # M - LL' with twice the digits, and the rounding of M: |tr F'EF| <= sum_ij |E_ij| (|F||F|')_ij.
        high, low = in_two_parts(problem.aim, np.ascontiguousarray(problem.aim.T))
        E = np.abs((problem.moments - high) - low) + 2 * UNIT * np.abs(problem.moments)
        seen = np.abs(factor) @ np.abs(factor).T
        return float(np.vdot(E, seen)) / whole**2
    return 0.0
