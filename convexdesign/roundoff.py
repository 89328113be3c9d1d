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

import numpy as np

from convexdesign.arms.groups import repeat_per_response
from convexdesign.arms.monomial import inverse_of, times
from convexdesign.criteria import oracle_of
from convexdesign.criteria.evaluation import Evaluation, Inverse, Rounded, inner_product
from convexdesign.problem import Canonical
from convexdesign.problem.prior_information import UNIT, prior_form
from convexdesign.typing import Floats

__all__ = ["inner_product", "value_error"]


# Rows of A(w) at a time.
BLOCK = 4096
# Further from the identity than this the factor is no inverse, and nothing is known of the value.
HOPELESS = 0.1
# Up to this an error in terms of norms will do; beyond, entries are looked at one by one.
SMALL = 1e-11


def value_error(canonical: Canonical, weights: Floats, at: Evaluation) -> float:
    """By which share the value may be off, either way; of a log det, its difference over the dimension. Infinite if unknown."""
    p, k = at.factor.shape
    if not np.isfinite(at.value) or k == 0:
        return 0.0
    inverse = _inverse(canonical, weights, at.factor)
    if not (inverse.delta < HOPELESS and inverse.row < HOPELESS):
        return np.inf
    error = oracle_of(canonical).error_in_norms(canonical, at, inverse)
    if error > SMALL:
        error = min(error, _by_entries(canonical, at, inverse, error))
    return float(error + 4 * (k + p) * UNIT)


def _inverse(canonical: Canonical, weights: Floats, F: Floats) -> Inverse:
    problem = canonical.problem
    size, g = np.abs(F), inner_product(F.shape[0])
    G, held_off = prior_form(problem, F)
    off = held_off
    M = np.zeros_like(F) if problem.prior is None else problem.prior @ F
    cross, squared = np.zeros_like(G), np.zeros_like(G)
    support = np.flatnonzero(weights != 0)
    # Blocks are summed up one by one.
    sums = support.size // BLOCK + 2
    for start in range(0, support.size, BLOCK):
        part = support[start : start + BLOCK]
        rows = problem.arms.take(part)
        Y = np.sqrt(repeat_per_response(weights.take(part), rows))[:, None] * rows
        Z = times(Y, F)
        G = G + times(Z.T, Z)
        M = M + times(Y.T, Z)
        E, sizes = g * times(np.abs(Y), size), np.abs(Z)
        # What a sum of squares rounds is charged to its terms.
        cross += times(sizes.T, E + (len(Y) + sums) * UNIT / 2.0 * sizes)
        squared += times(E.T, E)
        off += len(Y) * UNIT * float(np.vdot(Z, Z))
    off += sums * UNIT * float(G.trace())
    G.ravel()[:: len(G) + 1] -= 1.0
    bulk = float(squared.trace())
    delta = float(np.linalg.norm(G)) + off + 2.1 * np.sqrt(bulk) + bulk
    entries = np.abs(G) + cross + cross.T + squared + held_off
    if problem.prior is not None:
        entries += sums * UNIT
    row = g * float(np.linalg.norm(times(size.T, np.abs(M)))) * (1.0 + 2.0 * delta)
    return Inverse(M, delta * (1.0 + 2.0 * delta), row, entries)


def _by_entries(canonical: Canonical, at: Evaluation, inverse: Inverse, in_norms: float) -> float:
    """The same error entry by entry: where the information is nearly singular, as many optima are, F is large in directions
    that no target has much of, and norms see the one and not the other.

    With N above the entries of |(F'AF)^-1 - I| and e = g |F|'|v|, the variance of v is off by at most
    (|z| + e)'N(|z| + e) + 2|z|'e + e'e.
    """
    F = at.factor
    k = F.shape[1]
    spectral = float(np.linalg.norm(inverse.entries))
    if not spectral < 0.5:
        return np.inf
    N = times(inverse.entries, inverse_of(np.eye(k) - inverse.entries))

    def errors(rows: Floats) -> Floats:
        z = np.abs(times(rows, F))
        e = inner_product(F.shape[0]) * times(np.abs(rows), np.abs(F))
        return np.asarray(np.einsum("ij,ij->i", z + e, times(z + e, N)) + np.einsum("ij,ij->i", e, 2.0 * z + e))

    return oracle_of(canonical).error_by_entries(canonical, at, Rounded(N, errors), in_norms)
