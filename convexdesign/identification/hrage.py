"""H-RAGE: estimate the noise variances first, then eliminate with designs weighted by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.arguments import choice
from convexdesign.errors import InputError, SolverError
from convexdesign.estimation import Head, HeadPlan, Observations, ReplicateEstimator, VarianceModel, variance_range
from convexdesign.estimation.error_bound import Noise, checked_noise
from convexdesign.estimation.variance_intervals import IntervalBound
from convexdesign.identification.allocations import allocate, packed, unpacked
from convexdesign.identification.assumption_checks import LEVEL, arm_name
from convexdesign.identification.burn_in import (
    BURN_IN_SHARE,
    BURN_INS,
    AdaptiveBurnIn,
    check_burn_in,
    check_replicates,
    head_plan,
    kept_positive,
    pulls_for,
    within_factor,
)
from convexdesign.identification.identifier import VARIANCES, noise_up_to
from convexdesign.identification.rage import ROUNDS_SHARE, GapElimination
from convexdesign.identification.result import AnswerStatus
from convexdesign.identification.reward_range import BOUNDED_NOISES
from convexdesign.problem import DesignProblem
from convexdesign.typing import Counts, Floats

__all__ = ["HRage"]

# Of the probability that a warning is wrong, what the burn-in gets; later batches get the rest.
WARNING_SHARE = 0.5
MARGINS = ("achieved", "fixed")
BurnIn = Head | ReplicateEstimator | AdaptiveBurnIn


@dataclass(eq=False, repr=False)
class HRage(GapElimination):
    """Burn-in with HEAD (or replicates) until every variance is known to a factor of 1.5, then rounds with weighted designs.

    **It assumes a model of the noise:** the variance of arm x is x'Sigma x for some Sigma, as HEAD estimates it. Where
    the noise has another form the answer may be wrong, with or without a GuaranteeWarning. `Rage`,
    `MartingaleElimination`, and this class with known_variances hold for variances of any form. Half of delta is for
    the burn-in, the rest for the rounds. `variances` holds the plugged-in variances (n,) after the burn-in, `estimator`
    that of the burn-in with all its state, made when its first batch is planned.

    Parameters
    ----------
    arms : array_like, shape (n, d)
        What can be measured.
    items : array_like, shape (m, d), optional
        What is asked about; the arms by default.
    objective : BestArm or LevelSet
        What is to be found.
    delta : float
        The answer may be wrong with this probability.
    variance_bounds : pair of float, optional
        (low, high) on the noise VARIANCES.
    burn_in : {"sharp", "replicates", "paper", "released", "adaptive"}
        How long it is, see `burn_in_budget`; "replicates" uses the arms' own sample variances in place of HEAD, with less
        than half of the pulls; "adaptive" finds out from the data and needs no tight bounds (or none at all; see
        `AdaptiveBurnIn`).
    known_variances : array_like, scalar or shape (n,), optional
        VARIANCES; no burn-in then, and shorter rounds.
    epsilon : float
        Settle for an answer that is right up to epsilon (units of the rewards).
    max_samples : int, optional
        Never ask for more pulls than this in all (2^62 where there is none).
    rng : numpy.random.Generator or int, optional
        Accepted everywhere, used where something is random.
    confirm_noise : bool
        Take rewards of two values too where the noise was said to be another; otherwise `tell` refuses them, since their
        variances are not learned as those of Gaussian noise are.
    noise : {"gaussian", "sub-gaussian"}
        The law of the noise; for strictly sub-Gaussian rewards the burn-in is a little longer.
    margin : {"achieved", "fixed"}
        "achieved": the rounds use the upper ends of the intervals that the burn-in proves for the variances, which are
        at most 1.5 times the estimates, and mostly far less; "fixed": the estimates times 1.5, as in the paper, and
        always so for the burn-ins "paper" and "released".

    References
    ----------
    Weltz et al. (2023), section 4, algorithm H-RAGE; intervals: `IntervalBound`.

    Examples
    --------
    >>> import convexdesign as cd
    >>> world = cd.instances.experiment_2(omega=0.3)
    >>> algo = cd.identification.HRage(world.arms, variance_bounds=(0.2, 1.0))
    >>> env = cd.simulation.LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=0)
    >>> result = cd.simulation.simulate(algo, env)
    >>> result.answer, result.status.name
    ((0,), 'IDENTIFIED')
    """

    variance_bounds: Sequence[float] | None = field(default=None, metadata=VARIANCES)
    burn_in: str = "sharp"
    known_variances: ArrayLike | None = field(default=None, metadata=VARIANCES)
    _: KW_ONLY
    noise: Noise = "gaussian"
    margin: str = "achieved"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice(self.burn_in, BURN_INS, "burn_in")
        if self.noise in BOUNDED_NOISES:
            raise InputError(
                f"noise={self.noise!r}: H-RAGE does not hold for rewards that are known by their range, whose variances depend "
                "on their means, not as x'Sigma x, and bound their tails only for Gaussian noise; use MartingaleElimination, "
                "or Rage with the variance proxies (high - low)²/4"
            )
        checked_noise(self.noise)
        if self.burn_in == "replicates":
            check_replicates(self.noise)
        choice(self.margin, MARGINS, "margin")
        self._delta_burn_in = BURN_IN_SHARE * self.delta
        self.known_variances = self.variances = self._positive(self.known_variances, "known_variances")
        if self.variances is None:
            self._delta_rounds = ROUNDS_SHARE * self.delta
        needs = None if self.burn_in == "adaptive" or self.known_variances is not None else f"burn_in={self.burn_in!r}"
        self.variance_bounds = self._bounds = variance_range(self.variance_bounds, needs)
        self._least_variances: Floats | None = None
        # Ends of the variances by the burn-in, wide enough for warnings.
        self._believable: tuple[Floats, Floats] | None = None
        if needs is not None and self._bounds is not None:
            check_burn_in(self.burn_in, self._bounds)
        self.estimator: BurnIn | None = None

    @property
    def variance_model(self) -> VarianceModel | None:
        """HEAD's model of the noise from the burn-in; None before it ends, or without one."""
        estimator = self.estimator
        if estimator is None or not estimator.done:
            return None
        return estimator.phases[-1].model if isinstance(estimator, AdaptiveBurnIn) else estimator.result()

    def _start_burn_in(self, plan: HeadPlan | None = None, budget: int | None = None) -> BurnIn:
        """The burn-in over the arms that can be pulled; its designs and budget are found where they are not given."""
        rows, kind = self._rows_in_play, self.burn_in
        if plan is None:
            own = self.design_solver is not allocate
            plan = head_plan(rows, self._proportions if own else None)
        self._head_plan = plan
        if kind == "adaptive":
            return AdaptiveBurnIn(rows, self._delta_burn_in, self._bounds, self.noise, plan=plan, budget=budget)
        assert self._bounds is not None
        if budget is None:
            budget = pulls_for(kind, plan, self._bounds, self._delta_burn_in, self.noise)
            if kind in ("paper", "released"):  # the others are the least that are long enough
                self._refuse_short_burn_in(plan, budget)
        if kind == "replicates":
            return ReplicateEstimator(rows, budget, self._bounds, plan=plan)
        return Head(rows, budget, self._bounds, plan=plan)

    def _refuse_short_burn_in(self, plan: HeadPlan, budget: int) -> None:
        """SolverError where `sharp_error_bound` does not prove the promise for these pulls.

        It does for optimal designs and every named budget; "paper" and "released" do not look at the design.
        """
        assert self._bounds is not None
        low, high = self._bounds
        error = plan.sharp_error_bound(*plan.counts(budget), high=high, delta=self._delta_burn_in, noise=self.noise)
        if not float(error.max()) <= low / 2.0:
            raise SolverError(
                f"burn_in={self.burn_in!r} is {budget} pulls, which leave errors of up to {error.max():.3g} in the "
                f"variances where {low / 2.0:.3g} is allowed; use burn_in='sharp'"
            )

    def _proportions(self, problem: DesignProblem, tol: float) -> Floats:
        return self.design_solver(problem, tol=tol).weights

    def _forget_designs(self) -> None:
        super()._forget_designs()
        if self.variances is None:
            # What the burn-in has measured belongs to another design: it starts again on the arms that are left.
            self.estimator = None

    def counts_refused(self, came: Counts) -> str | None:
        """Why other numbers of results cannot be used: as in all rounds; the burn-in's bounds rest on its very numbers.

        Parameters
        ----------
        came : array of int64, shape (n,)
            Results of each arm.

        Returns
        -------
        str or None
            The reason; None where they can.
        """
        if self.variances is None:
            return "the error bounds of the burn-in rest on the numbers that were asked for"
        return super().counts_refused(came)

    def state_dict(self) -> dict[str, Any]:
        """Who was left, the design of the open batch, and those of the burn-in while it lasts.

        Returns
        -------
        dict
            Plain data, for `load_state_dict`.
        """
        remembered = super().state_dict()
        if self.estimator is None or self.variances is not None:
            return remembered
        estimator = self.estimator
        budget = estimator.first_budget if isinstance(estimator, AdaptiveBurnIn) else estimator.budget
        first, second = packed(self._head_plan.weights_1), packed(self._head_plan.weights_2)
        return remembered | {"burn_in": {"budget": budget, "stage_1": first, "stage_2": second}}

    def _restore(self, state: Mapping[str, Any], counts: Counts) -> None:
        super()._restore(state, counts)
        if self.variances is not None:
            return
        if self.estimator is None:
            record, n = state["burn_in"], self.usable.size
            weights = (unpacked(record[stage], n) for stage in ("stage_1", "stage_2"))
            self.estimator = self._start_burn_in(HeadPlan.of(self._rows_in_play, *weights), record["budget"])
        self.estimator.load_state_dict({}, counts[self.usable])

    @property
    def assumption(self) -> str:
        """What the promise rests on, in words that follow "if"."""
        if self.known_variances is not None:
            return noise_up_to("the known ones")
        law = "Gaussian" if self.noise == "gaussian" else "strictly sub-Gaussian"
        between = ""
        if self._bounds is not None:
            low, high = self._bounds
            between = f" between {low:g} and {high:g}"
        return f"rewards have means x'theta and independent {law} noise of variances x'Sigma x{between}"

    @property
    def _learns_variances(self) -> bool:
        return self.known_variances is None

    def _plug_in(self) -> tuple[Floats, float]:
        assert self.variances is not None
        # Known variances and upper ends leave out the factor 1.5 that estimates may be off.
        return self.variances, 3.0 if self._least_variances is None and self.known_variances is None else 2.0

    def _variances_assumed(self) -> tuple[Any, Any] | None:
        if self.known_variances is not None:
            return self.known_variances, self.known_variances
        if self._believable is not None:
            # What the burn-in says, at the level of warnings, which is far stricter than delta; rewards that deny it also
            # tell of noise that is no quadratic form x'Sigma x.
            return self._believable
        return self._bounds

    def _remedy(self) -> str:
        if self.known_variances is not None or self.variance_model is None:
            return super()._remedy()
        other = "use MartingaleElimination, which holds for VARIANCES of any form, or known_variances, and start again"
        ends = self._believable
        if self._bounds is None or (ends is not None and bool(np.all(ends[0] <= ends[1]))):
            # Wider bounds would not help: the limits are those of the fitted model.
            return f"the limits are what the model x'Sigma x allows, so that the noise is of another form; {other}"
        return f"give wider bounds and start again; if they are right, the noise is not of the form x'Sigma x: {other}"

    def _violation(self, observations: Observations, share: float = 1.0) -> str | None:
        if self._believable is None:
            return super()._violation(
                observations, share if self.known_variances is not None else share - WARNING_SHARE
            )
        low, high = self._believable
        empty = np.flatnonzero(low > high)
        if empty.size and self.variance_model is not None:
            arm = int(empty[0])
            estimate = self.variance_model.unclipped[int(np.flatnonzero(self.usable == arm)[0])]
            name = arm_name(self.arm_rows, arm)
            return (
                f"the burn-in estimates variance {estimate:g} for arm {name}, outside the bounds; no variances fit both"
            )
        return super()._violation(observations, share - WARNING_SHARE)

    def _plan(self) -> NDArray[Any] | AnswerStatus:
        if self.variances is not None:
            return super()._plan()
        if self.estimator is None:
            self.estimator = self._start_burn_in()
        if not isinstance(self.estimator, AdaptiveBurnIn) and self.estimator.pulls_left > self.pulls_left:
            # A burn-in that cannot be finished would be wasted.
            return AnswerStatus.UNDECIDED
        return self._on_all_arms(self.estimator.ask().counts)

    def _learn(self, observations: Observations) -> None:
        if self.variances is not None:
            super()._learn(observations)
            return
        assert self.estimator is not None
        self.estimator.tell(self.estimator.ask(), observations.of_arms(self.usable))
        self.burn_in_samples += observations.total
        model = self.variance_model
        if model is not None:
            self._least_variances, self.variances = self._proven(model)
            self._believable = self._ends_for_warnings(model)

    def _intervals(self, model: VarianceModel, level: float) -> tuple[Floats, Floats]:
        """Ends (n,), (n,) of the variances by the event of `IntervalBound` for the burn-in's pulls, at this level."""
        assert self.estimator is not None
        if isinstance(self.estimator, ReplicateEstimator):
            return self.estimator.intervals(level)
        bound = IntervalBound.of(self._head_plan, *self.estimator.pulls, level, self.noise)
        return bound.intervals(model.unclipped, *(self._bounds or (0.0, np.inf)))

    def _proven(self, model: VarianceModel) -> tuple[Floats | None, Floats]:
        """Lower ends, if the margin is the achieved one, and the variances (n,) to plug in: upper ends or estimates."""
        if isinstance(self.estimator, AdaptiveBurnIn):
            phase, estimates = self.estimator.phases[-1], self.estimator.result()
            low, high = phase.low, phase.high
        else:
            # The event of the burn-in's budget, for the pulls that were made: its probability is not spent twice.
            (low, high), estimates = self._intervals(model, self._delta_burn_in), model.variances
            if isinstance(self.estimator, ReplicateEstimator):
                estimates = within_factor(model.unclipped, low, high)
        if self.margin == "fixed" or self.burn_in in ("paper", "released"):
            return None, self._of_all_arms(estimates, estimates.max())
        high = kept_positive(high)
        return self._of_all_arms(low, 0.0), self._of_all_arms(high, high.max())

    def _ends_for_warnings(self, model: VarianceModel) -> tuple[Floats, Floats] | None:
        """Ends (n,), (n,) of the variances that the burn-in leaves wrong with the probability of warnings, far below delta.

        The event of `IntervalBound` at that level, divided among the phases at which an adaptive burn-in might have ended.
        If the noise is as assumed the true variances lie between, but with that probability. None where nothing is known.
        """
        level = WARNING_SHARE * LEVEL
        if isinstance(self.estimator, AdaptiveBurnIn):
            phase = len(self.estimator.phases)
            level /= phase * (phase + 1)
        least, most = self._intervals(model, level)
        if not np.isfinite(most).all():
            return None
        if np.all(least <= most):  # else it is a contradiction, and stays one
            most = kept_positive(most)
        return self._of_all_arms(least, least.min()), self._of_all_arms(most, most.max())

    def _of_all_arms(self, values: Floats, otherwise: float) -> Floats:
        """Values of the usable arms, (n,); arms that cannot be pulled play no part in what follows."""
        full = np.full(self.n_arms, otherwise)
        full[self.usable] = values
        return full
