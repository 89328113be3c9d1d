"""What a problem file may contain, checked field by field; errors name the field and the remedy."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from convexdesign.errors import InputError
from convexdesign.files import check_nesting, read_regular
from convexdesign.problem.kinds import COMMON, KINDS

__all__ = [
    "FIELDS",
    "Document",
    "FileRef",
    "Inequalities",
    "Reference",
    "check_kind_name",
    "checked",
    "depth",
    "read_toml",
]

# The fields of every kind beside arms; all but Sigma are keywords of the DesignProblem constructors.
FIELDS = (*COMMON, "existing_runs", "Sigma", "inequalities")

_EXAMPLES = {
    "arms": 'arms = [[1.0, 0.0], [0.0, 1.0]] or arms = "arms.csv"',
    "targets": "targets = [[1.0, -1.0]]",
    "theta": "theta = [1.0, 0.0]",
    "threshold": "threshold = 0.9",
    "direction": "direction = [0.0, 1.0]",
    "interest": "interest = [2] (indices of coordinates, from 0) or a matrix with one row per coordinate",
    "region": 'region = [[1.0, 0.5]] or region = "region.csv"',
    "M": "M = [[1.0, 0.0], [0.0, 1.0]]",
    "kind": 'kind = "g-optimal"',
    "title": 'title = "..."',
}


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class FileRef(_Strict):
    """A CSV or NPY file beside the problem file, with the arguments of `read_table` where it needs any."""

    file: str
    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    names: bool | None = None
    comment: str | None = None
    encoding: str | None = None


class ColumnRef(_Strict):
    """A column of the table of settings that the arms are made of."""

    column: str


class ModelTable(_Strict):
    """The model of the factors in the tables: arms, items, targets, region and runs done are settings then."""

    formula: str = Field(min_length=1)


def depth(value: Any) -> int:
    """How many lists are nested in one another at the beginning of the value: 0 for a number, 2 for rows."""
    return 1 + depth(value[0]) if isinstance(value, list) and value else int(isinstance(value, list))


# What a field of numbers may be, and how deep its lists are: pydantic puts these into its error paths, we take them out.
_DEPTHS = {"scalar": 0, "list": 1, "rows": 2, "groups": 3}
_TAGS = frozenset(["path", "file", "column", "names", "terms", *_DEPTHS])


def _one_of(*forms: str) -> Discriminator:
    """Tells a path, a table with a file, and numbers apart: the form of their depth, else the one that they miss."""

    def form(value: Any) -> str:
        if isinstance(value, (str, dict, FileRef, ColumnRef)):
            if isinstance(value, str):
                return "path"
            if "terms" in forms:
                return "terms"
            named = isinstance(value, ColumnRef) or (isinstance(value, dict) and "column" in value)
            return "column" if named and "column" in forms else "file"
        if "names" in forms and isinstance(value, list) and value and isinstance(value[0], str):
            return "names"
        found = depth(value)
        deep = [name for name in forms if name in _DEPTHS]
        return min(deep, key=lambda name: (abs(_DEPTHS[name] - found), isinstance(value, list) and name == "scalar"))

    return Discriminator(form)


Path_ = Annotated[str, Tag("path")]
File = Annotated[FileRef, Tag("file")]
Scalar = Annotated[float, Tag("scalar")]
Row = Annotated[list[float], Tag("list")]
LabelledVectors = Annotated[list[list[float]], Tag("rows")]
# Of arms with several responses, a matrix each.
Groups = Annotated[list[list[list[float]]], Tag("groups")]

Matrix = Annotated[Path_ | File | LabelledVectors, _one_of("rows")]
Column = Annotated[ColumnRef, Tag("column")]
PerArm = Annotated[Path_ | File | Column | Row | Scalar, _one_of("list", "scalar", "column")]
Arms = Annotated[Path_ | File | LabelledVectors | Groups, _one_of("rows", "groups")]
Noise = Annotated[
    Path_ | File | Column | Row | LabelledVectors | Groups | Scalar,
    _one_of("list", "rows", "groups", "scalar", "column"),
]
Named = Annotated[list[str], Tag("names")]
Interest = Annotated[
    Path_ | File | LabelledVectors | Annotated[list[int], Tag("list")] | Named, _one_of("rows", "list", "names")
]
# Numbers of the coordinates: all of them, or those of some terms by name, or one term.
Coordinates = Annotated[Path_ | Row | Annotated[dict[str, float], Tag("terms")], _one_of("list", "terms")]


class Inequalities(_Strict):
    """Linear constraints G w <= h on the weights."""

    G: Matrix
    h: list[float]


class Reference(_Strict):
    """The known optimal value and where it comes from; |found - value| <= tolerance max(1, |value|) is expected.

    Parameters
    ----------
    value : float
        Of the optimum.
    tolerance : float
        Positive.
    provenance : {"closed-form", "published", "certified"}
        How the value is known.
    source : str
        Where it comes from.
    weights : list of float, optional
        An optimal design, where one is known (it need not be unique).
    settings : dict, optional
        Over a region, its settings, a column a factor.
    """

    value: float
    tolerance: float = Field(default=1e-6, gt=0)
    provenance: Literal["closed-form", "published", "certified"]
    source: str = Field(min_length=1)
    weights: list[float] | None = None
    settings: dict[str, list[float | str]] | None = None


class Document(_Strict):
    """A problem file as written, before arrays are read and shapes are compared."""

    title: str = Field(min_length=1)
    statement: str = ""
    kind: str
    arms: Arms
    arm_names: list[str] | ColumnRef | None = None
    model: ModelTable | None = None
    items: Matrix | None = None
    item_names: list[str] | None = None
    targets: Matrix | None = None
    theta: Coordinates | None = None
    threshold: float | None = None
    direction: Coordinates | None = None
    interest: Interest | None = None
    region: Matrix | None = None
    M: Matrix | None = None
    noise_variance: Noise | None = None
    Sigma: Matrix | None = None
    costs: PerArm | None = None
    existing_counts: PerArm | None = None
    existing_runs: Matrix | None = None
    prior_information: Matrix | None = None
    n_new: float | None = None
    min_weight: PerArm | None = None
    max_weight: PerArm | None = None
    inequalities: Inequalities | None = None
    reference: Reference | None = None


_ALWAYS = frozenset(["title", "statement", "kind", "arms", "arm_names", "model", "reference", *FIELDS])


def read_toml(path: Path) -> dict[str, Any]:
    """The content of one TOML file. Raises InputError naming the file and what is wrong in it."""
    content = read_regular(path, "a TOML file")
    try:
        data = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"{path} is not valid TOML: {error}. Text needs double quotes, and numbers a digit before the point (0.5)"
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:  # integers of thousands of digits, brackets without end
        raise InputError(f"{path} is no problem file: {type(error).__name__}, {str(error)[:200]}") from None
    check_nesting(data, path)
    return data


def checked(path: Path, data: dict[str, Any]) -> Document:
    """The content of a problem file, field by field. Raises InputError naming the file, the field and the remedy."""
    _check_kind(path, data)
    try:
        document = Document.model_validate(data)
    except ValidationError as error:
        raise InputError("\n".join(f"{path}: {line}" for line in _explain(error, data))) from None
    return document


def check_kind_name(path: Path, data: dict[str, Any]) -> str:
    """The kind, which must be one of the table."""
    name = data.get("kind")
    if not isinstance(name, str):
        found = "is missing" if name is None else f"must be text, got {_shown(name)}"
        raise InputError(f"{path}: kind {found}; choose one of {', '.join(KINDS)}")
    if name not in KINDS:
        close = get_close_matches(name, KINDS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise InputError(f"{path}: kind {_shown(name)} is unknown{hint} The kinds are {', '.join(KINDS)}")
    return name


def _check_kind(path: Path, data: dict[str, Any]) -> None:
    name = check_kind_name(path, data)
    kind = KINDS[name]
    allowed = {*_ALWAYS, *kind.needs, *kind.takes} | ({"item_names"} if "items" in kind.takes else set())
    for field in data:
        if field in Document.model_fields and field not in allowed:
            raise InputError(
                f"{path}: {field} does not belong to kind {name!r}, which takes "
                f"{', '.join(sorted(allowed - _ALWAYS)) or 'no field of its own'}; remove it or change the kind"
            )
    for field in kind.needs:
        if field not in data:
            raise InputError(f"{path}: {field} is missing; kind {name!r} needs it, for example {_EXAMPLES[field]}")
    if "noise_variance" in data and "Sigma" in data:
        raise InputError(
            f"{path}: noise_variance and Sigma are both given; keep one (Sigma means the variance x' Sigma x)"
        )


def _explain(error: ValidationError, data: dict[str, Any]) -> list[str]:
    lines = []
    for issue in error.errors(include_url=False)[:5]:
        place = ""
        for part in issue["loc"]:
            if part in _TAGS:
                continue
            place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else str(part)
        lines.append(_sentence(issue, place, data))
    return lines


def _shown(value: Any) -> str:
    """A value for a message; enough of it to be found again."""
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _sentence(issue: Any, place: str, data: dict[str, Any]) -> str:
    leaf = str(issue["loc"][-1])
    if issue["type"] == "missing":
        example = f", for example {_EXAMPLES[place]}" if place in _EXAMPLES else ""
        return f"{place} is missing; add it{example}"
    if issue["type"] == "extra_forbidden":
        parts: dict[str, type[_Strict]] = {"reference": Reference, "inequalities": Inequalities, "model": ModelTable}
        owner = Document if len(issue["loc"]) == 1 else parts.get(str(issue["loc"][0]), FileRef)
        close = get_close_matches(leaf, owner.model_fields, n=1, cutoff=0.5)
        known = f"did you mean {close[0]!r}?" if close else f"the fields are {', '.join(owner.model_fields)}"
        return f"{place} is no field; {known}"
    if issue["type"] == "literal_error":
        return f"{place} is {_shown(issue['input'])}; it must be {issue['ctx']['expected']}"
    if issue["type"] in ("float_type", "finite_number"):
        return f"{place} is {_shown(issue['input'])}; it must be a finite number"
    if issue["type"] == "list_type":
        matrix = (
            place in ("arms", "items", "targets", "region", "M", "Sigma", "prior_information") or place.count("[") == 1
        )
        remedy = "write one list of numbers per row, [[..], [..]]" if matrix else "write a list of numbers, [..]"
        return f"{place} is {_shown(issue['input'])}; {remedy}"
    if issue["type"] == "int_type":
        return f"{place} is {_shown(issue['input'])}; indices are whole numbers, counted from 0"
    return f"{place} is {_shown(issue['input'])}: {issue['msg'].lower()}"
