"""What a problem was made of: the arguments of its constructor, as they were read."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from convexdesign.arms.read import LabelledVectors
from convexdesign.typing import Floats

__all__ = ["Stated"]


@dataclass(frozen=True, eq=False)
class Stated:
    """The arguments by name, None where a kind does not take one or it was not given.

    noise_variance, costs and constraints are fields of the problem itself. A problem restated in other coordinates keeps what
    it was stated with. lifted is no argument: whether the problem's arms are phi(x) of the arms x given.
    """

    arms: LabelledVectors
    items: LabelledVectors | None = None
    targets: LabelledVectors | None = None
    region: LabelledVectors | None = None
    theta: Floats | None = None
    threshold: float | None = None
    direction: Floats | None = None
    interest: Floats | None = None
    M: Floats | None = None
    existing_counts: Floats | None = None
    prior_information: Floats | None = None
    n_new: float | None = None
    min_weight: Any = None
    max_weight: Any = None
    inequalities: tuple[Any, Any] | None = None
    lifted: bool = False

    def arguments(self) -> dict[str, Any]:
        """Those that were given, by name: `KINDS[kind].constructor(**arguments)` makes the problem again."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "lifted"}
        return {name: value for name, value in named.items() if value is not None}
