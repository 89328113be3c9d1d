"""Thirty thousand calls with a wrong argument: every public function answers, or says in words what is wrong.

Each call is a valid one of the public Python interface in which one argument, sometimes two, is exchanged for something of
another type or shape: text, None, complex numbers, objects, ragged lists, empty or masked arrays, dates, functions, numbers
beyond all bounds. It passes where it returns or raises a ConvexDesignError; TypeErrors and the like of whatever lies below are
failures, and so is taking longer than SECONDS.

    python validation/fuzz_calls.py docs/validation --count 30000 --seed 0 --jobs 2
    python validation/fuzz_calls.py --only 123          # one call again, with its traceback
"""

from __future__ import annotations

import datetime
import io
import os
import random
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse
from counting import markdown
from fuzz_readers import Outcome, TooLongError, command, fuzz, limited

import convexdesign as cd

__all__ = ["Call", "calls", "judge", "run"]

COUNT = 30_000
SECONDS = 20

ARMS = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
EYE = [[1.0, 0.0], [0.0, 1.0]]


@dataclass(frozen=True)
class Call:
    """A public function with valid arguments, by name."""

    function: Callable[..., Any]
    arguments: dict[str, Any]


def wrong_values() -> tuple[Any, ...]:
    """Of every type that a beginner, or a bug, may hand over. New ones for each call, since some are used up."""
    return (
        None,
        True,
        False,
        0,
        -1,
        3,
        1.5,
        float("nan"),
        float("inf"),
        -float("inf"),
        10**400,
        -(10**30),
        1e308,
        1 + 2j,
        "",
        "text",
        "1",
        "a\0b",
        b"bytes",
        object(),
        int,
        len,
        lambda *given: given,
        [],
        (),
        {},
        set(),
        {1, 2, 3},
        [[]],
        [[1.0], [1.0, 2.0]],
        [[1.0, "a"], [2.0, 3.0]],
        [None, None, None],
        ["a", "b", "c"],
        [1, 2, 3],
        [0.2, 0.3, 0.5],
        [1.0, float("nan"), 2.0],
        [1.0, float("inf"), 2.0],
        [1.0, -1.0, 2.0],
        [1e308, 1e308, 1e308],
        [1e-320, 1.0, 1.0],
        [10**400, 1, 1],
        [True, False, True],
        [Decimal("0.5"), Decimal("0.25"), Decimal("NaN")],
        [[1, 2], [3, 4]],
        [[float("nan"), 0.0], [0.0, 1.0], [0.6, 0.8]],
        [[0.0, float("inf")], [0.0, 1.0], [0.6, 0.8]],
        [[1e308, 0.0], [0.0, 1.0], [0.6, 0.8]],
        [[1e200, 0.0], [0.0, 1e200]],
        [[-1.0, 0.0], [0.0, -1.0]],
        [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
        [[[1.0]]],
        [object()] * 3,
        {"a": 1.0, "b": 2.0},
        {"G": [[1.0, 1.0, 1.0]], "h": [1.0]},
        range(3),
        iter([1.0, 2.0, 3.0]),
        (x for x in (1.0, 2.0, 3.0)),
        Decimal("0.5"),
        Fraction(1, 3),
        datetime.datetime(2020, 1, 1),
        Path("nowhere.csv"),
        np.array(1.0),
        np.array("a"),
        np.array([]),
        np.zeros((0, 2)),
        np.zeros((2, 0)),
        np.zeros((3, 2, 2)),
        np.ones((3, 2), dtype=complex),
        np.array([[1, None], [2, 3], [4, 5]], dtype=object),
        np.array([1, 2, 3], dtype="datetime64[D]"),
        np.array([1, 2, 3], dtype="timedelta64[s]"),
        np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False]),
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        np.array(["1", "2", "3"]),
        np.array([1, 2, 3], dtype=np.uint64) + np.uint64(2**63),
        np.array([1.0, 2.0, 3.0], dtype=np.longdouble),
        np.ones((3, 1)),
        scipy.sparse.csr_array(np.eye(2)),
        np.float32(0.5),
        np.int8(3),
        np.bool_(True),
        np.datetime64("NaT"),
        pd.NA,
        np.random.default_rng(0),
        pd.DataFrame(),
        pd.DataFrame({"a": ["x", "y", "z"]}),
        pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["p", "q"]),
        pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
        pd.Series([1.0, 2.0, 3.0], index=["p", "p", "q"]),
        pd.Series(["x", "y", "z"]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.date_range("2020-01-01", periods=3),
        pl.DataFrame({"a": ["x"], "b": [[1, 2]]}),
        pl.Series("a", [1.0, 2.0, 3.0]),
        pl.LazyFrame({"a": [1.0]}),
        cd.DesignProblem,
        cd.DesignProblem.d_optimal(ARMS),
        cd.Status.CERTIFIED,
    )


@cache
def calls() -> dict[str, Call]:
    """Valid calls of the public interface, small enough to take milliseconds."""
    P, F, S = cd.DesignProblem, cd.features, cd.simulation
    E, I, X = cd.estimation, cd.identification, cd.Experiment  # noqa: E741
    problem = P.d_optimal(ARMS)
    design = cd.solve(problem)
    verified = cd.verify(problem, weights=[0.5, 0.25, 0.25])
    observations = E.Observations(np.array([3, 2, 2]), np.array([1.0, 0.5, 0.25]), np.array([0.5, 0.25, 0.1]))
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "c": ["u", "v", "u"]})
    spec = F.model_matrix(table, "center(a) + c").spec
    assert spec is not None
    begun = I.Rage(ARMS, variance_bounds=(1.0, 2.0))
    begun.ask()
    first = E.Observations.from_rewards(3, [0, 0, 1], [1.0, 2.0, 0.5])
    fit = E.least_squares(ARMS, observations)
    model = S.simulate(E.Head(ARMS, 200, (0.5, 2.0)), S.LinearEnvironment(ARMS, [1.0, 0.2], [1.0, 1.0, 1.0], rng=0))
    common: dict[str, Any] = {
        "noise_variance": [1.0, 2.0, 1.0],
        "costs": [1.0, 1.0, 2.0],
        "existing_counts": [1, 0, 2],
        "n_new": 5.0,
        "min_weight": [0.1, 0.0, 0.1],
        "max_weight": 0.8,
        "inequalities": ([[1.0, 1.0, 0.0]], [0.9]),
    }
    prior = {"prior_information": EYE, "n_new": 5}
    ident: dict[str, Any] = {"arms": ARMS, "items": ARMS, "objective": I.BestArm(), "delta": 0.05}
    bounds = {"variance_bounds": (0.5, 2.0)}
    truth: dict[str, Any] = {"theta": [1.0, 0.2], "noise_variance": [1.0, 1.0, 1.0]}
    return {
        "DesignProblem": Call(P, {"arms": ARMS, "targets": EYE, **common}),
        "g_optimal": Call(P.g_optimal, {"arms": ARMS, **common}),
        "variance_g_optimal": Call(P.variance_g_optimal, {"arms": ARMS, "noise_variance": 2.0}),
        "xy_allocation": Call(P.xy_allocation, {"arms": ARMS, "items": ARMS}),
        "level_set_allocation": Call(P.level_set_allocation, {"arms": ARMS, "items": ARMS}),
        "best_arm_oracle": Call(P.best_arm_oracle, {"arms": ARMS, "items": ARMS, "theta": [1.0, 0.25]}),
        "level_set_oracle": Call(
            P.level_set_oracle, {"arms": ARMS, "items": ARMS, "theta": [1.0, 0.25], "threshold": 0.5}
        ),
        "c_optimal": Call(P.c_optimal, {"arms": ARMS, "direction": [1.0, -1.0]}),
        "d_optimal": Call(P.d_optimal, {"arms": ARMS, **prior}),
        "ds_optimal": Call(P.ds_optimal, {"arms": ARMS, "interest": [1]}),
        "a_optimal": Call(P.a_optimal, {"arms": ARMS, **common}),
        "i_optimal": Call(P.i_optimal, {"arms": ARMS, "region": EYE}),
        "average_variance": Call(P.average_variance, {"arms": ARMS, "M": EYE}),
        "e_optimal": Call(P.e_optimal, {"arms": ARMS, **prior}),
        "solve": Call(
            cd.solve,
            {"problem": problem, "method": "auto", "tol": 1e-4, "max_iter": 50, "time_limit": 5.0, "warm_start": design}
            | {"formulation": None, "backend": None, "verbose": False, "progress": False},
        ),
        "verify": Call(
            cd.verify, {"problem": problem, "weights": [0.5, 0.25, 0.25], "counts": None, "rigorous": False}
        ),
        "verify counts": Call(cd.verify, {"problem": problem, "counts": [2, 1, 1]}),
        "efficiencies": Call(cd.efficiencies, {"arms": ARMS, "weights": [0.5, 0.25, 0.25], "noise_variance": 1.0}),
        "match_design": Call(
            cd.match_design, {"arms": ARMS, "points": [[1.0, 0.0], [0.0, 1.0]], "weights": [0.5, 0.5], "tol": 1e-6}
        ),
        "match_design by column": Call(
            cd.match_design,
            {
                "arms": ARMS,
                "points": pd.DataFrame({"x1": [1.0], "x2": [0.0], "n": [3]}),
                "column": "n",
                "measure": "counts",
            },
        ),
        "variance": Call(design.variance, {"v": [1.0, 0.0]}),
        "round": Call(
            design.round, {"n": 7, "method": "auto", "min_counts": [1, 0, 0], "max_counts": 6, "time_limit": 5.0}
        ),
        "Verification.round": Call(verified.round, {"n": 7, "method": "apportion", "max_counts": [6, 6, 6]}),
        "Verification.is_optimal": Call(verified.is_optimal, {"tol": 1e-6}),
        "Verification.worst_arms": Call(verified.worst_arms, {"k": 2}),
        "Verification.worst_targets": Call(verified.worst_targets, {"k": 2}),
        "Verification.improvement": Call(verified.improvement, {"share": 0.01}),
        "Verification.summary": Call(verified.summary, {"tol": 1e-6}),
        "Design.load": Call(cd.Design.load, {"path": "nowhere.json"}),
        "Design.save": Call(design.save, {"path": "/nowhere/design.json"}),
        "vech": Call(F.vech, {"S": EYE}),
        "unvech": Call(F.unvech, {"v": [1.0, 2.0, 3.0]}),
        "duplication_matrix": Call(F.duplication_matrix, {"d": 3}),
        "phi": Call(F.phi, {"arms": ARMS}),
        "full_factorial": Call(F.full_factorial, {"levels": [2, [0.0, 1.0]]}),
        "simplex_lattice": Call(F.simplex_lattice, {"components": 3, "degree": 2}),
        "polynomial": Call(F.polynomial, {"factors": ARMS, "degree": 2}),
        "interactions": Call(F.interactions, {"factors": ARMS, "order": 2}),
        "model_matrix": Call(F.model_matrix, {"table": table, "formula": "a*c"}),
        "ModelSpec.apply": Call(spec.apply, {"table": table}),
        "read_table": Call(
            _tables().read_table, {"path": "nowhere.csv", "delimiter": ",", "decimal": ".", "encoding": None}
        ),
        "read_vector": Call(_tables().read_vector, {"path": "nowhere.csv", "n": 3, "names": ["a", "b", "c"]}),
        "load_problem": Call(_problemfile().load_problem, {"path": "nowhere.toml"}),
        "find": Call(_problemfile().find, {"name": "soare-xy"}),
        "check_certificate": Call(_problemfile().check_certificate, {"certificate": "no.json", "problem": "no.toml"}),
        "Observations": Call(E.Observations, {"count": [3, 2, 0], "mean": [1.0, 2.0, 0.0], "m2": [0.5, 0.1, 0.0]}),
        "from_rewards": Call(E.Observations.from_rewards, {"n_arms": 3, "arms": [0, 1, 1], "rewards": [1.0, 2.0, 3.0]}),
        "Observations.empty": Call(E.Observations.empty, {"n_arms": 3}),
        "Observations.merge": Call(observations.merge, {"other": observations}),
        "Observations.of_arms": Call(observations.of_arms, {"arms": [0, 2]}),
        "observations_from_frame": Call(
            E.observations_from_frame,
            {"frame": pd.DataFrame({"arm": [0, 1], "reward": [1.0, 2.0]}), "arms": 3, "arm": "arm", "reward": "reward"},
        ),
        "least_squares": Call(
            E.least_squares,
            {"arms": ARMS, "observations": observations, "noise_variance": [1.0, 1.0, 2.0], "weighted": True}
            | {"covariance": "model"},
        ),
        "chi_square_intervals": Call(E.chi_square_intervals, {"observations": observations, "delta": 0.05}),
        "model_variances": Call(E.model_variances, {"arms": ARMS, "observations": observations, **bounds}),
        "replicate_variances": Call(
            E.replicate_variances, {"arms": ARMS, "observations": observations, **bounds, "delta": 0.05}
        ),
        "plan_head": Call(E.plan_head, {"arms": ARMS, "tol": 1e-3}),
        "Head": Call(E.Head, {"arms": ARMS, "budget": 200, "variance_bounds": (0.5, 2.0)}),
        "variance_range": Call(E.variance_range, {"variance_bounds": (0.5, 2.0)}),
        "HRage": Call(I.HRage, {**ident, **bounds, "burn_in": "sharp", "known_variances": [1.0, 1.0, 1.0]}),
        "Rage": Call(I.Rage, {**ident, **bounds, "epsilon": 0.1, "max_samples": 1000, "rng": 0}),
        "OracleAllocation": Call(I.OracleAllocation, {**ident, **truth, "heteroskedastic": True}),
        "MartingaleElimination": Call(I.MartingaleElimination, {**ident, **bounds, "known_variances": None, "rng": 0}),
        "StaticAllocation": Call(I.StaticAllocation, {**ident, **bounds, "design": "xy"}),
        "LevelSet": Call(
            lambda threshold: I.Rage(ARMS, objective=I.LevelSet(threshold), variance_bounds=(1, 2)), {"threshold": 0.5}
        ),
        "lower_bound": Call(I.lower_bound, {**ident, **truth}),
        "upper_bound": Call(I.upper_bound, {**ident, **truth, "burn_in": 10}),
        "LinearEnvironment": Call(S.LinearEnvironment, {"arms": ARMS, **truth, "noise": "gaussian", "rng": 0}),
        "pull": Call(S.LinearEnvironment(ARMS, rng=0, **truth).pull, {"counts": [1, 2, 3]}),
        "tell": Call(_tell, {"batch": 0, "observations": observations}),
        "soare": Call(cd.instances.soare, {"omega": 0.5, "kappa": 20}),
        "experiment_1": Call(cd.instances.experiment_1, {"omega": 0.02, "q": 0.4, "objective": "best-arm"}),
        "experiment_2": Call(cd.instances.experiment_2, {"d": 3, "omega": 0.02, "alpha2": 1.0, "beta2": 0.2}),
        "two_spheres": Call(cd.instances.two_spheres, {"d": 3, "outer": 5, "inner": 7, "radius": 0.1, "rng": 0}),
        "multivariate_testing": Call(
            cd.instances.multivariate_testing,
            {"variations": 2, "dimensions": 2, "theta": [0.0, 0.1, 0.2, 0.3], "Sigma": np.eye(4).tolist()}
            | {"objective": "level-set"},
        ),
        "multivariate_dimension": Call(
            cd.instances.multivariate_dimension, {"variations": 2, "dimensions": 3, "interactions": True}
        ),
        "multivariate_layouts": Call(
            cd.instances.multivariate_layouts,
            {"indices": [0, 3, 7], "variations": 2, "dimensions": 3, "interactions": True},
        ),
        "multivariate_arms": Call(
            cd.instances.multivariate_arms, {"variations": 2, "dimensions": 3, "interactions": False, "block": 100}
        ),
        "BlockArms": Call(
            cd.BlockArms,
            {"n": 3, "d": 2, "make": lambda start, stop: np.array(ARMS)[start:stop], "names": list("abc"), "block": 2},
        ),
        "ReplicateEstimator": Call(
            E.ReplicateEstimator, {"arms": ARMS, "budget": 200, **bounds, "rng": 0, "plan": None, "stages": 2}
        ),
        "UniformEstimator": Call(E.UniformEstimator, {"arms": ARMS, "budget": 200, **bounds, "rng": 0}),
        "SeparateArmEstimator": Call(E.SeparateArmEstimator, {"arms": ARMS, "budget": 200, **bounds, "rng": 0}),
        "paper_error_bound": Call(E.paper_error_bound, {"n_arms": 3, "d": 2, "budget": 200, **bounds, "delta": 0.05}),
        "separate_arm_error_bound": Call(
            E.separate_arm_error_bound,
            {"n_chosen": 3, "smallest_singular": 0.5, "longest": 1.0, "pulls": 100, **bounds, "delta": 0.05},
        ),
        "sharp_error_bound": Call(
            E.sharp_error_bound,
            {"arms": ARMS, "stage_1": [9, 9, 9], "stage_2": [9, 9, 9], **bounds, "delta": 0.05, "noise": "gaussian"},
        ),
        "spanning_arms": Call(E.spanning_arms, {"rows": ARMS}),
        "observations_from_csv": Call(
            E.observations_from_csv,
            {"source": io_of("arm,reward\n0,1.5\n2,2.5\n"), "arms": 3}
            | {"arm": "arm", "reward": "reward", "delimiter": ",", "decimal": ".", "chunk_rows": 100},
        ),
        "observations_from_aggregates": Call(
            E.observations_from_aggregates,
            {"source": io_of("arm,count,mean,m2\n0,2,1.5,0.5\n"), "arms": 3}
            | {"arm": "arm", "delimiter": ",", "decimal": ".", "chunk_rows": 100},
        ),
        "AdaptiveBurnIn": Call(
            I.AdaptiveBurnIn, {"arms": ARMS, "delta": 0.05, **bounds, "noise": "gaussian", "budget": 500}
        ),
        "burn_in_budget": Call(
            I.burn_in_budget, {"kind": "sharp", "plan": E.plan_head(ARMS), **bounds, "delta": 0.05, "noise": "gaussian"}
        ),
        "complexity": Call(I.complexity, {"arms": ARMS, "items": ARMS, "objective": I.BestArm(), **truth}),
        "psi_star": Call(I.psi_star, {"arms": ARMS, "items": None, "objective": I.LevelSet(0.5), **truth}),
        "rho_star": Call(I.rho_star, {"arms": ARMS, "items": ARMS, "objective": I.BestArm(), **truth}),
        "true_answer": Call(I.true_answer, {"objective": I.BestArm(), "items": ARMS, "theta": [1.0, 0.2]}),
        "withdraw": Call(_withdraw, {"arms": [0, 1]}),
        "load_state_dict": Call(_load_state, {"state": begun.state_dict(), "counts": begun.ask().counts}),
        "simulate": Call(
            S.simulate,
            {
                "algorithm": E.UniformEstimator(ARMS, 50, (0.5, 2.0), rng=0),
                "environment": S.LinearEnvironment(ARMS, rng=0, **truth),
            },
        ),
        "comparison_rows": Call(
            S.comparison_rows,
            {"algorithms": {"a": _make_algorithm}, "make_environment": _make_environment, "truth": [0]}
            | {"replications": 1, "n_jobs": 1, "seed": 0, "progress": False, "answer_of": lambda result: [0]},
        ),
        "compare": Call(
            S.compare,
            {"algorithms": {"a": _make_algorithm}, "make_environment": _make_environment, "truth": [0]}
            | {"replications": 1, "lower_bound": 5.0, "answer_of": lambda result: [0]},
        ),
        "replicate": Call(
            S.replicate,
            {"make_algorithm": _make_algorithm, "make_environment": _make_environment, "replications": 2, "seed": 0}
            | {"record": lambda result, environment: {"value": 1}},
        ),
        "replicate_one": Call(
            S.replicate_one,
            {"make_algorithm": _make_algorithm, "make_environment": _make_environment, "replication": 1, "seed": 0},
        ),
        "multivariate_blocks": Call(_first_block, {"variations": 2, "dimensions": 3, "block": 3, "interactions": True}),
        "HeadPlan.counts": Call(E.plan_head(ARMS).counts, {"budget": 100}),
        "LinearFit.predict": Call(fit.predict, {"directions": EYE}),
        "LinearFit.confidence_width": Call(fit.confidence_width, {"directions": EYE, "delta": 0.05}),
        "VarianceModel.predict": Call(model.predict, {"arms": ARMS, "clip": True}),
        "VarianceModel.error_bound": Call(model.error_bound, {"delta": 0.05, "kind": "sharp"}),
        "Verification.is_worse_than": Call(verified.is_worse_than, {"tol": 1e-6}),
        "plot": Call(verified.plot, {"positions": [1.0, 2.0, 3.0]}),
        "write_certificate": Call(
            _problemfile().write_certificate,
            {"problem": _problemfile().find("soare-xy"), "certificate": "certificate.json"}
            | {"weights": [0.4, 0.2, 0.4], "counts": None},
        ),
        "Experiment.create": Call(
            _create, {"path": "experiment", "algorithm": I.Rage(ARMS, variance_bounds=(1.0, 2.0)), "design_seconds": 60}
        ),
        "Experiment.open": Call(X.open, {"path": "nowhere"}),
        "recover": Call(_recover, {"path": "nowhere", "target": "elsewhere"}),
        "Experiment.tell": Call(
            _in_experiment("tell"),
            {"batch": 0, "observations": first, "key": "a"},
        ),
        "Experiment.tell rewards": Call(
            _in_experiment("tell"), {"batch": 0, "arms": [0, 1], "rewards": [1.0, 2.0], "keys": ["a", "b"]}
        ),
        "Experiment.mark_missing": Call(
            _in_experiment("mark_missing"), {"batch": 0, "arms": [0], "counts": [1], "reason": "lost"}
        ),
        "Experiment.amend": Call(
            _in_experiment("amend"), {"key": "first", "arm": 0, "reward": 2.0, "reason": "typo", "set_aside": False}
        ),
        "Experiment.withdraw": Call(_in_experiment("withdraw"), {"arms": [0], "reason": "broken"}),
        "Experiment.batch_told": Call(_in_experiment("batch_told"), {"key": "first"}),
        "Pulls.pull": Call(S.Pulls(S.LinearEnvironment(ARMS, rng=0, **truth)).pull, {"counts": [1, 2, 3]}),
        "Pulls.rewards": Call(S.Pulls(S.LinearEnvironment(ARMS, rng=0, **truth)).rewards, {"arms": [0, 2, 0]}),
        "LinearEnvironment.rewards": Call(S.LinearEnvironment(ARMS, rng=0, **truth).rewards, {"arms": [0, 2, 0]}),
        "replication_seed": Call(S.replication_seed, {"seed": 0, "replication": 1}),
        "run_replications": Call(_run_replications, {"replications": 2, "progress": False}),
        "comparison_table": Call(
            S.comparison_table,
            {
                "rows": pd.DataFrame(
                    {
                        "algorithm": ["a", "a"],
                        "samples": [10, 12],
                        "correct": [True, False],
                        "undecided": [False, False],
                    }
                ),
                "lower_bound": 5.0,
            },
        ),
    }


def io_of(text: str) -> io.StringIO:
    """A file in memory; functions that read it leave it used, so it is read whole each time."""
    return Rewinding(text)


class Rewinding(io.StringIO):
    """Begins anew whenever its reader has reached the end."""

    def read(self, size: int | None = -1) -> str:
        text = super().read(size)
        if not text:
            self.seek(0)
        return text


def _make_algorithm(rng: Any) -> Any:
    return cd.estimation.UniformEstimator(ARMS, 50, rng=rng)


def _make_environment(rng: Any) -> Any:
    return cd.simulation.LinearEnvironment(ARMS, [1.0, 0.2], 1.0, rng=rng)


def _first_block(variations: Any, dimensions: Any, block: Any, interactions: Any) -> Any:
    return next(cd.instances.multivariate_blocks(variations, dimensions, block, interactions=interactions))


def _create(path: Any, algorithm: Any, design_seconds: Any) -> None:
    """A file of the same name may be there from the call before."""
    Path("experiment").unlink(missing_ok=True)
    cd.Experiment.create(path, algorithm, design_seconds=design_seconds).close()


def _recover(path: Any, target: Any) -> None:
    from convexdesign.experiment import recover

    recover(path, target)


def _in_experiment(name: str) -> Callable[..., Any]:
    """A method of an experiment that has asked for a first batch and was told one reward."""

    def call(**arguments: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            algorithm = cd.identification.HRage(ARMS, known_variances=1.0)
            with cd.Experiment.create(Path(folder) / "experiment", algorithm) as experiment:
                experiment.ask()
                experiment.tell(0, arms=[0], rewards=[1.0], keys=["first"])
                return getattr(experiment, name)(**arguments)

    return call


def _withdraw(arms: Any) -> Any:
    cd.identification.Rage(ARMS, variance_bounds=(1.0, 2.0), rng=0).withdraw(arms)


def _load_state(state: Any, counts: Any) -> Any:
    cd.identification.Rage(ARMS, variance_bounds=(1.0, 2.0)).load_state_dict(state, counts)


def _run_replications(replications: Any, progress: Any) -> Any:
    """The function that is run is the caller's own: what it raises is left as it is."""
    cd.simulation.run_replications(lambda replication: {"value": replication}, replications, 1, progress)


def _tables() -> Any:
    from convexdesign import tables

    return tables


def _problemfile() -> Any:
    from convexdesign import problemfile

    return problemfile


def _tell(batch: Any, observations: Any) -> Any:
    algorithm = cd.identification.Rage(ARMS, variance_bounds=(1.0, 2.0), rng=0)
    algorithm.ask()
    algorithm.tell(batch, observations)


def call_of(number: int, seed: int) -> tuple[str, dict[str, Any]]:
    """A call by its number alone: which, and its arguments with one or two exchanged."""
    rng = random.Random(f"{seed} {number}")
    names = sorted(calls())
    name = names[number % len(names)]
    arguments = dict(calls()[name].arguments)
    wrong = wrong_values()
    for argument in rng.sample(sorted(arguments), k=min(len(arguments), rng.choice((1, 1, 1, 2)))):
        arguments[argument] = rng.choice(wrong)
    return name, arguments


def judge(number: int, seed: int) -> Outcome:
    """What the function makes of one call."""
    name, arguments = call_of(number, seed)
    try:
        with warnings.catch_warnings(), limited(SECONDS), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            calls()[name].function(**arguments)
    except cd.ConvexDesignError as error:
        return Outcome(name, "refused" if str(error) else "failed", "" if str(error) else "an error without words")
    except TooLongError:
        return Outcome(name, "failed", f"longer than {SECONDS} s", traceback.format_exc())
    except Exception as error:
        return Outcome(name, "failed", type(error).__name__, traceback.format_exc())
    return Outcome(name, "answered")


def judge_all(numbers: range, seed: int) -> list[tuple[int, Outcome]]:
    """The outcomes of some calls, in a folder of their own: some write files."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return [(number, judge(number, seed)) for number in numbers]
        finally:
            os.chdir(before)


def run(output_dir: str | None, count: int = COUNT, seed: int = 0, jobs: int = 1) -> list[dict[str, Any]]:
    """Judge so many calls and write fuzz-calls.csv and its page; one row a function, whose column failed must be zero."""
    from fuzz_calls import judge_all as part_of  # by name, so that processes share nothing

    heads, pages = ("function", "calls", "answered"), partial(page, count=count, seed=seed)
    return fuzz("fuzz-calls", heads, sorted(calls()), part_of, pages, output_dir, count, seed, jobs)


def page(frame: pd.DataFrame, count: int, seed: int) -> str:
    """The page of the table."""
    return f"""# Wrong arguments

Valid calls of the public interface in which an argument is exchanged for something of another type or shape. A call passes
where it returns, or says in words what is wrong (`ConvexDesignError`); any other exception, and more than {SECONDS} seconds,
are failures. {count:,} calls, {int(frame["failed"].sum())} failures.

{markdown(frame)}

Written by `python validation/fuzz_calls.py docs/validation --count {count} --seed {seed}` on
{datetime.datetime.now(datetime.UTC).date().isoformat()}.
"""


def main() -> int:
    def one(number: int, seed: int) -> Outcome:
        print(*call_of(number, seed), sep="\n")
        return judge(number, seed)

    return command("Call every public function with wrong arguments.", "fuzz_calls", COUNT, run, one)


if __name__ == "__main__":
    sys.exit(main())
