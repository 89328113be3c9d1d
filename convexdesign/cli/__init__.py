"""The command line. `main` is the entry point; every command is one file beside this one."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (sys.argv where None) and return its exit code; see `exits.ExitCode`."""
    try:
        from convexdesign.cli.app import run
    except KeyboardInterrupt:
        return _interrupted_early("--json" in (sys.argv if argv is None else argv))
    return run(argv)


def _interrupted_early(as_json: bool) -> int:
    """As `app.fail` says it, while there is no app yet: reading the program takes a moment."""
    if as_json:
        print(json.dumps({"error": {"code": 130, "type": "Interrupted", "message": "interrupted"}}))
    print("convexdesign: interrupted", file=sys.stderr)
    return 130
