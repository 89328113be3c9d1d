"""`convexdesign experiment plan`: how many measurements it will take, before the start."""

from __future__ import annotations

from typing import Annotated, Any

from convexdesign.cli.arguments import AsJson, Seed, option
from convexdesign.cli.experiment.opening import Store, open_store
from convexdesign.cli.output import print_line, print_table, respond
from convexdesign.errors import InputError

__all__ = ["plan"]


def plan(
    store: Store,
    gap: Annotated[
        list[float],
        option(
            "--gap",
            metavar="GAP",
            help="A plausible gap, in units of the outcome: what the best item is better by than the second, or how far the "
            "item nearest the threshold is from it. May be repeated.",
        ),
    ],
    noise_variance: Annotated[
        float | None, option("--noise-variance", metavar="NUMBER", help="Variance of one measurement, of every arm.")
    ] = None,
    baseline: Annotated[
        float, option("--baseline", help="What all arms are worth about; for 0/1 outcomes their usual rate.")
    ] = 0.0,
    runs: Annotated[int, option("--runs", help="Simulated experiments for every gap.")] = 20,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Estimate how many measurements the experiment will take, by simulating it. Reads the file only.

    For every gap so many parameters are drawn that have it, and the experiment, as it was created, is run on each. With
    --noise-variance left out the variances are those that the experiment was told, the largest where it has bounds.
    """
    from convexdesign.simulation import expected_samples

    with open_store(store, read_only=True) as x:
        algorithm = x.algorithm()
    variances = _variances(algorithm, noise_variance)
    frame = expected_samples(algorithm, gap, variances, baseline=baseline, runs=runs, rng=seed)
    rows = frame.to_dict("records")

    def show() -> None:
        cells = [
            (
                f"{row['gap']:g}",
                *(f"{round(row[name]):,}" for name in NUMBERS),
                f"{row['right']:.0%}",
                f"{row['undecided']:.0%}",
            )
            for row in rows
        ]
        print_table(("gap", "mean", "median", "10%", "90%", "right", "undecided"), cells)
        print_line(
            f"measurements, over {runs} simulated experiments for every gap; all else of theta is drawn at random"
        )

    respond(as_json, {"algorithm": type(algorithm).__name__, "plan": rows}, show)


NUMBERS = ("mean", "median", "low", "high")


def _variances(algorithm: Any, given: float | None) -> Any:
    """The VARIANCES to simulate with; None for outcomes whose rates say them."""
    if getattr(algorithm, "noise", None) == "bernoulli":
        if given is not None:
            raise InputError(
                "--noise-variance: outcomes of two values have the variances that their rates say; give --baseline"
            )
        return None
    if given is not None:
        return given
    known, bounds = (getattr(algorithm, name, None) for name in ("known_variances", "variance_bounds"))
    if known is not None:
        return known
    if bounds is not None:
        return bounds[1]
    raise InputError("the experiment was told no variances; give --noise-variance, of one measurement")
