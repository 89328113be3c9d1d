"""What would improve a design most: the arm that new effort should go to, and what a small share of it there is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.arms.labels import spoken
from convexdesign.criteria import oracle_of
from convexdesign.criteria.derivatives import Derivatives
from convexdesign.evaluation import OUTSIDE_TOLERANCE, Evaluation, evaluate
from convexdesign.problem import Canonical
from convexdesign.typing import Floats

__all__ = ["Improvement", "cure", "improvement", "measures", "unmeasured_target"]


# A share is halved so often at most: beyond, a design is as good as it gets in that direction.
MOST_HALVINGS = 20
# Relative changes of the criterion below this are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Improvement:
    """The move of effort that improves a design fastest.

    Parameters
    ----------
    arms : tuple of int
        Where the effort goes, most first; almost always one (see Verification.improvement).
    names : tuple of str
        What they are called.
    toward : array, shape (n,)
        The weights moved towards, so that after moving a share a they are (1 - a) w + a toward.
    derivative : float
        Of the criterion, d value / d a at a = 0: negative is better for variances, positive for log det and lambda_min;
        infinite where the design does not measure something yet.
    targets : tuple of str
        The targets that limit the design: all that are tied for the worst, or one that is not measured.
    share : float
        The a tried, at most the one asked for; 0 where nothing helps.
    value : float
        The criterion after moving it.
    gain : float
        By how much the efficiency grows then, relatively: 0.03 means 3 % fewer measurements for the same precision.
    """

    arms: tuple[int, ...]
    names: tuple[str, ...]
    toward: Floats
    derivative: float
    targets: tuple[str, ...]
    share: float
    value: float
    gain: float

    @property
    def arm(self) -> int:
        """The arm that most of the effort goes to."""
        return self.arms[0]

    @property
    def name(self) -> str:
        """What that arm is called."""
        return self.names[0]

    def __repr__(self) -> str:
        more = f" and {len(self.arms) - 1} more" if len(self.arms) > 1 else ""
        return (
            f"Improvement({spoken([self.name])}{more}: derivative {self.derivative:.6g}; moving a share of {self.share:.3g} "
            f"gives {self.value:.8g}, a gain of {self.gain:.3g})"
        )


def improvement(canonical: Canonical, weights: Floats, at: Evaluation, best: Floats, share: float) -> Improvement:
    """The steepest move from the weights (n,), evaluated by `at`; best (n,): nearly optimal weights in W."""
    problem = canonical.problem
    if not measures(canonical, at):
        return _cured(canonical, weights, at, share)
    slopes = oracle_of(problem).derivatives(canonical, at)
    toward = _steepest(canonical, slopes) if problem.weight_set.is_simplex else best
    derivative = slopes.toward(toward)
    better = slopes.toward(best)
    sign = 1.0 if problem.criterion.maximised else -1.0
    if sign * derivative <= ROUNDING * abs(at.value) and sign * better > sign * derivative:
        toward, derivative = best, better
    labels = tuple(problem.targets.label(int(j)) for j in slopes.tied)
    return _moved(canonical, weights, at.value, toward, derivative, labels, share)


def _steepest(canonical: Canonical, slopes: Derivatives) -> Floats:
    """The distribution over arms in whose direction the criterion improves fastest; one arm where one part decides."""
    problem = canonical.problem
    z = np.zeros(problem.n_arms)
    mix = slopes.mixture()
    if mix is not None:
        z[mix.arms] = mix.proportions
        return z
    each = slopes.toward_each_arm()
    z[np.argmax(each) if problem.criterion.maximised else np.argmin(each)] = 1.0
    return z


def _moved(
    canonical: Canonical,
    weights: Floats,
    value: float,
    toward: Floats,
    derivative: float,
    targets: tuple[str, ...],
    share: float,
) -> Improvement:
    """The improvement in a direction, its share halved until the criterion is better."""
    problem = canonical.problem
    rise = toward - weights if np.count_nonzero(toward) > 1 else toward
    arms = np.flatnonzero(rise > ROUNDING)
    arms = arms[np.argsort(-rise[arms], kind="stable")] if arms.size else np.array([np.argmax(toward)])
    gain, reached, after, dim = 0.0, 0.0, value, oracle_of(problem).dimension(canonical)
    for _ in range(MOST_HALVINGS):
        found = evaluate(canonical, (1.0 - share) * weights + share * toward).value
        grown = problem.criterion.growth(value, found, dim)
        if grown > ROUNDING:
            gain, reached, after = grown, share, found
            break
        share /= 2.0
    indices = tuple(int(i) for i in arms)
    names = tuple(problem.arm_name(i) for i in indices)
    return Improvement(indices, names, toward, derivative, targets, reached, after, gain)


# ---------------------------------------------------------------- what is not measured yet


def measures(canonical: Canonical, at: Evaluation) -> bool:
    """Whether the design measures all that is wanted."""
    return at.value != canonical.problem.criterion.worst_value


def _cured(canonical: Canonical, weights: Floats, at: Evaluation, share: float) -> Improvement:
    problem = canonical.problem
    arms = cure(canonical, weights, at)
    toward = np.zeros(problem.n_arms)
    toward[list(arms)] = 1.0 / len(arms)
    # From infinitely bad to finite, where the worst value is no number such as zero.
    derivative = -problem.criterion.worst_value
    if np.isfinite(derivative):
        derivative = oracle_of(problem).derivatives(canonical, at).toward(toward)
    label = problem.targets.label(unmeasured_target(canonical, at))
    return _moved(canonical, weights, at.value, toward, derivative, (label,), share)


def unmeasured_target(canonical: Canonical, at: Evaluation) -> int:
    """The number of the target that is farthest from being measured."""
    found = canonical.problem.targets.outside(at.null, canonical.basis, OUTSIDE_TOLERANCE)
    return at.worst_target if found is None else found


def cure(canonical: Canonical, weights: Floats, at: Evaluation) -> tuple[int, ...]:
    """Arms that, added to the design, make it measure all that is wanted: as few as are found one at a time.

    Each is the arm most in line with the unmeasured part of the target that is farthest from being measured.
    """
    problem = canonical.problem
    size = problem.arms.quadratic(canonical.basis)
    added: list[int] = []
    while not measures(canonical, at):
        missing = at.null.T @ problem.targets.take(np.array([unmeasured_target(canonical, at)]))[0]
        outside = problem.arms.quadratic(at.null)
        length = np.linalg.norm(missing)
        # Nothing is missing in floating point where exact reading alone tells that the target is outside: any way out will do.
        along = outside if length == 0 else problem.arms.quadratic((at.null @ missing / length)[:, None])
        new = outside > OUTSIDE_TOLERANCE**2 * size
        # Cosines equal up to rounding: the arm of which more is new.
        cosine = np.divide(along, outside, out=np.zeros_like(size), where=new).round(9)
        share = np.divide(outside, size, out=np.zeros_like(size), where=new)
        added.append(int(np.lexsort((-share, -cosine))[0]))
        half = np.zeros_like(weights)
        half[added] = 0.5 / len(added)
        at = evaluate(canonical, 0.5 * weights + half)
    return tuple(added)
