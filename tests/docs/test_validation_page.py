"""The page on validation states what the tables beside it say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from convexdesign.cli import main

DOCS = Path(__file__).parents[2] / "docs"
LINES = {
    line.split("|")[1].strip(): line.split("|")[4].strip()
    for line in (DOCS / "validation.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ")
}
TEXT = (DOCS / "validation.md").read_text(encoding="utf-8")


def table(name):
    found = pd.read_csv(DOCS / "validation" / f"{name}.csv")
    if "times_older_bound" in found:
        found["ratio"] = found["times_older_bound"]
        found["error"] = found["standard_error"] * found["times_older_bound"] / found["mean_samples"]
    return found


def stated(ratio, error):
    return f"{ratio:.2f} ± {error:.2f}".replace("± 0.", "± .")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_experiments(number):
    rows = table("martingale-bounds").query(f"experiment == 'experiment {number}'").set_index(["objective", "bounds"])
    row = rows.loc["best-arm", "tight"]
    assert LINES[f"experiment {number}, best arm"] == stated(row["ratio"], row["error"])
    wide = LINES["the three, bounds ten times too wide"].split(" / ")
    assert wide[number - 1] == f"{rows.loc['best-arm', 'ten times too wide']['ratio']:.2f}"
    sets = LINES["level sets, experiments 1 to 3"].split(":")[0].split(" / ")
    assert sets[number - 1] == f"{rows.loc['level-set', 'tight']['ratio']:.2f}"
    told = table("martingale-told").query(f"experiment == 'experiment {number}'").set_index("bounds")
    for share, line in (("gap told", "the least gap told"), ("half the gap told", "half the gap told")):
        row = told.loc[f"tight, {share}"]
        assert LINES[f"the three, {line}"].split(" / ")[number - 1] == stated(row["ratio"], row["error"])


@pytest.mark.parametrize(("kind", "line"), [("best-arm", "best-arm instances"), ("level-set", "level sets")])
def test_random_instances(kind, line):
    ratio = table("martingale-instances").query(f"objective == '{kind}'")["ratio"].sort_values()
    within, above = ratio[ratio <= 4.5], ratio[ratio > 4.5]
    said = LINES[f"random {line}, 20"]
    assert said.startswith(f"{within.min():.2f} to {within.max():.2f}, and")
    assert all(f"{one:.2f}" in said.split("and", 1)[1] for one in above)
    assert {"one": 1, "three": 3}[said.split("and ")[1].split()[0]] == len(above)


def test_rewards_of_two_values():
    rows = table("reward-promise").set_index("case")
    many = rows[rows["fewest_successes"] >= 50]["over_gaussian"].dropna()
    few = rows[rows["fewest_successes"] < 50]["over_gaussian"].dropna()
    assert sorted(many.round(2)) == [1.07, 1.09]
    assert "takes 1.07 and 1.09 times" in TEXT
    above = few[few > 1.3]
    assert list(above.round(2)) == [1.39, 1.36]
    assert "(1.39) and with .02 and .01 (1.36)" in TEXT
    assert list(rows.loc[above.index, "fewest_successes"].round(0)) == [10, 11]
    assert f"{few.drop(above.index).min():.2f}"[1:] + f" to {few.drop(above.index).max():.2f}" in TEXT


def test_drops_and_joins():
    rows = table("variants-come-and-go")
    joins = rows["case"].str.contains("join")
    assert f"[{rows['runs'].sum():,} runs]" in TEXT
    assert f"wrong in {rows['lost'][~joins].sum()} of the {rows['runs'][~joins].sum():,} with drops" in TEXT
    assert f"in {rows['lost'][joins].sum()} of the {rows['runs'][joins].sum():,} with joins" in TEXT
    assert (rows["pulls_of_the_dropped"] == 0).all()


def test_the_promise_of_rounds():
    rows = pd.read_csv(DOCS / "validation" / "identification-promise.csv")
    told = re.search(r"([\d,]+) runs, 1,000 a line, of which (\d+) of (\d+) lines pass, with (\d+) wrong", TEXT)
    assert told is not None
    assert int(told[1].replace(",", "")) == rows["runs"].sum()
    assert (int(told[2]), int(told[3])) == (rows["passed"].sum(), len(rows))
    assert int(told[4]) == rows["errors"].sum()
    assert (rows["errors"] / rows["runs"] / rows["delta"]).max() == pytest.approx(0.06)


def test_what_a_burn_in_of_replicates_takes():
    rows = pd.read_csv(DOCS / "validation" / "identification-comparison.csv")
    mean = rows.set_index(["experiment", "objective", "algorithm"])["mean_samples"].round()
    shown = re.findall(r"([\d,]+) instead of ([\d,]+)", (DOCS / "how-to-choose.md").read_text(encoding="utf-8"))
    assert len(shown) == 2
    for number, (few, many) in enumerate(shown, start=1):
        for name, told in (("H-RAGE, burn-in of replicates", few), ("H-RAGE", many)):
            assert mean[f"experiment {number}", "level-set", name] == int(told.replace(",", ""))


def test_errors_of_replicates_in_every_dimension():
    rows = pd.read_csv(DOCS / "validation" / "figure-2.csv").query("panel == 'b' and budget == 95000")
    errors = rows.groupby(["estimator", "d"])["max_error"]
    mean, spread = errors.mean(), errors.sem()
    told = [f"{mean['replicates', d]:.4f} ± {spread['replicates', d]:.4f}" for d in (3, 6, 9, 12, 15)]
    assert ", ".join(told).replace("0.", ".") in TEXT
    assert ", ".join(f"{mean['HEAD', d]:.4f}" for d in (3, 6, 9, 12, 15)).replace("0.", ".") in TEXT
    assert set(errors.size()) == {32}


def test_the_plan_of_the_page_on_ab_tests(tmp_path, monkeypatch, capsys):
    """Its mean numbers of visits, up to what another machine's rounding may change of 20 runs."""
    page = (DOCS / "ab-tests.md").read_text(encoding="utf-8")
    told = {
        case: int(mean.replace(",", "")) for case, mean in re.findall(r"^(typical|hard) +0.01 +([\d,]+)", page, re.M)
    }
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages.csv").write_text("old\nshort\nvideo\n")
    assert main(["experiment", "create", "pages.csv", "--noise", "bernoulli", "--store", "pages.db"]) == 0
    capsys.readouterr()
    plan = ["experiment", "plan", "--store", "pages.db", "--baseline", "0.03", "--gap", "0.01", "--json"]
    assert main(plan) == 0
    found = {row["case"]: row["mean"] for row in json.loads(capsys.readouterr().out)["plan"]}
    assert set(told) == set(found) == {"typical", "hard"}
    for case, mean in told.items():
        assert found[case] == pytest.approx(mean, rel=0.2)
