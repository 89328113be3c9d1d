"""What a reader of the explorer has set, as a value; and the link that brings it back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qs, urlencode

from convexdesign.errors import InputError
from convexdesign.problem.kinds import KINDS

__all__ = ["EXAMPLES", "PROBLEMS", "State"]

Point = tuple[float, float]

# Kinds of problem that make sense in the plane, and which of the reader's settings beyond arms and noise each uses.
PROBLEMS: Mapping[str, tuple[str, ...]] = {
    name: KINDS[name].takes + KINDS[name].needs
    for name in (
        "xy-allocation",
        "best-arm-oracle",
        "level-set-allocation",
        "level-set-oracle",
        "g-optimal",
        "d-optimal",
        "a-optimal",
        "c-optimal",
    )
}
# More points than that cannot be told apart in the picture.
MOST_POINTS = 24
MOST_PULLS = 1_000_000


@dataclass(frozen=True)
class State:
    """Everything the reader can set; checked when it is made, so that whatever holds a State can be shown.

    Parameters
    ----------
    problem : str
        A key of PROBLEMS.
    arms : tuple of points
        (x, y) each.
    noise_variance : tuple of float
        A VARIANCE for each arm.
    items : tuple of points
        (x, y) each; none means the arms themselves.
    theta : point
        The true parameter.
    threshold : float
        What level sets ask about.
    direction : point
        What c-optimality asks about.
    pulls : int
        The number of measurements to divide.
    delta : float
        The failure probability that identification may have.

    Examples
    --------
    >>> state = State(arms=((1, 0), (0.6, 0.8)), noise_variance=(1, 4), pulls=10)
    >>> State.from_query(state.to_query()) == state
    True
    """

    problem: str = "xy-allocation"
    arms: tuple[Point, ...] = ((1.0, 0.0), (0.0, 1.0), (0.88, 0.48))
    noise_variance: tuple[float, ...] = (1.0, 20.0, 1.0)
    items: tuple[Point, ...] = ()
    theta: Point = (1.0, -0.2)
    threshold: float = 0.5
    direction: Point = (0.0, 1.0)
    pulls: int = 60
    delta: float = 0.05

    def __post_init__(self) -> None:
        if self.problem not in PROBLEMS:
            raise InputError(f"problem is {self.problem!r}; choose one of {', '.join(PROBLEMS)}")
        put = object.__setattr__  # the one place where a frozen value is tidied
        put(self, "arms", tuple(_point(p, f"arm {i}") for i, p in enumerate(self.arms)))
        put(self, "items", tuple(_point(p, f"item {i}") for i, p in enumerate(self.items)))
        put(self, "theta", _point(self.theta, "theta"))
        put(self, "direction", _point(self.direction, "direction"))
        put(self, "noise_variance", tuple(_number(v, _noise(i)) for i, v in enumerate(self.noise_variance)))
        put(self, "threshold", _number(self.threshold, "the threshold"))
        put(self, "delta", _number(self.delta, "delta"))
        put(self, "pulls", _whole(self.pulls))
        self._check()

    def _check(self) -> None:
        if not 1 <= len(self.arms) <= MOST_POINTS:
            raise InputError(f"there are {len(self.arms)} arms; the explorer takes 1 to {MOST_POINTS}")
        if len(self.items) > MOST_POINTS:
            raise InputError(f"there are {len(self.items)} items; the explorer takes at most {MOST_POINTS}")
        if len(self.noise_variance) != len(self.arms):
            raise InputError(f"{len(self.noise_variance)} noise variances for {len(self.arms)} arms; give one for each")
        for i, v in enumerate(self.noise_variance):
            if v <= 0:
                raise InputError(f"{_noise(i)} is {v:g}; a variance must be positive: give a larger number")
        if not 0 < self.delta < 1:
            raise InputError(f"delta is {self.delta:g}; give a failure probability between 0 and 1, such as 0.05")

    def to_query(self) -> str:
        """The link's part after the question mark: the state, complete and readable.

        Returns
        -------
        str
            What `from_query` reads.

        Examples
        --------
        >>> State().to_query()[:51]
        'problem=xy-allocation&arms=1,0,1;0,1,20;0.88,0.48,1'
        """
        pairs = [
            ("problem", self.problem),
            ("arms", ";".join(_text(*p, v) for p, v in zip(self.arms, self.noise_variance, strict=True))),
            *([("items", ";".join(_text(*p) for p in self.items))] if self.items else []),
            ("theta", _text(*self.theta)),
            ("threshold", _text(self.threshold)),
            ("direction", _text(*self.direction)),
            ("pulls", str(self.pulls)),
            ("delta", _text(self.delta)),
        ]
        return urlencode(pairs, safe=",;")

    @classmethod
    def from_query(cls, query: str) -> State:
        """The state of a link; what it does not say is as in State().

        Parameters
        ----------
        query : str
            The part after the question mark.

        Returns
        -------
        State
            Checked.

        Raises
        ------
        InputError
            Naming the part that is wrong.
        """
        given = {name: values[-1] for name, values in parse_qs(query.removeprefix("?")).items()}
        read: dict[str, Any] = {}
        if "problem" in given:
            read["problem"] = given["problem"]
        if "arms" in given:
            rows = [
                _numbers(text, 3, f"arms={given['arms']}", "x,y,noise variance") for text in given["arms"].split(";")
            ]
            read["arms"] = tuple((x, y) for x, y, _ in rows)
            read["noise_variance"] = tuple(v for _, _, v in rows)
        if "items" in given:
            read["items"] = tuple(
                _numbers(text, 2, f"items={given['items']}", "x,y") for text in given["items"].split(";")
            )
        for name in ("theta", "direction"):
            if name in given:
                read[name] = _numbers(given[name], 2, f"{name}={given[name]}", "x,y")
        for name in ("threshold", "delta", "pulls"):
            if name in given:
                (read[name],) = _numbers(given[name], 1, f"{name}={given[name]}", "a number")
        return cls(**read)

    def to_fields(self) -> dict[str, Any]:
        """The state as plain data, for the page.

        Returns
        -------
        dict
            What `from_fields` reads.
        """
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_fields(cls, given: Mapping[str, Any]) -> State:
        """The state that the page sent.

        Parameters
        ----------
        given : mapping
            From a field's name to its value.

        Returns
        -------
        State
            Checked.

        Raises
        ------
        InputError
            For values that make no sense.
        """
        known = {f.name for f in fields(cls)}
        try:
            return cls(**{name: value for name, value in given.items() if name in known})
        except TypeError as error:
            raise InputError(f"the settings have the wrong form: {error}") from None

    @property
    def wanted_items(self) -> tuple[Point, ...]:
        """The items that the problem is about; none where it is about the arms themselves."""
        return self.items if "items" in PROBLEMS[self.problem] else ()


def _noise(index: int) -> str:
    return f"the noise variance of arm {index}"


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or abs(number) > 1e9:
        raise InputError(f"{what} is {value!r}; give a number of moderate size")
    return number


def _point(value: Any, what: str) -> Point:
    try:
        x, y = value
    except (TypeError, ValueError):
        raise InputError(f"{what} is {value!r}; give two coordinates") from None
    return _number(x, f"the first coordinate of {what}"), _number(y, f"the second coordinate of {what}")


def _whole(value: Any) -> int:
    number = _number(value, "the number of pulls")
    if number != int(number) or not 1 <= number <= MOST_PULLS:
        raise InputError(f"the number of pulls is {number:g}; give a whole number from 1 to {MOST_PULLS}")
    return int(number)


def _numbers(text: str, count: int, what: str, wanted: str) -> tuple[float, ...]:
    parts = text.split(",")
    try:
        numbers = tuple(float(part) for part in parts)
    except ValueError:
        numbers = ()
    if len(numbers) != count:
        raise InputError(f"the link says {what}, where {wanted} should be, points separated by semicolons")
    return numbers


def _text(*numbers: float) -> str:
    """Numbers as the shortest text that gives them back exactly."""
    return ",".join(repr(x).removesuffix(".0") for x in numbers)


def _around(n: int) -> tuple[Point, ...]:
    angles = [2 * math.pi * k / n for k in range(n)]
    return tuple((round(math.cos(a), 3), round(math.sin(a), 3)) for a in angles)


_THREE = State()
EXAMPLES: Mapping[str, State] = {
    "Three arms, the second very noisy": _THREE,
    "The same: which arm is best?": replace(_THREE, problem="best-arm-oracle"),
    "The same: which are above a threshold?": replace(_THREE, problem="level-set-oracle"),
    "The introduction of the paper": State(
        "best-arm-oracle",
        ((1.0, 0.0), (0.0, 1.0), (round(math.cos(0.5), 6), round(math.sin(0.5), 6))),
        theta=(1.0, 0.0),
    ),
    "A hexagon with equal noise": State("g-optimal", _around(6), (1.0,) * 6),
    "Two clean arms and a noisy diagonal": State(
        "c-optimal", ((1.0, 0.0), (0.0, 1.0), (0.7, 0.7)), (1.0, 1.0, 3.0), direction=(1.0, 1.0)
    ),
    "Measure here, choose there": State(
        "best-arm-oracle",
        ((1.0, 0.0), (0.0, 1.0), (-0.6, 0.6)),
        (1.0, 1.0, 0.25),
        items=((0.9, 0.3), (0.8, 0.55), (0.3, 0.9)),
        theta=(0.8, 0.5),
        pulls=100,
    ),
    "All arms on one line: not enough": State("d-optimal", ((1.0, 0.5), (-0.8, -0.4), (0.4, 0.2)), (1.0, 1.0, 1.0)),
}
