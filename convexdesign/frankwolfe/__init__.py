"""Frank-Wolfe methods: the fully corrective one for large sets of arms, and the classic ones for comparison; interior point
methods for smooth criteria and for minimax with bounds on the weights."""

from convexdesign.frankwolfe.bounded import interior_point, is_for
from convexdesign.frankwolfe.classic_methods import classic
from convexdesign.frankwolfe.corrective_minimax import correct_minimax
from convexdesign.frankwolfe.fully_corrective import frank_wolfe
from convexdesign.frankwolfe.tuning import Tuning

__all__ = ["Tuning", "classic", "correct_minimax", "frank_wolfe", "interior_point", "is_for"]
