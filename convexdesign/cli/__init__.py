"""The command line. `main` is the entry point; every command is one file beside this one."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (sys.argv where None) and return its exit code; see `exits.ExitCode`."""
    from convexdesign.cli.app import run

    return run(argv)
