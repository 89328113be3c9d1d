"""Work that must end: done by a child process that is killed when its time is over."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from convexdesign.errors import SolverError

__all__ = ["bounded"]

T = TypeVar("T")


def bounded(work: Callable[[], T], seconds: float) -> T:
    """work(), or SolverError where it raised, died or was not done after so many seconds.

    On Linux a forked child works, so that even compiled code that never returns can be ended; elsewhere a thread, which
    is left behind when it is late. What the work changes is lost; its result must be picklable.
    """
    return _in_fork(work, seconds) if sys.platform == "linux" else _in_thread(work, seconds)


def _in_fork(work: Callable[[], T], seconds: float) -> T:
    reader, writer = multiprocessing.Pipe(duplex=False)
    with warnings.catch_warnings():
        # Python warns of forks beside threads; the child computes, answers and ends, whatever the threads hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _answer(work, writer, seconds)
    writer.close()
    try:
        if not reader.poll(seconds):
            raise SolverError(f"not done after {seconds:g} s")
        kind, value = pickle.loads(reader.recv_bytes())
    except EOFError:
        raise SolverError("the process that solved it died") from None
    finally:
        reader.close()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return _judged(kind, value)


def _answer(work: Callable[[], Any], writer: Any, seconds: float) -> None:
    """In the child: work, answer, and end without any of the parent's clean-up."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(seconds) + 2)  # ends it even if the parent is gone
        writer.send_bytes(pickle.dumps(_outcome(work)))
    finally:
        os._exit(0)


def _in_thread(work: Callable[[], T], seconds: float) -> T:
    answers: list[tuple[str, Any]] = []
    thread = threading.Thread(target=lambda: answers.append(_outcome(work)), daemon=True)
    thread.start()
    thread.join(seconds)
    if not answers:
        raise SolverError(f"not done after {seconds:g} s")
    return _judged(*answers[0])


def _outcome(work: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "done", work()
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"


def _judged(kind: str, value: Any) -> Any:
    if kind == "failed":
        raise SolverError(value)
    return value
