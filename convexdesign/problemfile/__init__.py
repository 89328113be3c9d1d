"""Design problems as TOML files, and the library of problems with known values that comes with the package."""

from convexdesign.problem.kinds import KINDS, Kind
from convexdesign.problemfile.catalogue import find, library
from convexdesign.problemfile.certificate import check_certificate, write_certificate
from convexdesign.problemfile.document import Reference
from convexdesign.problemfile.load import ProblemFile, load_problem

__all__ = [
    "KINDS",
    "Kind",
    "ProblemFile",
    "Reference",
    "check_certificate",
    "find",
    "library",
    "load_problem",
    "write_certificate",
]
