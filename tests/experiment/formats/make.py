"""Writes format-N/ for the current format, once, when a format is new: python tests/experiment/formats/make.py

The store holds one event of every kind that an experiment meets on its way: two rounds, three results missing and asked
for again, an amendment, an arm withdrawn, an open batch with some results. transcript.json is what it must always be
read as.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import convexdesign as cd
from convexdesign.experiment.store import FORMAT


def main() -> None:
    folder = Path(__file__).parent / f"format-{FORMAT}"
    folder.mkdir()
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    algorithm = cd.identification.Rage(arms, [[1.0, 0.0], [0.0, 1.0]], variance_bounds=(1.0, 1.0), rng=0)
    env = cd.simulation.LinearEnvironment(arms, [1.0, 0.95], noise_variance=1.0, rng=1)
    with cd.Experiment.create(folder / "study.db", algorithm) as x:
        batch = x.ask()
        first = int(np.argmax(batch.counts))
        later = batch.counts.copy()
        later[first] -= 5
        x.tell(0, arms=[first] * 2, rewards=[0.5, 7.5], keys=["visitor-0", "visitor-1"])
        x.amend("visitor-1", reward=0.75, reason="typing error")
        x.tell(0, observations=env.pull(later), key="monday")
        x.mark_missing(0, reason="a server was down")
        again = x.ask()
        x.tell(again, env.pull(again.counts))
        x.withdraw([3], reason="broken")
        batch = x.ask()
        x.tell(batch, env.pull(batch.counts))
        batch = x.ask()
        x.tell(batch, arms=[int(np.argmax(batch.counts))], rewards=[0.25], keys=["visitor-2"])
        transcript = x.transcript()
    (folder / "transcript.json").write_text(json.dumps(transcript, indent=1) + "\n")


if __name__ == "__main__":
    main()
