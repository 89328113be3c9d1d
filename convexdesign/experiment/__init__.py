"""Experiments that run for weeks: durable ask/tell on an append-only log in one SQLite file."""

from convexdesign.deprecation import renamed
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
__getattr__ = renamed(__name__, RENAMED, since="0.2", removed="0.4")
