"""The contract of every source of arms: passes, single rows, quadratic forms and the largest of them say the same."""

from __future__ import annotations

import numpy as np
import pytest

from convexdesign.arms import Arms, ArrayArms, BlockArms, LiftedArms, ScaledArms
from convexdesign.arms.noise import read_noise
from convexdesign.arms.read import read_arms
from convexdesign.features import phi

N, D = 700, 3
X = np.random.default_rng(0).standard_normal((N, D))
GROUPS = np.random.default_rng(1).standard_normal((N, D, 2))
VARIANCE = np.random.default_rng(2).uniform(0.5, 3.0, N)
COVARIANCE = np.array([[[1.0, 0.6], [0.6, 2.0]]])


def mapped(folder):
    np.save(folder / "arms.npy", X.astype(np.float32))
    return read_arms(np.load(folder / "arms.npy", mmap_mode="r")).source


def dask(folder):
    array = pytest.importorskip("dask.array")
    return read_arms(array.from_array(X, chunks=(250, D))).source


def whitened():
    L = np.linalg.cholesky(COVARIANCE[0])
    return np.stack([np.linalg.solve(L, x.T) for x in GROUPS])


# By name: the source, from a folder for files, and the groups of rows (n, r, d) that it stands for.
SOURCES = {
    "array": (lambda _: ArrayArms(X), X[:, None]),
    "memory map of single precision": (mapped, X.astype(np.float32).astype(float)[:, None]),
    "scaled": (lambda _: ScaledArms(ArrayArms(X), VARIANCE), (X * VARIANCE[:, None])[:, None]),
    "lifted": (lambda _: LiftedArms(ArrayArms(X), phi, 6), phi(X)[:, None]),
    "blocks": (lambda _: BlockArms(N, D, lambda start, stop: X[start:stop], block=64), X[:, None]),
    "dask": (dask, X[:, None]),
    "responses": (lambda _: read_arms(GROUPS).source, GROUPS.transpose(0, 2, 1)),
    "noise of responses": (lambda _: read_noise(COVARIANCE, read_arms(GROUPS)).divided(), whitened()),
    "noise and costs of responses": (
        lambda _: read_noise(VARIANCE, read_arms(GROUPS)).divided(VARIANCE**2),
        GROUPS.transpose(0, 2, 1) / (VARIANCE**1.5)[:, None, None],
    ),
}


@pytest.fixture(params=SOURCES)
def source_and_groups(request, tmp_path):
    make, groups = SOURCES[request.param]
    return make(tmp_path), groups


def test_it_is_a_source(source_and_groups):
    source, groups = source_and_groups
    assert isinstance(source, Arms)
    assert (source.n, source.responses, source.d) == groups.shape


def test_single_rows_are_those_of_a_pass(source_and_groups):
    source, groups = source_and_groups
    index = np.array([N - 1, 3, 3, 250, 0])
    np.testing.assert_allclose(source.take(index), groups[index].reshape(-1, source.d), rtol=1e-12)
    along = np.arange(float(N))
    starts, rows, parts = zip(*((start, *made) for start, made in source.map(lambda rows, part: (rows, part), along)))
    np.testing.assert_allclose(np.concatenate(rows), groups.reshape(-1, source.d), rtol=1e-12)
    np.testing.assert_array_equal(np.concatenate(parts), along)
    assert list(starts) == [int(part[0]) for part in parts]


@pytest.mark.parametrize("k", [1, 5, N, N + 7])
def test_the_largest_forms_are_found_where_they_are(source_and_groups, k):
    source, groups = source_and_groups
    F = np.random.default_rng(3).standard_normal((source.d, 2))
    forms = np.square(groups @ F).sum(axis=(1, 2))
    np.testing.assert_allclose(source.quadratic(F), forms, rtol=1e-12)
    index, values = source.largest(F, k)
    assert index.size == values.size == min(k, N)
    np.testing.assert_allclose(values, np.sort(forms)[::-1][:k], rtol=1e-12)
    np.testing.assert_allclose(forms[index], values, rtol=1e-12)
