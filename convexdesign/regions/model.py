"""Models that are linear in their parameters and polynomial in the settings, and their values over a region."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from convexdesign.arguments import whole_at_least
from convexdesign.errors import InputError
from convexdesign.features.expression import Columns
from convexdesign.features.formula import Factor, parse_formula
from convexdesign.features.model import model_matrix
from convexdesign.problem.continuum import Continuum
from convexdesign.regions.polynomial import Polynomial
from convexdesign.regions.region import Region
from convexdesign.regions.tape import Node
from convexdesign.regions.text import parse_ratio
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from convexdesign.regions.theta import ThetaBoxModel
    from convexdesign.regions.uncertain import UncertainModel

__all__ = ["Curve", "Model"]

# A model has at most so many terms.
MOST_TERMS = 500


@dataclass(frozen=True)
class Model:
    """The functions f(x) of the settings whose combination theta'f(x) is the mean outcome.

    Parameters
    ----------
    text : str
        The formula.

    Examples
    --------
    >>> import convexdesign as cd
    >>> model = cd.Model.formula("1 + temp*time + temp**2 + time**2")
    >>> model.over(cd.Region.box(temp=(150, 190), time=(1, 4))).terms
    ('1', 'temp', 'time', 'temp:time', 'temp**2', 'time**2')
    """

    text: str

    @classmethod
    def formula(cls, text: str) -> Model:
        """A model by its formula in Wilkinson's notation.

        Parameters
        ----------
        text : str
            Such as "1 + a*b + a**2". Discrete factors with named levels are coded by their levels, as everywhere.

        Returns
        -------
        Model
            The model.

        Examples
        --------
        >>> import convexdesign as cd
        >>> region = cd.Region.levels(batch=["A", "B"]) * cd.Region.box(x=(-1, 1))
        >>> cd.Model.formula("1 + batch*x").over(region).terms
        ('1', 'batch[B]', 'x', 'batch[B]:x')
        """
        if not isinstance(text, str) or not text.strip():
            raise InputError("a formula is text, such as '1 + x + x**2'")
        return cls(text)

    @classmethod
    def polynomial(cls, names: Sequence[str] | str, degree: int) -> Model:
        """All monomials of the factors up to a degree.

        Parameters
        ----------
        names : sequence of str or str
            The factors, or one.
        degree : int
            The largest sum of exponents.

        Returns
        -------
        Model
            The full polynomial.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.Model.polynomial(["a", "b"], 2).text
        '1 + a + b + a**2 + a:b + b**2'
        """
        listed = [names] if isinstance(names, str) else list(names)
        most = whole_at_least(0, degree, "degree")
        terms = ["1"]
        for total in range(1, most + 1):
            for chosen in combinations_with_replacement(listed, total):
                powers = {name: chosen.count(name) for name in chosen}
                terms.append(":".join(name if k == 1 else f"{name}**{k}" for name, k in powers.items()))
        if len(terms) > MOST_TERMS:
            raise InputError(f"the polynomial has {len(terms)} terms; at most {MOST_TERMS}")
        return cls(" + ".join(terms))

    @classmethod
    def glm(cls, text: str, theta: Sequence[float], link: str, family: str | None = None) -> Model:
        """A generalised linear model at given parameter values: designs for it are local.

        Parameters
        ----------
        text : str
            The linear predictor, such as "1 + x1*x2".
        theta : sequence of float
            The parameters, in the order of its terms.
        link : str
            "logit", "probit", "cloglog", "log" or "identity".
        family : str, optional
            "binomial", "poisson", "gaussian" or "gamma"; by default the one that the link is usual for.

        Returns
        -------
        Model
            The model.

        Examples
        --------
        >>> import convexdesign as cd
        >>> model = cd.Model.glm("1 + x", theta=[0, 1], link="logit")
        >>> design = cd.solve(cd.DesignProblem.d_optimal(model.over(cd.Region.box(x=(-4, 4)))))
        >>> design.points["x"].round(2).tolist(), design.certificate.kind
        ([-1.54, 1.54], 'interval branch and bound')
        """
        from convexdesign.regions.generalised import GlmModel, intensity, read_parameters

        intensity(link, family)
        return GlmModel(cls.formula(text).text, read_parameters(theta), link, family)

    @classmethod
    def nonlinear(cls, text: str, theta: Mapping[str, float]) -> Model:
        """A nonlinear mean at given parameter values, by the gradient there (extra `nonlinear`): designs for it are local.

        Parameters
        ----------
        text : str
            The mean, of parameters and factors, such as "vmax*x/(k + x)"; exp, log, sqrt, sin, cos, tanh and atan are known.
        theta : mapping
            The parameters and their values.

        Returns
        -------
        Model
            The model.

        Examples
        --------
        >>> import convexdesign as cd
        >>> model = cd.Model.nonlinear("vmax*x/(k + x)", theta=dict(vmax=1, k=1))
        >>> design = cd.solve(cd.DesignProblem.d_optimal(model.over(cd.Region.box(x=(0, 10)))))
        >>> design.points["x"].round(2).tolist()
        [0.83, 10.0]
        """
        from convexdesign.regions.generalised import NonlinearModel, read_named

        names, values = read_named(theta)
        return NonlinearModel(cls.formula(text).text, names, values)

    def at(self, thetas: Any, weights: ArrayLike | None = None) -> UncertainModel | ThetaBoxModel:
        """The model at several values of its parameters, a prior, a sample or a grid; or at all values of a box.

        Parameters
        ----------
        thetas : array_like, mapping, DataFrame or Region
            A row for each value: of a generalised linear model in the order of its terms, of a nonlinear one a column for each
            parameter. A region, `Region.box(k=(0.5, 2))`, stands for all values in it.
        weights : array_like, optional
            Positive shares, divided by their sum; equal by default.

        Returns
        -------
        UncertainModel or ThetaBoxModel
            Goes over a region; its problems take over="average" (the mean of the logarithms), "worst" (the least efficiency),
            "lowest" (the least logarithm) or "information" (the mean information); those of a box "lowest" alone.

        Examples
        --------
        >>> import convexdesign as cd
        >>> model = cd.Model.glm("1 + x", theta=[0, 1], link="logit").at([[0, 0.5], [0, 1], [0, 2]])
        >>> problem = cd.DesignProblem.d_optimal(model.over(cd.Region.box(x=(-3, 3))), over="average")
        >>> cd.solve(problem).status.name
        'CERTIFIED'

        For all values of a box the least information is bracketed by a proof over the box too:

        >>> curve = cd.Model.nonlinear("exp(-k*x)", theta=dict(k=1)).at(cd.Region.box(k=(0.5, 2)))
        >>> design = cd.solve(cd.DesignProblem.d_optimal(curve.over(cd.Region.box(x=(0, 10)))), tol=1e-4)
        >>> design.status.name, design.theta["k"], design.points["x"].round(2).tolist()
        ('CERTIFIED', 2.0, [0.5])
        """
        from convexdesign.regions.generalised import GlmModel, NonlinearModel
        from convexdesign.regions.theta import in_box
        from convexdesign.regions.uncertain import at_values

        if not isinstance(self, (GlmModel, NonlinearModel)):
            raise InputError(
                "a linear model is the same at all values of its parameters; at() is for glm and nonlinear"
            )
        if isinstance(thetas, Region):
            return in_box(self, thetas, weights)
        return at_values(self, thetas, weights)

    def over(self, region: Region | Any) -> Any:
        """The model over a region: a source of arms f(x), one for each setting x, which goes wherever arms go.

        Over a table of settings it is their model matrix (`features.model_matrix`), coded once and alike for region, items,
        runs done and single settings.

        Parameters
        ----------
        region : Region or DataFrame
            Where the factors may be set, or a row each setting.

        Returns
        -------
        Curve or ModelMatrix
            The arms.

        Examples
        --------
        >>> import convexdesign as cd, pandas
        >>> cd.Model.formula("1 + x + x**2").over(pandas.DataFrame({"x": [-1, 0, 1]})).columns.tolist()
        ['Intercept', 'x', 'I(x ** 2)']
        """
        if type(self) is Model and hasattr(region, "columns"):
            return model_matrix(region, self.text)
        if not isinstance(region, Region):
            raise InputError(f"region is of type {type(region).__name__}; build one, such as Region.box(x=(-1, 1))")
        return Curve(self, region)


@dataclass(frozen=True)
class Curve(Continuum):
    """All f(x), x in the region. `terms` are the names of the coordinates of f.

    Parameters
    ----------
    model : Model
        The f.
    region : Region
        Where the settings may be.

    Examples
    --------
    >>> import convexdesign as cd
    >>> curve = cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1)))
    >>> design = cd.solve(cd.DesignProblem.d_optimal(curve))
    >>> [round(x, 4) for x in design.points["x"]], design.status.name
    ([-1.0, 0.0, 1.0], 'CERTIFIED')
    """

    model: Model
    region: Region

    def __post_init__(self) -> None:
        if len(self.terms) > MOST_TERMS:
            raise InputError(f"the model has {len(self.terms)} terms; at most {MOST_TERMS}")

    @cached_property
    def _columns(self) -> tuple[tuple[str, tuple[Polynomial, ...]], ...]:
        """Each coordinate of f with its polynomial on every piece of the region."""
        region = self.region
        levels = dict(region.choices)
        numeric = {name: name not in levels or all(_is_number(v) for v in levels[name]) for name in region.factors}
        columns = Columns(numeric)
        formula = parse_formula(self.model.text, columns)
        keys = [frozenset(term) for term in formula.terms]
        gone = dict(region.eliminated)
        out: list[tuple[str, list[Polynomial]]] = []
        pieces = region.pieces
        for term in formula.terms:
            names = [""]
            coded: list[list[Polynomial]] = [[Polynomial.constant(1, region.names) for _ in pieces]]
            for factor, power in term:
                label = columns.shown(factor.code if power == 1 else f"{factor.code}**{power:g}", quote=False)
                if factor.kind == "category":
                    (name,) = factor.used
                    rest = frozenset(part for part in term if part[0] != factor)
                    chosen = levels[name][1:] if rest in keys else levels[name]
                    coded = [
                        [
                            p if piece[name] == level else Polynomial.constant(0, region.names)
                            for p, piece in zip(row, pieces)
                        ]
                        for row in coded
                        for level in chosen
                    ]
                    names = [_joined(head, f"{name}[{level}]") for head in names for level in chosen]
                    continue
                parts = [_factor(factor, power, columns, region, piece, gone) for piece in pieces]
                coded = [[p * part for p, part in zip(row, parts)] for row in coded]
                names = [_joined(head, label) for head in names]
            out.extend(zip([name or "1" for name in names], coded))
        return tuple((name, tuple(row)) for name, row in out)

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the coordinates of f(x)."""
        return tuple(name for name, _ in self._columns)

    @property
    def d(self) -> int:
        """The number of parameters."""
        return len(self._columns)

    def polynomials(self, piece: int) -> tuple[Polynomial, ...]:
        """f on one piece of the region, as polynomials of its continuous coordinates.

        Parameters
        ----------
        piece : int
            Which combination of levels.

        Returns
        -------
        tuple of Polynomial
            One a coordinate of f.
        """
        return tuple(row[piece] for _, row in self._columns)

    @property
    def degree(self) -> int:
        """The largest degree of a coordinate of f."""
        return max(p.degree for _, row in self._columns for p in row)

    @cached_property
    def _tables(self) -> list[tuple[np.ndarray[Any, np.dtype[np.int64]], Floats]]:
        """For every piece the exponents (M, q) and coefficients (M, d) of f."""
        out = []
        for piece in range(len(self.region.pieces)):
            f = self.polynomials(piece)
            keys = sorted({key for p in f for key in p.terms}) or [(0,) * self.region.q]
            place = {key: k for k, key in enumerate(keys)}
            table = np.zeros((len(keys), len(f)))
            for j, p in enumerate(f):
                for key, value in p.terms.items():
                    table[place[key], j] = float(value)
            out.append((np.array(keys, dtype=np.int64).reshape(len(keys), self.region.q), table))
        return out

    def rows(self, piece: int, x: Floats) -> Floats:
        """f(x) for coordinates in one piece of the region.

        Parameters
        ----------
        piece : int
            Which combination of levels.
        x : array, shape (n, q)
            Continuous coordinates.

        Returns
        -------
        array, shape (n, d)
            A row f(x) each.
        """
        keys, table = self._tables[piece]
        monomials = np.ones((len(x), len(keys)))
        for k in range(keys.shape[1]):
            most = int(keys[:, k].max(initial=0))
            powers = np.ones((most + 1, len(x)))
            for j in range(1, most + 1):
                powers[j] = powers[j - 1] * x[:, k]
            monomials *= powers[keys[:, k]].T
        return monomials @ table

    @property
    def weight(self) -> Node | None:
        """What multiplies the information of a setting, as a function of eta; None for one."""
        return None

    def weights(self, piece: int, x: Floats) -> Floats:
        """That weight at coordinates of one piece.

        Parameters
        ----------
        piece : int
            The combination of levels.
        x : ndarray, shape (n, q)
            Coordinates of the continuous factors.

        Returns
        -------
        ndarray, shape (n,)
            One where the noise does not depend on the mean.
        """
        return np.ones(len(x))

    def at(self, settings: Any) -> Floats:
        """f(x) for every row of a table of settings.

        Parameters
        ----------
        settings : DataFrame or mapping
            The settings, a column a factor.

        Returns
        -------
        array, shape (n, d)
            A row f(x) each.
        """
        where, x = self.region.coordinates(settings)
        out = np.empty((len(x), self.d))
        for piece in set(where):
            mine = np.array(where) == piece
            out[mine] = self.rows(piece, x[mine])
        return out

    def design_problem(self, kind: str, options: Mapping[str, Any]) -> Any:
        """The problem of a kind over the region; called by the constructors of DesignProblem.

        Parameters
        ----------
        kind : str
            The constructor's name.
        options : mapping
            Its keywords.

        Returns
        -------
        RegionProblem
            For `solve`.
        """
        from convexdesign.regions.problem import make_problem

        return make_problem(self, kind, options)

    def __repr__(self) -> str:
        return f"Curve({self.model.text!r} over {self.region!r})"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _joined(head: str, name: str) -> str:
    return f"{head}:{name}" if head else name


def _factor(
    factor: Factor,
    power: float,
    columns: Columns,
    region: Region,
    piece: Mapping[str, Any],
    gone: Mapping[str, Polynomial],
) -> Polynomial:
    """One factor of a term on one piece of the region."""
    code = columns.shown(factor.code, quote=False)
    if factor.has_state or factor.kind == "columns":
        raise InputError(
            f"{code} depends on a table of settings; over a region write powers and products of the factors"
        )
    if power != int(power) or power < 0:
        raise InputError(f"{code}**{power:g} is no polynomial; a model over a region takes whole powers")
    text = code[2:-1] if code.startswith("I(") else code
    every = (*region.names, *gone, *(name for name in piece if _is_number(piece[name])))
    if re.search(r"\w\s*\(", text):
        raise InputError(f"{code} is no polynomial of the factors; a mean with functions in it is for Model.nonlinear")
    top, bottom = parse_ratio(text, every, f"the term {code}")
    if not bottom.is_constant:
        raise InputError(f"the term {code} divides by a factor and is no polynomial")
    values = {
        name: Polynomial.constant(Fraction(piece[name]), region.names) for name in piece if _is_number(piece[name])
    }
    polynomial = (top * Polynomial.constant(1 / bottom.constant_term(), every)).substituted(
        {**gone, **values}, region.names
    )
    return polynomial ** int(power)
