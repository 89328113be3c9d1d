"""How often martingale elimination on rewards of two values, and in a range, is wrong, and how many samples it needs.

`python validation/reward_promise.py docs/validation` counts 2,000 runs of ten instances with rates from .001 to .5.
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
from convexdesign.simulation import LinearEnvironment, replication_seed, run_replications, simulate
from convexdesign.simulation.environment import bernoulli_statistics

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CASES", "Case", "is_wrong", "play", "promise", "run"]

Floats = NDArray[np.float64]

REPLICATIONS = 2000
DELTA = 0.05
# Runs of the Gaussian version, and of the proxy.
COMPARED = 500


@dataclass(frozen=True)
class Case:
    """Arms with these rates, each worth its price where it pays; noise "bounded": beta laws of these means from 0 to 1.

    threshold: of a level set, else the best arm is sought. max_samples: where runs that may not end are ended.
    """

    name: str
    rates: tuple[float, ...]
    prices: tuple[float, ...] = ()
    noise: str = "bernoulli"
    threshold: float | None = None
    max_samples: int | None = None

    @property
    def price(self) -> Floats:
        """(n,): what each arm pays."""
        return np.asarray(self.prices or np.ones(len(self.rates)))

    @property
    def means(self) -> Floats:
        """(n,): the mean rewards."""
        return np.asarray(self.price * np.asarray(self.rates))

    @property
    def variances(self) -> Floats:
        """(n,): their VARIANCES; a tenth of the largest possible for beta laws."""
        largest = self.price**2 * np.asarray(self.rates) * (1.0 - np.asarray(self.rates))
        return np.asarray(largest if self.noise == "bernoulli" else 0.1 * largest)

    @property
    def objective(self) -> Objective:
        """What is sought."""
        return BestArm() if self.threshold is None else LevelSet(self.threshold)


CASES = (
    Case("two of .002, .001", (0.002, 0.001)),
    Case("five of .006, .003", (0.006, 0.003, 0.003, 0.003, 0.003)),
    Case("five of .02, .01", (0.02, 0.01, 0.01, 0.01, 0.01)),
    Case("three of .012, .01", (0.012, 0.010, 0.010)),
    Case("near tie .0101, .01", (0.0101, 0.01, 0.008), max_samples=100_000),
    Case("tie .05, .05, .04", (0.05, 0.05, 0.04), max_samples=50_000),
    Case("tie .5, .5, .4", (0.5, 0.5, 0.4), max_samples=20_000),
    Case("prices 9 to 25", (0.1, 0.08, 0.07, 0.05, 0.05), (9.0, 12.0, 15.0, 19.0, 25.0)),
    Case("level set of .01, .03, .06 at .02", (0.01, 0.03, 0.06), threshold=0.02),
    Case("beta laws of .5, .47, .3", (0.5, 0.47, 0.3), noise="bounded"),
)


class Payments:
    """A world where arm i pays prices[i] with probability rates[i], else nothing."""

    def __init__(self, case: Case, rng: np.random.Generator) -> None:
        self.case, self._rng = case, rng

    def pull(self, counts: Any) -> Observations:
        """Rewards of so many pulls of each arm."""
        found, price = bernoulli_statistics(np.asarray(self.case.rates), counts, self._rng), self.case.price
        return Observations(found.count, price * found.mean, price**2 * found.m2)


def play(case: Case, kind: str, seed: np.random.SeedSequence) -> tuple[Any, Observations]:
    """One run: "bets" as the noise is, "gaussian" (told the true variances, in a Gaussian world), or the "proxy".

    Its result and what was measured.
    """
    rng, arms = np.random.default_rng(seed), np.eye(len(case.rates))
    options: dict[str, Any] = {"max_samples": case.max_samples}
    if kind == "bets":
        options |= {"noise": case.noise, "reward_range": (0.0, case.price)}
    else:
        options["known_variances"] = case.variances if kind == "gaussian" else case.price**2 / 4.0
    algorithm = MartingaleElimination(arms, None, case.objective, DELTA, **options)
    world: Any = Payments(case, rng)
    if kind == "gaussian":
        world = LinearEnvironment(arms, case.means, case.variances, rng=rng)
    elif case.noise == "bounded":
        world = LinearEnvironment(arms, case.means, case.variances, noise="bounded", reward_range=(0, 1), rng=rng)
    with warnings.catch_warnings():
        if kind == "proxy":
            warnings.simplefilter("ignore", GuaranteeWarning)  # the variances are far below it
        return simulate(algorithm, world), algorithm.observations


def is_wrong(case: Case, result: Any) -> bool:
    """Whether a run lost a best arm (each of several), or put one on the wrong side of the threshold."""
    means = case.means
    if case.threshold is None:
        best = set(np.flatnonzero(means > means.max() - 1e-12).tolist())
        return not best <= set(result.survivors)
    return bool(
        np.any(means[list(result.above)] <= case.threshold) or np.any(means[list(result.below)] >= case.threshold)
    )


def promise(
    replications: int, seed: int, jobs: int | None, progress: bool, cases: tuple[Case, ...] | None = None
) -> Iterator[pd.DataFrame]:
    """The table after every case."""
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for number, case in enumerate(CASES if cases is None else cases):
        few = min(COMPARED, replications)
        bets = _runs(case, "bets", replications, seed + 100 * number, jobs, progress)
        gaussian = _runs(case, "gaussian", few, seed + 100 * number + 1, jobs, progress)
        line: dict[str, Any] = {
            "case": case.name,
            "runs": len(bets),
            "errors": int(bets["wrong"].sum()),
            "undecided": int(bets["undecided"].sum()),
            "mean_samples": float(bets["samples"].mean()),
            "standard_error": float(bets["samples"].sem()),
            "fewest_successes": float(bets["fewest"].mean()),
        }
        if case.max_samples is None:
            proxy = _runs(case, "proxy", max(few // 10, 1), seed + 100 * number + 2, jobs, progress)
            line["over_gaussian"] = line["mean_samples"] / float(gaussian["samples"].mean())
            line["proxy_over_bets"] = float(proxy["samples"].mean()) / line["mean_samples"]
        else:
            line["over_gaussian"] = line["proxy_over_bets"] = float("nan")
        lines.append(line | {"passed": not shows_more(line["errors"], line["runs"], DELTA)})
        yield pd.DataFrame(lines)


def _runs(case: Case, kind: str, replications: int, seed: int, jobs: int | None, progress: bool) -> pd.DataFrame:
    def one(k: int) -> list[dict[str, Any]]:
        result, measured = play(case, kind, replication_seed(seed, k))
        return [
            {
                "wrong": is_wrong(case, result),
                "undecided": result.status is AnswerStatus.UNDECIDED,
                "samples": result.samples,
                "fewest": float((measured.count * measured.mean / case.price).min()),
            }
        ]

    return kept_part(lambda: run_replications(one, replications, jobs, progress, label=f"{case.name}, {kind}"))


def run(
    output_dir: str | Path,
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = True,
) -> list[Path]:
    """Write reward-promise.csv and reward-promise.md; the paths."""
    tables = promise(replications, seed, jobs, progress)
    return written(output_dir, "reward-promise", tables, partial(_page, replications=replications, seed=seed))


PAGE = """# Rewards of two values and in a range: errors and samples

Command: `python validation/reward_promise.py docs/validation --replications {replications} --seed {seed}`
({date}).

Martingale elimination with `noise="bernoulli"` (the last line: `noise="bounded"`), delta = {delta}. An error is: a best arm
lost (each of several that tie), an arm on the wrong side of the threshold. To be undecided, where a limit ends a run, is none.
A line passes unless its errors show, at level 1e-3, a rate above delta: {passed} of {lines} lines do; the largest error rate
is {worst:.4f}.

`over_gaussian`: mean samples over those of the Gaussian version that is told the true variances, in a Gaussian world of the
same means and variances. `proxy_over_bets`: mean samples of the version that is told the proxies (high - low)²/4, over those
of the bets. `fewest_successes`: of the arm with the fewest, on average over the runs. Where an arm has few, its variance is
hardly known at the end, which the version that is told the variances does not pay for: a ratio of at most 1.3 is aimed at
where every arm has at least 50.

{table}
"""


def _page(table: pd.DataFrame, replications: int, seed: int) -> str:
    return PAGE.format(
        replications=replications,
        seed=seed,
        date=datetime.date.today().isoformat(),
        delta=DELTA,
        passed=int(table["passed"].sum()),
        lines=len(table),
        worst=float((table["errors"] / table["runs"]).max()),
        table=markdown(table),
    )


def main() -> None:
    count(run, "Count the errors and the samples of bets on rewards in a range.", REPLICATIONS)


if __name__ == "__main__":
    main()
