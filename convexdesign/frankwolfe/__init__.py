"""Frank-Wolfe methods: the fully corrective one for large sets of arms, and the classic ones for comparison."""

from convexdesign.frankwolfe.away import away
from convexdesign.frankwolfe.fully_corrective import frank_wolfe
from convexdesign.frankwolfe.multiplicative import multiplicative
from convexdesign.frankwolfe.vanilla import vanilla

__all__ = ["away", "frank_wolfe", "multiplicative", "vanilla"]
