"""Polynomials and inequalities as text: arithmetic of names and numbers, parsed and compared with what is allowed."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from fractions import Fraction

from convexdesign.errors import InputError
from convexdesign.regions.polynomial import Polynomial

__all__ = ["Ratio", "parse_inequalities", "parse_ratio"]

# A larger power is a mistake.
LARGEST_POWER = 20
LONGEST = 5000
Ratio = tuple[Polynomial, Polynomial]


def parse_ratio(text: str, names: Sequence[str], what: str) -> Ratio:
    """Numerator and denominator of a rational function of the names; InputError naming what is not one."""
    return _ratio(_tree(text, what), tuple(names), what)


def parse_inequalities(text: str, names: Sequence[str]) -> list[Polynomial]:
    """Polynomials g with g >= 0 exactly where the text holds: "x + y <= 1", "1 <= x**2 + y**2 <= 4".

    Strict inequalities count as weak ones: a region is closed.
    """
    what = f"the condition {text!r}"
    tree = _tree(text, what)
    if not isinstance(tree, ast.Compare):
        raise InputError(f"{what} is no inequality; write one such as 'x + 2*y <= 3'")
    sides = [_polynomial(side, tuple(names), what) for side in (tree.left, *tree.comparators)]
    out = []
    for low, sign, high in zip(sides, tree.ops, sides[1:]):
        if isinstance(sign, (ast.LtE, ast.Lt)):
            out.append(high - low)
        elif isinstance(sign, (ast.GtE, ast.Gt)):
            out.append(low - high)
        else:
            raise InputError(
                f"{what} is no inequality; solve an equation for one of its factors and leave that one out"
            )
    return out


def _tree(text: str, what: str) -> ast.expr:
    if not isinstance(text, str):
        raise InputError(f"{what} is of type {type(text).__name__}; give text")
    if len(text) > LONGEST:
        raise InputError(f"{what} has {len(text)} characters; at most {LONGEST}")
    try:
        return ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{what} is no arithmetic; check its brackets and signs") from None


def _polynomial(node: ast.expr, names: tuple[str, ...], what: str) -> Polynomial:
    top, bottom = _ratio(node, names, what)
    if not bottom.is_constant:
        raise InputError(f"{what} divides by a factor; multiply both sides by it")
    return top * Polynomial.constant(1 / bottom.constant_term(), names)


def _ratio(node: ast.expr, names: tuple[str, ...], what: str) -> Ratio:
    one = Polynomial.constant(1, names)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return Polynomial.constant(Fraction(str(node.value)), names), one
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise InputError(f"{what} names {node.id!r}; the factors are {', '.join(names)}")
        return Polynomial.variable(node.id, names), one
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        top, bottom = _ratio(node.operand, names, what)
        return (-top if isinstance(node.op, ast.USub) else top), bottom
    if isinstance(node, ast.BinOp):
        return _binary(node, names, what)
    raise InputError(f"{what} holds {ast.unparse(node)!r}; write sums, products and powers of {', '.join(names)}")


def _binary(node: ast.BinOp, names: tuple[str, ...], what: str) -> Ratio:
    if isinstance(node.op, ast.Pow):
        power = _whole(node.right, what)
        top, bottom = _ratio(node.left, names, what)
        return (top**power, bottom**power) if power >= 0 else (bottom**-power, top**-power)
    (a, b), (c, d) = _ratio(node.left, names, what), _ratio(node.right, names, what)
    match node.op:
        case ast.Add():
            return (a + c, b) if b == d else (a * d + c * b, b * d)
        case ast.Sub():
            return (a - c, b) if b == d else (a * d - c * b, b * d)
        case ast.Mult():
            return a * c, b * d
        case ast.Div():
            if not c.terms:
                raise InputError(f"{what} divides by zero")
            return a * d, b * c
    raise InputError(f"{what} holds {ast.unparse(node)!r}; write sums, products and powers")


def _whole(node: ast.expr, what: str) -> int:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    if not (isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value <= LARGEST_POWER):
        raise InputError(f"{what}: a power must be a whole number, at most {LARGEST_POWER}")
    return sign * int(node.value)
