"""What a type checker sees of the lazy names: mypy reads this file (`make types`), and an Any in it is an error."""

from __future__ import annotations

from typing import assert_type

import numpy as np

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.identification import BestArm, MartingaleElimination
from convexdesign.instances import Instance
from convexdesign.simulation import LinearEnvironment


def names() -> None:
    instance = assert_type(cd.instances.soare(), Instance)
    environment = cd.simulation.LinearEnvironment(instance.arms, instance.theta, noise_variance=instance.noise_variance)
    assert_type(environment, LinearEnvironment)
    assert_type(environment.pull(np.ones(3, dtype=np.int64)), Observations)
    assert_type(cd.identification.BestArm(), BestArm)
    algorithm = cd.identification.MartingaleElimination(instance.arms, variance_bounds=(0.5, 30.0))
    assert_type(algorithm, MartingaleElimination)
    assert_type(cd.Experiment.create("study.db", algorithm), cd.Experiment)
    assert_type(cd.solve(cd.DesignProblem.g_optimal(instance.arms)), cd.Design)
    assert_type(cd.DesignProblem.phi2_optimal(instance.arms, noise_variance=2.0), cd.DesignProblem)
    assert_type(cd.plotting.OKABE_ITO, dict[str, str])
