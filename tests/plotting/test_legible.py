"""Every picture can be read: no label on another or beyond the figure, nothing written over bars, enough marks on each axis."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import convexdesign as cd
from convexdesign import plotting
from convexdesign.plotting.canvas import ticks_between
from convexdesign.reproduce import figure_1, figure_2, figure_3

RNG = np.random.default_rng(0)
X = np.linspace(-1.0, 1.0, 41)
CURVE = np.column_stack([np.ones(41), X, X**2])
BEST = np.zeros(41)
BEST[[0, 20, 40]] = 1 / 3
MANY = np.random.default_rng(1).dirichlet(np.ones(60))
FIGURE_2 = pd.DataFrame(
    [
        {"panel": p, "replication": r, "d": d, "budget": b, "estimator": e, "max_error": v, "max_error_unclipped": v}
        for p, d, b in [("a", 15, 5000), ("a", 15, 95000), *(("b", d, 95000) for d in (3, 6, 9, 12, 15))]
        for r in range(2)
        for e, v in zip(figure_2.ESTIMATORS, (0.02 * d * (1 + 0.05 * r), 0.017 * d, 0.05 * d))
    ]
)
FIGURE_1 = (
    pd.DataFrame({"kappa": [1.0, 400.0], figure_1.HETEROSKEDASTIC: [70, 2000], figure_1.HOMOSKEDASTIC: [70, 30000]}),
    pd.DataFrame({"algorithm": "RAGE", "kappa": [1.0, 20.0], "mean_samples": [300, 9000], "standard_error": [9, 99]}),
)
FIGURE_3 = pd.DataFrame(
    {
        "experiment": "one",
        "algorithm": ["oracle", "H-RAGE, released burn-in", "martingale elimination"],
        "mean_samples": [3.0e5, 1.5e7, 2e6],
        "standard_error": [1e3, 1e5, 1e4],
        "times_lower_bound": [1.1, 55.0, 7.333],
    }
)
GRID = [[a, b] for a in (-1, 0, 1) for b in (20, 30, 40)]
D = cd.DesignProblem
LINE = cd.solve(D.d_optimal(cd.Model.polynomial("x", 3).over(cd.Region.box(x=(-1, 1)))))
DISC = cd.solve(D.d_optimal(cd.Model.polynomial(["a", "b"], 2).over(cd.Region.ball(["a", "b"]))))
MATERIALS = cd.Region.levels(material=["steel", "brass", "nylon"]) * cd.Region.box(temperature=(20, 180))
LEVELS = cd.solve(D.a_optimal(cd.Model.formula("1 + material + temperature").over(MATERIALS)))
NAMES = [f"catalyst {i} at 180 degrees" for i in range(9)]

PICTURES = {
    "sixty arms": lambda ax: plotting.plot_allocation(MANY, ax=ax),
    "thirty equal arms": lambda ax: plotting.plot_allocation(np.full(30, 1 / 30), ax=ax),
    "two designs": lambda ax: plotting.plot_comparison({"noise known": MANY, "as if equal": MANY[::-1]}, ax=ax),
    "long labels": lambda ax: plotting.plot_comparison(
        {"heteroskedastic oracle": MANY[:9], "homoskedastic oracle": MANY[9:18]}, NAMES, title="figure", ax=ax
    ),
    "a curve": lambda ax: plotting.plot_equivalence(plotting.sensitivity(CURVE, BEST), BEST, X, ax=ax),
    "named arms": lambda ax: plotting.plot_equivalence(
        plotting.sensitivity(CURVE[:24], MANY[:24]), MANY[:24], names=[f"arm number {i}" for i in range(24)], ax=ax
    ),
    "nine names": lambda ax: plotting.plot_equivalence(
        plotting.sensitivity(CURVE[:9], MANY[:9]), MANY[:9], names=NAMES, ax=ax
    ),
    "many rounds": lambda ax: plotting.plot_rounds([100, 200, 4e3, 8e5], [5, 4, 2, 1], n_items=8, burn_in=50, ax=ax),
    "few rounds": lambda ax: plotting.plot_rounds([1000, 1500], [5, 1], n_items=8, ax=ax),
    "one round": lambda ax: plotting.plot_rounds([120], [1], n_items=2, ax=ax),
    "seven rounds": lambda ax: plotting.plot_rounds([100, 700], [5, 1], n_items=8, ax=ax),
    "variances": lambda ax: plotting.plot_variances(RNG.uniform(0.1, 1, 99), error=np.full(99, 0.1), ax=ax),
    "a map": lambda ax: plotting.plot_map(GRID, [0.25, 0, 0.25, 0, 0, 0, 0.25, 0, 0.25], np.arange(9), ax=ax),
    "a fine map": lambda ax: plotting.plot_map(np.column_stack([MANY, MANY[::-1]]), MANY, factors=("a", "b"), ax=ax),
    "an ellipse": lambda ax: plotting.plot_ellipse([[1, 0], [0, 1]], [0.5, 0.5], targets=[[1, 1]], ax=ax),
    "Elfving": lambda ax: plotting.plot_elfving([[1, 0], [0, 1]], [1, 1], ax=ax),
    "figure 1": lambda ax: figure_1.draw_complexity(*FIGURE_1, ax),
    "figure 2 a": lambda ax: figure_2.draw_figure_2(FIGURE_2, "a", ax, title="(a) d = 15"),
    "figure 2 b": lambda ax: figure_2.draw_figure_2(FIGURE_2, "b", ax),
    "figure 3": lambda ax: figure_3.draw_samples(FIGURE_3, "one", ax),
    "as if equal": lambda ax: plotting.plot_comparison(
        {"heteroskedastic": MANY[:6], "homoskedastic": MANY[6:12]},
        NAMES[:6],
        title="Designing as if all noise were equal takes 1.79 times the measurements",
        ax=ax,
    ),
    "convergence": lambda ax: plotting.plot_convergence(
        {name: ([0, 0.01, 0.1, 1.2], [1, 0.1, 1e-4, 1e-9]) for name in ("multiplicative", "fully corrective", "away")},
        tol=1e-6,
        title="Certified gap against seconds",
        ax=ax,
    ),
    "iterations": lambda ax: plotting.plot_convergence(
        {"vanilla": ([1, 10, 100, 1000], [1, 0.5, 0.2, 0.05]), "away": ([1, 10], [1, 1e-5])},
        unit="iterations",
        log_x=True,
        ax=ax,
    ),
    "sequences": lambda ax: plotting.plot_sequences(
        [100, 300, 900], np.tile([[0.1], [0.3], [0.35]], 9), np.tile([[0.9], [0.6], [0.5]], 9), NAMES, ax=ax
    ),
    "one sequence": lambda ax: plotting.plot_sequences([10, 12], [[0.0], [0.4]], [[1.0], [0.6]], ["red"], ax=ax),
    "correlations": lambda ax: plotting.plot_correlation(
        np.corrcoef(RNG.normal(size=(9, 40))), [f"catalyst:temperature{i}" for i in range(9)], ax=ax
    ),
    "design space": lambda ax: plotting.plot_fraction_of_design_space(
        {"the plan": np.linspace(0.2, 0.9, 50), "the plan of the vendor": np.linspace(0.3, 1.4, 50)}, ax=ax
    ),
    "not measured": lambda ax: plotting.plot_unmeasured(np.linspace(0, 1, 9), MANY[:9], names=NAMES, ax=ax),
    "one factor": lambda ax: plotting.plot_region_design(LINE, ax=ax),
    "runs over a line": lambda ax: plotting.plot_region_design(LINE.round(9), ax=ax),
    "levels": lambda ax: plotting.plot_region_design(LEVELS, title="three materials", ax=ax),
    "two factors": lambda ax: plotting.plot_region_design(DISC, ax=ax),
    "runs over a disc": lambda ax: plotting.plot_region_design(DISC.round(9), title="nine runs", ax=ax),
}


def extents(texts, renderer):
    return [(t.get_text(), t.get_window_extent(renderer)) for t in texts if t.get_text().strip() and t.get_visible()]


# A page, and a phone held upright.
@pytest.mark.parametrize("width", [7.0, 3.7])
@pytest.mark.parametrize("name", PICTURES)
def test_nothing_overlaps_or_leaves_the_figure(name, width):
    ax = plotting.new_axes((width, 5.0))
    PICTURES[name](ax)
    figure = ax.figure
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    low, high = ax.get_xlim(), ax.get_ylim()
    for axis, (a, b) in ((ax.xaxis, low), (ax.yaxis, high)):
        ticks = [
            t for t in axis.get_ticklabels() if min(a, b) - 1e-9 <= t.get_position()[axis is ax.yaxis] <= max(a, b)
        ]
        shown = extents(ticks, renderer)
        turned = ticks and ticks[0].get_rotation() not in (0, 90)
        if not turned:  # boxes of turned labels say little
            for (s, one), (t, other) in itertools.pairwise(shown):
                assert not one.overlaps(other), (s, t)
        assert not any(s.strip().rstrip("0.") == "−0" for s, _ in shown)
        assert len(shown) >= 3
    everything = extents([ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts], renderer)
    legend = ax.get_legend()
    everything += extents(legend.get_texts(), renderer) if legend else []
    frame = figure.bbox
    for text, box in everything:
        assert frame.x0 - 1 <= box.x0 <= box.x1 <= frame.x1 + 1, text
        assert frame.y0 - 1 <= box.y0 <= box.y1 <= frame.y1 + 1, text
    notes = [t for t in ax.texts if t.get_text() and not t.get_text().endswith("%")]
    for text, box in extents(notes, renderer):
        for bar in ax.patches:
            assert not box.overlaps(bar.get_window_extent(renderer)), text


@pytest.mark.parametrize("high", [1.3, 2.0, 7.0, 90.0, 1e4, 1e12, 1e40])
@pytest.mark.parametrize("low", [1.0, 0.37, 2e-9])
def test_logarithmic_marks_are_few_ordered_and_inside(low, high):
    ticks = ticks_between(low, low * high)
    assert 2 <= len(ticks) <= 7
    assert ticks == sorted(set(ticks))
    assert ticks[0] >= low * (1 - 1e-9)
    assert ticks[-1] <= low * high * (1 + 1e-9)
