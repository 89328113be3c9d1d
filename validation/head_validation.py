"""HEAD's statistical promises, counted over many runs: its mean before clipping, and how often its bound fails.

Run with `python validation/head_validation.py docs/validation`.
"""

from __future__ import annotations

import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from counting import count, kept_part, markdown
from numpy.typing import NDArray

from convexdesign import instances
from convexdesign.estimation import Head, HeadPlan, VarianceModel, plan_head
from convexdesign.simulation import LinearEnvironment, replicate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["bound_coverage", "run", "unclipped_mean"]

# The least budgets whose sharp bound at failure probability DELTA is s_min²/2, to a share of 1e-3 (arms rounded up;
# a thousandth is added for rounding to an exact total).
BUDGETS = {"experiment_1": 104_810, "experiment_2": 44_550, "multivariate_testing": 32_780}
DELTA = 0.025
NOISES = ("gaussian", "uniform", "symmetric-beta")
# Few pulls, so that the variance of theta-hat is a visible part of the mean.
MEAN_BUDGET = 60
REPLICATIONS = 2000


def unclipped_mean(
    name: str, replications: int = REPLICATIONS, seed: int = 0, jobs: int | None = 1, progress: bool = False
) -> dict[str, Any]:
    """Compare HEAD's average before clipping with s_x² + x'Cov(theta-hat)x, its exact mean, arm by arm.

    Returns one table row: the largest |z| over the arms; the same against s_x² alone, which is not the mean; and the
    value that the first exceeds with probability 1e-3 (normal, Bonferroni over arms).
    """
    from scipy.stats import norm

    instance, plan = _instance_and_plan(name)
    found = partial(
        replicate,
        lambda rng: Head(instance.arms, MEAN_BUDGET, plan=plan),
        partial(_environment, instance, "gaussian"),
        replications,
        jobs,
        seed,
        progress,
        record=lambda model, env: {"unclipped": model.unclipped},
        label=f"mean, {name}",
    )
    frame = kept_part(found)
    estimates = np.stack(frame.unclipped.to_list())
    stage_1, _ = plan.counts(MEAN_BUDGET)
    expected = instance.noise_variance + _variance_of_means(instance, stage_1)
    standard_error = estimates.std(axis=0, ddof=1) / np.sqrt(replications)
    critical = float(norm.isf(1e-3 / (2 * instance.noise_variance.size)))
    z = float(np.abs((estimates.mean(axis=0) - expected) / standard_error).max())
    naive = float(np.abs((estimates.mean(axis=0) - instance.noise_variance) / standard_error).max())
    return {
        "instance": name,
        "budget": MEAN_BUDGET,
        "replications": replications,
        "largest_z": z,
        "largest_z_without_the_term": naive,
        "critical_z": critical,
        "passed": z <= critical,
    }


def bound_coverage(
    name: str,
    noise: str = "gaussian",
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = False,
) -> dict[str, Any]:
    """Count runs in which an error exceeds the sharp bound at DELTA, or misses what elimination needs.

    What elimination needs is |estimate - s²| <= estimate/2 for every arm, after clipping. Bounded noise is strictly
    sub-Gaussian and gets the bound for it. One table row; upper_95 is Clopper and Pearson's one-sided limit.
    """
    from scipy.stats import beta

    instance, plan = _instance_and_plan(name)
    budget, truth = BUDGETS[name], instance.noise_variance
    bounds = (float(truth.min()), float(truth.max()))
    law: Any = "gaussian" if noise == "gaussian" else "sub-gaussian"
    bound = plan.sharp_error_bound(*plan.counts(budget), bounds[1], DELTA, law)
    found = partial(
        replicate,
        lambda rng: Head(instance.arms, budget, bounds, plan=plan),
        partial(_environment, instance, noise),
        replications,
        jobs,
        seed,
        progress,
        record=partial(_outcome, bound),
        label=f"bound, {name}, {noise} noise",
    )
    frame = kept_part(found)
    failures = int(np.count_nonzero(frame.share_of_bound > 1))
    upper = float(beta.ppf(0.95, failures + 1, replications - failures))
    return {
        "instance": name,
        "noise": noise,
        "budget": budget,
        "replications": replications,
        "delta": DELTA,
        "failures": failures,
        "upper_95": upper,
        "largest_share_of_bound": float(frame.share_of_bound.max()),
        "unfit_for_elimination": int(np.count_nonzero(~frame.fit_for_elimination.astype(bool))),
        "passed": upper <= DELTA,
    }


def run(
    output_dir: str | Path,
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = True,
) -> list[Path]:
    """Write head-mean.csv, head-bound.csv and head.md, the page that shows both with the command; the paths written."""
    import pandas as pd

    common: dict[str, Any] = {"replications": replications, "seed": seed, "jobs": jobs, "progress": progress}
    means = pd.DataFrame([unclipped_mean(name, **common) for name in BUDGETS])
    bounds = pd.DataFrame([bound_coverage(name, noise, **common) for name in BUDGETS for noise in NOISES])
    target = Path(output_dir)
    target.mkdir(parents=True, exist_ok=True)
    paths = [target / name for name in ("head-mean.csv", "head-bound.csv", "head.md")]
    means.to_csv(paths[0], index=False)
    bounds.to_csv(paths[1], index=False)
    paths[2].write_text(_page(means, bounds, replications, seed), encoding="utf-8")
    return paths


def _instance_and_plan(name: str) -> tuple[instances.Instance, HeadPlan]:
    instance: instances.Instance = getattr(instances, name)()
    return instance, plan_head(instance.arms, tol=1e-6)


def _environment(instance: instances.Instance, noise: str, rng: np.random.Generator) -> LinearEnvironment:
    return LinearEnvironment(instance.arms, instance.theta, Sigma=instance.Sigma, noise=noise, rng=rng)


def _variance_of_means(instance: instances.Instance, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """x'Cov(theta-hat)x of ordinary least squares, from the definition."""
    X = instance.arms
    inverse = np.linalg.pinv((X.T * counts) @ X, hermitian=True)
    spread = X @ inverse @ X.T * np.sqrt(counts * instance.noise_variance)
    return np.asarray(np.sum(spread**2, axis=1))


def _outcome(bound: NDArray[np.float64], model: VarianceModel, env: LinearEnvironment) -> dict[str, Any]:
    error = np.abs(model.variances - env.noise_variance)
    return {
        "share_of_bound": float((np.abs(model.unclipped - env.noise_variance) / bound).max()),
        "fit_for_elimination": bool(np.all(error <= model.variances / 2)),
    }


PAGE = """# HEAD: mean and error bound

Command: `python validation/head_validation.py docs/validation --replications {replications} --seed {seed}`
({date}). Instances: the paper's experiments 1 to 3.

## Before clipping, the mean is s² + x'Cov(theta-hat)x

{replications} runs of {mean_budget} pulls, Gaussian noise. `largest_z` is the largest deviation of the average from
that mean over the arms, in standard errors; it exceeds `critical_z` with probability 1e-3 if the statement is true.
Without the term x'Cov(theta-hat)x the same averages are off by `largest_z_without_the_term`.

{means}

## The sharp error bound holds at its level

{replications} runs at the least budgets whose bound at delta = {delta} is s_min²/2 for Gaussian noise. `failures`
counts runs in which some arm's error exceeds its bound, `upper_95` is an upper 95 % confidence limit on their
probability (passed: at most delta), `largest_share_of_bound` the largest error seen divided by its bound, and
`unfit_for_elimination` counts runs with |estimate - s²| > estimate/2 for some arm.

{bounds}
"""


def _page(means: pd.DataFrame, bounds: pd.DataFrame, replications: int, seed: int) -> str:
    return PAGE.format(
        replications=replications,
        seed=seed,
        date=datetime.date.today().isoformat(),
        mean_budget=MEAN_BUDGET,
        delta=DELTA,
        means=markdown(means),
        bounds=markdown(bounds),
    )


def main() -> None:
    count(run, "Count how often HEAD's statistical promises hold.", REPLICATIONS)


if __name__ == "__main__":
    main()
