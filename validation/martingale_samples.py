"""What elimination with test martingales costs: bounds on the variances ten times too wide, and random instances.

`python validation/martingale_samples.py docs/validation` writes the tables and the figure.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from counting import count, kept_part, markdown

from convexdesign.identification import BestArm, LevelSet, MartingaleElimination
from convexdesign.instances import Instance
from convexdesign.reproduce.contenders import (
    EXPERIMENTS,
    LOOSE,
    Maker,
    environment,
    instance_lower_bound,
    instance_sharp_bound,
)
from convexdesign.simulation import comparison_rows, comparison_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["bounds", "instances", "random_instance", "run"]

REPLICATIONS = 200
DELTA = 0.05
RANDOM = 20
# Where fewer samples an arm would do, most of them go to learning the variances: such instances are counted apart.
LEAST_SAMPLES_PER_ARM = 100.0
WIDTHS = {"tight": 1.0, "ten times too wide": LOOSE}
# What is told of the least gap between the best item and another, as a share of it; its order is asked for, so half of it too.
TOLD = {"tight, gap told": 1.0, "tight, half the gap told": 0.5}


def random_instance(kind: str, number: int, easy: bool = False) -> Instance:
    """Gaussian arms, 5 to 50 other Gaussian items, a random direction theta, s_x² = x'Sigma x with a random Sigma.

    2 to 6 dimensions, up to 30 arms. kind: "best-arm" | "level-set" (threshold half way between the two middle items).
    Drawn again until the published lower bound is at least a hundred samples an arm; easy: until it is less.
    """
    rng = np.random.default_rng([2023, kind == "best-arm", number])
    while True:
        d, m = int(rng.integers(2, 7)), int(rng.integers(5, 51))
        n = int(rng.integers(d + 2, 31))
        arms, items = rng.standard_normal((n, d)), rng.standard_normal((m, d))
        root, theta = rng.standard_normal((d, d)), rng.standard_normal(d)
        Sigma = root @ root.T / d + 0.1 * np.eye(d)
        theta /= np.linalg.norm(theta)
        values = np.sort(items @ theta)
        objective = BestArm() if kind == "best-arm" else LevelSet(float(values[m // 2] + values[m // 2 - 1]) / 2.0)
        world = Instance(arms, items, theta, Sigma, np.einsum("ij,jk,ik->i", arms, Sigma, arms), objective)
        if (instance_lower_bound(world, DELTA) < LEAST_SAMPLES_PER_ARM * n) == easy:
            return world


def bounds(replications: int, seed: int, jobs: int | None, progress: bool) -> Iterator[pd.DataFrame]:
    """Tables with a line for each width of the bounds that the algorithm is told, one per experiment and objective."""
    for name, make in EXPERIMENTS.items():
        for kind in ("best-arm", "level-set"):
            world = make(objective=kind)
            every: dict[str, Maker] = {width: partial(_make, world, factor, None) for width, factor in WIDTHS.items()}
            yield _experiment(world, every, name, kind, replications, seed, jobs, progress)


def told(replications: int, seed: int, jobs: int | None, progress: bool) -> Iterator[pd.DataFrame]:
    """The like where the order of the least gap is told beforehand, on the best-arm experiments."""
    for name, make in EXPERIMENTS.items():
        world = make(objective="best-arm")
        values = np.sort(world.items @ world.theta)
        gap = float(values[-1] - values[-2])
        every: dict[str, Maker] = {line: partial(_make, world, 1.0, share * gap) for line, share in TOLD.items()}
        yield _experiment(world, every, name, "best-arm", replications, seed, jobs, progress)


def _experiment(
    world: Instance,
    every: dict[str, Maker],
    name: str,
    kind: str,
    replications: int,
    seed: int,
    jobs: int | None,
    progress: bool,
) -> pd.DataFrame:
    table = _compared(world, every, replications, seed, jobs, progress, f"{name}, {kind}")
    table = table.rename(columns={"algorithm": "bounds"})
    for column, value in (("objective", kind), ("experiment", name)):
        table.insert(0, column, value)
    return table


def instances(
    replications: int, seed: int, jobs: int | None, progress: bool, easy: bool = False
) -> Iterator[pd.DataFrame]:
    """A table of one line per random instance, twenty of each objective."""
    for kind in ("best-arm", "level-set"):
        for number in range(RANDOM):
            world = random_instance(kind, number, easy)
            every: dict[str, Maker] = {width: partial(_make, world, factor, None) for width, factor in WIDTHS.items()}
            title = f"{'easy ' if easy else ''}{kind}, instance {number + 1} of {RANDOM}"
            both = _compared(world, every, replications, seed, jobs, progress, title)
            wide = both["times_lower_bound"].iloc[1]
            table = both.iloc[:1].assign(times_with_wide_bounds=wide).rename(columns={"algorithm": "instance"})
            table["instance"] = f"{kind} {number}"
            table.insert(1, "objective", kind)
            n, d = world.arms.shape
            shape = {"dimensions": d, "arms": n, "items": world.items.shape[0]}
            shape["bound_per_arm"] = float(table["lower_bound"].iloc[0]) / n
            for at, (column, value) in enumerate(shape.items(), 2):
                table.insert(at, column, value)
            yield table


def _make(world: Instance, factor: float, gap: float | None, rng: np.random.Generator) -> MartingaleElimination:
    low, high = float(world.noise_variance.min()), float(world.noise_variance.max())
    bounds = (low / factor, high * factor)
    return MartingaleElimination(world.arms, world.items, world.objective, DELTA, bounds, smallest_gap=gap, rng=rng)


def _compared(
    world: Instance, every: dict[str, Maker], replications: int, seed: int, jobs: int | None, progress: bool, title: str
) -> pd.DataFrame:
    make, how = partial(environment, world), (world.answer, replications, jobs, seed, progress)
    rows = kept_part(partial(comparison_rows, every, make, *how, title=title))
    bound = instance_sharp_bound(world, DELTA)
    table = comparison_table(rows, bound)
    table["lower_bound"] = bound
    table["times_older_bound"] = table["mean_samples"] / instance_lower_bound(world, DELTA)
    return table


def run(
    output_dir: str | Path,
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = True,
) -> list[Path]:
    """Write martingale-bounds.csv, -told.csv, -instances.csv (and -easy), martingale-samples.png and .md; the paths written."""
    target = Path(output_dir)
    target.mkdir(parents=True, exist_ok=True)
    tables = (f"martingale-{name}.csv" for name in ("bounds", "told", "instances", "instances-easy"))
    paths = [target / name for name in (*tables, "martingale-samples.png", "martingale-samples.md")]
    common = (replications, seed, jobs, progress)
    widths, sized = _kept(bounds(*common), paths[0]), _kept(told(*common), paths[1])
    random, easy = _kept(instances(*common), paths[2]), _kept(instances(*common, easy=True), paths[3])
    _draw(random, easy, paths[4])
    paths[5].write_text(_page(widths, sized, random, easy, replications, seed), encoding="utf-8")
    return paths


def _kept(parts: Iterator[pd.DataFrame], path: Path) -> pd.DataFrame:
    """All parts together; what there is so far is written after each."""
    import pandas as pd

    table = pd.DataFrame()
    for part in parts:
        table = pd.concat([table, part], ignore_index=True)
        table.to_csv(path, index=False)
    return table


def _draw(random: pd.DataFrame, easy: pd.DataFrame, path: Path) -> None:
    import pandas as pd

    from convexdesign.plotting.canvas import require_matplotlib, tidy

    require_matplotlib()
    from matplotlib.figure import Figure

    from convexdesign.plotting.palette import INK, MARKERS, series_colour

    figure = Figure(figsize=(7.5, 4.2), dpi=150, layout="constrained")
    ax = figure.subplots()
    for k, (kind, part) in enumerate(pd.concat([random, easy]).groupby("objective", sort=False)):
        ax.errorbar(
            part["bound_per_arm"],
            part["times_lower_bound"],
            part["standard_error"] / part["lower_bound"],
            fmt=MARKERS[k],
            color=series_colour(k),
            capsize=2,
            label=str(kind),
        )
    ax.axhline(8.0, color=INK, linewidth=1, linestyle="--")
    ax.axvline(LEAST_SAMPLES_PER_ARM, color=INK, linewidth=1, linestyle=":")
    ax.set_xscale("log")
    ax.set_ylim(0.0)
    ax.set_xlabel("lower bound, samples per arm")
    ax.set_ylabel("mean samples / lower bound")
    ax.set_title("Forty random instances of each objective, 5 to 50 items", loc="left")
    ax.legend(frameon=False)
    tidy(ax, grid="y")
    figure.savefig(path)


PAGE = """# Elimination with test martingales: samples

Command: `python validation/martingale_samples.py docs/validation --replications {replications} --seed {seed}`
({date}).

delta = {delta}, Gaussian noise, variances unknown, {replications} runs per line. `times_lower_bound` is the mean number of
samples over the least mean of any delta-PAC algorithm that knows the variances, 2 (1 - delta) log((1 - delta)/delta) psi*,
and `times_older_bound` over 2 log(1/2.4 delta) psi*, the bound that papers quote. RAGE, H-RAGE and the oracles on the same
experiments are on [the page of comparisons](identification-comparison.md), and drawn
[beside figure 3](../reproduction.md).

## Bounds on the variances

The bounds that the algorithm is told are the least and the largest of the variances ("tight"), or ten times too wide on
either side. The largest increase from tight to ten times too wide is {increase:.1%}.

{widths}

## The order of the gap told

The same best-arm experiments with `smallest_gap=`: the least gap between the best item and another itself, and half of it.

{sized}

## Random instances

Tight bounds; in the last column the ratio with bounds ten times too wide. Gaussian arms, other Gaussian items, in 2 to 6
dimensions; level sets split the items in half. The older lower bound is at least {least:.0f} samples per arm.
{largest}

![Mean samples over the lower bound against the lower bound per arm, for eighty random instances.](martingale-samples.png)

{random}

## Easy instances

Where the older lower bound is less than {least:.0f} samples per arm, many samples go to learning the variances, which the bound
takes for known: at the left of the picture.
{largest_easy}

{easy}
"""


def _page(
    widths: pd.DataFrame, sized: pd.DataFrame, random: pd.DataFrame, easy: pd.DataFrame, replications: int, seed: int
) -> str:
    mean = widths.pivot_table(index=["experiment", "objective"], columns="bounds", values="mean_samples")
    increase = float((mean["ten times too wide"] / mean["tight"] - 1.0).max())
    shown = ["mean_samples", "standard_error", "times_lower_bound", "times_older_bound", "errors", "undecided"]
    lines = [
        "instance",
        "dimensions",
        "arms",
        "items",
        "bound_per_arm",
        "lower_bound",
        *shown,
        "times_with_wide_bounds",
    ]
    return PAGE.format(
        replications=replications,
        seed=seed,
        date=datetime.date.today().isoformat(),
        delta=DELTA,
        increase=increase,
        widths=markdown(widths[["experiment", "objective", "bounds", *shown]]),
        sized=markdown(sized[["experiment", "bounds", *shown]].rename(columns={"bounds": "told"})),
        least=LEAST_SAMPLES_PER_ARM,
        largest=_largest(random),
        largest_easy=_largest(easy),
        random=markdown(random[lines]),
        easy=markdown(easy[lines]),
    )


def _largest(table: pd.DataFrame) -> str:
    most = table.groupby("objective", sort=False)[["times_lower_bound", "times_with_wide_bounds"]].max()
    tight, wide = (
        ", ".join(f"{value:.2f} ({kind})" for kind, value in most[column].items())
        for column in ("times_lower_bound", "times_with_wide_bounds")
    )
    return f"Largest ratio: {tight}; with wide bounds: {wide}."


def main() -> None:
    count(run, "Count the samples that elimination with test martingales needs.", REPLICATIONS)


if __name__ == "__main__":
    main()
