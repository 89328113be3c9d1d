"""Designs over regions as JSON: what states the problem and the settings is written; what follows from it is proven again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.arguments import to_path
from convexdesign.errors import InputError
from convexdesign.files import write_text
from convexdesign.outcome import Stats, Status
from convexdesign.regions.design import RegionDesign
from convexdesign.regions.generalised import GlmModel, NonlinearModel
from convexdesign.regions.model import Model
from convexdesign.regions.polynomial import Polynomial
from convexdesign.regions.problem import RegionProblem, check_problem
from convexdesign.regions.region import Part, Region
from convexdesign.saved import read_document
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from convexdesign.regions.exact import RegionExactDesign

__all__ = [
    "load_design",
    "load_exact",
    "problem_from_json",
    "problem_to_json",
    "region_from_json",
    "region_to_json",
    "save_design",
    "save_exact",
]

DESIGN = "convexdesign design over a region"
EXACT = "convexdesign runs over a region"
VERSION = 1
# Weights are written with all their digits: a sum further from one is no rounding.
SUM_TOLERANCE = 1e-9


# ---------------------------------------------------------------------- the problem


def polynomial_to_json(p: Polynomial) -> dict[str, Any]:
    """Names, exponents and coefficients, exact."""
    return {"names": list(p.names), "terms": [[list(key), str(value)] for key, value in p.terms.items()]}


def polynomial_from_json(given: Mapping[str, Any]) -> Polynomial:
    """What `polynomial_to_json` wrote."""
    names = tuple(str(name) for name in given["names"])
    terms = {tuple(int(e) for e in key): Fraction(value) for key, value in given["terms"]}
    if any(len(key) != len(names) or min(key, default=0) < 0 for key in terms):
        raise ValueError("exponents do not fit their names")
    return Polynomial(names, {key: value for key, value in terms.items() if value})


def region_to_json(region: Region) -> dict[str, Any]:
    """The region, exact."""
    return {
        "factors": list(region.factors),
        "names": list(region.names),
        "lower": [str(v) for v in region.lower],
        "upper": [str(v) for v in region.upper],
        "inequalities": [polynomial_to_json(g) for g in region.inequalities],
        "boxed": list(region.boxed),
        "eliminated": [[name, polynomial_to_json(p)] for name, p in region.eliminated],
        "choices": [[name, list(levels)] for name, levels in region.choices],
        "parts": None if region.parts is None else [_part_to_json(part) for part in region.parts],
    }


def region_from_json(given: Mapping[str, Any]) -> Region:
    """What `region_to_json` wrote."""
    region = Region(
        tuple(str(name) for name in given["factors"]),
        tuple(str(name) for name in given["names"]),
        tuple(Fraction(v) for v in given["lower"]),
        tuple(Fraction(v) for v in given["upper"]),
        tuple(polynomial_from_json(g) for g in given["inequalities"]),
        tuple(bool(v) for v in given["boxed"]),
        tuple((str(name), polynomial_from_json(p)) for name, p in given["eliminated"]),
        tuple((str(name), tuple(levels)) for name, levels in given["choices"]),
        None if given["parts"] is None else tuple(_part_from_json(part) for part in given["parts"]),
    )
    known = set(region.names) | {name for name, _ in region.eliminated} | {name for name, _ in region.choices}
    polynomials = [*region.inequalities, *(p for _, p in region.eliminated)]
    sizes = {len(region.names), len(region.lower), len(region.upper), len(region.boxed)}
    if set(region.factors) != known or len(sizes) > 1 or any(p.names != region.names for p in polynomials):
        raise ValueError("the parts of the region do not fit one another")
    if any(not a < b for a, b in zip(region.lower, region.upper)):
        raise ValueError("a lower limit of the region is above the upper one")
    return region


def _part_to_json(part: Part) -> dict[str, Any]:
    return {
        "shape": part.shape,
        "names": list(part.names),
        "lower": [str(v) for v in part.lower],
        "upper": [str(v) for v in part.upper],
        "centre": [str(v) for v in part.centre],
        "radius": str(part.radius),
    }


def _part_from_json(given: Mapping[str, Any]) -> Part:
    lower, upper, centre = (tuple(Fraction(v) for v in given[name]) for name in ("lower", "upper", "centre"))
    return Part(str(given["shape"]), tuple(given["names"]), lower, upper, centre, Fraction(given["radius"]))


def _model_to_json(model: Model) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": "formula", "text": model.text}
    if isinstance(model, GlmModel):
        out |= {"kind": "glm", "theta": list(model.theta), "link": model.link, "family": model.family}
    elif isinstance(model, NonlinearModel):
        out |= {"kind": "nonlinear", "theta": dict(zip(model.names, model.theta))}
    return out


def _model_from_json(given: Mapping[str, Any]) -> Model:
    match given["kind"]:
        case "formula":
            return Model.formula(given["text"])
        case "glm":
            return Model.glm(given["text"], given["theta"], given["link"], given["family"])
        case "nonlinear":
            return Model.nonlinear(given["text"], given["theta"])
    raise ValueError(f"a model of the kind {given['kind']!r}")


def problem_to_json(problem: RegionProblem) -> dict[str, Any]:
    """The problem over a region: region and coefficients exact, numbers with all their digits."""
    return {
        "region": region_to_json(problem.region),
        "model": _model_to_json(problem.curve.model),
        "kind": problem.kind,
        "fields": {name: np.asarray(value).tolist() for name, value in problem.fields.items()},
        "noise_variance": None if problem.noise is None else [polynomial_to_json(p) for p in problem.noise],
        "costs": None if problem.cost is None else [polynomial_to_json(p) for p in problem.cost],
        "prior_information": None if problem.prior is None else problem.prior.tolist(),
        "n_new": problem.n_new,
    }


def problem_from_json(given: Mapping[str, Any]) -> RegionProblem:
    """What `problem_to_json` wrote, checked as a problem that is made anew: nothing in a file is believed."""
    curve: Any = _model_from_json(given["model"]).over(region_from_json(given["region"]))
    ratios = [
        None if given[name] is None else tuple(polynomial_from_json(p) for p in given[name])
        for name in ("noise_variance", "costs")
    ]
    noise, cost = (None if ratio is None else (ratio[0], ratio[1]) for ratio in ratios)
    fields = {name: np.array(value) for name, value in given["fields"].items()}
    prior = None if given["prior_information"] is None else np.array(given["prior_information"], dtype=float)
    n_new = None if given["n_new"] is None else float(given["n_new"])
    problem = RegionProblem(curve, str(given["kind"]), fields, noise, cost, prior, n_new)
    check_problem(problem)
    return problem


# ---------------------------------------------------------------------- designs


def save_design(design: RegionDesign, path: str | Path) -> None:
    """The design as a document."""
    write_text(to_path(path), json.dumps(design_to_json(design), indent=1, allow_nan=False) + "\n")


def save_exact(exact: RegionExactDesign, path: str | Path) -> None:
    """The runs as a document."""
    document = {
        "format": EXACT,
        "version": VERSION,
        "reference": design_to_json(exact.reference),
        "where": list(exact.where),
        "x": exact.x.tolist(),
        "counts": exact.counts.tolist(),
        "summary": {"value": exact.value, "efficiency": exact.efficiency},
    }
    write_text(to_path(path), json.dumps(document, indent=1, allow_nan=False) + "\n")


def design_to_json(design: RegionDesign) -> dict[str, Any]:
    """The design as plain data."""
    c = design.certificate
    return {
        "format": DESIGN,
        "version": VERSION,
        "problem": problem_to_json(design.problem),
        "tol": design.tol,
        "where": list(design.where),
        "x": design.x.tolist(),
        "weights": design.weights.tolist(),
        "ended": design.status.name,
        "summary": {"value": c.value, "bound": c.bound if np.isfinite(c.bound) else None, "kind": c.kind},
    }


def load_design(path: str | Path) -> RegionDesign:
    """The design of a document, its bound proven again."""
    target = to_path(path)
    document = _checked(read_document(target), DESIGN, target)
    return _guarded(target, lambda: _reproven(document))


def load_exact(path: str | Path) -> RegionExactDesign:
    """The runs of a document, judged again."""
    from convexdesign.regions.exact import judged

    target = to_path(path)
    document = _checked(read_document(target), EXACT, target)

    def read() -> RegionExactDesign:
        design = _reproven(document["reference"])
        where, x = _settings(design.problem, document)
        counts = np.array(document["counts"], dtype=np.int64)
        if counts.shape != (len(x),) or (counts < 1).any() or not all(type(n) is int for n in document["counts"]):
            raise ValueError("counts are no whole numbers, one for each setting")
        return judged(design, where, x, counts)

    return _guarded(target, read)


def _checked(document: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    if document.get("format") != name:
        raise InputError(f"{path}: not what was saved (no field format = {name!r})")
    if document.get("version") != VERSION:
        raise InputError(
            f"{path}: format version {document.get('version')}; this release reads {VERSION}: upgrade convexdesign"
        )
    return document


def _guarded(path: Path, read: Any) -> Any:
    try:
        return read()
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{path}: a field is missing or has the wrong form: {error!r}") from None


def _settings(problem: RegionProblem, document: Mapping[str, Any]) -> tuple[Any, Floats]:
    """Pieces and coordinates, within the region."""
    where = np.array(document["where"], dtype=np.intp)
    x = np.array(document["x"], dtype=float).reshape(len(where), problem.region.q)
    if where.size == 0 or where.min() < 0 or where.max() >= len(problem.region.pieces):
        raise ValueError("where names no piece of the region")
    if not np.isfinite(x).all() or (problem.region.q and not problem.region.inside(x).all()):
        raise ValueError("a setting lies outside the region")
    return where, x


def _reproven(document: Mapping[str, Any]) -> RegionDesign:
    """The design of the settings and weights in a document, with a proof made anew."""
    from convexdesign.regions.reproof import proven_again

    problem = problem_from_json(document["problem"])
    where, x = _settings(problem, document)
    weights = np.array(document["weights"], dtype=float)
    if weights.shape != (len(x),) or not (weights > 0).all() or abs(float(weights.sum()) - 1.0) > SUM_TOLERANCE:
        raise ValueError("weights are not positive with sum 1, one for each setting")
    tol = float(document["tol"])
    if not 0 < tol < 1:
        raise ValueError(f"tol is {tol}")
    certificate, finite = proven_again(problem, where, x, weights, tol)
    ended = Status.CERTIFIED if certificate.gap <= tol else Status[document["ended"]]
    ended = Status.STALLED if ended is Status.CERTIFIED and certificate.gap > tol else ended
    return RegionDesign(problem, where.tolist(), x, weights, certificate, ended, finite, Stats("read"), tol)
