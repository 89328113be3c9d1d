"""A convex set in cone form, {x : b - Ax in K}, as CVXPY and the solvers agree on it: the cones, and their duals.

K is a product of blocks in this order: zeros, the nonnegative orthant, second-order cones |s_1..| <= s_0, positive
semidefinite matrices as their upper triangles with off-diagonal entries times sqrt 2, exponential cones
s_1 exp(s_0 / s_1) <= s_2, and power cones prod_i s_i^a_i >= |s_last|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones
from scipy import sparse

from convexdesign.typing import Floats

__all__ = ["Block", "ConeForm", "block_sizes", "clarabel_cones", "cone_form", "into_dual"]


EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Block:
    """Rows start..stop of a cone form that lie in one cone: "soc", "psd", "exp" or "power" (with its exponents)."""

    kind: str
    start: int
    stop: int
    exponents: tuple[float, ...] = ()

    @property
    def rows(self) -> slice:
        """The rows as a slice."""
        return slice(self.start, self.stop)

    @property
    def deep(self) -> Floats:
        """A point well inside the cone."""
        point = np.zeros(self.stop - self.start)
        if self.kind == "soc":
            point[0] = 1.0
        elif self.kind == "psd":
            column, row = np.tril_indices(self.order)
            point[column == row] = 1.0
        elif self.kind == "exp":
            point[1:] = 1.0, 2.0 * np.e
        else:
            point[:-1] = 1.0
        return point

    @property
    def order(self) -> int:
        """k of a semidefinite block, k x k."""
        return _order(self.stop - self.start)


@dataclass(frozen=True, eq=False)
class ConeForm:
    """b - Ax in K: the first n entries of x are the weights; `zero` rows of equalities, `nonneg` inequalities, then blocks."""

    A: sparse.csr_matrix
    b: Floats
    zero: int
    nonneg: int
    blocks: tuple[Block, ...]
    n: int

    @property
    def cones(self) -> list[Any]:
        """K as Clarabel's cones."""
        import clarabel

        sizes = [(b.kind, b.stop - b.start, b.exponents) for b in self.blocks]
        return [getattr(clarabel, kind)(*given) for kind, given in clarabel_cones(self.zero, self.nonneg, sizes)]


# A block's kind, its rows, and the exponents of a power cone.
Sizes = list[tuple[str, int, tuple[float, ...]]]


def block_sizes(dims: Any) -> Sizes:
    """The blocks of CVXPY's cones, in its order, after the equalities and inequalities."""
    sizes: Sizes = [("soc", int(d), ()) for d in dims.soc]
    sizes += [("psd", int(d) * (int(d) + 1) // 2, ()) for d in dims.psd]
    sizes += [("exp", 3, ())] * dims.exp
    sizes += [("power", 3, (float(a), 1.0 - float(a))) for a in dims.p3d]
    return sizes + [("power", len(shares) + 1, tuple(float(a) for a in shares)) for shares in getattr(dims, "pnd", ())]


def clarabel_cones(zero: int, nonneg: int, sizes: Sizes) -> list[tuple[str, tuple[Any, ...]]]:
    """Each cone as the name of Clarabel's class and its arguments, which other processes can read."""
    cones: list[tuple[str, tuple[Any, ...]]] = [("ZeroConeT", (zero,))] if zero else []
    cones += [("NonnegativeConeT", (nonneg,))] if nonneg else []
    for kind, size, exponents in sizes:
        if kind == "soc":
            cones.append(("SecondOrderConeT", (size,)))
        elif kind == "psd":
            cones.append(("PSDTriangleConeT", (_order(size),)))
        elif kind == "exp":
            cones.append(("ExponentialConeT", ()))
        elif len(exponents) == 2:
            cones.append(("PowerConeT", (exponents[0],)))
        else:
            cones.append(("GenPowerConeT", (list(exponents), 1)))
    return cones


def _order(size: int) -> int:
    """k of a k x k matrix whose triangle has so many entries."""
    return round((np.sqrt(8 * size + 1) - 1) / 2)


def cone_form(w: cp.Variable, constraints: list[cp.Constraint]) -> ConeForm:
    """The constraints in cone form, columns of w (n,) first and then whatever variables they need beside."""
    program = cp.Problem(cp.Maximize(cp.sum(w)), constraints)
    data = program.get_problem_data(cp.CLARABEL)[0]
    dims, first = data["dims"], data["param_prob"].var_id_to_col[w.id]
    A = sparse.csc_matrix(data["A"])
    mine = np.arange(first, first + w.size)
    order = np.r_[mine, np.delete(np.arange(A.shape[1]), mine)]
    at = int(dims.zero) + int(dims.nonneg)
    blocks: list[Block] = []
    for kind, size, exponents in block_sizes(dims):
        blocks.append(Block(kind, at, at + size, exponents))
        at += size
    assert len(dims_to_solver_cones(dims)) == bool(dims.zero) + bool(dims.nonneg) + len(blocks)
    rows = sparse.csr_matrix(A[:, order])
    rows.eliminate_zeros()
    return ConeForm(rows, np.asarray(data["b"], dtype=float), int(dims.zero), int(dims.nonneg), tuple(blocks), w.size)


def into_dual(form: ConeForm, z: Floats) -> Floats:
    """z moved into the dual cone K*, block by block, so that rounding leaves no doubt that it lies there.

    What a solver leaves is close to K*, on either side. Where no point of K* is near, the block is zero, which every K* holds.
    """
    z = np.where(np.isfinite(z), z, 0.0)
    z[form.zero : form.zero + form.nonneg] = np.maximum(z[form.zero : form.zero + form.nonneg], 0.0)
    for block in form.blocks:
        part = _DUALS[block.kind](z[block.rows], block)
        z[block.rows] = part if np.all(np.isfinite(part)) else 0.0
    return z


def _soc(z: Floats, block: Block) -> Floats:
    length = float(np.linalg.norm(z[1:]))
    return np.r_[max(z[0], length * (1.0 + (z.size + 4) * EPS)), z[1:]]


def _psd(z: Floats, block: Block) -> Floats:
    k = block.order
    matrix = np.zeros((k, k))
    column, row = np.tril_indices(k)  # the upper triangle, column by column
    matrix[row, column] = matrix[column, row] = z / np.where(row == column, 1.0, np.sqrt(2.0))
    size = float(np.abs(matrix).max(initial=0.0))
    if size == 0.0:
        return z
    # The computed eigenvalues are those of a matrix at most this far away.
    lift = max(0.0, -float(np.linalg.eigvalsh(matrix)[0])) + 8.0 * k * k * EPS * size
    return np.asarray(z + np.where(row == column, lift, 0.0))


def _exp(z: Floats, block: Block) -> Floats:
    """{u < 0, w >= -u exp(v/u - 1)}, and {u = 0, v >= 0, w >= 0}."""
    u, v, w = (float(a) for a in z)
    if not u < 0:
        return np.array([0.0, max(v, 0.0), max(w, 0.0)])
    power = v / u - 1.0
    if power > 700.0:
        return np.full(3, np.nan)
    least = -u * np.exp(power) * (1.0 + (8.0 + 4.0 * abs(power)) * EPS)
    return np.array([u, v, max(w, float(least))])


def _power(z: Floats, block: Block) -> Floats:
    """prod_i (z_i / a_i)^a_i >= |z_last|, z_i >= 0."""
    shares = np.array(block.exponents)
    first = np.maximum(z[:-1], 0.0)
    most = 0.0
    if np.all(first > 0):
        logs = np.log(first / shares)
        doubt = (16.0 + 4.0 * float(np.abs(logs).max())) * shares.size * EPS
        most = float(np.exp(shares @ logs)) * (1.0 - doubt)
    return np.r_[first, np.clip(z[-1], -most, most)]


_DUALS = {"soc": _soc, "psd": _psd, "exp": _exp, "power": _power}
