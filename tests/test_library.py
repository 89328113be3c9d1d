"""Every problem of the library, solved by every method that applies: value, bound, gap and status against its file."""

import pytest

import convexdesign as cd
from convexdesign.problemfile import KINDS, library, load_problem

PROBLEMS = {path.stem: load_problem(path) for path in library()}
TOL = 1e-7

# One conic program and Frank-Wolfe each are enough for the two large ones; the other programs take up to minutes there.
LARGE = {"random-xy": ("socp",), "two-spheres-variance": ("log-det",)}


def applies(stated, formulation):
    problem = stated.problem()
    if stated.name in LARGE and formulation not in LARGE[stated.name]:
        return False
    if formulation == "log-det" and problem.criterion is cd.problem.Criterion.MINIMAX:
        return problem.is_kiefer_wolfowitz
    return formulation != "dual-socp" or problem.weight_set.is_simplex


def solvers():
    for name, stated in PROBLEMS.items():
        kind = KINDS[stated.kind]
        if name not in LARGE:
            yield name, "auto", None
        for formulation in kind.formulations:
            if applies(stated, formulation):
                yield name, "conic", formulation
        if kind.frank_wolfe and stated.problem().weight_set.is_simplex:
            yield name, "frank-wolfe", None


@pytest.mark.parametrize(("name", "method", "formulation"), list(solvers()))
def test_value_bound_and_status(name, method, formulation):
    stated = PROBLEMS[name]
    reference = stated.reference
    design = cd.solve(stated.problem(), method=method, formulation=formulation, tol=TOL)
    assert design.status is cd.Status.CERTIFIED
    assert 0 <= design.gap <= TOL
    slack = reference.tolerance * max(1.0, abs(reference.value))
    assert design.value == pytest.approx(reference.value, abs=slack)
    assert design.certificate.bound == pytest.approx(reference.value, abs=slack)
