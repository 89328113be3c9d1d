"""certificate.json for a problem file: written from its optimal design or another one, and checked again exactly."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import to_path
from convexdesign.arms.read import read_vector
from convexdesign.errors import ConvergenceWarning, InputError
from convexdesign.files import read_regular, write_text
from convexdesign.problemfile.load import load_problem
from convexdesign.solving import solve

__all__ = ["check_certificate", "write_certificate"]

# Solved this far, so that the certificate proves nine digits and more.
TOL = 1e-10
# Over a region, where the proof rarely reaches further.
REGION_TOL = 1e-8


def write_certificate(
    problem: str | PathLike[str],
    certificate: str | PathLike[str],
    *,
    weights: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    runs: Any = None,
) -> dict[str, Any]:
    """Write the certificate of a problem file's optimal design, or of given weights or counts.

    What is proven is the ratio of the design's exact value and an exact bound on the optimum (see
    `convexdesign.rigorous.check`, and `check_region` for problems over regions, which need nothing of this package). Needs the
    extra `rigorous`, but not over regions. What is written has been checked.

    Parameters
    ----------
    problem : str or os.PathLike
        The problem file.
    certificate : str or os.PathLike
        The file to write.
    weights, counts : array_like, shape (n,), optional
        The design, one or the other; the optimal one by default.
    runs : table, optional
        Of a problem over a region the design: a column for each factor, a row a run; weights or counts then belong to its
        rows.

    Returns
    -------
    dict
        The certificate.

    Raises
    ------
    InputError
        For kinds, constraints or tables that the checker does not know, and for designs that do not measure every
        target.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from convexdesign.problemfile import check_certificate, find, write_certificate
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "certificate.json"
    >>> _ = write_certificate(find("soare-xy"), out)
    >>> bool(check_certificate(out, find("soare-xy")) > 1 - 1e-9)
    True
    """
    if weights is not None and counts is not None:
        raise InputError("give weights or counts, not both")
    file, path = load_problem(problem), to_path(certificate, "certificate")
    if file.is_over_region:
        document = _over_region(file.path, file.problem(), runs, weights if counts is None else counts)
        write_text(path, json.dumps(document) + "\n")
        return document
    if runs is not None:
        raise InputError(f"{file.path}: runs= are for problems over regions; give weights or counts of the arms")
    from convexdesign.rigorous import certify

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate itself says what is proven
        design = solve(file.problem(), tol=TOL)
    given = design.weights
    for name, values in (("weights", weights), ("counts", counts)):
        if values is not None:
            given = read_vector(values, name, given.size, design.problem.arms.names)
            if not (given.min() >= 0 and given.any()) or (name == "counts" and np.any(given != np.floor(given))):
                raise InputError(f"{name} must be nonnegative and not all zero{', and whole' * (name == 'counts')}")
            if name == "counts":
                given = design.problem.effort(given)
    dual = design.certificate.dual
    targets = np.empty(0, dtype=np.intp) if dual is None else dual.targets
    vectors = np.empty((0, design.problem.arms.d)) if dual is None else dual.vectors
    document = certify(design.canonical, given, targets, vectors, file.Sigma)
    text = json.dumps(document, indent=1) + "\n"
    _accepted(text.encode(), file.path, f"a certificate of {problem} would be rejected")
    write_text(path, text)
    return document


def _over_region(path: Path, problem: Any, runs: Any, shares: Any) -> dict[str, Any]:
    """The certificate of the optimal design over a region, or of a table of runs."""
    from convexdesign.regions.rational import region_certificate
    from convexdesign.regions.verification import shares as read_shares
    from convexdesign.rigorous import check_region

    if runs is None and shares is not None:
        raise InputError(f"{path}: weights and counts over a region belong to the rows of runs=; give both")
    try:
        exact = check_region.read(path)
    except (check_region.Rejected, *check_region.ERRORS) as error:
        raise InputError(f"no certificate of {path} can be checked: {error or type(error).__name__}") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate itself says what is proven
        design: Any = solve(problem, tol=REGION_TOL)
    if runs is not None:
        where, x = problem.region.coordinates(runs)
        read_shares(shares, None, len(x))
        times = np.ones(len(x)) if shares is None else np.asarray(shares, dtype=float)
        seen = np.flatnonzero(times > 0)
        design = replace(design, where=[where[k] for k in seen], x=x[seen], weights=times[seen])
    try:
        return region_certificate(design, exact, runs=runs is not None)
    except check_region.Rejected as error:
        raise InputError(f"a certificate of {path} would be rejected: {error}") from None


def check_certificate(certificate: str | PathLike[str], problem: str | PathLike[str]) -> Fraction:
    """The ratio of bound and value that a certificate proves for a problem file, at most 1.

    It is the efficiency; for D-optimality its power 1/d is.

    Parameters
    ----------
    certificate : str or os.PathLike
        What `write_certificate` wrote.
    problem : str or os.PathLike
        The problem file.

    Returns
    -------
    fractions.Fraction
        Exact.

    Raises
    ------
    InputError
        Where the certificate is rejected, with the reason.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from convexdesign.problemfile import check_certificate, find, write_certificate
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "certificate.json"
    >>> _ = write_certificate(find("hexagon-xy"), out)
    >>> check_certificate(out, find("hexagon-xy")) <= 1
    True
    """
    text = read_regular(to_path(certificate, "certificate"), "a certificate")
    return _accepted(text, to_path(problem, "problem"), f"{certificate} is rejected")


def stated_ratio(document: dict[str, Any]) -> Fraction:
    """The ratio that a certificate states, at most 1: of bound and value, for D-optimality of value and bound."""
    value, bound = (Fraction(*(int(part, 16) for part in document[field].split("/"))) for field in ("value", "bound"))
    return value / bound if document["kind"] in ("d-optimal", "ds-optimal", "e-optimal") else bound / value


def _accepted(text: bytes, problem: Path, otherwise: str) -> Fraction:
    """What the checker proves; InputError, beginning with `otherwise`, where it rejects."""
    from convexdesign.rigorous import check, check_region

    try:
        document = check.parsed(text)
        if isinstance(document, dict) and document.get("format") == check_region.FORMAT:
            return check_region.check(document, check_region.read(problem))
        return check.check(document, check.read(problem))
    except (check.Rejected, *check.ERRORS) as error:
        raise InputError(f"{otherwise}: {error or type(error).__name__}") from None
