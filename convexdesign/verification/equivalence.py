"""The equivalence theorem for given weights: the sensitivity of every arm, and the bound that none exceeds at an optimum.

With any vectors b_j, s_i = sum_j (b_j'y_i)^2 is arm i's sensitivity, and a certificate bounds the optimum by the largest of
them (`convexdesign.certificate`). The vectors here are the design's own, scaled so that the bound is level where the design's
value is: the largest sensitivity then exceeds the bound by exactly the gap that these vectors prove, and a picture without an
arm above the bound is a proof. For minimax the multipliers of the targets are the best there are; for E, the mix of
eigenvectors is the design's own or that of the optimum, whichever proves more.
"""

from __future__ import annotations

import numpy as np

from convexdesign.criteria import Evaluation, oracle_of
from convexdesign.criteria.sensitivities import Sensitivities
from convexdesign.dual_certificate import DualCertificate
from convexdesign.problem import Canonical
from convexdesign.typing import Floats

__all__ = ["Sensitivities", "sensitivities", "unmeasured_shares"]


def sensitivities(canonical: Canonical, at: Evaluation, best: DualCertificate | None) -> Sensitivities:
    """The sensitivities at weights evaluated by `at`; best: what proves the bound on the optimum, where it is known."""
    if best is not None:
        best = DualCertificate(best.targets, best.within(canonical))
    return oracle_of(canonical).sensitivities(canonical, at, best)


def unmeasured_shares(canonical: Canonical, at: Evaluation) -> Floats:
    """The share of each arm's squared length (in coordinates where the arms are round) that the design does not measure."""
    size = canonical.problem.arms.quadratic(canonical.basis)
    lost = canonical.problem.arms.quadratic(at.null)
    return np.asarray(np.divide(lost, size, out=np.zeros_like(size), where=size > 0))
