"""The paper's figure 5: oracle allocations of experiment 2, with and without the noise variances of the arms.

Knowing the variances, (e2+e3)/√2 and e3, whose noise is small, get 99 % of the pulls; taking all noise to be equal,
three informative arms are sampled alike.

Source: Weltz et al. (2023), appendix I, figure 5.
"""

from __future__ import annotations

from convexdesign.instances import experiment_2
from convexdesign.reproduce.oracle_figure import oracle_figure

__all__ = ["run"]

NAMES = ("e1", "e1 towards e2", "e3", "(e1+e2)/√2", "(e1+e3)/√2", "(e2+e3)/√2")

run = oracle_figure(5, "Experiment 2", experiment_2, NAMES)
