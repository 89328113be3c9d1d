"""Ten problems over regions, for comparisons of plans of N runs: boxes, balls, mixtures, a ring, a strip, levels."""

from __future__ import annotations

from typing import Any

import convexdesign as cd

__all__ = ["problems"]


def names(q: int) -> list[str]:
    return [f"x{k + 1}" for k in range(q)]


def cube(q: int) -> cd.Region:
    return cd.Region.box(**dict.fromkeys(names(q), (-1, 1)))


def problems() -> list[tuple[str, Any, int]]:
    """Name, D-optimal problem and number of runs of each."""
    strip = cube(2) & cd.Region.where("x1 + x2 <= 0.7", "x1 + x2 >= -0.5")
    ring = cube(2) & cd.Region.where("x1**2 + x2**2 <= 1", "x1**2 + x2**2 >= 0.25")
    blends = cd.Region.simplex(names(3), lower={"x1": 0.1}, upper={"x1": 0.7, "x2": 0.6})
    batches = cd.Region.levels(batch=["A", "B", "C"]) * cube(2)
    quadratic = "1 + x1*x2 + x1**2 + x2**2"
    listed = [
        ("square, quadratic", cd.Model.polynomial(names(2), 2).over(cube(2)), 7),
        ("square, cubic", cd.Model.polynomial(names(2), 3).over(cube(2)), 12),
        ("cube, quadratic", cd.Model.polynomial(names(3), 2).over(cube(3)), 12),
        ("4-cube, quadratic", cd.Model.polynomial(names(4), 2).over(cube(4)), 18),
        ("disc, cubic", cd.Model.polynomial(names(2), 3).over(cd.Region.ball(names(2))), 12),
        ("ball, quadratic", cd.Model.polynomial(names(3), 2).over(cd.Region.ball(names(3))), 13),
        ("strip, quadratic", cd.Model.formula(quadratic).over(strip), 8),
        ("ring, quadratic", cd.Model.formula(quadratic).over(ring), 8),
        ("mixture with limits", cd.Model.formula("x1 + x2 + x3 + x1:x2 + x1:x3 + x2:x3 - 1").over(blends), 8),
        ("3 batches x square", cd.Model.formula(f"{quadratic} + batch").over(batches), 11),
    ]
    return [(name, cd.DesignProblem.d_optimal(curve), n) for name, curve, n in listed]
