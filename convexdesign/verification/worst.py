"""Tables of what a design does worst: the targets of largest variance, and the arms that effort is missing on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from convexdesign.arms.labels import keys_of
from convexdesign.arms.source import largest
from convexdesign.criteria import oracle_of
from convexdesign.criteria.derivatives import outside_range
from convexdesign.evaluation import OUTSIDE_TOLERANCE, Evaluation, evaluate
from convexdesign.problem import Canonical
from convexdesign.typing import Floats, Indices
from convexdesign.verification.improvement import cure, measures

if TYPE_CHECKING:
    import pandas

__all__ = ["worst_arms", "worst_targets"]


# Targets with an unmeasured part come before all others once that part is stretched by this much.
STRETCH = 1e6


def worst_targets(canonical: Canonical, at: Evaluation, k: int) -> pandas.DataFrame:
    """The k targets with the largest v'A(w)^+ v, worst first: columns target, variance."""
    import pandas

    problem = canonical.problem
    combined = oracle_of(problem).worst_combinations(canonical, at, k)
    if combined is not None:
        vectors, variances = combined
        labels = [canonical.given.rows.combination(vector) for vector in vectors]
    else:
        index = problem.targets.worst(_stretched(canonical, at), k)[0]
        variances = _variances(canonical, at, index)
        if not measures(canonical, at):
            variances[index == at.worst_target] = np.inf
        order = np.argsort(-variances, kind="stable")
        labels, variances = [problem.targets.label(int(j)) for j in index[order]], variances[order]
    return pandas.DataFrame({"target": labels, "variance": variances})


def worst_arms(canonical: Canonical, weights: Floats, at: Evaluation, k: int) -> pandas.DataFrame:
    """The k arms towards which the criterion improves fastest, best first: columns arm, weight, variance, derivative."""
    import pandas

    problem = canonical.problem
    if measures(canonical, at):
        each = oracle_of(problem).derivatives(canonical, at).toward_each_arm()
        index, _ = largest(each if problem.criterion.maximised else -each, min(k, each.size))
        derivatives = each[index]
    else:
        index, derivatives = _missing_arms(canonical, weights, at, k)
    variances = _own_variances(canonical, at, index)
    variances[outside_range(canonical, at)[index]] = np.inf
    names = keys_of(problem.arms.names, index)
    columns = {"arm": names, "weight": weights[index], "variance": variances, "derivative": derivatives}
    return pandas.DataFrame(columns, index=pandas.Index(index, name="index"))


def _own_variances(canonical: Canonical, at: Evaluation, index: Indices) -> Floats:
    """x'A(w)^+ x of the arms at the indices, of several responses the largest, where they are measured."""
    problem = canonical.problem
    given = problem.rows
    if given.responses > 1:
        images = canonical.rows_inward(given.source.take(index)) @ at.factor
        return np.asarray((images**2).sum(axis=1).reshape(-1, given.responses).max(axis=1))
    rows = problem.arms.take(index) @ at.factor
    price = np.ones(problem.n_arms) if problem.noise_variance is None else problem.noise_variance
    price = price if problem.costs is None else price * problem.costs
    return np.asarray(np.einsum("ij,ij->i", rows, rows) * price[index])


def _stretched(canonical: Canonical, at: Evaluation) -> Floats:
    """A factor by which targets with an unmeasured part are the worst; the others by their variance."""
    if at.null.shape[1] == 0:
        return at.factor
    size = np.linalg.norm(canonical.inverse @ at.factor, 2) if at.factor.shape[1] else 1.0
    return np.hstack([at.factor, STRETCH * size * at.null])


def _variances(canonical: Canonical, at: Evaluation, index: Indices) -> Floats:
    """v'A(w)^+ v of the targets at the indices, infinite where they are not measured."""
    targets = canonical.problem.targets
    image = targets.take(index) @ at.factor
    variances = np.einsum("ij,ij->i", image, image)
    if at.null.shape[1]:
        variances[targets.shares_outside(index, at.null, canonical.basis) > OUTSIDE_TOLERANCE] = np.inf
    return np.asarray(variances)


def _missing_arms(canonical: Canonical, weights: Floats, at: Evaluation, k: int) -> tuple[Indices, Floats]:
    """First the arms that cure the design together, then those with the largest unmeasured part.

    The derivative is -inf (+inf for log det) for those that do so alone, nan where the value stays as it is; lambda_min is
    finite throughout.
    """
    problem = canonical.problem
    size = problem.arms.quadratic(canonical.basis)
    share = np.divide(problem.arms.quadratic(at.null), size, out=np.zeros_like(size), where=size > 0)
    needed = np.array(cure(canonical, weights, at))
    share[needed] = 2.0 - np.arange(needed.size) / needed.size
    index, shares = largest(share, min(k, share.size))
    index = index[shares > OUTSIDE_TOLERANCE**2]
    if np.isfinite(problem.criterion.worst_value):
        return index, oracle_of(problem).derivatives(canonical, at).toward_each_arm()[index]
    derivatives = np.full(index.size, np.nan)
    for i, arm in enumerate(index):
        tried = 0.5 * weights
        tried[arm] += 0.5
        if measures(canonical, evaluate(canonical, tried)):
            derivatives[i] = -np.inf if not problem.criterion.maximised else np.inf
    return index, derivatives
