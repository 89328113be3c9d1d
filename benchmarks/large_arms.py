"""Arms that do not fit: seconds and memory of solves over a memory map and over layouts made block by block.

    python benchmarks/large_arms.py [--folder FOLDER] [--share SHARE]

Each case runs in a process of its own (one BLAS thread) and is solved to a certified gap of 1e-6. `memory` is the peak
of what the process itself holds, interpreter included; `resident` adds the pages of the map that happen to be cached.
FOLDER (a temporary one by default) receives 1.2 GB of arms; SHARE < 1 makes everything smaller.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

N, D = 10_000_000, 10
VARIATIONS, DIMENSIONS = 4, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the arms are written")
    parser.add_argument("--share", type=float, default=1.0, help="of the number of arms")
    parser.add_argument("--case", choices=CASES, help="run this one here and print its numbers as JSON")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(CASES[options.case], options.folder, options.share)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        write_arms(folder, int(N * options.share))
        print("| case | arms | d | value | gap | passes | seconds | processor seconds | memory, MB | resident, MB |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for name in CASES:
            command = [sys.executable, __file__, "--case", name, "--folder", str(folder), "--share", str(options.share)]
            environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            row = json.loads(run.stdout)
            print(
                f"| {name} | {row['n']:,} | {row['d']} | {row['value']:.6g} | {row['gap']:.0e} | {row['passes']:g} | "
                f"{row['seconds']:.1f} | {row['processor']:.1f} | {row['memory']:.0f} | {row['resident']:.0f} |",
                flush=True,
            )


def write_arms(folder: Path, n: int) -> None:
    """Gaussian arms in float64 and float32, block by block."""
    for name, kind in (("arms.npy", np.float64), ("arms32.npy", np.float32)):
        if not (folder / name).exists():
            rng = np.random.default_rng(0)
            arms = np.lib.format.open_memmap(folder / name, mode="w+", dtype=kind, shape=(n, D))
            for start in range(0, n, 100_000):
                arms[start : start + 100_000] = rng.standard_normal((min(100_000, n - start), D))
            arms.flush()


def measure(build: Callable[[Path, float], Any], folder: Path, share: float) -> dict[str, Any]:
    """Solve one case with a thread watching the memory of the process."""
    import convexdesign as cd

    peak = {"RssAnon": 0, "VmHWM": 0}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            look(peak)

    watcher = threading.Thread(target=watch)
    watcher.start()
    started, used = time.perf_counter(), time.process_time()
    problem = build(folder, share)
    design = cd.solve(problem)
    seconds, processor = time.perf_counter() - started, time.process_time() - used
    done.set()
    watcher.join()
    look(peak)
    assert design.status is cd.Status.CERTIFIED
    return {
        "n": problem.arms.n,
        "d": problem.arms.d,
        "value": design.value,
        "gap": design.gap,
        "passes": design.stats.passes,
        "seconds": seconds,
        "processor": processor,
        "memory": peak["RssAnon"],
        "resident": peak["VmHWM"],
    }


def look(peak: dict[str, int]) -> None:
    """Raise the peaks (MB) to what Linux reports now."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    for name in peak:
        peak[name] = max(peak[name], int(fields[name].split()[0]) // 1024)


def map_g(folder: Path, share: float, name: str = "arms.npy", **common: Any) -> Any:
    from convexdesign import DesignProblem

    return DesignProblem.g_optimal(np.load(folder / name, mmap_mode="r"), **common)


def noise(n: int) -> Any:
    return np.random.default_rng(1).uniform(0.5, 2.0, n)


def map_xy(folder: Path, share: float) -> Any:
    from convexdesign import DesignProblem

    arms = np.load(folder / "arms.npy", mmap_mode="r")
    return DesignProblem.xy_allocation(arms, arms[:1000], noise_variance=noise(len(arms)))


def layouts(share: float) -> Any:
    from convexdesign.instances import multivariate_arms

    return multivariate_arms(VARIATIONS, max(2, DIMENSIONS + round(np.log(share) / np.log(VARIATIONS))))


def layouts_level_set(folder: Path, share: float) -> Any:
    from convexdesign import DesignProblem

    arms = layouts(share)
    chosen = np.random.default_rng(2).choice(arms.n, min(1000, arms.n), replace=False)
    return DesignProblem.level_set_allocation(arms, arms.take(chosen))


def layouts_first_noisy(folder: Path, share: float) -> Any:
    """The noise of the paper's third experiment: changing the first dimension is noisiest."""
    from convexdesign import DesignProblem

    arms = layouts(share)
    first = np.arange(arms.n) // (arms.n // VARIATIONS)
    return DesignProblem.g_optimal(arms, noise_variance=0.3 + 0.7 * (first > 0))


def layouts_g(folder: Path, share: float) -> Any:
    from convexdesign import DesignProblem

    return DesignProblem.g_optimal(layouts(share))


CASES: dict[str, Callable[[Path, float], Any]] = {
    "map, G": map_g,
    "float32 map, G": lambda folder, share: map_g(folder, share, "arms32.npy"),
    "map, G, unequal noise": lambda folder, share: map_g(folder, share, noise_variance=noise(int(N * share))),
    "map, XY over 1,000 items, unequal noise": map_xy,
    "layouts in blocks, G": layouts_g,
    "layouts in blocks, G, noisy first dimension": layouts_first_noisy,
    "layouts in blocks, level set of 1,000": layouts_level_set,
}

if __name__ == "__main__":
    main()
