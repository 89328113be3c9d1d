"""The canonical form every solver works in: the range of the arms, in coordinates where a coarse design is round.

A linear map of arms and targets together changes no variance v'A^+v. So one invertible map R^d -> R^r on the range of
the arms, chosen for conditioning, is found once; solvers see only whitened vectors, and their weights are the user's.

Where the coordinates given are so ill-conditioned that W'y, in doubles, would be a matter of rounding, the problem is first
restated in the coordinates W, read with twice the digits (`restated`): any matrix of doubles W that is invertible on the
range serves, whitening or not, so that nothing is lost but the last place of each new entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from convexdesign.arms.groups import repeat_per_response
from convexdesign.arms.monomial import times
from convexdesign.errors import InputError, SolverError, UnidentifiableError
from convexdesign.problem.compensated import product
from convexdesign.problem.coordinates import (
    amplification,
    coarse_design,
    equilibration,
    leaving,
    span_of,
)
from convexdesign.problem.prior_information import precise_prior_vectors, prior_vectors, spanning_prior_vectors
from convexdesign.problem.problem import DesignProblem
from convexdesign.problem.restated import as_given, lifted_map, precise_rows, restate
from convexdesign.typing import Floats, Indices

__all__ = ["Canonical", "Restatement", "canonicalise"]


# Squares of smaller numbers vanish.
SMALLEST_ARMS = 1e-75
# Below it the square of a coordinate underflows.
SMALLEST_COLUMN = 1e-150
# A target is outside the range when more than this share of its length is (coordinates scaled to size one).
TARGET_TOLERANCE = 1e-9
SILENT_TOLERANCE = 1e-15
# Beyond this many entries the range and the coordinates are taken from a sample, completed from all arms if need be.
SAMPLE_ENTRIES = 40_000
# Arms kept at a time while completing the sample; few of them are needed in the end.
MOST_LEAVING = 1000
# Up to this many arms, proportional ones are merged for the conic programs.
MERGE_LIMIT = 20_000
# Coordinates that magnify the rounding of the data by more than this are left for better ones; by more than the second
# where the arms have so many entries that reading them with twice the digits takes long.
MOST_AMPLIFICATION = 1e4
MOST_LARGE_AMPLIFICATION = 1e7
MANY_ENTRIES = 2**18
# Information held whose rounding would exceed this in whitened coordinates is brought there with twice the digits.
LARGE_HELD = 1e-12
# More entries than this (256 MB) are never held at once.
MOST_ENTRIES = 2**25


@dataclass(frozen=True, eq=False)
class Restatement:
    """Coordinates u = W'y, y = R'u on the range, that a problem was restated in: W (d, r), R (r, d), and it as given."""

    problem: DesignProblem
    basis: Floats
    inverse: Floats


@dataclass(frozen=True, eq=False)
class Canonical:
    """The problem in whitened coordinates: u_i = W'y_i and t_j = W'v_j / sqrt(target_scale), with y = R'u on the range.

    basis W (d, r); inverse R (r, d), R W = I; coarse (n_c,) indices and coarse_weights of a design that is nearly
    D-optimal over (a sample of) the arms, whose information is the identity in these coordinates. Variances are
    target_scale times those of the canonical problem. restatement: where the problem given was ill-conditioned, the coordinates
    that `problem` restates it in; arms keep their numbers, targets their numbers and names, values do not change.
    """

    problem: DesignProblem
    basis: Floats
    inverse: Floats
    coarse: Indices
    coarse_weights: Floats
    target_scale: float
    restatement: Restatement | None = None

    @property
    def given(self) -> DesignProblem:
        """The problem as the user stated it."""
        return self.problem if self.restatement is None else self.restatement.problem

    @property
    def plain(self) -> Canonical:
        """The same coordinates for the problem as given: to doubles, which may be little where there is a restatement."""
        if self.restatement is None:
            return self
        basis, inverse = self.restatement.basis @ self.basis, self.inverse @ self.restatement.inverse
        return replace(self, problem=self.restatement.problem, basis=basis, inverse=inverse, restatement=None)

    def outward(self, columns: Floats) -> Floats:
        """Vectors b (columns, r) of the problem's coordinates in those given: the b'y are the same."""
        return columns if self.restatement is None else np.asarray(self.restatement.basis @ columns)

    def rows_inward(self, rows: Floats) -> Floats:
        """Vectors v (rows, d) as given, in the problem's coordinates, to the last place."""
        return rows if self.restatement is None else product(rows, self.restatement.basis)

    @property
    def rank(self) -> int:
        """The dimension of the range of the arms."""
        return int(self.basis.shape[1])

    @cached_property
    def prior_rows(self) -> Floats:
        """Rows k in whitened coordinates with A0 = sum k k'; (rank A0, r), empty without information held."""
        A0, W = self.problem.prior, np.abs(self.basis)
        if A0 is None:
            return np.zeros((0, self.rank))
        large = np.einsum("ik,ij,jk->k", W, np.abs(A0), W).max() * np.finfo(float).eps > LARGE_HELD
        return precise_prior_vectors(self.problem, self.basis) if large else prior_vectors(self.problem) @ self.basis

    @cached_property
    def prior(self) -> Floats | None:
        """A0 in whitened coordinates, (r, r)."""
        return None if self.problem.prior is None else self.prior_rows.T @ self.prior_rows

    @cached_property
    def contrast_matrix(self) -> Floats:
        """The columns of `problem.contrast_matrix` in whitened coordinates, (r, k)."""
        return times(self.basis.T, self.problem.contrast_matrix)

    @cached_property
    def merged(self) -> Indices:
        """Indices of the arms that matter: nonzero, and the longest of each set of proportional ones.

        Proportional arms are merged only where W is the whole simplex and nothing else depends on the split.
        """
        if not self.problem.weight_set.is_simplex or self.problem.arms.n > MERGE_LIMIT:
            return np.arange(self.problem.arms.n)
        arms = self.whiten_arms(np.arange(self.problem.arms.n))
        responses = self.problem.responses
        return _longest_of_each_direction(arms if responses == 1 else _information_coordinates(arms, responses))

    @cached_property
    def arms(self) -> Floats:
        """The whitened arms u_i at the indices `merged`, rows as `Arms.take`; SolverError where they are too many to hold."""
        if self.problem.arms.n * self.problem.responses * self.rank > MOST_ENTRIES:
            raise SolverError(
                f"a conic program holds all arms in memory, and {self.problem.arms.n} in {self.rank} dimensions are too "
                "many; method='frank-wolfe' reads them block by block, where criterion and weights allow it"
            )
        return self.whiten_arms(self.merged)

    @cached_property
    def sizes(self) -> Floats:
        """|y_ik| of the rows of all arms: for few of them."""
        return np.abs(self.problem.arms.take(np.arange(self.problem.arms.n)))

    @cached_property
    def extent(self) -> Floats:
        """The largest |y_ik| of every coordinate over all arms, (d,): one pass."""
        largest = [part for _, part in self.problem.arms.map(_extent)]
        return np.asarray(np.max(largest, axis=0))

    def information(self, weights: Floats) -> Floats:
        """A(w) in whitened coordinates, (r, r), for weights (n,); the arms with weight are read block by block."""
        A = np.zeros((self.rank, self.rank)) if self.prior is None else self.prior.copy()
        support = np.flatnonzero(weights != 0)
        step = max(1, SAMPLE_ENTRIES // self.rank)
        for start in range(0, support.size, step):
            part = support[start : start + step]
            U = self.whiten_arms(part)
            A += (U.T * repeat_per_response(weights.take(part), U)) @ U
        return A

    def whiten_arms(self, index: Indices) -> Floats:
        """u_i = W'y_i at the indices, rows (k, r); of arms with several responses (k responses, r)."""
        return times(self.problem.arms.take(index), self.basis)

    def whiten_targets(self, index: Indices) -> Floats:
        """t_j = W'v_j / sqrt(target_scale) at the indices."""
        return self.problem.targets.take(index) @ self.basis / np.sqrt(self.target_scale)

    def expand(self, weights: Floats) -> Floats:
        """Weights of the merged arms, back in the user's order: (n,) from (k,)."""
        full = np.zeros(self.problem.arms.n)
        full[self.merged] = weights
        return full


def canonicalise(problem: DesignProblem) -> Canonical:
    """Find the range of the arms and coordinates in which a coarse design has information I.

    Raises InputError when all arms are zero or all targets are, UnidentifiableError when a target lies outside the
    range of the arms (tolerance TARGET_TOLERANCE relative to the target's own size).
    """
    found = _canonical(problem)
    entries = problem.arms.n * problem.arms.d
    most = MOST_AMPLIFICATION if entries <= MANY_ENTRIES else MOST_LARGE_AMPLIFICATION
    if problem.stated.lifted and (found.rank < problem.arms.d or _amplified(found) > most):
        found = _lifted_coordinates(problem, found)
    if _amplified(found) <= most:
        return found
    other = restate(problem, found.basis)
    if other is None:
        return found
    better = _canonical(other)
    return (
        replace(better, restatement=Restatement(problem, found.basis, found.inverse))
        if better.rank == found.rank
        else found
    )


def _amplified(found: Canonical) -> float:
    return amplification(found.basis, found.inverse)


def _lifted_coordinates(problem: DesignProblem, found: Canonical) -> Canonical:
    """Coordinates of phi(x) by way of those in which the arms x are round, where more is seen of the range in these.

    The condition of phi is that of the arms squared: what is nearly dependent in x would be lost in phi(x) to rounding.
    """
    arms = canonicalise(DesignProblem.g_optimal(problem.stated.arms)).plain
    basis, inverse = lifted_map(arms.basis), lifted_map(arms.inverse)
    other = restate(problem, basis)
    if other is None:
        return found
    better = _canonical(other)
    better = replace(better, problem=problem, basis=basis @ better.basis, inverse=better.inverse @ inverse)
    if (better.rank, -_amplified(better)) < (found.rank, -_amplified(found)):
        return found
    return better


def _canonical(problem: DesignProblem) -> Canonical:
    """The canonical form in the coordinates that the problem is stated in."""
    sample, held, rows = _measured(problem)
    sample, image, basis, inverse = _coordinates(problem, sample, rows, held)
    again = partial(_precise_image, problem, sample, basis)
    unit = problem.weight_set.unit(problem.arms.n)[sample]
    if unit.min(initial=1.0) < 1.0:
        # An arm that may have little weight counts for as little: its row is seen in the unit of its weight.
        effort = np.concatenate([np.ones(held), np.sqrt(np.repeat(unit, problem.responses))])[:, None]
        image, again = effort * image, partial(_scaled, effort, again)
    keep, weights, whitening, unwhitening = coarse_design(image, held, problem.responses, again)
    weights = weights * unit[keep]
    basis, inverse, coarse = times(basis, whitening), times(unwhitening, inverse), sample[keep]
    if problem.criterion.by_target:
        target_scale = problem.targets.size(basis)
        if not target_scale > 0:
            raise InputError("all targets are zero: there is nothing to estimate; give at least one nonzero target")
    else:
        target_scale = 1.0
    return Canonical(problem, basis, inverse, coarse, weights, target_scale)


def _scaled(effort: Floats, image: Callable[[Floats], Floats], whitening: Floats) -> Floats:
    return effort * image(whitening)


def _precise_image(problem: DesignProblem, sample: Indices, basis: Floats, whitening: Floats) -> Floats:
    """What is held and the sampled arms in the coordinates `basis @ whitening`, read with twice the digits."""
    W = basis @ whitening
    found = precise_prior_vectors(problem, W)
    held = np.zeros((len(spanning_prior_vectors(problem)), W.shape[1]))
    # As many rows as before, whatever rounding makes of their number.
    held[: len(found)] = found[: len(held)]
    return np.vstack([held, precise_rows(problem.arms, W, sample)])


def _measured(problem: DesignProblem) -> tuple[Indices, int, Floats]:
    """Arms to find coordinates from, and rows: as many as the second number for what is held, then those of the arms."""
    arms = problem.arms
    held = spanning_prior_vectors(problem)
    allowed = problem.weight_set.allowed(arms.n)
    # An arm that may have no weight is as good as not there, but for its place.
    sample = _sample(arms.n, arms.d) if allowed.all() and problem.responses == 1 else np.flatnonzero(allowed)
    return sample, len(held), np.vstack([held, arms.take(sample)])


def _refuse_unsquarable(rows: Floats) -> None:
    """InputError for a coordinate so small in all rows that its square underflows."""
    size = np.abs(rows).max(axis=0, initial=0.0)
    if size.min(initial=1.0) >= SMALLEST_COLUMN:
        return
    small = np.flatnonzero((size > 0) & (size < SMALLEST_COLUMN))
    if small.size and size.max() >= SMALLEST_ARMS:
        j = int(small[0])
        raise InputError(
            f"column {j} of the arms is at most {size[j]:g} (noise included), too small to be squared; "
            "multiply the column by a power of ten (change its unit)"
        )


def _coordinates(
    problem: DesignProblem, sample: Indices, rows: Floats, held: int
) -> tuple[Indices, Floats, Floats, Floats]:
    """W (d, r) and R (r, d) of the range, R W = I, behind the sample, completed where it does not span, and its rows in W."""
    arms, allowed = problem.arms, problem.weight_set.allowed(problem.arms.n)
    _refuse_unsquarable(rows)
    scale = equilibration(rows)
    span, spread = span_of(rows * scale, partial(as_given, problem, sample))
    if span.shape[1] < arms.d and sample.size < arms.n and allowed.all():
        sample, rows, scale = _complete(problem, sample, rows, scale, span)
        span, spread = span_of(rows * scale, partial(as_given, problem, sample))
    if span.shape[1] == 0 or not rows[held:].any():
        raise InputError("all arms are zero: no measurement tells anything; give at least one nonzero arm")
    if np.abs(rows).max() < SMALLEST_ARMS:
        raise InputError(
            f"all arms are below {SMALLEST_ARMS:g} (noise included), too small to be squared; change the unit"
        )
    # In equilibrated coordinates g = span' (scale o y).
    basis, inverse = scale[:, None] * span, span.T / scale
    if span.shape[1] < arms.d and not problem.criterion.on_range:
        _refuse_targets_outside(problem, scale, span, spread, silent=np.asarray(~rows.any(axis=0)))
    image = rows * scale if span.shape[1] == arms.d else rows @ basis
    return sample, image, basis, inverse


@lru_cache(maxsize=16)
def _sample(n: int, d: int) -> Indices:
    """All indices where that is cheap, otherwise a fixed random sample; read-only."""
    size = max(SAMPLE_ENTRIES // d, 20 * d)
    index = np.arange(n) if n <= size else np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    index.flags.writeable = False
    return index


def _complete(
    problem: DesignProblem, sample: Indices, rows: Floats, scale: Floats, span: Floats
) -> tuple[Indices, Floats, Floats]:
    """Extend the sample by arms that leave its range, found in one pass over all arms."""
    arms = problem.arms
    null = np.linalg.svd(span, full_matrices=True)[0][:, span.shape[1] :]
    outside = partial(leaving, null=null, scale=scale, silent=np.asarray(~rows.any(axis=0)))
    found = np.empty(0, dtype=np.intp)
    for start, local in arms.map(outside):
        found = np.append(found, start + local)
        if found.size > MOST_LEAVING:
            found = found[outside(arms.take(found))]
    found = found[outside(arms.take(found))]
    rows = np.vstack([rows, arms.take(found)])
    return np.append(sample, found), rows, equilibration(rows)


def _refuse_targets_outside(
    problem: DesignProblem, scale: Floats, span: Floats, spread: float, silent: NDArray[np.bool_]
) -> None:
    complement = np.linalg.svd(span, full_matrices=True)[0][:, span.shape[1] :]
    those = "the arms" if problem.weight_set.allowed(problem.arms.n).all() else "the arms that may have weight"
    # The range itself is known only to rounding times its condition.
    tolerance = max(TARGET_TOLERANCE, 100 * np.finfo(float).eps * spread)
    if getattr(problem.targets, "noun", "") == "coefficient":
        _refuse_aliased(problem, those, scale[:, None] * complement, scale, tolerance, span.shape[1])
    outside = problem.targets.outside(scale[:, None] * complement, np.diag(scale), tolerance)
    if outside is None and silent.any():
        # A coordinate that no arm has at all is not a matter of rounding, however little of it a target wants.
        outside = problem.targets.outside(np.diag(scale)[:, silent], np.diag(scale), SILENT_TOLERANCE)
    if outside is not None:
        raise UnidentifiableError(
            f"{problem.targets.label(outside)} lies outside the range of {those} (rank {span.shape[1]} of "
            f"{problem.arms.d}): no design can estimate it; add an arm that measures it or remove the target"
        )


def _refuse_aliased(
    problem: DesignProblem, those: str, null: Floats, scale: Floats, tolerance: float, rank: int
) -> None:
    aliased = np.flatnonzero(np.linalg.norm(null, axis=1) > tolerance * scale)
    columns = problem.rows.columns
    listed = ", ".join(str(k) if columns is None else columns[k] for k in aliased[:12]) + (
        ", ..." * (aliased.size > 12)
    )
    raise UnidentifiableError(
        f"{those} have rank {rank} in R^{problem.arms.d}: the coefficients of columns {listed} are aliased, so that "
        "their variances are infinite; drop columns, add arms, or use d_optimal, which works on the range"
    )


def _extent(rows: Floats) -> Floats:
    return np.asarray(np.abs(rows).max(axis=0))


def _information_coordinates(arms: Floats, responses: int) -> Floats:
    """The entries of sum_k u_ik u_ik' for every arm, as rows: proportional where one arm does for both.

    Where they are too many, the responses one after the other: then only arms whose responses are proportional are.
    """
    rows, columns = np.triu_indices(arms.shape[1])
    groups = arms.reshape(-1, responses, arms.shape[1])
    if len(groups) * rows.size > MOST_ENTRIES:
        return groups.reshape(len(groups), -1)
    return np.asarray((groups.transpose(0, 2, 1) @ groups)[:, rows, columns])


def _longest_of_each_direction(rows: Floats) -> Indices:
    length = np.linalg.norm(rows, axis=1)
    nonzero = np.flatnonzero(length > 0)
    unit = rows[nonzero] / length[nonzero, None]
    lead = unit[np.arange(nonzero.size), np.argmax(np.abs(unit) > 0.5 / np.sqrt(rows.shape[1]), axis=1)]
    unit = unit * np.sign(lead)[:, None]
    # Longest first, so that the first of every rounded direction is the one to keep; the first given among equals.
    order = np.lexsort((nonzero, -length[nonzero].round(14)))
    _, first = np.unique(unit[order].round(12) + 0.0, axis=0, return_index=True)
    kept: Indices = np.sort(nonzero[order[first]])
    return kept
