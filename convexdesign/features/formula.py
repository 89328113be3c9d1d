"""Model formulas in Wilkinson's notation, expanded into terms: `1 + a + b + a:b + a**2`, `(a + b + c)**2`, `a / b`.

A term is a product of factors, the columns of the table and calls such as log(a). In Wilkinson's notation a product of a
factor with itself is that factor, so that a**2 and a:a would silently mean a. For numbers they mean the square here, however
it is written (a**2, (a)**2, a:a, a*a = a + a:a, `feed rate`**2); the power of a sum stays the crossing that it is there,
products of different terms: (a + b)**2 = a + b + a:b. Categories have no squares: c:c = c.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb

from convexdesign.errors import FormulaWarning, InputError
from convexdesign.features.expression import CATEGORIES, COLUMNS, LARGEST_POWER, NAME, Columns, Expression, parse_call

__all__ = ["Factor", "Formula", "Term", "parse_formula"]

# More terms than any model has; an expansion ends here before it fills the memory.
MOST_TERMS = 5000
NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
LONGEST = 20_000
DEEPEST = 50


@dataclass(frozen=True)
class Factor:
    """One factor of a term: code over internal names; kind: "numeric", "category" or "columns" (several numbers)."""

    code: str
    kind: str
    used: tuple[str, ...]
    has_state: bool = False


# A factor and its power, in the order written; () is the constant.
Term = tuple[tuple[Factor, float], ...]
CONSTANT: Term = ()
Key = frozenset[tuple[Factor, float]]


@dataclass(frozen=True)
class Formula:
    """The terms in the order written, the constant first where there is one."""

    terms: tuple[Term, ...]

    @property
    def used(self) -> tuple[str, ...]:
        """The columns of the table that it needs."""
        return tuple(dict.fromkeys(name for factor in self.factors for name in factor.used))

    @property
    def factors(self) -> tuple[Factor, ...]:
        """All factors of all terms."""
        return tuple(dict.fromkeys(factor for term in self.terms for factor, _ in term))

    @property
    def has_state(self) -> bool:
        """Whether its columns depend on the whole table: centred, scaled, orthogonal, or coded by levels."""
        return any(factor.has_state for factor in self.factors)


def parse_formula(text: str, columns: Columns) -> Formula:
    """The terms of the formula; InputError for anything but terms of the columns, arithmetic and named functions."""
    if not isinstance(text, str):
        raise InputError(f"a formula is text, got {type(text).__name__}")
    if len(text) > LONGEST:
        raise InputError(f"the formula has {len(text)} characters; at most {LONGEST}")
    parser = _Parser(text, columns)
    terms = parser.whole()
    return Formula(tuple(terms))


class _Parser:
    """Recursive descent over the text: sums of products of interactions of powers."""

    def __init__(self, text: str, columns: Columns):
        self.text = text
        self.columns = columns
        self.at = 0
        self.depth = 0

    def whole(self) -> list[Term]:
        """The formula, with a constant unless it says 0 + or - 1."""
        terms = {_key(CONSTANT): CONSTANT}
        sign = "-" if self._takes("-") else "+"
        if sign == "+":
            self._takes("+")
        while True:
            number = self._bare_number()
            if number is not None:
                terms.pop(_key(CONSTANT), None)
                if (number == 1) == (sign == "+"):
                    terms = {_key(CONSTANT): CONSTANT, **terms}
            else:
                _change(terms, sign, self._product())
            if self._takes("+"):
                sign = "+"
            elif self._takes("-"):
                sign = "-"
            elif self._rest():
                raise InputError(self._unexpected())
            else:
                break
        if not terms:
            raise InputError("it has no terms")
        return list(terms.values())

    def _sum(self) -> list[Term]:
        """A sum inside brackets."""
        terms: dict[Key, Term] = {}
        _change(terms, "+", self._product())
        while True:
            if self._takes("+"):
                _change(terms, "+", self._product())
            elif self._takes("-"):
                _change(terms, "-", self._product())
            else:
                return list(terms.values())

    def _product(self) -> list[Term]:
        left = self._interaction()
        while True:
            if self._takes("%in%"):
                left = _products(left, self._interaction())
            elif self._next("*") and not self._next("**"):
                self._takes("*")
                right = self._interaction()
                left = _distinct([*left, *right, *_products(left, right)])
            elif self._takes("/"):
                start = self.at
                right = self._interaction()
                if left == [CONSTANT]:
                    self._warn_of_nesting(self.text[start : self.at].strip())
                whole = CONSTANT
                for term in left:
                    whole = _united(whole, term)
                left = _distinct([*left, *_products([whole], right)])
            else:
                return left

    def _warn_of_nesting(self, inside: str) -> None:
        """1/a is a + the constant: whoever writes it means the reciprocal."""
        warnings.warn(
            f"1/{inside} is nesting in formulas and means 1 + {inside}, not the reciprocal; write I(1 / {inside}) for that, or "
            f"{inside} alone",
            FormulaWarning,
            stacklevel=2,
        )

    def _interaction(self) -> list[Term]:
        left = self._power()
        while self._takes(":"):
            left = _products(left, self._power())
        return left

    def _power(self) -> list[Term]:
        base = self._atom()
        while self._takes("**") or self._takes("^"):
            base = _power(base, self._exponent())
        return base

    def _exponent(self) -> float:
        bracket = self._takes("(")
        negative = self._takes("-")
        number = self._number()
        if number is None:
            raise InputError(f"a power needs a number behind ** {self._unexpected()}")
        if bracket and not self._takes(")"):
            raise InputError(self._unexpected())
        if not number <= LARGEST_POWER:
            raise InputError(f"a power of {number:g} is too large; at most {LARGEST_POWER}")
        return -number if negative else number

    def _atom(self) -> list[Term]:
        rest = self._rest()
        if rest.startswith("("):
            return self._bracket()
        if rest.startswith("`"):
            end = rest.find("`", 1)
            if end < 0:
                raise InputError("a backquote is not closed")
            self.at += end + 1
            return [self._column(rest[1:end])]
        if rest.startswith("."):
            self.at += 1
            return [self._column(name) for name in self.columns.numeric]
        number = self._number()
        if number is not None:
            if number == 1:
                return [CONSTANT]
            raise InputError(
                f"{number:g} is no term; 1 is the constant, which 0 + removes outside brackets; write I(2 * a)"
            )
        name = NAME.match(rest)
        if name is None:
            raise InputError(self._unexpected())
        self.at += name.end()
        if self._next("("):
            return [self._call(name.group())]
        return [self._column(name.group())]

    def _bracket(self) -> list[Term]:
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError(f"brackets are nested more than {DEEPEST} deep")
        self._takes("(")
        terms = self._sum()
        if not self._takes(")"):
            raise InputError(self._unexpected())
        self.depth -= 1
        return terms

    def _column(self, name: str) -> Term:
        if name not in self.columns.numeric:
            raise self.columns.unknown(name)
        numeric = self.columns.numeric[name]
        return ((Factor(self.columns.internal(name), "numeric" if numeric else "category", (name,), not numeric), 1.0),)

    def _call(self, function: str) -> Term:
        inside = self._inside_brackets()
        call = parse_call(function, inside, self.columns)
        power = _plain_power(call)
        if power is not None:
            name = next(name for name in call.used)
            return ((self._column(name)[0][0], power),)
        kind = "category" if call.function in CATEGORIES else "columns" if call.function in COLUMNS else "numeric"
        return ((Factor(call.code, kind, call.used, call.has_state), 1.0),)

    def _inside_brackets(self) -> str:
        """The text up to the bracket that closes the one here; quotes hide brackets."""
        rest = self._rest()
        depth, quote = 0, ""
        for k, character in enumerate(rest):
            if quote:
                quote = "" if character == quote else quote
            elif character in "'\"`":
                quote = character
            elif character in "([{":
                depth += 1
                if depth > DEEPEST:
                    raise InputError(f"brackets are nested more than {DEEPEST} deep")
            elif character in ")]}":
                depth -= 1
                if depth == 0:
                    self.at += k + 1
                    return rest[1:k]
        raise InputError("a bracket is not closed")

    # ---------------------------------------------------------------- reading

    def _rest(self) -> str:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at :]

    def _next(self, mark: str) -> bool:
        self._rest()
        return self.text.startswith(mark, self.at)

    def _takes(self, mark: str) -> bool:
        found = self._next(mark)
        if found:
            self.at += len(mark)
        return found

    def _number(self) -> float | None:
        found = NUMBER.match(self._rest())
        if found is None or len(found.group()) > 30:
            return None
        self.at += found.end()
        return float(found.group())

    def _bare_number(self) -> int | None:
        """0 or 1 as a whole summand."""
        rest = self._rest()
        if rest[:1] in ("0", "1") and rest[1:].lstrip()[:1] in ("", "+", "-"):
            self.at += 1
            return int(rest[0])
        return None

    def _unexpected(self) -> str:
        rest = self._rest()
        if rest.startswith("~"):
            return "it has a left side; give the terms of the model alone"
        if not rest:
            return "it ends where a term should follow"
        return f"{rest[:20]!r} is not expected there; terms are columns, named functions of them, and + - : * / ** ( )"


def _plain_power(call: Expression) -> float | None:
    """k where the call is I(a ** k) for one column a."""
    inside = call.tree.args[0] if isinstance(call.tree, ast.Call) and len(call.tree.args) == 1 else None
    if call.function != "I" or not isinstance(inside, ast.BinOp) or not isinstance(inside.op, ast.Pow):
        return None
    plain = isinstance(inside.left, ast.Name) and inside.left.id.startswith("cd_num_")
    k = inside.right
    return float(k.value) if plain and isinstance(k, ast.Constant) and isinstance(k.value, (int, float)) else None


def _power(base: list[Term], k: float) -> list[Term]:
    """The power of one term, factor by factor; of a sum the products of up to k different terms."""
    if len(base) == 1:
        (term,) = base
        for factor, _ in term:
            if factor.kind == "columns":
                raise InputError("a power of several columns is not defined; write their terms")
        return [tuple((factor, power * k if factor.kind == "numeric" else 1.0) for factor, power in term)]
    if k != int(k) or not k >= 1:
        raise InputError(f"a sum to the power {k:g} has no meaning; give a whole number")
    most = int(min(k, len(base)))
    if sum(comb(len(base), j) for j in range(1, most + 1)) > MOST_TERMS:
        raise InputError(f"it has more than {MOST_TERMS} terms")
    out: list[Term] = []
    for j in range(1, most + 1):
        for chosen in combinations(base, j):
            product = CONSTANT
            for term in chosen:
                product = _united(product, term)
            out.append(product)
    return _distinct(out)


def _products(left: list[Term], right: list[Term]) -> list[Term]:
    if len(left) * len(right) > MOST_TERMS:
        raise InputError(f"it has more than {MOST_TERMS} terms")
    return _distinct([_product(a, b) for a in left for b in right])


def _product(a: Term, b: Term) -> Term:
    """The product: powers of numbers add, categories stay."""
    powers = dict(a)
    for factor, power in b:
        if factor in powers and factor.kind == "columns":
            raise InputError("a product of several columns with themselves is not defined; write their terms")
        powers[factor] = powers[factor] + power if factor in powers and factor.kind == "numeric" else power
    return tuple((factor, power) for factor, power in powers.items() if power != 0)


def _united(a: Term, b: Term) -> Term:
    """The product of different terms in a crossing, where a common factor counts once."""
    powers = dict(a)
    for factor, power in b:
        same = powers.get(factor)
        if same is not None and same != power:
            powers[factor] = same + power
        else:
            powers[factor] = power
    return tuple(powers.items())


def _change(terms: dict[Key, Term], sign: str, others: Iterable[Term]) -> None:
    """Add terms, each once, or take them away."""
    for term in others:
        if sign == "+":
            terms.setdefault(_key(term), term)
        else:
            terms.pop(_key(term), None)
    if len(terms) > MOST_TERMS:
        raise InputError(f"it has more than {MOST_TERMS} terms")


def _distinct(terms: Iterable[Term]) -> list[Term]:
    found: dict[Key, Term] = {}
    _change(found, "+", terms)
    return list(found.values())


def _key(term: Term) -> Key:
    """Terms are the same whatever the order of their factors."""
    return frozenset(term)
