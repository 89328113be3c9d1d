"""One table for every result: the same numbers as text, HTML and LaTeX, names escaped, the criterion called right."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd
from convexdesign.result_table import ResultTable

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
NAMES = {
    "g_optimal": "max variance",
    "d_optimal": "log det",
    "a_optimal": "average variance",
    "e_optimal": "least eigenvalue",
}


def test_a_table_says_the_same_in_three_languages():
    table = ResultTable(
        "T", (("a fact", "5 % & more"),), ("arm", "x_1", "y"), (("<b>", "1", "22"), ("c{}", "333", "4"))
    )
    text, page, paper = str(table), table.as_html(), table.as_latex()
    cells = ["a fact", "5 % & more", "arm", "x_1", "y", "<b>", "1", "22", "c{}", "333", "4"]
    assert all(cell in text for cell in cells)
    assert [html.unescape(c) for c in re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", page)] == cells
    assert page == table._repr_html_()
    assert r"5 \% \& more" in paper
    assert r"<b> & 1 & 22 \\" in paper
    assert r"c\{\} & 333 & 4 \\" in paper
    # Numbers end where their column ends.
    rows = text.splitlines()[-3:]
    assert rows == ["arm  x_1   y", "<b>    1  22", "c{}  333   4"]


@pytest.mark.parametrize("kind", NAMES)
def test_whole_numbers_call_their_criterion_by_its_name(kind):
    problem = getattr(cd.DesignProblem, kind)(ARMS)
    design = cd.solve(problem)
    plan = design.round(10)
    name = problem.criterion.value_name
    assert name in repr(plan)
    assert ("max variance" in repr(plan)) == (kind == "g_optimal")
    shown = plan.max_variance if kind == "g_optimal" else plan.value
    assert f"{name} {shown:.8g}" in repr(plan)
    facts = dict(plan.table().facts)
    assert facts["criterion"].startswith(f"{name} {shown:.7g}"[:12])
    assert facts["pulls"] == "10"
    assert sum(int(count) for _, count in plan.table().rows) == 10
    assert plan._repr_html_() == plan.table().as_html()
    assert dict(design.table().facts)[name] == f"{design.value:.8g}"


def test_a_design_and_its_verification_have_frames_alike():
    problem = cd.DesignProblem.xy_allocation(ARMS)
    design = cd.solve(problem)
    frame = cd.verify(problem, design.weights).to_frame()
    mine = design.to_frame()
    used = mine[mine.weight > 0]
    assert frame.arm.tolist() == used.arm.tolist()
    plan = design.round(12)
    assert plan.to_frame().arm.tolist() == plan.support.tolist()
    np.testing.assert_allclose(frame.weight, used.weight)
    table = cd.verify(problem, design.weights).table()
    assert dict(table.facts)["efficiency"].startswith("between")
    assert [name for name, _ in table.rows]


def test_what_breaks_the_constraints_is_said():
    plan = cd.solve(cd.DesignProblem.d_optimal(ARMS, max_weight=0.5)).round(3)
    facts = dict(plan.table().facts)
    assert ("NOT ALLOWED" in facts) == (not plan.is_allowed)


def test_results_over_regions_have_tables_alike():
    curve = cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1)))
    design = cd.solve(cd.DesignProblem.d_optimal(curve))
    plan = design.round(7)
    judged = cd.verify(design.problem, runs={"x": [-1.0, 0.0, 0.5, 1.0]})
    assert design.table().title == "d-optimal, proportions"
    assert [row[0] for row in design.table().rows] == ["-1", "0", "1"]
    assert sum(int(row[-1]) for row in plan.table().rows) == plan.total == 7
    assert dict(plan.table().facts)["efficiency"].startswith("at least")
    assert [row[:2] for row in judged.table().rows] == [("0", "-1"), ("1", "0"), ("2", "0.5"), ("3", "1")]
    slope = cd.DesignProblem.c_optimal(curve, [0, 1, 0])
    both = cd.solve(cd.DesignProblem.maximin([design.problem, slope]))
    facts = dict(both.table().facts)
    assert facts["least efficiency"] == f"{both.value:.8g}"
    assert facts["c-optimal"].startswith(f"efficiency {both.efficiencies[1]:.6f}")
    for result in (design, plan, judged, both):
        assert result._repr_html_() == result.table().as_html()
        assert result.table().as_latex().rstrip().endswith(r"\end{tabular}")
    assert plan.to_frame().equals(plan.points)
    assert both.to_frame().equals(both.points)


def test_several_problems_have_a_table_too():
    frame = pd.DataFrame(ARMS, index=["left", "up", "tilted"], columns=["a", "b"])
    D = cd.DesignProblem
    problems = [D.d_optimal(frame), *(D.c_optimal(frame, [np.cos(t), np.sin(t)]) for t in np.linspace(0, 3, 15))]
    design, mean = cd.solve(D.maximin(problems)), cd.solve(D.compound(problems[:2], [1, 3]))
    assert design.table().title == "maximin, proportions"
    facts = dict(design.table().facts)
    k = int(np.argmin(design.efficiencies))
    assert list(facts)[5] == f"c-optimal, problem {k}"
    assert facts["and 4 more"].startswith("efficiency at least")
    assert dict(mean.table().facts)["c-optimal"] == f"log information {mean.values[1]:.6g}, weight 0.75"
    assert sorted(name for name, _ in mean.table().rows) == sorted(mean.to_frame().arm)
    assert set(design.to_frame().arm) <= set(frame.index)
    assert design._repr_html_() == design.table().as_html()
