"""Models that are not linear, at given parameter values: generalised linear models, and any mean by its formula.

One measurement at x of a generalised linear model with inverse link m has the information nu(eta) g(x) g(x)', eta = theta'g(x),
nu = m'(eta)^2 / V(m(eta)), V the variance of the family. Of a nonlinear mean with noise of variance one it is f(x)f(x)' with
the gradient f = d mean / d theta. Designs for them are local: optimal for the parameter values given.

Source: Atkinson, Donev and Tobias, Optimum Experimental Designs, with SAS (2007), chapters 17 and 22.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from convexdesign.arguments import real, shown
from convexdesign.arms.read import read_vector
from convexdesign.errors import InputError
from convexdesign.problem.continuum import Continuum
from convexdesign.regions.model import Curve, Model
from convexdesign.regions.polynomial import Polynomial
from convexdesign.regions.region import Region
from convexdesign.regions.tape import Node, gradient_by, number, parse, times, values_at, variable
from convexdesign.typing import Floats, Indices

__all__ = ["GlmCurve", "GlmModel", "NonlinearCurve", "NonlinearModel", "intensity"]

ETA = variable("eta")
MINUS = times(number(-1), ETA)


def _of(kind: str, inner: Node) -> Node:
    return Node(kind, (inner,))


def _power(inner: Node, n: int) -> Node:
    return Node("power", (inner,), n)


EXP = _of("exp", ETA)
ONE = Node("+", (number(1), times(number(0), ETA)))
# nu for every family and link, as functions of eta.
INTENSITIES: Mapping[tuple[str, str], Node] = {
    ("binomial", "logit"): times(_of("logistic", ETA), _of("logistic", MINUS)),
    ("binomial", "probit"): times(
        _power(_of("density", ETA), 2),
        _power(times(_of("normal", ETA), _of("normal", MINUS)), -1),
    ),
    ("binomial", "cloglog"): times(_of("exp", times(number(2), ETA)), _power(_of("expm1", EXP), -1)),
    ("poisson", "log"): EXP,
    ("poisson", "identity"): _power(ETA, -1),
    ("gaussian", "identity"): ONE,
    ("gaussian", "log"): _of("exp", times(number(2), ETA)),
    ("gamma", "log"): ONE,
    ("gamma", "identity"): _power(ETA, -2),
}
DEFAULT = {"logit": "binomial", "probit": "binomial", "cloglog": "binomial", "log": "poisson", "identity": "gaussian"}


def intensity(link: str, family: str | None) -> Node:
    """nu(eta); InputError for a pair that is not known."""
    if link not in DEFAULT:
        raise InputError(f"link is {shown(link)}; choose one of {', '.join(DEFAULT)}")
    chosen = DEFAULT[link] if family is None else family
    if (chosen, link) not in INTENSITIES:
        known = ", ".join(f for f, own in INTENSITIES if own == link)
        raise InputError(f"family is {shown(family)}; with the link {link} it may be {known}")
    return INTENSITIES[chosen, link]


@dataclass(frozen=True)
class GlmModel(Model):
    """A generalised linear model at one value of its parameters; made by `Model.glm`."""

    theta: tuple[float, ...]
    link: str
    family: str | None = None

    def over(self, region: Region) -> GlmCurve:
        """The model over a region."""
        check_region(region)
        return GlmCurve(self, region)


@dataclass(frozen=True)
class GlmCurve(Curve):
    """All sqrt(nu(eta(x))) g(x), x in the region; like: a curve with the same g, whose tables it shares."""

    like: GlmCurve | None = field(default=None, repr=False, compare=False)

    @cached_property
    def _columns(self) -> tuple[tuple[str, tuple[Polynomial, ...]], ...]:
        return super()._columns if self.like is None else self.like._columns

    @cached_property
    def _tables(self) -> list[tuple[Indices, Floats]]:
        return super()._tables if self.like is None else self.like._tables

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.model, GlmModel)
        if len(self.model.theta) != self.d:
            raise InputError(
                f"theta has {len(self.model.theta)} entries; the model has {self.d} terms: {', '.join(self.terms)}"
            )

    @property
    def weight(self) -> Node | None:
        """nu as a function of eta."""
        assert isinstance(self.model, GlmModel)
        return intensity(self.model.link, self.model.family)

    def eta(self, piece: int) -> Polynomial:
        """The linear predictor on a piece, exactly."""
        assert isinstance(self.model, GlmModel)
        out = Polynomial.constant(0, self.region.names)
        for value, p in zip(self.model.theta, self.polynomials(piece)):
            out = out + p * Polynomial.constant(Fraction(value), self.region.names)
        return out

    def weights(self, piece: int, x: Floats) -> Floats:
        """nu at coordinates of one piece."""
        assert isinstance(self.model, GlmModel)
        assert self.weight is not None
        eta = self.rows(piece, x) @ np.array(self.model.theta)
        return np.asarray(self.weight.at({"eta": eta}), dtype=float) * np.ones(len(x))


@dataclass(frozen=True)
class NonlinearModel(Model):
    """A nonlinear mean at one value of its parameters; made by `Model.nonlinear`."""

    names: tuple[str, ...]
    theta: tuple[float, ...]

    def over(self, region: Region) -> NonlinearCurve:  # type: ignore[override]
        """The model over a region."""
        check_region(region)
        return NonlinearCurve(self, region)


@dataclass(frozen=True)
class NonlinearCurve(Continuum):
    """All gradients of the mean by the parameters, x in the region; `terms` are the parameters."""

    model: NonlinearModel
    region: Region

    def __post_init__(self) -> None:
        for name, levels in self.region.choices:
            if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in levels):
                raise InputError(f"the levels of {name} are {list(levels)}; in a nonlinear model levels are numbers")
        both = set(self.model.names) & set(self.region.factors)
        if both:
            raise InputError(f"{min(both)!r} is a parameter and a factor; call one of them something else")
        _ = self.trees

    @cached_property
    def trees(self) -> list[Node]:
        """The derivatives of the mean by each parameter."""
        every = (*self.model.names, *self.region.factors)
        whole = parse(self.model.text, every, "the model")
        unused = set(self.model.names) - whole.names()
        if unused:
            raise InputError(f"theta names {min(unused)!r}, which the model {self.model.text!r} does not have")
        return gradient_by(whole, self.model.names)

    @property
    def terms(self) -> tuple[str, ...]:
        """The parameters."""
        return self.model.names

    @property
    def d(self) -> int:
        """The number of parameters."""
        return len(self.model.names)

    @property
    def degree(self) -> int:
        """How fine a start is."""
        return 6

    @property
    def weight(self) -> Node | None:
        """None: the noise is what `noise_variance` says."""
        return None

    def constants(self, piece: int) -> dict[str, Any]:
        """The values of parameters and levels on a piece."""
        levels = self.region.pieces[piece]
        return {**dict(zip(self.model.names, self.model.theta)), **{k: float(v) for k, v in levels.items()}}

    def rows(self, piece: int, x: Floats) -> Floats:
        """f(x) for rows of coordinates (n, q) in one piece."""
        values = self.constants(piece)
        values |= {name: x[:, k] for k, name in enumerate(self.region.names)}
        values |= {name: p.at(x) for name, p in self.region.eliminated}
        return values_at(self.trees, values, len(x))

    def weights(self, piece: int, x: Floats) -> Floats:
        """One everywhere."""
        return np.ones(len(x))

    def at(self, settings: Any) -> Floats:
        """f(x) for every row of a table of settings, shape (n, d)."""
        where, x = self.region.coordinates(settings)
        out = np.empty((len(x), self.d))
        for piece in set(where):
            mine = np.array(where) == piece
            out[mine] = self.rows(piece, x[mine])
        return out

    def design_problem(self, kind: str, options: Mapping[str, Any]) -> Any:
        """The problem of this kind over the region; called by the constructors of DesignProblem."""
        from convexdesign.regions.problem import make_problem

        return make_problem(self, kind, options)

    def __repr__(self) -> str:
        return f"Curve({self.model.text!r} over {self.region!r})"


def check_region(region: Any) -> None:
    """InputError for what is no region."""
    if not isinstance(region, Region):
        raise InputError(f"region is of type {type(region).__name__}; build one, such as Region.box(x=(-1, 1))")


def read_parameters(theta: Any) -> tuple[float, ...]:
    """Finite numbers, in order."""
    if isinstance(theta, Mapping):
        raise InputError("theta is a mapping; give the numbers in the order of the model's terms")
    values = np.atleast_1d(np.asarray(read_vector(theta, "theta", len(theta) if hasattr(theta, "__len__") else 1)))
    return tuple(float(v) for v in values)


def read_named(theta: Any) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Names of parameters and their values."""
    if not isinstance(theta, Mapping) or not theta:
        raise InputError("theta maps the names of the parameters to their values, such as dict(vmax=1, k=1)")
    for name, value in theta.items():
        if not (isinstance(name, str) and name.isidentifier()):
            raise InputError(f"{name!r} is no name of a parameter; give a word of letters, digits and _")
        if not np.isfinite(real(value)):
            raise InputError(f"theta[{name!r}] is {shown(value)}; give a finite number")
    return tuple(theta), tuple(real(value) for value in theta.values())
