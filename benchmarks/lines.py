"""How large the package is, room by room: modules, lines, lines of code and of docstrings, as a table in Markdown.

    python benchmarks/lines.py

Lines of code are those that are neither blank, nor comment, nor part of a docstring. Modules at the top are rooms of their own.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "convexdesign"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
HEADS = ("modules", "lines", "code", "docstrings")


def lines_of(text: str) -> Counter[str]:
    """One module's lines, by kind."""
    documented = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    coded = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return Counter(modules=1, lines=len(text.splitlines()), code=len(coded - documented), docstrings=len(documented))


def rooms() -> dict[str, Counter[str]]:
    """The lines of every room, the one with most code first; modules at the top are one."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).parts
        found[place[0] if len(place) > 1 else "modules at the top"] += lines_of(path.read_text(encoding="utf-8"))
    return dict(sorted(found.items(), key=lambda room: -room[1]["code"]))


def table() -> str:
    """The rooms and their sum."""
    found = rooms()
    rows = [*found.items(), ("all", sum(found.values(), Counter()))]
    lines = [f"| room | {' | '.join(HEADS)} |", f"|---|{'---:|' * len(HEADS)}"]
    lines += [f"| {name} | {' | '.join(f'{count[head]:,}' for head in HEADS)} |" for name, count in rows]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
