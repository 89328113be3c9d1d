"""Expressions inside a formula's calls, log(a / b) or C(c): arithmetic and named functions of columns, and nothing else.

A formula comes from a command line or a file, and must not be a way to run code: the text is parsed, every node of its
tree is compared with a list of what is allowed, and columns are renamed to names that nothing else has, so that a column
may be called A, C or I.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from convexdesign.errors import InputError

__all__ = ["CATEGORIES", "COLUMNS", "LARGEST_POWER", "NAME", "NUMERIC", "Columns", "Expression", "parse_call"]

# Functions of one number each, by NumPy's names and the short ones of other programs.
PLAIN = """abs exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh arcsin arccos arctan floor ceil
sign"""
NUMERIC: Mapping[str, str] = {name: name for name in PLAIN.split()} | {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
}
# Functions that code one factor as several columns; and those that code categories.
COLUMNS = frozenset(["poly", "bs", "cc", "cr", "cs"])
CATEGORIES = frozenset(["C"])
# What the levels of a category are contrasted with.
CONTRASTS = frozenset(["Treatment", "Sum", "Helmert", "Diff", "Poly"])
CONTRASTS_OF_CONTR = frozenset(["treatment", "sum", "helmert", "diff", "poly", "SAS"])
STATEFUL = frozenset(["center", "scale", "standardize"])
FUNCTIONS = frozenset([*NUMERIC, *COLUMNS, *CATEGORIES, *CONTRASTS, *STATEFUL, "I", "exp10"])
# Degrees of polynomials and the like; splines of a thousand pieces are a mistake.
LARGEST_COUNT = 1000
LARGEST_POWER = 64
LARGEST_BASE = 1e9

NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
TOKEN = re.compile(
    r"(?P<blank>\s+)|(?P<quoted>`[^`]*`)|(?P<text>'[^'\\]*'|\"[^\"\\]*\")"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*(?:\.\w+)*)"
    r"|(?P<mark>\*\*|//|[<>=!]=|[-+*/%^<>=(),\[\]{}:])"
)
ALLOWED: tuple[type[ast.AST], ...] = (
    ast.Expression,
    ast.Call,
    ast.keyword,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.UnaryOp,
    ast.USub,
    ast.UAdd,
    ast.Compare,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.Eq,
    ast.NotEq,
    ast.List,
    ast.Tuple,
    ast.Attribute,
)


# Columns that an error lists.
MOST_NAMED = 20


@dataclass(frozen=True)
class Columns:
    """The columns of a table that a formula may use, each with the names by which expressions call it.

    numeric: for every column whether it holds numbers. A column has two internal names: one for its numbers as float64, and
    one for it as it is, whose levels are categories.
    """

    numeric: Mapping[str, bool]
    index: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {name: k for k, name in enumerate(self.numeric)})

    def internal(self, name: str, *, as_is: bool = False) -> str:
        """The internal name of a column."""
        return f"cd_{'raw' if as_is or not self.numeric[name] else 'num'}_{self.index[name]}_"

    def unknown(self, name: str) -> InputError:
        """What to say of a name that no column has."""
        listed = list(self.numeric)
        return InputError(
            f"there is no column {name!r}; there are {', '.join(listed[:MOST_NAMED])}{', ...' * (len(listed) > MOST_NAMED)}"
        )

    def shown(self, text: str, *, quote: bool) -> str:
        """The text with columns called as the user calls them, in backquotes where they are no plain names."""
        names = list(self.numeric)

        def name(found: re.Match[str]) -> str:
            own = names[int(found.group(1))]
            return own if NAME.fullmatch(own) or not quote else f"`{own}`"

        return re.sub(r"cd_(?:raw|num)_(\d+)_", name, text)


@dataclass(frozen=True)
class Expression:
    """code: Python over internal names; function: the outermost; used: the columns in it."""

    code: str
    function: str
    used: tuple[str, ...]
    tree: ast.expr = field(compare=False, repr=False)

    @property
    def has_state(self) -> bool:
        """Whether it depends on more of the table than its own row."""
        called = {
            node.func.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        return bool(called & (STATEFUL | COLUMNS | CATEGORIES))


def parse_call(function: str, inside: str, columns: Columns) -> Expression:
    """The call function(inside) as code; InputError where it is more than arithmetic and named functions of columns."""
    used: list[str] = []
    source = f"{_function(function)}({_translated(inside, columns, used)})"
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{function}({inside}) is no arithmetic expression; check its brackets and commas") from None
    for node in ast.walk(tree):
        _check(node, f"{function}({inside})")
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)):
        raise InputError(f"{function}({inside}) is no single call; check its brackets")
    if tree.func.id in CATEGORIES and tree.args and isinstance(tree.args[0], ast.Name):
        own = next((name for name in used if columns.internal(name) == tree.args[0].id), None)
        if own is not None:
            tree.args[0].id = columns.internal(own, as_is=True)
    return Expression(ast.unparse(tree), tree.func.id, tuple(dict.fromkeys(used)), tree)


def _function(name: str) -> str:
    plain = name.removeprefix("np.").removeprefix("numpy.")
    if plain not in FUNCTIONS and not (name.startswith("contr.") and name[6:] in CONTRASTS_OF_CONTR):
        raise InputError(f"there is no function {name!r}; those known are {', '.join(sorted(FUNCTIONS))}")
    return plain


def _translated(text: str, columns: Columns, used: list[str]) -> str:
    """The text as Python: columns by internal names, ^ as **, functions that are allowed."""
    tokens = _tokens(text)
    out = []
    for k, (kind, token) in enumerate(tokens):
        after = tokens[k + 1][1] if k + 1 < len(tokens) else ""
        if kind == "quoted" or (kind == "name" and after not in ("(", "=") and token in columns.numeric):
            name = token.strip("`")
            if name not in columns.numeric:
                raise columns.unknown(name)
            used.append(name)
            out.append(columns.internal(name))
        elif kind == "name" and after == "(":
            out.append(_function(token))
        elif kind == "name" and after == "=" and NAME.fullmatch(token) and "." not in token:
            out.append(token)
        elif kind == "name":
            if not (token in ("True", "False", "None", *CONTRASTS) or token.startswith("contr.")):
                raise columns.unknown(token)
            out.append(token)
        else:
            out.append("**" if token == "^" else token)
    return " ".join(out)


def _tokens(text: str) -> Sequence[tuple[str, str]]:
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise InputError(
                f"{text[at : at + 20]!r} has no meaning in a formula; write arithmetic and named functions alone"
            )
        at = match.end()
        if match.lastgroup != "blank":
            found.append((str(match.lastgroup), match.group()))
    return found


def _check(node: ast.AST, what: str) -> None:
    """InputError for a node that is no arithmetic, or arithmetic without end."""
    if not isinstance(node, ALLOWED):
        raise InputError(
            f"{what} holds {type(node).__name__.lower()}; a formula takes arithmetic and named functions alone"
        )
    if isinstance(node, ast.Call) and not isinstance(node.func, (ast.Name, ast.Attribute)):
        raise InputError(f"{what} calls what is no function by name")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in COLUMNS:
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, int) and part.value > LARGEST_COUNT:
                raise InputError(f"{what}: {part.value} is too many; at most {LARGEST_COUNT}")
    if isinstance(node, ast.Attribute):
        known = isinstance(node.value, ast.Name) and node.value.id == "contr" and node.attr in CONTRASTS_OF_CONTR
        if not known:
            raise InputError(f"{what} holds .{node.attr}; write the name of a column with dots in backquotes")
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, (ast.List, ast.Tuple)) or (
                isinstance(part, ast.Constant) and not _is_number(part.value)
            ):
                raise InputError(f"{what} computes with what is no number")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        _check_power(node, what)


def _check_power(node: ast.BinOp, what: str) -> None:
    """A power of constants may not grow without end: 9**9**9 has more digits than memory."""
    for side, size in ((node.left, LARGEST_BASE), (node.right, LARGEST_POWER)):
        if any(isinstance(part, ast.Name) for part in ast.walk(side)):
            continue
        number = side.operand if isinstance(side, ast.UnaryOp) else side
        if not (isinstance(number, ast.Constant) and _is_number(number.value)):
            raise InputError(f"{what}: write the power of constants as one number")
        if not abs(number.value) <= size:  # type: ignore[arg-type]
            raise InputError(f"{what}: {ast.unparse(side)} is too large in a power")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
