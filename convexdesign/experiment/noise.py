"""Results that are not of the noise that the algorithm was made for, noticed before they are recorded."""

from __future__ import annotations

from convexdesign.errors import InputError
from convexdesign.experiment.ledger import Ledger
from convexdesign.experiment.results import aggregate
from convexdesign.identification import Identifier

__all__ = ["refuse_two_values", "told_of_round"]


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
    refused = algorithm.two_valued(aggregate(ledger.results, round_.ids, ledger.n_arms))
    if refused is not None:
        raise InputError(f"{refused}; nothing was recorded")
