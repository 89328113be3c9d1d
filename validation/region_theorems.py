"""Known answers over regions as theorems: every one that is polynomial, certified and checked in rational arithmetic.

Of each the design is solved, its certificate written and examined by `rigorous.check_region` (integers and fractions), and
the closed form must lie between the exact value of the design and the exact bound on all designs.

    python validation/region_theorems.py docs/validation
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, legendre

import convexdesign as cd
from convexdesign.regions.rational import exact_problem, region_certificate
from convexdesign.rigorous import check_region

D, M, R = cd.DesignProblem, cd.Model, cd.Region
LOGARITHMS = ("d-optimal",)


def line(degree: int, low: float = -1.0, high: float = 1.0) -> Any:
    """A polynomial of one factor."""
    return M.polynomial("x", degree).over(R.box(x=(low, high)))


def factors(q: int) -> list[str]:
    """Their names."""
    return [f"x{k}" for k in range(q)]


def guest(degree: int) -> float:
    """log det on [-1, 1]: the zeros of (1 - x^2) P_n', equal weights."""
    nodes = np.sort([-1.0, *legendre.legroots(legendre.legder([0] * degree + [1])), 1.0])
    F = np.vander(nodes)
    return float(np.linalg.slogdet(F.T @ F / (degree + 1))[1])


def jacobi(degree: int) -> float:
    """log det with noise 1/(1 - x^2): the zeros of P_(n+1), equal weights."""
    nodes = legendre.legroots([0] * (degree + 1) + [1])
    F = np.vander(nodes)
    return float(np.linalg.slogdet(F.T @ ((1 - nodes**2)[:, None] * F) / (degree + 1))[1])


def cube(q: int) -> float:
    """Kono (1962)."""
    root = np.sqrt(4 * q**2 + 12 * q + 17)
    u = (q + 3) / (4 * (q + 1) * (q + 2) ** 2) * (2 * q**2 + 3 * q + 7 + (q - 1) * root)
    v = (q + 3) / (8 * (q + 2) ** 3 * (q + 1)) * (4 * q**3 + 8 * q**2 + 11 * q - 5 + (2 * q**2 + q + 3) * root)
    return float(
        (q - 1) * np.log(u - v) + np.log(u - v + q * v - q * u**2) + q * np.log(u) + q * (q - 1) / 2 * np.log(v)
    )


def ball(q: int) -> float:
    """The centre with 2/((q+1)(q+2)), the rest uniform on the sphere."""
    s = 1 - 2 / ((q + 1) * (q + 2))
    square = np.full((q, q), s / (q * (q + 2))) + np.eye(q) * 2 * s / (q * (q + 2))
    block = np.block([[np.ones((1, 1)), np.full((1, q), s / q)], [np.full((q, 1), s / q), square]])
    cross = q * np.log(s / q) + q * (q - 1) / 2 * np.log(s / (q * (q + 2)))
    return float(np.linalg.slogdet(block)[1] + cross)


def scheffe(q: int) -> tuple[Any, float]:
    """The lattice {q, 2}, equal weights."""
    names = factors(q)
    pairs = [(i, j) for i in range(q) for j in range(i + 1, q)]
    text = " + ".join(["0", *names, *(f"{names[i]}:{names[j]}" for i, j in pairs)])
    x = np.vstack([np.eye(q), *[(np.eye(q)[i] + np.eye(q)[j]) / 2 for i, j in pairs]])
    F = np.column_stack([x, *[x[:, i] * x[:, j] for i, j in pairs]])
    return M.formula(text).over(R.simplex(names)), float(np.linalg.slogdet(F.T @ F / len(F))[1])


def answers() -> dict[str, tuple[Callable[[], Any], float]]:
    """The problems and their closed forms."""
    out: dict[str, tuple[Callable[[], Any], float]] = {}
    for n in (2, 3, 4, 5):
        curve = line(n)
        squares = float(np.sum(chebyshev.cheb2poly([0] * n + [1]) ** 2))
        outside = float(chebyshev.chebval(2, [0] * n + [1]) ** 2)
        noisy = partial(D.d_optimal, curve, noise_variance="1/(1 - x**2)")
        beyond = partial(D.c_optimal, curve, [2.0**k for k in range(n + 1)])
        moved = partial(D.d_optimal, line(n, 100, 200))
        out[f"D, degree {n}"] = partial(D.d_optimal, curve), guest(n)
        out[f"D, degree {n} on [100, 200]"] = moved, guest(n) + n * (n + 1) * log(50)
        out[f"D, degree {n}, noise 1/(1 - x^2)"] = noisy, jacobi(n)
        out[f"leading coefficient, degree {n}"] = partial(D.c_optimal, curve, [0.0] * n + [1.0]), 4.0 ** (n - 1)
        out[f"extrapolation to 2, degree {n}"] = beyond, outside
        out[f"E, degree {n}"] = partial(D.e_optimal, curve), 1 / squares
        out[f"G, degree {n}"] = partial(D.g_optimal, curve), n + 1.0
    out["A, quadratic"] = partial(D.a_optimal, line(2)), 8.0
    for q in (2, 3, 4):
        box = R.box(**dict.fromkeys(factors(q), (-1, 1)))
        out[f"D, quadratic, cube of {q}"] = partial(D.d_optimal, M.polynomial(factors(q), 2).over(box)), cube(q)
    for q in (2, 3):
        disc = M.polynomial(factors(q), 2).over(R.ball(factors(q)))
        out[f"D, quadratic, ball of {q}"] = partial(D.d_optimal, disc), ball(q)
    for q in (3, 4):
        curve, value = scheffe(q)
        out[f"D, Scheffe quadratic of {q}"] = partial(D.d_optimal, curve), value
    return out


def judged(name: str, make: Callable[[], Any], answer: float) -> dict[str, Any]:
    """Solved, certified, checked, and held against the closed form."""
    problem = make()
    design: Any = cd.solve(problem)
    start = time.process_time()
    document = region_certificate(design)
    written = time.process_time() - start
    start = time.process_time()
    stated = exact_problem(problem)
    ratio = check_region.check(document, stated)
    seconds = time.process_time() - start
    value, bound = (check_region.fraction(document[field]) for field in ("value", "bound"))
    ends = [float(value), float(bound)]
    root = 1
    if stated.kind in LOGARITHMS:
        ends = [log(x.numerator) - log(x.denominator) for x in (value, bound)]
        root = stated.d
    low, high = sorted(ends)
    room = 1e-9 * (1 + abs(answer))
    gap = float(ratio) ** (-1 / root) - 1
    return {
        "answer": name,
        "gap": gap,
        "holds": low - room <= answer <= high + room and gap <= 1e-6,
        "kB": len(json.dumps(document)) / 1000,
        "written": written,
        "checked": seconds,
    }


def run(output_dir: str | Path, jobs: int) -> list[dict[str, Any]]:
    """All of them; write region-theorems.md."""
    del jobs  # seconds in all
    rows = []
    for name, (make, answer) in answers().items():
        rows.append(judged(name, make, answer))
        print(rows[-1], flush=True)
    lines = [
        "# Known answers over regions, in rational arithmetic",
        "",
        "`python validation/region_theorems.py docs/validation`",
        "",
        "The gap between the exact value of the design and the exact bound on all designs; whether the closed form lies",
        "between them; the size of the certificate; processor seconds to write it (with all proofs) and to examine it.",
        "",
        "| answer | proven gap | closed form between | kB | written | examined |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        holds = "yes" if row["holds"] else "NO"
        lines.append(
            f"| {row['answer']} | {row['gap']:.1e} | {holds} | {row['kB']:.0f} | {row['written']:.2f} | {row['checked']:.3f} |"
        )
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "region-theorems.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return rows


def main() -> int:
    """The count; exit code 1 where a closed form is outside."""
    parser = argparse.ArgumentParser(description="Certify and check every known polynomial answer without rounding.")
    parser.add_argument("output_dir", nargs="?", default="docs/validation")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    return int(not all(row["holds"] for row in run(given.output_dir, given.jobs)))


if __name__ == "__main__":
    sys.exit(main())
