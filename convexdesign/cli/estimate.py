"""`convexdesign estimate`: the noise variance of every arm, from what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from convexdesign.cli.arguments import FOUND_OUT, AsJson, Dialect, argument, option, with_options
from convexdesign.cli.files import check_writable, write_rows
from convexdesign.cli.observing import read_observations
from convexdesign.cli.output import counted, print_line, print_table, respond, say
from convexdesign.cli.reading import options_advised
from convexdesign.cli.report import ROWS_SHOWN
from convexdesign.errors import InputError
from convexdesign.files import open_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convexdesign.arms.read import LabelledVectors
    from convexdesign.estimation import Observations

__all__ = ["estimate"]


@with_options
def estimate(
    observations: Annotated[
        str,
        argument(
            "OBSERVATIONS",
            "CSV with a header, - for standard input, also .gz: columns arm and reward, one row a measurement; or "
            "arm, count, mean and m2 (the sum of squared deviations from the mean) or variance, one row a batch.",
        ),
    ],
    arms: Annotated[Path, option("--arms", metavar="CSV", help="Arms, one a row (CSV or NPY).", show_default=False)],
    delta: Annotated[float, option("--delta", help="Probability that some interval misses its variance.")] = 0.05,
    variance_bounds: Annotated[
        tuple[float, float] | None,
        option("--variance-bounds", metavar="LOW HIGH", help="What is known: variances lie between these."),
    ] = None,
    arm_column: Annotated[str, option("--arm-column", help="The column of arms, by name or index from 0.")] = "arm",
    reward_column: Annotated[str, option("--reward-column", help="The column of outcomes.")] = "reward",
    dialect: Dialect = FOUND_OUT,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            metavar="CSV",
            help="Write the table, one row an arm; `solve --noise-variance` reads its column variance.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate every arm's noise variance, with intervals.

    variance: the sample variance of the arm alone. low, high: chi-square intervals, all of which hold at once with
    probability 1 - delta (Bonferroni over the arms measured twice or more). They are exact for Gaussian noise and
    numbers of measurements that were fixed beforehand; heavier tails than Gaussian make them too short, and so may
    measuring until the outcomes look right.

    model: the variance as x'Sigma x for one matrix Sigma, by least squares of squared residuals on phi(x), which
    borrows strength across arms and covers those measured once or never. It is right only if the mean is x'theta and
    the noise such a quadratic form, is a little low when measurements are few, and comes without an interval.

    replicates: x'Sigma x from the sample variances of the arms measured twice or more, whatever their means are, each
    weighed by its own precision; replicates_low, replicates_high: intervals that hold all at once with probability 1 -
    delta, if the noise is Gaussian and such a quadratic form. Mostly far shorter than low to high.
    """
    from convexdesign.estimation import variance_range
    from convexdesign.tables.table import read_rows

    check_writable(output, "--output")
    bounds = variance_range(variance_bounds)
    with options_advised():
        rows = read_rows(arms, **dialect.rows)
    if rows.responses > 1:
        raise InputError(f"{arms}: arms with {rows.responses} responses each; give arms with one, one row an arm")
    columns = {"arm": arm_column, "reward": reward_column}
    with options_advised():
        told = read_observations(observations, rows.n, rows.names, **columns, **dialect.text)
    if told.total == 0:
        raise InputError(f"{observations} holds no measurement")
    found = estimates(rows, told, delta, bounds)
    if output is not None:
        with open_text(output) as file:
            write_rows(file, COLUMNS, cells(found, ""))  # to the last digit
    respond(as_json, document(found, delta), lambda: show(found, delta))


@dataclass(frozen=True, eq=False)
class Estimates:
    """Per arm: what was measured, variance with its interval, and the models' variances; why there is no model."""

    rows: LabelledVectors
    told: Observations
    variance: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    model: NDArray[np.float64] | None
    Sigma: NDArray[np.float64] | None
    # The quadratic form by replicates, and its ends.
    replicates: tuple[NDArray[np.float64], ...] | None
    note: str
    replicates_note: str


def estimates(rows: LabelledVectors, told: Observations, delta: float, bounds: tuple[float, float] | None) -> Estimates:
    """All estimates; the intervals cut to what is known, the estimates moved into it."""
    import numpy as np

    from convexdesign.errors import UnidentifiableError
    from convexdesign.estimation import chi_square_intervals, model_variances, replicate_variances

    low, high = chi_square_intervals(told, delta)
    variance = told.sample_variance()
    if bounds is not None:
        outside = np.flatnonzero((low > bounds[1]) | (high < bounds[0]))
        if outside.size:
            i = outside[0]
            name = rows.names[i] if rows.names else str(i)
            more = f", as one of {outside.size} like it," if outside.size > 1 else ""
            say(
                f"warning: arm {name}{more} has variance {variance[i]:.4g}, between {low[i]:.4g} and "
                f"{high[i]:.4g}, which contradicts the bounds {bounds[0]:g} and {bounds[1]:g}"
            )
        variance, low, high = (np.clip(values, *bounds) for values in (variance, low, high))
    model = replicates = None
    notes = ["", ""]
    try:
        model = model_variances(rows, told, bounds)
    except UnidentifiableError as error:
        notes[0] = str(error)
    try:
        by_replicates, *ends = replicate_variances(rows, told, bounds, delta)
        replicates = (by_replicates.variances, *ends)
    except UnidentifiableError as error:
        notes[1] = str(error)
    found = (None, None) if model is None else (model.variances, model.Sigma)
    return Estimates(rows, told, variance, low, high, found[0], found[1], replicates, notes[0], notes[1])


def document(found: Estimates, delta: float) -> dict[str, Any]:
    """Everything as data, arrays (n,) in the order of the arms; null where nothing is known."""
    import numpy as np

    return {
        "delta": delta,
        "intervals": "chi-square, Bonferroni over the arms with two measurements or more",
        "measurements": found.told.total,
        "names": None if found.rows.names is None else list(found.rows.names),
        "count": found.told.count,
        "mean": np.where(found.told.count > 0, found.told.mean, np.nan),
        "variance": found.variance,
        "low": found.low,
        "high": found.high,
        "model": found.model,
        "Sigma": found.Sigma,
        **dict(zip(BY_REPLICATES, found.replicates or (None, None, None))),
        "note": found.note or None,
        "replicates_note": found.replicates_note or None,
    }


def cells(found: Estimates, digits: str) -> list[tuple[str, ...]]:
    """One row an arm; empty where nothing is known."""
    import numpy as np

    def text(value: float) -> str:
        return format(float(value), digits) if digits else repr(float(value)) if np.isfinite(value) else ""

    names = found.rows.names or [str(i) for i in range(found.rows.n)]
    told, model = found.told, found.model
    return [
        (
            str(names[i]),
            f"{told.count[i]:,}" if digits else str(told.count[i]),
            text(told.mean[i]) if told.count[i] else "",
            "" if np.isnan(found.variance[i]) else text(found.variance[i]),
            text(found.low[i]),
            text(found.high[i]),
            "" if model is None else text(model[i]),
            *("" if found.replicates is None else text(values[i]) for values in found.replicates or ((),) * 3),
        )
        for i in range(found.rows.n)
    ]


BY_REPLICATES = ("replicates", "replicates_low", "replicates_high")
COLUMNS = ("arm", "count", "mean", "variance", "low", "high", "model", *BY_REPLICATES)


def show(found: Estimates, delta: float) -> None:
    """The table for a reader."""
    print_line(f"{counted(found.told.total, 'measurement')} of {counted(found.rows.n, 'arm')}")
    print_line(f"low, high: chi-square intervals that hold all at once with probability {1 - delta:g} (Gaussian noise)")
    print_line("model: x'Sigma x by least squares" + (f"; none, since {found.note}" if found.note else ""))
    since = f"; none, since {found.replicates_note}" if found.replicates_note else ""
    print_line(f"replicates: x'Sigma x by sample variances, with intervals as above{since}")
    print_line()
    shown = cells(found, ".4g")
    print_table(COLUMNS, shown[:ROWS_SHOWN], left=("arm",))
    if len(shown) > ROWS_SHOWN:
        print_line(f"and {counted(len(shown) - ROWS_SHOWN, 'more arm')}; --output writes all")
