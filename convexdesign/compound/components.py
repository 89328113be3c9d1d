"""Problems as information functions Phi of A; many of a form at once.

With V_j and levels l_j such that Phi_j(B) <= exp(l_j) <V_jV_j', B> for every B >= 0 (`criteria.information`), a_j >= 0 of sum
one, and A_j' = A0_j + sum_i w_i' M_j(x_i) for any design w',

    sum_j a_j log Phi_j(A_j') <= sum_j a_j l_j + log( sum_j a_j <V_jV_j', A0_j> + max_x sum_j a_j <V_jV_j', M_j(x)> ),

by concavity of the logarithm and since w' is a mixture. Of a smooth Phi at A, VV' is the gradient of log Phi and l = log Phi;
of the least of several functions any mean of theirs will do; of the least eigenvalue any matrix, with l = -log tr VV'. The same
bounds min_j of the logarithms of efficiencies, for any multipliers a. Where nothing is held <V_jV_j', A_j> = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from convexdesign.criteria import oracle_of
from convexdesign.criteria.information import InformationForm, InformationState, Inverses
from convexdesign.problem import DesignProblem
from convexdesign.typing import Floats, Indices

__all__ = [
    "Component",
    "ComponentGroup",
    "GroupState",
    "ManyTargets",
    "component_of",
    "curvature",
    "evaluated",
    "exact_values",
    "grouped",
    "more_targets",
    "multipliers_moved",
]

# Targets are looked at all at once where they are no more than this, and so many more of the worst in each round.
ALL_TARGETS, MORE_TARGETS = 64, 24
# Targets with less than this share of the decision, and above the least by more, leave.
IDLE = 1e-9


class ManyTargets(Protocol):
    """Targets of which the worst few are asked for."""

    def worst(self, factor: Floats, k: int = 1) -> tuple[Indices, Floats]:
        """The k targets with the largest |F'v|^2, largest first, and these values; fewer if there are fewer."""
        ...

    def take(self, index: Indices) -> Floats:
        """The vectors at the indices, shape (k, d)."""
        ...


@dataclass(frozen=True, eq=False)
class Component:
    """One information function of `form`, with its vectors L (d, k); A0; log of the best; of many targets where L is from."""

    form: InformationForm
    L: Floats
    held: Floats
    best: float = 0.0
    targets: ManyTargets | None = None


def component_of(problem: DesignProblem, best: float = 0.0) -> Component:
    """The information function of a problem over a list."""
    found = oracle_of(problem).information_form(problem)
    assert found is not None
    form, L = found
    d = problem.arms.d
    held = np.zeros((d, d)) if problem.prior is None else np.asarray(problem.prior)
    if L is not None:
        return Component(form, L, held, best)
    sample = problem.arms.take(np.unique(np.linspace(0, problem.n_arms - 1, 200).astype(int)))
    factor = np.linalg.pinv(np.linalg.qr(sample, mode="r"))
    index, values = problem.targets.worst(factor, min(problem.targets.m, ALL_TARGETS))
    own = problem.targets.take(index[values > 0])
    return Component(form, own.T, held, best, problem.targets if problem.targets.m > ALL_TARGETS else None)


@dataclass(frozen=True, eq=False)
class ComponentGroup:
    """Components of one form and shape: their numbers (K,), L (K, d, k), A0 (K, d, d), best (K,)."""

    form: InformationForm
    numbers: Indices
    L: Floats
    held: Floats
    best: Floats

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return self.L.shape[1]


def grouped(components: Sequence[Component]) -> list[ComponentGroup]:
    """Components of the same form and shape together."""
    shapes: dict[tuple[InformationForm, tuple[int, ...]], list[int]] = {}
    for k, c in enumerate(components):
        shapes.setdefault((c.form, c.L.shape), []).append(k)
    out = []
    for (form, _), numbers in shapes.items():
        own = [components[k] for k in numbers]
        L, held = np.stack([c.L for c in own]), np.stack([c.held for c in own])
        out.append(ComponentGroup(form, np.array(numbers), L, held, np.array([c.best for c in own])))
    return out


@dataclass(frozen=True, eq=False)
class GroupState:
    """A group at weights.

    values, exact, levels (K,): those of the form, less the logarithm of the best; columns V (K, d, c); held <VV', A0> (K,);
    error (K,); half R (K, d, d) with R'R = A^-1; state: what the form keeps for its second derivatives, at its smoothing nu.
    """

    values: Floats
    exact: Floats
    levels: Floats
    columns: Floats
    held: Floats
    error: Floats
    half: Floats
    state: InformationState
    nu: Floats

    def slopes(self, Y: Floats) -> Floats:
        """The derivatives of the values by the weights of rows Y (K, n, d): (K, n)."""
        return np.asarray(np.sum((Y @ self.columns) ** 2, axis=2))


def evaluated(group: ComponentGroup, Y: Floats, w: Floats, nu: Floats | float = 1e-9) -> GroupState | None:
    """The group where row i of Y (K, n, d) has weight w_i; None where something wanted is not measured."""
    parts = Inverses.of(np.swapaxes(Y, 1, 2) @ (w[:, None] * Y) + group.held)
    if parts is None:
        return None
    smoothing = np.broadcast_to(np.asarray(nu, dtype=float), group.numbers.shape)
    try:
        found = group.form.at(parts, group.L, smoothing)
    except np.linalg.LinAlgError:
        return None
    held = np.sum(found.columns * (group.held @ found.columns), axis=(1, 2))
    exact, levels = found.exact - group.best, found.levels - group.best
    return GroupState(
        found.values - group.best, exact, levels, found.columns, held, found.error, parts.half, found, smoothing
    )


def curvature(group: ComponentGroup, state: GroupState, Y: Floats, share: Floats) -> Floats:
    """sum_k share_k times the second derivatives of the values by the weights, (n, n)."""
    return group.form.curvature(state.state, Y, Y @ np.swapaxes(state.half, 1, 2), share, state.nu)


def multipliers_moved(group: ComponentGroup, state: GroupState, Y: Floats, step: Floats) -> GroupState:
    """The state with what proves the bound as it is, to first order, after a step of the weights."""
    found = group.form.moved(state.state, Y, step, state.nu)
    if found is None:
        return state
    levels, columns = found
    held = np.sum(columns * (group.held @ columns), axis=(1, 2))
    return replace(state, levels=levels - group.best, columns=columns, held=held)


def exact_values(
    components: Sequence[Component], groups: Sequence[ComponentGroup], states: Sequence[GroupState]
) -> Floats:
    """log Phi_j less that of the best, in their order: of all targets where those at hand are some of them."""
    out = np.empty(len(components))
    for group, state in zip(groups, states):
        for place, k in enumerate(group.numbers):
            out[k] = state.exact[place]
            targets = components[k].targets
            if targets is not None:
                worst = float(targets.worst(state.half[place].T, 1)[1][0])
                out[k] = min(out[k], -float(np.log(worst)) - components[k].best)
    return out


def more_targets(
    components: Sequence[Component], groups: Sequence[ComponentGroup], states: Sequence[GroupState], room: float
) -> tuple[list[Component], bool]:
    """Components with the targets that decide: the worst of all come, those that decide nothing leave; whether any came.

    room: how far, in logarithms, a target may be from the worst and still be one that may decide.
    """
    out, grew = list(components), False
    for group, state in zip(groups, states):
        for place, k in enumerate(group.numbers):
            own = components[k]
            if own.targets is None:
                continue
            index, values = own.targets.worst(state.half[place].T, MORE_TARGETS)
            at_hand = np.exp(-state.state.exact[place])
            new = own.targets.take(index[values > at_hand * (1.0 + room / 10.0)]).T
            if not new.shape[1]:
                continue
            f = -np.log(np.sum((state.half[place] @ own.L) ** 2, axis=0))
            omega = state.state.corners[1][place]
            keep = (omega > IDLE) | (f < f.min() + 0.3)
            out[k] = replace(own, L=np.hstack([own.L[:, keep], new]))
            grew = True
    return out, grew
