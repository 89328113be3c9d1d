"""How help reads: options in sections, whole sentences, and only the options that apply to the kind of problem named."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer.core

from convexdesign.problem.kinds import COMMON, KINDS

__all__ = ["SETTINGS", "Command", "Group"]

# Wider lines than this are hard to read, however wide the window.
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
# What options are called where constructors call them otherwise.
CALLED = {"M": "matrix"}
# Which options only some kinds of problem take, by kind.
OF_KIND = {name: {CALLED.get(field, field) for field in (*kind.needs, *kind.takes)} for name, kind in KINDS.items()}
OF_KINDS = set().union(*OF_KIND.values())
# Where options stand that belong to no other section.
OPTIONS = "Options"


class Command(typer.core.TyperCommand):
    """A command whose help has sections, and lists what applies to the problem that stands before --help.

    `convexdesign solve --problem c-optimal --help` leaves out what other kinds take; a problem file leaves out the table's.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta["convexdesign.given"] = list(args)
        left: list[str] = super().parse_args(ctx, args)
        return left

    def get_short_help_str(self, limit: int = 0) -> str:
        return first_sentences(self)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        kind, whole = problem_told(ctx.meta.get("convexdesign.given", []), self)
        kinds = getattr(self.callback, "kinds", tuple(KINDS)) if kind is None else (kind,)
        sections: dict[str, list[Any]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or not applies(param, kinds, whole):
                continue
            arguments = param.param_type_name == "argument"
            section = "Arguments" if arguments else getattr(param, "rich_help_panel", None) or OPTIONS
            sections.setdefault(section, []).append(record)
        for section in sorted(sections, key=lambda name: (name != "Arguments", name == OPTIONS)):
            with formatter.section(section):
                formatter.write_dl(sections[section])
        if kind is not None:
            formatter.write_paragraph()
            formatter.write_text(f"This is what applies to {kind}; --help alone lists what other kinds take too.")


class Group(typer.core.TyperGroup):
    """A group whose commands are described in whole sentences."""

    def get_short_help_str(self, limit: int = 0) -> str:
        return first_sentences(self)


def first_sentences(command: Any) -> str:
    """The first paragraph of a command's description."""
    return " ".join((command.help or "").split("\n\n")[0].split())


def problem_told(given: list[str], command: Any) -> tuple[str | None, bool]:
    """The kind of problem in the arguments, if any, and whether a file that states a whole problem is."""
    if not any(param.name == "problem" for param in command.params):
        return None, False
    kinds = [word.removeprefix("--problem=") for word in given if word.startswith("--problem=")]
    kinds += [after for word, after in pairwise(given) if word == "--problem"]
    stated = any(not word.startswith("-") and Path(word).suffix.lower() in (".toml", ".json") for word in given[:1])
    return (kinds[-1] if kinds and kinds[-1] in KINDS else None), stated


def applies(param: Any, kinds: Sequence[str], whole: bool) -> bool:
    """Whether a parameter says anything about a problem of one of these kinds; of a whole problem stated by a file."""
    table = param.name in OF_KINDS or param.name in COMMON or param.name in ("problem", "formula")
    if whole and table and param.param_type_name == "option":
        return False
    return param.name not in OF_KINDS or any(param.name in OF_KIND[kind] for kind in kinds)
