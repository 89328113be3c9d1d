"""What every drawing function promises: it draws on the axes given, labels them, and returns them."""

import subprocess
import sys

import numpy as np
import pytest

import convexdesign as cd
from convexdesign import plotting

X = np.linspace(-1, 1, 21)
THIRDS = np.zeros(21)
THIRDS[[0, 10, 20]] = 1 / 3
CURVE = cd.solve(cd.DesignProblem.d_optimal(cd.Model.polynomial("x", 2).over(cd.Region.box(x=(-1, 1)))))
DRAWINGS = {
    "allocation": lambda ax: plotting.plot_allocation([0.2, 0.8], ["a", "b"], title="T", ax=ax),
    "comparison": lambda ax: plotting.plot_comparison({"p": [0.2, 0.8], "q": [0.5, 0.5]}, title="T", ax=ax),
    "ellipse": lambda ax: plotting.plot_ellipse([[1, 0], [0, 1], [1, 1]], [0.5, 0.5, 0], [[1, -1]], title="T", ax=ax),
    "equivalence": lambda ax: plotting.plot_equivalence(
        plotting.sensitivity(np.vander(X, 3), THIRDS), THIRDS, X, title="T", ax=ax
    ),
    "convergence": lambda ax: plotting.plot_convergence(
        {"m": ([0, 1], [1.0, 0.1]), "n": ([0, 1], [1.0, 0.5])}, tol=1e-2, title="T", ax=ax
    ),
    "correlation": lambda ax: plotting.plot_correlation([[1, -0.5], [np.nan, 1]], ["a", "b"], title="T", ax=ax),
    "fraction_of_design_space": lambda ax: plotting.plot_fraction_of_design_space(
        {"p": [1, 2, np.inf], "q": [1, 3, 2]}, title="T", ax=ax
    ),
    "elfving": lambda ax: plotting.plot_elfving([[1, 0], [0.9, 0.4]], [0, 1], title="T", ax=ax),
    "map": lambda ax: plotting.plot_map(
        [[a, b] for a in (0, 1) for b in (0, 1)], [0.4, 0, 0.3, 0.3], [1, 2, 3, 4], title="T", ax=ax
    ),
    "region_design": lambda ax: plotting.plot_region_design(CURVE, title="T", ax=ax),
    "rounds": lambda ax: plotting.plot_rounds([100, 400], [3, 1], n_items=9, burn_in=50, title="T", ax=ax),
    "sequences": lambda ax: plotting.plot_sequences(
        [10, 40], [[-np.inf, -1.0], [0.0, -0.5]], [[np.inf, 1.0], [1.0, 0.5]], ["a", "b"], title="T", ax=ax
    ),
    "unmeasured": lambda ax: plotting.plot_unmeasured([0.0, 1.0], [1.0, 0.0], names=["a", "b"], title="T", ax=ax),
    "variances": lambda ax: plotting.plot_variances([1.0, 3.0], error=[0.5, 1.0], bounds=(0.2, 5.0), title="T", ax=ax),
}


def test_every_drawing_function_is_among_them():
    drawn = {name.removeprefix("plot_") for name in plotting.__all__ if name.startswith("plot_")}
    assert drawn == set(DRAWINGS)


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_draws_on_the_axes_given_and_returns_them(draw, tmp_path):
    ax = plotting.new_axes()
    assert draw(ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert ax.get_title(loc="left") == "T"
    ax.figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_makes_axes_where_none_are_given_and_leaves_settings_alone(draw):
    import matplotlib
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams)
    first, second = draw(None), draw(None)
    assert first is not second
    assert first.figure.number in pyplot.get_fignums()
    assert dict(matplotlib.rcParams) == before


def test_bars_have_the_weights_lengths_and_the_rest_is_noted():
    w = np.arange(1, 31) / 465
    ax = plotting.plot_allocation(w, max_bars=10)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], 100 * w[::-1][:10])
    assert [t.get_text() for t in ax.get_yticklabels()] == [str(i) for i in range(29, 19, -1)]
    assert "20 more measured arms are not shown" in ax.get_xlabel()
    assert "%" in ax.get_xlabel()


def test_no_note_where_everything_is_shown():
    ax = plotting.plot_allocation([0.5, 0.5])
    assert "not shown" not in ax.get_xlabel()


def test_comparison_has_one_colour_and_one_legend_entry_a_design():
    ax = plotting.plot_comparison({"p": [0.2, 0.8], "q": [0.5, 0.5], "r": [1.0, 0.0]}, share_of="budget")
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["p", "q", "r"]
    assert len({bar.get_facecolor() for bar in ax.patches}) == 3
    assert "budget" in ax.get_xlabel()


@pytest.mark.parametrize(("length", "scaled"), [(1.0, False), (1000.0, True), (1e-3, True)])
def test_long_and_short_targets_are_rescaled_and_the_legend_says_so(length, scaled):
    ax = plotting.plot_ellipse(np.eye(2), [0.5, 0.5], [[length, 0.0], [0.0, -length / 2]])
    (label,) = [t.get_text() for t in ax.get_legend().get_texts() if t.get_text().startswith("targets")]
    assert ("×" in label) == scaled
    ax.figure.canvas.draw()
    assert max(map(abs, (*ax.get_xlim(), *ax.get_ylim()))) < 20


def test_convergence_axis_is_logarithmic_with_units():
    ax = plotting.plot_convergence({"m": ([1, 2], [1.0, 0.1])}, log_x=True)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert "seconds" in ax.get_xlabel()
    assert plotting.plot_convergence({"m": ([1], [1.0])}, unit="iterations").get_xlabel() == "iterations"


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in DRAWINGS.values():
        with pytest.raises(ImportError, match=r"pip install 'convexdesign\[plot\]'"):
            draw(None)


def test_data_functions_need_no_matplotlib():
    code = (
        "import sys; from convexdesign import plotting; plotting.allocation_data([1.0]);"
        "plotting.ellipse_data([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5]); assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def contrast(a: str, b: str) -> float:
    """The contrast ratio of two colours by the web accessibility guidelines (WCAG 2.1)."""

    def luminance(c: str) -> float:
        v = np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    hi, lo = sorted((luminance(a), luminance(b)), reverse=True)
    return (hi + 0.05) / (lo + 0.05)


def test_every_colour_is_visible_on_white_and_differs_from_the_next():
    colours = list(plotting.OKABE_ITO.values())
    assert len(set(colours)) == len(colours)
    assert min(contrast(c, "#FFFFFF") for c in colours) > 2.0


def test_bands_leave_out_what_is_not_known_yet():
    ax = plotting.plot_sequences([10, 40], [[-np.inf], [0.0]], [[np.inf], [1.0]], ["a"], ax=plotting.new_axes())
    assert ax.lines[0].get_xydata().tolist() == [[40.0, 0.5]]
    with pytest.raises(cd.InputError, match="one row for each of 2 samples"):
        plotting.plot_sequences([10, 40], [[0.0]], [[1.0]], ["a"], ax=plotting.new_axes())


def test_correlations_are_written_and_what_has_none_is_left_out():
    ax = plotting.plot_correlation([[1, -0.25], [np.nan, 1]], ["a", "b"])
    assert [t.get_text() for t in ax.texts] == ["1.00", "\N{MINUS SIGN}0.25", "", "1.00"]
    with pytest.raises(cd.InputError, match=r"matrix has shape \(2, 2\); there are names for \(1, 2\)"):
        plotting.plot_correlation(np.eye(2), ["a", "b"], ["r"])


def test_predictions_rise_over_the_fraction_of_points_that_have_one():
    (curve,) = plotting.plot_fraction_of_design_space({"p": [3.0, np.inf, 1.0, 2.0]}).get_lines()[:1]
    assert curve.get_xydata().tolist() == [[0.25, 1.0], [0.5, 2.0], [0.75, 3.0]]
    with pytest.raises(cd.InputError, match="no plan has a finite"):
        plotting.plot_fraction_of_design_space({"p": [np.inf]})


def test_an_optimum_within_limits_does_not_exceed_a_bound():
    """Arms of an optimal design lie above the mean where a cap keeps weight from them: no bound is broken."""
    capped = cd.DesignProblem.d_optimal([[1, -1], [1, 0], [1, 1]], min_weight=0.2)
    drawn = cd.verify(capped, weights=[0.4, 0.2, 0.4]).plot(ax=plotting.new_axes())
    labels = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert "mean 2; limits on weights keep arms off it" in labels
    assert not any("exceeded" in label for label in labels)
