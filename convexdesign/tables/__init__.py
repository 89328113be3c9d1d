"""Reading matrices of arms and vectors of weights from CSV and NPY files, without silent misreadings."""

from convexdesign.tables.table import Table, read_table
from convexdesign.tables.vector import read_vector

__all__ = ["Table", "read_table", "read_vector"]
