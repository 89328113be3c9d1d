"""The paper's figure 4: oracle allocations of experiment 1, with and without the noise variances of the arms.

Knowing the variances, the informative arms e2, 0.4 e3 and 0.4 e4, which have one signal-to-noise ratio, are sampled
alike, a third each; taking all noise to be equal, the short ones get 46 % each and e2 gets 7 %.

Source: Weltz et al. (2023), appendix I, figure 4.
"""

from __future__ import annotations

from convexdesign.instances import experiment_1
from convexdesign.reproduce.oracle_figure import oracle_figure

__all__ = ["run"]

NAMES = (
    "e1",
    "e2",
    "0.4 e3",
    "0.4 e4",
    "e1 towards e2",
    "e1 towards e3",
    "e1 towards e4",
    "(e1+e2)/2 + .1 e3",
    "(e1+e2)/2 + .1 (e3+e4)",
)

run = oracle_figure(4, "Experiment 1: equally informative arms", experiment_1, NAMES)
