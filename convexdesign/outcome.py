"""What a solver hands back: weights, a dual certificate, why it stopped, and what it cost. Solvers know no designs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from convexdesign.certificate import Certificate, DualCertificate, stronger
from convexdesign.problem import Canonical
from convexdesign.typing import Floats

__all__ = ["FEASIBILITY_TOLERANCE", "Outcome", "Report", "Snapshot", "Stats", "Status", "better_of", "status_of"]


# Weights that miss a constraint of W by more than this share are not certified, whatever their value.
FEASIBILITY_TOLERANCE = 1e-8


class Status(Enum):
    """How a solve ended, decided from the certificate alone; the value says what to do about it."""

    CERTIFIED = "the certified gap is within the tolerance asked for"
    ITERATION_LIMIT = "the iteration limit came first: raise max_iter, or accept the gap reported"
    TIME_LIMIT = "the time limit came first: raise time_limit, or accept the gap reported"
    STALLED = "no method made further progress: accept the gap reported, raise tol, or rescale the problem"


@dataclass(frozen=True)
class Snapshot:
    """One line of a solver's history; value and bound are in the user's units and refer to one iterate."""

    seconds: float
    iteration: int
    value: float
    bound: float
    gap: float
    support: int
    targets: int


@dataclass(frozen=True)
class Stats:
    """What a solve cost: the method that ran, iterations, passes over all arms, seconds, and the history."""

    method: str
    formulation: str | None = None
    backend: str | None = None
    iterations: int = 0
    passes: float = 0.0
    seconds: float = 0.0
    history: tuple[Snapshot, ...] = ()


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a solver hands back: weights (n,) in the user's order, a dual certificate for the bound, and why it stopped.

    `ended` is the limit that was reached, or None when the solver believes that it is done; interior: whether weights that
    should be zero are only small. Nothing in it is trusted: the certificate is computed from the data afterwards.
    """

    weights: Floats
    dual: DualCertificate | None
    ended: Status | None
    stats: Stats
    interior: bool = False


Report = Callable[[Snapshot], None]


def status_of(certificate: Certificate, tol: float, ended: Status | None = None) -> Status:
    """CERTIFIED when the weights lie in W and the proven gap is within tol; otherwise the limit that was reached."""
    if _standing(certificate) <= (False, tol):
        return Status.CERTIFIED
    return Status.STALLED if ended in (None, Status.CERTIFIED) else ended


def better_of(first: Certificate, second: Certificate, canonical: Canonical) -> tuple[Certificate, bool]:
    """The certificate of the better of two designs of one problem, with the better bound, and whether it is the second."""
    one, other = stronger(first, second, canonical), stronger(second, first, canonical)
    return (other, True) if _standing(other) < _standing(one) else (one, False)


def _standing(certificate: Certificate) -> tuple[bool, float]:
    """Weights outside W come last, then by gap."""
    return certificate.feasibility > FEASIBILITY_TOLERANCE, certificate.gap
