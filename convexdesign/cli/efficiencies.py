"""`convexdesign efficiencies`: one design under each of the classical criteria."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from convexdesign.cli.arguments import (
    FOUND_OUT,
    AsJson,
    Dialect,
    Formula,
    JudgedDesign,
    NoiseVariance,
    ProblemOptions,
    Watched,
    argument,
    option,
    with_options,
)
from convexdesign.cli.exits import end
from convexdesign.cli.output import at_least, at_most, print_line, print_table, respond, watched
from convexdesign.cli.reading import read_judged
from convexdesign.errors import InputError

if TYPE_CHECKING:
    import pandas

__all__ = ["efficiencies"]

# The intervals are proven whatever their width; a wider one answers nothing.
WIDEST_INTERVAL = 1e-4


@with_options
def efficiencies(
    arms: Annotated[Path, argument("ARMS", "Arms, one a row (CSV or NPY).")],
    judged: JudgedDesign,
    noise_variance: NoiseVariance = None,
    formula: Formula = None,
    dialect: Dialect = FOUND_OUT,
    criteria: Annotated[
        str | None, option("--criteria", metavar="LETTERS", help="Which of D, A, G, I and E; all of them if not given.")
    ] = None,
    progress: Watched = None,
    as_json: AsJson = False,
) -> None:
    """Compare a design with the D, A, G, I and E optimal ones.

    G and I are over the arms: the worst and the average predictive variance. An efficiency of 0.8 means that the best
    design for that criterion needs 80 measurements where this one needs 100. Both ends of each interval are proven.

    The design is a file of --weights or --counts in the order of the arms, or a --design that lists points.

    Exits with 0 when every efficiency that exists is known to 1e-4, with 3 otherwise: so where an optimum is out of reach.
    """
    from convexdesign.efficiency_table import CRITERIA
    from convexdesign.efficiency_table import efficiencies as tabulate

    if arms.suffix.lower() == ".toml":
        raise InputError(
            f"{arms} is a problem file; `efficiencies` takes a table of arms, since it has criteria of its own"
        )
    stated = ProblemOptions(str(arms), "d-optimal", formula=formula, noise_variance=noise_variance, dialect=dialect)
    problem, given = read_judged(stated, judged, table=True)
    wanted = CRITERIA if criteria is None else tuple(criteria.upper().replace(",", "").replace(" ", ""))
    strange = [letter for letter in wanted if letter not in CRITERIA]
    if strange or not wanted:
        what = f"there is no criterion {strange[0]!r}" if strange else "none is named"
        raise InputError(f"--criteria {criteria}: {what}; give some of {', '.join(CRITERIA)}, such as --criteria DA")
    with watched("efficiencies", progress):
        table = tabulate(problem.stated.arms, noise_variance=problem.noise_variance, criteria=wanted, **given)
    respond(as_json, {"efficiencies": [entry(name, row) for name, row in table.iterrows()]}, lambda: show(table))
    width = (table.efficiency_high - table.efficiency).max()
    end(width <= WIDEST_INTERVAL)


def entry(name: Any, row: Any) -> dict[str, Any]:
    """One criterion as data."""
    return {
        "criterion": name,
        "value": row.value,
        "bound": row.optimum,
        "efficiency": row.efficiency,
        "efficiency_interval": [row.efficiency, row.efficiency_high],
        "note": row.note or None,
    }


MEANINGS = {
    "D": "all coefficients together",
    "A": "coefficients, on average",
    "G": "predictions, the worst",
    "I": "predictions, on average",
    "E": "combinations, the worst",
}


def show(table: pandas.DataFrame) -> None:
    """The table for a reader."""
    known = table[table.note == ""]
    print_table(
        ("", "value", "bound on the best", "efficiency, at least", "at most", "of"),
        [
            (
                str(name),
                f"{row.value:.6g}",
                f"{row.optimum:.6g}",
                at_least(row.efficiency, 6),
                at_most(row.efficiency_high, 6),
                MEANINGS[str(name)],
            )
            for name, row in known.iterrows()
        ],
        left=("", "of"),
    )
    for name, row in table[table.note != ""].iterrows():
        print_line(f"{name}: {row.note}")
