"""An experiment as one page of HTML: where it stands, what is known, what happened and when, what it rests on.

Everything is in the file and nothing is fetched; every text that came from people is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.experiment.acts import Act, acts
from convexdesign.experiment.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    ChartScale,
    bands,
    chart_frame,
    lines,
    stacked_bars,
)
from convexdesign.experiment.course import Fate, course
from convexdesign.experiment.history import RoundView
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from convexdesign.experiment.estimates import Difference, ExperimentEstimates
    from convexdesign.experiment.experiment import Experiment
    from convexdesign.experiment.status import ExperimentStatus

__all__ = ["page"]

# Colours that can be told apart; more lines than that are in the tables alone.
MOST_LINES = 7
# P-values are drawn down to the smallest, at least to this, and no further than that.
LARGEST_END, SMALLEST_P = 1e-2, 1e-6
STYLE = """body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid #ddd}
svg{width:100%;min-width:32rem;max-width:46rem;font-size:11px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:.2rem .7rem .2rem 0;text-align:right;
border-bottom:1px solid #eee}th:first-child,td:first-child,td.text,th.text{text-align:left}
td{white-space:nowrap}td:first-child,td.text{white-space:normal;min-width:6rem}.note{color:#555}.void{color:#b00020}
.scroll{overflow-x:auto}"""


def page(
    x: Experiment,
    *,
    level: float | None = None,
    control: int | str | None = None,
    words: Callable[[str], str] = str,
) -> str:
    """The whole page. level, control: as in `Experiment.confidence`; words: what the guarantee advises, in a reader's words."""
    events, found = x.events(), x.result_if_done()
    state, views = x.status(), x.rounds()
    items, arms = x.item_labels, x.arm_labels
    happened = course(events, items, arms)
    title = f"{escape(x.path.name)}: {escape(state.algorithm)}"
    parts = [f"<h1>{title}</h1>", _standing(state, items, found, words)]
    if views:
        estimates = x.confidence(level=level, control=control)
        shown = _shown(views, state, len(items))
        parts += [
            "<h2>Estimates</h2>",
            _estimates(estimates, views, items),
            "<h2>Intervals over time</h2>",
            _intervals(estimates, shown, items),
        ]
        if views[-1].p_values is not None:
            parts += ["<h2>P-values over time</h2>", _p_values(views, shown, items)]
    parts += ["<h2>Who was dropped or joined, when and why</h2>", _fates(happened.fates)]
    if views:
        parts += ["<h2>Allocation</h2>", _allocation(views, arms), "<h2>Rounds</h2>", _rounds(happened.rounds, items)]
        parts += ["<h2>Arms</h2>", _arms(estimates)]
    parts += ["<h2>What it rests on</h2>", _assumptions(state, arms, items)]
    parts += ["<h2>Notes and changes</h2>", _log(acts(events, items, arms))]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"{meta}<title>{title}</title><style>{STYLE}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _standing(state: ExperimentStatus, items: Sequence[str], found: Any, words: Callable[[str], str]) -> str:
    rows = [("waits for", state.phase.value), ("rounds complete", f"{state.rounds:,}")]
    if found is not None:
        rows.insert(0, ("answer", _named(found.answer, items) or "none"))
        rows.insert(1, ("status", found.status.value))
    elif state.best_guess is not None:
        rows.append(("best guess", _named(state.best_guess, items) or "no item"))
    if state.p_value is not None:
        rows.append(("p-value, of its being wrong", f"{state.p_value:.3g}"))
    rows.append(("results", f"{state.pulls_told:,} told, {state.pulls_asked:,} asked for in all"))
    body = "".join(f'<tr><td>{escape(name)}</td><td class="text">{escape(value)}</td></tr>' for name, value in rows)
    kind = ' class="void"' if state.void else ""
    return f"<table>{body}</table><p{kind}><b>Guarantee.</b> {escape(_sentence(words(state.guarantee)))}</p>"


def _estimates(found: ExperimentEstimates, views: Sequence[RoundView], items: Sequence[str]) -> str:
    head, columns = (
        ["item", "value", "interval"],
        [list(items), _numbers(found.estimate), _ranges(found.low, found.high)],
    )

    def add(title: str, difference: Difference | None) -> None:
        if difference is not None:
            head.extend([f"less {items[difference.reference]}, {title}", "interval"])
            columns.extend([_numbers(difference.estimate), _ranges(difference.low, difference.high)])

    add("the best guess", found.to_leader)
    add("the control", found.to_control)
    last = views[-1]
    if last.p_values is not None:
        head.append("p-value")
        columns.append([f"{p:.3g}" for p in last.p_values])
    note = (
        f"All intervals, of values and of differences of any two items, hold together and at all times with probability "
        f"{found.level:g}, if {found.assumption}. They may be looked at as often as one likes."
    )
    return _table(head, zip(*columns)) + f'<p class="note">{escape(note)}</p>'


def _shown(views: Sequence[RoundView], state: ExperimentStatus, m: int) -> list[int]:
    """The items drawn: those left longest first."""
    gone = {item: view.number for view in views for item in view.dropped}
    order = sorted(range(m), key=lambda i: (-(gone.get(i, len(views) + 1)), i))
    best = [i for i in (views[-1].best_guess or ()) if i in order]
    return list(dict.fromkeys([*best, *order]))[:MOST_LINES]


def _intervals(found: ExperimentEstimates, shown: Sequence[int], items: Sequence[str]) -> str:
    low, high = found.over_time.low[:, shown], found.over_time.high[:, shown]
    ends = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    if not ends.size:
        return '<p class="note">No interval is finite yet.</p>'
    # Early intervals are wide; what matters is seen at the scale of the last.
    last = np.concatenate([low[-1], high[-1]])
    last = last[np.isfinite(last)] if np.isfinite(last).any() else ends
    room = float(np.ptp(last))
    y = ChartScale(max(last.min() - room, ends.min()), min(last.max() + room, ends.max()), HEIGHT - BOTTOM, TOP)
    x = _samples_scale(found.samples)
    drawn = bands(x, y, found.samples, low, high)
    more = "" if len(shown) == len(items) else f'<p class="note">{len(shown)} of {len(items)} items are drawn.</p>'
    return chart_frame(x, y, "results", "value", drawn, [items[i] for i in shown]) + more


def _p_values(views: Sequence[RoundView], shown: Sequence[int], items: Sequence[str]) -> str:
    values = np.array([view.p_values for view in views], dtype=float)[:, shown]
    values = np.maximum(values, SMALLEST_P)
    samples = [view.samples for view in views]
    x, y = (
        _samples_scale(samples),
        ChartScale(max(min(values.min() / 2, LARGEST_END), SMALLEST_P / 2), 1.0, HEIGHT - BOTTOM, TOP, log=True),
    )
    drawn = lines(x, y, samples, values)
    note = (
        "For the best arm: of an item being the best (of the best guess: of its being wrong). For a level set: of an item "
        "lying on the other side. Valid at all times."
    )
    return chart_frame(x, y, "results", "p-value", drawn, [items[i] for i in shown]) + f'<p class="note">{note}</p>'


def _fates(fates: Sequence[Fate]) -> str:
    rows = [
        (fate.who, fate.what, _minute(fate.time), str(fate.rounds), f"{fate.samples:,}", fate.why or "no reason given")
        for fate in fates
    ]
    if not rows:
        return '<p class="note">Nobody yet.</p>'
    head = ("who", "what", "when (UTC)", "rounds by then", "results by then", "why")
    return _table(head, rows, text=("what", "when (UTC)", "why"))


def _allocation(views: Sequence[RoundView], arms: Sequence[str]) -> str:
    counts = np.array([view.observations.count for view in views], dtype=float)
    total = counts.sum(axis=0)
    largest = np.argsort(-total, kind="stable")[: MOST_LINES - (len(arms) > MOST_LINES)]
    shares: Floats = counts[:, largest] / counts.sum(axis=1)[:, None]
    names = [arms[i] for i in largest]
    if len(arms) > len(names):
        shares = np.column_stack([shares, 1.0 - shares.sum(axis=1)])
        names.append(f"{len(arms) - len(largest)} more arms")
    y = ChartScale(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    x = ChartScale(0.5, len(views) + 0.5, LEFT, WIDTH - RIGHT)
    return chart_frame(x, y, "round", "share of the results", stacked_bars(y, shares, names), names)


def _rounds(views: Sequence[RoundView], items: Sequence[str]) -> str:
    rows = [
        (
            str(view.number),
            ", ".join(map(str, view.batches)),
            _minute(view.completed),
            f"{view.observations.total:,}",
            f"{view.samples:,}",
            _named(view.best_guess or (), items),
            "" if view.p_value is None else f"{view.p_value:.3g}",
            str(len(view.survivors)),
        )
        for view in views
    ]
    head = ("round", "batches", "completed (UTC)", "results", "in all", "best guess", "p-value", "items left")
    note = (
        "Each round as it was when it was completed. What was corrected, dropped or joined since is among the changes below; "
        "estimates and pictures are of all that counts now."
    )
    return _table(head, rows, text=("completed (UTC)", "best guess")) + f'<p class="note">{note}</p>'


def _arms(found: ExperimentEstimates) -> str:
    columns = (found.arm_names, [f"{c:,}" for c in found.count], _numbers(found.mean), _numbers(found.variance))
    return _table(("arm", "results", "mean", "variance"), zip(*columns))


def _assumptions(state: ExperimentStatus, arms: Sequence[str], items: Sequence[str]) -> str:
    rows = [_sentence(state.assumption) if state.assumption else ""]
    if state.arrivals:
        rows.append("Chance or a clock decided how many results came of each arm, and not their values.")
    if state.pulls_missing:
        rows.append(f"{state.pulls_missing:,} results went missing whatever their values were.")
    if state.withdrawn:
        rows.append(f"Arms were withdrawn whatever their rewards were: {', '.join(arms[i] for i in state.withdrawn)}.")
    if state.dropped:
        rows.append(f"Items were dropped whatever their rewards were: {', '.join(items[i] for i in state.dropped)}.")
    if state.joined:
        rows.append(f"Items joined whatever the rewards were: {', '.join(items[i] for i in state.joined)}.")
    if state.amendments:
        rows.append("What was amended was amended whatever answer it leads to.")
    if state.taken_back:
        rows.append("What was amended and taken back was so whatever answer it leads to.")
    return "<ul>" + "".join(f"<li>{escape(row)}</li>" for row in rows if row) + "</ul>"


def _log(found: Sequence[Act]) -> str:
    """Notes and what people decided, with their times."""
    rows = [(_minute(act.time), act.what, act.which, act.why) for act in found]
    text = ("what", "which", "why")
    return _table(("time (UTC)", *text), rows, text=text) if rows else '<p class="note">None.</p>'


def _table(head: Sequence[str], rows: Any, text: Sequence[str] = ()) -> str:
    def kind(name: str) -> str:
        return ' class="text"' if name in text else ""

    titles = "".join(f"<th{kind(name)}>{escape(name)}</th>" for name in head)
    lines_ = (
        "<tr>" + "".join(f"<td{kind(name)}>{escape(cell)}</td>" for name, cell in zip(head, row)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{titles}</tr>{"".join(lines_)}</table></div>'


def _samples_scale(samples: Sequence[int]) -> ChartScale:
    wide = samples[-1] > 20 * samples[0]
    return ChartScale(samples[0] if wide else 0.0, samples[-1], LEFT, WIDTH - RIGHT, log=wide)


def _numbers(values: Floats) -> list[str]:
    return [f"{value:.4g}" if np.isfinite(value) else "" for value in values]


def _ranges(low: Floats, high: Floats) -> list[str]:
    return [f"{a:.4g} to {b:.4g}" if np.isfinite(a) and np.isfinite(b) else "not yet" for a, b in zip(low, high)]


def _named(numbers: Sequence[int], items: Sequence[str]) -> str:
    return ", ".join(items[i] for i in numbers)


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
