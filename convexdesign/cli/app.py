"""The command line's frame: the commands it knows, and what each kind of failure becomes."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from convexdesign.cli.certify import certify, check
from convexdesign.cli.command import SETTINGS, Command, Group
from convexdesign.cli.demo import demo
from convexdesign.cli.efficiencies import efficiencies
from convexdesign.cli.estimate import estimate
from convexdesign.cli.exits import ExitCode
from convexdesign.cli.experiment import experiment
from convexdesign.cli.explore import explore
from convexdesign.cli.extras import extras
from convexdesign.cli.output import print_json, print_line, say
from convexdesign.cli.problems import problems
from convexdesign.cli.reproduce import reproduce
from convexdesign.cli.round import round_
from convexdesign.cli.simulate import simulate
from convexdesign.cli.solve import solve
from convexdesign.cli.verify import verify
from convexdesign.errors import (
    ConflictError,
    ConvexDesignError,
    DamagedStoreError,
    InputError,
    SolverError,
    StoreError,
    UnidentifiableError,
)

__all__ = ["app", "run"]

# One file and one entry here make a command. Nothing heavy may be imported at the top of those files:
# `--help` answers without NumPy's companions (a test holds this).
COMMANDS: tuple[Callable[..., None], ...] = (
    solve,
    verify,
    certify,
    check,
    round_,
    efficiencies,
    estimate,
    simulate,
    reproduce,
    problems,
    explore,
    extras,
    demo,
)

EXIT_CODES = """Exit codes: 0 certified (or done), 1 a bug, 2 bad input, 3 not certified to the tolerance, no answer yet or
a void one, or no room on the disk, 4 a target that no arm informs, 5 a conflict or a damaged store, 130 interrupted,
141 the output's reader went away."""

app = typer.Typer(
    name="convexdesign",
    cls=Group,
    help="Optimal allocation of measurements, with a proof of how close to optimal each design is.",
    epilog=EXIT_CODES,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich alone takes a tenth of a second to import
    context_settings=SETTINGS,
)
for command in COMMANDS:
    # round_: Python has a `round` of its own
    app.command(command.__name__.rstrip("_"), cls=Command, context_settings=SETTINGS)(command)
app.add_typer(experiment, name="experiment")


def show_version(wanted: bool) -> None:
    if wanted:
        from convexdesign import __version__

        print_line(f"convexdesign {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Options before the command."""


# Set by the shell when the Tab key is pressed.
COMPLETION = "_CONVEXDESIGN_COMPLETE"


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; only a bug shows a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    try:
        with warnings_as_messages():
            code = app(arguments or ["--help"], prog_name="convexdesign", standalone_mode=False)
            sys.stdout.flush()
        if code == ExitCode.INTERRUPTED:
            raise KeyboardInterrupt  # some versions of typer make it a code, others Abort
        return int(code or 0)
    except SystemExit as ended:
        # The shell's completion, and what shows or installs it, end so; typer makes a closed pipe one too.
        if COMPLETION in os.environ or ended.code in (None, 0):
            return int(ended.code or 0)
        discard_output()
        return ExitCode.PIPE_CLOSED
    except BrokenPipeError:
        discard_output()
        return ExitCode.PIPE_CLOSED
    except (KeyboardInterrupt, typer.Abort):
        return fail(ExitCode.INTERRUPTED, "interrupted", "Interrupted", as_json)
    except Exception as error:
        code, message = diagnose(error)
        if code is ExitCode.BUG:
            traceback.print_exc()
        try:
            sys.stdout.flush()
        except OSError:
            discard_output()
        return fail(code, message, type(error).__name__, as_json)


def discard_output() -> None:
    """Python would complain again when it flushes at exit; give it somewhere to flush to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Of several that fit, the first counts.
CODES = {
    UnidentifiableError: ExitCode.UNIDENTIFIABLE,
    ConflictError: ExitCode.CONFLICT,
    DamagedStoreError: ExitCode.CONFLICT,
    SolverError: ExitCode.NOT_CERTIFIED,
    StoreError: ExitCode.NOT_CERTIFIED,
    ConvexDesignError: ExitCode.BAD_INPUT,
    InputError: ExitCode.BAD_INPUT,
}
# What the system says when a file cannot grow.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def diagnose(error: Exception) -> tuple[ExitCode, str]:
    """The exit code and the message for what went wrong."""
    if type(error).__name__ == "ReplicationError":
        # What failed inside a run, perhaps in another process, is told by its name.
        cause = getattr(error, "reason", "").partition(":")[0]
        return next((code for kind, code in CODES.items() if kind.__name__ == cause), ExitCode.BUG), str(error)
    for kind, code in CODES.items():
        if isinstance(error, kind):
            return code, str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return ExitCode.BAD_INPUT, f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return ExitCode.NOT_CERTIFIED, f"the output could not be written: {error.strerror}"
    if is_usage_error(error):
        return ExitCode.BAD_INPUT, usage_message(error)
    return ExitCode.BUG, f"{type(error).__name__}: {error} (this is a bug in convexdesign; please report it)"


def is_usage_error(error: Exception) -> bool:
    """Whether typer could not make sense of the arguments.

    Asked by class name along the inheritance, since the class itself lives in click for some versions of typer
    and inside typer for others.
    """
    return any(base.__name__ == "ClickException" for base in type(error).__mro__)


def usage_message(error: Any) -> str:
    command = error.ctx.command_path if getattr(error, "ctx", None) is not None else "convexdesign"
    return f"{error.format_message()} (see `{command} --help`)"


def fail(code: ExitCode, message: str, kind: str, as_json: bool) -> int:
    """Say what went wrong: on standard error, and with --json as a document on standard output too."""
    if as_json:
        print_json({"error": {"code": int(code), "type": kind, "message": message}})
    say(f"error: {message}" if code is not ExitCode.INTERRUPTED else message)
    return int(code)


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Warnings become one line each on standard error, without the source line Python would show."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        # What libraries say to those who write code with them is not for those who type commands.
        for category in (DeprecationWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show
        yield
