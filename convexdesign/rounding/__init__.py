"""From weights to whole numbers of pulls, on arrays in whitened coordinates; every result is re-evaluated."""

from convexdesign.rounding.apportion import apportion, round_up
from convexdesign.rounding.criterion import (
    AverageVariance,
    Criterion,
    MatrixTargets,
    Minimax,
    SphereTargets,
    TargetOracle,
    Targets,
    TransformedTargets,
    Volume,
)
from convexdesign.rounding.exchange import exchange
from convexdesign.rounding.limits import Limits, limits
from convexdesign.rounding.optimal import Proven, prove_optimal
from convexdesign.rounding.regret import regret, regret_guarantee
from convexdesign.rounding.sparsify import sparsify
from convexdesign.rounding.whole import Method, Whole, round_weights

__all__ = [
    "AverageVariance",
    "Criterion",
    "Limits",
    "MatrixTargets",
    "Method",
    "Minimax",
    "Proven",
    "SphereTargets",
    "TargetOracle",
    "Targets",
    "TransformedTargets",
    "Volume",
    "Whole",
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
