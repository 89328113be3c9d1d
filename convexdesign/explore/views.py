"""From what the reader has set to everything that is shown: designs, certificate, whole numbers, bounds. No pictures."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.criteria import oracle_of
from convexdesign.design import Design
from convexdesign.errors import ConvergenceWarning, ConvexDesignError, InputError
from convexdesign.evaluation import Evaluation, evaluate
from convexdesign.exact import ExactDesign
from convexdesign.explore.state import PROBLEMS, State
from convexdesign.identification.best_arm import BestArm
from convexdesign.identification.bounds import Complexity, complexity, lower_bound
from convexdesign.identification.level_set import LevelSet
from convexdesign.identification.objectives import Objective
from convexdesign.plotting.plane import ellipse_data
from convexdesign.problem import DesignProblem
from convexdesign.problem.kinds import KINDS
from convexdesign.solving import solve
from convexdesign.typing import Floats
from convexdesign.verification.equivalence import Sensitivities, sensitivities

__all__ = ["Blind", "Samples", "View", "objective_of", "problem_of", "region", "view"]


# An arm that is measured so rarely, and says so little by it, is what a solver leaves of zero.
RARELY, LITTLE = 1e-5, 1e-7

ALL_ZERO = "Every arm is zero, so no measurement says anything about theta: move an arm away from the origin."
ONE_LINE = (
    "All arms lie on one line through the origin, so measurements say nothing about theta across that line, and its "
    "confidence region is an unbounded strip. Move one arm off the line, or add one."
)
ONE_DIRECTION = (
    "Everything that is asked lies along one direction, and this design measures nothing else: the confidence region for "
    "theta is an unbounded strip. That is no fault; another problem would ask for more."
)


@dataclass(frozen=True, eq=False)
class Blind:
    """The design made as if all noise were equal, judged by the noise there is.

    ratio: how many times as many measurements it needs for the same precision.
    """

    weights: Floats
    value: float
    ratio: float
    sensitivities: Sensitivities
    region: Floats | None


@dataclass(frozen=True)
class Samples:
    """What identification costs: no algorithm with failure probability delta takes fewer than `bound` samples on average."""

    complexity: Complexity
    bound: float


@dataclass(frozen=True, eq=False)
class View:
    """All numbers of one view. What could not be computed is None, and `problems` says why, by the part it belongs to.

    Parameters
    ----------
    state : State
        What the view is of.
    design : Design, optional
        The optimal one.
    sensitivities : Sensitivities, optional
        Of the arms, against their bound.
    region : array, shape (k, 2), optional
        The boundary of the confidence region for theta after `pulls` measurements in these proportions; None where it
        is unbounded.
    blind : Blind, optional
        The design that takes all variances to be equal, with its region.
    plan : ExactDesign, optional
        Whole numbers.
    samples : Samples, optional
        How many measurements identification needs.
    problems : dict, optional
        From a part to what is wrong.
    notes : tuple of str
        What is worth saying about the arrangement.
    """

    state: State
    design: Design | None = None
    sensitivities: Sensitivities | None = None
    region: Floats | None = None
    blind: Blind | None = None
    plan: ExactDesign | None = None
    samples: Samples | None = None
    problems: dict[str, str] | None = None
    notes: tuple[str, ...] = ()


def view(state: State, moving: bool = False) -> View:
    """Compute everything that one view shows.

    Parameters
    ----------
    state : State
        What the reader has set.
    moving : bool
        While a point is moving: without the whole numbers, which take longest.

    Returns
    -------
    View
        All numbers.

    Examples
    --------
    >>> shown = view(State("g-optimal", ((1, 0), (0, 1)), (1, 3), pulls=8))
    >>> shown.design.weights.round(4).tolist(), shown.plan.counts.tolist(), round(shown.blind.ratio, 4)
    ([0.25, 0.75], [2, 6], 1.5)
    """
    said: dict[str, str] = {}
    try:
        samples = _samples(state)
    except ConvexDesignError as error:
        samples, said["samples"] = None, str(error)
    try:
        problem = problem_of(state)
        design = _solved(problem)
        blind_weights = _solved(problem_of(state, equal_noise=True)).weights
    except ConvexDesignError as error:
        return View(state, samples=samples, problems=said | {"design": str(error)}, notes=_line(state))
    at = evaluate(design.canonical, design.weights)
    plan = None
    try:
        plan = None if moving else design.round(state.pulls)
    except ConvexDesignError as error:
        said["plan"] = str(error)
    boundary = region(state, design.weights)
    notes = _line(state)
    if boundary is None and not notes:
        notes = (ONE_DIRECTION,)
    return View(
        state,
        design,
        _sensitivities(design, at),
        boundary,
        _judged(state, design, blind_weights),
        plan,
        samples,
        said,
        notes,
    )


def problem_of(state: State, equal_noise: bool = False) -> DesignProblem:
    """The design problem that is set; with equal_noise as if every arm's variance were one.

    Raises InputError, or UnidentifiableError when solved, where the arrangement has no answer.
    """
    kind = KINDS[state.problem]
    given: dict[str, Any] = {
        name: np.array(getattr(state, name)) for name in PROBLEMS[state.problem] if name != "threshold"
    }
    if not state.wanted_items:
        given.pop("items", None)
    if "threshold" in PROBLEMS[state.problem]:
        given["threshold"] = state.threshold
    noise = None if equal_noise else np.array(state.noise_variance)
    return kind.constructor(np.array(state.arms), noise_variance=noise, **given)


def objective_of(state: State) -> Objective:
    """What the sample-complexity bound is about: level sets for the level-set problems, else the best item."""
    return LevelSet(state.threshold) if state.problem.startswith("level-set") else BestArm()


def _solved(problem: DesignProblem) -> Design:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is shown beside the value
        return solve(problem)


def _samples(state: State) -> Samples:
    items = np.array(state.wanted_items) if state.wanted_items else None
    given = (np.array(state.arms), items, np.array(state.theta), objective_of(state), np.array(state.noise_variance))
    return Samples(complexity(*given), lower_bound(*given, state.delta))


def _judged(state: State, design: Design, weights: Floats) -> Blind:
    at = evaluate(design.canonical, weights)
    # Two tolerances may differ in their last digits: an optimal design is never worse than another.
    dimension = oracle_of(design.canonical).dimension(design.canonical)
    excess = max(design.problem.criterion.relative_gap(at.value, design.value, dimension), 0.0)
    return Blind(weights, at.value, 1.0 + excess, _sensitivities(design, at), region(state, weights))


def _sensitivities(design: Design, at: Evaluation) -> Sensitivities:
    return sensitivities(design.canonical, at, design.certificate.dual)


def region(state: State, weights: Floats, points: int = 121) -> Floats | None:
    """Where theta's estimate lies with probability 1 - delta after `pulls` measurements: |z - theta|^2_A <= c / pulls.

    c = -2 log delta, the quantile of the chi-square distribution with two degrees of freedom.
    """
    # What a solver leaves of zero would make the strip an ellipse of no meaning; but a rare arm may be a very precise one.
    told = weights * (np.asarray(state.arms) ** 2).sum(axis=1) / np.asarray(state.noise_variance)
    kept = np.where((weights < RARELY) & (told < LITTLE * told.max()), 0.0, weights)
    try:
        unit = ellipse_data(state.arms, kept, noise_variance=state.noise_variance, points=points).boundary
    except InputError:
        return None
    return np.asarray(state.theta) + math.sqrt(-2.0 * math.log(state.delta) / state.pulls) * unit


def _line(state: State) -> tuple[str, ...]:
    """What to say, and to do, where the arms do not span the plane."""
    arms = np.array(state.arms)
    length = np.linalg.norm(arms, axis=1)
    if not length.any():
        return (ALL_ZERO,)
    scaled = np.linalg.svd(arms[length > 0] / length[length > 0, None], compute_uv=False)
    if scaled.size > 1 and scaled[1] > 1e-9 * scaled[0]:
        return ()
    return (ONE_LINE,)
