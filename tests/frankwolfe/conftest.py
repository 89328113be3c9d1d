"""Whitened arms of many shapes, good and ugly, for every test of the corrective steps."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _raw(shape: str, n: int, d: int, rng: np.random.Generator) -> Floats:
    X = rng.standard_normal((n, d))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    match shape:
        case "sphere":
            return unit
        case "ball":
            return unit * rng.random((n, 1)) ** (1 / d)
        case "signs":
            return np.sign(X)
        case "collinear":
            return X[:1] + 1e-4 * X
        case "polynomial":
            return np.vander(np.sort(rng.uniform(-1, 1, n)), d)
        case "grid":
            return rng.integers(-1, 2, (n, d)).astype(float)
        case "duplicates":
            return X[rng.integers(0, (n + 2) // 3, n)]
        case "scales":
            return X * 10.0 ** rng.uniform(-6, 6, (n, 1))
        case "unequal":
            return X * 10.0 ** rng.uniform(-4, 4, d)
    return X


@pytest.fixture(scope="session")
def whitened() -> Callable[[str, int, int, int], Floats]:
    """(shape, n, d, seed) -> arms (n, r) with U'U/n = I, r <= d the rank of the arms drawn."""

    def make(shape: str, n: int, d: int, seed: int) -> Floats:
        X = _raw(shape, n, d, np.random.default_rng(seed))
        X = X / np.where((norms := np.linalg.norm(X, axis=0)) > 0, norms, 1.0)
        left, singular, _ = np.linalg.svd(X, full_matrices=False)
        rank = int((singular > 1e-9 * singular[0]).sum())
        return left[:, :rank] * np.sqrt(n)

    return make
