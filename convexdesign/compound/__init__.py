"""Designs that are good for several problems at once: compound and maximin, with one certificate for all of them.

>>> import convexdesign as cd
>>> arms = [[1, -1, 1], [1, 0, 0], [1, 1, 1]]
>>> problems = [cd.DesignProblem.d_optimal(arms), cd.DesignProblem.c_optimal(arms, [0, 1, 0])]
>>> design = cd.solve(cd.DesignProblem.maximin(problems))
>>> design.status.name, [round(float(e), 3) for e in design.efficiencies]
('CERTIFIED', [0.871, 0.871])
"""

from convexdesign.compound.design import CompoundDesign
from convexdesign.compound.problem import CompoundProblem

__all__ = ["CompoundDesign", "CompoundProblem"]
