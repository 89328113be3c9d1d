"""Feature maps: phi, which makes a quadratic variance linear, and the model matrices of regression designs."""

from convexdesign.features.maps import (
    duplication_matrix,
    full_factorial,
    interactions,
    phi,
    polynomial,
    simplex_lattice,
    unvech,
    vech,
)
from convexdesign.features.model import ModelSpec, model_matrix

__all__ = [
    "ModelSpec",
    "duplication_matrix",
    "full_factorial",
    "interactions",
    "model_matrix",
    "phi",
    "polynomial",
    "simplex_lattice",
    "unvech",
    "vech",
]
