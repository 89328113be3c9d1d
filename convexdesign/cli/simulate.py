"""`convexdesign simulate`: how many measurements identification takes, and how often it errs, on a known problem."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from convexdesign.algorithms import ALGORITHMS
from convexdesign.cli.algorithms import choices, named
from convexdesign.cli.arguments import (
    AsJson,
    Budget,
    BurnIn,
    Delta,
    Jobs,
    ProblemOptions,
    Progress,
    RewardRange,
    Seed,
    SmallestGap,
    for_kinds,
    option,
)
from convexdesign.cli.completion import algorithms
from convexdesign.cli.completion import choices as words
from convexdesign.cli.files import check_writable
from convexdesign.cli.output import counted, print_line, print_table, respond, say
from convexdesign.cli.reading import read_problem
from convexdesign.cli.report import problem_document
from convexdesign.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from convexdesign.estimation import Batch, Observations
    from convexdesign.identification import Identifier, Result
    from convexdesign.problem import DesignProblem
    from convexdesign.simulation import LinearEnvironment

__all__ = ["simulate"]

KINDS = ("best-arm-oracle", "level-set-oracle")


@for_kinds(*KINDS)
def simulate(
    stated: ProblemOptions,
    algorithm: Annotated[
        list[str],
        option(
            "--algorithm",
            metavar="NAME",
            help=f"May be repeated, or several with commas: {choices(ALGORITHMS)}. All but h-rage hold for variances of any "
            "form, and h-rage does with --known-variances.",
            show_default=False,
            autocompletion=algorithms,
        ),
    ],
    replications: Annotated[int, option("--replications", help="Independent runs of each.")] = 100,
    delta: Delta = 0.05,
    variance_bounds: Annotated[
        tuple[float, float] | None,
        option(
            "--variance-bounds",
            metavar="LOW HIGH",
            help="Bounds on the variances that the algorithms are told; the true range if left out.",
        ),
    ] = None,
    known_variances: Annotated[
        bool, option("--known-variances", help="Tell h-rage, martingale and static the variances.")
    ] = False,
    burn_in: BurnIn = "sharp",
    epsilon: Annotated[float, option("--epsilon", help="Settle for answers right up to this.")] = 0.0,
    max_samples: Annotated[
        int | None, option("--max-samples", metavar="N", help="Give up a run before it takes more.")
    ] = None,
    budget: Budget = None,
    smallest_gap: SmallestGap = None,
    noise: Annotated[
        str,
        option(
            "--noise",
            help="gaussian, uniform or symmetric-beta about the means; bernoulli (one of two values, with the variances that "
            "the means say) or bounded (beta laws between two values).",
            autocompletion=words("gaussian", "uniform", "symmetric-beta", "bernoulli", "bounded"),
        ),
    ] = "gaussian",
    reward_range: RewardRange = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    progress: Progress = True,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            metavar="CSV",
            help="Write every run, one row each, as it comes: what was cut off goes on when the same command is given again.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run identification algorithms on a problem whose answer is known.

    FILE states a best-arm-oracle or a level-set-oracle: its theta and noise variances are the truth that is simulated,
    and only the oracles are told. The same seed gives the same runs, whatever --jobs is. Runs are void whose rewards
    contradict what the algorithm was told of the variances.
    """
    check_writable(output, "--output")
    names = list(dict.fromkeys(name.strip() for given in algorithm for name in given.split(",")))
    for name in names:
        named(name, ALGORITHMS, budget, smallest_gap)
    world = world_of(read_problem(stated), noise, reward_range)
    if world.reward_range is not None and (variance_bounds is not None or known_variances):
        raise InputError(f"--noise {noise} rests on no variances; leave --variance-bounds and --known-variances out")
    least, most = float(world.noise_variance.min()), float(world.noise_variance.max())
    told: dict[str, Any] = {
        "delta": delta,
        "epsilon": epsilon,
        "max_samples": max_samples,
        "variance_bounds": None if world.reward_range is not None else variance_bounds or (least, most),
        "known_variances": world.noise_variance if known_variances else None,
        "burn_in": burn_in,
        "noise": noise if noise == "gaussian" or world.reward_range is not None else "sub-gaussian",
        "reward_range": world.reward_range,
        "budget": budget,
        "smallest_gap": smallest_gap,
        "theta": world.theta,
        "noise_variance": world.noise_variance,
    }
    # The bound is for answers that are right, which those right up to epsilon need not be, and for Gaussian noise.
    bounded = epsilon == 0 and world.noise == "gaussian"
    bound, published = bounds_of(world, delta) if bounded else (None, None)
    runs = run_all(names, world, told, replications, jobs, seed, progress, output)
    table = summary(runs, bound)
    whole = document(table, world, told, replications, seed, bound, published)
    respond(as_json, whole, lambda: show(table, world, told, replications, bound))


@dataclass(frozen=True, eq=False)
class World:
    """The truth: what can be measured, what is asked, and what the answer is."""

    problem: DesignProblem
    objective: Any
    theta: np.ndarray[Any, Any]
    noise_variance: np.ndarray[Any, Any]
    noise: str
    truth: tuple[int, ...]
    reward_range: tuple[float, float] | None = None

    @property
    def arms(self) -> Any:
        return self.problem.stated.arms

    @property
    def items(self) -> Any:
        return self.problem.stated.items


def world_of(problem: DesignProblem, noise: str, reward_range: tuple[float, float] | None = None) -> World:
    """The truth behind an oracle problem; InputError for other kinds, and for what identification does not take."""
    import numpy as np

    from convexdesign.identification.best_arm import BestArm
    from convexdesign.identification.level_set import LevelSet
    from convexdesign.identification.objectives import true_answer

    if problem.kind not in KINDS:
        raise InputError(
            f"the problem is of kind {problem.kind}, which has no true answer to find; give a problem of kind "
            f"{' or '.join(KINDS)}, which states theta"
        )
    for name, given in (("costs", problem.costs is not None), ("information held", problem.prior is not None)):
        if given:
            raise InputError(f"identification takes no {name}; leave it out of the problem")
    if not problem.weight_set.is_simplex:
        raise InputError("identification takes no bounds or constraints on the weights; leave them out of the problem")
    theta = np.asarray(problem.stated.theta, dtype=float)
    threshold, items = problem.stated.threshold, problem.stated.items
    assert items is not None  # the kinds of oracles have some
    objective = BestArm() if threshold is None else LevelSet(threshold)
    variance = np.ones(problem.n_arms) if problem.noise_variance is None else problem.noise_variance
    truth = true_answer(objective, items.values, theta)
    world = World(problem, objective, theta, variance, noise, truth, reward_range)
    if noise == "bernoulli" and problem.noise_variance is not None:
        raise InputError("--noise bernoulli: the means say the variances; leave the noise variances out of the problem")
    made = environment(world, np.random.default_rng(0))  # what cannot be simulated is refused here
    return replace(world, noise_variance=made.noise_variance, reward_range=made.reward_range)


def build(name: str, world: World, told: dict[str, Any], rng: np.random.Generator) -> Identifier:
    """The algorithm of a name, fresh, told what it takes of all that is to be told; oracles the truth."""
    line, ends = ALGORITHMS[name], world.reward_range
    if ends is not None and line.knows_theta:
        told = told | {"confirm_noise": True}  # it knows the variances of whatever rewards there are
    elif ends is not None and "noise" not in line.options:
        proxy = (ends[1] - ends[0]) ** 2 / 4.0
        told = told | {"variance_bounds": (proxy, proxy)}
    return ALGORITHMS[name].make(world.arms, world.items, world.objective, rng=rng, **told)


def environment(world: World, rng: np.random.Generator) -> LinearEnvironment:
    """The world to measure."""
    from convexdesign.simulation import LinearEnvironment

    variance = None if world.noise == "bernoulli" else world.noise_variance
    return LinearEnvironment(
        world.arms, world.theta, variance, noise=world.noise, rng=rng, reward_range=world.reward_range
    )


class Watched:
    """An algorithm whose GuaranteeWarning is kept, for the table, instead of shown: there may be one in every run."""

    def __init__(self, algorithm: Identifier) -> None:
        self.algorithm = algorithm
        self.violation: str | None = None

    @property
    def done(self) -> bool:
        return self.algorithm.done

    def ask(self) -> Batch:
        return self.algorithm.ask()

    def tell(self, batch: Batch, observations: Observations) -> None:
        from convexdesign.identification import GuaranteeWarning

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", GuaranteeWarning)
            self.algorithm.tell(batch, observations)
        for warning in caught:
            if issubclass(warning.category, GuaranteeWarning):
                self.violation = str(warning.message)
            else:
                warnings.warn(warning.message, stacklevel=2)

    def result(self) -> tuple[Result, str | None]:
        return self.algorithm.result(), self.violation


def watched(name: str, world: World, told: dict[str, Any], rng: np.random.Generator) -> Watched:
    """The algorithm of a name, fresh, and watched."""
    return Watched(build(name, world, told, rng))


def record(world: World, found: tuple[Result, str | None], _: LinearEnvironment) -> dict[str, Any]:
    """What is kept of one run; an answer good up to the epsilon that it claims is right."""
    result, violation = found
    undecided = result.status.name == "UNDECIDED"
    return {
        "samples": result.samples,
        "burn_in_samples": result.burn_in_samples,
        "rounds": result.rounds,
        "status": result.status.name,
        "answer": result.answer,
        "undecided": undecided,
        "correct": not undecided and is_right(world, result.answer, result.epsilon),
        "void": violation is not None,
        "violation": violation,
    }


def is_right(world: World, answer: tuple[int, ...], epsilon: float) -> bool:
    """Whether no item is misplaced by more than epsilon."""
    import numpy as np

    if epsilon == 0 or answer == world.truth:
        return answer == world.truth
    values = np.asarray(world.items.values, dtype=float) @ world.theta
    if world.problem.kind == KINDS[0]:
        return bool(values[list(answer)].min() >= values.max() - epsilon)
    wrong = sorted(set(answer) ^ set(world.truth))
    return bool(np.all(np.abs(values[wrong] - world.objective.threshold) <= epsilon))


# Columns of the rows that no file of them needs.
NOT_WRITTEN = ("answer", "violation")


def run_all(
    names: list[str],
    world: World,
    told: dict[str, Any],
    replications: int,
    jobs: int,
    seed: int,
    progress: bool,
    output: Path | None,
) -> pd.DataFrame:
    """One row a run, written to the output as it comes: algorithm, replication, seed, and what `record` keeps."""
    import numpy as np
    import pandas as pd

    from convexdesign.simulation import run_replications
    from convexdesign.simulation.saving import SavedRows

    # What is wrong with the settings is said here, before the work, not by a worker.
    environment(world, np.random.default_rng(0))
    for name in names:
        build(name, world, told, np.random.default_rng(0))
    frames = []
    stated, n, m = world.problem.stated, world.arms.n, world.items.n
    made_of = [world.arms.source.take(np.arange(n)), world.items.source.take(np.arange(m)), stated.threshold]
    truth = [world.problem.kind, world.theta, world.noise_variance, world.noise, told]
    identity = [names, replications, seed, *made_of, *truth]
    with SavedRows(output, NOT_WRITTEN, identity) as saved:
        if saved.found:
            say(f"going on behind {counted(len(saved.found), 'run')} that an earlier call had written")
        for number, name in enumerate(names, 1):
            label = f"{name} ({number} of {len(names)})" if len(names) > 1 else name
            run = partial(one_run, name, world, told, seed)
            rows = run_replications(run, replications, jobs, progress, label=label, save=saved)
            violations = rows["violation"].dropna()
            if len(violations):
                void = f"void in {len(violations):,} of {counted(len(rows), 'run')}; the first: {violations.iloc[0]}"
                say(f"warning: {name}: {void}")
            frames.append(rows)
    return pd.concat(frames, ignore_index=True)


def one_run(name: str, world: World, told: dict[str, Any], seed: int, replication: int) -> dict[str, Any]:
    """The row of one run of an algorithm."""
    from convexdesign.simulation import replicate_one

    make, make_world = partial(watched, name, world, told), partial(environment, world)
    row = replicate_one(make, make_world, replication, seed, record=partial(record, world))
    return {"algorithm": name} | row


def summary(runs: pd.DataFrame, bound: float | None) -> pd.DataFrame:
    """One row an algorithm: errors, undecided and void runs, samples with their standard error, burn-in and rounds."""
    from convexdesign.simulation import comparison_table

    table = comparison_table(runs, bound).set_index("algorithm")
    groups = runs.groupby("algorithm")
    return table.join(groups[["burn_in_samples", "rounds"]].mean()).join(groups["void"].sum()).reset_index()


def bounds_of(world: World, delta: float) -> tuple[float, float]:
    """No algorithm that errs with probability at most delta, whatever theta, takes fewer samples on average; as published."""
    from convexdesign.identification import lower_bound, sharp_lower_bound

    truth = (world.arms, world.items, world.theta, world.objective, world.noise_variance)
    return sharp_lower_bound(*truth, delta), lower_bound(*truth, delta)


def document(
    table: pd.DataFrame,
    world: World,
    told: dict[str, Any],
    replications: int,
    seed: int,
    bound: float | None,
    published: float | None,
) -> dict[str, Any]:
    """The table and all that it depends on."""
    return {
        "problem": problem_document(world.problem),
        "truth": list(world.truth),
        "delta": told["delta"],
        "epsilon": told["epsilon"],
        "noise": world.noise,
        "reward_range": None if world.reward_range is None else list(world.reward_range),
        "variance_bounds": None if told["variance_bounds"] is None else list(told["variance_bounds"]),
        "known_variances": told["known_variances"] is not None,
        "smallest_gap": told["smallest_gap"],
        "replications": replications,
        "seed": seed,
        "lower_bound": bound,
        "lower_bound_theorem_1": published,
        "algorithms": table.to_dict("records"),
    }


def show(table: pd.DataFrame, world: World, told: dict[str, Any], replications: int, bound: float | None) -> None:
    """The table for a reader."""
    names, bounds = world.items.names, told["variance_bounds"]
    answer = ", ".join(str(i) if names is None else names[i] for i in world.truth) or "no item"
    what = "the best item" if world.problem.kind == KINDS[0] else f"items above {world.objective.threshold:g}"
    print_line(f"{what}: {answer}; {counted(world.problem.n_arms, 'arm')}, {counted(world.items.n, 'item')}")
    print_line(f"{counted(replications, 'run')} each, {world.noise} noise, delta {told['delta']:g}")
    least = "" if bound is None else f"; no algorithm needs fewer than {bound:,.0f} on average"
    known = told["known_variances"] is not None
    variances = "known variances where an algorithm uses them" if known else "variances unknown"
    low, high = bounds or world.reward_range or (0.0, 0.0)
    within = f"{'bounds' if bounds else 'rewards from'} {low:g} to {high:g}"
    print_line(f"{variances}, {within}{least}")
    print_line()
    columns = ("algorithm", "samples", "std. error", "of them burn-in", "rounds", "errors", "undecided", "void")
    print_table(
        (*columns, "times the bound") if bound is not None else columns,
        [
            (
                row.algorithm,
                f"{row.mean_samples:,.0f}",
                f"{row.standard_error:,.0f}",
                f"{row.burn_in_samples:,.0f}",
                f"{row.rounds:.1f}",
                f"{row.errors} of {row.runs}",
                str(row.undecided),
                str(row.void),
                *([f"{row.times_lower_bound:.2f}"] if bound is not None else []),
            )
            for row in table.itertuples()
        ],
        left=("algorithm",),
    )
