"""How often intervals that are to hold at all times, all at once, ever miss, where the rewards choose what is measured next.

`python validation/interval_coverage.py docs/validation` counts 500 runs of each case.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from counting import count, kept_part, markdown, shows_more, written
from numpy.typing import NDArray

from convexdesign.experiment import RoundView
from convexdesign.experiment.estimates import estimates_of
from convexdesign.identification import BestArm, LevelSet, MartingaleElimination
from convexdesign.identification.objectives import Objective
from convexdesign.simulation import LinearEnvironment, replication_seed, run_replications

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CASES", "Case", "coverage", "misses", "play", "run"]

Floats = NDArray[np.float64]

REPLICATIONS = 500
# The levels that intervals are asked for. The lower one shows more of what there is to spare.
LEVELS = (0.95, 0.8)
# Quantile of the normal law for the intervals of the control, 95 % each at one time.
NORMAL = 1.959963984540054


@dataclass(frozen=True)
class Case:
    """Arms (rows), theta and VARIANCES; noise as of `LinearEnvironment`, rewards from 0 to 1 where it has a range.

    threshold: of a level set, else the best arm is sought. told: what the algorithm takes the noise to be.
    """

    name: str
    arms: tuple[tuple[float, ...], ...]
    theta: tuple[float, ...]
    noise: str = "gaussian"
    variances: tuple[float, ...] | None = None
    threshold: float | None = None
    max_samples: int = 3000

    @property
    def told(self) -> str:
        """The noise that the algorithm is told."""
        return self.noise if self.noise in ("gaussian", "bernoulli", "bounded") else "sub-gaussian"

    @property
    def in_range(self) -> bool:
        """Whether rewards are known by their range."""
        return self.told in ("bernoulli", "bounded")

    @property
    def objective(self) -> Objective:
        """What is sought."""
        return BestArm() if self.threshold is None else LevelSet(self.threshold)

    def world(self, rng: np.random.Generator) -> LinearEnvironment:
        """The truth."""
        options: dict[str, Any] = {"reward_range": (0.0, 1.0)} if self.in_range else {}
        return LinearEnvironment(self.arms, self.theta, self.variances, noise=self.noise, rng=rng, **options)


def _separate(n: int) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(i == j) for j in range(n)) for i in range(n))


CASES = (
    Case("Gaussian, three arms, two tie", _separate(3), (0.5, 0.5, 0.0), variances=(1.0, 4.0, 0.25)),
    Case("Gaussian, linear", ((1.0, 0.0), (0.0, 1.0), (0.9, 0.4)), (1.0, 0.1), variances=(1.0, 9.0, 1.0)),
    Case("Gaussian, level set", _separate(4), (0.3, 0.1, 0.0, -0.2), variances=(1.0,) * 4, threshold=0.1),
    Case("uniform, three arms, two tie", _separate(3), (0.5, 0.5, 0.0), noise="uniform", variances=(1.0, 4.0, 0.25)),
    Case("Bernoulli .02, .01, .01", _separate(3), (0.02, 0.01, 0.01), noise="bernoulli", max_samples=20_000),
    Case("Bernoulli .5, .5, .4", _separate(3), (0.5, 0.5, 0.4), noise="bernoulli"),
    Case("beta laws of .5, .47, .3", _separate(3), (0.5, 0.47, 0.3), noise="bounded", variances=(0.025, 0.025, 0.021)),
)


def play(case: Case, seed: np.random.SeedSequence) -> dict[str, bool]:
    """One run: whether any interval, of an item or of a difference, ever missed at each level; and those of the control."""
    world = case.world(np.random.default_rng(seed))
    options: dict[str, Any] = {"reward_range": (0.0, 1.0)} if case.in_range else {}
    algorithm = MartingaleElimination(
        case.arms,
        None,
        case.objective,
        noise=case.told,  # type: ignore[arg-type]
        max_samples=case.max_samples,
        **options,
    )
    views: list[RoundView] = []
    while not algorithm.done:
        batch = algorithm.ask()
        algorithm.tell(batch, world.pull(batch.counts))
        views.append(_view(algorithm, len(views) + 1, batch.id))
    truth = np.asarray(case.arms) @ np.asarray(case.theta)
    return {f"missed_{level:g}": misses(algorithm, views, truth, level) for level in LEVELS} | {
        "control": _control_misses(views, np.asarray(case.arms), np.asarray(case.theta))
    }


def _view(algorithm: MartingaleElimination, number: int, batch: int) -> RoundView:
    known, sure = algorithm.partition, algorithm.confidence()
    return RoundView(
        number=number,
        batches=(batch,),
        observations=algorithm.observations,
        samples=algorithm.samples,
        best_guess=sure.answer,
        p_value=None,
        p_values=None,
        survivors=tuple(known.undecided.tolist()),
        above=tuple(known.above.tolist()),
        below=tuple(known.below.tolist()),
        dropped=(),
        summaries=len(algorithm.evidence.summaries),
        estimates=None,
    )


def misses(algorithm: MartingaleElimination, views: list[RoundView], truth: Floats, level: float) -> bool:
    """Whether an interval of a value, or of a difference to the best guess or to the first item, misses after some round."""
    names = [str(i) for i in range(truth.size)]
    found = estimates_of(algorithm, views, names, names, level, 0)
    sequences = [(found.over_time, truth)]
    for difference in (found.to_leader, found.to_control):
        if difference is not None:
            sequences.append((difference.over_time, truth - truth[difference.reference]))
    return any(bool(np.any((s.low > value) | (s.high < value))) for s, value in sequences)


def _control_misses(views: list[RoundView], arms: Floats, theta: Floats) -> bool:
    """Whether the usual interval of an arm's mean, of 95 % at one time, ever misses: all results so far, each round."""
    for view in views:
        told = view.observations
        seen = told.count > 1
        error = np.sqrt(told.sample_variance()[seen] / told.count[seen])
        if np.any(np.abs(told.mean[seen] - (arms @ theta)[seen]) > NORMAL * error):
            return True
    return False


def coverage(
    replications: int, seed: int, jobs: int | None, progress: bool, cases: tuple[Case, ...] | None = None
) -> Iterator[pd.DataFrame]:
    """The table after every case."""
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for number, case in enumerate(CASES if cases is None else cases):

        def one(k: int, case: Case = case, number: int = number) -> list[dict[str, Any]]:
            return [play(case, replication_seed(seed + 100 * number, k))]

        bar = f"{case.name} ({number + 1} of {len(CASES if cases is None else cases)})"
        runs = kept_part(partial(run_replications, one, replications, jobs, progress, label=bar))
        found = {name: int(runs[name].sum()) for name in (*(f"missed_{level:g}" for level in LEVELS), "control")}
        # Unless the misses show, at level 1e-3, a rate above what the intervals allow.
        passed = not any(shows_more(found[f"missed_{level:g}"], len(runs), 1.0 - level) for level in LEVELS)
        lines.append({"case": case.name, "runs": len(runs), **found, "passed": passed})
        yield pd.DataFrame(lines)


def run(
    output_dir: str | Path,
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = True,
) -> list[Path]:
    """Write interval-coverage.csv and interval-coverage.md; the paths."""
    tables = coverage(replications, seed, jobs, progress)
    return written(output_dir, "interval-coverage", tables, partial(_page, replications=replications, seed=seed))


PAGE = """# Intervals at all times: how often they miss

Command: `python validation/interval_coverage.py docs/validation --replications {replications} --seed {seed}`
({date}).

The intervals of [`Experiment.confidence`](../durable-experiment.md): of every item's value and of the differences to the
best guess and to a control, after every round of martingale elimination, whose rewards choose what is measured next. A run is a
miss where *any* of them, after *any* round, does not hold the truth. `missed_0.95`, `missed_0.8`: runs that are, at these
levels; {passed} of {lines} lines show, at level 1e-3, no more than the levels allow. `control`: runs in which the usual
interval of an arm's mean, 95 % at one time, missed for some arm after some round.

{table}
"""


def _page(table: pd.DataFrame, replications: int, seed: int) -> str:
    return PAGE.format(
        replications=replications,
        seed=seed,
        date=datetime.date.today().isoformat(),
        passed=int(table["passed"].sum()),
        lines=len(table),
        table=markdown(table),
    )


def main() -> None:
    count(run, "Count how often intervals that hold at all times miss.", REPLICATIONS)


if __name__ == "__main__":
    main()
