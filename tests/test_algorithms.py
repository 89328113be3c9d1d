"""The table of algorithms: every one that there is stands in it, and can be made from what it says of itself."""

from __future__ import annotations

import inspect

import pytest

import convexdesign as cd
from convexdesign.algorithms import ALGORITHMS, algorithm_of, common_options
from convexdesign.cli.algorithms import FOR_EXPERIMENTS
from convexdesign.identification import Identifier

WORLD = cd.instances.experiment_2(omega=0.3)
OFFERED = {
    "delta": 0.1,
    "epsilon": 0.25,
    "max_samples": 10**9,
    "rng": 0,
    "variance_bounds": (0.1, 2.0),
    "known_variances": WORLD.noise_variance,
    "noise": "gaussian",
    "theta": WORLD.theta,
    "noise_variance": WORLD.noise_variance,
}


def test_every_public_algorithm_has_a_line():
    public = {getattr(cd.identification, name) for name in cd.identification.__all__}
    concrete = {
        made
        for made in public
        if isinstance(made, type) and issubclass(made, Identifier) and not inspect.isabstract(made)
    }
    assert concrete == {line.cls for line in ALGORITHMS.values()}


@pytest.mark.parametrize("line", ALGORITHMS.values(), ids=lambda line: line.name)
def test_a_line_makes_its_algorithm_from_what_is_offered(line):
    objectives = {"best-arm": cd.identification.BestArm(), "level-set": cd.identification.LevelSet(0.9)}
    assert set(line.objectives) <= set(objectives)
    for name in line.objectives:
        made = line.make(WORLD.arms, None, objectives[name], **OFFERED)
        assert type(made) is line.cls
        assert (made.delta, made.epsilon, made.max_samples) == (0.1, 0.25, 10**9)
        assert {option: getattr(made, option) for option in line.preset} == dict(line.preset)
        assert algorithm_of(made).cls is line.cls
    # Options are the constructor's own parameters, with its defaults.
    parameters = inspect.signature(line.cls).parameters
    assert set(parameters) == {"arms", "items", "objective", *common_options(), *line.options}
    assert all(parameters[name].default == option.default for name, option in line.options.items())


@pytest.mark.parametrize("line", ALGORITHMS.values(), ids=lambda line: line.name)
def test_what_a_line_says_of_needs_is_so(line):
    told = {name: value for name, value in OFFERED.items() if name not in ("variance_bounds", "known_variances")}
    if line.needs_bounds:
        with pytest.raises(cd.InputError, match="variance_bounds"):
            line.make(WORLD.arms, None, cd.identification.BestArm(), **told)
    else:
        line.make(WORLD.arms, None, cd.identification.BestArm(), **told)
    assert line.knows_theta == ("theta" in line.options)
    assert (line.name in FOR_EXPERIMENTS) != line.knows_theta


@pytest.mark.parametrize("line", ALGORITHMS.values(), ids=lambda line: line.name)
def test_designs_follow_rewards_where_the_line_says_adaptive(line):
    """Proportions of all rounds are one design's where it does not adapt, and change where it does."""
    algorithm = line.make(WORLD.arms, None, cd.identification.BestArm(), **OFFERED | {"epsilon": 0.0, "delta": 0.05})
    env = cd.simulation.LinearEnvironment(WORLD.arms, WORLD.theta, WORLD.noise_variance, rng=3)
    cd.simulation.simulate(algorithm, env)
    designs = {tuple(round_.weights.round(9)) for round_ in algorithm.rounds}
    assert line.adaptive == (len(designs) > 1)
