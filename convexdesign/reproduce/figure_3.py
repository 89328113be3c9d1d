"""The paper's figure 3: mean samples of the algorithms on experiments 1 to 3, over 32 simulations.

Bars: mean and standard error; the dashed line is the lower bound on the mean of every delta-PAC algorithm. delta = .05.
Beyond the paper: H-RAGE with the sharp and the adaptive burn-in (the recorded experiments used "released"), and
martingale elimination. The published code drew noise with the variance in place of the standard deviation and gave its
homoskedastic baselines more noise than the world had; here variances are variances and every algorithm meets the same
world, so absolute numbers differ from the printed figure.

Source: Weltz et al. (2023), section 5, figure 3.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.reproduce.contenders import EXPERIMENTS, instance_sharp_bound, simulated
from convexdesign.reproduce.oracle_figure import files_in, sheet
from convexdesign.simulation.saving import SavedRows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["draw_samples", "figure_3_data", "run"]

DELTA = 0.05
ALGORITHMS = (
    "oracle",
    "homoskedastic oracle",
    "martingale elimination",
    "H-RAGE",
    "H-RAGE, adaptive burn-in",
    "H-RAGE, released burn-in",
    "RAGE",
)


def figure_3_data(
    replications: int, seed: int = 0, jobs: int | None = 1, progress: bool = False, save: Path | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All runs, and their summary: one row per experiment and algorithm, as in `comparison_table`.

    save: a CSV file that takes every run as it comes.
    """
    import pandas as pd

    runs: list[pd.DataFrame] = []
    tables: list[pd.DataFrame] = []
    with SavedRows(save, identity=("figure-3", replications, seed)) as saved:
        for name, make in EXPERIMENTS.items():
            world = make()
            saved.front = {"experiment": name}
            how: dict[str, Any] = {"bound": instance_sharp_bound(world, DELTA), "save": saved, "title": name}
            rows, table = simulated(world, DELTA, ALGORITHMS, replications, seed, jobs, progress, **how)
            for frame, kept in ((rows, runs), (table, tables)):
                frame.insert(0, "experiment", name)
                kept.append(frame)
    return pd.concat(runs, ignore_index=True), pd.concat(tables, ignore_index=True)


def draw_samples(table: pd.DataFrame, experiment: str, ax: Axes) -> Axes:
    """One panel: mean samples with standard errors as horizontal bars, and the lower bound."""
    from matplotlib.ticker import EngFormatter

    from convexdesign.plotting.canvas import finished, mark_apart, name_rows, ticks_between
    from convexdesign.plotting.palette import INK, series_colour

    part = table[table["experiment"] == experiment]
    at = np.arange(len(part))
    colours = [series_colour(k) for k in range(len(part))]
    ax.barh(at, part["mean_samples"], xerr=part["standard_error"], color=colours, capsize=3)
    bound = float((part["mean_samples"] / part["times_lower_bound"]).iloc[0])
    ax.axvline(bound, color=INK, linewidth=1, linestyle="--")
    ax.set_xscale("log")
    marks = ticks_between(*ax.get_xlim(), most=5)
    thousands = EngFormatter(sep=" ")
    mark_apart(ax, marks, [thousands(v) for v in marks])
    beside = name_rows(ax, at.tolist(), part["algorithm"].tolist())
    ax.invert_yaxis()
    return finished(ax, "samples (dashed: lower bound)", "", grid="x", title=experiment, beside=beside)


def run(
    output_dir: str | Path,
    replications: int = 32,
    seed: int = 0,
    jobs: int | None = 1,
    quick: bool = False,
    progress: bool = True,
) -> list[Path]:
    """Write figure-3.png, figure-3.csv (every run) and figure-3-summary.csv; the paths. quick: at most 2 replications."""
    paths = files_in(output_dir, "figure-3.png", "figure-3.csv", "figure-3-summary.csv")
    _, table = figure_3_data(min(replications, 2) if quick else replications, seed, jobs, progress, paths[1])
    figure = sheet(7, 8)
    for experiment, ax in zip(EXPERIMENTS, figure.subplots(3, 1)):
        draw_samples(table, experiment, ax)
    figure.savefig(paths[0])
    table.to_csv(paths[2], index=False)
    return paths
