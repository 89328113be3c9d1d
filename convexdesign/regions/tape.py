"""Functions of the settings as expression trees: evaluated in floating point, and over boxes with their derivatives.

Text becomes a tree of arithmetic and named functions, never code; derivatives by parameters are SymPy's (extra `nonlinear`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from convexdesign.errors import InputError
from convexdesign.extras import needed
from convexdesign.regions.intervals import UNARY, Interval, Jet
from convexdesign.regions.polynomial import Polynomial
from convexdesign.typing import Floats

__all__ = ["Node", "as_tree", "gradient_by", "number", "parse", "variable"]

LONGEST = 5000
LARGEST_POWER = 64
FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "atan")
PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "atan": np.arctan,
}


@dataclass(frozen=True, eq=False)
class Node:
    """One operation: "number", "name", "+", "*", "power" (whole), or a function of one argument."""

    kind: str
    arguments: tuple[Node, ...] = ()
    value: Any = None

    def at(self, values: Mapping[str, Any]) -> Any:
        """In floating point; values of names are numbers or arrays."""
        with np.errstate(all="ignore"):
            return _plain(self, values, {})

    def over(self, values: Mapping[str, Any]) -> Any:
        """Over boxes; values of names are Jets or numbers, of which one is a Jet: a Jet, or an Interval of a constant."""
        with np.errstate(all="ignore"):
            return _jets(self, values, {})

    def names(self) -> set[str]:
        """The names that occur."""
        if self.kind == "name":
            return {str(self.value)}
        return set().union(*(node.names() for node in self.arguments)) if self.arguments else set()


def number(value: float | Fraction) -> Node:
    """A constant, exact."""
    return Node("number", (), Fraction(value))


def variable(name: str) -> Node:
    """A factor or a parameter."""
    return Node("name", (), name)


def _plain(node: Node, values: Mapping[str, Any], known: dict[int, Any]) -> Any:
    if id(node) in known:
        return known[id(node)]
    match node.kind:
        case "number":
            out: Any = float(node.value)
        case "name":
            out = values[node.value]
        case "+":
            out = sum(
                (_plain(a, values, known) for a in node.arguments[1:]), start=_plain(node.arguments[0], values, known)
            )
        case "*":
            out = 1.0
            for a in node.arguments:
                out = out * _plain(a, values, known)
        case "power":
            out = np.asarray(_plain(node.arguments[0], values, known), dtype=float) ** node.value
        case "logistic" | "normal":
            from scipy.special import expit, ndtr

            out = (expit if node.kind == "logistic" else ndtr)(_plain(node.arguments[0], values, known))
        case "density":
            out = np.exp(-(np.asarray(_plain(node.arguments[0], values, known)) ** 2) / 2.0) / np.sqrt(2.0 * np.pi)
        case _:
            out = PLAIN[node.kind](_plain(node.arguments[0], values, known))
    known[id(node)] = out
    return out


def _jets(node: Node, values: Mapping[str, Any], known: dict[int, Any]) -> Any:
    if id(node) in known:
        return known[id(node)]
    parts = [_jets(a, values, known) for a in node.arguments]
    out: Any
    match node.kind:
        case "number":
            nearest = float(node.value)
            out = Interval.of(nearest) if Fraction(nearest) == node.value else Interval.outward(nearest, nearest)
        case "name":
            given = values[node.value]
            out = given if isinstance(given, Jet) else Interval.of(given)
        case "+":
            out = parts[0]
            for part in parts[1:]:
                out = part + out if isinstance(part, Jet) else out + part
        case "*":
            out = parts[0]
            for part in parts[1:]:
                out = part * out if isinstance(part, Jet) else out * part
        case "power":
            out = parts[0].power(node.value)
        case kind:
            inner = parts[0]
            out = inner.chained(UNARY[kind](inner.value)) if isinstance(inner, Jet) else UNARY[kind](inner)[0]
    known[id(node)] = out
    return out


def as_tree(p: Polynomial) -> Node:
    """A polynomial of the factors as a tree; a constant too depends on the settings, by zero times the first."""
    terms: list[Node] = []
    for key, value in p.terms.items():
        node = number(value)
        for name, power in zip(p.names, key):
            if power:
                node = times(node, Node("power", (variable(name),), power))
        terms.append(node)
    if p.names and (p.is_constant or not terms):
        terms.append(times(number(0), variable(p.names[0])))
    return Node("+", tuple(terms)) if terms else number(0)


# ------------------------------------------------------------------------ text


def parse(text: str, names: Sequence[str], what: str) -> Node:
    """A tree from text: numbers, names, + - * / **, and the functions above; InputError naming what it is not."""
    if not isinstance(text, str):
        raise InputError(f"{what} is of type {type(text).__name__}; give text")
    if len(text) > LONGEST:
        raise InputError(f"{what} has {len(text)} characters; at most {LONGEST}")
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{what} {text!r} is no arithmetic; check its brackets and signs") from None
    return _parsed(tree, tuple(names), what)


def _parsed(node: ast.expr, names: tuple[str, ...], what: str) -> Node:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return number(Fraction(str(node.value)))
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise InputError(f"{what} names {node.id!r}; known are {', '.join(names)}")
        return variable(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _parsed(node.operand, names, what)
        return times(number(-1), inner) if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
        if node.func.id not in FUNCTIONS:
            raise InputError(f"{what} calls {node.func.id!r}; known functions are {', '.join(FUNCTIONS)}")
        return Node(node.func.id, (_parsed(node.args[0], names, what),))
    if isinstance(node, ast.BinOp):
        a, b = _parsed(node.left, names, what), _parsed(node.right, names, what)
        match node.op:
            case ast.Add():
                return Node("+", (a, b))
            case ast.Sub():
                return Node("+", (a, times(number(-1), b)))
            case ast.Mult():
                return times(a, b)
            case ast.Div():
                return times(a, Node("power", (b,), -1))
            case ast.Pow():
                return to_power(a, b, what)
    raise InputError(f"{what} holds {ast.unparse(node)!r}; write sums, products, powers and {', '.join(FUNCTIONS)}")


def times(a: Node, b: Node) -> Node:
    """A product."""
    return Node("*", (a, b))


def to_power(base: Node, exponent: Node, what: str) -> Node:
    """A whole power as such, any other by exp and log, or a square root."""
    value = constant_of(exponent)
    if value is not None and value.denominator == 1:
        if abs(value) > LARGEST_POWER:
            raise InputError(f"{what} has the power {value}; at most {LARGEST_POWER}")
        return Node("power", (base,), int(value))
    if value == Fraction(1, 2):
        return Node("sqrt", (base,))
    return Node("exp", (times(exponent, Node("log", (base,))),))


def constant_of(node: Node) -> Fraction | None:
    """The number that a tree without names and functions is."""
    match node.kind:
        case "number":
            return Fraction(node.value)
        case "*" | "+":
            parts = [constant_of(a) for a in node.arguments]
            out = Fraction(int(node.kind == "*"))
            for part in parts:
                if part is None:
                    return None
                out = out * part if node.kind == "*" else out + part
            return out
        case "power":
            base = constant_of(node.arguments[0])
            return None if base is None or (base == 0 and node.value < 0) else base**node.value
    return None


# ----------------------------------------------------------------- derivatives


def gradient_by(node: Node, parameters: Sequence[str]) -> list[Node]:
    """The derivatives by each parameter, by SymPy."""
    sympy = needed("sympy", "a nonlinear model")
    names = sorted(node.names() | set(parameters))
    symbols = {name: sympy.Symbol(f"v{k}", real=True) for k, name in enumerate(names)}
    back = {symbol: name for name, symbol in symbols.items()}
    whole = _to_sympy(node, symbols, sympy)
    return [_from_sympy(sympy.diff(whole, symbols[name]), back, sympy) for name in parameters]


def _to_sympy(node: Node, symbols: Mapping[str, Any], sympy: Any) -> Any:
    parts = [_to_sympy(a, symbols, sympy) for a in node.arguments]
    match node.kind:
        case "number":
            return sympy.Rational(node.value.numerator, node.value.denominator)
        case "name":
            return symbols[node.value]
        case "+":
            return sympy.Add(*parts)
        case "*":
            return sympy.Mul(*parts)
        case "power":
            return parts[0] ** node.value
    return getattr(sympy, node.kind)(parts[0])


def _from_sympy(found: Any, names: Mapping[Any, str], sympy: Any) -> Node:
    if found.is_Symbol:
        return variable(names[found])
    if found.is_Rational:
        return number(Fraction(int(found.p), int(found.q)))
    if found is sympy.E:
        return Node("exp", (number(1),))
    parts = tuple(_from_sympy(a, names, sympy) for a in found.args)
    if found.is_Add:
        return Node("+", parts)
    if found.is_Mul:
        return Node("*", parts)
    if found.is_Pow:
        return to_power(parts[0], parts[1], "a derivative")
    kind = type(found).__name__
    if kind in PLAIN and len(parts) == 1:
        return Node(kind, parts)
    raise InputError(
        f"the derivative of the model holds {found}, which is not known here; write the model with exp and log"
    )


def values_at(nodes: Sequence[Node], values: Mapping[str, Any], n: int) -> Floats:
    """The trees at n settings, (n, len(nodes))."""
    return np.stack([np.broadcast_to(np.asarray(node.at(values), dtype=float), (n,)) for node in nodes], axis=1)
