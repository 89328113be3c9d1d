"""The made-up data of the lessons' exercises, drawn with fixed seeds: python docs/_ext/lesson_data.py

The tables of real measurements, cars.csv, puromycin.csv and beetles.csv, are from the books that their exercises name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = ["MADE"]

LESSONS = Path(__file__).parents[1] / "lessons"


def balance() -> str:
    """Weighings of three objects on a two-pan balance: which pan each lies in (0: neither), and the reading in grams."""
    rng = np.random.default_rng(11)
    truth = np.array([12.4, 7.9, 20.3])
    rows = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]])
    rows = np.repeat(rows, [4, 4, 4, 2, 2, 2, 2], axis=0)
    reading = rows @ truth + 0.1 * rng.standard_normal(len(rows))
    return table("a,b,c,reading", [[*row, f"{y:.2f}"] for row, y in zip(rows, reading)])


def colleague() -> str:
    """A plan that somebody made: runs at three temperatures and three times."""
    counts = [4, 2, 4, 2, 8, 2, 4, 2, 4]
    settings = [(t, m) for t in (160, 170, 180) for m in (10, 20, 30)]
    return table("temperature,minutes,runs", [[*s, c] for s, c in zip(settings, counts)])


def sites() -> str:
    """Forty candidate sites of a sensor: four coordinates of its response, and what one reading there costs."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 4))
    costs = rng.choice([1, 2, 5], size=40)
    rows = [[f"site {i + 1}", *(f"{v:.3f}" for v in x), c] for i, (x, c) in enumerate(zip(X, costs))]
    return table("site,u,v,w,z,cost", rows)


def adverts() -> str:
    """Three hundred advertisements as six numbers each."""
    X = np.random.default_rng(5).standard_normal((300, 6))
    return table(",".join("abcdef"), [[f"{v:.3f}" for v in x] for x in X])


def assay() -> str:
    """Ten readings of an assay at each of six concentrations; the noise grows with the concentration."""
    rng = np.random.default_rng(6)
    rows = []
    for c in (0.5, 1, 2, 4, 8, 16):
        rows += [[c, f"{y:.3f}"] for y in 1.0 + 0.8 * c + (0.1 + 0.15 * c) * rng.standard_normal(10)]
    return table("concentration,reading", rows)


def pilot() -> str:
    """Twenty clicks-per-minute readings of each of five page layouts, made of a headline and a colour."""
    rng = np.random.default_rng(8)
    arms = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0.5, 0.5]])
    noise = np.array([0.5, 0.5, 2.0, 2.0, 1.0])
    theta = np.array([5.0, 0.6, 0.4])
    rows = []
    for i in np.repeat(np.arange(5), 20):
        y = arms[i] @ theta + np.sqrt(noise[i]) * rng.standard_normal()
        rows.append([i, *(f"{v:g}" for v in arms[i]), f"{y:.3f}"])
    return table("layout,base,headline,colour,reading", rows)


def table(header: str, rows: list[list[object]]) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def reactor() -> str:
    """Ten runs that somebody planned by hand: temperature and minutes."""
    runs = [(150, 1), (150, 2.5), (150, 4), (160, 2), (165, 3), (170, 1), (170, 4), (175, 2), (190, 1), (190, 1.5)]
    return table("temperature,minutes", [list(run) for run in runs])


MADE: dict[str, Callable[[], str]] = {
    "balance.csv": balance,
    "colleague.csv": colleague,
    "sites.csv": sites,
    "adverts.csv": adverts,
    "assay.csv": assay,
    "pilot.csv": pilot,
    "reactor.csv": reactor,
}


if __name__ == "__main__":
    for name, make in MADE.items():
        (LESSONS / name).write_text(make(), encoding="utf-8")
