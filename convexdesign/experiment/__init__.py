"""Experiments that run for weeks: durable ask/tell on an append-only log in one SQLite file."""

from typing import Any

from convexdesign.experiment.checking import Report, check
from convexdesign.experiment.estimates import Difference, ExperimentEstimates
from convexdesign.experiment.experiment import Experiment
from convexdesign.experiment.history import RoundView
from convexdesign.experiment.ledger import Phase
from convexdesign.experiment.listing import ExperimentEntry, experiments_in
from convexdesign.experiment.recovery import Recovery, recover
from convexdesign.experiment.status import ExperimentStatus
from convexdesign.experiment.validation import TellResult

__all__ = [
    "Difference",
    "Experiment",
    "ExperimentEntry",
    "ExperimentEstimates",
    "ExperimentStatus",
    "Phase",
    "Recovery",
    "Report",
    "RoundView",
    "TellResult",
    "check",
    "experiments_in",
    "recover",
]

RENAMED = {"Receipt": TellResult, "Standing": ExperimentStatus}


def __getattr__(name: str) -> Any:
    if name in RENAMED:
        import warnings

        new = RENAMED[name]
        message = f"{name} is deprecated since version 0.2 and will be removed in 0.4: use {new.__name__}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return new
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
