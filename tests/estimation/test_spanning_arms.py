"""The arms of the separate-arm estimator: they span, and beat pivoted QR and single exchanges."""

from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import qr

from convexdesign import instances
from convexdesign.estimation import spanning_arms
from convexdesign.features import phi


def smallest(rows):
    return np.linalg.svd(rows, compute_uv=False)[min(rows.shape) - 1]


@pytest.mark.parametrize("seed", range(8))
def test_no_worse_than_pivoted_qr_and_near_the_best_of_all_subsets(seed):
    rows = np.random.default_rng(seed).standard_normal((10, 4))
    U = spanning_arms(rows)
    assert np.unique(U).size == 4
    assert np.all(np.diff(U) > 0)
    assert smallest(rows[U]) >= smallest(rows[qr(rows.T, mode="r", pivoting=True)[1][:4]]) * (1 - 1e-12)
    # 10 x 4 exchanges: all but eight are tried, so no exchange gains more than a little.
    best = max(smallest(rows[list(subset)]) for subset in combinations(range(10), 4))
    assert smallest(rows[U]) >= 0.7 * best


def test_where_rows_do_not_span_their_span_counts():
    for name, rank in (("experiment_1", 9), ("multivariate_testing", 8)):
        rows = phi(getattr(instances, name)().arms)
        U = spanning_arms(rows)
        assert U.size == rank == np.linalg.matrix_rank(rows[U], tol=1e-9)
    rng = np.random.default_rng(1)
    low_rank = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 7))
    U = spanning_arms(low_rank)
    assert np.linalg.matrix_rank(low_rank[U]) == U.size == 3


def test_an_orthonormal_basis_among_short_rows_is_found():
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    rows = np.vstack([0.3 * rng.standard_normal((50, 6)) / np.sqrt(6), Q])
    assert spanning_arms(rows).tolist() == list(range(50, 56))
