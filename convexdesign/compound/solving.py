"""solve for several problems at once over a list of arms."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from convexdesign.arguments import real
from convexdesign.compound.ascent import best_weights, in_order
from convexdesign.compound.components import (
    ComponentGroup,
    GroupState,
    component_of,
    evaluated,
    exact_values,
    grouped,
    more_targets,
)
from convexdesign.compound.design import CompoundDesign
from convexdesign.compound.problem import CompoundProblem
from convexdesign.errors import ConvergenceWarning, InputError, UnidentifiableError
from convexdesign.outcome import Stats, Status
from convexdesign.problem import DesignProblem
from convexdesign.problem.prior_information import UNIT
from convexdesign.typing import Floats, Indices

__all__ = ["solve_compound"]

ROUNDS = 100
FIRST_ARMS = 60
ADDED = 12
LAST = 1e-12
# Arms of which the multipliers of a minimum take account.
NEAREST = 300


def solve_compound(
    problem: CompoundProblem, tol: float = 1e-6, time_limit: float | None = None, verbose: bool = False, **options: Any
) -> CompoundDesign:
    """The best design for all problems at once, with its proof."""
    for name, value in options.items():
        if value not in (None, "auto", False):
            raise InputError(f"{name} is not known for several problems at once; they take tol, time_limit and verbose")
    deadline = np.inf if time_limit is None else time.perf_counter() + real(time_limit)
    design = solve_over_arms(problem, real(tol), deadline)
    if verbose:
        print(repr(design))
    if design.status is not Status.CERTIFIED:
        warnings.warn(
            f"certified gap {design.gap:.2e} is above the tolerance {real(tol):.1e}: {design.status.value}",
            ConvergenceWarning,
            stacklevel=4,
        )
    return design


def best_of(problem: DesignProblem, tol: float) -> float:
    """An upper bound on log Phi of the best design for one problem alone, proven."""
    from convexdesign.solving import solve

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        design = solve(problem, tol=min(tol / 10, 1e-7))
    own = component_of(problem)
    return own.form.logarithm(design.bound, own.L)


def solve_over_arms(problem: CompoundProblem, tol: float, deadline: float) -> CompoundDesign:
    """Weights on a list of arms: the best on a few, and those in which the sensitivity is too large, in turn."""
    started = time.perf_counter()
    listed: Sequence[DesignProblem] = problem.problems
    components = [component_of(p, best_of(p, tol) if problem.is_maximin else 0.0) for p in listed]
    n = listed[0].n_arms
    chosen = np.arange(n) if n <= FIRST_ARMS else first_arms(listed, np.random.default_rng(0))
    w = np.full(len(chosen), 1.0 / len(chosen))
    best: tuple[float, Any] = (np.inf, None)
    last, first = 1e-6, 1e-2
    for _ in range(ROUNDS):
        groups = grouped(components)
        rows = [np.stack([listed[k].arms.take(chosen) for k in group.numbers]) for group in groups]
        spans(groups, rows)
        w, a, states = best_weights(groups, rows, problem.weights, w, last, first)
        phi = sensitivities(groups, states, listed, a, n)
        if problem.is_maximin:
            near = np.union1d(chosen, np.argsort(-phi, kind="stable")[:NEAREST])
            a = better_multipliers(groups, states, listed, a, near)
            phi = sensitivities(groups, states, listed, a, n)
        f = exact_values(components, groups, states)
        gap, value, bound = judged(problem, groups, states, f, a, float(phi.max()))
        if gap < best[0]:
            weights = np.zeros(n)
            weights[chosen] = w
            best = (gap, (weights, value, bound, a, f))
        if gap <= tol or time.perf_counter() > deadline:
            break
        components, grew = more_targets(components, groups, states, gap)
        # An arm below the largest sensitivity has weight for the barrier's sake alone.
        keep = (w > 1e-3 / len(w)) | (phi[chosen] > 1.0 - 10.0 * last * len(w))
        new = np.argsort(-phi, kind="stable")[:ADDED]
        new = new[(phi[new] > 1.0 + tol / 10) & ~np.isin(new, chosen)]
        if not len(new) and not grew:
            if last <= LAST:
                break
            last = max(last * 1e-2, LAST)
        first = max(last, min(1e-3, gap / 100))
        chosen = np.concatenate([chosen[keep], new])
        w = np.concatenate([w[keep], np.full(len(new), 1e-2)])
    assert best[1] is not None
    weights, value, bound, a, f = best[1]
    weights = np.where(weights > 1e-12, weights, 0.0)
    ended = Status.TIME_LIMIT if time.perf_counter() > deadline else Status.STALLED
    return CompoundDesign(
        problem,
        weights / weights.sum(),
        value,
        bound,
        best[0],
        a,
        np.exp(f) if problem.is_maximin else np.empty(0),
        f + np.array([own.best for own in components]),
        Status.CERTIFIED if best[0] <= tol else ended,
        Stats("interior point on a working set", seconds=time.perf_counter() - started),
    )


def sensitivities(
    groups: Sequence[ComponentGroup], states: Sequence[GroupState], problems: Sequence[DesignProblem], a: Floats, n: int
) -> Floats:
    """sum_j a_j <g_j, A0_j + M_j(x)> of every arm, its rounding included, (n,)."""
    phi = np.zeros(n)
    for group, state in zip(groups, states):
        for place, k in enumerate(group.numbers):
            own = problems[k].arms.quadratic(np.ascontiguousarray(state.columns[place]))
            phi += a[k] * (own + state.held[place]) * (1.0 + 2.0 * state.error[place])
    return phi


def better_multipliers(
    groups: Sequence[ComponentGroup],
    states: Sequence[GroupState],
    problems: Sequence[DesignProblem],
    a: Floats,
    near: Indices,
) -> Floats:
    """Multipliers of a minimum with a smaller bound on the arms `near`: those of its linear program."""
    J = np.empty((len(a), len(near)))
    for group, state in zip(groups, states):
        for place, k in enumerate(group.numbers):
            J[k] = np.sum((problems[k].arms.take(near) @ state.columns[place]) ** 2, axis=1) + state.held[place]
    return least_bound(J, in_order(groups, [state.levels for state in states]), a)


def least_bound(J: Floats, f: Floats, a: Floats) -> Floats:
    """The multipliers b >= 0 of sum one with the least b'f + log max_i (J'b)_i, or a where that is better."""
    from scipy.optimize import linprog

    # Minimise a'f + s with s >= (J'a)_i.
    found = linprog(
        np.append(f - f.min(), 1.0),
        A_ub=np.column_stack([J.T, -np.ones(J.shape[1])]),
        b_ub=np.zeros(J.shape[1]),
        A_eq=np.append(np.ones(len(a)), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * len(a) + [(None, None)],
        method="highs",
    )
    if found.status != 0:
        return a
    new = np.maximum(found.x[:-1], 0.0)
    new = new / new.sum()

    def bound(b: Floats) -> float:
        return float(b @ f + np.log((b @ J).max()))

    return new if bound(new) < bound(a) else a


def judged(
    problem: CompoundProblem,
    groups: Sequence[ComponentGroup],
    states: Sequence[GroupState],
    f: Floats,
    a: Floats,
    most: float,
) -> tuple[float, float, float]:
    """The gap, the value and the bound, from the values f and the largest sensitivity; rounding of the values is charged."""
    levels = in_order(groups, [state.levels for state in states])
    error = max(float(state.error.max()) for state in states)
    room = float(np.log(most)) + 2.0 * error + 64 * UNIT * (1.0 + float(np.abs(a * levels).sum()))
    value, above = value_and_room(f, a, problem.weights, float(a @ levels) + room)
    if problem.is_maximin:
        return float(np.expm1(above)), float(np.exp(value)), float(np.exp(min(value + above, 0.0)))
    return float(np.expm1(above)), value, value + above


def value_and_room(f: Floats, a: Floats, weights: Floats | None, bound: float) -> tuple[float, float]:
    """The value of log Phi_j = f, and how far the bound is above it: of their mean by the weights, or of the least."""
    value = float(f.min()) if weights is None else float(a @ f)
    return value, max(bound - value, 0.0)


def first_arms(problems: Sequence[DesignProblem], rng: np.random.Generator) -> Indices:
    """A few arms that span: the largest in several random directions for each problem, and random ones."""
    n = problems[0].n_arms
    found = [np.unique(np.linspace(0, n - 1, 30).astype(int)), rng.choice(n, 10, replace=False)]
    for p in problems[:: max(1, len(problems) // 5)]:
        d = p.arms.d
        sample = p.arms.take(np.sort(rng.choice(n, min(n, 20 * d + 200), replace=False)))
        root = np.linalg.pinv(np.linalg.cholesky(sample.T @ sample / len(sample) + 1e-12 * np.eye(d))).T
        for _ in range(d):
            direction = root @ rng.standard_normal(d)
            found.append(np.array([int(np.argmax(p.arms.quadratic(direction[:, None])))]))
    return np.unique(np.concatenate(found))


def spans(groups: Sequence[ComponentGroup], rows: Sequence[Floats]) -> None:
    """UnidentifiableError where the rows do not measure what a problem asks for."""
    for group, Y in zip(groups, rows):
        if evaluated(group, Y, np.full(Y.shape[1], 1.0 / Y.shape[1])) is None:
            raise UnidentifiableError(
                f"the arms do not span the {group.d} coordinates of problem {group.numbers[0]}; leave out the coordinates that "
                "no arm has"
            )
