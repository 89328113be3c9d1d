"""`convexdesign experiment plan`: how many measurements it will take, before the start."""

from __future__ import annotations

from typing import Annotated, Any

from convexdesign.cli.arguments import AsJson, Seed, option
from convexdesign.cli.experiment.opening import Store, open_store
from convexdesign.cli.output import counted, print_line, print_table, respond
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
    runs: Annotated[int, option("--runs", help="Simulated experiments for every gap and case.")] = 20,
    hard: Annotated[
        bool,
        option(
            "--hard/--no-hard", help="Also the hard case, in which all others tie; it takes half as long again or so."
        ),
    ] = True,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Estimate how many measurements the experiment will take, by simulating it. Reads the file only.

    For every gap so many parameters are drawn that have it, and the experiment, as it was created, is run on each. In the
    typical case values are drawn at random about the baseline and spread by about the gap; in the hard case all others tie, the
    gap below the best (of a level set: every item lies the gap from the threshold). With --noise-variance left out the
    variances are those that the experiment was told, the largest where it has bounds.
    """
    from convexdesign.identification import BestArm
    from convexdesign.simulation import expected_samples

    with open_store(store, read_only=True) as x:
        algorithm = x.algorithm()
    variances, budget = _variances(algorithm, noise_variance), getattr(algorithm, "budget", None) or 0
    frame = expected_samples(algorithm, gap, variances, baseline=baseline, runs=runs, rng=seed, hard=hard)
    rows = frame.to_dict("records")

    def show() -> None:
        guessed = any(row["guessed"] for row in rows)
        cells = [
            (
                row["case"],
                f"{row['gap']:g}",
                *(f"{round(row[name]):,}" for name in NUMBERS),
                *(f"{row[name]:.0%}" for name in ("right", "undecided", "guessed")[: 2 + guessed]),
                *(f"{row[name]:.4g}" for name in DRAWN),
            )
            for row in rows
        ]
        shares = ("right", "undecided", "guessed")[: 2 + guessed]
        print_table(("case", "gap", "mean", "median", "10%", "90%", *shares, *DRAWN), cells, left=("case",))
        each = "gap and case" if hard else "gap"
        print_line(f"measurements, over {counted(runs, 'simulated experiment')} for every {each}")
        print_line(f"assumed: best, second, lowest are the values of items that were drawn (medians); {TYPICAL}")
        if hard:
            print_line(HARD if isinstance(algorithm.objective, BestArm) else HARD_LEVELS)
        if guessed:
            print_line(
                f"guessed: the share of best guesses, as the budget of {budget:,} was spent first; the promise of delta "
                f"{algorithm.delta:g} is not theirs"
            )

    respond(as_json, {"algorithm": type(algorithm).__name__, "baseline": baseline, "plan": rows}, show)


TYPICAL = "typical: at random about the baseline, spread by about the gap"
HARD = "hard: all others tie at the second, as variants that change nothing do"
HARD_LEVELS = "hard: every item lies the gap above or below the threshold"
DRAWN = ("best", "second", "lowest")
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
