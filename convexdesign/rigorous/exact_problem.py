"""A design problem with its numbers read exactly: what is proven is proven for precisely these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.arms.source import Arms, ArrayArms, ScaledArms
from convexdesign.balls import ball
from convexdesign.errors import InputError
from convexdesign.problem import DesignProblem
from convexdesign.problem.pairs import PairTargets
from convexdesign.problem.targets import VectorTargets
from convexdesign.rigorous.data import ExactRows, Price, Scale, exact_rationals
from convexdesign.typing import Floats, Indices

__all__ = ["SEVERAL_RESPONSES", "ExactProblem", "read_exactly"]


SEVERAL_RESPONSES = (
    "proofs in exact arithmetic take arms with one response each; without one, the interval that verify gives is proven up "
    "to floating-point rounding"
)


@dataclass(frozen=True, eq=False)
class ExactProblem:
    """arms x_i and their prices; the vectors behind the targets (items where `pairs`), their squared factors where the
    problem scales them, and the item that is no target (the best one of an oracle); A0 (d, d) as exact fractions."""

    arms: ExactRows
    price: Price
    vectors: ExactRows
    pairs: bool
    scale: Scale | None
    no_target: int | None
    prior: list[list[Any]] | None

    def target_balls(self, index: Indices) -> tuple[Any, list[Any]]:
        """Targets without their factors, as a matrix of balls, and the squares of the factors."""
        if self.pairs:
            first, second = np.divmod(np.asarray(index), self.vectors.n)
            V = self.vectors.balls(first) - self.vectors.balls(second)
        else:
            V = self.vectors.balls(index)
        return V, [ball(1.0) for _ in index] if self.scale is None else self.scale.balls(index)

    @property
    def differences(self) -> ExactRows:
        """Vectors that span what the targets span: themselves, or the items' differences from the first."""
        if not self.pairs:
            return self.vectors
        rows = self.vectors
        return ExactRows(rows.source, rows.source.take(np.array([0]))[0], rows.lifted)

    def prior_balls(self) -> Any | None:
        """A0 as a matrix of balls."""
        from flint import arb, arb_mat

        if self.prior is None:
            return None
        d = self.arms.d
        return arb_mat(d, d, [arb(x) for row in self.prior for x in row])


def read_exactly(problem: DesignProblem) -> ExactProblem:
    """The problem's own arrays, exactly.

    Raises InputError where information held is not exactly positive semidefinite, and for arms with several responses.
    """
    if problem.responses > 1:
        raise InputError(SEVERAL_RESPONSES)
    # phi(x) may be held as rounded products; it is read from the arms as given.
    lifted = problem.stated.lifted
    arms = ExactRows(problem.stated.arms.source, lifted=True) if lifted else _rows(problem.arms)
    scale, no_target = None, None
    targets = problem.targets
    if isinstance(targets, PairTargets):
        vectors, pairs = ExactRows(ArrayArms(targets.items)), True
    elif isinstance(targets, VectorTargets):
        vectors, pairs = arms if lifted else _rows(targets.source, targets.offset), False
        if targets.factor is not None:
            theta = np.asarray(problem.stated.theta, dtype=float)
            scale = Scale(vectors, theta, problem.stated.threshold or 0.0)
            zero = np.flatnonzero(targets.factor == 0)
            no_target = int(zero[0]) if zero.size else None
    else:
        raise InputError(f"rigorous verification does not know targets of type {type(targets).__name__}")
    price = Price(problem.noise_variance, problem.costs)
    return ExactProblem(arms, price, vectors, pairs, scale, no_target, _prior(problem, arms))


def _rows(oracle: Arms, offset: Floats | None = None) -> ExactRows:
    """The vectors of an oracle before anything was divided by a noise."""
    while isinstance(oracle, ScaledArms):
        oracle = oracle.arms
    return ExactRows(oracle, offset)


def _prior(problem: DesignProblem, arms: ExactRows) -> list[list[Any]] | None:
    """Information held divided by n_new, as exact fractions."""
    from flint import fmpq

    if problem.prior is None or problem.n_new is None:
        return None
    d = arms.d
    planned = fmpq(*float(problem.n_new).as_integer_ratio())
    counts = problem.stated.existing_counts
    if counts is None:
        given = np.asarray(problem.stated.prior_information, dtype=float)
        G = exact_rationals(given)
        held = [[(G[a][b] + G[b][a]) / (2 * planned) for b in range(d)] for a in range(d)]
        _refuse_indefinite(held)
        return held
    counts = np.asarray(counts, dtype=float)
    held = [[fmpq(0)] * d for _ in range(d)]
    pulled = np.flatnonzero(counts != 0)
    noise = np.ones(counts.size) if problem.noise_variance is None else problem.noise_variance
    for i, x in zip(pulled.tolist(), arms.rationals(pulled)):
        effort = fmpq(*float(counts[i]).as_integer_ratio()) / fmpq(*float(noise[i]).as_integer_ratio()) / planned
        for a in range(d):
            for b in range(d):
                held[a][b] += effort * x[a] * x[b]
    return held


def _refuse_indefinite(matrix: list[list[Any]]) -> None:
    """Exact symmetric elimination; a negative pivot, or a zero one with anything beside it, is not semidefinite."""
    S = [row[:] for row in matrix]
    for k in range(len(S)):
        pivot = S[k][k]
        if pivot < 0 or (pivot == 0 and any(x != 0 for x in S[k][k + 1 :])):
            raise InputError(
                "prior_information, read exactly, is not positive semidefinite (its entries are rounded); give "
                "existing_counts, or add a little to its diagonal"
            )
        for a in range(k + 1, len(S)):
            if pivot != 0 and S[a][k] != 0:
                share = S[a][k] / pivot
                S[a] = [x - share * y for x, y in zip(S[a], S[k])]
