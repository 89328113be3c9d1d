"""The equivalence theorem for given weights: the sensitivity of every arm, and the bound that none exceeds at an optimum.

With any vectors b_j, s_i = sum_j (b_j'y_i)^2 is arm i's sensitivity, and a certificate bounds the optimum by the largest of
them (`convexdesign.certificate`). The vectors here are the design's own, scaled so that the bound is level where the design's
value is: the largest sensitivity then exceeds the bound by exactly the gap that these vectors prove, and a picture without an
arm above the bound is a proof. For minimax the multipliers of the targets are the best there are; for E, the mix of
eigenvectors is the design's own or that of the optimum, whichever proves more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convexdesign.certificate import Witness
from convexdesign.evaluation import Evaluation
from convexdesign.problem import Canonical, Criterion
from convexdesign.typing import Floats, Indices
from convexdesign.verification.balance import balance
from convexdesign.verification.derivatives import Derivatives

__all__ = ["Sensitivities", "sensitivities", "unmeasured_shares"]


# Targets whose multipliers are sought: the worst ones, this many for each entry of a symmetric matrix, and no more in all.
TARGETS_PER_ENTRY = 4
MOST_TARGETS = 400


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """values s_i (n,), and the bound that they must keep for the design to be optimal."""

    values: Floats
    bound: float


def sensitivities(canonical: Canonical, at: Evaluation, best: Witness | None) -> Sensitivities:
    """The sensitivities at weights evaluated by `at`; best: what proves the bound on the optimum, where it is known."""
    problem = canonical.problem
    if best is not None:
        best = Witness(best.targets, best.within(canonical))
    match problem.criterion:
        case Criterion.MINIMAX:
            return _minimax(canonical, at, best)
        case Criterion.E:
            return _least_eigenvalue(canonical, at, best)
    slopes = Derivatives(canonical, at)
    B = slopes.vectors
    if best is not None and problem.criterion is Criterion.AVERAGE:
        B = _completed(canonical, at, B, _aligned(B, best.targets, best, problem.aim.T))
    elif best is not None and problem.criterion is Criterion.DS:
        # B = L(K'B) with L'K = I: it is L that is open, and the witness H has one too, H(K'H)^-1.
        H = best.vectors.T
        L, wanted = (np.asarray(np.linalg.solve(C.T @ problem.aim, C.T).T, dtype=float) for C in (B, H))
        B = _completed(canonical, at, L, wanted) @ (problem.aim.T @ B)
    return Sensitivities(problem.arms.quadratic(np.ascontiguousarray(B)), float(slopes.levels[0]))


def unmeasured_shares(canonical: Canonical, at: Evaluation) -> Floats:
    """The share of each arm's squared length (in coordinates where the arms are round) that the design does not measure."""
    size = canonical.problem.arms.quadratic(canonical.basis)
    lost = canonical.problem.arms.quadratic(at.null)
    return np.asarray(np.divide(lost, size, out=np.zeros_like(size), where=size > 0))


def _minimax(canonical: Canonical, at: Evaluation, best: Witness | None) -> Sensitivities:
    problem = canonical.problem
    entries = canonical.rank * (canonical.rank + 1) // 2
    index = problem.targets.worst(at.factor, min(TARGETS_PER_ENTRY * entries, MOST_TARGETS))[0]
    if best is not None:
        index = np.union1d(index, best.targets)
    V = problem.targets.take(index)
    image = V @ at.factor
    values = np.einsum("ij,ij->i", image, image)
    keep = values > 0
    index, V, values, B = index[keep], V[keep], values[keep], (image[keep] @ at.factor.T).T
    if best is not None:
        B = _completed(canonical, at, B, _aligned(B, index, best, V))
    held = np.zeros(index.size) if problem.prior is None else np.einsum("ji,jk,ki->i", B, problem.prior, B)
    mu = balance(problem.arms, B, held, values**2, np.zeros(problem.n_arms, dtype=bool)).multipliers
    mu *= at.value**2 / float(mu @ values**2)
    return Sensitivities(problem.arms.quadratic(B * np.sqrt(mu)), at.value - float(mu @ held))


def _least_eigenvalue(canonical: Canonical, at: Evaluation, best: Witness | None) -> Sensitivities:
    problem = canonical.problem
    U = Derivatives(canonical, at).vectors
    mixes = [U[:, :1]]
    if best is not None:
        B = best.vectors.T
        mixes += [U @ ((problem.aim.T @ U).T @ (problem.aim.T @ B)), B]
    found = []
    for mix in mixes:
        size = float(np.linalg.norm(problem.aim.T @ mix))
        if size > 0:
            W = mix / size
            held = 0.0 if problem.prior is None else float(np.einsum("ik,ij,jk->", W, problem.prior, W))
            found.append(Sensitivities(problem.arms.quadratic(np.ascontiguousarray(W)), at.value - held))
    return min(found, key=lambda s: float(s.values.max()) - s.bound)


def _aligned(B: Floats, index: Indices, best: Witness, V: Floats) -> Floats:
    """For each column b of B (d, m), the witness's vector for the same target, with the same b'v; b where it has none."""
    out = B.copy()
    where = {int(j): row for row, j in enumerate(best.targets)}
    for column, j in enumerate(index):
        row = where.get(int(j))
        if row is not None:
            hit, wanted = float(best.vectors[row] @ V[column]), float(B[:, column] @ V[column])
            if hit != 0.0:
                out[:, column] = best.vectors[row] * (wanted / hit)
    return out


def _completed(canonical: Canonical, at: Evaluation, B: Floats, wanted: Floats) -> Floats:
    """B with the part in the null space of A(w), which the design itself leaves open, as in `wanted`."""
    N, R = at.null, canonical.inverse
    return np.asarray(B + N @ ((R @ N).T @ (R @ (wanted - B))))
