"""Elimination with test martingales among many items: seconds and memory of one run, as the number of items grows.

`python benchmarks/many_items.py docs/benchmarks` writes many-items.csv and .md. Every size runs in a process of its own.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

N_ARMS, D = 10_000, 20
SIZES = (1_000, 10_000, 100_000)
DELTA = 0.05
PAGE = """# Many items

Command: `python benchmarks/many_items.py docs/benchmarks` ({date}; {machine}; one BLAS thread).

The best of m items in R^{d}, by
measuring {n:,} arms whose variances are unknown; one run of `MartingaleElimination` at delta = {delta}, from its
constructor to its result. Neither time nor memory grows with the square of m: evidence is kept as one small matrix per
round and a few numbers per item. `extra memory` is the peak beyond that of arms and items.

| items | seconds | processor seconds | extra memory, MiB | rounds | samples | right |
|---|---|---|---|---|---|---|
{rows}
"""


def one_run(m: int) -> dict[str, float]:
    """Find the best of m items in R^20 by measuring 10,000 arms; peak memory beyond that of the arms and items."""
    import convexdesign as cd

    rng = np.random.default_rng(m)
    arms, items = rng.standard_normal((N_ARMS, D)), rng.standard_normal((m, D))
    theta = rng.standard_normal(D)
    theta /= np.linalg.norm(theta)
    best = int(np.argmax(items @ theta))
    items[best] += 0.02 * theta
    variance = rng.uniform(0.5, 2.0, N_ARMS)
    environment = cd.simulation.LinearEnvironment(arms, theta, variance, rng=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, processor = time.perf_counter(), time.process_time()
    algorithm = cd.identification.MartingaleElimination(arms, items, delta=DELTA, variance_bounds=(0.1, 10.0))
    result = cd.simulation.simulate(algorithm, environment)
    return {
        "items": m,
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - processor,
        "extra_mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        "rounds": result.rounds,
        "samples": result.samples,
        "right": int(result.answer == (best,)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time martingale elimination as the number of items grows.")
    parser.add_argument("output_dir", nargs="?", default="docs/benchmarks")
    parser.add_argument("--only", type=int, help="run this size in this process and print it")
    options = parser.parse_args()
    if options.only is not None:
        print(json.dumps(one_run(options.only)))
        return
    rows = []
    for m in SIZES:
        shown = subprocess.run([sys.executable, __file__, "--only", str(m)], check=True, capture_output=True, text=True)
        rows.append(json.loads(shown.stdout))
        print(rows[-1])
    target = Path(options.output_dir)
    target.mkdir(parents=True, exist_ok=True)
    with (target / "many-items.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (target / "many-items.md").write_text(_page(rows), encoding="utf-8")


def _page(rows: list[dict[str, float]]) -> str:
    lines = [
        f"| {r['items']:,} | {r['seconds']:.1f} | {r['processor_seconds']:.1f} | {r['extra_mib']:.0f} | {r['rounds']} | "
        f"{r['samples']:,} | {'yes' if r['right'] else 'no'} |"
        for r in rows
    ]
    machine = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    date = datetime.date.today().isoformat()
    return PAGE.format(date=date, machine=machine, d=D, n=N_ARMS, delta=DELTA, rows="\n".join(lines))


if __name__ == "__main__":
    main()
