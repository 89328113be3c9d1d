"""Arms with several responses: one measurement of arm i returns r numbers at once, with mean X_i'theta and covariance S_i.

Its information is X_i S_i^-1 X_i' = sum_k y_ik y_ik', where y_ik are the rows of L_i^-1 X_i', S_i = L_i L_i': whitening
turns correlated responses into r independent measurements of variance one, which always come together. So such an arm is
a group of ordinary rows under one weight, and whatever is a sum over rows (information, sensitivities, leverages) is for
an arm the sum over its group. A group is a matrix (r, d), many of them an array (k, r, d) where ordinary arms are (k, d).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from convexdesign.arguments import check_finite, numeric
from convexdesign.arms.read import SMALLEST_POSITIVE, Rows, read_rows
from convexdesign.arms.source import Arms, block_rows, quadratic_rows
from convexdesign.errors import InputError
from convexdesign.typing import Floats, Indices

__all__ = [
    "ResponseArms",
    "ResponseRows",
    "gains",
    "has_responses",
    "read_arms",
    "read_noise",
    "spread",
    "squares",
    "stacked",
    "variances_of",
]

T = TypeVar("T")
S = TypeVar("S", bound=np.generic)

# A covariance scaled to unit variances with an eigenvalue below this measures some combination without noise.
LEAST_EIGENVALUE = 1e-12
SKEW = 1e-10
REMEDY = "a covariance of noise must be positive definite (no combination of the responses is without noise)"


# ------------------------------------------------------------------ groups of rows


def stacked(rows: Floats) -> Floats:
    """The rows of all arms below one another: (k, d) as it is, (k, r, d) as (k r, d)."""
    return rows if rows.ndim == 2 else rows.reshape(-1, rows.shape[2])


def spread(values: NDArray[S], rows: Floats) -> NDArray[S]:
    """The number (k,) of every arm for each row of `stacked(rows)`: a weight counts for all responses."""
    return values if rows.ndim == 2 else np.repeat(values, rows.shape[1])


def squares(images: Floats) -> Floats:
    """The sum of squares of every arm's entries, (k,), from images (k, l) or (k, r, l)."""
    return np.asarray(np.einsum("ij,ij->i", images, images) if images.ndim == 2 else (images**2).sum(axis=(1, 2)))


def gains(rows: Floats, vectors: Floats) -> Floats:
    """(b_j'y_i)^2 for every arm and column b_j of the vectors (d, m), summed over responses: (k, m)."""
    image = rows @ vectors
    return np.asarray(image**2 if image.ndim == 2 else (image**2).sum(axis=1))


class ResponseArms:
    """Whitened groups of rows (n, r, d) as an arms oracle: `take` gives (k, r, d), every number per arm is of its group."""

    def __init__(self, rows: Floats, names: Sequence[str] | None = None):
        self.rows = rows
        self.names = names

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    @property
    def d(self) -> int:
        return int(self.rows.shape[2])

    def take(self, index: Indices) -> Floats:
        return self.rows.take(index, axis=0)

    def map(self, function: Callable[..., T], *along: Floats) -> Iterator[tuple[int, T]]:
        """As `Arms.map`, with groups (k, r, d) for rows."""
        step = max(1, block_rows(self.d) // self.rows.shape[1])
        for start in range(0, self.n, step):
            part = slice(start, start + step)
            yield start, function(self.rows[part], *(vector[part] for vector in along))

    def quadratic(self, factor: Floats) -> Floats:
        """tr(X_i S_i^-1 X_i' FF') for every arm, (n,)."""
        return np.asarray(quadratic_rows(stacked(self.rows), factor).reshape(self.rows.shape[:2]).sum(axis=1))


# ------------------------------------------------------------------ the border


@dataclass(frozen=True, eq=False)
class ResponseRows(Rows):
    """Arms (n, d, r) as given; counts (n,): how many responses each has, the columns beyond being zero."""

    counts: Indices | None = None

    @property
    def responses(self) -> int:
        return int(self.values.shape[2])

    @property
    def how_many(self) -> str:
        """The number of responses in words."""
        return f"{self.responses} responses" if self.counts is None else f"up to {self.responses} responses"

    @property
    def vectors(self) -> Rows:
        """The response vectors x_ik, (sum of the counts, d), arm by arm; each has its arm's name."""
        owner, number = self.places
        names = None if self.names is None else tuple(self.names[i] for i in owner.tolist())
        return Rows(np.ascontiguousarray(self.values[owner, :, number]), names)

    @property
    def places(self) -> tuple[Indices, Indices]:
        """The arm and the number within it of every response vector."""
        counts = np.full(self.n, self.responses) if self.counts is None else self.counts
        owner, number = np.nonzero(np.arange(self.responses) < counts[:, None])
        return owner, number

    @property
    def source(self) -> Arms:
        raise InputError(
            f"arms with {self.responses} responses each are not single vectors; pass one vector per arm here, (n, d)"
        )


def read_arms(source: Any, counts: Sequence[int] | None = None) -> Rows:
    """Arms from whatever `read_rows` takes, or with several responses: an array (n, d, r), or a list of n matrices (d, r_i).

    Where r = 1 they are ordinary arms; of more responses a copy is held in memory. Matrices of different r_i are filled
    up with zero columns; counts (n,) says how many are not, in an array filled up already. Raises InputError naming the
    place, as `read_rows` does.
    """
    if isinstance(source, np.ndarray):
        own = None if counts is None else np.asarray(counts, dtype=np.intp)
        return _read_groups(source, own) if source.ndim == 3 else read_rows(source, "arms")
    if has_responses(source):
        return _read_groups(*_filled_up(source))
    return source if isinstance(source, Rows) else read_rows(source, "arms")


def has_responses(source: Any) -> bool:
    """Whether arms are given as matrices: an array of three dimensions, or a list that begins with a matrix."""
    if isinstance(source, np.ndarray):
        return source.ndim == 3
    if not (isinstance(source, (list, tuple)) and source):
        return False
    first = source[0]
    if isinstance(first, np.ndarray):
        return first.ndim == 2
    return isinstance(first, (list, tuple)) and len(first) > 0 and isinstance(first[0], (list, tuple, np.ndarray))


def _filled_up(matrices: Sequence[Any]) -> tuple[NDArray[Any], Indices | None]:
    """(n, d, r) with r the largest number of columns, and how many each matrix has (None where all have r)."""
    parts = [numeric(matrix, f"arms[{i}]") for i, matrix in enumerate(matrices)]
    for i, part in enumerate(parts):
        if part.ndim != 2 or 0 in part.shape:
            raise InputError(
                f"arms[{i}] has shape {part.shape}; where one arm is a matrix all are, (d, r_i), a column per response"
            )
        if part.shape[0] != parts[0].shape[0]:
            raise InputError(
                f"arms[{i}] has {part.shape[0]} rows and arms[0] has {parts[0].shape[0]}; an arm is a matrix (d, r_i) "
                "with one row per parameter and one column per response"
            )
    counts = np.array([part.shape[1] for part in parts], dtype=np.intp)
    out = np.zeros((len(parts), parts[0].shape[0], int(counts.max())))
    for i, part in enumerate(parts):
        check_finite(part, f"arms[{i}]")
        out[i, :, : part.shape[1]] = part
    return out, None if bool(np.all(counts == counts[0])) else counts


def _read_groups(given: NDArray[Any], counts: Indices | None) -> Rows:
    values = numeric(given, "arms")
    if 0 in values.shape:
        raise InputError(
            f"arms are empty (shape {values.shape}); give at least one arm, with at least one entry and one response"
        )
    if values.shape[2] == 1:
        return read_rows(np.ascontiguousarray(values[:, :, 0]), "arms")
    check_finite(values, "arms")
    held = np.array(values, dtype=float)
    held.flags.writeable = False
    return ResponseRows(held, counts=counts)


# ------------------------------------------------------------------ noise


def read_noise(source: Any, rows: ResponseRows) -> tuple[Floats | None, ResponseArms]:
    """The noise of arms with several responses as given, and the arms divided by it.

    A scalar or (n,): variance s_i of each response, S_i = s_i I; (n, r): variances of independent responses; (n, r, r):
    covariances; (1, r) and (1, r, r): the same for all arms; for arms with different r_i a list of n numbers, vectors or
    matrices. All in squared units of the outcomes. Raises InputError naming arm and value.
    """
    n, r = rows.n, rows.responses
    groups = rows.values.transpose(0, 2, 1)  # (n, r, d)
    if source is None:
        return None, ResponseArms(np.ascontiguousarray(groups), rows.names)
    values = numeric(_filled_noise(source, rows), "noise_variance")
    check_finite(values, "noise_variance")
    if values.shape in ((1, r), (1, r, r)):
        values = np.broadcast_to(values, (n, *values.shape[1:]))
    if values.shape not in ((), (n,), (n, r), (n, r, r)):
        raise InputError(
            f"noise_variance has shape {values.shape}; for {n} arms with {r} responses give a scalar, a variance per arm "
            f"({n},), per response ({n}, {r}), or a covariance matrix per arm ({n}, {r}, {r}); (1, {r}, {r}) is common to all"
        )
    noise = np.array(np.broadcast_to(values, (n,)) if values.ndim == 0 else values, dtype=float)
    noise.flags.writeable = False
    variances = noise if noise.ndim < 3 else np.diagonal(noise, axis1=1, axis2=2)
    bad = np.argwhere(variances < SMALLEST_POSITIVE)
    if bad.size:
        at = tuple(int(k) for k in bad[0])
        shown = at if noise.ndim < 3 else (*at, at[1])
        place = f"[{', '.join(map(str, shown))}]" if values.ndim else ""
        advice = "a variance must be positive (a response without noise would decide everything at once)"
        if variances[at] > 0:
            advice = f"rescale above {SMALLEST_POSITIVE:g} (change the unit)"
        raise InputError(f"noise_variance{place} is {variances[at]:g}; {advice}")
    if noise.ndim == 3 and rows.counts is not None:
        noise = _among_own(noise, rows.counts)
    deviation = np.sqrt(variances)
    if noise.ndim == 1:
        return noise, ResponseArms(groups / deviation[:, None, None], rows.names)
    whitened = groups / deviation[:, :, None]
    if noise.ndim == 3:
        correlation = noise / (deviation[:, :, None] * deviation[:, None, :])
        _check_correlations(noise, correlation)
        lower = np.linalg.cholesky((correlation + correlation.transpose(0, 2, 1)) / 2)
        whitened = np.linalg.solve(lower, whitened)
    return noise, ResponseArms(whitened, rows.names)


def variances_of(noise: Floats | None, rows: ResponseRows) -> Floats:
    """The variance of every response, (n, r), from noise as `read_noise` returns it."""
    shape = (rows.n, rows.responses)
    if noise is None:
        return np.ones(shape)
    if noise.ndim == 3:
        return np.diagonal(noise, axis1=1, axis2=2)
    return np.broadcast_to(noise if noise.ndim == 2 else noise[:, None], shape)


def _filled_noise(source: Any, rows: ResponseRows) -> Any:
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
