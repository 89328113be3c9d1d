"""`convexdesign round`: whole numbers of measurements, with a certified efficiency."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from convexdesign.cli.arguments import AsJson, ProblemOptions, Progress, option, with_options
from convexdesign.cli.completion import choices
from convexdesign.cli.exits import end
from convexdesign.cli.files import check_writable
from convexdesign.cli.output import counted, print_line, print_table, respond, watched
from convexdesign.cli.reading import options_given, read_per_arm, read_stated
from convexdesign.cli.report import (
    ROWS_SHOWN,
    design_document,
    exact_document,
    show_exact,
    verdict,
    write_per_arm,
)
from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.design import Design, ExactDesign

__all__ = ["round_"]


@with_options
def round_(
    stated: ProblemOptions,
    n: Annotated[
        int | None, option("--n", "-n", metavar="N", help="How many measurements.", show_default=False)
    ] = None,
    budget: Annotated[
        float | None,
        option(
            "--budget",
            metavar="COST",
            help="What all measurements may cost together; without --n as many as that pays.",
        ),
    ] = None,
    method: Annotated[
        str,
        option(
            "--method",
            help="auto (the best of the cheap ones), ceil (at most one more per arm with weight), apportion, regret, "
            "exchange or optimal (the best counts there are, with proof; needs convexdesign[exact]).",
            autocompletion=choices("auto", "ceil", "apportion", "regret", "exchange", "optimal"),
        ),
    ] = "auto",
    min_counts: Annotated[
        str | None, option("--min-counts", metavar="CSV|NUMBER", help="At least this many of each arm.")
    ] = None,
    max_counts: Annotated[
        str | None, option("--max-counts", metavar="CSV|NUMBER", help="At most this many of each arm.")
    ] = None,
    groups: Annotated[
        str | None,
        option("--groups", metavar="COLUMN", help="The column of settings with the day, batch or unit of each arm."),
    ] = None,
    per_group: Annotated[
        str | None,
        option(
            "--per-group",
            metavar="N|LOW-HIGH|NAME=N,...",
            help="How many measurements each of these gets: 4, 2-4, or mon=4,tue=2-3.",
        ),
    ] = None,
    seed: Annotated[int, option("--seed", help="For starts, ties and the order of the run sheet.")] = 0,
    time_limit: Annotated[float, option("--time-limit", metavar="SECONDS", help="For the method optimal.")] = 60.0,
    effort: Annotated[
        str,
        option("--effort", metavar="WORD|SECONDS", help="For auto and optimal: quick, thorough, or seconds of search."),
    ] = "quick",
    tol: Annotated[float, option("--tol", help="The relative gap to prove for the proportions.")] = 1e-6,
    output: Annotated[
        Path | None, option("--output", "-o", metavar="CSV", help="Write the counts, one row an arm.")
    ] = None,
    run_sheet: Annotated[
        Path | None,
        option(
            "--run-sheet", metavar="CSV", help="Write one row a run in random order (--seed): arm, replicate, settings."
        ),
    ] = None,
    blocks: Annotated[
        str | None,
        option("--blocks", metavar="COLUMN", help="The column of settings with the blocks of the --run-sheet."),
    ] = None,
    progress: Progress = True,
    as_json: AsJson = False,
) -> None:
    """Turn proportions into whole numbers.

    FILE may also be a problem over a region, whose settings are free to move, or a design that `solve --output design.json`
    wrote; it is not solved again. The efficiency is proven: no proportions whatever need less than that share of the
    measurements for the same precision.

    Exits with 0 when the proportions are certified to --tol and the counts keep every constraint, with 3 otherwise (counts and
    efficiency hold all the same).
    """
    import numpy as np

    from convexdesign.problem.continuum import ContinuumProblem

    check_writable(output, "--output")
    check_writable(run_sheet, "--run-sheet")
    if n is None and budget is None:
        raise InputError("give --n, the number of measurements, or --budget, what they may cost together, or both")
    if n is not None and n < 1:
        raise InputError(f"--n {n}: give the number of measurements, at least 1")
    with watched("solve", None if progress else False):
        design = find_design(stated, tol)
    if not hasattr(design, "round"):
        raise InputError("a design for several values of the parameters has no whole numbers; round that of one value")
    if isinstance(design.problem, ContinuumProblem):
        limited = (budget, min_counts, max_counts, groups, per_group, blocks)
        if n is None or method != "auto" or any(value is not None for value in limited):
            raise InputError("over a region runs are rounded by --n, --effort and --seed alone")
        round_runs(design, n, effort, seed, output, run_sheet, progress, as_json)
    limits: dict[str, Any] = {
        name: read_per_arm(stated, name, text, design.problem)
        for name, text in (("min_counts", min_counts), ("max_counts", max_counts))
        if text is not None
    }
    exact = design.round(
        n,
        method,
        budget=budget,
        rng=np.random.default_rng(seed),
        time_limit=time_limit,
        effort=read_effort(effort),
        progress=progress,
        groups=groups,
        per_group=None if per_group is None else read_per_group(per_group),
        **limits,
    )
    if run_sheet is not None:
        from convexdesign.files import write_text

        write_text(run_sheet, exact.run_sheet(seed, blocks=blocks).to_csv(index=False, lineterminator="\n"))
    if output is not None:
        write_per_arm(design.problem, {"count": exact.counts}, output)
    whole = design_document(design)
    kept = {name: whole[name] for name in ("problem", "certified", "weights", "names")}
    document = kept | exact_document(exact) | {"bound": design.bound, "gap": design.gap, "n": n}
    respond(as_json, document, lambda: show(design, exact))
    end(design.status.name == "CERTIFIED" and exact.is_allowed)


def round_runs(
    design: Any,
    n: int,
    effort: str,
    seed: int,
    output: Path | None,
    run_sheet: Path | None,
    progress: bool,
    as_json: bool,
) -> NoReturn:
    """n runs over a region, the settings free to move; ends the command."""
    from convexdesign.cli import over_region

    searched = read_effort(effort)
    with watched("round", None if progress else False, searched if isinstance(searched, float) else None):
        exact = design.round(n, effort=searched, seed=seed)
    if run_sheet is not None:
        over_region.write_settings(exact.run_sheet(seed), run_sheet)
    if output is not None and output.suffix.lower() == ".json":
        exact.save(output)
    elif output is not None:
        over_region.write_settings(exact.points, output)
    certified = design.status.name == "CERTIFIED"
    document = over_region.exact_document(exact) | {"gap": design.gap, "certified": certified, "n": n}
    respond(as_json, document, lambda: over_region.show_exact_design(exact))
    end(certified)


def read_effort(text: str) -> str | float:
    """Seconds where the text is a number, else the word as it is."""
    try:
        return float(text)
    except ValueError:
        return text


def read_per_group(text: str) -> Any:
    """A number, (least, most), or such by the name of the group, as `Design.round` takes them."""

    def one(part: str) -> Any:
        low, dash, high = part.strip().partition("-")
        try:
            return (int(low), int(high)) if dash else int(low)
        except ValueError:
            raise InputError(f"--per-group {text}: {part!r} is neither a whole number nor two, as in 2-4") from None

    if "=" not in text:
        return one(text)
    named = (part.rpartition("=") for part in text.split(","))
    return {name.strip(): one(number) for name, _, number in named}


def find_design(stated: ProblemOptions, tol: float) -> Any:
    """The design saved in a .json file, or the best one for the problem stated."""
    from convexdesign.design import Design
    from convexdesign.solving import solve

    path = Path(stated.source)
    if path.suffix.lower() != ".json":
        return solve(read_stated(stated), tol=tol)
    extra = options_given(stated)
    if extra:
        raise InputError(f"{', '.join(extra)} cannot be combined with {path}, which holds its problem; leave them out")
    from convexdesign.saved import read_document

    if str(read_document(path).get("format", "")).endswith("over a region"):
        from convexdesign.regions import RegionDesign

        return RegionDesign.load(path)
    return Design.load(path)


def show(design: Design, exact: ExactDesign) -> None:
    """The counts for a reader, beside what the proportions would ask for."""
    problem = design.problem
    print_line(f"{problem.kind}: {counted(problem.n_arms, 'arm')} in {counted(problem.arms.d, 'dimension')}")
    print_line()
    print_line(f"{'proportions':<16} {problem.criterion.value_name} {design.value:.8g}, gap {verdict(design)}")
    show_exact(exact)
    print_line()
    order = exact.support[(-exact.counts[exact.support]).argsort(kind="stable")]
    shown = order[:ROWS_SHOWN]
    print_table(
        ("arm", "count", "proportion times N"),
        [(problem.arm_name(int(i)), f"{exact.counts[i]:,}", f"{exact.total * design.weights[i]:.2f}") for i in shown],
        left=("arm",),
    )
    if order.size > shown.size:
        rest = int(exact.counts[order[ROWS_SHOWN:]].sum())
        print_line(
            f"and {order.size - shown.size:,} more arms with {counted(rest, 'measurement')}; --output writes all"
        )
