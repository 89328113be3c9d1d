"""Standard errors, variance inflation and power of terms beside statsmodels, on plans of random problems.

    python benchmarks/statsmodels_agreement.py [FOLDER]

To be run with a Python of its own, where `pip install statsmodels` has put it beside this package. With FOLDER the table
is written to FOLDER/statsmodels-agreement.md.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
from pathlib import Path

import numpy as np
import statsmodels.api as sm
from statsmodels.stats.outliers_influence import variance_inflation_factor
from statsmodels.stats.power import FTestPower

import convexdesign as cd

PAGE = """# Precision of terms beside statsmodels

Made by `python benchmarks/statsmodels_agreement.py docs/benchmarks`, {date}, statsmodels {version}. Largest relative difference
over all terms of each of {plans} plans: `plan.diagnostics(noise_sd)` against `OLS(...).normalized_cov_params`,
`variance_inflation_factor` (but for the constant, where statsmodels takes no mean) and `FTestPower` for one coefficient.

| problem | runs | terms | standard errors | variance inflation | power | predictions |
|---|---|---|---|---|---|---|
{table}
"""


def difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.max(np.abs(a - b) / np.maximum(np.abs(b), 1e-12)))


def row(seed: int, n: int, d: int, runs: int) -> str:
    rng = np.random.default_rng(seed)
    F = np.c_[np.ones(n), rng.standard_normal((n, d - 1))]
    plan = cd.solve(cd.DesignProblem.d_optimal(F)).round(runs)
    found = plan.diagnostics(noise_sd=1.5)
    X = np.repeat(F, plan.counts, axis=0)
    fit = sm.OLS(rng.standard_normal(runs), X).fit()
    C = fit.normalized_cov_params
    errors = 1.5 * np.sqrt(np.diag(C))
    vif = np.array([variance_inflation_factor(X, j) for j in range(1, d)])
    df = runs - d
    # A t-test squared is an F-test with one degree: noncentrality (effect / standard error)^2 = f^2 (df + 1 + 1).
    effect = np.linspace(0.5, 4.0, d) * errors
    size = np.abs(effect / errors) / np.sqrt(df + 2)
    power = np.array([FTestPower().power(f, df, 1, 0.05, ncc=1) for f in size])
    predictions = 1.5**2 * np.einsum("ij,jk,ik->i", F, C, F)
    cells = [
        difference(found.standard_errors, errors),
        difference(found.variance_inflation[1:], vif),
        difference(found.power(effect), power),
        difference(found.prediction_variance(), predictions),
    ]
    return f"| {n} random arms | {runs} | {d} | " + " | ".join(f"{x:.1e}" for x in cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args()
    lines = [row(s, n, d, runs) for s, (n, d, runs) in enumerate([(20, 3, 8), (40, 5, 12), (60, 6, 24), (80, 8, 30)])]
    version = importlib.metadata.version("statsmodels")
    page = PAGE.format(date=datetime.date.today(), version=version, plans=len(lines), table="\n".join(lines))
    print(page)
    if given.folder is not None:
        (given.folder / "statsmodels-agreement.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
