"""Whole-number plans: `auto` beside plain coordinate exchange of 100 restarts, on thirty D-optimal problems of factors.

    OPENBLAS_NUM_THREADS=1 python benchmarks/whole_numbers.py [FOLDER] [--restarts K] [--problems M]

Coordinate exchange (Meyer and Nachtsheim, 1995): from random runs, each coordinate of each run is set to its best level until
nothing improves. Both are judged by det(X'X)^(1/p) / N against the same proven bound, the D-optimum over all proportions;
seconds are of processor time. With FOLDER the table is written to FOLDER/whole-numbers.md as well.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import platform
import time
from pathlib import Path

import numpy as np

import convexdesign as cd

PAGE = """# Whole-number plans beside coordinate exchange

Made by `python benchmarks/whole_numbers.py docs/benchmarks`, {date} on {machine}, one BLAS thread. Efficiency of the best plan
found against the proven bound on all proportions, and seconds of processor time: `design.round(n)` with the default effort and
with `effort="thorough"`, and plain coordinate exchange of {restarts} restarts on the same factors.

{table}

`auto` was better than coordinate exchange in {better} problems, equal (to 1e-6) in {equal}, and worse in {worse}.
"""

MODELS = ("main effects", "interactions", "quadratic")


def cases() -> list[tuple[str, np.ndarray, int, str, int]]:
    """Name, levels of one factor, factors, model and runs of thirty problems."""
    shapes = [(2, k, "main effects") for k in (4, 5, 6)] + [(2, k, "interactions") for k in (3, 4, 5, 6)]
    shapes += [(3, k, "quadratic") for k in (2, 3, 4)]
    out = []
    for levels, k, model in shapes:
        p = terms(np.zeros((1, k)), model).shape[1]
        for n in (p, p + 2, p + 5):
            out.append((f"{levels}^{k}, {model}", np.linspace(-1, 1, levels), k, model, n))
    return out


def terms(Z: np.ndarray, model: str) -> np.ndarray:
    """The model matrix of settings (n, k)."""
    columns = [np.ones(len(Z)), *Z.T]
    if model != "main effects":
        columns += [Z[:, i] * Z[:, j] for i, j in itertools.combinations(range(Z.shape[1]), 2)]
    if model == "quadratic":
        columns += list((Z**2).T)
    return np.column_stack(columns)


def coordinate_exchange(levels: np.ndarray, k: int, model: str, n: int, restarts: int) -> float:
    """The largest log det X'X of as many descents, each from random runs."""
    rng = np.random.default_rng(0)
    best = -np.inf
    for _ in range(restarts):
        Z = rng.choice(levels, (n, k))
        X = terms(Z, model)
        M = X.T @ X + 1e-6 * np.eye(X.shape[1])
        C = np.linalg.inv(M)
        moved = True
        while moved:
            moved = False
            for i, j in itertools.product(range(n), range(k)):
                trial = np.repeat(Z[i : i + 1], len(levels), axis=0)
                trial[:, j] = levels
                T, x = terms(trial, model), X[i]
                Cx, TC = C @ x, T @ C
                own, cross = float(x @ Cx), T @ Cx
                factor = (1 - own) * (1 + np.einsum("ij,ij->i", TC, T)) + cross * cross
                at = int(np.argmax(factor))
                if factor[at] > 1 + 1e-8:
                    Z[i], X[i] = trial[at], T[at]
                    C = np.linalg.inv(X.T @ X + 1e-6 * np.eye(X.shape[1]))
                    moved = True
        sign, logdet = np.linalg.slogdet(X.T @ X)
        best = max(best, float(logdet) if sign > 0 else -np.inf)
    return best


def rows(restarts: int, problems: int) -> list[tuple[str, int, float, float, float, float, float, float]]:
    out = []
    for name, levels, k, model, n in cases()[:problems]:
        F = terms(np.array(list(itertools.product(levels, repeat=k))), model)
        design = cd.solve(cd.DesignProblem.d_optimal(F))
        found = []
        for effort in ("quick", "thorough"):
            start = time.process_time()
            plan = design.round(n, effort=effort)
            found += [plan.efficiency, time.process_time() - start]
        start = time.process_time()
        logdet = coordinate_exchange(levels, k, model, n, restarts)
        seconds = time.process_time() - start
        rival = float(np.exp((logdet - design.bound) / F.shape[1]) / n)
        out.append((name, n, *found, rival, seconds))
        print(f"{name:24} N = {n:3}: " + " ".join(f"{x:.4f}" for x in (*found, rival, seconds)), flush=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--problems", type=int, default=30)
    given = parser.parse_args()
    found = rows(given.restarts, given.problems)
    head = ("problem", "N", "auto", "s", "thorough", "s", f"coordinate exchange, {given.restarts} restarts", "s")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, n, *numbers in found:
        cells = [f"{x:.4f}" if k % 2 == 0 else f"{x:.2f}" for k, x in enumerate(numbers)]
        lines.append(f"| {name} | {n} | " + " | ".join(cells) + " |")
    ratio = np.array([row[2] / row[6] for row in found])
    page = PAGE.format(
        date=datetime.date.today(),
        machine=platform.machine(),
        restarts=given.restarts,
        table="\n".join(lines),
        better=int((ratio > 1 + 1e-6).sum()),
        equal=int((np.abs(ratio - 1) <= 1e-6).sum()),
        worse=int((ratio < 1 - 1e-6).sum()),
    )
    print(page)
    if given.folder is not None:
        (given.folder / "whole-numbers.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
