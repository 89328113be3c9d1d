"""Problem files over a region: [model] and [region] in place of arms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from convexdesign.errors import InputError
from convexdesign.problem.kinds import KINDS
from convexdesign.problemfile.document import Reference, check_kind_name
from convexdesign.regions import Model, Region
from convexdesign.tables.factors import read_factors

__all__ = ["ModelOverRegion", "RegionDocument", "RegionTable", "is_over_region", "read_over_region"]

Number = int | float
# A column for each factor, or the path of a CSV file of such columns.
Settings = dict[str, list[Number | str]] | str


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Ball(_Strict):
    """All settings within a distance of a centre: names alone for a centre of zeros."""

    centre: list[str] | dict[str, float]
    radius: float = 1.0


class Simplex(_Strict):
    """Proportions that sum to one."""

    names: list[str]
    lower: float | dict[str, float] = 0.0
    upper: float | dict[str, float] = 1.0


class Polytope(_Strict):
    """All x with A x <= b."""

    A: list[list[float]]
    b: list[float]
    names: list[str] | None = None


class RegionTable(_Strict):
    """Where the factors may be set: shapes of different factors, of which all combinations are meant, and conditions."""

    box: dict[str, list[float]] | None = None
    ball: Ball | None = None
    simplex: Simplex | None = None
    polytope: Polytope | None = None
    levels: dict[str, list[Number | str]] | None = None
    where: str | list[str] | None = None

    def region(self) -> Region:
        """The region."""
        parts = []
        if self.levels:
            parts.append(Region.levels(**self.levels))
        if self.box:
            parts.append(Region.box(**self.box))
        if self.ball:
            parts.append(Region.ball(self.ball.centre, self.ball.radius))
        if self.simplex:
            parts.append(Region.simplex(self.simplex.names, self.simplex.lower, self.simplex.upper))
        if self.polytope:
            parts.append(Region.polytope(self.polytope.A, self.polytope.b, self.polytope.names))
        if not parts:
            raise InputError("there is no shape; give box = { x = [-1, 1] }, ball, simplex, polytope or levels")
        region = parts[0]
        for part in parts[1:]:
            region = region * part
        if self.where:
            region = region & Region.where(*([self.where] if isinstance(self.where, str) else self.where))
        return region


class ModelOverRegion(_Strict):
    """A formula in Wilkinson's notation, with link and theta of a generalised linear model; or a nonlinear mean with theta.

    thetas, with weights, are several values of the parameters; a column weight of theirs stands for weights.
    """

    formula: str | None = None
    link: str | None = None
    family: str | None = None
    theta: list[float] | dict[str, float] | None = None
    nonlinear: str | None = None
    thetas: list[list[float]] | dict[str, list[float]] | str | None = None
    weights: list[float] | None = None

    def curve(self, region: Region, folder: Path) -> Any:
        """The model over the region, at one value of its parameters or at several."""
        if self.thetas is None:
            if self.weights is not None:
                raise InputError(
                    "weights belong to thetas, several values of the parameters; give them, or leave it out"
                )
            return self.model(self.theta).over(region)
        if self.theta is not None:
            raise InputError("give theta, one value of the parameters, or thetas, several, and not both")
        if self.formula is not None and self.link is None:
            raise InputError('thetas belong to a link; give link = "logit", or leave them out')
        given: Any = _columns(folder / self.thetas) if isinstance(self.thetas, str) else self.thetas
        names = Model.formula(self.formula).over(region).terms if self.formula is not None else None
        weights: Any = self.weights
        if isinstance(given, dict):
            if weights is None and "weight" in given and "weight" not in (names or ()):
                weights = given["weight"]
                given = {name: column for name, column in given.items() if name != "weight"}
            given = _in_order(given, names)
        if not len(given):
            raise InputError("thetas has no rows; give at least one value of the parameters")
        first: Any = given[0] if isinstance(given, list) else {name: column[0] for name, column in given.items()}
        return self.model(first).at(given, weights).over(region)

    def model(self, theta: Any) -> Model:
        """The model at these parameters."""
        if (self.formula is None) == (self.nonlinear is None):
            raise InputError("give exactly one of formula and nonlinear")
        if self.nonlinear is not None:
            if self.link is not None or self.family is not None:
                raise InputError("link and family belong to a formula; a nonlinear mean takes theta alone")
            if not isinstance(theta, dict):
                raise InputError(
                    "nonlinear needs theta = { name = number }, the parameters with their values, or such thetas"
                )
            return Model.nonlinear(self.nonlinear, theta)
        assert self.formula is not None
        if self.link is None:
            if theta is not None or self.family is not None:
                raise InputError('theta and family belong to a link; give link = "logit", or leave them out')
            return Model.formula(self.formula)
        if not isinstance(theta, list):
            raise InputError("a link needs theta = [..], the parameters in the order of the terms")
        return Model.glm(self.formula, theta, self.link, self.family)


class RegionDocument(_Strict):
    """A problem file over a region as written."""

    title: str = Field(min_length=1)
    statement: str = ""
    kind: str
    model: ModelOverRegion
    region: RegionTable
    average_over: RegionTable | None = None
    items: Settings | list[list[float]] | None = None
    targets: Settings | list[list[float]] | None = None
    direction: dict[str, float] | list[float] | str | None = None
    interest: list[str] | list[int] | None = None
    M: list[list[float]] | None = None
    noise_variance: float | str | None = None
    costs: float | str | None = None
    over: str | None = None
    prior_information: list[list[float]] | None = None
    existing_runs: Settings | None = None
    n_new: float | None = None
    reference: Reference | None = None


# Fields that every kind takes; the others belong to one.
COMMON = ("noise_variance", "costs", "prior_information", "existing_runs", "n_new", "over")
OWN = ("items", "targets", "direction", "interest", "M")
EXAMPLES: Mapping[str, str] = {
    "targets": "targets = { x = [0.0, 2.0] }",
    "direction": 'direction = "x**2"',
    "interest": 'interest = ["x**2"]',
    "M": "M = [[1.0, 0.0], [0.0, 1.0]]",
    "region": "[region] with box = { x = [-1, 1] }",
    "model": '[model] with formula = "1 + x + x**2"',
    "title": 'title = "..."',
}


def is_over_region(data: Mapping[str, Any]) -> bool:
    """Whether a file states a problem over a region: a model and no arms."""
    return "arms" not in data and isinstance(data.get("model"), dict)


def read_over_region(path: Path, data: dict[str, Any]) -> tuple[RegionDocument, Any, dict[str, Any]]:
    """The document, the arms (a model over a region), and the other keywords of the constructor of its kind."""
    check_kind_name(path, data)
    try:
        document = RegionDocument.model_validate(data)
    except ValidationError as error:
        raise InputError("\n".join(f"{path}: {line}" for line in _explained(error))) from None
    kind = KINDS[document.kind]
    own = {*kind.needs, *kind.takes}
    for field in OWN:
        if getattr(document, field) is not None and field not in own:
            raise InputError(f"{path}: {field} does not belong to kind {document.kind!r}; remove it or change the kind")
        if getattr(document, field) is None and field in kind.needs:
            raise InputError(
                f"{path}: {field} is missing; kind {document.kind!r} needs it, for example {EXAMPLES[field]}"
            )
    if document.average_over is not None and "region" not in own:
        raise InputError(
            f"{path}: average_over does not belong to kind {document.kind!r}; remove it or change the kind"
        )
    region = _guarded(path, "region", document.region.region)
    curve = _guarded(path, "model", lambda: document.model.curve(region, path.parent))
    if document.over is not None and document.model.thetas is None:
        raise InputError(f"{path}: over says what several values of the parameters are for; give model.thetas too")
    reference = document.reference
    if reference is not None and (reference.weights is None) != (reference.settings is None):
        raise InputError(
            f"{path}: reference.weights and reference.settings say a design together; give both or neither"
        )
    inputs: dict[str, Any] = {}
    for field in (*OWN, *COMMON):
        given = getattr(document, field)
        if given is None:
            continue
        if field == "direction" and isinstance(given, str):
            given = {given: 1.0}
        elif field in ("items", "targets", "existing_runs") and isinstance(given, str):
            wanted = (*region.factors, *(["count"] if field == "existing_runs" else []))
            given = _guarded(path, field, partial(_columns, path.parent / given, wanted))
        inputs[field] = given
    if document.average_over is not None:
        inputs["region"] = _guarded(path, "average_over", document.average_over.region)
    return document, curve, inputs


def _columns(path: Path, only: tuple[str, ...] | None = None) -> dict[str, Any]:
    return dict(read_factors(path, unique=False, only=only).columns)


def _in_order(columns: dict[str, Any], terms: tuple[str, ...] | None) -> Any:
    """Values of the parameters by their names; those of a predictor as rows in the order of its terms."""
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise InputError("the columns of thetas have different lengths" if lengths else "thetas has no columns")
    if terms is None:
        return columns
    # Tables need words in their header: the constant is called as model matrices call it.
    named = ["Intercept" if term == "1" else term for term in terms]
    own = {"Intercept" if name == "1" else name: column for name, column in columns.items()}
    if set(own) != set(named) or len(own) < len(columns):
        raise InputError(f"thetas has the columns {', '.join(columns)}; give one for each term: {', '.join(named)}")
    return [list(row) for row in zip(*(own[name] for name in named))]


def _guarded(path: Path, field: str, read: Any) -> Any:
    """What `read` returns; errors begin with the file and the field."""
    try:
        return read()
    except InputError as error:
        raise InputError(f"{path}: {field}: {error}") from None


def _explained(error: ValidationError) -> list[str]:
    """What is wrong, field by field, with the remedy; of the forms that a field may have the first one's."""
    from difflib import get_close_matches

    lines, seen = [], set()
    for issue in error.errors(include_url=False):
        loc = [str(part) for part in issue["loc"] if not (isinstance(part, str) and any(c in part for c in "[(,"))]
        loc = [part for part in loc if part not in ("str", "float", "int")]
        place = ".".join(loc)
        if loc[0] in seen:
            continue
        seen.add(loc[0])
        if issue["type"] == "missing":
            lines.append(f"{place} is missing; add it" + (f": {EXAMPLES[place]}" if place in EXAMPLES else ""))
        elif issue["type"] == "extra_forbidden":
            owners: dict[str, type[BaseModel]] = {
                "model": ModelOverRegion,
                "region": RegionTable,
                "average_over": RegionTable,
                "reference": Reference,
            }
            fields = (RegionDocument if len(loc) == 1 else owners.get(loc[0], RegionTable)).model_fields
            close = get_close_matches(loc[-1], fields, n=1, cutoff=0.5)
            known = f"did you mean {close[0]!r}?" if close else f"the fields are {', '.join(fields)}"
            lines.append(f"{place} is no field of a problem over a region; {known}")
        else:
            lines.append(f"{place} is {str(issue['input'])[:100]!r}: {issue['msg'].lower()}")
    return lines[:5]
