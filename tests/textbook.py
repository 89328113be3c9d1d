"""Criteria written out with dense inverses on the arms as given, and problems of every kind to compare them on."""

from __future__ import annotations

import numpy as np

import convexdesign as cd

P = cd.DesignProblem
RNG = np.random.default_rng(11)
X = RNG.standard_normal((9, 3))
S2 = RNG.uniform(0.5, 3.0, 9)
PRICES = RNG.uniform(0.2, 5.0, 9)
HELD = {"existing_counts": np.arange(9), "n_new": 12}

PROBLEMS = {
    "minimax": P(X, [[1, 2, 3], [-1, 0, 1], [1, 1, 0]], noise_variance=S2),
    "G": P.g_optimal(X),
    "G, held": P.g_optimal(X, noise_variance=S2, **HELD),
    "XY": P.xy_allocation(X, noise_variance=S2, costs=PRICES),
    "XY, held, costs": P.xy_allocation(X, costs=PRICES, **HELD),
    "best-arm oracle": P.best_arm_oracle(X, theta=X[0], noise_variance=S2),
    "c": P.c_optimal(X, [1.0, 2.0, -1.0]),
    "D": P.d_optimal(X, noise_variance=S2),
    "D, held, costs": P.d_optimal(X, costs=PRICES, **HELD),
    "D_s": P.ds_optimal(X, [0, 2]),
    "D_s, held": P.ds_optimal(X, [0, 2], noise_variance=S2, **HELD),
    "A": P.a_optimal(X, costs=PRICES),
    "A, held": P.a_optimal(X, **HELD),
    "I": P.i_optimal(X, region=X[:4], noise_variance=S2),
    "E": P.e_optimal(X, noise_variance=S2),
    "E, held, costs": P.e_optimal(X, costs=PRICES, **HELD),
}


def all_targets(problem) -> np.ndarray:
    """Every target vector; of E none."""
    if problem.kind == "xy-allocation":
        Z = problem.stated.items.values
        i, j = np.triu_indices(len(Z), 1)
        return Z[i] - Z[j]
    return problem.targets.take(np.arange(problem.targets.m))


def criterion(problem, weights) -> float:
    """The criterion at any weights for which A is invertible, whether or not they sum to one."""
    Y = problem.arms.take(np.arange(problem.n_arms))
    A = (Y * np.asarray(weights)[:, None]).T @ Y
    if problem.prior is not None:
        A = A + problem.prior
    C = np.linalg.inv(A)
    match problem.criterion.name:
        case "D":
            return np.linalg.slogdet(A)[1]
        case "DS":
            return -np.linalg.slogdet(problem.contrast_matrix.T @ C @ problem.contrast_matrix)[1]
        case "E":
            return np.linalg.eigvalsh(A)[0]
        case "PHI2":
            return np.linalg.norm(C)
        case "AVERAGE":
            return np.trace(problem.contrast_matrix.T @ C @ problem.contrast_matrix)
    V = all_targets(problem)
    return np.einsum("ij,jk,ik->i", V, C, V).max()


def moved(weights, toward, share) -> np.ndarray:
    return (1 - share) * np.asarray(weights) + share * np.asarray(toward)
