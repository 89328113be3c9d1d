"""Noise: its variances as given, and arms divided by its standard deviations. That happens here and nowhere else.

y_i = x_i / (s_i sqrt(c_i)) for noise variance s_i^2 and cost c_i; of several responses with covariance S_i = LL' the rows are
those of L^-1 X_i', over sqrt(c_i). One variance per arm is kept beside the rows as a scale, so that what is read with twice
the digits is read before any division.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.arguments import check_finite, numeric
from convexdesign.arms.groups import repeat_per_response
from convexdesign.arms.read import SMALLEST_POSITIVE, LabelledVectors, read_positive
from convexdesign.arms.source import Arms, ArrayArms, ScaledArms
from convexdesign.errors import InputError
from convexdesign.typing import Floats, Indices

__all__ = ["Noise", "read_noise", "variances_of"]


# A covariance scaled to unit variances with an eigenvalue below this measures some combination without noise.
LEAST_EIGENVALUE = 1e-12
SKEW = 1e-10
POSITIVE = "a variance must be positive (an arm without noise would decide everything at once)"
POSITIVE_RESPONSE = "a variance must be positive (a response without noise would decide everything at once)"
REMEDY = "a covariance of noise must be positive definite (no combination of the responses is without noise)"


@dataclass(frozen=True, eq=False)
class Noise:
    """given: the variances as a problem keeps them, (n,), (n, r) or covariances (n, r, r), None where they are one.

    rows: the arms, divided by what differs between the responses of an arm; scale (n,): variances by which all rows of an
    arm have yet to be divided, None for one. Only the methods put the two together.
    """

    given: Floats | None
    rows: Arms
    scale: Floats | None

    def divided(self, costs: Floats | None = None) -> Arms:
        """The arms y_i: over noise and, where measurements have a price (n,), its root."""
        price = self.scale if costs is None else costs if self.scale is None else self.scale * costs
        return self.rows if price is None else ScaledArms(self.rows, 1.0 / np.sqrt(price))

    def pulled(self, counts: Floats, planned: float) -> ScaledArms:
        """Rows y with sum y y' = sum_i counts_i y_i y_i' / planned, of the arms that were pulled."""
        index = np.flatnonzero(counts != 0)
        effort = counts[index] if self.scale is None else counts[index] / self.scale[index]
        rows = self.rows.take(index)
        return ScaledArms(ArrayArms(rows), np.sqrt(repeat_per_response(per_planned(effort, planned), rows)))


def per_planned(held: Floats, planned: float) -> Floats:
    """What is held per measurement planned; InputError where that overflows."""
    with np.errstate(over="ignore"):
        share = held / planned
    if not np.isfinite(share).all():
        raise InputError(f"n_new is {planned:g}; the information held, divided by it, overflows; give a larger n_new")
    return np.asarray(share)


def read_noise(source: Any, rows: LabelledVectors) -> Noise:
    """The noise of arms.

    A scalar or (n,): variance s_i of each response, S_i = s_i I; of several responses also (n, r): variances of independent
    ones; (n, r, r): covariances; (1, r) and (1, r, r): the same for all arms; for arms with different r_i a list of n
    numbers, vectors or matrices. All in squared units of the outcomes. Raises InputError naming arm and value.
    """
    if source is None:
        return Noise(None, rows.source, None)
    if rows.responses == 1:
        variance = read_positive(source, "noise_variance", rows.n, POSITIVE)
        return Noise(variance, rows.source, variance)
    noise = _variances(source, rows)
    if noise.shape == (rows.n,):
        return Noise(noise, rows.source, noise)
    whitened = np.asarray(rows.held, dtype=float).reshape(rows.n, rows.responses, rows.d)
    deviation = np.sqrt(variances_of(noise, rows))
    whitened = whitened / deviation[:, :, None]
    if noise.shape == (rows.n, rows.responses, rows.responses):
        correlation = noise / (deviation[:, :, None] * deviation[:, None, :])
        _check_correlations(noise, correlation)
        lower = np.linalg.cholesky((correlation + correlation.transpose(0, 2, 1)) / 2)
        whitened = np.linalg.solve(lower, whitened)
    return Noise(noise, ArrayArms(whitened.reshape(-1, rows.d), rows.names, rows.responses), None)


def _variances(source: Any, rows: LabelledVectors) -> Floats:
    """Of several responses: variances (n,) or (n, r), or covariances (n, r, r), each variance positive."""
    n, r = rows.n, rows.responses
    values = numeric(_filled_noise(source, rows), "noise_variance")
    check_finite(values, "noise_variance")
    if values.shape in ((1, r), (1, r, r)):
        values = np.broadcast_to(values, (n, *values.shape[1:]))
    if values.shape not in ((), (n,), (n, r), (n, r, r)):
        raise InputError(
            f"noise_variance has shape {values.shape}; for {n} arms with {r} responses give a scalar, a variance per arm "
            f"({n},), per response ({n}, {r}), or a covariance matrix per arm ({n}, {r}, {r}); (1, {r}, {r}) is common to all"
        )
    noise = np.array(values if values.shape else np.broadcast_to(values, (n,)), dtype=float)
    noise.flags.writeable = False
    variances = noise if noise.ndim < 3 else np.diagonal(noise, axis1=1, axis2=2)
    bad = np.argwhere(variances < SMALLEST_POSITIVE)
    if bad.size:
        at = tuple(int(k) for k in bad[0])
        shown = at if noise.ndim < 3 else (*at, at[1])
        place = f"[{', '.join(map(str, shown))}]" if values.shape else ""
        advice = POSITIVE_RESPONSE
        if variances[at] > 0:
            advice = f"rescale above {SMALLEST_POSITIVE:g} (change the unit)"
        raise InputError(f"noise_variance{place} is {variances[at]:g}; {advice}")
    return _among_own(noise, rows.counts) if noise.ndim == 3 and rows.counts is not None else noise


def variances_of(noise: Floats | None, rows: LabelledVectors) -> Floats:
    """The variance of every response, (n, r), from noise as `read_noise` returns it."""
    shape = (rows.n, rows.responses)
    if noise is None:
        return np.ones(shape)
    if noise.ndim == 3:
        return np.diagonal(noise, axis1=1, axis2=2)
    return np.broadcast_to(noise if noise.ndim == 2 else noise[:, None], shape)


def _filled_noise(source: Any, rows: LabelledVectors) -> Any:
    """The noise of arms with different numbers of responses, given one by one, filled up by ones where there is none."""
    if rows.counts is None or not isinstance(source, (list, tuple)) or np.ndim(source[0] if source else 0) == 0:
        return source
    n, r, counts = rows.n, rows.responses, rows.counts
    if len(source) != n:
        raise InputError(f"noise_variance has {len(source)} entries, but there are {n} arms; give one per arm")
    out = np.tile(np.eye(r), (n, 1, 1))
    for i, (part, k) in enumerate(zip(source, counts.tolist())):
        own = numeric(part, f"noise_variance[{i}]")
        if own.shape in ((r,), (r, r)):
            k = r  # filled up already
        if own.shape not in ((k,), (k, k)):
            raise InputError(
                f"noise_variance[{i}] has shape {own.shape}; arm {i} has {k} responses: give ({k},) or ({k}, {k})"
            )
        out[i, :k, :k] = np.diag(own) if own.ndim == 1 else own
    return out


def _among_own(noise: Floats, counts: Indices) -> Floats:
    """The covariances without those of columns that only fill up: what is not observed tells nothing of noise either."""
    own = np.arange(noise.shape[1]) < counts[:, None]
    diagonal = np.eye(noise.shape[1], dtype=bool)
    return np.where((own[:, :, None] & own[:, None, :]) | diagonal, noise, 0.0)


def _check_correlations(noise: Floats, correlation: Floats) -> None:
    """InputError for the first covariance that is not symmetric positive definite."""
    skew = np.abs(correlation - correlation.transpose(0, 2, 1))
    if skew.max() > SKEW:
        i, j, k = (int(x) for x in np.unravel_index(int(np.argmax(skew)), skew.shape))
        raise InputError(
            f"noise_variance[{i}] is not symmetric: [{i}, {j}, {k}] = {noise[i, j, k]:g} but "
            f"[{i}, {k}, {j}] = {noise[i, k, j]:g}; a covariance matrix is symmetric"
        )
    least = np.linalg.eigvalsh(correlation)[:, 0]
    bad = np.flatnonzero(least < LEAST_EIGENVALUE)
    if bad.size:
        i = int(bad[0])
        raise InputError(
            f"noise_variance[{i}] is not positive definite: scaled to unit variances, its least eigenvalue is "
            f"{least[i]:.3g}; {REMEDY}"
        )
