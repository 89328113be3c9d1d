"""What is proven about given weights, in balls, and what a criterion may ask to prove it: `rigorous` has the machinery.

A ball is an interval of real numbers by python-flint (`convexdesign.balls`), here typed as Any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from convexdesign.balls import ball, ball_matrix, cholesky, diagonal_products, down, quadratic_forms
from convexdesign.problem import Canonical
from convexdesign.typing import Floats, Indices

__all__ = ["AS_GIVEN", "EnclosedDesign", "ExactProver", "Proof", "is_positive_definite", "quotient", "share"]

AS_GIVEN = "the numbers exactly as given"


@dataclass(frozen=True)
class Proof:
    """What is proven about given weights, as doubles rounded outwards.

    Parameters
    ----------
    low, high : float
        Ends of an interval that holds the criterion; log det for D and D_s.
    bound : float
        Of the optimum: below it for variances, above it for log det and lambda_min.
    efficiency : float
        At most the true one, in the sense of Verification.
    dimension : int
        Of a log det, otherwise 1.
    about : str
        What it is proven for.
    """

    low: float
    high: float
    bound: float
    efficiency: float
    dimension: int = 1
    about: str = AS_GIVEN


class EnclosedDesign(Protocol):
    """A design read exactly: A on coordinates J of the range in balls, its inverse, and how the other coordinates depend on J.

    F (rank, k): doubles with A^-1 <= FF' growth.
    """

    @property
    def A(self) -> Any: ...

    @property
    def inverse(self) -> Any: ...

    @property
    def F(self) -> Floats: ...

    @property
    def growth(self) -> float: ...

    @property
    def dependence(self) -> Any: ...

    @property
    def rank(self) -> int: ...

    def functional(self, F: Floats) -> Floats:
        """F'x as a function of x_J alone."""
        ...

    def on(self, rows: Any) -> Any:
        """Exact vectors in the coordinates J."""
        ...

    def first_outside(self, rows: Any) -> int | None:
        """A vector that the measured arms do not span exactly, or None."""
        ...


class ExactProver(Protocol):
    """What a criterion may ask about a problem read exactly, and a dual certificate's targets (k,) and vectors (k, d)."""

    @property
    def canonical(self) -> Canonical: ...

    @property
    def targets(self) -> Indices: ...

    @property
    def exact(self) -> Any:
        """The problem's numbers: arms, vectors behind the targets, differences that span what these do."""
        ...

    @property
    def scaled_vectors(self) -> Floats:
        """The dual certificate's vectors, scaled so that their squares do not overflow."""
        ...

    @property
    def noun(self) -> str: ...

    def most(self, vectors: Floats) -> Any:
        """sum_j b_j'A0b_j + h_W(sum_j (b_j'x_i)^2 / p_i) for rows b_j, from above, as a ball."""
        ...

    def held(self, B: Any, dependence: Any = None) -> Any:
        """sum_j b_j'A0b_j for rows b_j, of all coordinates or of J."""
        ...

    def largest_sensitivity(self, arms: Any, F: Floats, S: Any) -> float:
        """h_W of q_i = x_i'Sx_i / p_i with S = FF' exactly, from above."""
        ...

    def rows(self, matrix: Floats) -> Any:
        """The rows of a matrix of doubles, read exactly."""
        ...

    def refuse_outside(self, rows: Any, what: str) -> None:
        """InputError where a vector lies outside the span of all arms."""
        ...

    def worst_target(self, held: Any) -> tuple[float, float]:
        """The largest v_j'A^-1v_j, from below and from above."""
        ...

    def volume(self, held: Any) -> Any:
        """log det of the map from the coordinates J to an orthonormal basis of the range."""
        ...

    def unreached_arm(self, held: Any) -> bool:
        """Whether an arm that may have weight lies outside the span of what is measured."""
        ...

    def moments(self, held: Any) -> Any:
        """M of an average variance, or None where the design does not measure it."""
        ...


def quotient(A: Any, v: Floats) -> Any:
    """v'Av / v'v as a ball."""
    row = ball_matrix(v[None, :])
    return quadratic_forms(A, row)[0] / diagonal_products(row, row)[0]


def is_positive_definite(A: Any, shift: float) -> bool:
    """Whether elimination on A - shift I meets only pivots that are certainly positive."""
    from flint import arb_mat

    d = A.nrows()
    return cholesky(A - arb_mat(d, d, [ball(shift if a == b else 0.0) for a in range(d) for b in range(d)])) is not None


def share(part: Any, whole: Any) -> float:
    """part / whole rounded down, at least 0; 0 where the ball says nothing."""
    return max(down(part / whole), 0.0) if whole.is_finite() and whole > 0 else 0.0
