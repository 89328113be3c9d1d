"""How often elimination with test martingales is wrong, against its delta: ties, controls, and its martingales themselves.

`python validation/martingale_promise.py docs/validation` counts 1,000 runs of 40 instances at three deltas.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from counting import count, kept_part, markdown
from numpy.typing import NDArray

from convexdesign.identification import AnswerStatus, BestArm, GuaranteeWarning, LevelSet, MartingaleElimination, Result
from convexdesign.identification.evidence import Bets, Evidence, variance_upper_ends
from convexdesign.instances import Instance
from convexdesign.simulation import LinearEnvironment, replication_seed, run_replications, simulate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Case", "cases", "control", "is_wrong", "promise", "ruin", "run", "variance_cover"]

Floats = NDArray[np.float64]

REPLICATIONS = 1000
DELTAS = (0.05, 0.2, 0.5)
# Replications between two writings of the table.
PASS = 25
# Runs that cannot end by themselves end here.
LIMIT = 1_000
NEAR = 1e-3
EPSILON = 0.5
LEAST_GAP = 0.4
# Of the ten instances of each objective and kind of items.
SORTS = ("apart",) * 4 + ("near tie",) * 2 + ("tie",) * 2 + ("tie, epsilon",) * 2
# The control is told this share of the variances.
CONTROL_SHARE = 1.0 / 20.0
LEVELS = (0.5, 0.2, 0.05)


@dataclass(frozen=True, eq=False)
class Case:
    """An instance, how it is to be run, and what would be wrong.

    best (best arm): all best items. above, below (level sets): items that may not be placed below, or above; an item on
    the threshold is in both, so that any placing of it counts as an error.
    """

    name: str
    world: Instance
    epsilon: float
    max_samples: int | None

    @property
    def values(self) -> Floats:
        """z'theta of every item."""
        return np.asarray(self.world.items @ self.world.theta)


def cases() -> list[Case]:
    """The 40: best arm and level set, items = arms and other items; apart, near ties, ties, ties settled by epsilon."""
    return [
        _case(kind, transductive, sort, number)
        for kind in ("best-arm", "level-set")
        for transductive in (False, True)
        for number, sort in enumerate(SORTS)
    ]


def _case(kind: str, transductive: bool, sort: str, number: int) -> Case:
    rng = np.random.default_rng([41, kind == "best-arm", transductive, number])
    d, n, m = (2, 5, 5) if number % 2 else (3, 7, 6)
    theta = rng.standard_normal(d)
    theta /= np.linalg.norm(theta)
    while True:
        arms = rng.standard_normal((n, d))
        items = rng.standard_normal((m, d)) if transductive else arms.copy()
        values = np.sort(items @ theta)
        middle = items.shape[0] // 2
        threshold = float(values[middle] + values[middle - 1]) / 2.0
        gap = values[-1] - values[-2] if kind == "best-arm" else np.abs(values - threshold).min()
        if gap >= LEAST_GAP / 2.0:
            break
    if sort != "apart":
        _bring_together(items, theta, kind, threshold, NEAR if sort == "near tie" else 0.0, rng)
        arms = arms if transductive else items.copy()
    variance = rng.uniform(0.1, 1.0, n)
    objective = BestArm() if kind == "best-arm" else LevelSet(threshold)
    name = f"{kind}, {'other items' if transductive else 'items = arms'}, {sort}, {number}"
    epsilon, limit = (EPSILON if "epsilon" in sort else 0.0), (None if sort == "apart" else LIMIT)
    return Case(name, Instance(arms, items, theta, None, variance, objective), epsilon, limit)


def _bring_together(
    items: Floats, theta: Floats, kind: str, threshold: float, gap: float, rng: np.random.Generator
) -> None:
    """Give the second best item the value of the best less `gap`, or the item nearest the threshold that plus gap."""
    values = items @ theta
    order = np.argsort(values)
    if kind == "best-arm":
        moved, target = order[-2], values[order[-1]] - gap
    else:
        moved, target = int(np.argmin(np.abs(values - threshold))), threshold + gap
    aside = rng.standard_normal(theta.size)
    items[moved] = aside - (aside @ theta) * theta + target * theta


def is_wrong(case: Case, result: Result) -> bool:
    """Whether a run lost a best item, placed an item on its wrong side, or gave an answer that is not epsilon-good."""
    values, epsilon = case.values, case.epsilon + 1e-9
    answer = np.asarray(result.answer, dtype=np.intp)
    if isinstance(case.world.objective, BestArm):
        best = np.flatnonzero(values > values.max() - 1e-9)
        lost = not set(best.tolist()) <= set(result.survivors)
        return lost or bool(np.any(values[answer] < values.max() - epsilon))
    assert isinstance(case.world.objective, LevelSet)
    distance = values - case.world.objective.threshold
    placed = np.any(distance[list(result.above)] < 1e-9) or np.any(distance[list(result.below)] > -1e-9)
    if result.status is not AnswerStatus.EPSILON_GOOD:
        return bool(placed)
    chosen = np.isin(np.arange(values.size), answer)
    return bool(placed or np.any(distance[chosen] < -epsilon) or np.any(distance[~chosen] > epsilon))


def _play(case: Case, delta: float, seed: np.random.SeedSequence, share: float | None = None) -> Result:
    world, (low, high) = case.world, (float(case.world.noise_variance.min()), float(case.world.noise_variance.max()))
    known = None if share is None else share * world.noise_variance
    bounds = (low / 10.0, high * 10.0) if share is None else None
    algorithm = MartingaleElimination(
        world.arms,
        world.items,
        world.objective,
        delta,
        bounds,
        known,
        epsilon=case.epsilon,
        max_samples=case.max_samples,
    )
    environment = LinearEnvironment(world.arms, world.theta, world.noise_variance, rng=np.random.default_rng(seed))
    result: Result = simulate(algorithm, environment)
    return result


def promise(replications: int, seed: int, jobs: int | None, progress: bool) -> Iterator[pd.DataFrame]:
    """The table of all cases and deltas after every pass; each holds all replications so far, equally many a line."""
    every = cases()

    def replication(k: int) -> list[dict[str, Any]]:
        seeds = iter(replication_seed(seed, k).spawn(len(every) * len(DELTAS)))
        rows = []
        for case in every:
            for delta in DELTAS:
                result = _play(case, delta, next(seeds))
                rows.append({"case": case.name, "delta": delta} | _row(case, result))
        return rows

    yield from _passes("promise", replication, replications, jobs, progress)


def control(replications: int, seed: int, jobs: int | None, progress: bool) -> Iterator[pd.DataFrame]:
    """The same for runs told a twentieth of the variances, on ties and near ties at delta = .05: must be wrong too often."""
    every = [case for case in cases() if "tie" in case.name and case.epsilon == 0.0]

    def replication(k: int) -> list[dict[str, Any]]:
        rows = []
        with warnings.catch_warnings():
            # That the rewards deny such variances is the point.
            warnings.simplefilter("ignore", GuaranteeWarning)
            for case, child in zip(every, replication_seed(seed + 1, k).spawn(len(every))):
                row = _row(case, _play(case, DELTAS[0], child, CONTROL_SHARE))
                rows.append({"case": case.name, "delta": DELTAS[0]} | row)
        return rows

    for table in _passes("controls", replication, replications, jobs, progress):
        table["passed"] = ~table["passed"]
        yield table


def _row(case: Case, result: Result) -> dict[str, Any]:
    status = result.status
    return {
        "wrong": is_wrong(case, result),
        "undecided": status is AnswerStatus.UNDECIDED,
        "epsilon_good": status is AnswerStatus.EPSILON_GOOD,
        "samples": result.samples,
    }


def _passes(
    name: str, replication: Callable[[int], list[dict[str, Any]]], replications: int, jobs: int | None, progress: bool
) -> Iterator[pd.DataFrame]:
    import pandas as pd

    rows = pd.DataFrame()
    for start in range(0, replications, PASS):
        few = min(PASS, replications - start)
        bar = f"{name}, runs {start + 1:,} to {start + few:,} of {replications:,}"
        more = kept_part(lambda: run_replications(lambda k: replication(start + k), few, jobs, progress, label=bar))  # noqa: B023
        rows = pd.concat([rows, more], ignore_index=True)
        yield _table(rows)


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    """A line per case and delta; it passes unless its errors show, at level 1e-3, a rate above delta."""
    from scipy.stats import beta

    groups = rows.groupby(["case", "delta"], sort=False)
    table = groups.agg(
        runs=("wrong", "size"),
        errors=("wrong", "sum"),
        undecided=("undecided", "sum"),
        epsilon_good=("epsilon_good", "sum"),
        mean_samples=("samples", "mean"),
    ).reset_index()
    table.insert(4, "error_rate", table["errors"] / table["runs"])
    low = [beta.ppf(1e-3, e, n - e + 1) if e else 0.0 for e, n in zip(table["errors"], table["runs"])]
    table["passed"] = np.asarray(low) <= table["delta"]
    return table


# ---------------------------------------------------------------- the martingales themselves


def ruin(runs: int, seed: int = 0, rounds: int = 30) -> pd.DataFrame:
    """P(sup wealth >= 1/a) for bets on an equality (the boundary of what they bet against), pulls chosen to hurt.

    Two arms of equal value. "steady": equal batches; "growing": half as many again each round; "chasing": long batches
    while the wealth is low, single pulls while it is high; "tilting": the arm whose mean looks worse is pulled 50
    times as often; "leader": the direction of the bet changes with the leader, wealth of either.
    """
    import pandas as pd

    rows = []
    for number, name in enumerate(ALLOCATIONS):
        best = np.array([_sup_wealth(name, np.random.default_rng([seed, number, k]), rounds) for k in range(runs)])
        for a in LEVELS:
            rows.append(
                {
                    "allocation": name,
                    "a": a,
                    "runs": runs,
                    "share": float(np.mean(best >= np.log(1.0 / a))),
                    "error": float(np.sqrt(a * (1.0 - a) / runs)),
                }
            )
    table = pd.DataFrame(rows)
    table["passed"] = table["share"] <= table["a"] + 3.1 * table["error"]
    return table


ALLOCATIONS = ("steady", "growing", "chasing", "tilting", "leader")


def _sup_wealth(name: str, rng: np.random.Generator, rounds: int) -> float:
    from convexdesign.estimation import Observations

    arms, variances = np.eye(2), np.array([1.0, 4.0])
    evidence, bets = Evidence(arms), Bets(2)
    count, sums = np.zeros(2), np.zeros(2)
    for k in range(rounds):
        ahead = int(np.argmax(sums / np.maximum(count, 1.0))) if name == "leader" else 0
        pulls = _pulls(name, k, float(bets.log_wealth()[1]), int(np.argmin(sums / np.maximum(count, 1.0))))
        mean = rng.standard_normal(2) * np.sqrt(variances / pulls)
        count, sums = count + pulls, sums + pulls * mean
        summary = evidence.add(Observations(pulls, mean, np.zeros(2)), variances)
        assert summary is not None
        bets.add(*summary.of(evidence.space.coordinates(arms[ahead] - arms)))
    # The bets on either arm test one hypothesis each; the first alone is the claim.
    return float(bets.best[1])


def _pulls(name: str, k: int, wealth: float, worse: int) -> NDArray[np.int64]:
    if name in ("growing", "leader"):
        return np.full(2, int(np.ceil(1.5**k)))
    if name == "chasing":
        return np.full(2, 200 if wealth < 0.0 else 1)
    if name == "tilting":
        pulls = np.ones(2, dtype=np.int64)
        pulls[worse] = 50
        return pulls
    return np.full(2, 10)


def variance_cover(runs: int, seed: int = 0, steps: int = 400) -> pd.DataFrame:
    """How often an upper end ever misses the VARIANCE 1, at level a: the mixture's, and the chi-square quantile's.

    The quantile at the degrees of freedom so far, S / chi2_dof(a), is right at any one time, but not at all times:
    pulling on while the estimate is large stops where it is small. Pulls come two at a time.
    """
    import pandas as pd
    from scipy.stats import chi2

    rng = np.random.default_rng([seed, 7])
    S, dof = np.zeros(runs), np.zeros(runs)
    missed = {name: {a: np.zeros(runs, dtype=bool) for a in LEVELS} for name in ("mixture", "quantile")}
    for _ in range(steps):
        S += rng.chisquare(1, runs)
        dof += 1.0
        for a in LEVELS:
            missed["mixture"][a] |= variance_upper_ends(S, dof, 1.0 / a) < 1.0
            missed["quantile"][a] |= chi2.ppf(a, dof[0]) > S
    rows = [
        {"upper end": name, "a": a, "runs": runs, "share": float(share.mean())}
        for name, shares in missed.items()
        for a, share in shares.items()
    ]
    table = pd.DataFrame(rows)
    error = np.sqrt(table["a"] * (1.0 - table["a"]) / runs)
    valid = table["share"] <= table["a"] + 3.1 * error
    table["passed"] = np.where(table["upper end"] == "mixture", valid, ~valid)
    return table


# ---------------------------------------------------------------- the page


def run(
    output_dir: str | Path,
    replications: int = REPLICATIONS,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool = True,
) -> list[Path]:
    """Write martingale-promise.csv, -controls.csv, -ruin.csv, -variances.csv and martingale-promise.md; the paths."""
    target = Path(output_dir)
    target.mkdir(parents=True, exist_ok=True)
    names = [
        f"martingale-{part}" for part in ("promise.csv", "controls.csv", "ruin.csv", "variances.csv", "promise.md")
    ]
    paths = [target / name for name in names]
    ruined, variances = ruin(replications, seed), variance_cover(2 * replications, seed)
    ruined.to_csv(paths[2], index=False)
    variances.to_csv(paths[3], index=False)
    for controls in control(max(replications // 10, 1), seed, jobs, progress):
        controls.to_csv(paths[1], index=False)
    for table in promise(replications, seed, jobs, progress):
        # After every pass: the whole takes more than an hour of processor time.
        table.to_csv(paths[0], index=False)
        paths[4].write_text(_page(table, controls, ruined, variances, replications, seed), encoding="utf-8")
    return paths


PAGE = """# Elimination with test martingales: wrong with probability at most delta

Command:
`python validation/martingale_promise.py docs/validation --replications {replications} --seed {seed}`
({date}).

{runs} runs per line{stopped}, {total} in all, of 40 instances: best arm and level set; the arms as items,
and other items; gaps of at least {gap}; near ties (values {near} apart); ties (two best items; an item on the threshold);
ties settled by epsilon = {epsilon}. All but the first sort end at {limit} samples at the latest. Variances unknown, in
bounds ten times too wide on either side. An error is: a best item lost (each of several), an item placed on a wrong side
(any side, for one on the threshold), an answer that is not epsilon-good. To be undecided is none.

A line passes unless its errors show, at level 1e-3, a rate above delta. **{passed} of {lines} lines pass**; the largest
error rates are {largest}.

{promise}

## Control

Runs that are told a twentieth of the variances must break the promise: they pass when their errors show, at level 1e-3, a
rate above delta. {control_passed} of {control_lines} do.

{control}

## The wealth of a bet

The share of runs in which a bet at the boundary of what it bets against ever reaches 1/a, under allocations that depend
on the past in ways chosen to hurt. It should be at most a; `error` is the standard deviation of a share of a.

{ruin}

## Upper ends of a variance

The share of runs in which an upper end is ever below the variance, looked at after each pull. The mixture's should be at
most a. The chi-square quantile at the degrees of freedom so far, right at any one time, must fail.

{variances}
"""


def _page(
    table: pd.DataFrame,
    controls: pd.DataFrame,
    ruined: pd.DataFrame,
    variances: pd.DataFrame,
    replications: int,
    seed: int,
) -> str:
    done = int(table["runs"].min())
    largest = table.groupby("delta")["error_rate"].max()
    return PAGE.format(
        replications=replications,
        seed=seed,
        date=datetime.date.today().isoformat(),
        runs=f"{done:,}",
        stopped="" if done == replications else f" (stopped there, of {replications:,} asked for)",
        total=f"{int(table['runs'].sum()):,}",
        gap=LEAST_GAP / 2.0,
        near=NEAR,
        epsilon=EPSILON,
        limit=f"{LIMIT:,}",
        passed=int(table["passed"].sum()),
        lines=len(table),
        largest=", ".join(f"{rate:.3f} at delta = {delta:g}" for delta, rate in largest.items()),
        control_passed=int(controls["passed"].sum()),
        control_lines=len(controls),
        promise=markdown(table),
        control=markdown(controls),
        ruin=markdown(ruined),
        variances=markdown(variances),
    )


def main() -> None:
    count(run, "Count how often elimination with test martingales is wrong.", REPLICATIONS)


if __name__ == "__main__":
    main()
