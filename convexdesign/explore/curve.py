"""The explorer's other page: measurements at settings x of an interval, whose mean is a curve f(x)'theta.

The design is over the whole interval, not over a grid, and so is its proof: the sensitivity, drawn over the interval, nowhere
exceeds the bound (`convexdesign.regions`).
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlencode

import numpy as np

from convexdesign.errors import ConvergenceWarning, ConvexDesignError, InputError
from convexdesign.problem import DesignProblem

__all__ = ["CRITERIA", "CURVES", "CurveState", "curve_answer"]

# What the value of a design is, by kind of problem.
ABOUT = {
    "d-optimal": "Log determinant of the information",
    "g-optimal": "Largest variance of a prediction over the interval",
    "a-optimal": "Sum of the variances of the coefficients",
    "c-optimal": "Variance of what is wanted",
    "e-optimal": "Least eigenvalue of the information",
}
CRITERIA = tuple(ABOUT)
LONGEST = 200  # letters of a model
MOST_SECONDS = 5.0
MOST_SETTINGS = 40


@dataclass(frozen=True)
class CurveState:
    """What is set on the page of curves; checked when it is made.

    model: terms in x, "1 + x + x**2", or with parameters a nonlinear mean such as "V*x/(K + x)"; parameters: where its
    derivatives are taken, "V=200, K=0.06", or nothing; low, high: the interval; noise: the variance of a measurement, an
    expression in x, one if empty; wanted: of c-optimal a term or parameter, or "x = 2", the mean outcome there; own: settings
    with their shares, "-1:0.5;1:0.5", to be judged beside the best.

    >>> CurveState(model="1 + x", low=0, high=2).to_query()
    'problem=d-optimal&model=1%20%2B%20x&parameters=&low=0.0&high=2.0&noise=&wanted=&own='
    """

    problem: str = "d-optimal"
    model: str = "1 + x + x**2"
    parameters: str = ""
    low: float = -1.0
    high: float = 1.0
    noise: str = ""
    wanted: str = ""
    own: str = ""

    def __post_init__(self) -> None:
        if self.problem not in CRITERIA:
            raise InputError(f"problem is {self.problem!r}; choose one of {', '.join(CRITERIA)}")
        for name in ("model", "parameters", "noise", "wanted", "own"):
            text, most = getattr(self, name), LONGEST * (1 if name != "own" else 10)
            if not isinstance(text, str) or len(text) > most:
                raise InputError(f"{name} must be a text of at most {most} letters")
        if not self.model.strip():
            raise InputError("the model is empty; give terms in x, such as 1 + x + x**2")
        for name in ("low", "high"):
            try:
                number = float(getattr(self, name))
            except (TypeError, ValueError):
                number = math.nan
            if not abs(number) <= 1e6:
                raise InputError(
                    f"the {name} end of the interval is {getattr(self, name)!r}; give a number of moderate size"
                )
            object.__setattr__(self, name, number)
        if not self.low < self.high:
            raise InputError(f"the interval goes from {self.low:g} to {self.high:g}; the second end must be larger")
        # Read once, so that what is wrong is said at once.
        for read in (self.guesses, self.settings, lambda: self.place):
            read()

    def settings(self) -> tuple[list[float], list[float]]:
        """The settings of one's own, and their shares, of sum one."""
        parts = [part.partition(":") for part in self.own.split(";") if part.strip()]
        try:
            x, shares = [float(part[0]) for part in parts], [float(part[2]) for part in parts]
        except ValueError:
            raise InputError(f"own says {self.own!r}; write settings and their shares as -1:0.5;1:0.5") from None
        if len(x) > MOST_SETTINGS or not all(self.low <= v <= self.high for v in x):
            raise InputError(f"own settings are at most {MOST_SETTINGS}, from {self.low:g} to {self.high:g}")
        total = sum(shares)
        if parts and not (all(w >= 0 for w in shares) and 0 < total < math.inf):
            raise InputError("the shares of own settings are not negative, and not all zero")
        return x, [w / total for w in shares]

    def guesses(self) -> dict[str, float]:
        """The parameters' values by name."""
        found: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in re.split(r"[,;]\s", f"{self.parameters.strip()} "))):
            name, sign, text = part.partition("=")
            try:
                found[name.strip()] = float(text)
            except ValueError:
                sign = ""
            if not sign or not name.strip().isidentifier() or name.strip() == "x":
                raise InputError(f"parameters say {part!r}; write them as V=200, K=0.06")
        return found

    def to_query(self) -> str:
        """The link's part after the question mark."""
        from urllib.parse import quote

        return urlencode(vars(self), quote_via=quote)

    @classmethod
    def from_query(cls, query: str) -> CurveState:
        """The curve of a link; what it does not say is as in CurveState()."""
        # With a space in it, as it is or as browsers write it, a plus is a plus: forms write spaces as pluses.
        written = query.replace("+", "%2B") if " " in query or "%20" in query else query
        given = {name: values[-1] for name, values in parse_qs(written, keep_blank_values=True).items()}
        return cls(**{name: value for name, value in given.items() if name in cls.__dataclass_fields__})  # type: ignore[arg-type]

    def design_problem(self) -> DesignProblem:
        """The problem over the interval; InputError where the model makes no sense there."""
        from convexdesign.regions import Model, Region

        guesses = self.guesses()
        model = Model.nonlinear(self.model, guesses) if guesses else Model.formula(self.model)
        over: Any = model.over(Region.box(x=(self.low, self.high)))
        options: dict[str, Any] = {"noise_variance": self.noise} if self.noise.strip() else {}
        if self.problem != "c-optimal":
            made: DesignProblem = getattr(DesignProblem, self.problem.replace("-", "_"))(over, **options)
            return made
        if self.place is not None:
            return DesignProblem(over, {"x": [self.place]}, **options)
        wanted = self.wanted.strip()
        if wanted not in over.terms:
            raise InputError(f"wanted is {wanted!r}; name one of {', '.join(over.terms)}, or a setting, such as x = 2")
        return DesignProblem.c_optimal(over, {wanted: 1.0}, **options)

    @property
    def place(self) -> float | None:
        """Where the mean outcome is wanted, if it is."""
        name, sign, text = self.wanted.partition("=")
        if not sign or name.strip() != "x":
            return None
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not abs(found) <= 1e6:
            raise InputError(f"wanted is {self.wanted!r}; write a setting as x = 2")
        return found

    def program(self) -> str:
        """Python code of the design."""
        guesses = self.guesses()
        model = f"nonlinear({self.model!r}, {guesses})" if guesses else f"formula({self.model!r})"
        noise = f", noise_variance={self.noise!r}" if self.noise.strip() else ""
        aim = "" if self.problem != "c-optimal" else f", {{{self.wanted.strip()!r}: 1.0}}"
        kind = f".{self.problem.replace('-', '_')}"
        if self.problem == "c-optimal" and self.place is not None:
            kind, aim = "", f', {{"x": [{self.place!r}]}}'
        x, shares = self.settings()
        judge = f'print(cd.verify(problem, runs={{"x": {x}}}, weights={shares}))\n' if x else ""
        return (
            "import convexdesign as cd\n\n"
            f"curve = cd.Model.{model}.over(cd.Region.box(x=({self.low!r}, {self.high!r})))\n"
            f"problem = cd.DesignProblem{kind}(curve{aim}{noise})\n"
            f"design = cd.solve(problem)\nprint(design)\nprint(design.to_frame())\n{judge}"
        )


CURVES = {
    "A parabola": CurveState(),
    "A cubic": CurveState(model="1 + x + x**2 + x**3"),
    "A parabola through the origin": CurveState(model="x + x**2", low=0.0, high=1.0),
    "A parabola, predicted everywhere": CurveState(problem="g-optimal"),
    "All coefficients of a parabola": CurveState(problem="a-optimal"),
    "How fast an enzyme works": CurveState(model="V*x/(K + x)", parameters="V=200, K=0.06", low=0.01, high=1.1),
    "The curvature of a parabola": CurveState(problem="c-optimal", wanted="x**2"),
    "A cubic, extrapolated": CurveState(problem="c-optimal", model="1 + x + x**2 + x**3", wanted="x = 2"),
    "A cubic with less noise in the middle": CurveState(model="1 + x + x**2 + x**3", noise="1/(1 - x**2)"),
    "Decay": CurveState(model="A*exp(-k*x)", parameters="A=1, k=0.5", low=0.0, high=10.0),
}


def curve_answer(sent: Mapping[str, Any], saved: bool = False) -> dict[str, Any]:
    """What the page shows: the sensitivity over the interval, its bound, and the settings; or what is wrong.

    saved: also the design itself, as plain data.

    >>> shown = curve_answer({"query": "model=1+%2B+x"})
    >>> [(p["x"], round(p["weight"], 4)) for p in shown["points"]], round(shown["most"], 4)
    ([(-1.0, 0.5), (1.0, 0.5)], 2.0)
    """
    first = {"criteria": CRITERIA, "examples": [{"title": t, "query": c.to_query()} for t, c in CURVES.items()]}
    try:
        state = CurveState.from_query(str(sent.get("query", "")))
    except InputError as error:
        return first | {"message": str(error)}
    fields = vars(state) | {"query": state.to_query(), "code": state.program()}
    try:
        return first | fields | _solved(state, saved)
    except ConvexDesignError as error:
        return first | fields | {"message": str(error)}


def _solved(state: CurveState, saved: bool) -> dict[str, Any]:
    from convexdesign.plotting.region import region_data
    from convexdesign.regions.saved import design_to_json

    design: Any = best_of(replace(state, own=""))
    if design.certificate.vectors is None:
        raise InputError("nothing was proven of a design within the time allowed; try a simpler model")
    data = region_data(design)
    assert data.sensitivity is not None
    points = [
        {"x": float(x), "weight": float(w), "height": float(h)}
        for x, w, h in sorted(zip(data.points[:, 0], data.weights, data.heights))
    ]
    return {
        "x": data.axes[0].tolist(),
        "sensitivity": [None if math.isnan(s) else float(s) for s in data.sensitivity[0]],
        "most": data.most,
        "points": points,
        "value": float(design.value),
        "bound": float(design.bound),
        "gap": float(design.gap),
        "status": design.status.value,
        "about": ABOUT[state.problem],
        "mine": own_of(state, design, data.axes[0]),
    } | ({"saved": design_to_json(design)} if saved else {})


def own_of(state: CurveState, best: Any, axis: Any) -> dict[str, Any] | None:
    """What the settings of one's own are worth, where there are any."""
    from convexdesign.explore.own import judged

    x, shares = (np.array(values) for values in state.settings())
    return judged(best, x, shares, axis) if len(x) else None


@lru_cache(maxsize=4)
def best_of(state: CurveState) -> Any:
    """The best design; kept, for it stays the same while settings of one's own are moved."""
    from convexdesign.solving import solve

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is shown
        return solve(state.design_problem(), time_limit=MOST_SECONDS)
