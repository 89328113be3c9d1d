"""Run a compiled solver in a process of its own, which can be ended at any moment without a trace.

Solvers look at the clock and at Ctrl-C between their steps only, and one step on a large program can take minutes. A
thread that is inside one can neither be ended nor, at exit, be left: the interpreter aborts. A process can be killed. It is
started anew (nothing of this process, its threads and locks is copied), reads its task as a pickle and answers with one.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace
from typing import Any

__all__ = ["OutOfTime", "run_apart"]

# What the other process runs; it imports only what the solver needs. Its parent gone, it ends itself at the solver's next step.
PROGRAM = """
import os, pickle, sys
parent = os.getppid()
path, task = pickle.load(sys.stdin.buffer)
sys.path[:] = path
if task["backend"] == "clarabel":
    import clarabel
    settings = clarabel.DefaultSettings()
    for name, value in task["settings"].items():
        setattr(settings, name, value)
    cones = [getattr(clarabel, kind)(*arguments) for kind, arguments in task["cones"]]
    solver = clarabel.DefaultSolver(task["P"], task["q"], task["A"], task["b"], cones, settings)
    solver.set_termination_callback(lambda info: os.getppid() != parent)
    s = solver.solve()
    found = {"status": str(s.status), "x": list(s.x), "z": list(s.z), "obj_val": s.obj_val, "iterations": s.iterations,
             "solve_time": s.solve_time}
else:
    import scs
    found = scs.solve(task["data"], task["cones"], **task["settings"])
sys.stdout.buffer.write(pickle.dumps(found))
"""
# How often the clock is looked at while waiting, so that Ctrl-C acts at once on every system.
SECONDS_BETWEEN = 0.2


class OutOfTime(Exception):
    """The process was ended at its deadline."""


def run_apart(task: dict[str, Any], deadline: float | None) -> Any:
    """What the solver found for a task, as Clarabel's attributes or SCS's dictionary; deadline by time.monotonic().

    Raises OutOfTime at the deadline, RuntimeError with the last line of what the process said where it failed.
    """
    # From a file, not a pipe: a pipe that was full when a wait timed out would never be written on (Python 3.11).
    with tempfile.TemporaryFile() as message:
        pickle.dump((sys.path, task), message)
        message.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", PROGRAM],
            stdin=message,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us to pass on
        )
    try:
        answer, complaint = _waited(process, deadline)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
    if process.returncode != 0 or not answer:
        said = complaint.decode(errors="replace").strip().splitlines()
        raise RuntimeError(said[-1] if said else f"the solver's process ended with code {process.returncode}")
    found = pickle.loads(answer)
    return SimpleNamespace(**found) if task["backend"] == "clarabel" else found


def _waited(process: subprocess.Popen[bytes], deadline: float | None) -> tuple[bytes, bytes]:
    while True:
        left = SECONDS_BETWEEN if deadline is None else min(SECONDS_BETWEEN, deadline - time.monotonic())
        if left <= 0:
            raise OutOfTime
        try:
            return process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            continue
