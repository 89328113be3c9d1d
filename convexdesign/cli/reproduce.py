"""`convexdesign reproduce`: the paper's figures, computed again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from convexdesign.cli.arguments import AsJson, Jobs, Progress, Seed, argument, option
from convexdesign.cli.completion import choices
from convexdesign.cli.output import print_json, print_line, say
from convexdesign.errors import InputError

__all__ = ["figures", "reproduce"]

ALL = "all"


def reproduce(
    wanted: Annotated[
        list[str],
        argument(
            "FIGURE",
            "figure-1, ..., figure-6, several of them, or all.",
            autocompletion=choices(*(f"figure-{k}" for k in range(1, 7)), "all"),
        ),
    ],
    replications: Annotated[
        int | None, option("--replications", help="Independent repetitions; as many as in the paper if left out.")
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    quick: Annotated[
        bool, option("--quick", help="A coarse version in seconds, to see that everything works.")
    ] = False,
    output_dir: Annotated[
        Path, option("--output-dir", "-o", metavar="FOLDER", help="Where to write; made if missing.")
    ] = Path("figures"),
    progress: Progress = True,
    as_json: AsJson = False,
) -> None:
    """Compute figures of Weltz et al. (2023) again.

    Each figure becomes a picture, its data as CSV, and a page that says what was found. Where the published numbers rest
    on other conventions, the page says so.

    How long it takes on one core, with the paper's 32 repetitions: figure-1 some two minutes, figure-2 some twenty,
    figure-3 some five, figure-4 to figure-6 (nothing is random there) seconds. --jobs divides the first three, --replications
    shortens them, and --quick makes each a matter of seconds. Runs are written to the CSV as they come; what was cut off
    goes on when the same command is given again.
    """
    known = figures()
    names = known if ALL in wanted else list(dict.fromkeys(wanted))
    for name in names:
        if name not in known:
            raise InputError(f"{name} cannot be reproduced by this release; there are {', '.join([*known, ALL])}")
    if replications is not None and replications < 1:
        raise InputError(f"--replications {replications}: give a whole number of at least 1")
    if output_dir.exists() and not output_dir.is_dir():
        raise InputError(f"--output-dir {output_dir} is a file; name a folder")
    options: dict[str, Any] = {"seed": seed, "jobs": jobs, "quick": quick, "progress": progress}
    if replications is not None:
        options["replications"] = replications
    written: dict[str, list[str]] = {}
    for name in names:
        if progress:
            say(name)
        written[name] = [str(path) for path in run_figure(name, output_dir, options)]
        if not as_json:
            for path in written[name]:
                print_line(path)
    if as_json:
        print_json({"figures": written, "seed": seed, "quick": quick, "replications": replications})


def figures() -> list[str]:
    """The figures there are modules for, convexdesign/reproduce/figure_*.py, by number."""
    from pkgutil import iter_modules

    from convexdesign import reproduce as package

    found = [module.name for module in iter_modules(package.__path__) if module.name.startswith("figure_")]
    return sorted((name.replace("_", "-") for name in found), key=lambda name: (len(name), name))


def run_figure(name: str, output_dir: Path, options: dict[str, Any]) -> list[Path]:
    """Write one figure; the paths written."""
    module = import_module(f"convexdesign.reproduce.{name.replace('-', '_')}")
    paths: list[Path] = list(module.run(output_dir, **options))
    return paths
