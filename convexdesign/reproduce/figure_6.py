"""The paper's figure 6: oracle allocations of the multivariate test, with and without the noise variances.

The layouts with the second variation in the first dimension, 100 to 111, have the high variance (text and caption of
the paper disagree about that); the heteroskedastic oracle gives them 19 % of its pulls, the homoskedastic one 7 %.

Source: Weltz et al. (2023), appendix I, figure 6.
"""

from __future__ import annotations

from pathlib import Path

from convexdesign.instances import multivariate_testing
from convexdesign.reproduce.oracle_figure import write_oracle_figure

__all__ = ["run"]

NAMES = tuple(f"layout {k:03b}" for k in range(8))


def run(
    output_dir: str | Path,
    replications: int = 32,
    seed: int = 0,
    jobs: int | None = 1,
    quick: bool = False,
    progress: bool = True,
) -> list[Path]:
    """Write figure-6.png and figure-6.csv (one row an arm). Nothing is random, so only output_dir matters."""
    return write_oracle_figure(
        6, "Experiment 3: the noisy layouts need more samples", multivariate_testing(), NAMES, output_dir
    )
