"""The paper's figure 2: how well three estimators, and a fourth, learn the noise variances of 2,000 arms.

Arms: 200 uniform on the unit sphere, 1,800 on the sphere of radius .1; Sigma = diag(1, .1, 1, .1, ...), theta = 1.
(a) the largest error over the arms against the budget, d = 15; (b) against the dimension, 95,000 pulls.

The fourth, replicates (`ReplicateEstimator`), is not in the paper.

Source: Weltz et al. (2023), section 3, figure 2. The published code drew noise with the variance in place of the
standard deviation; here variances are variances, so absolute numbers differ from the printed figure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign import instances
from convexdesign.estimation import (
    Head,
    ReplicateEstimator,
    SeparateArmEstimator,
    UniformEstimator,
    plan_head,
    spanning_arms,
)
from convexdesign.estimation.asktell import AskTell
from convexdesign.features import phi
from convexdesign.reproduce.oracle_figure import files_in, sheet
from convexdesign.simulation import LinearEnvironment, replication_seed, run_replications, simulate
from convexdesign.simulation.saving import SavedRows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["draw_figure_2", "figure_2_data", "run", "summarise_figure_2", "where_head_is_not_best"]

BUDGETS = (5_000, 10_000, 20_000, 35_000, 50_000, 65_000, 80_000, 95_000)
DIMENSIONS = (3, 6, 9, 12, 15)
REPLICATIONS = 32
QUICK_REPLICATIONS = 4
QUICK_BUDGETS = (5_000, 35_000, 95_000)
QUICK_DIMENSIONS = (3, 9, 15)
ESTIMATORS = ("HEAD", "separate-arm", "uniform", "replicates")
RIVALS = ESTIMATORS[1:3]


def figure_2_data(
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = False,
    *,
    budgets: tuple[int, ...] = BUDGETS,
    dimensions: tuple[int, ...] = DIMENSIONS,
    save: Path | None = None,
) -> pd.DataFrame:
    """One row per panel, repetition, dimension, budget and estimator, with its largest error over all arms.

    Columns: panel ("a" | "b"), replication, d, budget, estimator, max_error (of the estimates clipped to the true
    range of the variances, as the paper defines them), max_error_unclipped. Each repetition draws new arms; panel (a)
    has d = max(dimensions), panel (b) the budget max(budgets); their common point is computed once. save: a CSV file that takes
    every row as it comes.
    """
    run_one = partial(_repetition, seed=seed, budgets=budgets, dimensions=dimensions)
    with SavedRows(save, identity=("figure-2", budgets, dimensions, replications, seed)) as saved:
        return run_replications(run_one, replications, jobs, progress, label="figure-2", save=saved)


def summarise_figure_2(data: pd.DataFrame) -> pd.DataFrame:
    """Mean over repetitions and its standard error, for every point of both panels."""
    keys = ["panel", "d", "budget", "estimator"]
    columns = ["max_error", "max_error_unclipped"]
    grouped = data.groupby(keys, sort=True)[columns]
    summary = grouped.mean().join(grouped.sem().add_suffix("_se"))
    summary["repetitions"] = grouped.size()
    return summary.reset_index()


def where_head_is_not_best(data: pd.DataFrame) -> pd.DataFrame:
    """The points and the paper's rivals that HEAD does not clearly beat: its mean error is not lower by two standard errors.

    Columns: panel, d, budget, rival, difference (HEAD's error minus the rival's on the same arms, averaged) and its
    standard_error over repetitions; a positive difference means that the rival is better.
    """
    import pandas as pd

    keys = ["panel", "d", "budget"]
    wide = data.pivot(index=[*keys, "replication"], columns="estimator", values="max_error")
    tables = []
    for rival in RIVALS:
        grouped = (wide["HEAD"] - wide[rival]).groupby(keys)
        table = pd.DataFrame({"difference": grouped.mean(), "standard_error": grouped.sem()}).reset_index()
        table.insert(3, "rival", rival)
        tables.append(table)
    every = pd.concat(tables, ignore_index=True)
    return every[~(every.difference < -2.0 * every.standard_error)].reset_index(drop=True)


def draw_figure_2(
    data: pd.DataFrame, panel: str, ax: Axes | None = None, *, clipped: bool = True, title: str | None = None
) -> Axes:
    """Draw one panel, "a" or "b": average largest error with standard errors, one line an estimator."""
    from convexdesign.plotting.canvas import axes_or_new, finished, legend_over, ticks_between
    from convexdesign.plotting.palette import LINE_STYLES, MARKERS, series_colour

    ax = axes_or_new(ax, (5.0, 3.8))
    column = "max_error" if clipped else "max_error_unclipped"
    summary = summarise_figure_2(data)
    across = "budget" if panel == "a" else "d"
    known = set(data.estimator)
    for k, estimator in enumerate(ESTIMATORS):
        if estimator not in known:
            continue
        line = summary[(summary.panel == panel) & (summary.estimator == estimator)].sort_values(across)
        x, y, error = (line[name].to_numpy(dtype=float) for name in (across, column, f"{column}_se"))
        style: dict[str, Any] = {"color": series_colour(k), "marker": MARKERS[k], "linestyle": LINE_STYLES[k]}
        ax.errorbar(x, y, error, label=estimator, capsize=2, markersize=4, **style)
    ax.set_yscale("log")
    marks = ticks_between(*ax.get_ylim(), most=6)
    ax.set_yticks(marks, [f"{v:g}" for v in marks])
    ax.set_yticks([], minor=True)
    if panel == "a":
        ax.xaxis.set_major_formatter("{x:,.0f}")
    if panel == "b":
        ax.set_xticks(sorted(set(data[data.panel == "b"].d)))
    pad = legend_over(ax)
    xlabel = "pulls" if panel == "a" else "dimension d"
    return finished(ax, xlabel, "largest error of a variance", grid="y", title=title, pad=pad)


def run(
    output_dir: str | Path,
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    quick: bool = False,
    progress: bool = True,
) -> list[Path]:
    """Compute both panels; write figure-2.png, figure-2.csv (every repetition), figure-2-summary.csv and figure-2.md.

    The last says in words where HEAD does not beat both rivals. quick: at most 4 repetitions of three points a panel,
    in a few seconds. Returns the paths written.
    """
    paths = files_in(output_dir, "figure-2.png", "figure-2.csv", "figure-2-summary.csv", "figure-2.md")
    if quick:
        small: dict[str, Any] = {"budgets": QUICK_BUDGETS, "dimensions": QUICK_DIMENSIONS}
        data = figure_2_data(min(replications, QUICK_REPLICATIONS), seed, jobs, progress, **small, save=paths[1])
    else:
        data = figure_2_data(replications, seed, jobs, progress, save=paths[1])
    figure = sheet(10, 3.9)
    axes = figure.subplots(1, 2)
    for panel, ax in zip("ab", axes):
        fixed = "d = 15" if panel == "a" else f"{data.budget.max():,} pulls"
        draw_figure_2(data, panel, ax, title=f"({panel}) {fixed}")
    figure.savefig(paths[0])
    summarise_figure_2(data).to_csv(paths[2], index=False)
    paths[3].write_text(_report(data), encoding="utf-8")
    return paths


def _report(data: pd.DataFrame) -> str:
    repetitions = data.replication.nunique()
    lines = [
        "# Figure 2: largest error of the variance estimates",
        "",
        f"{repetitions} repetitions, new arms in each. Estimates are clipped to the true range of the variances.",
        "",
    ]
    weak = where_head_is_not_best(data)
    if weak.empty:
        return "\n".join([*lines, "HEAD beats both rivals by more than two standard errors at every point.", ""])
    lines += [
        "HEAD does not beat these rivals by two standard errors (difference: HEAD's error minus the rival's, same arms):",
        "",
        "| panel | d | pulls | rival | difference | standard error |",
        "|---|---|---|---|---|---|",
    ]
    for row in weak.itertuples():
        lines.append(
            f"| {row.panel} | {row.d} | {row.budget:,} | {row.rival} | {row.difference:+.4f} | {row.standard_error:.4f} |"
        )
    return "\n".join([*lines, ""])


def _repetition(
    replication: int, *, seed: int, budgets: tuple[int, ...], dimensions: tuple[int, ...]
) -> list[dict[str, Any]]:
    rows = []
    children = replication_seed(seed, replication).spawn(len(dimensions))
    for d, child in zip(dimensions, children):
        last = d == max(dimensions)
        for_arms, for_rewards = child.spawn(2)
        instance = instances.two_spheres(d, rng=np.random.default_rng(for_arms))
        for budget, estimator, errors in _errors(instance, budgets if last else (max(budgets),), for_rewards):
            point = {"replication": replication, "d": d, "budget": budget, "estimator": estimator} | errors
            rows += [{"panel": "a"} | point] if last else []
            rows += [{"panel": "b"} | point] if budget == max(budgets) else []
    return rows


def _errors(
    instance: instances.Instance, budgets: tuple[int, ...], seeds: np.random.SeedSequence
) -> list[tuple[int, str, dict[str, float]]]:
    """The errors of all estimators at all budgets, designs and arms to pull being computed once."""
    truth = instance.noise_variance
    bounds = (float(truth.min()), float(truth.max()))
    plan, chosen = plan_head(instance.arms), spanning_arms(phi(instance.arms))
    makers: dict[str, Callable[..., AskTell]] = {
        "HEAD": partial(Head, plan=plan),
        "separate-arm": partial(SeparateArmEstimator, chosen=chosen),
        "uniform": UniformEstimator,
        "replicates": partial(ReplicateEstimator, plan=plan),
    }
    out = []
    for budget, child in zip(budgets, seeds.spawn(len(budgets))):
        rng = np.random.default_rng(child)
        env = LinearEnvironment(instance.arms, instance.theta, Sigma=instance.Sigma, rng=rng)
        for name in ESTIMATORS:
            model = simulate(makers[name](instance.arms, budget, bounds, rng=rng), env)
            clipped, raw = np.abs(model.variances - truth).max(), np.abs(model.unclipped - truth).max()
            out.append((budget, name, {"max_error": float(clipped), "max_error_unclipped": float(raw)}))
    return out
