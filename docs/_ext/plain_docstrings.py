"""Docstrings are plain text with formulas such as psi* or |z|_A; here they become what Sphinx can read.

Paragraphs are escaped, powers and indices are set as such, `code` becomes a reference where it names something documented
and a literal elsewhere, lists and examples stay what they are, and examples get a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

CODE = re.compile(r"`([^`]+)`")
NAME = re.compile(r"[A-Za-z_][\w.]*")
ITEM = re.compile(r"- |\d+\. ")
SPECIAL = re.compile(r"([\\*_|])")
# x_i, sum_j, A^-1, (cos a)^2, A0, sqrt(: what is raised or lowered is one sign, a number, or a group in brackets.
FORMULA = re.compile(
    r"(?P<sum>\bsum_|Σ_)(?P<over>[a-z])(?!\w)"
    r"|(?<=[A-Za-z0-9)\]'|*])\^(?:\((?P<group>-?[\w/+-]+)\)|(?P<power>-?\d+(?![\d^])|[a-zT*+](?![\w^])))"
    r"|(?<![A-Za-z_`.])(?P<base>max|min|[A-Za-z])_(?P<index>[A-Za-z0-9]|\d\d|[a-z]{2}(?=['^]))(?![A-Za-z0-9_`])"
    r"|(?<=\|)_(?P<norm>[A-Za-z])(?!\w)"
    r"|\bA(?P<held>0)(?!\w)"
    r"|\bsqrt(?P<root>\(| (?=\d))"
)
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
    """As it stands, but for powers and indices."""
    return [".. parsed-literal::", "", *(escaped(line, spaced=False) for line in block)]


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


def escaped(text: str, spaced: bool = True) -> str:
    """Plain text with nothing left that reStructuredText would read as markup, but **strong** words; its formulas set."""
    return "".join(part if spaced and BOLD.fullmatch(part) else typeset(part) for part in BOLD.split(text))


def typeset(text: str) -> str:
    """Powers and indices as such, all else escaped."""
    out, at = [], 0
    for found in FORMULA.finditer(text):
        out += [SPECIAL.sub(r"\\\1", text[at : found.start()]), set_formula(found)]
        at = found.end()
    return "".join([*out, SPECIAL.sub(r"\\\1", text[at:])])


def set_formula(found: re.Match[str]) -> str:
    raised = found["group"] or found["power"]
    if raised:
        return rf"\ :sup:`{raised.replace('-', '−')}`\ "
    if found["sum"]:
        return rf"Σ\ :sub:`{found['over']}`\ "
    if found["base"]:
        return rf"{found['base']}\ :sub:`{found['index']}`\ "
    if found["norm"]:
        return rf"\ :sub:`{found['norm']}`\ "
    return r"A\ :sub:`0`\ " if found["held"] else "√" + found["root"].strip()


def setup(app: Any) -> dict[str, Any]:
    # Before numpydoc, which listens at 500.
    app.connect("autodoc-process-docstring", convert, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
