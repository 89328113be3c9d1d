"""The way of a first-order method to the design, step by step: weights, certified gap and confidence region at each."""

from __future__ import annotations

from typing import Any

import numpy as np

from convexdesign.errors import ConvexDesignError, SolverError
from convexdesign.explore.page import number, points
from convexdesign.explore.state import State
from convexdesign.explore.views import problem_of, region
from convexdesign.frankwolfe.classic_methods import FirstOrder, steps
from convexdesign.plotting.allocation import percent
from convexdesign.problem.canonical import canonicalise
from convexdesign.trace import Trace

__all__ = ["METHODS", "methods", "walk"]

METHODS = {
    "frank-wolfe-vanilla": "Frank-Wolfe, step 2/(k+2)",
    "frank-wolfe-away": "Frank-Wolfe with away steps",
    "multiplicative": "the multiplicative algorithm",
}
MOST_STEPS = 41
CLOSE = 1e-9  # a smaller gap is drawn as this
WIDTH, HEIGHT = 520, 200
LEFT, RIGHT, TOP, BOTTOM = 70, 12, 14, 36


def methods() -> list[dict[str, str]]:
    """The methods to choose from."""
    return [{"value": name, "title": title} for name, title in METHODS.items()]


def walk(state: State, method: str) -> dict[str, Any]:
    """Each step's weights, region and words, and the picture of the gaps; only words where the method has no way.

    >>> way = walk(State("g-optimal", ((1, 0), (0, 1)), (1, 3)), "frank-wolfe-vanilla")
    >>> [[round(w, 3) for w in way["points"][k]["weights"]] for k in (0, 1)]
    [[0.5, 0.5], [0.167, 0.833]]
    """
    if method not in METHODS:
        return {"picture": ""}
    try:
        trace = Trace(method, CLOSE, MOST_STEPS)
        way = FirstOrder(canonicalise(problem_of(state)), trace)
        found = []
        for point in steps(way):
            found.append(point)
            if way.done(point):
                break
    except SolverError:
        return {"picture": "<p>These methods are for a worst variance and for the log determinant.</p>"}
    except ConvexDesignError as error:
        return {"picture": f"<p>There is no way to a design: {error}.</p>"}
    gaps = [point.gap for point in found]
    stuck = gaps[-1] > CLOSE and len(found) < MOST_STEPS
    shown = []
    for k, point in enumerate(found):
        arm = int(np.argmax(point.slope))
        shares = ", ".join(f"{i}: {percent(float(w))}" for i, w in enumerate(point.weights))
        boundary = region(state, point.weights, points=61)
        words = (
            f"<p>Step {k} of {len(found) - 1}: the certified gap is {number(100 * point.gap)} %. Measuring arm {arm} more "
            f"helps most. Shares: {shares}.</p>"
        )
        if stuck and k == len(found) - 1:
            words += "<p>Here the method is at its end: its next weights would leave a direction unmeasured.</p>"
        shown.append({"weights": point.weights.round(6).tolist(), "region": points(boundary), "words": words})
    return {"points": shown, "picture": _picture(np.array(gaps))}


def _picture(gaps: Any) -> str:
    """The certified gap at every step, on a logarithmic scale, as SVG."""
    low = np.floor(np.log10(max(gaps.min(), CLOSE)))
    high = np.ceil(np.log10(max(gaps.max(), 10 * CLOSE)))
    high = max(high, low + 1)
    last = max(len(gaps) - 1, 1)

    def across(k: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * k / last

    def down(gap: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - np.log10(max(gap, CLOSE))) / (high - low)

    parts = []
    every = int(np.ceil((high - low) / 5))
    for power in range(int(low), int(high) + 1, every):
        y = down(10.0**power)
        label = f"{100 * 10.0**power:g} %"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="name" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for k in sorted({round(v) for v in np.linspace(0, len(gaps) - 1, 5)}):
        parts.append(
            f'<text class="name" x="{across(k):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{k}</text>'
        )
    places = [(across(k), down(float(gap))) for k, gap in enumerate(gaps)]
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline class="gaps" points="{way}"/>')
    parts += [f'<circle class="step-at" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in places]
    x, y = places[0]
    parts.append(f'<circle class="here" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
    parts.append(
        f'<text class="title" x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 4}" text-anchor="middle">step</text>'
    )
    words = f"The certified gap after each of {len(gaps) - 1} steps, from {gaps[0]:.2g} to {gaps[-1]:.2g}."
    return f'<svg class="steps" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">{"".join(parts)}</svg>'
