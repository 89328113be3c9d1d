"""What identification costs: every algorithm on the paper's experiments, best arm and level set, beside the lower bound.

`python validation/identification_comparison.py docs/validation` writes the tables.
"""

from __future__ import annotations

import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counting import count, kept_part, markdown, written

from convexdesign.reproduce.contenders import EXPERIMENTS, contenders, environment, instance_sharp_bound
from convexdesign.simulation import comparison_rows, comparison_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["comparison", "run"]

REPLICATIONS = 200
DELTA = 0.05


def comparison(replications: int, seed: int = 0, jobs: int | None = 1, progress: bool = False) -> pd.DataFrame:
    """One row per experiment, objective and algorithm: `comparison_table` with the lower bound of the instance."""
    import pandas as pd

    tables = []
    for name, make in EXPERIMENTS.items():
        for kind in ("best-arm", "level-set"):
            world = make(objective=kind)
            bound = instance_sharp_bound(world, DELTA)
            every = contenders(world, DELTA)
            draw = partial(environment, world)
            how: dict[str, Any] = {"title": f"{name}, {kind}"}
            rows = kept_part(
                partial(comparison_rows, every, draw, world.answer, replications, jobs, seed, progress, **how)
            )
            table = comparison_table(rows, bound)
            for column, value in (("lower_bound", bound), ("objective", kind), ("experiment", name)):
                table.insert(0, column, value)
            tables.append(table)
    return pd.concat(tables, ignore_index=True)


def run(
    output_dir: str | Path,
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = True,
) -> list[Path]:
    """Write identification-comparison.csv and identification-comparison.md; the paths written."""
    tables = [comparison(replications, seed, jobs, progress)]
    return written(
        output_dir, "identification-comparison", tables, partial(_page, replications=replications, seed=seed)
    )


PAGE = """# Identification: samples needed

Command:
`python validation/identification_comparison.py docs/validation --replications {replications} --seed {seed}`
({date}). delta = {delta}, Gaussian noise, {replications} runs per line.

`lower_bound` is the least mean number of samples of any delta-PAC algorithm that knows the variances;
`times_lower_bound` the mean over it. RAGE and H-RAGE know the tight bounds on the noise variances, martingale elimination
and the adaptive burn-in only bounds that are ten times too wide on either side; the last four lines know more than is
fair. "released" is the burn-in of the paper's recorded experiments.
"""


def _page(table: pd.DataFrame, replications: int, seed: int) -> str:
    parts = [
        PAGE.format(replications=replications, seed=seed, date=datetime.date.today().isoformat(), delta=DELTA),
    ]
    shown = ["algorithm", "mean_samples", "standard_error", "times_lower_bound", "errors", "undecided"]
    for (name, kind), part in table.groupby(["experiment", "objective"], sort=False):
        bound = float(part["lower_bound"].iloc[0])
        parts.append(f"## {str(name).capitalize()}, {kind}: lower bound {bound:,.0f}\n\n{markdown(part[shown])}\n")
    return "\n".join(parts)


def main() -> None:
    count(run, "Compare the samples that identification algorithms need.", REPLICATIONS)


if __name__ == "__main__":
    main()
