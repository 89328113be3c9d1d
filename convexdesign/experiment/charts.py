"""Small pictures as SVG text, for a page that needs no other file and no library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from convexdesign.plotting.palette import GREY, INK, series_colour
from convexdesign.typing import Floats

__all__ = ["ChartScale", "bands", "chart_frame", "lines", "stacked_bars"]

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 14, 40
TICKS = 5


class ChartScale:
    """From numbers to places between two ends, linear or logarithmic."""

    def __init__(self, low: float, high: float, start: float, stop: float, log: bool = False) -> None:
        if log:
            low, high = np.log10(low), np.log10(high)
        if not high > low:
            low, high = low - 0.5, high + 0.5
        self.low, self.high, self.start, self.stop, self.log = low, high, start, stop, log

    def __call__(self, value: float) -> float:
        """The place of a number; beyond the ends, at the end."""
        x = float(np.log10(value)) if self.log else float(value)
        share = min(max((x - self.low) / (self.high - self.low), 0.0), 1.0)
        return self.start + share * (self.stop - self.start)

    def ticks(self) -> list[float]:
        """A few round numbers."""
        if self.log:
            first, last = int(np.ceil(self.low - 1e-9)), int(np.floor(self.high + 1e-9))
            if last - first < 2:  # less than two powers of ten say nothing of a scale
                every = [f * 10.0**k for k in range(first - 1, last + 1) for f in (1.0, 2.0, 5.0)]
                return [v for v in every if self.low - 1e-9 <= np.log10(v) <= self.high + 1e-9]
            step = max(1, (last - first) // TICKS)
            return [10.0**k for k in range(first, last + 1, step)]
        rough = (self.high - self.low) / TICKS
        unit = 10.0 ** np.floor(np.log10(rough))
        step = unit * min((1.0, 2.0, 5.0, 10.0), key=lambda f: abs(f * unit - rough))
        first = np.ceil(self.low / step)
        return [float(k * step) for k in np.arange(first, np.floor(self.high / step) + 1)]


def chart_frame(x: ChartScale, y: ChartScale, x_label: str, y_label: str, inside: str, names: Sequence[str]) -> str:
    """A chart: axes with ticks, what is drawn, and what the colours mean."""
    parts = [f'<div class="scroll"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(y_label)}">']
    for value in y.ticks():
        at = y(value)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#E3E3E3"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{value:.6g}</text>')
    for value in x.ticks():
        at = x(value)
        parts.append(f'<path d="M{at:.1f} {HEIGHT - BOTTOM}v4" stroke="{GREY}"/>')
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{value:,.6g}</text>')
    parts.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="{GREY}"/>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>'
    )
    parts.append(inside)
    for k, name in enumerate(names):
        at = TOP + 16 * k + 8
        parts.append(f'<rect x="{WIDTH - RIGHT + 12}" y="{at - 8}" width="10" height="10" fill="{series_colour(k)}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 27}" y="{at + 1}">{escape(_short(name))}</text>')
    return "".join(parts) + "</svg></div>"


def lines(x: ChartScale, y: ChartScale, at: Sequence[float], values: Floats) -> str:
    """One line a column of values (k, m) at k places; numbers that are not finite are left out."""
    parts = []
    for k in range(values.shape[1]):
        points = [(x(a), y(v)) for a, v in zip(at, values[:, k]) if np.isfinite(v)]
        drawn = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        colour = series_colour(k)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in points]
    return "".join(parts)


def bands(x: ChartScale, y: ChartScale, at: Sequence[float], low: Floats, high: Floats) -> str:
    """One band a column of low and high (k, m) at k places; ends that are not finite are left out."""
    parts = []
    for k in range(low.shape[1]):
        known = [i for i in range(len(at)) if np.isfinite(low[i, k]) and np.isfinite(high[i, k])]
        upper = [f"{x(at[i]):.1f},{y(high[i, k]):.1f}" for i in known]
        lower = [f"{x(at[i]):.1f},{y(low[i, k]):.1f}" for i in reversed(known)]
        colour = series_colour(k)
        parts.append(
            f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity="0.13" stroke="{colour}"/>'
        )
    return "".join(parts)


def stacked_bars(y: ChartScale, shares: Floats, names: Sequence[str]) -> str:
    """One bar a row of shares (k, m), which sum to one."""
    width = (WIDTH - LEFT - RIGHT) / max(len(shares), 1)
    parts = []
    for i, row in enumerate(shares):
        below = 0.0
        for k, share in enumerate(row):
            top, bottom = y(below + share), y(below)
            title = f"<title>{escape(names[k])}: {share:.1%}</title>"
            parts.append(
                f'<rect x="{LEFT + i * width + 0.1 * width:.1f}" y="{top:.1f}" width="{0.8 * width:.1f}" '
                f'height="{max(bottom - top, 0.0):.1f}" fill="{series_colour(k)}">{title}</rect>'
            )
            below += share
    return f'<g stroke="white" stroke-width="0.5" fill="{INK}">{"".join(parts)}</g>'


def _short(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}…"
