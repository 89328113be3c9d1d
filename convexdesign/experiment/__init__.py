"""Experiments that run for weeks: durable ask/tell on an append-only log in one SQLite file."""

from typing import Any

from convexdesign.experiment.check import Report, check
from convexdesign.experiment.experiment import Experiment
from convexdesign.experiment.ledger import Phase
from convexdesign.experiment.recover import Recovery, recover
from convexdesign.experiment.status import Standing
from convexdesign.experiment.validation import TellResult

__all__ = ["Experiment", "Phase", "Recovery", "Report", "Standing", "TellResult", "check", "recover"]


def __getattr__(name: str) -> Any:
    if name == "Receipt":
        import warnings

        message = "Receipt is deprecated since version 0.2 and will be removed in 0.4: use TellResult"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return TellResult
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
