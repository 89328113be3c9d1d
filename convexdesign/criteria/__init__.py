"""Criteria as objects, one file for each; to add one see `convexdesign.criteria.base`."""

from convexdesign.criteria.average import AverageOracle
from convexdesign.criteria.base import CriterionOracle
from convexdesign.criteria.evaluation import Evaluation
from convexdesign.criteria.frobenius import FrobeniusOracle
from convexdesign.criteria.least_eigenvalue import LeastEigenvalueOracle
from convexdesign.criteria.log_det import InterestOracle, LogDetOracle
from convexdesign.criteria.minimax import MinimaxOracle
from convexdesign.problem import Canonical, DesignProblem
from convexdesign.problem.kinds import KINDS

__all__ = ["TABLE", "CriterionOracle", "Evaluation", "oracle_of"]

# THE table of criteria.
TABLE: dict[str, CriterionOracle] = {
    oracle.criterion.name: oracle
    for oracle in (
        MinimaxOracle(),
        AverageOracle(),
        LogDetOracle(),
        InterestOracle(),
        LeastEigenvalueOracle(),
        FrobeniusOracle(),
    )
}


for _oracle in TABLE.values():
    for _name, _kind in _oracle.kinds.items():
        KINDS[_name] = _kind
        setattr(DesignProblem, _name.replace("-", "_"), staticmethod(_kind.constructor))


def oracle_of(stated: DesignProblem | Canonical) -> CriterionOracle:
    """What knows all about the criterion of a problem."""
    problem = stated if isinstance(stated, DesignProblem) else stated.problem
    return TABLE[problem.criterion.name]
