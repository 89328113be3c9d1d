"""The certificate of any weights, whatever W is: bounds prove themselves, other constraints by the conic programs."""

from __future__ import annotations

from collections.abc import Callable

from convexdesign.certificate import Certificate, DualCertificate, certify
from convexdesign.problem import Canonical
from convexdesign.typing import Floats

__all__ = ["Prover", "prover"]

Prover = Callable[[Floats, DualCertificate | None], Certificate]


def prover(canonical: Canonical, time_left: Callable[[], float | None] = lambda: None) -> Prover:
    """The certificate of weights and dual vectors, with the support function that W needs; time_left: seconds a proof may take.

    Inequalities and DCP constraints are read by the conic programs, which also say so when no weights satisfy them.
    """
    weight_set = canonical.problem.weight_set
    if weight_set.is_box:
        return lambda weights, dual: certify(canonical, weights, dual)
    from convexdesign.programs.constraints import feasible_set

    feasible = feasible_set(weight_set, canonical.problem.arms.n, time_left())

    def prove(weights: Floats, dual: DualCertificate | None) -> Certificate:
        left = time_left()
        violation = feasible.violation(weights, left)
        return certify(canonical, weights, dual, support=lambda q: feasible.support(q, left), feasibility=violation)

    return prove
