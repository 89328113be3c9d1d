"""The separate-arm estimator: sample variances of as few arms as determine Sigma; a baseline for HEAD."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexdesign.estimation.asktell import AskTell
from convexdesign.estimation.error_bound import separate_arm_error_bound, variance_range
from convexdesign.estimation.head import whole_budget
from convexdesign.estimation.observations import Observations
from convexdesign.estimation.spanning_arms import spanning_arms
from convexdesign.estimation.variance_model import VarianceModel, fit_variance_model
from convexdesign.features import phi
from convexdesign.problem.read import read_rows
from convexdesign.typing import Floats

__all__ = ["SeparateArmEstimator"]


class SeparateArmEstimator(AskTell):
    """rank(phi) arms, pulled equally often; each one's sample variance m2/count; the Sigma that reproduces them.

    The arms are those of `spanning_arms`: the smallest singular value of their phi is made large. Every arm chosen
    gets floor(budget / rank) pulls, the first few one more. The sample variances have the divisor count, as in the
    paper, so an arm pulled once counts as noiseless. variance_bounds = (low, high) on the noise VARIANCES clip the
    estimates and are needed for `error_bound`. chosen: the arms to use, to skip the search. rng: not used.
    Source: Weltz et al. (2023), appendices C and D.1.
    """

    def __init__(
        self,
        arms: Any,
        budget: int,
        variance_bounds: Sequence[float] | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        chosen: NDArray[np.intp] | None = None,
    ) -> None:
        self._rows = read_rows(arms, "arms")
        super().__init__(self.arms.shape[0])
        self.variance_bounds = variance_range(variance_bounds)
        self.chosen = spanning_arms(phi(self.arms)) if chosen is None else np.asarray(chosen, dtype=np.intp)
        self.budget = whole_budget(budget, self.chosen.size)
        self._model: VarianceModel | None = None

    @property
    def arms(self) -> NDArray[Any]:
        """The arms (n, d)."""
        return self._rows.values

    @property
    def done(self) -> bool:
        return self._model is not None

    def _next_counts(self) -> NDArray[np.int64]:
        each, extra = divmod(self.budget, self.chosen.size)
        counts = np.zeros(self.arms.shape[0], dtype=np.int64)
        counts[self.chosen] = each
        counts[self.chosen[:extra]] += 1
        return counts

    def _absorb(self, observations: Observations) -> None:
        self._model = fit_variance_model(
            "separate-arm",
            self._rows,
            observations.count,
            observations.m2 / np.maximum(observations.count, 1),
            theta=None,
            variance_bounds=self.variance_bounds,
            bounds={
                "paper": partial(_paper, self.arms, self.chosen, self.budget // self.chosen.size, self.variance_bounds)
            },
        )

    def _result(self) -> VarianceModel:
        assert self._model is not None
        return self._model


def _paper(
    arms: NDArray[Any],
    chosen: NDArray[np.intp],
    pulls: int,
    variance_bounds: tuple[float, float] | None,
    delta: float,
) -> Floats:
    checked = variance_range(variance_bounds, "the error bound")
    assert checked is not None
    # As many rows as their rank: where phi does not span, zeta is the smallest singular value that is not zero.
    zeta = np.linalg.svd(phi(arms[chosen]), compute_uv=False)[chosen.size - 1]
    longest = float(np.linalg.norm(arms, axis=1).max())
    return np.asarray(separate_arm_error_bound(chosen.size, float(zeta), longest, pulls, checked, delta))
