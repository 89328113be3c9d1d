"""Frank-Wolfe methods: the fully corrective one for large sets of arms, and the classic ones for comparison; an interior point
method for smooth criteria with bounds on the weights."""

from convexdesign.frankwolfe.away import away
from convexdesign.frankwolfe.bounded_design import interior_point
from convexdesign.frankwolfe.corrective_minimax import correct_minimax
from convexdesign.frankwolfe.fully_corrective import frank_wolfe
from convexdesign.frankwolfe.multiplicative import multiplicative
from convexdesign.frankwolfe.vanilla import vanilla

__all__ = ["away", "correct_minimax", "frank_wolfe", "interior_point", "multiplicative", "vanilla"]
