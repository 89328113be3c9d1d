"""What solvers of smooth criteria need to know: f, its gradient and its Hessian in the weights, where A = I.

For f to be minimised, q = -grad f has q_i = |P'z_i|^2 for some P, and sum_i w_i q_i + held (what the information held adds) is
the size of f: f itself where it is homogeneous of degree -1, the dimension for a log det.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from convexdesign.typing import Floats

__all__ = ["CorrectiveSteps", "SmoothForm"]

Found = TypeVar("Found", covariant=True)


class SmoothForm(Protocol):
    """A smooth criterion, to be minimised, at some weights; L (r, k): the contrast matrix in coordinates where A = I.

    An arm with several responses is several columns z, over whose pairs the Hessian is summed.
    """

    def at(self, factor: Floats, L: Floats) -> tuple[Floats, float, float]:
        """L as the others take it, f, and the size sum_i w_i q_i + held; factor: lower triangular, A = factor factor'."""
        ...

    def image(self, L: Floats, Z: Floats) -> Floats:
        """Columns whose squared lengths are q, for columns z in Z (r, n)."""
        ...

    def hessian(self, L: Floats, Z: Floats) -> Floats:
        """f'' between the columns z, (n, n)."""
        ...

    def pair_weights(self, lengths: Floats) -> Floats | None:
        """The weights (r, r) of the coordinates z_a z_b in the Hessian, where LL' is diagonal with these entries; None: one."""
        ...

    def saturated(self, L: Floats) -> Floats | None:
        """Of r arms, in coordinates where they are unit vectors: a (r,) with f least where sum a_i^2 / w_i is.

        None where f is no sum over arms there.
        """
        ...


class CorrectiveSteps(Protocol[Found]):
    """The corrective steps that Frank-Wolfe has: all weights of a working set optimised at once."""

    def log_det(self) -> Found:
        """For log det A."""
        ...

    def average_variance(self) -> Found:
        """For tr(A^-1 LL'), L the contrast matrix."""
        ...

    def two_sided(self) -> Found:
        """For the largest of the targets' variances: targets are generated too."""
        ...
