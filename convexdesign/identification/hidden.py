"""What the arms that are left cannot tell, after some were withdrawn: which items, and along which directions."""

from __future__ import annotations

import numpy as np

from convexdesign.errors import UnidentifiableError
from convexdesign.estimation.row_space import RowSpace, row_space
from convexdesign.identification.goals import BestArmGoal, Goal, Standing
from convexdesign.typing import Floats

__all__ = ["hidden_directions", "refuse_hidden"]


# More than this are counted, not named.
NAMED = 5
# Outside parts that agree to this share of the items' size are the same.
SAME = 1e-7


def refuse_hidden(arms: Floats, goal: Goal, standing: Standing, whole_span: Floats | None = None) -> None:
    """UnidentifiableError, naming the directions, where undecided items cannot be told apart (or placed) by arms (k, d).

    whole_span: all arms, for an algorithm that needs every direction they span; a direction missing is named too.
    """
    space = row_space(arms)
    names, directions = hidden_directions(space, goal, standing)
    if names:
        listed = "; ".join(f"{name}, along {_text(row)}" for name, row in zip(names[:NAMED], directions))
        more = f"; and {len(names) - NAMED} more" if len(names) > NAMED else ""
        raise UnidentifiableError(f"the arms that are left cannot tell {listed}{more}; no design can")
    if whole_span is not None:
        outside = np.flatnonzero(~space.contains(whole_span))
        if outside.size:
            raise UnidentifiableError(
                f"the arms that are left span {space.rank} of {row_space(whole_span).rank} dimensions, and this "
                f"algorithm needs all; nothing tells of {_text(whole_span[outside[0]])}"
            )


def hidden_directions(space: RowSpace, goal: Goal, standing: Standing) -> tuple[list[str], Floats]:
    """What measurements in a row space leave open among the undecided items: in words, and as directions (k, d).

    Best arm: items whose parts outside the space agree can be told apart; from the largest such class, one item is
    named against every item of the other classes. Level sets: the items themselves.
    """
    items = standing.undecided
    values = goal.values[items]
    if not isinstance(goal, BestArmGoal):
        outside = np.flatnonzero(~space.contains(values))
        return [f"on which side of the threshold item {items[k]} lies" for k in outside], values[outside]
    scaled = values / space.scale
    parts = scaled - (scaled @ space.basis) @ space.basis.T
    size = float(np.linalg.norm(scaled, axis=1).max())
    classes = np.unique(np.round(parts / (SAME * size)), axis=0, return_inverse=True)[1].ravel()
    reference = int(np.argmax(classes == np.bincount(classes).argmax()))
    differences = values - values[reference]
    others = goal.group[items] != goal.group[items[reference]]  # copies need not be told apart
    apart = np.flatnonzero(~space.contains(differences) & others)
    return [f"item {items[k]} from item {items[reference]}" for k in apart], differences[apart]


def _text(direction: Floats) -> str:
    numbers = [f"{value:.4g}" for value in direction[:12]]
    return f"({', '.join(numbers)}{', ...' if direction.size > 12 else ''})"
