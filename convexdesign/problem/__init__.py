"""Design problems as values: arms and targets as oracles, criteria, the feasible weights, and the canonical form."""

from convexdesign.arms.blocks import BlockArms
from convexdesign.arms.source import Arms, ArrayArms, ScaledArms
from convexdesign.problem.canonical import Canonical, canonicalise
from convexdesign.problem.criterion import Criterion
from convexdesign.problem.pairs import PairTargets
from convexdesign.problem.problem import DesignProblem
from convexdesign.problem.targets import Targets, VectorTargets
from convexdesign.problem.weights import WeightSet

__all__ = [
    "Arms",
    "ArrayArms",
    "BlockArms",
    "Canonical",
    "Criterion",
    "DesignProblem",
    "PairTargets",
    "ScaledArms",
    "Targets",
    "VectorTargets",
    "WeightSet",
    "canonicalise",
]
