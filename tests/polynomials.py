"""Shared by the tests: regions, models, and the sensitivity recomputed from nothing but the settings."""

from __future__ import annotations

import itertools

import numpy as np

import convexdesign as cd


def cube(q):
    return cd.Region.box(**{f"x{k}": (-1, 1) for k in range(q)})


def quadratic(q):
    return cd.Model.polynomial([f"x{k}" for k in range(q)], 2)


def line(degree, low=-1.0, high=1.0):
    return cd.Model.polynomial("x", degree).over(cd.Region.box(x=(low, high)))


def scheffe(names):
    pairs = [f"{a}:{b}" for a, b in itertools.combinations(names, 2)]
    return cd.Model.formula("0 + " + " + ".join([*names, *pairs]))


def monomials(x, exponents):
    """The model matrix written out: prod_k x_k^e_k."""
    return np.array([[np.prod(row ** np.array(e)) for e in exponents] for row in np.atleast_2d(x)])


def quadratic_rows(x):
    """1, x_i, x_i x_j of the rows of x."""
    x = np.atleast_2d(x)
    q = x.shape[1]
    columns = [np.ones(len(x)), *x.T]
    columns += [x[:, i] * x[:, j] for i in range(q) for j in range(i, q)]
    return np.stack(columns, axis=1)


def settings(points, names):
    return points[list(names)].to_numpy(dtype=float)
