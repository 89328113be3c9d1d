"""Certificates over regions, judged by what they have no part in: exact values, dense samples, Bernstein forms, other designs.

Random polynomial models (one to three factors, degree one to three, some terms left out) on random boxes, polytopes and
simplices, D, A and c, one in three with unequal noise; each by its number alone. Of every answer

- the settings lie in the region, and the value is that of exactly these settings and weights, in rational arithmetic;
- the sensitivity at thousands of random settings and all corners is nowhere above the bound proven for it;
- branch and bound over Bernstein forms of the sensitivity, its coefficients expanded in rational arithmetic, proves the same
  bound, a little larger (SLACK); it shares nothing with sums of squares, and may end undecided;
- the optimal design over a list of random settings is no better than the bound on all designs.

    python validation/region_certificates.py docs/validation --replications 300 --seed 0
    python validation/region_certificates.py --only 17 --seed 0
"""

from __future__ import annotations

import argparse
import csv
import datetime
import itertools
import sys
import time
import warnings
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from counting import kept_parts, shown, unfinished
from flint import fmpq, fmpq_mat

import convexdesign as cd
from convexdesign.typing import Floats

SHAPES = ("box", "polytope", "simplex")
KINDS = ("d", "a", "c")
# Seconds on the clock, and as many as they may become where the machine is busy with other things.
LIMIT, MOST_LIMIT = 20.0, 200.0
SLACK = {"box": 1e-5, "polytope": 1e-3, "simplex": 1e-3}
SAMPLES = 4000
MOST_BOXES = 20_000
COLUMNS = ("number", "shape", "kind", "q", "d", "status", "gap", "excess", "bernstein", "false", "seconds")


def region_of(rng: np.random.Generator, shape: str) -> cd.Region:
    """A random region of the shape."""
    if shape == "simplex":
        q = int(rng.integers(2, 4))
        lower = np.round(rng.uniform(0, 0.2, q), 3) * (rng.random(q) < 0.5)
        return cd.Region.simplex([f"x{k}" for k in range(q)], lower=lower.tolist())
    q = int(rng.integers(1, 4))
    centre, half = rng.normal(size=q) * 3, rng.uniform(0.2, 4, size=q)
    box = cd.Region.box(**{f"x{k}": (c - h, c + h) for k, (c, h) in enumerate(zip(centre, half))})
    if shape == "box":
        return box
    cuts = []
    for _ in range(int(rng.integers(1, 3))):
        slope = np.round(rng.normal(size=q) / half, 3)
        right = float(slope @ centre + rng.uniform(0.1, 0.8) * np.abs(slope) @ half)
        left = " + ".join(f"({a!r})*x{k}" for k, a in enumerate(slope.tolist()))
        cuts.append(f"{left} <= {right!r}")
    return box & cd.Region.where(*cuts)


def problem_of(number: int, seed: int) -> tuple[Any, str, str, np.random.Generator]:
    """The problem with this number, its shape and kind."""
    rng = np.random.default_rng([seed, 67, number])
    shape, kind = SHAPES[number % 3], KINDS[number // 3 % 3]
    region = region_of(rng, shape)
    names = region.names
    degree = int(rng.integers(1, 4 if len(names) < 3 else 3))
    monomials = [e for e in itertools.product(range(degree + 1), repeat=len(names)) if 0 < sum(e) <= degree]
    kept = [e for e in monomials if sum(e) == 1 or rng.random() < 0.8]
    terms = [":".join(f"{n}**{p}" if p > 1 else n for n, p in zip(names, e) if p) for e in kept]
    curve = cd.Model.formula(" + ".join(["1", *terms])).over(region)
    noise = None
    if rng.random() < 1 / 3:
        at = region.lower[0] - (region.upper[0] - region.lower[0])
        noise = f"1 + ({names[0]} - ({float(at)!r}))**2"
    options: dict[str, Any] = {} if noise is None else {"noise_variance": noise}
    if kind == "d":
        return cd.DesignProblem.d_optimal(curve, **options), shape, kind, rng
    if kind == "a":
        return cd.DesignProblem.a_optimal(curve, **options), shape, kind, rng
    c = np.round(rng.normal(size=curve.d), 3)
    return cd.DesignProblem.c_optimal(curve, c, **options), shape, kind, rng


def exact_value(problem: Any, kind: str, x: Floats, weights: Floats) -> float:
    """The criterion of settings and weights as the rational numbers that they are."""
    terms = problem.curve.polynomials(0)
    d = len(terms)
    A = fmpq_mat(d, d)
    total = sum(Fraction(w) for w in weights.tolist())
    for row, w in zip(x.tolist(), weights.tolist()):
        values = [Fraction(v) for v in row]
        f = [at(p, values) for p in terms]
        noise = Fraction(1) if problem.noise is None else at(problem.noise[0], values) / at(problem.noise[1], values)
        share = Fraction(w) / total / noise
        A += fmpq_mat(d, d, [rational(share * a * b) for a in f for b in f])
    if kind == "d":
        det = A.det()
        return log_of(int(det.p)) - log_of(int(det.q)) if det > 0 else -np.inf
    if A.det() == 0:
        return np.nan
    inverse = A.inv()
    if kind == "a":
        return double(sum((inverse[k, k] for k in range(d)), fmpq(0)))
    c = fmpq_mat(d, 1, [rational(Fraction(v)) for v in problem.fields["direction"].tolist()])
    return double((c.transpose() * inverse * c)[0, 0])


def at(p: Any, values: list[Fraction]) -> Fraction:
    """A polynomial at a rational point."""
    out = Fraction(0)
    for key, factor in p.terms.items():
        for v, e in zip(values, key):
            factor *= v**e
        out += factor
    return out


def rational(x: Fraction) -> Any:
    """The same number."""
    return fmpq(x.numerator, x.denominator)


def double(x: Any) -> float:
    """The nearest double."""
    return float(Fraction(int(x.p), int(x.q)))


def log_of(n: int) -> float:
    """The logarithm of a whole number of any size."""
    shift = max(n.bit_length() - 900, 0)
    return float(np.log(float(n >> shift)) + shift * np.log(2.0))


def squares(problem: Any, design: Any) -> dict[tuple[int, ...], Fraction]:
    """Coefficients of sum_j (b_j'R f)^2 in the coordinates of the region, exact."""
    frame = problem.frame
    V, R = design.certificate.vectors.B, frame.R
    out: dict[tuple[int, ...], Fraction] = {}
    terms = problem.curve.polynomials(0)
    rows = [
        [sum(Fraction(b) * Fraction(r) for b, r in zip(v, R[:, k].tolist())) for k in range(len(terms))]
        for v in V.tolist()
    ]
    for row in rows:
        line: dict[tuple[int, ...], Fraction] = {}
        for factor, p in zip(row, terms):
            for key, value in p.terms.items():
                line[key] = line.get(key, Fraction(0)) + factor * value
        for a, u in line.items():
            for b, v in line.items():
                key = tuple(i + j for i, j in zip(a, b))
                out[key] = out.get(key, Fraction(0)) + u * v
    return out


def bernstein(p: dict[tuple[int, ...], Fraction], low: Any, high: Any) -> Any:
    """Coefficients over the Bernstein basis of a box, rounded once: they enclose the polynomial on it."""
    q = len(low)
    degrees = [max((key[k] for key in p), default=0) for k in range(q)]
    out = np.full([n + 1 for n in degrees], Fraction(0), dtype=object)
    for key, value in p.items():
        out[key] += value
    for k in range(q):
        n, moved = degrees[k], np.moveaxis(out, k, 0)
        table = [[Fraction(0)] * (n + 1) for _ in range(n + 1)]  # powers of low + (high - low) t
        for e in range(n + 1):
            for j in range(e + 1):
                table[e][j] = comb(e, j) * low[k] ** (e - j) * (high[k] - low[k]) ** j
        powers = [sum(table[e][j] * moved[e] for e in range(n + 1)) for j in range(n + 1)]
        forms = [sum(Fraction(comb(i, j), comb(n, j)) * powers[j] for j in range(i + 1)) for i in range(n + 1)]
        out = np.moveaxis(np.array(forms, dtype=object).reshape(moved.shape), 0, k)
    return out.astype(float)


def halved(b: Any, k: int) -> tuple[Any, Any]:
    """The coefficients on both halves, by de Casteljau."""
    rows = np.moveaxis(b, k, 0)
    left, right, work = [rows[0]], [rows[-1]], rows
    for _ in range(len(rows) - 1):
        work = (work[1:] + work[:-1]) / 2.0
        left.append(work[0])
        right.append(work[-1])
    return np.moveaxis(np.array(left), 0, k), np.moveaxis(np.array(right[::-1]), 0, k)


def proven_by_bernstein(problem: Any, design: Any, slack: float) -> str:
    """Whether p <= most (1 + slack) N on the region: "proven", "undecided" or "refuted"."""
    region = problem.region
    p = squares(problem, design)
    top: Any
    bottom: Any
    top, bottom = (None, None) if problem.noise is None else problem.noise
    lam = Fraction(design.certificate.most) * (1 + Fraction(slack))
    if top is None:
        difference = {key: -value for key, value in p.items()}
        difference[(0,) * region.q] = difference.get((0,) * region.q, Fraction(0)) + lam
    else:
        assert bottom.is_constant
        difference = {key: -value * bottom.constant_term() for key, value in p.items()}
        for key, value in top.terms.items():
            difference[key] = difference.get(key, Fraction(0)) + lam * value
    size = float(lam)
    waiting = [
        (
            bernstein(difference, region.lower, region.upper),
            *(bernstein(dict(g.terms), region.lower, region.upper) for g in region.inequalities),
        )
    ]
    for _ in range(MOST_BOXES):
        if not waiting:
            return "proven"
        b, *g = waiting.pop()
        if b.min() > -1e-12 * size or any(h.max() < 0 for h in g):
            continue
        corner = b[(0,) * b.ndim] < -1e-9 * size and all(h[(0,) * h.ndim] > 0 for h in g)
        if corner:
            return "refuted"
        spread = [float(np.abs(np.diff(b, axis=k)).max()) if b.shape[k] > 1 else 0.0 for k in range(b.ndim)]
        k = int(np.argmax(spread))
        parts = [halved(h, k) for h in (b, *g)]
        waiting += [tuple(part[side] for part in parts) for side in (0, 1)]
    return "undecided"


def solved(problem: Any) -> tuple[Any, float]:
    """The design, and the seconds of processor time that it took; again where other programs had most of the time allowed."""
    limit = LIMIT
    while True:
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.ConvergenceWarning)
            design = cd.solve(problem, time_limit=limit)
        seconds = time.process_time() - started
        if design.status is not cd.Status.TIME_LIMIT or seconds > LIMIT / 2 or limit >= MOST_LIMIT:
            return design, seconds
        limit = min(MOST_LIMIT, limit * LIMIT / max(seconds, 1.0))


def judge(number: int, seed: int) -> dict[str, object]:
    """One problem: what was answered, and what of it is false."""
    problem, shape, kind, rng = problem_of(number, seed)
    design, seconds = solved(problem)
    inner = problem.adapted
    x = problem.adapted_settings(design.where, design.x)
    false = []
    if not problem.region.contains(design.points).all() or abs(design.weights.sum() - 1) > 1e-12:
        false.append("settings")
    exact = exact_value(problem, kind, design.x, design.weights)
    sign = 1.0 if kind == "d" else -1.0
    scale = 1.0 if kind == "d" else abs(design.bound)
    if np.isfinite(exact):
        if abs(exact - design.value) > 1e-7 * max(scale, 1.0):
            false.append("value")
        size = problem.curve.d if kind == "d" else scale
        if sign * (exact - design.bound) > 1e-9 * size:
            false.append("bound")
        if design.status is cd.Status.CERTIFIED and abs(exact - design.bound) > 2e-6 * size:
            false.append("certified")
    points = np.array(
        [[float(v) for v in row] for row in itertools.product(*zip(inner.region.lower, inner.region.upper))]
    )
    sample = np.vstack([points, random_points(inner.region, rng), x])
    sample = sample[inner.region.inside(sample, 0.0)]
    rows = inner.frame.piece_rows(0, sample) @ design.certificate.vectors.B.T
    heights = np.sum(rows**2, axis=1) / inner.prices(sample)
    excess = float(heights.max() / design.certificate.most - 1.0) if np.isfinite(design.certificate.most) else -1.0
    if excess > 1e-12:
        false.append("sample")
    listed = sample[:: max(1, len(sample) // 400)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.ConvergenceWarning)
            other = cd.solve(inner.finite(np.zeros(len(listed), dtype=int), listed))
        shift = 2.0 * inner.frame.log_det if kind == "d" else 0.0
        if sign * (other.value - shift - design.bound) > 1e-8 * scale * problem.curve.d:
            false.append("better design")
    except cd.UnidentifiableError:
        pass
    proof = proven_by_bernstein(inner, design, SLACK[shape]) if np.isfinite(design.certificate.most) else "undecided"
    if proof == "refuted":
        false.append("bernstein")
    return dict(
        zip(
            COLUMNS,
            (
                number,
                shape,
                kind,
                problem.region.q,
                problem.curve.d,
                design.status.name,
                f"{design.gap:.1e}",
                f"{excess:.1e}",
            )
            + (proof, " ".join(false), f"{seconds:.2f}"),
        )
    )


def random_points(region: cd.Region, rng: np.random.Generator) -> Any:
    """Settings of the box, some on its sides."""
    low, high = (np.array(side, dtype=float) for side in (region.lower, region.upper))
    u = rng.random((SAMPLES, region.q))
    u[rng.random(u.shape) < 0.15] = 0.0
    u[rng.random(u.shape) < 0.15] = 1.0
    return low + (high - low) * u


def written(rows: list[dict[str, object]], folder: Path, command: str) -> None:
    """The table and its page."""
    with (folder / "region-certificates.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    lines = [
        f"# Certificates over {len(rows)} random regions",
        "",
        f"Command: `{command}` ({datetime.date.today()}).",
        "",
        "Random polynomial models on random boxes, polytopes and simplices; D, A and c; one in three with unequal noise.",
        "Values are recomputed in rational arithmetic, sensitivities at thousands of settings, the bound on them is proven",
        "again by Bernstein forms (with the slack of `SLACK`, else undecided), and no design over a list of random settings",
        "is better than the bound. Answers that are not CERTIFIED ended at a limit of 20 seconds of their own time.",
        "",
        "| region | problems | CERTIFIED | proven again | undecided | false | median seconds | longest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for shape in (*SHAPES, "all"):
        own = [row for row in rows if shape in (row["shape"], "all")]
        counts = [
            sum(row["status"] == "CERTIFIED" for row in own),
            sum(row["bernstein"] == "proven" for row in own),
            sum(row["bernstein"] == "undecided" for row in own),
            sum(row["false"] != "" for row in own),
        ]
        times = sorted(float(str(row["seconds"])) for row in own)
        shown = " | ".join(map(str, [shape, len(own), *counts, f"{times[len(times) // 2]:.2f}", f"{times[-1]:.1f}"]))
        lines.append(f"| {shown} |")
    (folder / "region-certificates.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(output_dir: str | Path, replications: int, seed: int, jobs: int) -> list[dict[str, object]]:
    """Judge so many; write region-certificates.md and .csv; the rows, of which those with anything false are printed."""
    from joblib import delayed
    from region_certificates import judge as task  # by its name, for workers

    parts = kept_parts((delayed(task)(number, seed) for number in range(replications)), jobs, 10)
    rows = list(shown(parts, replications, "region certificates"))
    for row in rows:
        if row["false"]:
            print(row)
    command = "python validation/region_certificates.py docs/validation"
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    written(rows, folder, f"{command} --replications {replications} --seed {seed}")
    return rows


def main() -> int:
    """The count; exit code 1 where anything is false."""
    parser = argparse.ArgumentParser(description="Judge certificates over random regions by independent means.")
    parser.add_argument("output_dir", nargs="?", default="docs/validation")
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    if given.only is not None:
        row = judge(given.only, given.seed)
        print(row)
        return int(row["false"] != "")
    with unfinished(given.output_dir, "region-certificates", given.replications, given.seed):
        rows = run(given.output_dir, given.replications, given.seed, given.jobs)
    return int(any(row["false"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
