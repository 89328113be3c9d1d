"""Results that are not of the noise that the algorithm was made for, noticed when they are told."""

from __future__ import annotations

import warnings

from convexdesign.errors import InputError
from convexdesign.experiment.ledger import Ledger
from convexdesign.experiment.packing import unpacked_summary
from convexdesign.experiment.results import RewardRows, SummaryRows, aggregate
from convexdesign.identification import GuaranteeWarning, Identifier

__all__ = ["refuse_two_values", "told_of_round", "warn_out_of_range"]


def told_of_round(ledger: Ledger) -> int:
    """How many results the round that is being measured has."""
    return 0 if ledger.current is None else int(ledger.current.told.sum())


def refuse_two_values(ledger: Ledger, algorithm: Identifier, before: int) -> None:
    """InputError where the results of the round take two values only, and its guarantee does not hold for these.

    Looks when their number, `before` at first, has reached another power of two, and when the round is complete: results
    told one by one cost no more than all at once.
    """
    round_, now = ledger.current, told_of_round(ledger)
    if round_ is None or now == before or (now.bit_length() == before.bit_length() and round_.lost.any()):
        return
    everything = set[int]().union(*(recorded.ids for recorded in ledger.rounds))
    singles = ledger.results.singles_of(everything)
    refused = algorithm.two_valued(aggregate(ledger.results, round_.ids, ledger.n_arms), singles)
    if refused is not None:
        raise InputError(f"{refused}; nothing was recorded")


def warn_out_of_range(algorithm: Identifier, part: RewardRows | SummaryRows) -> None:
    """GuaranteeWarning where rewards that are told are not in their range: corrected at once, nothing will rest on them."""
    if isinstance(part, RewardRows):
        found = algorithm.singles_out_of_range(part.arms, part.rewards)
    else:
        content = part.observed
        columns = {"arms": content.arms, "count": content.count, "mean": content.values, "m2": content.m2}
        found = algorithm.out_of_range(unpacked_summary(columns, algorithm.n_arms))
    if found is not None:
        warnings.warn(
            f"{found}. They are recorded, and the answer will be void unless they are amended",
            GuaranteeWarning,
            stacklevel=4,
        )
