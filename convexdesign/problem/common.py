"""The keywords every constructor takes: noise, costs, information already held, and constraints on the weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import nearest, positive
from convexdesign.arms.labels import ARMS, default_names, in_order, order_of
from convexdesign.arms.noise import Noise, per_planned, read_noise
from convexdesign.arms.read import LabelledVectors, column_or_numbers, read_positive, read_rows, read_vector
from convexdesign.arms.source import Arms, ScaledArms
from convexdesign.errors import InputError
from convexdesign.problem.existing_runs import read_existing_runs
from convexdesign.problem.psd import read_psd, read_square
from convexdesign.problem.weights import WeightSet, read_weight_set
from convexdesign.typing import Floats

__all__ = ["Common", "ReadCommon", "read_common", "read_inequalities", "spelt_out", "with_common_parameters"]

Constructor = TypeVar("Constructor", bound=Callable[..., Any])


# Rows of information held are kept up to so many entries; of more, the matrix that they make.
MOST_HELD = 2**20
PER_ARM = ("noise_variance", "costs", "existing_counts", "min_weight", "max_weight")
COST_REMEDY = "a cost must be positive (a free arm would be pulled for ever)"


class Common(TypedDict, total=False):
    """Keywords of every DesignProblem constructor.

    Parameters
    ----------
    noise_variance : array_like, scalar or shape (n,), optional
        VARIANCES (squared units of the outcome), 1 by default. For arms (n, d, r) with r responses also (n, r), variances of
        independent responses, or (n, r, r), covariance matrices of dependent ones, (1, r, r) where one is common to all.
    costs : array_like, shape (n,), optional
        The price of one measurement of each arm; weights become shares of a budget.
    existing_counts : array_like, shape (n,), optional
        Pulls already made of each arm: the weights are then those of the NEXT batch.
    existing_runs : table, optional
        Instead of existing_counts, the runs already made, one row each (or with a column count): vectors, or settings where
        the arms were made of some, among the arms or not.
    prior_information : array_like, shape (d, d), optional
        Instead of either, the total information already held: A(w) = that / n_new + sum_i w_i y_i y_i'.
    n_new : float, optional
        The number of new measurements planned (with costs: the budget planned); needed with any of these.
    min_weight, max_weight : array_like, scalar or shape (n,), optional
        Bounds on the weights.
    inequalities : pair or mapping, optional
        (G, h) or {"G": G, "h": h}, of shapes (k, n) and (k,): G w <= h.
    constraints : callable, optional
        From the CVXPY variable w (n,) to a list of DCP constraints.
    """

    noise_variance: ArrayLike | None
    costs: ArrayLike | None
    existing_counts: ArrayLike | None
    existing_runs: Any
    prior_information: ArrayLike | None
    n_new: float | None
    min_weight: ArrayLike | None
    max_weight: ArrayLike | None
    inequalities: tuple[ArrayLike, ArrayLike] | Mapping[str, ArrayLike] | None
    constraints: Callable[[Any], list[Any]] | None


def spelt_out(constructor: Constructor) -> Constructor:
    """A constructor that takes `**common: Unpack[Common]`, each keyword in its signature and docstring as `help` shows them."""
    signature: Any = constructor
    written = inspect.signature(signature)
    own = [p for p in written.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
        for name, kind in Common.__annotations__.items()
    ]
    signature.__signature__ = written.replace(parameters=own + common)
    signature.__doc__ = with_common_parameters(constructor.__doc__)
    return constructor


def with_common_parameters(text: str | None) -> str | None:
    """A numpydoc docstring with the parameters of `Common` after its own; None where docstrings are stripped."""
    if text is None or Common.__doc__ is None:
        return text
    common = inspect.cleandoc(Common.__doc__).split("----------\n", 1)[1]
    own, end, rest = inspect.cleandoc(text).partition("\n\nR")  # Returns or Raises, whichever comes first
    return f"{own}\n{common}{end}{rest}\n"


@dataclass(frozen=True, eq=False)
class ReadCommon:
    """The common keywords after checking; `arms` are the y_i: x_i over noise and cost; `given` is what a file must keep."""

    noise_variance: Floats | None
    costs: Floats | None
    arms: Arms
    prior: Floats | None
    prior_rows: ScaledArms | None
    divisor: float
    weight_set: WeightSet
    given: Mapping[str, Any]


def read_common(rows: LabelledVectors, common: Common) -> ReadCommon:
    """Check the common keywords against the arms; TypeError for a keyword that does not exist."""
    unknown = set(common) - set(Common.__annotations__)
    if unknown:
        name = min(unknown)
        close = nearest(name, Common.__annotations__)
        raise TypeError(f"unexpected keyword {name!r}" + ("" if close is None else f"; did you mean {close!r}?"))
    n = rows.n
    common = common | _without_labels(rows, common)  # type: ignore[assignment]
    costs = read_positive(common.get("costs"), "costs", n, COST_REMEDY)
    noise = read_noise(common.get("noise_variance"), rows)
    common = common | _without_runs(rows, noise, common)  # type: ignore[assignment]
    prior, held, n_new = _prior(noise, common)
    weight_set = read_weight_set(
        n, common.get("min_weight"), common.get("max_weight"), common.get("inequalities"), common.get("constraints")
    )
    given = {
        name: common[name]  # type: ignore[literal-required]
        for name in Common.__annotations__
        if name not in ("noise_variance", "costs", "constraints") and common.get(name) is not None
    }
    for name in ("existing_counts", "prior_information"):
        if name in given:
            given[name] = np.asarray(given[name], dtype=float)
    return ReadCommon(noise.given, costs, noise.divided(costs), prior, held, n_new or 1.0, weight_set, given)


def _without_labels(rows: LabelledVectors, common: Common) -> dict[str, Any]:
    """The labelled keywords as plain numbers in the order of the arms and of their coordinates."""
    given = {name: common[name] for name in PER_ARM if common.get(name) is not None}  # type: ignore[literal-required]
    out = {name: in_order(column_or_numbers(rows, values, name), name, rows.names) for name, values in given.items()}
    if common.get("prior_information") is not None:
        out["prior_information"] = read_square(common["prior_information"], "prior_information", rows.d, rows.columns)
    if common.get("inequalities") is not None:
        out["inequalities"] = read_inequalities(rows, common["inequalities"])
    return out


def _without_runs(rows: LabelledVectors, noise: Noise, common: Common) -> dict[str, Any]:
    """Runs done as the counts of the arms or, where some are no arms, as the information that they give."""
    runs = common.get("existing_runs")
    if runs is None:
        return {}
    if common.get("existing_counts") is not None or common.get("prior_information") is not None:
        raise InputError(
            "give only one of existing_runs, existing_counts and prior_information: each is all that is already held"
        )
    counts, information = read_existing_runs(rows, noise.given, runs)
    return {"existing_runs": None, "existing_counts": counts, "prior_information": information}


def read_inequalities(rows: LabelledVectors, given: Any, called: tuple[str, str] = ("G", "h")) -> tuple[Any, Any]:
    """(G, h) from a pair or from {"G": .., "h": ..}; columns of G by the names of the arms, h by those of G's rows."""
    left, right = called
    if isinstance(given, Mapping):
        if set(given) != {left, right}:
            raise InputError(f"inequalities has the keys {', '.join(map(repr, given))}; give {left} and {right}")
        given = (given[left], given[right])
    if not (isinstance(given, (tuple, list)) and len(given) == 2):
        raise InputError(f"inequalities is of type {type(given).__name__}; give a pair ({left}, {right})")
    G = read_rows(given[0], f"the matrix {left} of inequalities")
    labels = None if G.columns is None or default_names(G.columns) else G.columns
    order = order_of(labels, rows.names, f"the columns of {left} of inequalities", ARMS)
    if G.d != rows.n:
        raise InputError(
            f"the matrix {left} of inequalities has {G.d} columns, but there are {rows.n} arms; one column per arm"
        )
    values = np.asarray(G.values if order is None else G.values[:, order])
    h = in_order(given[1], f"the right-hand side {right} of inequalities", G.names, f"rows of {left}")
    return values, h


def _prior(noise: Noise, common: Common) -> tuple[Floats | None, ScaledArms | None, float | None]:
    """A0 = information held / n_new (d, d), None where there is none, as rows where it came as counts, and n_new."""
    information, counts, n_new = (common.get(k) for k in ("prior_information", "existing_counts", "n_new"))
    if information is not None and counts is not None:
        raise InputError("give prior_information or existing_counts, not both: each is all that is already held")
    if information is None and counts is None:
        if n_new is not None:
            raise InputError(
                "n_new is given without prior_information, existing_counts or existing_runs; leave it out or add one"
            )
        return None, None, None
    if n_new is None:
        raise InputError("n_new is missing: how many new measurements are planned beside the information held?")
    planned = positive(n_new, "n_new", "give a positive number of planned measurements")
    if counts is None:
        held = read_psd(information, "prior_information", noise.rows.d)
        return (per_planned(held, planned) if held.any() else None), None, planned
    pulls = read_vector(counts, "existing_counts", noise.rows.n)
    bad = np.flatnonzero((pulls < 0) | (pulls != np.floor(pulls)))
    if bad.size:
        raise InputError(f"existing_counts[{bad[0]}] is {pulls[bad[0]]:g}; counts are whole numbers, zero or more")
    rows = noise.pulled(pulls, planned)
    Y = rows.take(np.arange(rows.n))
    return (Y.T @ Y if Y.any() else None), (rows if Y.size <= MOST_HELD else None), planned
