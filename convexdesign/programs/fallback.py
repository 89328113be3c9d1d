"""What to try, in order, until the certificate is satisfied: tighter accuracies, other formulations, another backend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from convexdesign.errors import InputError
from convexdesign.programs.backends import ACCURACIES

__all__ = ["SolverAttempt", "fallback_sequence"]


@dataclass(frozen=True)
class SolverAttempt:
    """One way to solve a restricted program."""

    formulation: str
    backend: str
    accuracy: float


def fallback_sequence(
    names: Iterable[str], by_speed: Iterable[str], formulation: str | None = None, backend: str | None = None
) -> tuple[SolverAttempt, ...]:
    """The attempts for a criterion with these formulations, and those worth trying; a name given leaves no other choice.

    Raises InputError when the formulation named is not one of the criterion's.
    """
    names = tuple(names)
    if formulation is not None and formulation not in names:
        raise InputError(
            f"formulation {formulation!r} does not fit this problem (its criterion and constraints on the weights); "
            f"choose one of {', '.join(sorted(names))}, or leave it out"
        )
    order = (formulation,) if formulation is not None else tuple(by_speed)
    backends = (backend,) if backend is not None else tuple(ACCURACIES)
    # Only the first formulation is worth a coarse try: targets can be found with little accuracy.
    return tuple(
        SolverAttempt(name, solver, accuracy)
        for solver in backends
        for k, name in enumerate(order)
        for accuracy in ACCURACIES[solver][min(k, 1) :]
    )
