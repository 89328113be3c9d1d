"""`convexdesign experiment create`: an algorithm for a problem, in a new store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from convexdesign.cli.algorithms import FOR_EXPERIMENTS, choices, named, noise_of
from convexdesign.cli.arguments import (
    AsJson,
    Budget,
    Delta,
    ProblemOptions,
    RewardRange,
    SmallestGap,
    for_kinds,
    option,
)
from convexdesign.cli.experiment.opening import NewStore, limit_text
from convexdesign.cli.experiment.variants import problem_of_names
from convexdesign.cli.output import counted, print_line, respond
from convexdesign.cli.reading import read_problem
from convexdesign.errors import InputError

if TYPE_CHECKING:
    from convexdesign.algorithms import Algorithm
    from convexdesign.problem import DesignProblem

__all__ = ["create"]

BEST_ARM = ("xy-allocation", "best-arm-oracle")
LEVEL_SET = ("level-set-allocation", "level-set-oracle")


@for_kinds(*BEST_ARM, *LEVEL_SET)
def create(
    stated: ProblemOptions,
    store: NewStore,
    algorithm: Annotated[
        str,
        option(
            "--algorithm",
            metavar="NAME",
            help=f"{choices(FOR_EXPERIMENTS)}. All but h-rage hold for variances of any form, and h-rage does with "
            "--known-variances.",
        ),
    ] = "martingale",
    delta: Delta = 0.05,
    level: Annotated[
        float | None, option("--level", help="The threshold of a level set, where the problem states none.")
    ] = None,
    variance_bounds: Annotated[
        tuple[float, float] | None,
        option(
            "--variance-bounds",
            metavar="LOW HIGH",
            help="All noise VARIANCES lie between these; the range of the problem's if left out.",
        ),
    ] = None,
    known_variances: Annotated[
        bool, option("--known-variances", help="The problem's noise variances are known to be right.")
    ] = False,
    noise: Annotated[
        str,
        option(
            "--noise",
            help="What the rewards are, on which the answer rests: gaussian or sub-gaussian about their means; bernoulli, one "
            "of two values, as conversions are; bounded, between two values.",
        ),
    ] = "gaussian",
    reward_range: RewardRange = None,
    confirm_noise: Annotated[
        bool,
        option(
            "--confirm-noise",
            help="Take rewards of two values too where --noise says otherwise; else they are refused.",
        ),
    ] = False,
    burn_in: Annotated[
        str | None,
        option("--burn-in", help="Of h-rage: sharp (where left out), replicates, adaptive, paper or released."),
    ] = None,
    epsilon: Annotated[float, option("--epsilon", help="Settle for an answer right up to this.")] = 0.0,
    max_samples: Annotated[
        int | None, option("--max-samples", metavar="N", help="Never ask for more measurements in all.")
    ] = None,
    budget: Budget = None,
    smallest_gap: SmallestGap = None,
    as_json: AsJson = False,
) -> None:
    """Begin an experiment in a new file.

    The problem says what can be measured and what is asked: xy-allocation and best-arm-oracle for the best item,
    level-set-allocation and level-set-oracle for all items above a threshold. What it states of theta is not used. A file that
    holds names and nothing else, one a line, is a list of variants: each has an arm of its own, and the best is sought.
    """
    from convexdesign.experiment import Experiment
    from convexdesign.identification.reward_range import BOUNDED_NOISES

    line = named(algorithm, FOR_EXPERIMENTS, budget, smallest_gap)
    problem = problem_of_names(stated) or read_problem(stated)
    objective = _objective(problem, level)
    if burn_in is not None and "burn_in" not in line.options:
        raise InputError(f"--burn-in is h-rage's alone, and the algorithm is {algorithm}; give --algorithm h-rage")
    burn_in = burn_in or "sharp"
    law = noise_of(line, noise, reward_range)
    variances = _variances(line, problem, variance_bounds, known_variances, burn_in, noise in BOUNDED_NOISES)
    options = {"delta": delta, "epsilon": epsilon, "max_samples": max_samples, "budget": budget, "burn_in": burn_in}
    options |= {"smallest_gap": smallest_gap, "confirm_noise": confirm_noise, **law, **variances}
    made = line.make(problem.stated.arms, problem.stated.items, objective, **options)
    with Experiment.create(store, made) as x:
        state = x.status()
    document: dict[str, Any] = {
        "store": str(store),
        "algorithm": state.algorithm,
        "delta": state.delta,
        "n_arms": x.n_arms,
        "n_items": len(state.survivors) + len(state.above) + len(state.below),
        "variance_bounds": variances.get("variance_bounds"),
        "known_variances": "known_variances" in variances,
        "noise": noise,
        "reward_range": law.get("reward_range"),
        "assumption": state.assumption,
        "max_samples": state.max_samples,
        "budget": state.budget,
        "smallest_gap": smallest_gap,
    }

    def show() -> None:
        sizes = f"{counted(x.n_arms, 'arm')}, {counted(document['n_items'], 'item')}"
        print_line(f"{store}: {state.algorithm} on {sizes}, delta {delta:g}{limit_text(document)}")
        print_line(f"the answer rests on this: {state.assumption}")

    respond(as_json, document, show)


def _variances(
    algorithm: Algorithm,
    problem: DesignProblem,
    bounds: tuple[float, float] | None,
    known: bool,
    burn_in: str,
    by_range: bool,
) -> dict[str, Any]:
    """What the algorithm is told of the variances."""
    stated = problem.noise_variance
    if known:
        if stated is None:
            raise InputError("--known-variances: the problem states no noise_variance")
        if "known_variances" not in algorithm.options:
            raise InputError(f"{algorithm.name}: {algorithm.about}; give --variance-bounds, or use h-rage")
        return {"known_variances": stated}
    if bounds is not None:
        return {"variance_bounds": bounds}
    if by_range or not algorithm.needs_bounds or ("burn_in" in algorithm.options and burn_in == "adaptive"):
        return {}
    if stated is None:
        raise InputError(
            f"{algorithm.name} needs --variance-bounds LOW HIGH, since the problem states no noise_variance"
        )
    return {"variance_bounds": (float(stated.min()), float(stated.max()))}


def _objective(problem: DesignProblem, level: float | None) -> Any:
    from convexdesign.identification import BestArm, LevelSet

    if problem.kind in BEST_ARM:
        if level is not None:
            raise InputError(f"--level is for level sets, and the problem is of kind {problem.kind}")
        return BestArm()
    if problem.kind in LEVEL_SET:
        stated = level if problem.stated.threshold is None else problem.stated.threshold
        if stated is None:
            raise InputError(f"a {problem.kind} states no threshold; give --level")
        return LevelSet(float(stated))
    kinds = ", ".join((*BEST_ARM, *LEVEL_SET))
    raise InputError(f"the problem is of kind {problem.kind}, which identifies nothing; give one of {kinds}")
