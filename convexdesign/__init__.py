"""Optimal allocation of measurements by convex programming, with a proof of how good every answer is.

>>> import convexdesign as cd
>>> problem = cd.DesignProblem.xy_allocation([[1, 0], [0, 1], [0.6, 0.8]], noise_variance=[1.0, 2.0, 1.0])
>>> cd.solve(problem).status.name
'CERTIFIED'
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from convexdesign.certificate import Certificate
from convexdesign.design import Design, ExactDesign, Status
from convexdesign.efficiency_table import efficiencies
from convexdesign.errors import (
    ConflictError,
    ConvergenceWarning,
    ConvexDesignError,
    DamagedStoreError,
    FormulaWarning,
    InputError,
    MissingExtraError,
    SolverError,
    StoreError,
    UnidentifiableError,
)
from convexdesign.matching import match_design
from convexdesign.problem import BlockArms, DesignProblem
from convexdesign.showing import show_progress
from convexdesign.solving import solve
from convexdesign.verification import Improvement, Verification, verify

if TYPE_CHECKING:
    from convexdesign import (
        estimation,
        experiment,
        explore,
        features,
        identification,
        instances,
        plotting,
        plugin,
        problemfile,
        regions,
        rigorous,
        rounding,
        simulation,
        tables,
    )
    from convexdesign.experiment import Experiment
    from convexdesign.precision import Diagnostics, diagnose
    from convexdesign.regions import Model, Region
    from convexdesign.stratified import StratifiedAllocation, allocate_strata

__all__ = [
    "BlockArms",
    "Certificate",
    "ConflictError",
    "ConvergenceWarning",
    "ConvexDesignError",
    "DamagedStoreError",
    "Design",
    "DesignProblem",
    "Diagnostics",
    "ExactDesign",
    "Experiment",
    "FormulaWarning",
    "Improvement",
    "InputError",
    "MissingExtraError",
    "Model",
    "Region",
    "SolverError",
    "Status",
    "StoreError",
    "StratifiedAllocation",
    "UnidentifiableError",
    "Verification",
    "allocate_strata",
    "diagnose",
    "efficiencies",
    "estimation",
    "experiment",
    "explore",
    "features",
    "identification",
    "instances",
    "match_design",
    "plotting",
    "plugin",
    "problemfile",
    "regions",
    "rigorous",
    "rounding",
    "show_progress",
    "simulation",
    "solve",
    "tables",
    "verify",
]

__version__ = "0.1.0"

# The application decides what becomes of what is logged.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# Names that are imported on first use, with the package that has them.
_LATER = {
    "Diagnostics": "convexdesign.precision",
    "Experiment": "convexdesign.experiment",
    "Model": "convexdesign.regions",
    "Region": "convexdesign.regions",
    "StratifiedAllocation": "convexdesign.stratified",
    "allocate_strata": "convexdesign.stratified",
    "diagnose": "convexdesign.precision",
}


def __getattr__(name: str) -> Any:
    """What is imported on first use, so that `import convexdesign` costs NumPy and little more."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in __all__:
        return import_module(f"convexdesign.{name}")
    raise AttributeError(f"module 'convexdesign' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
