"""The mean information of several parameter values whose functions of the settings differ: nonlinear models.

One measurement at x has the mean information sum_k s_k f_k(x)f_k(x)' / (s^2(x) c(x)): that of an arm with several responses
sqrt(s_k) f_k(x). Settings are sought, and the largest sensitivity sum_k s_k |B h_k(x)|^2 / (s^2 c) is bounded by branch and
bound, as for one value; all f_k are taken to the same coordinates h_k = R f_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from convexdesign.regions.branch import Branch
from convexdesign.regions.exchange import Search
from convexdesign.regions.frame import Frame, SampledFrame
from convexdesign.regions.intervals import UNIT, Interval, Jet
from convexdesign.regions.problem import RegionProblem, values_of
from convexdesign.regions.search import inner_points
from convexdesign.typing import Floats, Indices

__all__ = ["ExpectedProblem", "expected_problem"]


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedProblem(RegionProblem):
    """The problem of the mean information of several problems over one region with the same fields, noise and cost.

    Parameters
    ----------
    values : tuple of RegionProblem
        One for each value of the parameters; this one is like the first.
    shares : tuple of float
        Their shares, of sum one.
    """

    values: tuple[RegionProblem, ...] = ()
    shares: tuple[float, ...] = ()

    @cached_property
    def adapted(self) -> RegionProblem:
        """Itself: the functions are not polynomials."""
        return self

    @cached_property
    def frames(self) -> list[SampledFrame]:
        """A frame for each value, all with the same R."""
        region, pieces = self.region, range(len(self.region.pieces))
        x = inner_points(region, 200, np.random.default_rng(1)) if region.q else np.empty((1, 0))
        curves: list[Any] = [problem.curve for problem in self.values]
        rows = [np.sqrt(s) * c.rows(k, x) for s, c in zip(self.shares, curves) for k in pieces]
        found = [SampledFrame(curve, [x for _ in pieces], plain=True) for curve in curves]
        # The least eigenvalue is one in the coordinates of the model itself.
        if self.kind != "e_optimal":
            found[0].orthonormalise(np.vstack(rows))
        sizes = np.max([frame.sizes for frame in found], axis=0)
        for frame in found:
            frame.R, frame.sizes = found[0].R, sizes
            frame.H = [frame.R for _ in pieces]
        return found

    @cached_property
    def frame(self) -> Frame:
        """That of the first value."""
        return self.frames[0]

    def rows(self, where: Sequence[int] | Indices, x: Floats) -> Floats:
        """sqrt(s_k) h_k at settings: arms with several responses.

        Parameters
        ----------
        where : sequence of int
            The piece of each setting.
        x : array, shape (n, q)
            Its continuous coordinates.

        Returns
        -------
        array, shape (n, d, K)
            One response for each value of the parameters.
        """
        return np.stack([np.sqrt(s) * frame.rows(where, x) for s, frame in zip(self.shares, self.frames)], axis=2)

    def measured(self, where: Sequence[int] | Indices, x: Floats) -> tuple[Floats, Floats | None]:
        """The same, divided by the noise."""
        rows = self.rows(where, x)
        return rows if self.noise is None else rows / np.sqrt(values_of(self.noise, x))[:, None, None], None

    def search(self, deadline: float = np.inf) -> Search:
        """The search for settings.

        Parameters
        ----------
        deadline : float
            When it is to end, as `time.perf_counter` counts.

        Returns
        -------
        Search
            Of the sum.
        """
        return ExpectedSearch(self, deadline=deadline)


class ExpectedSearch(Search):
    """The search where the sensitivity is a sum over the values of the parameters."""

    def branch(self, priced: bool) -> ExpectedBranch:
        """Sensitivities over boxes."""
        return ExpectedBranch(self.problem, priced)

    def sensitivity(self, piece: int, B: Floats, x: Floats, priced: bool = True) -> Floats:
        """The sum at coordinates of one piece."""
        assert isinstance(self.problem, ExpectedProblem)
        rows = self.problem.rows(np.full(len(x), piece), x)
        values = np.sum((np.swapaxes(rows, 1, 2) @ B.T) ** 2, axis=(1, 2))
        if self.problem.price is not None and priced:
            with np.errstate(all="ignore"):
                values = values / self.problem.prices(x)
        return np.where(np.isfinite(values) & self.problem.allowed(x), values, 0.0)

    def largest(self, where: Indices, x: Floats, B: Floats) -> float:
        """The largest at these settings."""
        return max(float(self.sensitivity(int(k), B, x[where == k]).max()) for k in np.unique(where))

    def fewest(self, where: Indices, x: Floats, w: Floats) -> tuple[Indices, Floats]:
        """The settings as they are."""
        return where, x


class ExpectedBranch(Branch):
    """Branch and bound for the sum."""

    def __init__(self, problem: RegionProblem, priced: bool = True):
        super().__init__(problem, priced)
        assert isinstance(problem, ExpectedProblem)
        self.each = [Branch(value, priced) for value in problem.values]
        for branch, frame in zip(self.each, problem.frames):
            branch.frame = frame
        # Rounded up: what is bounded is no less than the sum.
        self.roots = np.sqrt(problem.shares) * (1.0 + 4 * UNIT)

    def sensitivity(self, piece: int, B: Floats, u: Interval) -> Jet:
        """The sum over boxes of u."""
        parts = [branch.sensitivity(piece, root * B, u) for branch, root in zip(self.each, self.roots)]
        out = parts[0]
        for part in parts[1:]:
            out = out + part
        return out


def expected_problem(problems: Sequence[RegionProblem], shares: Floats) -> ExpectedProblem:
    """The problem of the mean information."""
    first = problems[0]
    return ExpectedProblem(
        first.curve,
        first.kind,
        first.fields,
        first.noise,
        first.cost,
        first.prior,
        first.n_new,
        values=tuple(problems),
        shares=tuple(float(s) for s in shares),
    )
