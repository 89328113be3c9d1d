"""From weights to whole numbers of pulls, on arrays in whitened coordinates; every result is re-evaluated."""

from convexdesign.criteria.average import AverageVariance
from convexdesign.criteria.exchange import MatrixCriterion
from convexdesign.criteria.log_det import Volume
from convexdesign.criteria.worst_target import (
    MatrixTargets,
    Minimax,
    SphereTargets,
    TargetOracle,
    TransformedTargets,
    WorstTargets,
)
from convexdesign.deprecation import renamed
from convexdesign.rounding.apportionment import apportion, round_up
from convexdesign.rounding.count_limits import Limits, limits
from convexdesign.rounding.local_exchange import exchange
from convexdesign.rounding.optimal import Proven, prove_optimal
from convexdesign.rounding.regret_minimisation import regret, regret_guarantee
from convexdesign.rounding.rounded_design import Method, RoundedDesign, round_weights
from convexdesign.rounding.sparsification import sparsify

__all__ = [
    "AverageVariance",
    "Limits",
    "MatrixCriterion",
    "MatrixTargets",
    "Method",
    "Minimax",
    "Proven",
    "RoundedDesign",
    "SphereTargets",
    "TargetOracle",
    "TransformedTargets",
    "Volume",
    "WorstTargets",
    "apportion",
    "exchange",
    "limits",
    "prove_optimal",
    "regret",
    "regret_guarantee",
    "round_up",
    "round_weights",
    "sparsify",
]

RENAMED = {"Targets": WorstTargets, "Whole": RoundedDesign}
__getattr__ = renamed(__name__, RENAMED, since="0.2", removed="0.4")
