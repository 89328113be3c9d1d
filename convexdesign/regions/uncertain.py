"""Models whose parameters are not known: several values of them, a prior, a sample or a grid.

over="average": the weighted mean of the logarithms of the information functions (Bayesian); "worst": the least efficiency,
each value against the best design for it alone (maximin); "lowest": the least logarithm itself; "information": the criterion
of the mean information matrix (EW).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from convexdesign.arguments import numeric, shown
from convexdesign.compound.problem import shares
from convexdesign.errors import InputError
from convexdesign.problem.continuum import Continuum
from convexdesign.regions.defined import check_curve
from convexdesign.regions.generalised import GlmCurve, GlmModel, NonlinearCurve, NonlinearModel, check_region
from convexdesign.regions.problem import RegionProblem, make_problem
from convexdesign.regions.region import Region
from convexdesign.regions.together import RegionCompoundProblem, mixture_problem, together

__all__ = ["UncertainCurve", "UncertainModel", "at_values"]

OVER = ("average", "worst", "lowest", "information")


@dataclass(frozen=True)
class UncertainModel:
    """A model at several values of its parameters; made by `Model.at`.

    Parameters
    ----------
    models : tuple of Model
        The model at each value.
    weights : tuple of float
        Their shares, of sum one.
    """

    models: tuple[GlmModel, ...] | tuple[NonlinearModel, ...]
    weights: tuple[float, ...]

    def over(self, region: Region) -> UncertainCurve:
        """The model over a region: a source of arms.

        Parameters
        ----------
        region : Region
            Where the factors may be set.

        Returns
        -------
        UncertainCurve
            The arms.
        """
        check_region(region)
        return UncertainCurve(self, region)


@dataclass(frozen=True)
class UncertainCurve(Continuum):
    """The arms at several values of the parameters, over one region.

    Parameters
    ----------
    model : UncertainModel
        The model at each value.
    region : Region
        Where the settings may be.
    """

    model: UncertainModel
    region: Region

    @cached_property
    def curves(self) -> list[GlmCurve | NonlinearCurve]:
        """The curve at each value; what does not depend on the parameters is worked out once."""
        out: list[GlmCurve | NonlinearCurve] = []
        for model in self.model.models:
            if isinstance(model, NonlinearModel):
                out.append(model.over(self.region))
                continue
            first = out[0] if out else None
            assert first is None or isinstance(first, GlmCurve)
            out.append(GlmCurve(model, self.region, first))
        return out

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the coordinates of f(x)."""
        return self.curves[0].terms

    @property
    def d(self) -> int:
        """The number of parameters."""
        return self.curves[0].d

    def design_problem(self, kind: str, options: Mapping[str, Any]) -> RegionCompoundProblem:
        """The problem of a kind over the region; called by the constructors of DesignProblem.

        Parameters
        ----------
        kind : str
            The constructor's name.
        options : mapping
            Its keywords, and `over`.

        Returns
        -------
        RegionCompoundProblem
            For `solve`.
        """
        rest = {name: value for name, value in options.items() if name != "over"}
        over = options.get("over") or "average"
        if over not in OVER:
            raise InputError(f"over is {shown(over)}; choose one of {', '.join(OVER)}")
        problems = self._problems(kind, rest)
        if over == "information":
            return mixture_problem(problems, self.model.weights)
        return together(problems, self.model.weights if over == "average" else None, over != "lowest")

    def _problems(self, kind: str, options: Mapping[str, Any]) -> list[RegionProblem]:
        with self._naming(0):
            first = make_problem(self.curves[0], kind, options)
        if options.get("existing_runs") is not None or isinstance(self.curves[0], NonlinearCurve):
            out = [first]
            for k, curve in enumerate(self.curves[1:], 1):
                with self._naming(k):
                    out.append(make_problem(curve, kind, options))
            return out
        out = [first]
        for k, curve in enumerate(self.curves[1:], 1):
            with self._naming(k):
                check_curve(curve)
            out.append(replace(first, curve=curve, like=first))
        return out

    @contextmanager
    def _naming(self, k: int) -> Iterator[None]:
        """Errors say at which values of the parameters."""
        try:
            yield
        except InputError as error:
            if not str(error).startswith(("the derivative", "theta", "the model does not span")):
                raise
            model = self.model.models[k]
            names = (
                model.names if isinstance(model, NonlinearModel) else [f"theta[{j}]" for j in range(len(model.theta))]
            )
            values = ", ".join(f"{name} = {value:g}" for name, value in zip(names, model.theta))
            raise InputError(f"{error} (at value {k} of the parameters: {values})") from None

    def __repr__(self) -> str:
        text = self.model.models[0].text
        return f"UncertainCurve({text!r} at {len(self.model.models)} values over {self.region!r})"


def at_values(model: GlmModel | NonlinearModel, thetas: Any, weights: Any) -> UncertainModel:
    """The model at the rows of a table of parameters."""
    if isinstance(thetas, Sequence) and thetas and all(isinstance(row, Mapping) for row in thetas):
        thetas = {name: [row.get(name) for row in thetas] for name in thetas[0]}
    if isinstance(model, NonlinearModel):
        rows = named_rows(thetas, model.names)
    else:
        table = np.atleast_2d(np.asarray(numeric(thetas, "thetas"), dtype=float))
        rows = table.reshape(-1, table.shape[-1])
        if table.shape != (len(rows), len(model.theta)):
            raise InputError(
                f"thetas has the shape {table.shape}; give a row for each value, with {len(model.theta)} parameters"
            )
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        raise InputError(f"thetas has {rows[tuple(bad[0])]} in row {bad[0][0]}; give finite numbers")
    if not len(rows):
        raise InputError("thetas has no rows; give at least one value of the parameters")
    models: Any = tuple(replace(model, theta=tuple(row)) for row in rows.tolist())
    return UncertainModel(models, tuple(shares(weights, len(rows)).tolist()))


def named_rows(thetas: Any, names: tuple[str, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The rows of a table with a column for each parameter, or of a matrix in their order."""
    if hasattr(thetas, "columns") or isinstance(thetas, Mapping):
        missing = [name for name in names if name not in thetas]
        if missing:
            raise InputError(f"thetas has no column {missing[0]!r}; the parameters are {', '.join(names)}")
        columns = [np.atleast_1d(np.asarray(numeric(thetas[name], f"thetas[{name!r}]"), dtype=float)) for name in names]
        if len({len(c) for c in columns}) > 1:
            raise InputError("the columns of thetas have different lengths")
        return np.column_stack(columns)
    table = np.atleast_2d(np.asarray(numeric(thetas, "thetas"), dtype=float))
    rows = table.reshape(-1, table.shape[-1])
    if table.shape != (len(rows), len(names)):
        raise InputError(f"thetas has the shape {table.shape}; a row has {len(names)} parameters: {', '.join(names)}")
    return rows
