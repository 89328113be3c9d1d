"""Optimal allocation of measurements by convex programming, with a proof of how good every answer is.

>>> import convexdesign as cd
>>> problem = cd.DesignProblem.xy_allocation([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], noise_variance=[1.0, 2.0, 1.0])
>>> design = cd.solve(problem)
>>> design.status.name
'CERTIFIED'
"""

from convexdesign.certificate import Certificate
from convexdesign.design import Design, Status
from convexdesign.errors import (
    ConvergenceWarning,
    ConvexDesignError,
    InputError,
    SolverError,
    UnidentifiableError,
)
from convexdesign.problem import DesignProblem
from convexdesign.solve import solve
from convexdesign.verify import Verification, verify

__all__ = [
    "Certificate",
    "ConvergenceWarning",
    "ConvexDesignError",
    "Design",
    "DesignProblem",
    "InputError",
    "SolverError",
    "Status",
    "UnidentifiableError",
    "Verification",
    "solve",
    "verify",
]

__version__ = "0.1.0"
