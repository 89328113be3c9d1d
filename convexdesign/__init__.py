"""Optimal allocation of measurements by convex programming, with a proof of how good every answer is.

>>> import convexdesign as cd
>>> problem = cd.DesignProblem.xy_allocation([[1, 0], [0, 1], [0.6, 0.8]], noise_variance=[1.0, 2.0, 1.0])
>>> cd.solve(problem).status.name
'CERTIFIED'
"""

import logging
from importlib import import_module
from typing import Any

from convexdesign.certificate import Certificate
from convexdesign.design import Design, ExactDesign, Status
from convexdesign.efficiencies import efficiencies
from convexdesign.errors import (
    ConflictError,
    ConvergenceWarning,
    ConvexDesignError,
    DamagedStoreError,
    InputError,
    SolverError,
    StoreError,
    UnidentifiableError,
)
from convexdesign.matching import match_design
from convexdesign.problem import BlockArms, DesignProblem
from convexdesign.solve import solve
from convexdesign.verify import Improvement, Verification, verify

__all__ = [
    "BlockArms",
    "Certificate",
    "ConflictError",
    "ConvergenceWarning",
    "ConvexDesignError",
    "DamagedStoreError",
    "Design",
    "DesignProblem",
    "ExactDesign",
    "Improvement",
    "InputError",
    "SolverError",
    "Status",
    "StoreError",
    "UnidentifiableError",
    "Verification",
    "efficiencies",
    "match_design",
    "solve",
    "verify",
]

__version__ = "0.1.0"

# The application decides what becomes of what is logged.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# Imported on first use, so that `import convexdesign` costs NumPy and little more.
_SUBPACKAGES = ("estimation", "experiment", "features", "identification", "instances", "simulation")
_NAMES = {"Experiment": "convexdesign.experiment"}


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"convexdesign.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'convexdesign' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBPACKAGES, *_NAMES})
