"""How often martingale elimination errs where variants are dropped and switched off on the way, and where items join.

`python validation/variants_come_and_go.py docs/validation` counts 1,000 runs of each case.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from counting import count, kept_part, markdown, shows_more, written
from numpy.typing import NDArray

from convexdesign.estimation import Observations
from convexdesign.identification import AnswerStatus, BestArm, GuaranteeWarning, LevelSet, MartingaleElimination
from convexdesign.identification.objectives import Objective
from convexdesign.simulation import LinearEnvironment, replication_seed, run_replications

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CASES", "Case", "counts", "play", "run"]

REPLICATIONS = 1000
DELTA = 0.2
# The drop comes after so many rounds.
ROUNDS = 3


@dataclass(frozen=True)
class Case:
    """Separate variants of these means (Gaussian noise of VARIANCE one, or conversions); the first is dropped on the way.

    The second is the best of the others, or ties for it. losers_off: variants that lose are switched off at once.
    joins: None is dropped; so many items join instead, a round apart, each chosen by the rewards so that these mislead as
    much as they can. Of a level set (threshold told) along the estimate of the means, which are all on the threshold; else
    best by 2 epsilon on the arm whose estimate is worst.
    """

    name: str
    means: tuple[float, ...]
    noise: str = "gaussian"
    losers_off: bool = False
    max_samples: int = 3000
    joins: int = 0
    epsilon: float = 0.0
    threshold: float | None = None

    @property
    def objective(self) -> Objective:
        """What is sought."""
        return BestArm() if self.threshold is None else LevelSet(self.threshold)

    @property
    def allowed(self) -> float:
        """What the promise allows, at most (mathematics, 10.16 and 10.18); learning no variance is left out."""
        if self.threshold is not None:
            return DELTA * (1.0 + self.joins / len(self.means))
        return DELTA * (1 + self.joins)


CASES = (
    Case("Gaussian, the others tie", (0.6, 0.3, 0.3, 0.0)),
    Case("Gaussian, the others are near", (0.6, 0.3, 0.15, 0.0)),
    Case("Gaussian, losers switched off", (0.6, 0.3, 0.3, 0.0), losers_off=True),
    Case("conversions, the others tie", (0.3, 0.2, 0.2, 0.1), noise="bernoulli"),
    Case("conversions, the others are near", (0.3, 0.2, 0.15, 0.1), noise="bernoulli"),
    Case("conversions, losers switched off", (0.3, 0.2, 0.2, 0.1), noise="bernoulli", losers_off=True),
    Case("best arm, one joins", (0.3, 0.3, 0.3, 0.0), joins=1, epsilon=0.0, max_samples=2000),
    Case("best arm up to .1, one joins", (0.3, 0.3, 0.3, 0.0), joins=1, epsilon=0.1, max_samples=2000),
    Case("level set, four join", (0.0, 0.0, 0.0), joins=4, threshold=0.0, max_samples=1000),
    Case("level set up to .1, four join", (0.0, 0.0, 0.0), joins=4, epsilon=0.1, threshold=0.0, max_samples=1000),
)


class _Course:
    """A run that can be begun again without an item, as a store does it: same counts and rewards, decisions anew."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.steps: list[tuple[dict[str, Any], Observations] | list[int] | int] = []
        self.gone: list[int] = []
        self.joined: list[NDArray[np.float64]] = []
        self.algorithm = self._new()

    def _new(self) -> MartingaleElimination:
        case, n = self.case, len(self.case.means)
        found = MartingaleElimination(
            np.eye(n),
            np.vstack([np.eye(n), *self.joined]),
            case.objective,
            DELTA,
            epsilon=case.epsilon,
            noise=case.noise,  # type: ignore[arg-type]
            max_samples=case.max_samples,
        )
        if self.gone:
            found.exclude(self.gone)
        if self.joined:
            found.hold_back(range(n, n + len(self.joined)))
        return found

    def round(self, world: LinearEnvironment) -> None:
        batch = self.algorithm.ask()
        memory, told = self.algorithm.state_dict(), world.pull(batch.counts)
        self.algorithm.tell(batch, told)
        self.steps.append((memory, told))

    def withdraw(self, arms: list[int]) -> None:
        self.algorithm.withdraw(arms)
        self.steps.append(arms)

    def drop(self, item: int) -> None:
        self.gone.append(item)
        self._again()

    def join(self, vector: NDArray[np.float64]) -> None:
        self.joined.append(vector)
        self.steps.append(len(self.case.means) + len(self.joined) - 1)
        self._again()

    def _again(self) -> None:
        self.algorithm = again = self._new()
        for step in self.steps:
            if isinstance(step, list):
                again.withdraw(step)
            elif isinstance(step, int):
                again.join([step])
            else:
                again.tell(again.load_state_dict(step[0], step[1].count), step[1])
                if self.gone:
                    again.reconsider()


def play(case: Case, seed: np.random.SeedSequence) -> dict[str, Any]:
    """One run: whether the second variant was ever lost after the first was gone, and the pulls of that from then on.

    Of items that join: whether the best was ever lost, or another answered; whether one was placed above the threshold.
    """
    options: dict[str, Any] = {"noise": "bernoulli"} if case.noise == "bernoulli" else {"noise_variance": 1.0}
    world = LinearEnvironment(np.eye(len(case.means)), case.means, rng=np.random.default_rng(seed), **options)
    course, lost, pulls = _Course(case), False, 0
    if case.joins:
        return _play_joins(course, world)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuaranteeWarning)
        for number in range(1000):
            if number == ROUNDS:
                course.drop(0)
                course.withdraw([0])
            if course.algorithm.done:
                break
            before = course.algorithm.observations.count[0]
            course.round(world)
            left = course.algorithm.partition.undecided
            if number >= ROUNDS:
                lost |= 1 not in left
                pulls += int(course.algorithm.observations.count[0] - before)
            # What lost against the first alone is in again once that is gone.
            if case.losers_off and number >= ROUNDS and not course.algorithm.done:
                off = np.setdiff1d(course.algorithm.usable, left)
                if off.size:
                    course.withdraw(off.tolist())
    return {"lost": lost, "pulls_of_the_dropped": pulls, "samples": course.algorithm.samples}


def _play_joins(course: _Course, world: LinearEnvironment) -> dict[str, Any]:
    case, wrong = course.case, False
    means = np.asarray(case.means)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuaranteeWarning)
        for number in range(1000):
            if 0 <= number - ROUNDS < case.joins and course.algorithm.rounds:
                theta = course.algorithm.rounds[-1].theta
                if case.threshold is None:
                    worst = int(np.argmin(np.where(means > 0, theta, np.inf)))
                    course.join((1.0 + (2.0 * case.epsilon or 0.1) / means[worst]) * np.eye(means.size)[worst])
                else:
                    course.join(theta / np.linalg.norm(theta))
            if course.algorithm.done:
                if number >= ROUNDS + case.joins:
                    break
                continue
            course.round(world)
            known, values = course.algorithm.partition, course.algorithm.items @ means
            if case.threshold is not None:
                wrong |= known.above.size > 0
            elif number >= ROUNDS + case.joins:
                wrong |= int(np.argmax(values)) not in known.undecided
        if course.algorithm.done and course.algorithm.result().status is AnswerStatus.EPSILON_GOOD:
            answer, values = list(course.algorithm.result().answer), course.algorithm.items @ means
            if case.threshold is None:
                wrong |= bool(values.max() - values[answer].max() > case.epsilon * (1.0 + 1e-9))
    return {"lost": wrong, "pulls_of_the_dropped": 0, "samples": course.algorithm.samples}


def counts(
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
        lost, total = int(runs["lost"].sum()), len(runs)
        lines.append(
            {
                "case": case.name,
                "runs": total,
                "lost": lost,
                "allowed": case.allowed,
                "passed": not shows_more(lost, total, case.allowed),
                "pulls_of_the_dropped": int(runs["pulls_of_the_dropped"].sum()),
                "mean_samples": float(runs["samples"].mean()),
            }
        )
        yield pd.DataFrame(lines)


def run(
    output_dir: str | Path,
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = True,
) -> list[Path]:
    """Write variants-come-and-go.csv and variants-come-and-go.md; the paths."""
    tables = counts(replications, seed, jobs, progress)
    return written(output_dir, "variants-come-and-go", tables, partial(_page, replications=replications, seed=seed))


PAGE = """# Variants that come and go: how often the answer is wrong

Command: `python validation/variants_come_and_go.py docs/validation --replications {replications} --seed {seed}`
({date}).

Martingale elimination on four separate variants, delta = {delta:g}. After {rounds} rounds the best one is dropped and its arm
withdrawn, whatever the rewards were, so that the promise stays what it was ([mathematics](../mathematics.md), section 10.16). A
run is a loss where the best of the others (of two that tie: the first of these) is *ever* ruled out from then on; runs end at
3,000 samples if they have no answer before. Switched off: the arm of every variant that loses from then on is withdrawn at
once. Where items join, one after each of the rounds from the third on, they are chosen so that the rewards before mislead as
much as they can. The promise is then {delta:g} times one more than their number (best arm), or {delta:g} times one more than
their number over that of the items in the beginning (level sets, where all items are on the threshold and none may ever be
placed above it): section 10.18. {passed} of {lines} lines show, at level 1e-3, no more errors than is allowed: a right program
fails a line with probability at most 1e-3.

{table}
"""


def _page(table: pd.DataFrame, replications: int, seed: int) -> str:
    return PAGE.format(
        replications=replications,
        seed=seed,
        delta=DELTA,
        rounds=ROUNDS,
        date=datetime.date.today().isoformat(),
        passed=int(table["passed"].sum()),
        lines=len(table),
        table=markdown(table),
    )


def main() -> None:
    count(run, "Count how often answers are wrong where variants are dropped, and where items join.", REPLICATIONS)


if __name__ == "__main__":
    main()
