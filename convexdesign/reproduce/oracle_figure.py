"""What figures share: their files, the sheet to draw on; and of figures 4 to 6 the two oracle allocations of an instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convexdesign.problem import DesignProblem
from convexdesign.solving import solve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from convexdesign.instances import Instance

__all__ = ["files_in", "oracle_allocations", "oracle_figure", "sheet"]

HETEROSKEDASTIC, HOMOSKEDASTIC = "heteroskedastic oracle", "homoskedastic oracle"


def files_in(output_dir: str | Path, *names: str) -> list[Path]:
    """The paths of the files of a figure, in a folder that is made where it is missing; needs matplotlib, and says so first."""
    from convexdesign.plotting import require_matplotlib

    require_matplotlib()
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    return [folder / name for name in names]


def sheet(width: float, height: float) -> Figure:
    """A figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def oracle_allocations(instance: Instance, names: Sequence[str]) -> pd.DataFrame:
    """One row per arm: arm, noise_variance, and the share of pulls that each oracle gives it.

    The heteroskedastic oracle knows every noise variance; the homoskedastic one takes all to be the largest. Both are
    best-arm oracles with certified gaps of at most 1e-8.
    """
    import pandas as pd

    variance = instance.noise_variance
    shares = {}
    for label, noise in ((HETEROSKEDASTIC, variance), (HOMOSKEDASTIC, np.full_like(variance, variance.max()))):
        problem = DesignProblem.best_arm_oracle(
            instance.arms, instance.items, theta=instance.theta, noise_variance=noise
        )
        shares[label] = solve(problem, tol=1e-8).weights
    return pd.DataFrame({"arm": list(names), "noise_variance": variance} | shares)


def oracle_figure(
    number: int, title: str, make: Callable[[], Instance], names: Sequence[str]
) -> Callable[..., list[Path]]:
    """The function `run` of a figure of this kind."""

    def run(
        output_dir: str | Path,
        replications: int = 32,
        seed: int = 0,
        jobs: int | None = 1,
        quick: bool = False,
        progress: bool = True,
    ) -> list[Path]:
        """Write figure-N.png and figure-N.csv (one row an arm). Nothing is random, so only output_dir matters."""
        from convexdesign.plotting import plot_comparison

        paths = files_in(output_dir, f"figure-{number}.png", f"figure-{number}.csv")
        table = oracle_allocations(make(), names)
        labels = [f"{arm}   (s² = {s2:.3g})" for arm, s2 in zip(table["arm"], table["noise_variance"])]
        designs = {label: table[label].to_numpy() for label in (HETEROSKEDASTIC, HOMOSKEDASTIC)}
        figure = sheet(9.5, 1.2 + 0.5 * len(labels))
        plot_comparison(designs, labels, title=title, ax=figure.subplots())
        figure.savefig(paths[0])
        table.to_csv(paths[1], index=False)
        return paths

    return run
