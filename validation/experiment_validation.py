"""What durable experiments survive, counted in full: crashes, orders of delivery, damage, crowds of processes."""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from counting import kept_parts, markdown, shown, unfinished
from durability.blocks import damaged_blocks
from durability.crashes import killed_at_random, killed_beside_another
from durability.crowd import crowd
from durability.damage import damaged_files
from durability.orders import random_orders
from durability.variants import killed_at_every_write

__all__ = ["run"]

KILLS, ORDERS, DAMAGES, BLOCKS, PROCESSES, RESULTS = 200, 1000, 1000, 3000, 8, 1000
# Runs are done in so many pieces, each with a seed of its own, so that any number of jobs gives the same numbers.
PIECES = 10
# What must be zero.
FAILURES = (
    "lost",
    "batches_twice",
    "different_transcripts",
    "different",
    "repeats_with_effect",
    "silent",
    "wrong_recoveries",
    "changed_files",
    "taken_for_damaged",
    "failed_processes",
    "miscounted",
    "problems",
)
# What is not added up over pieces.
LEAST, SAME = ("shortest_recovery",), ("events", "processes")
# Simulations that are not about the disk run where a sync costs nothing, if there is such a folder.
MEMORY = Path("/dev/shm")

Simulation = Callable[[int, Path, int], dict[str, Any]]


def run(
    output_dir: str | Path, scale: float = 1.0, seed: int = 0, jobs: int | None = 1, progress: bool = True
) -> list[Path]:
    """Write experiment-faults.csv and experiment-faults.md, with the command; the paths written.

    scale: the share of the full counts.
    """

    def share(count: int) -> int:
        return max(PIECES, int(count * scale))

    tables = {
        "killed processes": _pieces(killed_at_random, share(KILLS), seed, 1, False),
        "killed beside another": _pieces(killed_beside_another, share(KILLS) // 2, seed, 1, False),
        "killed at every write": _in_folder(_changed, 0, seed, MEMORY),
        "orders of delivery": _pieces(random_orders, share(ORDERS), seed, jobs, progress),
        "damaged files": _pieces(damaged_files, share(DAMAGES), seed, jobs, progress),
        "damaged blocks": _pieces(damaged_blocks, share(BLOCKS), seed, jobs, progress),
        "processes at once": _in_folder(partial(_crowd, share(RESULTS)), 0, seed, None),
    }
    rows = [
        {"simulation": name, "measure": measure, "value": value, "must_be": "0" if measure in FAILURES else ""}
        for name, found in tables.items()
        for measure, value in found.items()
    ]
    frame = pd.DataFrame(rows)
    target = Path(output_dir)
    target.mkdir(parents=True, exist_ok=True)
    paths = [target / "experiment-faults.csv", target / "experiment-faults.md"]
    frame.to_csv(paths[0], index=False)
    paths[1].write_text(_page(frame, scale, seed), encoding="utf-8")
    return paths


def _pieces(simulation: Simulation, count: int, seed: int, jobs: int | None, progress: bool) -> dict[str, Any]:
    """A simulation in PIECES parts, added up."""
    from joblib import delayed

    sizes = [count // PIECES + (piece < count % PIECES) for piece in range(PIECES)]
    folder = None if simulation in (killed_at_random, killed_beside_another) else MEMORY
    work = (delayed(_in_folder)(simulation, size, seed * PIECES + piece, folder) for piece, size in enumerate(sizes))
    found = list(shown(kept_parts(work, jobs), len(sizes), simulation.__name__.replace("_", " "), progress))
    return {measure: _added(measure, [part[measure] for part in found]) for measure in found[0]}


def _added(measure: str, values: list[Any]) -> Any:
    if measure in SAME:
        return values[0]
    return min(values) if measure in LEAST else sum(values)


def _in_folder(simulation: Simulation, count: int, seed: int, within: Path | None) -> dict[str, Any]:
    place = within if within is not None and within.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        return simulation(count, Path(folder), seed)


def _changed(_: int, folder: Path, seed: int) -> dict[str, Any]:
    return killed_at_every_write(folder)


def _crowd(results: int, _: int, folder: Path, seed: int) -> dict[str, Any]:
    return crowd(PROCESSES, results, folder, seed)


PAGE = """# What durable experiments survive

Command: `python validation/experiment_validation.py docs/validation --scale {scale:g} --seed {seed}` ({date}).
Verdict: {verdict}. Rows with a 0 under `must_be` are failures; all of them must be 0.

- **killed processes**: the process that runs an experiment is killed (SIGKILL) at random moments and another goes on;
  `acknowledged` results were told and confirmed, `lost` are those of them that a store lacks in the end; transcripts are
  compared, to the last bit, with that of an experiment that nobody interrupted.
- **killed beside another**: of two processes that tell one store, one is killed, the other goes on for a moment and is
  killed too; what neither had acknowledged is then partly in the file, with a journal to undo it, and that is no damage.
- **killed at every write**: an A/B test in which a variant is dropped and withdrawn, another joins with its arm, a result is
  corrected and the correction taken back: killed in the middle of every write, and between every two; another process goes on.
  What must be the same as without: the transcript to the last bit, and what the guarantee says.
- **orders of delivery**: the parts of every batch are told in a random order, some of them again later.
- **damaged files**: one bit is flipped, or the file is cut short, at a random place; then the store is opened and the
  experiment run to its end. `detected`: an error said so; `harmless`: the end is that of the sound store; `silent`: anything
  else. Every damaged file is recovered too; `wrong_recoveries` are no prefix of what was written, or changed the damaged file.
  Both are found again when the store is opened a second time.
- **damaged blocks**: a process is killed in the middle of a commit; of the file, or of the journal that is left beside it, a
  block of 4 to 8192 bytes is zeroed or written over by another one, or two are swapped. `harmless`: everything that was
  acknowledged is there; `changed_files` were changed by being opened and found damaged.
- **processes at once**: {processes} processes tell one store, one durable tell a result.

{table}
"""


def _page(frame: pd.DataFrame, scale: float, seed: int) -> str:
    failed = frame[(frame.must_be == "0") & (frame.value != 0)]
    verdict = "all promises held" if failed.empty else f"{len(failed)} promises FAILED"
    return PAGE.format(
        scale=scale,
        seed=seed,
        date=datetime.date.today().isoformat(),
        verdict=verdict,
        processes=PROCESSES,
        table=markdown(frame, digits=6),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Count what durable experiments survive.")
    parser.add_argument("output_dir", nargs="?", default="docs/validation")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full counts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--progress", action=argparse.BooleanOptionalAction, default=sys.stderr.isatty())
    options = parser.parse_args()
    with unfinished(options.output_dir, "experiment_validation", options.scale, options.seed):
        run(options.output_dir, options.scale, options.seed, options.jobs, options.progress)


if __name__ == "__main__":
    main()
