"""Regions of settings: where the factors of an experiment may be set, as pieces described by polynomial inequalities."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import numeric, real, shown
from convexdesign.errors import InputError
from convexdesign.regions.polynomial import Polynomial
from convexdesign.regions.text import parse_inequalities
from convexdesign.typing import Floats

__all__ = ["Condition", "Part", "Region"]

# More level combinations than this would each need a proof of their own.
MOST_PIECES = 4096
MAX_FACTORS = 30


@dataclass(frozen=True)
class Condition:
    """Inequalities as text, which become part of a region by `region & condition`.

    Parameters
    ----------
    texts : tuple of str
        Such as "temp + 10*time <= 210".
    """

    texts: tuple[str, ...]

    def __and__(self, other: Condition) -> Condition:
        if not isinstance(other, Condition):
            return NotImplemented
        return Condition(self.texts + other.texts)


@dataclass(frozen=True)
class Part:
    """What a region was built of, where its moments are known in closed form: shape "box", "ball" or "simplex"."""

    shape: str
    names: tuple[str, ...]
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    centre: tuple[Fraction, ...] = ()
    radius: Fraction = Fraction(0)


@dataclass(frozen=True)
class Region:
    """A closed, bounded set of settings of named factors.

    Built by `box`, `ball`, `simplex`, `polytope` and `levels`; `&` adds conditions, `*` joins regions of different factors.

    Parameters
    ----------
    factors : tuple of str
        All names, in the order in which tables show them.
    names : tuple of str
        The continuous coordinates that are left after equalities are eliminated, q of them.
    lower, upper : tuple of Fraction
        A box that contains the region, exact.
    inequalities : tuple of Polynomial
        Polynomials g of the coordinates; the region is where all g >= 0 within the box.
    boxed : tuple of bool
        For each coordinate whether its limits are part of what defines the region, or follow from the inequalities.
    eliminated : tuple of (str, Polynomial)
        Factors that the others determine (the last component of a mixture).
    choices : tuple of (str, tuple)
        Discrete factors with their levels.
    parts : tuple of Part, optional
        The shapes with known moments that the region is the product of, or None.
    forms : tuple of Polynomial, optional
        The coordinates as functions of the factors, where they are others than these.

    Examples
    --------
    >>> import convexdesign as cd
    >>> region = cd.Region.box(temp=(150, 190), time=(1, 4)) & cd.Region.where("temp + 10*time <= 210")
    >>> region.contains({"temp": [150, 190], "time": [2, 4]}).tolist()
    [True, False]
    """

    factors: tuple[str, ...]
    names: tuple[str, ...]
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    inequalities: tuple[Polynomial, ...]
    boxed: tuple[bool, ...]
    eliminated: tuple[tuple[str, Polynomial], ...] = ()
    choices: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    parts: tuple[Part, ...] | None = None
    forms: tuple[Polynomial, ...] = ()

    # ------------------------------------------------------------ constructors

    @classmethod
    def box(cls, **limits: Sequence[float]) -> Region:
        """Every factor between its own limits.

        Parameters
        ----------
        **limits
            For each factor its name and a pair of numbers, the lower and the upper limit.

        Returns
        -------
        Region
            The box.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.Region.box(temp=(150, 190), time=(1, 4))
        Region(temp in [150, 190], time in [1, 4])
        """
        names = _names(limits)
        pairs = [_limits(name, limits[name]) for name in names]
        lower, upper = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
        return cls(names, names, lower, upper, (), (True,) * len(names), parts=(Part("box", names, lower, upper),))

    @classmethod
    def ball(cls, centre: Mapping[str, float] | Sequence[str], radius: float = 1.0) -> Region:
        """All settings within a distance of a centre.

        Parameters
        ----------
        centre : mapping or sequence of str
            A mapping from names to numbers, or names alone for a centre of zeros.
        radius : float, default 1
            The distance, positive.

        Returns
        -------
        Region
            The ball.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.Region.ball(["x", "y"], 2).contains({"x": [1.0, 1.5], "y": [1.0, 1.5]}).tolist()
        [True, False]
        """
        middle = dict(centre) if isinstance(centre, Mapping) else dict.fromkeys(centre, 0.0)
        names = _names(middle)
        r = _number(radius, "radius")
        if not r > 0:
            raise InputError(f"radius is {shown(radius)}; give a positive number")
        c = [_number(middle[name], f"the centre of {name}") for name in names]
        g = Polynomial.constant(r * r, names)
        for name, value in zip(names, c):
            g = g - (Polynomial.variable(name, names) - Polynomial.constant(value, names)) ** 2
        lower, upper = tuple(x - r for x in c), tuple(x + r for x in c)
        part = Part("ball", names, lower, upper, tuple(c), r)
        return cls(names, names, lower, upper, (g,), (False,) * len(names), parts=(part,))

    @classmethod
    def simplex(
        cls,
        names: Sequence[str],
        lower: Mapping[str, float] | Sequence[float] | float = 0.0,
        upper: Mapping[str, float] | Sequence[float] | float = 1.0,
    ) -> Region:
        """Proportions of a mixture, which sum to one, each between its own limits. The last is eliminated.

        Parameters
        ----------
        names : sequence of str
            The components, at least two.
        lower, upper : float, sequence or mapping
            Limits: one number for all, one for each in order, or a mapping from names; 0 and 1 by default.

        Returns
        -------
        Region
            The simplex, as far as the limits leave it.

        Examples
        --------
        >>> import convexdesign as cd
        >>> mixture = cd.Region.simplex(["water", "sugar", "acid"], upper={"sugar": 0.6})
        >>> mixture.contains({"water": [0.3, 0.5], "sugar": [0.7, 0.4], "acid": [0.0, 0.1]}).tolist()
        [False, True]
        """
        names = _names(names)
        if len(names) < 2:
            raise InputError(f"a mixture has at least two components, got {list(names)}")
        low, high = _per_name(lower, names, "lower"), _per_name(upper, names, "upper")
        low = [max(x, Fraction(0)) for x in low]
        # What the others leave limits every component.
        top = [min(high[k], 1 - (sum(low) - low[k])) for k in range(len(names))]
        bottom = [max(low[k], 1 - (sum(high) - high[k])) for k in range(len(names))]
        for name, a, b in zip(names, bottom, top):
            if not a < b:
                raise InputError(f"the limits leave {name} between {float(a):g} and {float(b):g}: no room; widen them")
        free = names[:-1]
        last = Polynomial.constant(1, free)
        for name in free:
            last = last - Polynomial.variable(name, free)
        sides = [Polynomial.variable(name, free) for name in free] + [last]
        g = []
        for k, side in enumerate(sides):
            # A limit that the others imply is left out; one that is attained by them alone is not.
            if low[k] >= bottom[k]:
                g.append(side - Polynomial.constant(low[k], free))
            if high[k] <= top[k] and not _implied(k, low, high):
                g.append(Polynomial.constant(high[k], free) - side)
        plain = all(_implied(k, low, high) for k in range(len(names)))
        part = (Part("simplex", names, tuple(low), tuple(top)),) if plain else None
        out = cls(
            names,
            free,
            tuple(bottom[:-1]),
            tuple(top[:-1]),
            tuple(g),
            (False,) * len(free),
            ((names[-1], last),),
            (),
            part,
        )
        return out

    @classmethod
    def polytope(cls, A: ArrayLike | Any, b: ArrayLike, names: Sequence[str] | None = None) -> Region:
        """All x with A x <= b, which must be bounded.

        Parameters
        ----------
        A : array_like
            (m, q), one row for each inequality; a DataFrame names its columns.
        b : array_like
            (m,), the right sides.
        names : sequence of str, optional
            The factors, where A has no names; x1, x2, ... by default.

        Returns
        -------
        Region
            The polytope, with a box around it that is proven from the multipliers of linear programs.

        Examples
        --------
        >>> import convexdesign as cd
        >>> triangle = cd.Region.polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1], names=["x", "y"])
        >>> triangle.contains({"x": [0.5, 0.6], "y": [0.4, 0.6]}).tolist()
        [True, False]
        """
        if names is None:
            names = [str(name) for name in A.columns] if hasattr(A, "columns") else None
        matrix, right = np.atleast_2d(numeric(A, "A")).astype(float), np.atleast_1d(numeric(b, "b")).astype(float)
        names = _names(names if names is not None else [f"x{k + 1}" for k in range(matrix.shape[1])])
        if matrix.shape != (right.size, len(names)):
            raise InputError(
                f"A has the shape {matrix.shape}; with {right.size} rows of b it must be ({right.size}, {len(names)})"
            )
        for name, values in (("A", matrix), ("b", right)):
            bad = np.argwhere(~np.isfinite(values))
            if len(bad):
                at = ", ".join(map(str, bad[0].tolist()))
                raise InputError(f"{name}[{at}] is {values[tuple(bad[0])]}; give finite numbers")
        from convexdesign.regions.bounds import polytope_bounds

        lower, upper = polytope_bounds(matrix, right, names)
        g = []
        for row, value in zip(matrix, right):
            side = Polynomial.constant(Fraction(float(value)), names)
            for name, entry in zip(names, row):
                side = side - Polynomial.constant(Fraction(float(entry)), names) * Polynomial.variable(name, names)
            g.append(side)
        return cls(names, names, lower, upper, tuple(g), (False,) * len(names))

    @classmethod
    def levels(cls, **choices: Sequence[Any]) -> Region:
        """Discrete factors, each with its levels.

        Parameters
        ----------
        **choices
            For each factor its name and a list of levels, numbers or names.

        Returns
        -------
        Region
            All combinations; times another region it is that region for each of them.

        Examples
        --------
        >>> import convexdesign as cd
        >>> region = cd.Region.levels(batch=["A", "B"]) * cd.Region.box(x=(-1, 1))
        >>> region.pieces
        [{'batch': 'A'}, {'batch': 'B'}]
        """
        names = _names(choices)
        for name in names:
            given = choices[name]
            if isinstance(given, str) or not hasattr(given, "__iter__"):
                raise InputError(f"the levels of {name} are {shown(given)}; give a list of numbers or names")
            if len(set(given)) < len(list(given)) or not list(given):
                raise InputError(f"the levels of {name} are {shown(list(given))}; give different ones, at least one")
        listed = tuple((name, tuple(choices[name])) for name in names)
        out = cls(names, (), (), (), (), (), choices=listed, parts=())
        out._check_pieces()
        return out

    @staticmethod
    def where(*conditions: str) -> Condition:
        """Polynomial inequalities, which become part of a region by `region & Region.where(...)`.

        Parameters
        ----------
        *conditions
            Text such as "temp + 10*time <= 210" or "1 <= x**2 + y**2 <= 4"; all of them hold. Strict inequalities count
            as weak ones: a region is closed.

        Returns
        -------
        Condition
            The inequalities.

        Examples
        --------
        >>> import convexdesign as cd
        >>> ring = cd.Region.box(x=(-2, 2), y=(-2, 2)) & cd.Region.where("1 <= x**2 + y**2 <= 4")
        >>> ring.contains({"x": [0.0, 1.5], "y": [0.5, 0.0]}).tolist()
        [False, True]
        """
        for text in conditions:
            if not isinstance(text, str):
                raise InputError(f"a condition is text, got {type(text).__name__}")
        return Condition(tuple(conditions))

    # --------------------------------------------------------------- algebra

    def __and__(self, condition: Condition) -> Region:
        if not isinstance(condition, Condition):
            return NotImplemented
        named = self.names + tuple(name for name, _ in self.eliminated)
        extra = []
        for text in condition.texts:
            for name, _ in self.choices:
                if re.search(rf"\b{name}\b", text):
                    raise InputError(
                        f"the condition {text!r} names {name}, which has levels; name continuous factors alone"
                    )
            for g in parse_inequalities(text, named):
                reduced = g.substituted(dict(self.eliminated), self.names)
                if reduced.is_constant:
                    raise InputError(f"the condition {text!r} does not depend on the settings")
                extra.append(reduced)
        out = replace(self, inequalities=self.inequalities + tuple(extra), parts=None)
        from convexdesign.regions.bounds import check_inhabited

        check_inhabited(out, " and ".join(condition.texts))
        return out

    def __mul__(self, other: Region) -> Region:
        if not isinstance(other, Region):
            return NotImplemented
        common = set(self.factors) & set(other.factors)
        if common:
            raise InputError(f"both regions have the factor {min(common)!r}; use & for conditions on the same factors")
        names = self.names + other.names
        moved = [tuple(g.substituted({}, names) for g in part.inequalities) for part in (self, other)]
        gone = tuple((name, p.substituted({}, names)) for part in (self, other) for name, p in part.eliminated)
        out = Region(
            self.factors + other.factors,
            names,
            self.lower + other.lower,
            self.upper + other.upper,
            moved[0] + moved[1],
            self.boxed + other.boxed,
            gone,
            self.choices + other.choices,
            None if self.parts is None or other.parts is None else self.parts + other.parts,
        )
        out._check_pieces()
        return out

    def _check_pieces(self) -> None:
        count = 1
        for _, levels in self.choices:
            count *= len(levels)
        if count > MOST_PIECES:
            raise InputError(
                f"the levels make {count} combinations; at most {MOST_PIECES}, each with its own proof: leave some out"
            )

    # ------------------------------------------------------------- questions

    @property
    def q(self) -> int:
        """The number of continuous coordinates."""
        return len(self.names)

    @property
    def pieces(self) -> list[dict[str, Any]]:
        """The combinations of levels, one dict each; a single empty one without discrete factors."""
        names = [name for name, _ in self.choices]
        return [dict(zip(names, combination)) for combination in product(*(levels for _, levels in self.choices))]

    @property
    def centre(self) -> list[Fraction]:
        """The middle of the box around the region."""
        return [(a + b) / 2 for a, b in zip(self.lower, self.upper)]

    @property
    def half(self) -> list[Fraction]:
        """Half the sides of that box."""
        return [(b - a) / 2 for a, b in zip(self.lower, self.upper)]

    def coordinates(self, settings: Any) -> tuple[list[int], Floats]:
        """The piece and the continuous coordinates of each row of a table.

        Parameters
        ----------
        settings : table
            A table with a column for each factor, a dict of columns, or a list of dicts.

        Returns
        -------
        where : list of int
            The number of the piece (combination of levels) of each row.
        x : array of float
            (n, q), the continuous coordinates.

        Raises
        ------
        InputError
            Where a factor is missing, no number, or no level of its own.
        """
        free = self.forms[0].names if self.forms else ()
        columns = _columns(settings, self.factors, [name for name, _ in self.eliminated if name not in free])
        n = len(next(iter(columns.values())))
        pieces = self.pieces
        where = []
        for k in range(n):
            level = {name: _level(columns[name][k], levels, name, k) for name, levels in self.choices}
            where.append(pieces.index(level))
        given = self.forms[0].names if self.forms else self.names
        x = np.empty((n, self.q))
        for j, name in enumerate(given):
            for k in range(n):
                x[k, j] = float(_number(columns[name][k], f"{name} in row {k}"))
        if self.forms:
            x = np.column_stack([form.at(x) for form in self.forms])
        for name, p in self.eliminated:
            if name in columns:
                shown_there = np.array([float(_number(value, name)) for value in columns[name]])
                off = np.abs(shown_there - p.at(x))
                if off.max(initial=0.0) > 1e-6 and name not in free:
                    k = int(off.argmax())
                    raise InputError(
                        f"row {k}: {name} is {shown_there[k]:g}, but the other components leave {p.at(x)[k]:g}; write all "
                        f"with more digits, or leave the column {name} out"
                    )
        return where, x

    def inside(self, x: Floats, slack: float = 1e-9) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each row of coordinates lies in the region.

        Parameters
        ----------
        x : array of float
            (n, q), continuous coordinates.
        slack : float, default 1e-9
            The share of its size by which an inequality may be missed: rounding.

        Returns
        -------
        array of bool
            (n,), whether all inequalities hold.
        """
        low, high = np.array(self.lower, dtype=float), np.array(self.upper, dtype=float)
        ok = np.asarray(((x >= low - slack * (high - low)) & (x <= high + slack * (high - low))).all(axis=1))
        for g, size in zip(self.inequalities, self._sizes):
            ok &= g.at(x) >= -slack * size
        return ok

    @cached_property
    def _sizes(self) -> list[float]:
        """How large each inequality may be on the box."""
        return [float(sum(abs(v) for v in self.scaled(g).values())) for g in self.inequalities]

    def contains(self, settings: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each row of a table of settings lies in the region.

        Parameters
        ----------
        settings : table
            A table with a column for each factor, a dict of columns, or a list of dicts.

        Returns
        -------
        array of bool
            (n,), whether all inequalities hold, up to rounding.
        """
        return self.inside(self.coordinates(settings)[1])

    def scaled(self, g: Polynomial) -> dict[tuple[int, ...], Fraction]:
        """A polynomial of the coordinates in Chebyshev polynomials of those scaled to [-1, 1].

        Parameters
        ----------
        g : Polynomial
            The polynomial.

        Returns
        -------
        dict
            Its exact coefficients by their degrees.
        """
        return g.chebyshev(self.centre, self.half)

    def table(self, pieces: Sequence[int], x: Floats) -> dict[str, list[Any]]:
        """Columns of settings.

        Parameters
        ----------
        pieces : sequence of int
            (n,), the piece of each row.
        x : array of float
            (n, q), its continuous coordinates.

        Returns
        -------
        dict
            A list for each factor.
        """
        combinations = self.pieces
        columns: dict[str, list[Any]] = {}
        gone = {name: p.at(x) for name, p in self.eliminated}
        for name in self.factors:
            if name in self.names:
                columns[name] = x[:, self.names.index(name)].tolist()
            elif name in gone:
                columns[name] = gone[name].tolist()
            else:
                columns[name] = [combinations[piece][name] for piece in pieces]
        return columns

    def __repr__(self) -> str:
        limits = ", ".join(
            f"{name} in [{float(a):g}, {float(b):g}]" for name, a, b in zip(self.names, self.lower, self.upper)
        )
        gone = "".join(f", {name} the rest" for name, _ in self.eliminated)
        levels = "".join(f", {name} in {list(values)}" for name, values in self.choices)
        more = f", {len(self.inequalities)} inequalities" if self.inequalities else ""
        return f"Region({(limits + gone + levels + more).lstrip(', ')})"


def _implied(k: int, low: list[Fraction], high: list[Fraction]) -> bool:
    """Whether the lower limits of the other components imply the upper one of this."""
    return high[k] >= 1 - (sum(low) - low[k])


def _names(given: Any) -> tuple[str, ...]:
    names = tuple(given)
    if not names:
        raise InputError("a region has at least one factor; name it, such as Region.box(x=(-1, 1))")
    for name in names:
        if not (isinstance(name, str) and name.isidentifier()):
            raise InputError(f"{name!r} is no name of a factor; give a word of letters, digits and _")
    if len(set(names)) < len(names):
        raise InputError(f"a factor occurs twice in {list(names)}")
    if len(names) > MAX_FACTORS:
        raise InputError(f"{len(names)} factors; at most {MAX_FACTORS}")
    return names


def _number(value: Any, what: str) -> Fraction:
    """A finite number, exactly."""
    if isinstance(value, Fraction):
        return value
    number = real(value)
    if not np.isfinite(number):
        raise InputError(f"{what} is {shown(value)}; give a finite number")
    return Fraction(number)


def _limits(name: str, pair: Any) -> tuple[Fraction, Fraction]:
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise InputError(f"the limits of {name} are {shown(pair)}; give two numbers, such as (-1, 1)")
    low, high = (_number(value, f"a limit of {name}") for value in pair)
    if not low < high:
        raise InputError(f"the limits of {name} are {float(low):g} and {float(high):g}; the first must be the smaller")
    return low, high


def _per_name(given: Any, names: tuple[str, ...], what: str) -> list[Fraction]:
    if isinstance(given, Mapping):
        unknown = set(given) - set(names)
        if unknown:
            raise InputError(f"{what} names {min(unknown)!r}; the components are {', '.join(names)}")
        default = 0.0 if what == "lower" else 1.0
        listed: list[Any] = [given.get(name, default) for name in names]
    elif hasattr(given, "__len__") and not isinstance(given, str):
        listed = list(given)
        if len(listed) != len(names):
            raise InputError(f"{what} has {len(listed)} entries for {len(names)} components")
    else:
        listed = [given] * len(names)
    # A decimal means itself: thirds apart, limits such as 0.1 should add up.
    return [value if isinstance(value, Fraction) else Fraction(str(float(_number(value, what)))) for value in listed]


def _columns(settings: Any, factors: Sequence[str], optional: Sequence[str]) -> dict[str, list[Any]]:
    if hasattr(settings, "columns"):
        found = {str(name): list(settings[name]) for name in settings.columns if str(name) in factors}
    elif isinstance(settings, Mapping):
        found = {
            name: list(value) if hasattr(value, "__len__") and not isinstance(value, str) else [value]
            for name, value in settings.items()
        }
    elif isinstance(settings, Sequence) and settings and all(isinstance(row, Mapping) for row in settings):
        found = {name: [row[name] for row in settings] for name in settings[0]}
    else:
        raise InputError("settings are a table with a column for each factor, a dict of columns, or a list of dicts")
    for name in factors:
        if name not in found and name not in optional:
            raise InputError(f"the settings have no column {name!r}; they need {', '.join(factors)}")
    lengths = {len(column) for column in found.values()}
    if len(lengths) > 1:
        raise InputError(f"the columns of the settings have different lengths: {', '.join(map(str, sorted(lengths)))}")
    return found


def _level(value: Any, levels: tuple[Any, ...], name: str, row: int) -> Any:
    for level in levels:
        if value == level or str(value) == str(level):
            return level
    raise InputError(f"row {row}: {name} is {shown(value)}; its levels are {', '.join(map(str, levels))}")
