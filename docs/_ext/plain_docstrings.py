"""Docstrings are plain text with formulas such as psi* or |z|_A; here they become what Sphinx can read.

Paragraphs are escaped, `code` becomes a reference where it names something documented and a literal elsewhere, lists
and examples stay what they are, and examples get a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

CODE = re.compile(r"`([^`]+)`")
NAME = re.compile(r"[A-Za-z_][\w.]*")
ITEM = re.compile(r"- |\d+\. ")
SPECIAL = re.compile(r"([\\*_|])")
BOLD = re.compile(r"(\*\*\S(?:[^*]*\S)?\*\*)")


def convert(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of one docstring in place."""
    text, examples = [], []
    for block in blocks(lines):
        if examples and examples[0][0] == "Examples":
            examples.append(block)  # all that stands in their section
        else:
            is_example = block[0].lstrip().startswith(">>>") or block[0] == "Examples"
            (examples if is_example else text).append(block)
    out: list[str] = []
    for block in text:
        out += [*(literal(block) if is_display(block) else map(marked_up, separated(block))), ""]
    if examples:
        out += [] if examples[0][0] == "Examples" else ["Examples", "--------"]
        for block in examples:
            out += [*block, ""]
    lines[:] = out


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Runs of lines between blank ones."""
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def is_display(block: list[str]) -> bool:
    """Whether all lines are set in from the margin: a formula or a table on its own."""
    return all(line.startswith("    ") for line in block)


def literal(block: list[str]) -> list[str]:
    return ["::", "", *block]


def separated(block: list[str]) -> Iterator[str]:
    """The lines, with a blank one before a list that follows a paragraph at once."""
    inside = False
    for line in block:
        starts = bool(ITEM.match(line))
        if starts and not inside and line is not block[0]:
            yield ""
        inside = starts or (inside and line.startswith(" "))
        yield line


def marked_up(line: str) -> str:
    """One line of text as reStructuredText."""
    parts = CODE.split(line)
    out = []
    for k, part in enumerate(parts):
        if k % 2:
            bare = part.removesuffix("()")
            out.append(rf":py:obj:`{bare}`\ " if NAME.fullmatch(bare) else rf"``{part}``\ ")
        else:
            out.append(escaped(part))
    return "".join(out).rstrip(" ").removesuffix("\\")


def escaped(text: str) -> str:
    """Plain text with nothing left that reStructuredText would read as markup, but **strong** words."""
    return "".join(part if BOLD.fullmatch(part) else SPECIAL.sub(r"\\\1", part) for part in BOLD.split(text))


def setup(app: Any) -> dict[str, Any]:
    # Before numpydoc, which listens at 500.
    app.connect("autodoc-process-docstring", convert, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
