"""What a view looks like: its parts as HTML, and what is drawn in the plane. Everything is escaped; nothing is fetched."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from convexdesign.errors import InputError
from convexdesign.explore.script import program
from convexdesign.explore.state import EXAMPLES, PROBLEMS, State
from convexdesign.explore.views import Blind, View
from convexdesign.plotting.allocation import percent
from convexdesign.plotting.plane import elfving_data
from convexdesign.problem.kinds import KINDS
from convexdesign.typing import Floats

__all__ = ["choices", "equivalence_picture", "examples", "number", "page", "points", "trouble"]


# Below this the two designs cost the same, and there is no second design to show.
SAME = 5e-4
# Of the picture of the equivalence theorem, in its own units.
WIDTH, HEIGHT = 520, 230
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 14, 40


def choices() -> list[dict[str, Any]]:
    """The problems to choose from: value, title, what it is for, formula, and the settings that it uses."""
    return [
        {"value": name, "about": KINDS[name].about, "program": _formula(KINDS[name].program), "uses": list(uses)}
        for name, uses in PROBLEMS.items()
    ]


def examples() -> list[dict[str, str]]:
    """Arrangements to start from: a title, and the link that brings it."""
    return [{"title": title, "query": state.to_query()} for title, state in EXAMPLES.items()]


def _formula(text: str) -> str:
    return text.replace("!=", "≠").replace("^+", "⁺").replace("^2", "²")


def page(view: View) -> dict[str, Any]:
    """Everything that the page shows of a view, as plain data: the link, the parts in HTML, the plane, the program."""
    return {
        "fields": view.state.to_fields(),
        "query": view.state.to_query(),
        "program": program(view),
        "messages": _messages(view),
        "parts": {
            "design": _design(view),
            "equivalence": _equivalence(view),
            "plan": _plan(view),
            "samples": _samples(view),
        },
        "plane": _plane(view),
    }


def trouble(message: str) -> dict[str, Any]:
    """What is shown in the place of a view for settings that make no sense."""
    return {"messages": _message("refused", _sentence(message))}


def _messages(view: View) -> str:
    said = view.problems or {}
    parts = [_message("trouble", _sentence(said["design"]))] if "design" in said else []
    return "".join(parts + [_message("note", text) for text in view.notes])


def _message(kind: str, text: str) -> str:
    mark = {"trouble": "No design", "refused": "Not accepted", "note": "Note"}[kind]
    return f'<p class="message {kind}"><strong>{mark}:</strong> {escape(text)}</p>'


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _differs(blind: Blind | None) -> bool:
    return blind is not None and blind.ratio > 1.0 + SAME


def _design(view: View) -> str:
    design, blind = view.design, view.blind
    if design is None or blind is None:
        return ""
    rows = []
    for i, noise in enumerate(view.state.noise_variance):
        cells = f'<th scope="row">{i}</th><td>{noise:.4g}</td>{_bar(float(design.weights[i]), "informed")}'
        if _differs(blind):
            cells += _bar(float(blind.weights[i]), "blind")
        rows.append(f"<tr>{cells}</tr>")
    head = '<th scope="col">arm</th><th scope="col">noise variance</th>'
    if _differs(blind):
        head += '<th scope="col">share, noise known</th><th scope="col">share, as if equal</th>'
        words = (
            f"The design made as if all noise were equal needs <strong>{blind.ratio:.3g} times</strong> as many "
            "measurements for the same precision."
        )
    else:
        head += '<th scope="col">share of measurements</th>'
        words = "The design made as if all noise were equal is as good here."
    value = design.problem.criterion.about
    side = "no design is above" if design.problem.criterion.maximised else "no design is below"
    return (
        f'<table class="shares"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        f'<p>{value.capitalize()}: <strong data-value="{design.value!r}">{number(design.value)}</strong>, and {side} '
        f'{number(design.bound)} (proven; gap {_gap(design.gap)}). <span class="verdict">{words}</span></p>'
    )


def _bar(share: float, kind: str) -> str:
    width = f"{100 * share:.2f}%"
    return (
        f'<td class="share" data-share="{share:.6f}"><span class="bar {kind}" style="width: {width}"></span>'
        f"<span>{escape(percent(share))}</span></td>"
    )


def _equivalence(view: View) -> str:
    if view.sensitivities is None or view.design is None or view.blind is None:
        return ""
    informed = view.sensitivities.values / view.sensitivities.bound
    other = view.blind.sensitivities
    blind = other.values / other.bound if _differs(view.blind) else None
    measured = ", ".join(str(i) for i in view.design.support)
    words = (
        "An arm's sensitivity says how much the criterion gains by measuring it more. A design is optimal exactly when no "
        f"arm is above the bound; arms that are measured touch it. Here: arm{'s' if view.design.support.size > 1 else ''} "
        f"{measured}, and the largest is {informed.max():.6f} of the bound."
    )
    if blind is not None:
        above = int(np.argmax(blind))
        words += (
            f" Under the design made as if all noise were equal, arm {above} is at {blind[above]:.3g} times the bound: that "
            "design is not optimal."
        )
    picture = equivalence_picture(informed, blind, view.design.weights, view.blind.weights, words)
    marks = '<span class="mark informed" aria-hidden="true"></span> noise known'
    if blind is not None:
        marks += ' <span class="mark blind" aria-hidden="true"></span> as if equal'
    return f'{picture}<p class="legend">{marks}; filled: measured</p><p>{words}</p>'


def _plan(view: View) -> str:
    said = view.problems or {}
    if view.plan is None:
        return f"<p>{escape(_sentence(said['plan']))}</p>" if "plan" in said else ""
    heads = "".join(f'<th scope="col">{i}</th>' for i in range(len(view.state.arms)))
    counts = "".join(f"<td>{c}</td>" for c in view.plan.counts)
    return (
        f'<div class="wide"><table class="counts"><tr><th scope="row">arm</th>{heads}</tr>'
        f'<tr><th scope="row">pulls</th>{counts}</tr></table></div>'
        f"<p>Of {view.plan.total} measurements; efficiency at least <strong>{_floor(view.plan.efficiency)}</strong> of "
        "what the best proportions would give (proven).</p>"
    )


def _samples(view: View) -> str:
    said = view.problems or {}
    if view.samples is None:
        again = said.get("samples") == said.get("design")  # said once is enough
        return "" if again else f"<p>{escape(_sentence(said['samples']))}</p>"
    level = view.state.problem.startswith("level-set")
    goal = f"Which items are above {view.state.threshold:g}?" if level else "Which item is best?"
    found = view.samples.complexity
    return (
        f"<p>{goal} No algorithm that errs with probability at most {view.state.delta:g} needs fewer than "
        f'<strong data-samples="{view.samples.bound!r}">{_at_least(view.samples.bound)}</strong> samples on average. '
        f"The complexity is ψ* = {number(found.psi_star)}; if every arm were as noisy as the noisiest, ρ* = "
        f"{number(found.rho_star)}.</p>"
    )


def _at_least(samples: float) -> str:
    """A lower bound on a number of samples: whole from ten on, rounded down."""
    if not 10 <= samples < 1e9:
        return number(samples)
    return f"{int(samples):,}".replace(",", "\u2009")


def _plane(view: View) -> dict[str, Any]:
    """Weights and confidence regions, for the drawing in the plane; points to four digits."""
    blind = view.blind if _differs(view.blind) else None
    return {
        "weights": None if view.design is None else view.design.weights.tolist(),
        "region": points(view.region),
        "blind": points(None if blind is None else blind.region),
        **_elfving(view.state),
    }


def _elfving(state: State) -> dict[str, Any]:
    """Elfving's polygon, and where the direction's ray leaves it; nothing for other problems, or arms on one line."""
    if state.problem != "c-optimal":
        return {}
    try:
        data = elfving_data(state.arms, state.direction, state.noise_variance)
    except InputError:
        return {}
    return {"hull": points(data.hull), "touch": data.touch.tolist()}


def points(boundary: Floats | None) -> list[list[float]] | None:
    if boundary is None:
        return None
    size = float(np.abs(boundary).max())
    digits = 4 - int(np.floor(np.log10(size))) if size > 0 else 4
    return [[float(x), float(y)] for x, y in boundary.round(digits)]


def number(value: float) -> str:
    """A number for reading: five digits, thousands in groups."""
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1e9 or 0 < abs(value) < 1e-4:
        return f"{value:.4e}".replace("-", "−")
    digits = max(0, 4 - int(np.floor(np.log10(abs(value))))) if value != 0 else 0
    return f"{value:,.{digits}f}".replace("-", "−").replace(",", "\u2009")


def _gap(gap: float) -> str:
    """A certified gap; what rounding leaves reads as zero."""
    return "0" if gap < 1e-12 else f"{gap:.0e}".replace("-", "−")


def _floor(efficiency: float) -> str:
    """A proven efficiency, rounded down."""
    return f"{np.floor(1e4 * efficiency + 1e-7) / 1e4:.4f}"


# ------------------------------------------------------------------ the picture of the equivalence theorem, as SVG
# Colours and fonts come from the page's style sheet, by class.


def equivalence_picture(
    informed: Floats, blind: Floats | None, weights: Floats, blind_weights: Floats, description: str
) -> str:
    """Each arm's sensitivity as a share of the bound: discs for the design, diamonds for the blind one, a line at one.

    informed, blind (n,): sensitivities over their bounds, blind None where both designs are the same; weights and
    blind_weights (n,): marks are filled where a design measures the arm. description: the picture in words.
    """
    n = informed.size
    most = max(1.0, float(informed.max()), 0.0 if blind is None else float(blind.max()))
    top = most * 1.12
    step = (WIDTH - LEFT - RIGHT) / n
    aside = 0.0 if blind is None else min(7.0, step / 4)

    def height(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / top)

    floor, level = height(0.0), height(1.0)
    parts = [_tick(height(v), text) for v, text in _ticks(top)]
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor:.1f}" y2="{floor:.1f}"/>')
    parts.append(f'<line class="bound" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{level:.1f}" y2="{level:.1f}"/>')
    for i in range(n):
        x = LEFT + step * (i + 0.5)
        if blind is not None:
            y = height(float(blind[i]))
            parts.append(_stem("blind", x + aside, floor, y))
            parts.append(_diamond(x + aside, y, bool(blind_weights[i] > 0)))
        y = height(float(informed[i]))
        parts.append(_stem("informed", x - aside, floor, y))
        filled = "measured" if weights[i] > 0 else "unmeasured"
        parts.append(f'<circle class="informed {filled}" cx="{x - aside:.1f}" cy="{y:.1f}" r="5.5"/>')
        parts.append(f'<text class="name" x="{x:.1f}" y="{floor + 16:.1f}" text-anchor="middle">{i}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="title" x="{middle:.1f}" y="{HEIGHT - 5}" text-anchor="middle">arm</text>')
    return (
        f'<svg class="equivalence" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(description)}">'
        + "".join(parts)
        + "</svg>"
    )


def _ticks(top: float) -> Sequence[tuple[float, str]]:
    """Heights to mark: nothing, the bound, and round multiples above where there is room."""
    marks = [(0.0, "0"), (1.0, "bound")]
    step = 1.0 if top < 5 else float(np.ceil(top / 4))
    return marks + [(float(v), f"{v:g} ×") for v in np.arange(1.0 + step, top, step)]


def _tick(y: float, text: str) -> str:
    line = f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return f'{line}<text class="name" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'


def _stem(kind: str, x: float, floor: float, y: float) -> str:
    return f'<line class="stem {kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{floor:.1f}" y2="{y:.1f}"/>'


def _diamond(x: float, y: float, measured: bool) -> str:
    corners = f"{x:.1f},{y - 6.5:.1f} {x + 6.5:.1f},{y:.1f} {x:.1f},{y + 6.5:.1f} {x - 6.5:.1f},{y:.1f}"
    return f'<polygon class="blind {"measured" if measured else "unmeasured"}" points="{corners}"/>'
