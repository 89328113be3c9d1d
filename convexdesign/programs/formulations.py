"""Which conic programs each criterion has, and how their solutions become witnesses of a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from convexdesign.certificate import Witness
from convexdesign.problem import Canonical, Criterion
from convexdesign.programs.average_variance import average_variance
from convexdesign.programs.least_eigenvalue import least_eigenvalue
from convexdesign.programs.log_det import interest_log_det, log_det
from convexdesign.programs.minimax import dual_socp, matrix_fractional, sdp, socp
from convexdesign.programs.program import Constrain, Program
from convexdesign.programs.size import ProgramSize, program_size
from convexdesign.typing import Floats, Indices

__all__ = ["Build", "alternative", "formulations_of", "size_of", "witness_of"]

# A program over some arms U (k, r) and some targets, given by index; the other criteria have no targets.
Build = Callable[[Floats, Indices, Constrain | None], Program]


def formulations_of(canonical: Canonical) -> Mapping[str, Build]:
    """The formulations of the problem's criterion by name, in whitened coordinates."""
    prior, k = canonical.prior, canonical.problem.responses
    match canonical.problem.criterion:
        case Criterion.MINIMAX:
            whiten = canonical.whiten_targets
            builds: dict[str, Build] = {
                "socp": lambda U, J, W: socp(U, whiten(J), prior, W, k),
                "sdp": lambda U, J, W: sdp(U, whiten(J), prior, W, k),
                "matrix-fractional": lambda U, J, W: matrix_fractional(U, whiten(J), prior, W, k),
            }
            if canonical.problem.weight_set.is_simplex:
                builds["dual-socp"] = lambda U, J, W: dual_socp(U, whiten(J), prior, W, k)
            if canonical.problem.is_kiefer_wolfowitz:
                builds["log-det"] = lambda U, _, W: log_det(U, prior, W, k)
            return builds
        case Criterion.D:
            return {"log-det": lambda U, _, W: log_det(U, prior, W, k)}
        case Criterion.DS:
            # Only the span of what is of interest matters for the weights, and solvers want it orthonormal.
            interest = orthonormal(canonical.aim)
            return {"log-det": lambda U, _, W: interest_log_det(U, interest, prior, W, k)}
        case Criterion.AVERAGE:
            aim = canonical.aim / np.linalg.norm(canonical.aim)  # the unit of the variance is free
            return {"matrix-fractional": lambda U, _, W: average_variance(U, aim, prior, W, k)}
        case Criterion.E:
            metric = canonical.aim @ canonical.aim.T
            metric /= np.linalg.norm(metric, 2)  # the unit of lambda is free, and solvers want it near one
            return {"sdp": lambda U, _, W: least_eigenvalue(U, metric, prior, W, k)}
    raise AssertionError(canonical.problem.criterion)


def size_of(canonical: Canonical, formulation: str, n: int, targets: int) -> ProgramSize:
    """The size of a formulation of the problem's criterion over so many arms and targets."""
    problem = canonical.problem
    name, columns = formulation, 0
    match problem.criterion:
        case Criterion.DS:
            name, columns = "interest", problem.aim.shape[1]
        case Criterion.AVERAGE:
            name, columns = "average", problem.aim.shape[1]
        case Criterion.E:
            name = "least"
    return program_size(name, n, canonical.rank, targets=targets, columns=columns, responses=problem.responses)


def alternative(canonical: Canonical) -> str:
    """What to do where a program is too large."""
    problem = canonical.problem
    if not problem.weight_set.is_simplex:
        return "take fewer arms or columns, or leave out the constraints on the weights, without which less is needed"
    if problem.criterion in (Criterion.MINIMAX, Criterion.D, Criterion.AVERAGE):
        return "method='frank-wolfe' needs little"
    return (
        f"for {problem.criterion.value} there is no other method: take fewer columns, or a criterion that has a method for "
        "so many (D, A, G, I)"
    )


def orthonormal(columns: Floats) -> Floats:
    """An orthonormal basis of the span of independent columns, whatever their scales."""
    largest = np.abs(columns).max(axis=0)
    return np.asarray(np.linalg.qr(columns / largest)[0])


def witness_of(canonical: Canonical, vectors: Floats, targets: Indices) -> Witness:
    """The vectors b_j (k, r) of a solution in the coordinates of the problem, Wb: (Wb)'y = b'u."""
    vectors = vectors @ canonical.basis.T
    minimax = canonical.problem.criterion is Criterion.MINIMAX and vectors.shape[0] == targets.size
    return Witness.found(canonical, targets if minimax else np.arange(vectors.shape[0]), vectors)
