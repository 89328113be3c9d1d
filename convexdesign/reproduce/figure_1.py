"""The paper's figure 1: what unequal noise does to the best allocation, and to the samples needed.

Three arms e1, e2, (cos .5, sin .5), theta = e1, noise variances (1, kappa, 1). (a) and (b): the oracle allocations at
kappa = 20 with and without the variances; (c): samples against kappa. Taking all noise to be the largest costs a number
of samples that grows linearly in kappa; knowing the variances, the arms without much noise are used instead, and the
number stops growing. Lines: the oracles' numbers 2 psi* log(2|Z|/delta) and 2 rho* log(2|Z|/delta), from certified
designs. Points, simulated: RAGE, H-RAGE with the variances known, and martingale elimination, which does not know them.

Source: Weltz et al. (2023), section 1.1, figure 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.identification import complexity
from convexdesign.instances import soare
from convexdesign.reproduce.contenders import arguments, simulated
from convexdesign.reproduce.oracle_figure import HETEROSKEDASTIC, HOMOSKEDASTIC, files_in, oracle_allocations, sheet
from convexdesign.simulation.saving import SavedRows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["draw_complexity", "oracle_samples", "run", "simulated_samples"]

KAPPAS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 16.0, 20.0, 50.0, 100.0, 200.0, 500.0)
SIMULATED = (1.0, 5.0, 20.0, 100.0, 500.0)
QUICK_SIMULATED = (1.0, 20.0)
ALGORITHMS = ("RAGE", "H-RAGE, variances known", "martingale elimination")
NAMES = ("e1", "e2", "(cos .5, sin .5)")
DELTA = 0.05


def oracle_samples(kappas: tuple[float, ...] = KAPPAS, delta: float = DELTA) -> pd.DataFrame:
    """kappa, and the samples of both oracles: 2 psi* log(2|Z|/delta), 2 rho* log(2|Z|/delta)."""
    import pandas as pd

    rows = []
    for kappa in kappas:
        found = complexity(*arguments(soare(kappa=kappa)))
        factor = 2.0 * np.log(2.0 * 3.0 / delta)
        rows.append({"kappa": kappa, HETEROSKEDASTIC: factor * found.psi_star, HOMOSKEDASTIC: factor * found.rho_star})
    return pd.DataFrame(rows)


def simulated_samples(
    kappas: tuple[float, ...],
    replications: int,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = False,
    save: Path | None = None,
) -> pd.DataFrame:
    """kappa, and a row of `comparison_table` per algorithm: mean samples, standard error, errors. save: a file of all runs."""
    import pandas as pd

    tables = []
    with SavedRows(save, identity=("figure-1", kappas, replications, seed)) as saved:
        for kappa in kappas:
            saved.front = {"kappa": kappa}
            how: dict[str, Any] = {"save": saved, "title": f"kappa = {kappa:g}"}
            _, table = simulated(soare(kappa=kappa), DELTA, ALGORITHMS, replications, seed, jobs, progress, **how)
            table.insert(0, "kappa", kappa)
            tables.append(table)
    return pd.concat(tables, ignore_index=True)


def draw_complexity(lines: pd.DataFrame, points: pd.DataFrame, ax: Axes, title: str | None = None) -> Axes:
    """Panel (c): both oracles as lines, simulated algorithms as points with standard errors, logarithmic axes."""
    from convexdesign.plotting.canvas import finished, legend_over
    from convexdesign.plotting.palette import LINE_STYLES, MARKERS, series_colour

    for k, label in enumerate((HETEROSKEDASTIC, HOMOSKEDASTIC)):
        style: dict[str, Any] = {"color": series_colour(k), "linestyle": LINE_STYLES[k]}
        ax.plot(lines["kappa"], lines[label], linewidth=2, label=label, **style)
    for k, (name, group) in enumerate(points.groupby("algorithm", sort=False), start=2):
        ax.errorbar(
            group["kappa"],
            group["mean_samples"],
            group["standard_error"],
            fmt=MARKERS[k],
            color=series_colour(k),
            capsize=2,
            label=str(name),
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    pad = legend_over(ax)
    return finished(ax, "kappa = largest / smallest noise variance", "samples", grid="both", title=title, pad=pad)


def run(
    output_dir: str | Path,
    replications: int = 32,
    seed: int = 0,
    jobs: int | None = 1,
    quick: bool = False,
    progress: bool = True,
) -> list[Path]:
    """Write figure-1.png, figure-1-designs.csv, figure-1-oracles.csv, figure-1.csv (the simulated points), figure-1-runs.csv.

    The last has every run, written as it comes. quick: at most 4 replications at two values of kappa. Returns the paths.
    """
    from convexdesign.plotting import plot_allocation

    tables = ("figure-1-designs.csv", "figure-1-oracles.csv", "figure-1.csv", "figure-1-runs.csv")
    paths = files_in(output_dir, "figure-1.png", *tables)
    designs, lines = oracle_allocations(soare(kappa=20.0), NAMES), oracle_samples()
    kappas = QUICK_SIMULATED if quick else SIMULATED
    number = min(replications, 4) if quick else replications
    points = simulated_samples(kappas, number, seed, jobs, progress, paths[4])
    figure = sheet(15, 4.2)
    axes = figure.subplots(1, 3)
    for ax, letter, label in zip(axes, "ab", (HETEROSKEDASTIC, HOMOSKEDASTIC)):
        title = f"({letter}) {label}, kappa = 20"
        plot_allocation(designs[label].to_numpy(), names=NAMES, title=title, ax=ax)
    draw_complexity(lines, points, axes[2], "(c) samples needed as kappa grows")
    figure.savefig(paths[0])
    for table, path in zip((designs, lines, points), paths[1:4]):
        table.to_csv(path, index=False)
    return paths
