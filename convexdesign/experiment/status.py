"""Where an experiment stands, and what its answer will be worth."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

from convexdesign.algorithms import ALGORITHMS
from convexdesign.experiment.ledger import Ledger, Phase
from convexdesign.identification import AnswerStatus, BestArm, Identifier, MartingaleElimination
from convexdesign.identification.assumption_checks import VOID

__all__ = ["ExperimentStatus", "experiment_status", "guarantee"]


@dataclass(frozen=True)
class ExperimentStatus:
    """The state of an experiment, for people and for programs.

    Parameters
    ----------
    phase : Phase
        What it waits for.
    algorithm : str
        Its name.
    delta : float
        The probability of an error that it allows.
    rounds : int
        Those that are complete.
    survivors, above, below : tuple of int
        Items, as in `identification.Result`.
    batch : int or None
        The open one; None where none is open.
    asked, told : int
        Pulls of the open batch asked for (or, where other numbers arrived, those), and told.
    pulls_told : int
        Results that count, in all.
    pulls_missing : int
        Those marked as missing.
    pulls_set_aside : int
        Those of batches that count no more.
    withdrawn : tuple of int
        Arms that are asked for no more.
    amendments : int
        Corrections that stand.
    guarantee : str
        What the answer is worth, and if what.
    void : bool
        Whether the data contradict the assumption.
    stopped : str or None
        Why the experiment was stopped, where it was.
    events : int
        Entries in the log.
    max_samples, budget : int or None
        Limits on all pulls asked for; None where there is none.
    best_guess : tuple of int or None
        What the answer would be now (items); None where the algorithm has none, or no round is complete.
    p_value : float or None
        Of it being wrong, valid at any time under the assumption.
    pulls_asked : int
        All that were ever asked for, whatever became of them (where other numbers arrived: those).
    assumption : str
        The algorithm's own.
    arrivals : int
        Batches of which other numbers arrived than were asked for.
    dropped : tuple of int
        Items that are not asked about any more.
    joined : tuple of int
        Items that were not there from the beginning.
    joined_arms : tuple of int
        Arms that were not.
    taken_back : int
        Corrections that were taken back.
    answer : tuple of int or None
        The answer (items), recorded or not, as `result` gives it; None before the end.
    answer_status : str or None
        The name of its AnswerStatus.
    """

    phase: Phase
    algorithm: str
    delta: float
    rounds: int
    survivors: tuple[int, ...]
    above: tuple[int, ...]
    below: tuple[int, ...]
    batch: int | None
    asked: int
    told: int
    pulls_told: int
    pulls_missing: int
    pulls_set_aside: int
    withdrawn: tuple[int, ...]
    amendments: int
    guarantee: str
    void: bool
    stopped: str | None
    events: int
    max_samples: int | None = None
    budget: int | None = None
    best_guess: tuple[int, ...] | None = None
    p_value: float | None = None
    pulls_asked: int = 0
    assumption: str = ""
    arrivals: int = 0
    dropped: tuple[int, ...] = ()
    joined: tuple[int, ...] = ()
    joined_arms: tuple[int, ...] = ()
    taken_back: int = 0
    answer: tuple[int, ...] | None = None
    answer_status: str | None = None

    @property
    def outstanding(self) -> int:
        """Pulls of the open batch whose results are still to come."""
        return self.asked - self.told

    @property
    def progress(self) -> float:
        """The share of the open batch that was told; 1 where none is open."""
        return self.told / self.asked if self.asked else 1.0


def experiment_status(ledger: Ledger, algorithm: Identifier, violations: list[str]) -> ExperimentStatus:
    """The state that a ledger and the algorithm that followed it are in."""
    asked = ledger.open
    survivors, above, below = (tuple(side) for side in algorithm.partition.record().values())
    counted = [a for a in ledger.batches if not a.set_aside]
    budget = getattr(algorithm, "budget", None)
    guess = algorithm.confidence() if isinstance(algorithm, MartingaleElimination) and algorithm.rounds else None
    return ExperimentStatus(
        phase=ledger.phase,
        algorithm=ALGORITHMS[ledger.specification["algorithm"]].cls.__name__,
        delta=algorithm.delta,
        rounds=sum(round_.aggregated is not None for round_ in ledger.rounds),
        survivors=survivors,
        above=above,
        below=below,
        batch=None if asked is None else asked.batch.id,
        asked=0 if asked is None else int((asked.expected - asked.missing).sum()),
        told=0 if asked is None else int(asked.told.sum()),
        pulls_told=sum(int(a.told.sum()) for a in counted),
        pulls_missing=sum(int(a.missing.sum()) for a in counted),
        pulls_set_aside=sum(int(a.told.sum()) for a in ledger.batches if a.set_aside),
        withdrawn=tuple(ledger.withdrawn),
        amendments=ledger.amendments,
        guarantee=guarantee(ledger, algorithm, violations),
        void=bool(violations),
        stopped=ledger.stopped,
        events=ledger.events,
        max_samples=None if budget is not None else algorithm.max_samples,
        budget=budget,
        best_guess=None if guess is None else guess.answer,
        p_value=None if guess is None else 1.0 - guess.answer_confidence,
        pulls_asked=ledger.asked_for,
        assumption=algorithm.assumption,
        arrivals=ledger.arrivals,
        dropped=ledger.dropped,
        joined=tuple(range(ledger.first_joined, ledger.first_joined + len(ledger.joined))),
        joined_arms=tuple(range(ledger.n_arms - len(ledger.joined_arms), ledger.n_arms)),
        taken_back=ledger.taken_back,
        answer=None if ledger.finished is None else tuple(ledger.finished["answer"]),
        answer_status=None if ledger.finished is None else ledger.finished["status"],
    )


def guarantee(ledger: Ledger, algorithm: Identifier, violations: list[str]) -> str:
    """What the answer is worth after all that happened, in words."""
    if violations:
        return "void: " + "; ".join(violation.replace(f"{VOID}: ", "") for violation in violations)
    provided = []
    missing = sum(int(a.missing.sum()) for a in ledger.batches)
    if missing:
        results = "1 missing result" if missing == 1 else f"{missing:,} missing results"
        again = "" if ledger.finished is not None and ledger.current is not None else " (asked for again)"
        provided.append(f"the {results}{again} went missing whatever the values were")
    if ledger.arrivals:
        provided.append("chance or a clock decided how many results came of each arm, and not their values")
    if ledger.dropped:
        price = dropping_price(ledger, algorithm) * joining_price(ledger, algorithm)
        whatever = min(1.0, price * algorithm.error_probability)
        more = f" (dropped for whatever reason: with probability at most {whatever:.3g})" if price > 1 else ""
        provided.append(f"items were dropped whatever the rewards were{more}")
    if ledger.joined and isinstance(algorithm.objective, BestArm):
        price = joining_price(ledger, algorithm) * dropping_price(ledger, algorithm)
        whatever = min(1.0, price * algorithm.error_probability)
        provided.append(
            f"items joined whatever the rewards were (joined for whatever reason: with probability at most {whatever:.3g})"
        )
    if ledger.withdrawn:
        provided.append("arms were withdrawn whatever their rewards were")
    if ledger.amendments:
        provided.append("what was amended was amended whatever answer it leads to")
    if ledger.taken_back:
        provided.append("what was amended and taken back was so whatever answer it leads to")
    promise = f"{_promise(ledger.finished, algorithm)}, if {algorithm.assumption}"
    return promise if not provided else f"{promise}, provided that {' and '.join(provided)}"


def dropping_price(ledger: Ledger, algorithm: Identifier) -> int:
    """By what the probability of error is to be multiplied where items were dropped because of their rewards.

    1 where the promise holds for all items, or pairs of them, at once. For the bets of martingale elimination that an item
    is not the best: D + 1 for D items that never led, else the number of ways to choose D of all items; see the mathematics
    page, section 10.16.
    """
    if not isinstance(algorithm, MartingaleElimination) or not isinstance(algorithm.objective, BestArm):
        return 1
    dropped = set(ledger.dropped)
    if not dropped:
        return 1
    led = any(round_.memory.get("leader") in dropped for round_ in ledger.rounds)
    return comb(len(algorithm.items), len(dropped)) if led else len(dropped) + 1


def joining_price(ledger: Ledger, algorithm: Identifier) -> int:
    """By what the probability of error is to be multiplied where items joined because of the rewards; section 10.18.

    1 for level sets, of whose promise those that joined are a part, for whatever reason.
    """
    return len(ledger.joined) + 1 if isinstance(algorithm.objective, BestArm) else 1


def _promise(finished: dict[str, Any] | None, algorithm: Identifier) -> str:
    """What the algorithm promises of its answer: the one it gave (a result as plain data), or the one to come."""
    probability = f"with probability at most {algorithm.error_probability:g}"
    status = None if finished is None else AnswerStatus[finished["status"]]
    if finished is not None and status is AnswerStatus.BEST_GUESS:
        return f"the answer is a best guess; the p-value of its being wrong is {finished['p_value']:.3g}"
    if status is AnswerStatus.UNDECIDED:
        return f"there is no answer; what was eliminated or placed is wrong {probability}"
    good = status is AnswerStatus.EPSILON_GOOD or (status is None and algorithm.epsilon > 0)
    promise = f"the answer is wrong{f' by more than {algorithm.epsilon:g}' if good else ''} {probability}"
    budget = getattr(algorithm, "budget", None)
    if status is None and budget is not None:
        promise += f" (if the budget of {budget:,} measurements is spent first, it is a best guess with a p-value)"
    return promise
