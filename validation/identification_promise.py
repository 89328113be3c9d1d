"""How often identification algorithms are wrong, against the delta that they promise; and controls that must break it.

`python validation/identification_promise.py docs/validation` counts 1,000 runs per line.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from counting import count, kept_part, markdown, shows_more

from convexdesign.identification import AnswerStatus, BestArm, GuaranteeWarning, HRage, LevelSet, MartingaleElimination
from convexdesign.instances import Instance
from convexdesign.reproduce.contenders import EXPERIMENTS, Maker, contenders, environment
from convexdesign.simulation import comparison_rows, comparison_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["controls", "experiments", "other_noise", "random_instance", "random_instances", "run"]

REPLICATIONS = 1000
DELTAS = (0.05, 0.2)
NOISES = ("uniform", "symmetric-beta")
# Random instances of each objective: half of them choose among the arms, half among other items.
INSTANCES = 20
# Runs on each instance with another law of noise.
RUNS_EACH = 10
# Rewards of other laws are drawn one by one: fewer runs, on instances with wide gaps.
SHARE_OTHER_NOISE = 0.2
CONTROL_SHARE = 1.0 / 20.0
# Martingale elimination has a page of its own (martingale_promise).
ALGORITHMS = (
    "H-RAGE",
    "H-RAGE, adaptive burn-in",
    "H-RAGE, burn-in of replicates",
    "RAGE",
    "H-RAGE, variances known",
    "static XY, variances known",
    "oracle",
    "homoskedastic oracle",
)


def random_instance(
    kind: str,
    seed: int,
    d: int = 3,
    n: int = 8,
    m: int = 6,
    least_gap: float = 0.1,
    most_kappa: float = float("inf"),
) -> Instance:
    """n Gaussian arms in R^d, s_x² = x'Sigma x with a random Sigma, and gaps of at least least_gap between items.

    The items are m others, or the arms themselves (m = 0). kind: "best-arm" | "level-set" (threshold half way between
    the two middle items). most_kappa: the largest noise variance is at most so many times the smallest.
    """
    rng = np.random.default_rng([seed, d, n, m])
    while True:
        arms = rng.standard_normal((n, d))
        items = rng.standard_normal((m, d)) / 2.0 if m else arms
        root = rng.standard_normal((d, d))
        Sigma = root @ root.T / d + 0.2 * np.eye(d)
        theta = rng.standard_normal(d)
        theta /= np.linalg.norm(theta)
        values = np.sort(items @ theta)
        middle = values.size // 2
        threshold = float(values[middle] + values[middle - 1]) / 2.0
        gap = values[-1] - values[-2] if kind == "best-arm" else np.abs(values - threshold).min()
        variance = np.einsum("ij,jk,ik->i", arms, Sigma, arms)
        if gap >= least_gap and variance.max() <= most_kappa * variance.min():
            objective = BestArm() if kind == "best-arm" else LevelSet(threshold)
            return Instance(arms, items, theta, Sigma, variance, objective)


def experiments(replications: int, seed: int, jobs: int | None, progress: bool) -> Iterator[pd.DataFrame]:
    """Tables for the paper's three experiments, both objectives, delta = .05 and .2."""
    for name, make in EXPERIMENTS.items():
        for kind in ("best-arm", "level-set"):
            world = make(objective=kind)
            for delta in DELTAS:
                every = contenders(world, delta, ALGORITHMS)
                rows = _rows(world, every, replications, seed, jobs, progress, f"{name}, {kind}, {delta:g}")
                yield _labelled(comparison_table(rows), name, kind, delta)


def random_instances(replications: int, seed: int, jobs: int | None, progress: bool) -> Iterator[pd.DataFrame]:
    """A table for each of 20 random instances of either objective, ten of them transductive, at delta = .05 and .2."""
    for number in range(INSTANCES):
        for kind in ("best-arm", "level-set"):
            world = random_instance(kind, number, m=6 * (number % 2), least_gap=0.15)
            for delta in DELTAS:
                every = contenders(world, delta, ALGORITHMS)
                name = f"random {number + 1} of {INSTANCES}, {kind}, {delta:g}"
                rows = _rows(world, every, replications, seed + number, jobs, progress, name)
                yield _labelled(comparison_table(rows), f"random {number}", kind, delta)


def other_noise(replications: int, seed: int, jobs: int | None, progress: bool) -> Iterator[pd.DataFrame]:
    """Tables for uniform and symmetric beta noise on random instances with wide gaps in the plane, delta = .2, kappa <= 10."""
    import pandas as pd

    runs = max(int(SHARE_OTHER_NOISE * replications), 1)
    for noise in NOISES:
        for kind in ("best-arm", "level-set"):
            frames = []
            for number in range(max(runs // RUNS_EACH, 1)):
                # Rewards are drawn one by one, and a burn-in takes kappa² of them.
                world = random_instance(kind, number, d=2, n=6, m=4, least_gap=0.3, most_kappa=10.0)
                every = {name: partial(_other_noise, name, world, 0.2) for name in OTHER_NOISE}
                title = f"{noise} noise, {kind}, instance {number + 1}"
                few = min(RUNS_EACH, runs)
                frames.append(_rows(world, every, few, seed + number, jobs, progress, title, noise))
            yield _labelled(comparison_table(pd.concat(frames, ignore_index=True)), f"random, {noise} noise", kind, 0.2)


def controls(replications: int, seed: int, jobs: int | None, progress: bool) -> Iterator[pd.DataFrame]:
    """Tables of algorithms with a twentieth of the samples, which must be wrong more often than delta = .05."""
    for name, make in EXPERIMENTS.items():
        world = make()
        every: dict[str, Maker] = {
            "H-RAGE, variances known, 1/20 of the pulls": partial(_starved, world, 0.05),
            "martingale elimination, evidence x 20": partial(_credulous, world, 0.05),
        }
        rows = _rows(world, every, replications, seed, jobs, progress, f"controls, {name}")
        yield _labelled(comparison_table(rows), name, "best-arm", 0.05)


class Starved(HRage):
    """H-RAGE with a twentieth of the pulls of every round: wrong on purpose."""

    def _plan(self) -> Any:
        plan = super()._plan()
        return plan if isinstance(plan, AnswerStatus) else np.ceil(CONTROL_SHARE * plan)


OTHER_NOISE = ("martingale elimination", "H-RAGE", "H-RAGE, adaptive burn-in", "RAGE")


def _other_noise(name: str, world: Instance, delta: float, rng: np.random.Generator) -> Any:
    """Algorithms told that noise is strictly sub-Gaussian, where that makes a difference."""
    made = contenders(world, delta)[name](rng)
    if name == "RAGE":
        return made
    arguments = (world.arms, world.items, world.objective, delta)
    if name == "martingale elimination":
        return MartingaleElimination(*arguments, noise="sub-gaussian", rng=rng)
    bounds = (float(world.noise_variance.min()), float(world.noise_variance.max()))
    burn_in = "adaptive" if "adaptive" in name else "sharp"
    return HRage(*arguments, bounds, burn_in, noise="sub-gaussian", rng=rng)


def _starved(world: Instance, delta: float, rng: np.random.Generator) -> Starved:
    return Starved(world.arms, world.items, world.objective, delta, known_variances=world.noise_variance, rng=rng)


def _credulous(world: Instance, delta: float, rng: np.random.Generator) -> MartingaleElimination:
    # That its variances are denied by the rewards is the point, and nothing to warn about.
    warnings.filterwarnings("ignore", category=GuaranteeWarning)
    known = CONTROL_SHARE * world.noise_variance
    return MartingaleElimination(world.arms, world.items, world.objective, delta, known_variances=known, rng=rng)


def _rows(
    world: Instance,
    every: Mapping[str, Callable[[np.random.Generator], Any]],
    replications: int,
    seed: int,
    jobs: int | None,
    progress: bool,
    name: str,
    noise: str = "gaussian",
) -> pd.DataFrame:
    make: Callable[[np.random.Generator], Any] = partial(environment, world, noise=noise)
    return kept_part(
        partial(comparison_rows, every, make, world.answer, replications, jobs, seed, progress, title=name)
    )


def _labelled(table: pd.DataFrame, name: str, kind: str, delta: float) -> pd.DataFrame:
    for column, value in (("delta", delta), ("objective", kind), ("instance", name)):
        table.insert(0, column, value)
    return table


def run(
    output_dir: str | Path,
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = True,
) -> list[Path]:
    """Write identification-promise.csv, identification-controls.csv and identification-promise.md; the paths written.

    A line passes when its error rate is compatible with delta: the lower end of its one-sided 99.9 % Clopper-Pearson
    interval is at most delta. A control passes when it is not.
    """
    import pandas as pd

    common = (replications, seed, jobs, progress)
    target = Path(output_dir)
    target.mkdir(parents=True, exist_ok=True)
    names = ("identification-promise.csv", "identification-controls.csv", "identification-promise.md")
    paths = [target / name for name in names]
    control = pd.concat([_judged(part, must_fail=True) for part in controls(*common)], ignore_index=True)
    control.to_csv(paths[1], index=False)
    parts: list[pd.DataFrame] = []
    for part in chain(experiments(*common), other_noise(*common), random_instances(*common)):
        parts.append(_judged(part))
        promise = pd.concat(parts, ignore_index=True)
        promise.to_csv(
            paths[0], index=False
        )  # after every part: the whole takes two and a half hours of processor time
    paths[2].write_text(_page(promise, control, replications, seed), encoding="utf-8")
    return paths


def _judged(table: pd.DataFrame, must_fail: bool = False) -> pd.DataFrame:
    every = zip(table["errors"], table["runs"], table["delta"])
    table["passed"] = [shows_more(errors, runs, delta) == must_fail for errors, runs, delta in every]
    return table


def _summary(promise: pd.DataFrame) -> pd.DataFrame:
    """The lines of random instances put together: how many, their runs, errors, the most on one, and whether all passed."""
    random = promise[promise["instance"].str.match(r"random \d+$")]
    groups = random.groupby(["objective", "delta", "algorithm"], sort=False)
    table = groups.agg(
        instances=("runs", "size"),
        runs=("runs", "sum"),
        errors=("errors", "sum"),
        most_errors=("errors", "max"),
        undecided=("undecided", "sum"),
        passed=("passed", "all"),
    )
    return table.reset_index()


PAGE = """# Identification: wrong with probability at most delta

Command:
`python validation/identification_promise.py docs/validation --replications {replications} --seed {seed}`
({date}).

{replications} runs per line on the paper's experiments and on every random instance; with noise that is not Gaussian a fifth
as many, ten on each of several instances. `error_high` is the upper end of the 95 % interval of the error rate. A line passes
unless its errors show, at level 1e-3, that the rate is above delta.

Not counted: other noise where the largest variance is more than ten times the smallest (its rewards are drawn one by one,
and burn-ins take kappa² of them).

{promise}

## Random instances

Twenty of either objective; the even ones choose among the arms, the odd ones among other items. `most_errors` are those on
the worst instance; `passed` says that every instance passes. Every line is in `identification-promise.csv`.

{summary}

## Controls

The same algorithms with a twentieth of the pulls (or evidence counted twentyfold) must break the promise: they pass
when their errors show, at level 1e-3, a rate above delta.

{control}
"""


def _page(promise: pd.DataFrame, control: pd.DataFrame, replications: int, seed: int) -> str:
    return PAGE.format(
        replications=replications,
        seed=seed,
        date=datetime.date.today().isoformat(),
        promise=markdown(promise[~promise["instance"].str.match(r"random \d+$")]),
        summary=markdown(_summary(promise)),
        control=markdown(control),
    )


def main() -> None:
    count(run, "Count how often identification algorithms are wrong.", REPLICATIONS)


if __name__ == "__main__":
    main()
