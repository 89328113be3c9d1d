"""What programs will take, said before they are built: memory kept under a limit of the system, and refusals with numbers."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.criteria.program_size import GIGABYTE, MOST_MEMORY, memory_allowed, program_size, require_memory
from convexdesign.errors import SolverError

P = cd.DesignProblem


def test_memory_grows_with_the_square_of_what_a_semidefinite_cone_holds():
    small, large = (program_size("least", 3 * d, d).memory for d in (60, 120))
    assert 10 < large / small < 16
    # As measured: 0.24 GB at 60 dimensions, 1.1 at 90; more than 24 at 200.
    assert 0.15 * GIGABYTE < small < 0.5 * GIGABYTE
    assert 0.7 * GIGABYTE < program_size("least", 270, 90).memory < 2 * GIGABYTE
    assert 15 * GIGABYTE < program_size("least", 600, 200).memory < 40 * GIGABYTE
    # 371 GB were asked for at once.
    assert program_size("average", 400, 400, columns=400).memory > 371 * GIGABYTE


@pytest.mark.parametrize(
    "formulation", ["socp", "dual-socp", "sdp", "matrix-fractional", "log-det", "interest", "average"]
)
def test_no_size_decreases_with_arms_dimensions_or_targets(formulation):
    base = program_size(formulation, 50, 10, targets=5, columns=3)
    for n, r, m in ((51, 10, 5), (50, 11, 5), (50, 10, 6)):
        more = program_size(formulation, n, r, targets=m, columns=3)
        assert more.memory >= base.memory
        assert more.seconds_per_iteration >= base.seconds_per_iteration


def test_a_program_beyond_the_memory_allowed_is_refused_with_size_memory_and_remedy():
    assert 0 < memory_allowed() <= MOST_MEMORY
    require_memory(program_size("least", 60, 20), "nothing")
    with pytest.raises(SolverError, match=r"600 arms in 200 dimensions would take about 2\d\.\d GB.*take less"):
        require_memory(program_size("least", 600, 200), "take less")


def test_e_optimality_in_200_dimensions_is_refused_within_two_gigabytes():
    """In a process that may not have more; what was refused was not begun."""
    program = """
        import resource, numpy as np, convexdesign as cd
        limit = 2 * 2**30
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        arms = np.random.default_rng(0).standard_normal((600, 200))
        try:
            cd.solve(cd.DesignProblem.e_optimal(arms))
        except cd.SolverError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "600 arms in 200 dimensions would take about" in done.stdout
    assert done.stdout.count("would take") == 1  # said once, and not for every attempt


def test_linear_constraints_in_1000_dimensions_fit_into_two_gigabytes_or_are_refused_before():
    """D needs terabytes and is refused with its size, the variance of one target is solved."""
    program = """
        import resource, numpy as np, convexdesign as cd
        limit = 2 * 2**30
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        arms = np.diag(np.linspace(1.0, 2.0, 1000))
        limits = {"inequalities": (np.arange(1000.0)[None] < 500, [0.45])}
        try:
            cd.solve(cd.DesignProblem.d_optimal(arms, **limits))
        except cd.SolverError as error:
            print(error)
        print(cd.solve(cd.DesignProblem.c_optimal(arms, np.ones(1000), **limits)).status.name)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1000 arms in 1000 dimensions would take about" in done.stdout
    assert done.stdout.endswith("CERTIFIED\n")


def test_too_little_time_for_a_single_step_gives_the_coarse_design_with_its_gap():
    arms = np.random.default_rng(0).standard_normal((500, 60))
    with pytest.warns(cd.ConvergenceWarning, match="time limit"):
        design = cd.solve(P.e_optimal(arms), time_limit=1.0)
    assert design.status is cd.Status.TIME_LIMIT
    values = np.linalg.eigvalsh((arms.T * design.weights) @ arms)
    assert design.value == pytest.approx(values[0], rel=1e-9)
    assert design.bound >= design.value
