"""A verification in words: one fact a line, for a terminal, a notebook, or the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from convexdesign.arms.labels import spoken
from convexdesign.decimals import above, at_least, at_most, below

if TYPE_CHECKING:
    from convexdesign.verification.improvement import Improvement
    from convexdesign.verification.verification import Verification

__all__ = ["facts", "move"]

# Digits of a value, places after the point of an efficiency, and how many targets and arms are named.
SIGNIFICANT = 8
DIGITS = 7
NAMED = 3
# No design that measures everything saves all measurements, however close rounding brings it.
AS_GOOD = 1e-6
MOST_SPARED = 99.9999


def facts(v: Verification, tol: float) -> list[tuple[str, str]]:
    """Name and text of each fact; tol is the relative gap up to which a design is called optimal."""
    low, high = v.efficiency_interval
    criterion = v.problem.criterion
    if criterion.maximised:
        bound = f"{above(v.lower_bound, SIGNIFICANT)}: no design has more"
    else:
        bound = f"{below(v.lower_bound, SIGNIFICANT)}: no design has less"
    how = ", both proven" + (" up to rounding" if v.proof is None else f" for {v.proof.about}")
    out = [
        ("problem", repr(v.problem).removeprefix("DesignProblem(").removesuffix(")")),
        (criterion.value_name, f"{v.value:.{SIGNIFICANT}g}"),
        ("bound", bound),
        ("efficiency", f"between {at_least(low, DIGITS)} and {at_most(high, DIGITS)}{how}"),
        ("verdict", verdict(v, tol)),
    ]
    if v.rank_note:
        out.insert(1, ("rank", v.rank_note.removeprefix("rank ")))
    worst = v.worst_targets(NAMED)
    # Settings that name an arm hold commas themselves.
    listed = "; ".join(f"{name}: {variance:.6g}" for name, variance in zip(worst["target"], worst["variance"]))
    out.append(("worst variances", listed))
    if v.counts is not None and not v.is_optimal(tol) and v.is_allowed:
        out += whole_numbers(v)
    if not v.is_optimal(tol) and v.is_allowed:
        out.append(("improvement", move(v.improvement(), criterion.value_name, v.value)))
    return out


def verdict(v: Verification, tol: float) -> str:
    """Optimal, not optimal, or not known, always within a tolerance."""
    low, high = v.efficiency_interval
    if not v.is_allowed:
        return (
            f"NOT allowed: the weights miss the problem's constraints on them by {v.violation:.3g} of what they allow"
        )
    if v.is_optimal(tol):
        return f"optimal: within {v.gap:.1e} of the best possible, proven (tolerance {tol:.1e})"
    remark = f" ({v.remark})" if v.remark else ""
    if high <= 0:
        return (
            f"useless as it is: something wanted is not measured at all, so no number of measurements suffices{remark}"
        )
    if v.is_worse_than(tol):
        # Information already held is not measured again: then the efficiency is a ratio of variances and no more.
        spared = "fewer measurements" if v.problem.costs is None else "less of the budget"
        percent = at_least(min(100 * (1 - high), MOST_SPARED), 4)
        saved = f": the best design needs {percent} % {spared}" * (v.problem.prior is None)
        as_proportions = " as proportions" * (v.counts is not None)
        return f"NOT optimal{as_proportions}, proven{saved}{remark}"
    if low <= 0:
        return f"not decided{remark}"
    return f"not decided: proven within {1 / low - 1:.1e} of the best possible, not within the tolerance {tol:.1e}"


def whole_numbers(v: Verification) -> list[tuple[str, str]]:
    """How counts compare with the best plan of as many runs that was found, and the swap of a run that gains most."""
    best, facts = v.best_plan, []
    n = 0 if v.counts is None else int(v.counts.sum())
    if best is not None and best.efficiency > 0 and v.efficiency > 0:
        ratio = v.efficiency / best.efficiency
        if ratio >= 1.0 - AS_GOOD:
            text = f"no plan of {n} runs that is better was found: proportions better than these are no whole numbers"
        else:
            text = f"{100 * ratio:.4g} % as efficient as the best plan of {n} runs that was found"
        facts.append(("whole numbers", text))
    swaps = v.swaps(1)
    if swaps:
        facts.append(("best swap", str(swaps[0])))
    return facts


def move(step: Improvement, value_name: str, value: float) -> str:
    """What an improvement asks for and what it is worth."""
    arms = spoken(step.names[:NAMED]) + (f" and {len(step.names) - NAMED} more" * (len(step.names) > NAMED))
    missing = f"{step.targets[0]} is not measured; " if step.gain == np.inf and step.targets else ""
    if step.gain == 0:
        return f"none found: moving effort to {arms} has the derivative {step.derivative:.3g}"
    return (
        f"{missing}moving {100 * step.share:.3g} % of the effort to {arms} changes the {value_name} from "
        f"{value:.6g} to {step.value:.6g} (derivative {step.derivative:.6g})"
    )
