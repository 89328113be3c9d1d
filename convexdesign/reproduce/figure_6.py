"""The paper's figure 6: oracle allocations of the multivariate test, with and without the noise variances.

The layouts with the second variation in the first dimension, 100 to 111, have the high variance (text and caption of
the paper disagree about that); the heteroskedastic oracle gives them 19 % of its pulls, the homoskedastic one 7 %.

Source: Weltz et al. (2023), appendix I, figure 6.
"""

from __future__ import annotations

from convexdesign.instances import multivariate_testing
from convexdesign.reproduce.oracle_figure import oracle_figure

__all__ = ["run"]

NAMES = tuple(f"layout {k:03b}" for k in range(8))

run = oracle_figure(6, "Experiment 3: the noisy layouts need more samples", multivariate_testing, NAMES)
