"""Pictures as SVG text: the equivalence theorem. Colours and fonts come from the page's style sheet, by class."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from convexdesign.typing import Floats

__all__ = ["equivalence_picture"]


WIDTH, HEIGHT = 520, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 14, 40


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
