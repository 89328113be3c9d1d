"""One table for a result, as text, HTML and LaTeX: what was asked and how good the answer is, then one row an arm."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ResultTable"]

# What LaTeX reads as something else.
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class ResultTable:
    """A title, facts (label, text), and rows under columns; the first column is text, the others align as numbers.

    Examples
    --------
    >>> print(ResultTable("Design", (("gap", "1e-07"),), ("arm", "weight"), (("left", "0.5"), ("up", "0.25"))))
    Design
    ------------
    gap    1e-07
    ------------
    arm   weight
    left     0.5
    up      0.25
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        """The table in characters of one width.

        Returns
        -------
        str
            Lines without a last end of line.
        """
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows)]
        body = [_aligned(row, widths) for row in (self.columns, *self.rows)]
        label = max((len(name) for name, _ in self.facts), default=0)
        facts = [f"{name:<{label}}  {text}" for name, text in self.facts]
        whole = max(map(len, (self.title, *facts, *body)))
        facts = [f"{name:<{label}}  {text:>{whole - label - 2}}" for name, text in self.facts]
        rule = "-" * whole
        return "\n".join([self.title, rule, *facts, *([rule] if facts else []), *body])

    def as_html(self) -> str:
        """The table in HTML, every name escaped.

        Returns
        -------
        str
            One table element.
        """
        span = max(len(self.columns) - 1, 1)
        lines = [f"<table><caption>{html.escape(self.title)}</caption>"]
        for name, text in self.facts:
            lines.append(
                f'<tr><th scope="row">{html.escape(name)}</th><td colspan="{span}">{html.escape(text)}</td></tr>'
            )
        lines.append("<tr>" + "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self.columns) + "</tr>")
        for row in self.rows:
            first, rest = html.escape(row[0]), "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
            lines.append(f'<tr><th scope="row">{first}</th>{rest}</tr>')
        return "\n".join([*lines, "</table>"])

    def as_latex(self) -> str:
        """The table in LaTeX, a tabular that needs no package, every name escaped.

        Returns
        -------
        str
            From begin to end of the tabular, the title as a comment before it.
        """
        k = len(self.columns)
        lines = [f"% {self.title}", rf"\begin{{tabular}}{{l{'r' * (k - 1)}}}", r"\hline"]
        for name, text in self.facts:
            lines.append(rf"{_latex(name)} & \multicolumn{{{max(k - 1, 1)}}}{{r}}{{{_latex(text)}}} \\")
        lines += [r"\hline"] if self.facts else []
        lines += [" & ".join(map(_latex, self.columns)) + r" \\", r"\hline"]
        lines += [" & ".join(map(_latex, row)) + r" \\" for row in self.rows]
        return "\n".join([*lines, r"\hline", r"\end{tabular}"])

    def __str__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first = f"{row[0]:<{widths[0]}}"
    return "  ".join([first, *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:]))]).rstrip()


def _latex(text: str) -> str:
    return "".join(LATEX.get(mark, mark) for mark in text)
