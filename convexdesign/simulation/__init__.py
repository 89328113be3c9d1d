"""Simulated worlds for ask/tell algorithms, single runs, and replications that any machine repeats exactly."""

from convexdesign.simulation.comparison import compare, comparison_rows, comparison_table
from convexdesign.simulation.environment import LinearEnvironment
from convexdesign.simulation.expectation import expected_samples
from convexdesign.simulation.pulls import Pulls, PullsItself
from convexdesign.simulation.replication import (
    AsksAndTells,
    Pullable,
    ReplicationError,
    replicate,
    replicate_one,
    replication_seed,
    run_replications,
    simulate,
)

__all__ = [
    "AsksAndTells",
    "LinearEnvironment",
    "Pullable",
    "Pulls",
    "PullsItself",
    "ReplicationError",
    "compare",
    "comparison_rows",
    "comparison_table",
    "expected_samples",
    "replicate",
    "replicate_one",
    "replication_seed",
    "run_replications",
    "simulate",
]
