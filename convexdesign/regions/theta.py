"""Models whose parameters lie in a box: designs whose least information over the box is largest, with a bracket that is proven.

over="lowest": max over designs of the least log Phi over all parameters of the box. The upper bound is that of finitely many of
them (any multipliers prove one, see `together`); the lower one is branch and bound over the box for the settings and weights
that are handed back (`theta_branch`). A grid of parameters overstates the least: between its points it is lower.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.arguments import real, shown
from convexdesign.errors import ConvergenceWarning, InputError
from convexdesign.outcome import Stats, Status
from convexdesign.problem.continuum import Continuum, ContinuumProblem
from convexdesign.regions.defined import check_curve_over_box
from convexdesign.regions.generalised import GlmModel, NonlinearModel, check_region
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.region import Region
from convexdesign.regions.search import apart
from convexdesign.regions.theta_branch import ThetaBranch, at_theta
from convexdesign.regions.together import RegionCompoundDesign, RegionCompoundProblem, form_of, solve_together
from convexdesign.regions.uncertain import UncertainCurve, UncertainModel
from convexdesign.typing import Floats

if TYPE_CHECKING:
    import pandas

__all__ = ["ThetaBoxCurve", "ThetaBoxDesign", "ThetaBoxModel", "ThetaBoxProblem", "in_box"]

ROUNDS = 25
MOST_PARAMETERS = 4
# Parameters closer than this share of the box are one.
SAME = 1e-5
# Shares of the tolerance: of the joint problem, and below which parameters are added.
JOINT, ADDED = 0.25, 0.1


@dataclass(frozen=True)
class ThetaBoxModel:
    """A model whose parameters lie in a box; made by `Model.at`.

    Parameters
    ----------
    model : Model
        A generalised linear or nonlinear one; parameters that the box does not name stay as they are there.
    box : Region
        Limits of parameters.
    """

    model: GlmModel | NonlinearModel
    box: Region

    def over(self, region: Region) -> ThetaBoxCurve:
        """The model over a region: a source of arms.

        Parameters
        ----------
        region : Region
            Where the factors may be set.

        Returns
        -------
        ThetaBoxCurve
            The arms.
        """
        check_region(region)
        return ThetaBoxCurve(self, region)


@dataclass(frozen=True)
class ThetaBoxCurve(Continuum):
    """The arms at all parameters of a box, over one region.

    Parameters
    ----------
    model : ThetaBoxModel
        The model with its box.
    region : Region
        Where the settings may be.
    """

    model: ThetaBoxModel
    region: Region

    def at(self, thetas: Floats) -> UncertainCurve:
        """The arms at some of the parameters.

        Parameters
        ----------
        thetas : array, shape (m, p)
            Parameters in the order of the box.

        Returns
        -------
        UncertainCurve
            The arms at each row.
        """
        models: Any = at_theta(self.model.model, self.model.box.names, thetas)
        return UncertainCurve(UncertainModel(models, (1.0 / len(thetas),) * len(thetas)), self.region)

    def design_problem(self, kind: str, options: Mapping[str, Any]) -> ThetaBoxProblem:
        """The problem of a kind over the region; called by the constructors of DesignProblem.

        Parameters
        ----------
        kind : str
            The constructor's name.
        options : mapping
            Its keywords, and `over`.

        Returns
        -------
        ThetaBoxProblem
            For `solve`.
        """
        rest = {name: value for name, value in options.items() if name != "over"}
        over = options.get("over") or "lowest"
        if over != "lowest":
            raise InputError(
                f'over is {shown(over)}; over a box of parameters it is "lowest", the least information; efficiencies and '
                "averages are of values: give at() a list of them"
            )
        check_curve_over_box(self.model.model, self.model.box, self.region)
        problem = ThetaBoxProblem(self, kind, rest)
        if form_of(problem.centre).has_corners:
            raise InputError(
                f"{kind} is the least of several functions, whose corners the proof over a box of parameters does not bound; "
                "there D, D_s, A, c and average variance are known: give at() a list of values"
            )
        return problem

    def __repr__(self) -> str:
        return f"ThetaBoxCurve({self.model.model.text!r} for {self.model.box!r} over {self.region!r})"


@dataclass(frozen=True, eq=False, repr=False)
class ThetaBoxProblem(ContinuumProblem):
    """max over designs on a region of the least log Phi over a box of parameters.

    Parameters
    ----------
    curve : ThetaBoxCurve
        The arms.
    kind : str
        The constructor's name.
    options : mapping
        Its keywords.
    """

    curve: ThetaBoxCurve
    kind: str
    options: Mapping[str, Any]

    @property
    def region(self) -> Region:
        """The settings allowed."""
        return self.curve.region

    @property
    def box(self) -> Region:
        """The parameters."""
        return self.curve.model.box

    @cached_property
    def centre(self) -> RegionProblem:
        """The problem at the middle of the box."""
        middle = np.array([[float(v) for v in self.box.centre]])
        return self.at(middle).mixtures[0].problems[0]

    def at(self, thetas: Floats) -> RegionCompoundProblem:
        """The problem at some parameters alone.

        Parameters
        ----------
        thetas : array, shape (m, p)
            Parameters in the order of the box.

        Returns
        -------
        RegionCompoundProblem
            Its optimum is no less.
        """
        return self.curve.at(thetas).design_problem(self.kind, {**self.options, "over": "lowest"})

    def together(self, problems: Sequence[Any], weights: Any) -> Any:
        """Not known: InputError.

        Parameters
        ----------
        problems, weights : object
            Those of `compound`.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError("a problem over a box of parameters cannot be compounded; give values of them")

    def solved(self, **options: Any) -> ThetaBoxDesign:
        """The design whose least information over the box is largest, with its bracket; called by `solve`.

        Parameters
        ----------
        **options : dict
            Those of `solve`.

        Returns
        -------
        ThetaBoxDesign
            Certified over region and box, or as far as the proof went.
        """
        return solve_over_box(self, **options)

    def verified(self, *, runs: Any = None, weights: Any = None, counts: Any = None, rigorous: bool = False) -> Any:
        """Not known: InputError.

        Parameters
        ----------
        runs, weights, counts, rigorous : object
            Those of `verify`.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError(
            "over a box of parameters a problem is solved, not verified; verify the runs at values of them"
        )

    def __repr__(self) -> str:
        return f"ThetaBoxProblem({self.kind.replace('_', '-')}: {self.curve!r})"


@dataclass(frozen=True, eq=False, repr=False)
class ThetaBoxDesign:
    """Settings of a region with weights for all parameters of a box, with a bracket of their least information.

    Parameters
    ----------
    problem : ThetaBoxProblem
        What it is for.
    where : sequence of int
        The piece of the region of every setting.
    x : array, shape (n, q)
        Its continuous coordinates.
    weights : array, shape (n,)
        Positive, sum 1.
    value : float
        A proven lower bound on log Phi of exactly these settings and weights, for all parameters of the box: log det / d,
        minus the logarithm of a variance.
    found : float
        The least log Phi that a search finds, at `theta`: the truth lies between `value` and this.
    bound : float
        A proven upper bound on the least log Phi of any design on the region.
    gap : float
        The relative gap between `value` and `bound`: exp(bound - value) - 1.
    theta : mapping
        The parameters at which the least was found.
    thetas : array, shape (m, p)
        The parameters that prove the bound.
    multipliers : array, shape (m,)
        Their shares, the least favourable prior.
    boxes : int
        Boxes of parameters that the lower bound took.
    status : convexdesign.Status
        Whether the gap is within the tolerance.
    stats : Stats
        What it cost.
    """

    problem: ThetaBoxProblem
    where: Sequence[int]
    x: Floats
    weights: Floats
    value: float
    found: float
    bound: float
    gap: float
    theta: Mapping[str, float]
    thetas: Floats
    multipliers: Floats
    boxes: int
    status: Status
    stats: Stats

    @property
    def efficiency(self) -> float:
        """A proven lower bound on the efficiency: 1 / (1 + gap)."""
        return 1.0 / (1.0 + self.gap)

    @property
    def points(self) -> pandas.DataFrame:
        """A row for each setting: a column for each factor, and `weight`."""
        import pandas

        return pandas.DataFrame({**self.problem.region.table(self.where, self.x), "weight": self.weights})

    @property
    def prior(self) -> pandas.DataFrame:
        """The least favourable prior: a row for each of its parameters, and `share`."""
        import pandas

        keep = self.multipliers > 1e-6
        columns = dict(zip(self.problem.box.names, self.thetas[keep].T))
        return pandas.DataFrame({**columns, "share": self.multipliers[keep]})

    def __repr__(self) -> str:
        at = ", ".join(f"{name} = {value:.6g}" for name, value in self.theta.items())
        return (
            f"ThetaBoxDesign(least log information between {self.value:.8g} and {self.found:.8g} ({at}), upper bound "
            f"{self.bound:.8g} for any design, gap {self.gap:.1e}, {self.status.name}; {len(self.weights)} settings)"
        )


def in_box(model: GlmModel | NonlinearModel, box: Region, weights: Any) -> ThetaBoxModel:
    """The model with its parameters in a box; InputError for what is none."""
    if weights is not None:
        raise InputError("weights belong to values of the parameters; a box has none, leave them out")
    if box.inequalities or box.choices or box.eliminated:
        raise InputError("parameters lie in a box: Region.box(k=(0.5, 2)), without conditions, levels and mixtures")
    if box.q > MOST_PARAMETERS:
        raise InputError(f"the box has {box.q} parameters; branch and bound is for at most {MOST_PARAMETERS}")
    if isinstance(model, NonlinearModel):
        unknown = [name for name in box.names if name not in model.names]
        if unknown:
            raise InputError(f"the box names {unknown[0]!r}; the parameters are {', '.join(model.names)}")
    elif len(model.theta) != box.q:
        raise InputError(
            f"the box has {box.q} parameters, theta {len(model.theta)}; give limits for each term, in their order"
        )
    return ThetaBoxModel(model, box)


def solve_over_box(
    problem: ThetaBoxProblem, tol: float = 1e-4, time_limit: float | None = None, verbose: bool = False, **options: Any
) -> ThetaBoxDesign:
    """Values of the parameters are added where the design is worst, until there are none; then the bracket is proven."""
    for name, value in options.items():
        if value not in (None, "auto", False):
            raise InputError(f"{name} is not known over a box of parameters; it takes tol, time_limit and verbose")
    started, tol = time.perf_counter(), real(tol)
    deadline = np.inf if time_limit is None else started + real(time_limit)
    rng = np.random.default_rng(0)
    low, high = (np.array(ends, dtype=float) for ends in (problem.box.lower, problem.box.upper))
    corners = np.array(np.meshgrid(*zip(low, high), indexing="ij")).reshape(problem.box.q, -1).T
    thetas = np.vstack([corners, (low + high)[None, :] / 2.0])
    best: ThetaBoxDesign | None = None
    for _ in range(ROUNDS):
        left = None if np.isinf(deadline) else max(deadline - time.perf_counter(), 0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            joint = solve_together(problem.at(thetas), tol=JOINT * tol, time_limit=left)
        branch = ThetaBranch(problem.centre, problem.box, joint.where, joint.x, joint.weights)
        at, lowest = branch.lowest(rng)
        over = time.perf_counter() > deadline
        new = at[lowest < joint.value - ADDED * tol] if not over else at[:0]
        new = new[[bool((np.abs((row - thetas) / (high - low)).max(axis=1) > SAME).all()) for row in new]]
        if not len(new):
            design, refuting = bracketed(
                problem, joint, branch, thetas, at[0], float(lowest[0]), tol, deadline, started
            )
            if verbose:
                print(repr(design))
            best = design if best is None or design.gap < best.gap else best
            if best.status is Status.CERTIFIED or not len(refuting) or over:
                break
            new = refuting
        every = np.vstack([thetas, new])
        thetas = every[apart((every - low) / (high - low), SAME)]
    if best is None:
        best, _ = bracketed(problem, joint, branch, thetas, at[0], float(lowest[0]), tol, deadline, started)
    if best.status is not Status.CERTIFIED:
        warnings.warn(
            f"certified gap {best.gap:.2e} is above the tolerance {tol:.1e}: {best.status.value}",
            ConvergenceWarning,
            stacklevel=4,
        )
    return best


def bracketed(
    problem: ThetaBoxProblem,
    joint: RegionCompoundDesign,
    branch: ThetaBranch,
    thetas: Floats,
    at: Floats,
    found: float,
    tol: float,
    deadline: float,
    started: float,
) -> tuple[ThetaBoxDesign, Floats]:
    """The design with its proven bracket, and parameters that refute the least that was found."""
    suffices = joint.bound - float(np.log1p(tol)) * (1.0 - 1e-9)
    # The largest room that suffices makes the fewest boxes; where none does, what is proven is a little below what was found.
    least = suffices if suffices < found else found - max(0.1 * tol, 0.01 * (joint.bound - found))
    proof = branch.prove(least, deadline)
    m = len(joint.multipliers)
    gap = float(np.expm1(max(joint.bound - proof.value, 0.0)))
    ended = Status.TIME_LIMIT if time.perf_counter() > deadline else Status.STALLED
    design = ThetaBoxDesign(
        problem,
        joint.where,
        joint.x,
        joint.weights,
        proof.value,
        found,
        joint.bound,
        gap,
        dict(zip(problem.box.names, at.tolist())),
        thetas[:m],
        joint.multipliers,
        proof.boxes,
        Status.CERTIFIED if gap <= tol else ended,
        Stats("values of the parameters and branch and bound", seconds=time.perf_counter() - started),
    )
    return design, proof.refuting
