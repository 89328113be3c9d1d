"""What errors, warnings and guarantees advise, in the words of the command line: options for keywords of Python."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from convexdesign.cli.command import Command
from convexdesign.errors import ConvexDesignError

__all__ = ["ExperimentCommand", "worded"]

# What no pattern would find: calls, names of classes, keywords that are called otherwise.
PHRASES = (
    (r"open it with(out)? read_only=True", "status, result, report, list and export do"),
    (r"start again with MartingaleElimination\b", "start again with --algorithm martingale"),
    (r"\(drop_item, --item\)", "(--item)"),
    (r"\bnames=, (?=--)", ""),
    (r"counts= says how many of each of arms=", "--count says how many of each --arm"),
    (r"; call result\(\)", "; see `result`"),
    (r"; call ask\(\)", "; `ask` opens it"),
)
VALUE = r"(?P<value>True|False|'[^']*'|\([^()]*\))?"


def worded(text: str) -> str:
    """A message with options for keywords: set_aside=True as --set-aside, noise='bounded' as --noise bounded.

    >>> worded("give noise='bounded' with reward_range=(low, high), or set_aside=True")
    'give --noise bounded with --reward-range LOW HIGH, or --set-aside'
    """
    for pattern, words in PHRASES:
        text = re.sub(pattern, words, text)
    names = "|".join(sorted(_keywords(), key=len, reverse=True))
    text = re.sub(rf"\b(?P<name>{names})=(?!=){VALUE}", _option, text)
    # Those of two words are no words of English, with or without a value; what is quoted may be somebody's name.
    spelt = "|".join(name for name in _keywords() if "_" in name)
    text = re.sub(rf"(?<![\w'\"-])({spelt})(?![\w='\"])", lambda found: _flag(found[1]), text)
    return re.sub(r"\((--[\w-]+), \1\)", r"(\1)", text)


def _option(found: re.Match[str]) -> str:
    value, option = found["value"], _flag(found["name"])
    if value is None or value == "True":
        return option
    if value == "False":
        return option.replace("--", "--no-", 1)
    plain = value.strip("'()").replace(",", "")
    return f"{option} {plain.upper() if value.startswith('(') and plain.replace(' ', '').isalpha() else plain}"


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


@cache
def _keywords() -> tuple[str, ...]:
    """What the options of all commands on experiments are called in Python."""
    import typer

    from convexdesign.cli.experiment import experiment

    group: Any = typer.main.get_command(experiment)
    options = [param for command in group.commands.values() for param in command.params]
    return tuple(sorted({p.name.strip("_") for p in options if p.param_type_name == "option"} - {"help"}))


class ExperimentCommand(Command):
    """A command on an experiment: what it says advises options."""

    def invoke(self, ctx: Any) -> Any:
        with options_worded():
            return super().invoke(ctx)


@contextmanager
def options_worded() -> Iterator[None]:
    """Errors and warnings advise options."""
    shown = warnings.showwarning

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        shown(worded(str(message)), *rest, **more)

    warnings.showwarning = show
    try:
        yield
    except ConvexDesignError as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (worded(error.args[0]), *error.args[1:])
        raise
    finally:
        warnings.showwarning = shown
