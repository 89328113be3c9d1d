"""What the explorer shows are the library's own numbers; arrangements without an answer say why and what to do."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.explore import EXAMPLES, PROBLEMS, State, program, view
from convexdesign.explore.views import problem_of

P = cd.DesignProblem
I = cd.identification  # noqa: E741  (its name in the documentation)

FOUR = State(
    arms=((1.0, 0.1), (-0.2, 0.9), (0.7, 0.6), (0.4, -0.8)),
    noise_variance=(1.0, 9.0, 0.5, 2.0),
    items=((1.0, 1.0), (0.2, 0.9), (-0.5, 0.4)),
    theta=(0.9, 0.3),
    threshold=0.2,
    direction=(1.0, -2.0),
)
X, NOISE, Z = np.array(FOUR.arms), np.array(FOUR.noise_variance), np.array(FOUR.items)
# The same problems, written by hand.
BY_HAND = {
    "g-optimal": lambda s: P.g_optimal(X, noise_variance=s),
    "xy-allocation": lambda s: P.xy_allocation(X, Z, noise_variance=s),
    "level-set-allocation": lambda s: P.level_set_allocation(X, Z, noise_variance=s),
    "best-arm-oracle": lambda s: P.best_arm_oracle(X, Z, theta=[0.9, 0.3], noise_variance=s),
    "level-set-oracle": lambda s: P.level_set_oracle(X, Z, theta=[0.9, 0.3], threshold=0.2, noise_variance=s),
    "c-optimal": lambda s: P.c_optimal(X, [1.0, -2.0], noise_variance=s),
    "d-optimal": lambda s: P.d_optimal(X, noise_variance=s),
    "a-optimal": lambda s: P.a_optimal(X, noise_variance=s),
}


@pytest.mark.parametrize("problem", sorted(PROBLEMS))
def test_the_design_is_that_of_the_problem_written_by_hand(problem):
    shown = view(replace(FOUR, problem=problem))
    wanted = cd.solve(BY_HAND[problem](NOISE))
    assert shown.design.value == pytest.approx(wanted.value, rel=1e-6)
    blind = cd.verify(BY_HAND[problem](NOISE), weights=shown.blind.weights)
    assert shown.blind.value == pytest.approx(blind.value, rel=1e-9)
    equal = cd.verify(BY_HAND[problem](None), weights=shown.blind.weights)
    assert equal.efficiency > 1 - 2e-6  # it is the best design where noise is equal
    assert shown.blind.ratio == pytest.approx(1 / blind.efficiency, rel=1e-5)
    assert shown.plan.total == FOUR.pulls
    assert shown.problems == {}


@pytest.mark.parametrize("problem", sorted(PROBLEMS))
def test_the_sensitivities_are_an_equivalence_theorem(problem):
    """None above the bound, the measured arms on it; a blind design that is worse is above its own."""
    shown = view(replace(FOUR, problem=problem))
    relative = shown.sensitivities.values / shown.sensitivities.bound
    assert relative.max() <= 1 + 1e-5
    assert relative[shown.design.weights > 1e-4].min() >= 1 - 1e-3
    worst = float((shown.blind.sensitivities.values / shown.blind.sensitivities.bound).max())
    assert worst > 1 + 1e-3 or shown.blind.ratio < 1 + 1e-3


def test_the_confidence_region_has_its_probability():
    """Its boundary keeps (z - theta)'N A (z - theta) at the 95 % quantile of chi-square with two degrees: 5.991."""
    shown = view(replace(FOUR, problem="d-optimal", pulls=80, delta=0.05))
    away = shown.region - np.array(FOUR.theta)
    quadratic = np.einsum("ki,ij,kj->k", away, 80 * shown.design.information, away)
    assert quadratic == pytest.approx(np.full(len(away), 5.991464547), rel=1e-8)


def test_the_bound_on_samples_is_about_what_is_asked():
    best = view(replace(FOUR, problem="best-arm-oracle")).samples
    assert best.bound == pytest.approx(I.lower_bound(X, Z, FOUR.theta, I.BestArm(), NOISE, 0.05), rel=1e-6)
    level = view(replace(FOUR, problem="level-set-allocation")).samples
    assert level.bound == pytest.approx(I.lower_bound(X, Z, FOUR.theta, I.LevelSet(0.2), NOISE, 0.05), rel=1e-6)
    # Where the problem knows no items, those set before are not asked about.
    plain = view(replace(FOUR, problem="g-optimal")).samples
    assert plain.bound == pytest.approx(I.lower_bound(X, None, FOUR.theta, I.BestArm(), NOISE, 0.05), rel=1e-6)
    assert 2 * math.log(1 / (2.4 * 0.05)) * best.complexity.psi_star == pytest.approx(best.bound, rel=1e-6)


def test_the_paper_is_an_example():
    shown = view(EXAMPLES["The introduction of the paper"])
    assert shown.design.value == pytest.approx(266.9, abs=0.1)
    assert round(shown.samples.bound) == 1132


@pytest.mark.parametrize(
    ("state", "part", "words"),
    [
        (State("a-optimal", ((1, 1), (2, 2)), (1, 1)), "design", ["rank 1"]),
        (State("c-optimal", ((1, 0), (2, 0)), (1, 1), direction=(0, 1)), "design", ["outside the range", "add an arm"]),
        (State("xy-allocation", ((1, 0),), (1,)), "design", ["at least two items"]),
        (State("best-arm-oracle", ((1, 0), (0, 1)), (1, 1), theta=(1, 1)), "design", ["tie"]),
        (State("level-set-oracle", ((1, 0), (0, 1)), (1, 1), theta=(1, 0), threshold=1), "design", ["lies exactly on"]),
        (State("g-optimal", ((1, 0), (0, 1)), (1, 1), theta=(1, 1)), "samples", ["tie"]),
        (State("g-optimal", ((1, 0), (0, 1)), (1, 1), pulls=1), "plan", ["2"]),
        (State("d-optimal", ((0, 0), (0, 0)), (1, 1)), "design", ["zero"]),
    ],
)
def test_what_has_no_answer_says_why(state, part, words):
    shown = view(state)
    for word in words:
        assert word in shown.problems[part]
    assert (shown.design is None) == (part == "design")


@pytest.mark.parametrize("problem", ["g-optimal", "d-optimal", "xy-allocation", "a-optimal"])
def test_arms_on_one_line_are_told_what_to_do(problem):
    """Also where a design exists, since it measures only what lies on the line."""
    line = State(problem, ((1.0, 0.5), (-0.8, -0.4), (0.4, 0.2)), (1.0, 1.0, 1.0))
    (note,) = view(line).notes
    assert "one line" in note
    assert "Move one arm off the line" in note
    assert view(line).region is None
    off = replace(line, arms=((1.0, 0.5), (-0.8, -0.4), (0.4, 0.3)))
    assert view(off).notes == ()
    assert view(off).region is not None


def test_a_design_along_one_direction_is_no_fault():
    (note,) = view(State("c-optimal", ((1, 0), (0, 1)), (1, 1), direction=(1, 0))).notes
    assert "one direction" in note


@pytest.mark.parametrize(
    "state",
    [*EXAMPLES.values(), *(replace(FOUR, problem=p) for p in PROBLEMS), State("a-optimal", ((1, 1), (2, 2)), (1, 1))],
    ids=lambda s: s.to_query(),
)
def test_the_program_runs_and_gives_the_same(state, capsys):
    """The code computes what is shown, or fails with the message that is shown."""
    shown = view(state)
    names: dict[str, object] = {}
    code = compile(program(shown), "program", "exec")
    if shown.design is None:
        with pytest.raises(cd.errors.ConvexDesignError) as caught:
            exec(code, names)
        assert str(caught.value) == shown.problems["design"]
        return
    exec(code, names)
    assert names["design"].value == pytest.approx(shown.design.value, rel=1e-9)
    assert names["design"].weights == pytest.approx(shown.design.weights, abs=1e-9)
    assert names["blind"].value == pytest.approx(shown.blind.value, rel=1e-9)
    assert ("plan" in names) == (shown.plan is not None)
    if shown.plan is not None:
        assert names["plan"].counts.tolist() == shown.plan.counts.tolist()
    assert ("samples" in names) == (shown.samples is not None)
    if shown.samples is not None:
        assert names["samples"] == pytest.approx(shown.samples.bound, rel=1e-9)
    assert "weights" in capsys.readouterr().out


def test_while_a_point_moves_only_the_whole_numbers_wait():
    moving, resting = view(FOUR, moving=True), view(FOUR)
    assert moving.plan is None
    assert moving.problems == {}
    assert moving.design.weights == pytest.approx(resting.design.weights)
    assert moving.blind.ratio == resting.blind.ratio
    assert moving.samples == resting.samples


def test_equal_noise_is_the_same_problem_with_variance_one():
    equal = problem_of(FOUR, equal_noise=True)
    assert cd.solve(equal).value == pytest.approx(cd.solve(P.xy_allocation(X, Z)).value, rel=1e-6)


@pytest.mark.parametrize("ratio", [1e6, 1e9])
def test_an_arm_measured_rarely_because_it_is_precise_leaves_no_strip(ratio):
    """G-optimal shares are proportional to the variances, and both directions are known equally well."""
    shown = view(State("g-optimal", ((1.0, 0.0), (0.0, 1.0)), (1.0, ratio)))
    assert shown.notes == ()
    assert shown.region is not None
