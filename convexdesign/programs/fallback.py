"""What to try, in order, until the certificate is satisfied: tighter accuracies, other formulations, another backend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from convexdesign.errors import InputError
from convexdesign.programs.backends import ACCURACIES

__all__ = ["SolverAttempt", "fallback_sequence"]

# Measured with Clarabel: a semidefinite cone of order r + 1 costs about r^6, whatever the number of arms, and
# beyond this rank it is out of the question; second-order cones are as many as arms times targets.
SDP_RANK = 14
SDP_PREFERRED_RANK = 10
SDP_PREFERRED_ARMS = 150


@dataclass(frozen=True)
class SolverAttempt:
    """One way to solve a restricted program."""

    formulation: str
    backend: str
    accuracy: float


def fallback_sequence(
    names: Iterable[str], rank: int, n: int, formulation: str | None = None, backend: str | None = None
) -> tuple[SolverAttempt, ...]:
    """The attempts for a criterion with these formulations, for n arms of this rank; a name given leaves no other choice.

    Raises InputError when the formulation named is not one of the criterion's.
    """
    names = tuple(names)
    if formulation is not None and formulation not in names:
        raise InputError(
            f"formulation {formulation!r} does not fit this problem (its criterion and constraints on the weights); "
            f"choose one of {', '.join(sorted(names))}, or leave it out"
        )
    order = (formulation,) if formulation is not None else _by_speed(names, rank, n)
    backends = (backend,) if backend is not None else tuple(ACCURACIES)
    # Only the first formulation is worth a coarse try: targets can be found with little accuracy.
    return tuple(
        SolverAttempt(name, solver, accuracy)
        for solver in backends
        for k, name in enumerate(order)
        for accuracy in ACCURACIES[solver][min(k, 1) :]
    )


def _by_speed(names: tuple[str, ...], rank: int, n: int) -> tuple[str, ...]:
    """The formulations worth trying, the fastest for this shape first."""
    if "socp" not in names:
        return names
    if rank > SDP_RANK:
        return tuple(name for name in ("socp", "dual-socp") if name in names)
    cones = ("socp", "dual-socp", "sdp")
    if rank <= SDP_PREFERRED_RANK and n > SDP_PREFERRED_ARMS:
        cones = ("sdp", "socp", "dual-socp")
    return tuple(name for name in cones if name in names)
