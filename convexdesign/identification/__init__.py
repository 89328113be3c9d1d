"""Finding the best item or all items above a threshold, with a promise: wrong with probability at most delta.

The promise is for rewards x'theta plus independent noise that is Gaussian, or as an algorithm's `assumption` says.
All algorithms ask and tell: `while not algo.done: batch = algo.ask(); algo.tell(batch, observations)`, then
`algo.result()`. They know the arms, the items and what they are told, never the truth.
"""

from convexdesign.deprecation import renamed
from convexdesign.identification.assumption_checks import GuaranteeWarning
from convexdesign.identification.baselines import OracleAllocation, StaticAllocation
from convexdesign.identification.best_arm import BestArm
from convexdesign.identification.bounds import (
    Complexity,
    complexity,
    lower_bound,
    psi_star,
    rho_star,
    sharp_lower_bound,
    upper_bound,
)
from convexdesign.identification.burn_in import AdaptiveBurnIn, burn_in_budget
from convexdesign.identification.hrage import HRage
from convexdesign.identification.identifier import Identifier
from convexdesign.identification.level_set import LevelSet
from convexdesign.identification.martingale_elimination import MartingaleElimination
from convexdesign.identification.objectives import Objective, true_answer
from convexdesign.identification.rage import GapElimination, Rage
from convexdesign.identification.result import AnswerStatus, Confidence, Result, Round

__all__ = [
    "AdaptiveBurnIn",
    "AnswerStatus",
    "BestArm",
    "Complexity",
    "Confidence",
    "GapElimination",
    "GuaranteeWarning",
    "HRage",
    "Identifier",
    "LevelSet",
    "MartingaleElimination",
    "Objective",
    "OracleAllocation",
    "Rage",
    "Result",
    "Round",
    "StaticAllocation",
    "burn_in_budget",
    "complexity",
    "lower_bound",
    "psi_star",
    "rho_star",
    "sharp_lower_bound",
    "true_answer",
    "upper_bound",
]

RENAMED = {"Status": AnswerStatus}
__getattr__ = renamed(__name__, RENAMED, since="0.2", removed="0.4")
