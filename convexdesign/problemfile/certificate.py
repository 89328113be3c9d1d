"""certificate.json for a problem file: written from its optimal design or another one, and checked again exactly."""

from __future__ import annotations

import json
import warnings
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


def write_certificate(
    problem: str | PathLike[str],
    certificate: str | PathLike[str],
    *,
    weights: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> dict[str, Any]:
    """Write the certificate of a problem file's optimal design, or of given weights or counts.

    What is proven is the ratio of the design's exact value and an exact bound on the optimum (see
    `convexdesign.rigorous.check`, which needs nothing of this package). Needs the extra `rigorous`. What is written has
    been checked.

    Parameters
    ----------
    problem : str or os.PathLike
        The problem file.
    certificate : str or os.PathLike
        The file to write.
    weights, counts : array_like, shape (n,), optional
        The design, one or the other; the optimal one by default.

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
    from convexdesign.rigorous import certify

    if weights is not None and counts is not None:
        raise InputError("give weights or counts, not both")
    file, path = load_problem(problem), to_path(certificate, "certificate")
    if file.is_over_region:
        raise InputError(
            f"{file.path}: certificate files are of lists of arms; solve and verify prove bounds over regions"
        )
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
    return value / bound if document["kind"] == "d-optimal" else bound / value


def _accepted(text: bytes, problem: Path, otherwise: str) -> Fraction:
    """What the checker proves; InputError, beginning with `otherwise`, where it rejects."""
    from convexdesign.rigorous import check

    try:
        return check.check(check.parsed(text), check.read(problem))
    except (check.Rejected, *check.ERRORS) as error:
        raise InputError(f"{otherwise}: {error or type(error).__name__}") from None
