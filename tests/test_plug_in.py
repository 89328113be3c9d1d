"""The page on plugging `solve` into other code: its cells run, and what it says of them is true."""

from __future__ import annotations

import ast
import csv
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from convexdesign.cli import main

TEXT = (Path(__file__).parents[1] / "docs" / "plug-in.md").read_text(encoding="utf-8")
CELLS = re.findall(r"^```\{code-cell\}\n(?:---\n.*?^---\n)?(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def page():
    """What the page's cells define; the two that take long are left out."""
    import matplotlib

    matplotlib.use("Agg")
    names: dict[str, object] = {}
    for k, code in enumerate(CELLS):
        if not re.search(r"timed\(|for survivors|in usual|1_000_000", code):
            exec(compile(code, f"plug-in.md, cell {k}", "exec"), names)
    return names


def test_all_cells_are_python():
    for code in CELLS:
        ast.parse(code)
    assert len(CELLS) >= 12


def test_the_contract(page):
    X = np.random.default_rng(0).standard_normal((12, 3))
    Y = np.random.default_rng(1).standard_normal((5, 3))
    s2 = np.linspace(0.5, 3.0, 12)
    weights, value = page["design"](X, Y, s2)
    A = X.T @ ((weights / s2)[:, None] * X)
    assert weights.shape == (12,)
    assert weights.sum() == pytest.approx(1.0)
    assert value == pytest.approx(max(y @ np.linalg.solve(A, y) for y in Y), rel=1e-9)
    counts = page["whole"](weights, 57)
    assert counts.dtype == np.int64
    assert counts.sum() == 57


def test_both_designs_find_the_best_item_and_the_certified_one_needs_no_more_pulls(page):
    """delta = .05 in ten runs; the gap is a hundred times the noise of the last round, so errors do not happen."""
    spent = {}
    for step in ("usual_design", "certified_design"):
        runs = [page["rage"](page["X"], page["X"], page["world"](seed), 0.05, page[step]) for seed in range(5)]
        assert [int(best) for best, _ in runs] == [0] * 5
        spent[step] = np.mean([n for _, n in runs])
    assert spent["certified_design"] < spent["usual_design"]


def test_the_usual_design_levels_off(page):
    """Ten times the steps gain less than half of the loss: it stalls, as the page says."""
    import convexdesign as cd

    problem = cd.DesignProblem.xy_allocation(page["X"], page["X"])
    loss = [1 - cd.verify(problem, page["usual_design"](page["X"], page["X"], k)).efficiency for k in (300, 3000)]
    assert loss[1] > 0.25 * loss[0]
    assert 1 - cd.verify(problem, page["certified_design"](page["X"], page["X"])).efficiency < 2e-6


def test_the_loop_is_as_short_as_the_page_says():
    (loop,) = [code for code in CELLS if "def rage" in code]
    assert len([line for line in loop.splitlines() if line.strip()]) <= 25


@pytest.mark.parametrize("language", ["r", "matlab"])
def test_the_commands_for_other_languages_run(language, tmp_path, monkeypatch, capsys):
    """The tables as R and MATLAB write them; the command as the page gives it."""
    monkeypatch.chdir(tmp_path)
    X, s2 = np.random.default_rng(0).standard_normal((8, 3)), np.linspace(1.0, 2.0, 8)
    head = {"r": ('"V1","V2","V3"\n', '"variance"\n'), "matlab": ("", "")}[language]
    for name, top, rows in (("arms.csv", head[0], X), ("noise.csv", head[1], s2[:, None])):
        lines = (",".join(f"{v:.15g}" for v in row) for row in rows)
        Path(name).write_text(top + "\n".join(lines) + "\n", encoding="utf-8")
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    words = [w for w in re.findall(r"""["']([^"']*)["']""", code) if w]
    joined = " ".join(words[words.index("convexdesign") :] if "convexdesign" in words else words)
    command = shlex.split(joined[joined.index("convexdesign") :])
    command = command[1 : command.index("design.csv", command.index("--output")) + 1]
    assert main(command) == 0, capsys.readouterr().err
    with Path("design.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["arm", "weight", "count"]
    assert sum(int(row["count"]) for row in rows) == 200
