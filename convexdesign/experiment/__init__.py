"""Experiments that run for weeks: durable ask/tell on an append-only log in one SQLite file."""

from convexdesign.experiment.admission import Receipt
from convexdesign.experiment.check import Report, check
from convexdesign.experiment.experiment import Experiment
from convexdesign.experiment.ledger import Phase
from convexdesign.experiment.recover import Recovery, recover
from convexdesign.experiment.status import Standing

__all__ = ["Experiment", "Phase", "Receipt", "Recovery", "Report", "Standing", "check", "recover"]
