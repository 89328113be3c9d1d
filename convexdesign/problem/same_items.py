"""Items that are equal up to rounding: one item, however it was computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convexdesign.typing import Floats, Indices

__all__ = ["SAME", "nearly_zero", "same_items"]


# Entries that differ by no more than this share of the largest of their coordinate differ by rounding: a few hundred units
# in the last place, which a computation of some length leaves. Which of such items is better is an accident of computing.
SAME = 1e-13


def same_items(items: Floats) -> Indices:
    """(m,): equal numbers for items (m, d) that are equal up to rounding, directly or through others in between.

    >>> same_items(np.array([[0.3, 1.0], [0.0, 2.0], [0.1 + 0.2, 1.0]]))
    array([1, 0, 1])
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    distinct, number = np.unique(_scaled(items), axis=0, return_inverse=True)
    m, d = distinct.shape
    # Along a direction in general position, only items that are near each other have near neighbours.
    direction: Floats = np.asarray(np.random.default_rng(0).uniform(1.0, 2.0, d))
    place = distinct @ direction
    order = np.argsort(place, kind="stable")
    # Beside the difference itself, the rounding of the two products.
    reach = (SAME + 4.0 * d * np.finfo(float).eps) * direction.sum()
    first, second = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for step in range(1, m):
        near = np.flatnonzero(place[order[step:]] - place[order[:-step]] <= reach)
        if not near.size:
            break
        i, k = order[near], order[near + step]
        equal = np.all(np.abs(distinct[i] - distinct[k]) <= SAME, axis=1)
        first.append(i[equal])
        second.append(k[equal])
    i, k = np.concatenate(first), np.concatenate(second)
    graph = coo_matrix((np.ones(i.size), (i, k)), shape=(m, m))
    group = connected_components(graph, directed=False)[1]
    return np.asarray(group[np.ravel(number)], dtype=np.intp)


def nearly_zero(items: Floats) -> NDArray[np.bool_]:
    """(m,): whether an item is zero, up to rounding."""
    return np.asarray(np.all(np.abs(_scaled(items)) <= SAME, axis=1))


def _scaled(items: Floats) -> Floats:
    """The items (m, d), each coordinate over its largest size."""
    largest = np.abs(items).max(axis=0)
    return np.asarray(items / np.where(largest > 0, largest, 1.0) + 0.0)
