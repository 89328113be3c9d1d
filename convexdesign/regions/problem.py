"""A design problem over a region: what is known of it, and the finite problem over any list of its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.arguments import numeric, positive, real
from convexdesign.arms.labels import places_of_term
from convexdesign.errors import InputError
from convexdesign.problem import DesignProblem
from convexdesign.problem.continuum import ContinuumProblem
from convexdesign.problem.psd import read_psd
from convexdesign.regions.defined import check_curve, check_positive, place
from convexdesign.regions.frame import Frame, SampledFrame
from convexdesign.regions.generalised import NonlinearCurve
from convexdesign.regions.model import Curve
from convexdesign.regions.moments import second_moments
from convexdesign.regions.oblique import along_narrow_directions
from convexdesign.regions.polynomial import Polynomial
from convexdesign.regions.region import Region
from convexdesign.regions.search import inner_points
from convexdesign.regions.text import Ratio, parse_ratio
from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    from convexdesign.regions.exchange import Search
    from convexdesign.regions.symmetry import Symmetry
    from convexdesign.regions.verification import RegionVerification

__all__ = ["RegionProblem", "check_problem", "make_problem", "repetitions"]

KINDS = {
    "DesignProblem": ("targets",),
    "g_optimal": (),
    "d_optimal": (),
    "ds_optimal": ("interest",),
    "a_optimal": (),
    "i_optimal": ("region",),
    "average_variance": ("M",),
    "c_optimal": ("direction",),
    "e_optimal": (),
    "xy_allocation": ("items",),
    "level_set_allocation": ("items",),
}
COMMON = ("noise_variance", "costs", "prior_information", "existing_runs", "n_new")
Where = Sequence[int] | Indices
# By how much a column of shares, written with a few digits, may miss one.
OFF_ONE = 0.02


@dataclass(frozen=True, eq=False, repr=False)
class RegionProblem(ContinuumProblem):
    """A design problem whose arms are f(x) for all settings x of a region.

    Parameters
    ----------
    curve : Curve
        The f over the region.
    kind : str
        The constructor's name.
    fields : mapping
        Its own keywords, read.
    noise, cost : Ratio, optional
        Rational functions of the settings: variance and price.
    prior : array, shape (d, d), optional
        The total information held.
    n_new : float, optional
        How many new measurements are planned.
    like : RegionProblem, optional
        One with the same functions of the settings, whose coordinates it shares.
    """

    curve: Curve | NonlinearCurve
    kind: str
    fields: Mapping[str, Any]
    noise: Ratio | None = None
    cost: Ratio | None = None
    prior: Floats | None = None
    n_new: float | None = None
    like: RegionProblem | None = None

    @property
    def region(self) -> Region:
        """The settings allowed."""
        return self.curve.region

    @cached_property
    def price(self) -> Ratio | None:
        """s^2(x) c(x), by which f(x)f(x)' is divided; None for 1."""
        parts = [part for part in (self.noise, self.cost) if part is not None]
        if not parts:
            return None
        top, bottom = parts[0]
        for a, b in parts[1:]:
            top, bottom = top * a, bottom * b
        return top, bottom

    @property
    def predicts_region(self) -> bool:
        """Whether the targets are all f(x) themselves: G-optimality."""
        return self.kind == "g_optimal"

    @property
    def is_kiefer_wolfowitz(self) -> bool:
        """Whether G and D have the same optimum: one noise and cost everywhere, nothing held."""
        return (
            self.predicts_region
            and self.prior is None
            and self.is_polynomial
            and (self.price is None or all(p.is_constant for p in self.price))
        )

    @property
    def is_polynomial(self) -> bool:
        """Whether sums of squares prove its bounds: sensitivities are polynomials over one."""
        return isinstance(self.curve, Curve) and self.curve.weight is None

    @cached_property
    def adapted(self) -> RegionProblem:
        """The same problem in coordinates along the narrow directions of its region; itself where that is not narrow."""
        region = along_narrow_directions(self.region)
        if region is self.region:
            return self
        gone = dict(region.eliminated)

        def moved(part: Ratio | None) -> Ratio | None:
            return None if part is None else tuple(p.substituted(gone, region.names) for p in part)  # type: ignore[return-value]

        return replace(
            self, curve=self.curve.model.over(region), noise=moved(self.noise), cost=moved(self.cost), like=None
        )

    def adapted_settings(self, where: Where, x: Floats) -> Floats:
        """Settings (n, q) in the coordinates of `adapted`.

        Parameters
        ----------
        where : sequence of int
            The piece of each.
        x : array, shape (n, q)
            Its coordinates here.

        Returns
        -------
        array, shape (n, q)
            Its coordinates there.
        """
        if self.adapted is self:
            return x
        return self.adapted.region.coordinates(self.region.table(list(where), x))[1]

    @cached_property
    def frame(self) -> Frame:
        """The coordinates in which it is solved."""
        if self.like is not None:
            return self.like.frame.of(self.curve)
        plain = self.kind == "e_optimal"
        if isinstance(self.curve, Curve):
            return Frame(self.curve, plain)
        x = inner_points(self.region, 200, np.random.default_rng(1)) if self.region.q else np.empty((1, 0))
        return SampledFrame(self.curve, [x for _ in self.region.pieces], plain)

    @cached_property
    def restated(self) -> dict[str, Any]:
        """The fields of the kind and the information held, in the frame's coordinates."""
        frame = self.frame
        out: dict[str, Any] = {}
        for name, value in self.fields.items():
            if name in ("targets", "items"):
                out[name] = frame.vectors(value)
            elif name == "direction":
                out[name] = frame.vectors(value[None, :])[0]
            elif name == "M":
                out[name] = frame.matrix(value)
            elif name == "interest":
                out[name] = np.ascontiguousarray(frame.vectors(value.T).T)
        if self.prior is not None:
            out |= {"prior_information": frame.matrix(self.prior), "n_new": self.n_new}
        return out

    def finite(
        self, where: Where, x: Floats, targets: Floats | None = None, symmetry: Symmetry | None = None
    ) -> DesignProblem:
        """The problem over a list of settings in the frame's coordinates.

        Parameters
        ----------
        where : sequence of int
            The piece of each setting.
        x : array, shape (n, q)
            Its continuous coordinates.
        targets : array, shape (k, d), optional
            Of G, the targets to predict.
        symmetry : Symmetry, optional
            Each setting stands for all its images under it, in equal shares.

        Returns
        -------
        DesignProblem
            For `solve`.
        """
        rows, noise = self.measured(where, x)
        if symmetry is not None:
            rows = symmetry.roots(rows if noise is None else rows / np.sqrt(noise)[:, None])
            noise = None
        common = {name: value for name, value in self.restated.items() if name in ("prior_information", "n_new")}
        fields = {name: value for name, value in self.restated.items() if name not in common}
        if noise is not None:
            common["noise_variance"] = noise
        if self.cost is not None:
            common["costs"] = values_of(self.cost, x)
        if self.predicts_region:
            return (
                DesignProblem.d_optimal(rows, **common) if targets is None else DesignProblem(rows, targets, **common)
            )
        match self.kind:
            case "DesignProblem":
                return DesignProblem(rows, **fields, **common)
            case "a_optimal" | "i_optimal" | "average_variance":
                return DesignProblem.average_variance(rows, **fields, **common)
        made: DesignProblem = getattr(DesignProblem, self.kind)(rows, **fields, **common)
        return made

    def measured(self, where: Where, x: Floats) -> tuple[Floats, Floats | None]:
        """The arms of settings, and the noise variance that they are still to be divided by.

        Parameters
        ----------
        where : sequence of int
            The piece of each setting.
        x : array, shape (n, q)
            Its continuous coordinates.

        Returns
        -------
        arms : array, shape (n, d)
            The rows h, times the root of the weight of the model there.
        noise : array, shape (n,), or None
            The variance; None for one.
        """
        return self.frame.rows(where, x), None if self.noise is None else values_of(self.noise, x)

    def search(self, deadline: float = np.inf) -> Search:
        """The search for settings.

        Parameters
        ----------
        deadline : float
            When it is to end, as `time.perf_counter` counts.

        Returns
        -------
        Search
            What `solve` drives.
        """
        from convexdesign.regions.exchange import Search

        return Search(self, deadline=deadline)

    def prices(self, x: Floats) -> Floats:
        """s^2(x) c(x), by which squares are divided.

        Parameters
        ----------
        x : array, shape (n, q)
            Continuous coordinates.

        Returns
        -------
        array, shape (n,)
            Variance times price.
        """
        return np.ones(len(x)) if self.price is None else values_of(self.price, x)

    def allowed(self, x: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether noise and cost are finite and positive.

        Parameters
        ----------
        x : array, shape (n, q)
            Continuous coordinates.

        Returns
        -------
        array of bool, shape (n,)
            At each.
        """
        ok = np.ones(len(x), dtype=bool)
        for part in (self.noise, self.cost):
            if part is not None:
                values = values_of(part, x)
                ok &= np.isfinite(values) & (values > 0)
        return ok

    def solved(self, **options: Any) -> Any:
        """The optimal design over the region with its proof; called by `solve`.

        Parameters
        ----------
        **options : dict
            Those of `solve`.

        Returns
        -------
        RegionDesign
            Certified over the whole region, or as far as the proof went.
        """
        from convexdesign.regions.solving import solve_over_region

        return solve_over_region(self, **options)

    def together(self, problems: Sequence[Any], weights: Any) -> Any:
        """The compound problem of this and others over the same region; called by the constructors of DesignProblem.

        Parameters
        ----------
        problems : sequence of RegionProblem
            All of them.
        weights : array_like or None
            The a_j; None for the least efficiency.

        Returns
        -------
        RegionCompoundProblem
            For `solve`.
        """
        from convexdesign.regions.together import together

        return together(problems, weights)

    def verified(
        self, *, runs: Any = None, weights: Any = None, counts: Any = None, rigorous: bool = False
    ) -> RegionVerification:
        """The judgement on a table of runs; called by `verify`.

        Parameters
        ----------
        runs : DataFrame, mapping or path
            A column for each factor, a row a run; a column count or weight, which is no factor, says how often.
        weights, counts : ndarray, shape (n,), optional
            Shares or repetitions of the rows; each counts once where there are neither these nor such a column.
        rigorous : bool
            Prove the efficiency of polynomial models in rational arithmetic. Of other models intervals, rounded outwards,
            are the proof in either case; `proof` says which it was.

        Returns
        -------
        RegionVerification
            The efficiency, between its proven ends, against the best possible anywhere in the region.
        """
        from convexdesign.regions.verification import verify_over_region

        return verify_over_region(self, runs=runs, weights=weights, counts=counts, rigorous=rigorous)

    def __repr__(self) -> str:
        name = "minimax" if self.kind == "DesignProblem" else self.kind.replace("_", "-")
        return f"RegionProblem({name}: {self.curve.model.text!r} over {self.region!r})"


def make_problem(curve: Curve | NonlinearCurve, kind: str, options: Mapping[str, Any]) -> RegionProblem:
    """The problem of a kind over a region; InputError for what has no meaning there."""
    if kind not in KINDS:
        known = ", ".join(name for name in KINDS if name != "DesignProblem")
        raise InputError(f"{kind} ranks a list of arms and has no meaning over a region; choose one of {known}")
    for name, value in options.items():
        if name == "over" and value is not None:
            raise InputError(
                "over is for several values of the parameters: give model.at(values).over(region), or leave it out"
            )
        if name not in (*KINDS[kind], *COMMON) and value is not None:
            raise InputError(
                f"{name} is not known over a region for {kind}; it takes {', '.join((*KINDS[kind], *COMMON))}"
            )
    given = {name: options.get(name) for name in (*KINDS[kind], *COMMON)}
    noise = _expression(curve.region, given["noise_variance"], "noise_variance")
    cost = _expression(curve.region, given["costs"], "costs")
    prior, n_new = _held(curve, given, noise)
    problem = RegionProblem(curve, kind, _fields(curve, kind, given), noise, cost, prior, n_new)
    check_problem(problem)
    return problem


def _fields(curve: Curve | NonlinearCurve, kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    match kind:
        case "DesignProblem":
            return {"targets": _vectors(curve, given["targets"], "targets")}
        case "xy_allocation" | "level_set_allocation":
            if given["items"] is None:
                raise InputError(f"{kind} over a region needs items: a table of settings, or vectors (k, {curve.d})")
            return {"items": _vectors(curve, given["items"], "items")}
        case "c_optimal":
            return {"direction": _direction(curve, given["direction"])}
        case "ds_optimal":
            return {"interest": _interest(curve, given["interest"])}
        case "a_optimal":
            return {"M": np.eye(curve.d)}
        case "i_optimal":
            if not isinstance(curve, Curve):
                raise InputError(
                    "the moments of a nonlinear model are not known in closed form; give average_variance M"
                )
            over = curve.region if given["region"] is None else given["region"]
            return {"M": second_moments(curve, over)}
        case "average_variance":
            matrix = read_psd(given["M"], "M", curve.d, curve.terms)
            if not matrix.any():
                raise InputError("M is zero: there is nothing to estimate; give a nonzero matrix")
            return {"M": matrix}
    return {}


def _vectors(curve: Curve | NonlinearCurve, given: Any, what: str) -> Floats:
    """Vectors (k, d), or f at the rows of a table of settings."""
    if (
        hasattr(given, "columns")
        or isinstance(given, Mapping)
        or (isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0], Mapping))
    ):
        return curve.at(given)
    V = np.atleast_2d(numeric(given, what)).astype(float)
    if V.ndim != 2 or V.shape[1] != curve.d:
        raise InputError(
            f"{what} has the shape {V.shape}; give settings of the factors, or vectors with {curve.d} entries"
        )
    return V


def _direction(curve: Curve | NonlinearCurve, given: Any) -> Floats:
    out = _read_direction(curve, given)
    if not out.any():
        raise InputError("direction is zero: there is nothing to estimate; give a nonzero combination of theta")
    return out


def _read_direction(curve: Curve | NonlinearCurve, given: Any) -> Floats:
    if isinstance(given, Mapping):
        out = np.zeros(curve.d)
        seen: dict[int, Any] = {}
        for name, value in given.items():
            (place,) = _places(curve, name, "direction", one=True)
            if place in seen:
                raise InputError(f"direction names the term {curve.terms[place]} twice: {seen[place]!r} and {name!r}")
            seen[place], out[place] = name, real(value)
        return out
    vector = np.asarray(numeric(given, "direction"), dtype=float)
    if vector.shape != (curve.d,):
        raise InputError(
            f"direction has the shape {vector.shape}; the model has {curve.d} terms: {', '.join(curve.terms)}"
        )
    return vector


def _places(curve: Curve | NonlinearCurve, name: Any, what: str, one: bool = False) -> list[int]:
    """The places of a term, however it is written (b:a for a:b), or of all levels of a category; of one term, if `one`."""
    text = str(name)
    found = places_of_term("1" if text == "Intercept" else text, curve.terms)
    if not found or (one and len(found) > 1):
        raise InputError(f"{what} names {name!r}; the terms of the model are {', '.join(curve.terms)}")
    return found


def _interest(curve: Curve | NonlinearCurve, given: Any) -> Floats:
    """K (d, s): indices or names of terms, or a matrix of combinations."""
    listed = [given] if isinstance(given, str) else given
    if isinstance(listed, (list, tuple)) and listed and all(isinstance(name, str) for name in listed):
        listed = [place for name in listed for place in _places(curve, name, "interest")]
    K = numeric(listed, "interest")
    if K.ndim == 1:
        if K.size == 0 or K.dtype.kind not in "iu" or K.min() < 0 or K.max() >= curve.d or np.unique(K).size < K.size:
            raise InputError(
                f"interest is {K[:20].tolist()}; give different terms, or indices between 0 and {curve.d - 1}"
            )
        return np.asarray(np.eye(curve.d)[:, K])
    if K.ndim != 2 or K.shape[0] != curve.d:
        raise InputError(f"interest has the shape {K.shape}; a matrix of combinations has {curve.d} rows")
    matrix = np.asarray(K, dtype=float)
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise InputError("the columns of interest are linearly dependent: their ellipsoid would be flat; drop one")
    return matrix


def _expression(region: Region, given: Any, what: str) -> Ratio | None:
    if given is None:
        return None
    if isinstance(given, str):
        every = region.names + tuple(name for name, _ in region.eliminated)
        top, bottom = parse_ratio(given, every, what)
        gone = dict(region.eliminated)
        return _oriented(region, top.substituted(gone, region.names), bottom.substituted(gone, region.names))
    value = positive(given, what, "give a positive number, or an expression of the settings such as '1 + x**2'")
    return Polynomial.constant(value, region.names), Polynomial.constant(1, region.names)


def _oriented(region: Region, top: Polynomial, bottom: Polynomial) -> Ratio:
    """The same ratio with one below where it is a polynomial, and else with a denominator that is positive somewhere."""
    if bottom.is_constant:
        one = Polynomial.constant(1, region.names)
        return top * Polynomial.constant(1 / bottom.constant_term(), region.names), one
    x = inner_points(region, 1, np.random.default_rng(0))
    return (-top, -bottom) if bottom.at(x)[0] < 0 else (top, bottom)


def _held(
    curve: Curve | NonlinearCurve, given: Mapping[str, Any], noise: Ratio | None
) -> tuple[Floats | None, float | None]:
    information, runs, n_new = given["prior_information"], given["existing_runs"], given["n_new"]
    if information is None and runs is None:
        if n_new is not None:
            raise InputError("n_new is given without prior_information or existing_runs; leave it out or add one")
        return None, None
    if information is not None and runs is not None:
        raise InputError("give prior_information or existing_runs, not both: each is all that is already held")
    if n_new is None:
        raise InputError("n_new is missing: how many new measurements are planned beside the information held?")
    planned = positive(n_new, "n_new", "give a positive number of planned measurements")
    if information is not None:
        return read_psd(information, "prior_information", curve.d), planned
    F = curve.at(runs)
    where, x = curve.region.coordinates(runs)
    repeated = repetitions(runs, curve.region.factors)
    if repeated is not None:
        F = F * np.sqrt(repeated)[:, None]
    for piece in set(where):
        mine = np.array(where) == piece
        F[mine] *= np.sqrt(curve.weights(piece, x[mine]))[:, None]
    if noise is not None:
        F = F / np.sqrt(values_of(noise, x))[:, None]
    return F.T @ F, planned


def repetitions(settings: Any, factors: Sequence[str], name: str = "count") -> Floats | None:
    """How often each row of a table counts, where it has a column of that name that is no factor."""
    if name in factors:
        return None
    if hasattr(settings, "columns") or isinstance(settings, Mapping):
        column = settings.get(name)
    else:
        column = [row.get(name) for row in settings] if any(name in row for row in settings) else None
    if column is None:
        return None
    times = np.atleast_1d(np.asarray(numeric(column, name), dtype=float))
    bad = np.flatnonzero(~((times >= 0) & np.isfinite(times)))
    if name == "count":
        bad = np.union1d(bad, np.flatnonzero(times != np.floor(times)))
    if bad.size:
        what = "counts are whole numbers of runs" if name == "count" else "weights are shares of the runs"
        raise InputError(
            f"{name} in row {bad[0]} is {times[bad[0]]:g}; {what}: call the column otherwise if it is none"
        )
    if name == "weight" and abs(float(times.sum()) - 1.0) > OFF_ONE:
        raise InputError(
            f"the column weight sums to {times.sum():g}, and shares sum to one: call it otherwise if it is something else"
        )
    return times


def values_of(part: Ratio, x: Floats) -> Floats:
    top, bottom = part
    with np.errstate(all="ignore"):
        return np.asarray(top.at(x) / bottom.at(x))


def check_problem(problem: RegionProblem) -> None:
    """The model is defined and spans on the region, and noise and cost are positive."""
    curve, region, rng = problem.curve, problem.region, np.random.default_rng(0)
    check_curve(curve)
    for name, part in (("noise_variance", problem.noise), ("costs", problem.cost)):
        if part is not None:
            check_positive(region, part, name)
    x = inner_points(region, max(4 * curve.d, 50), rng) if region.q else np.empty((1, 0))
    for name, part in (("noise_variance", problem.noise), ("costs", problem.cost)):
        # Where the polynomials have too many coefficients for a proof.
        bad = np.empty(0) if part is None else np.flatnonzero(~(values_of(part, x) > 0))
        if part is not None and bad.size:
            k = int(bad[0])
            raise InputError(
                f"{name} is {values_of(part, x)[k]:g} at {place(region, x[k])}; it must be positive everywhere in the region"
            )
    pieces = len(region.pieces)
    F = np.vstack([curve.rows(piece, x) for piece in range(pieces)])
    size = np.abs(F).max(axis=0)
    if not size.all():
        raise InputError(f"the term {curve.terms[int(np.argmin(size))]} is zero everywhere in the region; leave it out")
    from scipy.linalg import qr

    # The frame's coordinates say whether terms differ, however far from zero the factors are.
    H = np.vstack([problem.frame.piece_rows(piece, x) for piece in range(pieces)])
    if np.linalg.matrix_rank(H, tol=1e-9 * float(np.linalg.norm(H, 2))) == curve.d:
        return
    if curve.weight is not None:
        plain = np.vstack([problem.frame.piece_rows(piece, x, False) for piece in range(pieces)])
        if np.linalg.matrix_rank(plain, tol=1e-9 * float(np.linalg.norm(plain, 2))) == curve.d:
            raise InputError(
                "theta: measurements are informative in so small a part of the region that they are found in too few places of "
                "it to span the model; make the region smaller, around predictors near zero"
            )
    _, R, pivot = qr(F / size, mode="economic", pivoting=True)
    level = np.abs(np.diag(R))
    rank = min(int(np.count_nonzero(level > 1e-9 * level[0])), curve.d - 1)
    if rank < curve.d:
        names = ", ".join(curve.terms[int(k)] for k in pivot[rank:])
        raise InputError(
            f"the model does not span over the region: it has {curve.d} terms but only {rank} independent ones; leave out "
            f"{names}, which the others determine there"
        )
