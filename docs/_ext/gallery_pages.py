"""The gallery: one page a problem of the library, with its data, a picture, and what the code on the page gives.

Every page is made by running the code and the command that it shows.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from command_line_page import output_of
from downloads import files_of
from written import write_pages

__all__ = ["Entry", "entry", "index"]

ROWS_SHOWN = 24
ROWS_OPEN = 9
WEIGHTS_SHOWN = 24

CODE = """\
import convexdesign as cd
from convexdesign.problemfile import find, load_problem

problem = load_problem(find("{name}")).problem()
design = cd.solve(problem)
print(design)
print(design.status.value)"""

VALUE_WORDS = {
    "MINIMAX": "worst variance",
    "AVERAGE": "average variance",
    "D": "log determinant of the information",
    "DS": "log determinant of the information about the parameters of interest",
    "E": "least eigenvalue of the information",
}
CRITERION_LATEX = {
    "minimax": r"\min_w \max_j\; v_j^\top A(w)^{+} v_j",
    "g-optimal": r"\min_w \max_i\; x_i^\top A(w)^{+} x_i",
    "variance-g-optimal": r"\min_w \max_i\; \phi(x_i)^\top A(w)^{+} \phi(x_i), \qquad "
    r"A(w) = \sum_i w_i\,\phi(x_i)\phi(x_i)^\top / s_i^2",
    "xy-allocation": r"\min_w \max_{z \ne z'}\; (z - z')^\top A(w)^{+} (z - z')",
    "level-set-allocation": r"\min_w \max_z\; z^\top A(w)^{+} z",
    "best-arm-oracle": r"\min_w \max_{z \ne z^*}\; \frac{(z^* - z)^\top A(w)^{+} (z^* - z)}"
    r"{\left((z^* - z)^\top \theta\right)^2}",
    "level-set-oracle": r"\min_w \max_z\; \frac{z^\top A(w)^{+} z}{(z^\top \theta - \alpha)^2}",
    "c-optimal": r"\min_w\; c^\top A(w)^{+} c",
    "d-optimal": r"\max_w\; \log\det A(w)",
    "ds-optimal": r"\max_w\; \log\det \left(K^\top A(w)^{-} K\right)^{-1}",
    "a-optimal": r"\min_w\; \operatorname{tr} A(w)^{-1}",
    "i-optimal": r"\min_w\; \frac1k \sum_{v} v^\top A(w)^{+} v",
    "average-variance": r"\min_w\; \operatorname{tr}\left(A(w)^{+} M\right)",
    "e-optimal": r"\max_w\; \lambda_{\min}\left(A(w)\right)",
    "phi2-optimal": r"\min_w\; \operatorname{tr} A(w)^{-2}",
}

# The index: what a reader looks for, and the problems about it. Every problem of the library has one place here.
TOPICS = {
    "Curves: a line, a parabola": (
        "line-d line-d-with-centre line-i parabola-d parabola-g parabola-a parabola-e parabola-i parabola-ds "
        "parabola-curvature parabola-average parabola-extrapolation parabola-d-capped"
    ),
    "Two or more factors, and mixtures": ("grid-3x3-d grid-3x3-a grid-3x3-interaction factorial-2x2x2-d mixture-d"),
    "Blocks and days": "blocks-3x3-in-threes eight-days-four-runs",
    "Comparing treatments": (
        "simplex-xy star-with-noise control-average four-means-in-two-groups plots-in-pairs-xy basis-g-with-noise "
        "hexagon-xy soare-xy random-xy two-arms-c three-instruments-phi2"
    ),
    "Prices, rations, and what is known already": (
        "basis-a-with-costs basis-g-with-costs two-arms-capped two-arms-followed-up two-means-with-information"
    ),
    "Curves over a whole interval": (
        "interval-cubic-d interval-quartic-d interval-quadratic-a interval-cubic-leading interval-cubic-extrapolation "
        "interval-quartic-extrapolation interval-cubic-e interval-quartic-e interval-cubic-noise"
    ),
    "Surfaces and mixtures over a whole region": (
        "square-quadratic-d cube-quadratic-d hypercube-quadratic-d disc-quadratic-d ball-quadratic-d simplex-scheffe-d "
        "strip-cubic-d"
    ),
    "Doses, counts and kinetics over a whole range": (
        "logistic-d logistic-slope logistic-bayesian-d probit-d cloglog-d poisson-d michaelis-menten-d emax-d "
        "exponential-d log-linear-d electrostatic-discharge-d"
    ),
    "Sensors": "boyd-vandenberghe-d boyd-vandenberghe-a boyd-vandenberghe-e",
    "Several responses from every run": "dose-two-responses-d dose-temperature-elsewhere",
    "Which arm is best": (
        "soare-best-arm soare-best-arm-equal-noise experiment-1-xy experiment-1-best-arm "
        "experiment-1-best-arm-equal-noise experiment-2-xy experiment-2-best-arm experiment-2-best-arm-equal-noise "
        "experiment-3-xy experiment-3-best-arm experiment-3-best-arm-equal-noise"
    ),
    "Which arms exceed a threshold": (
        "soare-level-set experiment-1-level-set experiment-1-level-set-allocation experiment-2-level-set "
        "experiment-2-level-set-allocation experiment-3-level-set experiment-3-level-set-allocation"
    ),
    "How the noise depends on the arm": (
        "circle-variance plus-minus-one-variance square-variance two-spheres-variance"
    ),
}

# Said where an arm is a matrix.
INFORMATION = r", \qquad A(w) = \sum_i w_i\, X_i S_i^{-1} X_i^\top"


@dataclass(frozen=True)
class Entry:
    """One problem solved: its page, its picture (SVG), what the index says about it, and what may be taken away."""

    name: str
    title: str
    kind: str
    page: str
    picture: bytes
    thumbnail: bytes
    alt: str
    value: float
    downloads: dict[str, str | bytes]


def entry(path: Path) -> Entry:
    """Solve one file of the library and write its page."""
    from convexdesign.problemfile import load_problem

    stated = load_problem(path)
    code = CODE.format(name=stated.name)
    design, printed = run(code)
    if design.status.name != "CERTIFIED":
        raise RuntimeError(f"{stated.name}: {design.status.name}, gap {design.gap:g}")
    if stated.is_over_region:
        return over_region(stated, design, code, printed)
    picture, thumbnail, alt = draw(stated, design)
    lines = [
        f"# {stated.title}",
        "",
        "```{div} statement",
        typeset(stated.statement),
        "```",
        "",
        f"This is the problem `{stated.name}` of the library, of the kind `{stated.kind}`:",
        "",
        f"$$ {criterion_latex(stated.kind)}{INFORMATION if design.problem.responses > 1 else ''} $$",
        "",
        "## The design",
        "",
        f"```{{image}} {stated.name}.svg",
        f":alt: {alt}",
        ":align: center",
        "```",
        "",
        *answer(stated, design),
        "",
        *weights(design),
        "",
        "## The data",
        "",
        *data(stated),
        "",
        *how_to_solve(stated.name, code, printed),
    ]
    downloads = to_take_away(stated, design)
    return Entry(
        stated.name, stated.title, stated.kind, "\n".join(lines), picture, thumbnail, alt, design.value, downloads
    )


def over_region(stated: Any, design: Any, code: str, printed: str) -> Entry:
    """The page of a problem over a region: the settings found, drawn with the sensitivity of one or two factors."""
    from convexdesign.plotting import new_axes

    region = design.problem.region
    ax = design.plot(new_axes((7.0, 4.2) if region.q == 1 else (6.0, 4.6)))
    picture, thumbnail = svg(ax.figure), small(ax.figure)
    shown = "The sensitivity over the region, nowhere above its bound, and" if region.q < 3 else "The region with"
    alt = f"{shown} the {len(design.weights)} settings that are measured."
    latex = criterion_latex(stated.kind).replace(r"A(w)", r"A(\xi)").replace("_w", r"_\xi")
    several = not hasattr(design, "certificate")  # values of the parameters, with their shares
    if several:
        latex = latex.replace(r"\log\det A(\xi)", r"\frac1d \sum_k a_k \log\det A_k(\xi)")
    of = "A_k" if several else "A"
    points = design.points
    head = "| " + " | ".join(map(str, points.columns)) + " |"
    rows = [
        "| " + " | ".join(number(v) if not isinstance(v, str) else v for v in row) + " |" for row in points.to_numpy()
    ]
    words = stated.path.read_text(encoding="utf-8").split("\nkind = ")[1].split("[reference]")[0]
    lines = [
        f"# {stated.title}",
        "",
        "```{div} statement",
        typeset(stated.statement),
        "```",
        "",
        f"This is the problem `{stated.name}` of the library, of the kind `{stated.kind}` over a whole region:",
        "",
        f"$$ {latex}, \\qquad {of}(\\xi) = \\int f{'_k' * several}(x)f{'_k' * several}(x)^\\top d\\xi(x) $$",
        "",
        "## The design",
        "",
        f"```{{image}} {stated.name}.svg",
        f":alt: {alt}",
        ":align: center",
        "```",
        "",
        *answer(stated, design),
        "",
        head,
        "|" + "---|" * len(points.columns),
        *rows[:WEIGHTS_SHOWN],
        "",
        f"The bound holds over the whole region; it is proven by {getattr(design, 'certificate', design).kind}.",
        "",
        "## The data",
        "",
        "```toml",
        f"kind = {words}".rstrip(),
        "```",
        "",
        *how_to_solve(stated.name, code, printed),
    ]
    text = text_over_region(stated, latex, hasattr(design, "round"))
    downloads = files_of(f"gallery/{stated.name}", text, stated.path.parent) | read_beside(stated)
    downloads[f"{stated.name}.csv"] = str(points.to_csv(index=False, lineterminator="\n"))
    return Entry(
        stated.name, stated.title, stated.kind, "\n".join(lines), picture, thumbnail, alt, design.value, downloads
    )


def text_over_region(stated: Any, latex: str, rounds: bool) -> str:
    """The notebook of a problem over a region."""
    code = CODE.format(name=stated.name).replace(f'find("{stated.name}")', f'"{stated.path.name}"')
    return "\n".join(
        [
            "---",
            "file_format: mystnb",
            "---",
            f"# {stated.title}",
            "",
            stated.statement.strip(),
            "",
            f"$$ {latex} $$",
            "",
            *cell(code.replace("import find, load_problem", "import load_problem")),
            "Where it measures, and a picture.",
            "",
            *cell("print(design.points.to_string(index=False))"),
            *cell("design.plot();"),
            *(WHOLE if rounds else []),
        ]
    )


# Runs of one value of the parameters, for the end of a notebook.
WHOLE = [
    "A plan of whole numbers of runs, its settings free to move.",
    "",
    "```{code-cell}",
    "print(design.round(2 * problem.curve.d))",
    "```",
    "",
]


def how_to_solve(name: str, code: str, printed: str) -> list[str]:
    """The problem solved in Python and on the command line, with what each prints."""
    return [
        "## Solve it",
        "",
        "```python",
        code,
        "```",
        "",
        "```text",
        printed.rstrip(),
        "```",
        "",
        "On the command line:",
        "",
        "```console",
        f"$ convexdesign solve {name}",
        steady(output_of(f"convexdesign solve {name}")),
        "```",
        "",
    ]


def run(code: str) -> tuple[Any, str]:
    """Run the code of a page; its `design` and what it printed."""
    names: dict[str, Any] = {}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "gallery", "exec"), names)
    return names["design"], out.getvalue()


def steady(text: str) -> str:
    """The output of a command without its time, which differs at every build."""
    lines = [line for line in text.rstrip().splitlines() if not line.startswith("seconds")]
    kept = [line.split(" in ")[0] if line.startswith("method") else line for line in lines]
    return "\n".join(kept)


# ------------------------------------------------------------------- to take away


def to_take_away(stated: Any, design: Any) -> dict[str, str | bytes]:
    """Notebook and script that read the problem's file from their own folder, that file with all it reads, and a table."""
    text = "\n".join(
        [
            "---",
            "file_format: mystnb",
            "---",
            f"# {stated.title}",
            "",
            stated.statement.strip(),
            "",
            f"$$ {criterion_latex(stated.kind)}{INFORMATION if design.problem.responses > 1 else ''} $$",
            "",
            *cell(
                CODE.format(name=stated.name)
                .replace(f'find("{stated.name}")', f'"{stated.path.name}"')
                .replace("import find, load_problem", "import load_problem")
            ),
            "Where it measures, and a picture.",
            "",
            *cell("print(design.to_frame().query('weight > 0').to_string(index=False))"),
            *cell("design.plot();"),
            "Any other weights can be judged, with a proof: here, equal ones.",
            "",
            *cell("n = problem.n_arms\nprint(cd.verify(problem, [1 / n] * n))"),
        ]
    )
    files = files_of(f"gallery/{stated.name}", text, stated.path.parent) | read_beside(stated)
    return files | {f"{stated.name}.csv": table_of(stated, design)}


def read_beside(stated: Any) -> dict[str, str | bytes]:
    """The files that a problem file reads."""
    named = re.findall(r'"([\w.-]+\.(?:csv|npy))"', stated.path.read_text(encoding="utf-8"))
    return {other: (stated.path.parent / other).read_bytes() for other in named}


def cell(code: str) -> list[str]:
    return ["```{code-cell}", code, "```", ""]


def table_of(stated: Any, design: Any) -> str:
    """The arms with their coordinates and weights, as a spreadsheet reads them."""
    import pandas as pd

    frame = design.to_frame()
    X = np.asarray(stated.arms.values, dtype=float)
    if X.ndim == 2:
        columns = stated.arms.columns or [f"x{k + 1}" for k in range(X.shape[1])]
        frame = pd.concat([frame, pd.DataFrame(X, columns=list(columns), index=frame.index)], axis=1)
    return str(frame.to_csv(index=False, lineterminator="\n"))


# ------------------------------------------------------------------- pieces of a page


def criterion_latex(kind: str) -> str:
    """The program of a kind in mathematics; of one that is not set above, as the table of kinds writes it."""
    from convexdesign.problemfile import KINDS

    if kind in CRITERION_LATEX:
        return CRITERION_LATEX[kind]
    return rf"\text{{{KINDS[kind].program}}}".replace("^", r"\textasciicircum{}")


def answer(stated: Any, design: Any) -> list[str]:
    """The certified value beside the known one."""
    side, word = "at most", "sum of logarithms of the information"
    if hasattr(design, "certificate"):  # others are for several values of the parameters
        criterion = design.certificate.criterion if stated.is_over_region else design.problem.criterion
        side = "at most" if criterion.maximised else "at least"
        word = VALUE_WORDS.get(criterion.name, criterion.about)
    lines = [
        f"| | {word} |",
        "|---|---|",
        f"| this design | {design.value:.9g} |",
        f"| proven bound: no design is better than | {design.bound:.9g} |",
    ]
    known = stated.reference
    if known is not None:
        lines.append(f"| known value ({known.provenance}) | {known.value:.9g} |")
    lines += ["", f"The optimum is {side} the bound, so the relative gap is at most {max(design.gap, 0):.1e}."]
    if known is not None:
        lines += ["", f"*Where the known value comes from.* {' '.join(known.source.split())}"]
    return [typeset(text_safe(line)) if line.startswith("*Where") else line for line in lines]


def weights(design: Any) -> list[str]:
    """The arms that are measured and their shares."""
    support = design.support
    order = support[np.argsort(-design.weights[support], kind="stable")]
    shown = order[:WEIGHTS_SHOWN]
    share = "share of the measurements" if design.problem.costs is None else "share of the budget"
    lines = [f"| arm | {share} |", "|---|---|"]
    lines += [f"| {design.problem.arm_name(int(i))} | {design.weights[i]:.6f} |" for i in shown]
    if order.size > shown.size:
        rest = float(design.weights[order[WEIGHTS_SHOWN:]].sum())
        lines += ["", f"and {order.size - shown.size} more arms with {rest:.4f} together."]
    return lines


def data(stated: Any) -> list[str]:
    """Arms as a table, then whatever else the file gives."""
    if np.ndim(stated.arms.values) == 3:
        return data_of_responses(stated)
    X = np.asarray(stated.arms.values, dtype=float)
    n, d = X.shape
    variance = stated.inputs.get("noise_variance")
    columns = list(stated.arms.columns or ()) if d <= 10 else []
    columns = columns if len(columns) == d else [f"$x_{{{k + 1}}}$" for k in range(min(d, 10))]
    per_arm = {}
    if variance is not None and np.ndim(variance) == 1:
        per_arm["noise variance"] = variance
    for field, word in (("costs", "price"), ("existing_counts", "measured already"), ("max_weight", "at most")):
        if np.ndim(stated.inputs.get(field, 0)) == 1:
            per_arm[word] = stated.inputs[field]
    head = ["arm", *columns, *(["..."] if d > 10 else []), *per_arm]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for i in range(min(n, ROWS_SHOWN)):
        cells = [name_of(stated.arms.names, i), *(number(v) for v in X[i, :10]), *(["..."] if d > 10 else [])]
        lines.append("| " + " | ".join([*cells, *(number(v[i]) for v in per_arm.values())]) + " |")
    if n > ROWS_SHOWN:
        lines += ["", f"The first {ROWS_SHOWN} of {n} arms."]
    facts: list[str] = []
    if variance is None:
        facts.append("noise variance 1 for all arms")
    elif np.ndim(variance) == 0:
        facts.append(f"noise variance {number(variance)} for all arms")
    for field, value in stated.inputs.items():
        if field == "noise_variance" or (field in ("costs", "existing_counts", "max_weight") and np.ndim(value) == 1):
            continue
        facts.append(f"`{field}`: {described(value)}")
    facts = [f"- {fact}" for fact in facts]
    if min(n, ROWS_SHOWN) > ROWS_OPEN:
        lines = [f":::{{dropdown}} {n} arms in {d} dimensions", *lines, ":::"]
    return [*lines, "", *facts]


def data_of_responses(stated: Any) -> list[str]:
    """Arms with several responses: a row for every response, with its noise; then whatever else the file gives."""
    problem = stated.problem()
    rows = stated.arms
    owner, response = rows.places
    X = rows.vectors.values
    noise = covariances(problem.noise_variance, rows.n, rows.responses)
    d, r = rows.d, rows.responses
    head = ["arm", "response", *(f"$x_{{{k + 1}}}$" for k in range(d)), "noise variance", "correlation with the first"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for x, i, k in list(zip(X, owner, response))[: ROWS_SHOWN * r]:
        correlation = noise[i, 0, k] / np.sqrt(noise[i, 0, 0] * noise[i, k, k])
        cells = [name_of(rows.names, i), str(k), *map(number, x), number(noise[i, k, k]), number(correlation)]
        lines.append("| " + " | ".join(cells) + " |")
    given = {field: value for field, value in stated.inputs.items() if field != "noise_variance"}
    facts = [f"- `{field}`: {described(value)}" for field, value in given.items()]
    if len(X) > ROWS_OPEN:
        lines = [f":::{{dropdown}} {rows.n} arms with {rows.how_many} in {d} dimensions", *lines, ":::"]
    return [*lines, "", *facts]


def covariances(noise: Any, n: int, r: int) -> Any:
    """S_i (n, r, r) from noise in any of its forms."""
    if noise is None or np.ndim(noise) == 1:
        return np.eye(r) * np.broadcast_to(1.0 if noise is None else noise[:, None, None], (n, 1, 1))
    return noise if np.ndim(noise) == 3 else np.eye(r) * noise[:, None, :]


def described(value: Any) -> str:
    """A scalar or a short vector in full, matrices row by row where they are small, else their shape."""
    array = np.asarray(getattr(value, "values", value), dtype=float) if not isinstance(value, tuple) else None
    if array is None:
        return "; ".join(described(part) for part in value)
    if array.ndim == 0:
        return number(array)
    if array.ndim == 1 and array.size <= 12:
        return "(" + ", ".join(number(v) for v in array) + ")"
    if array.ndim == 2 and array.size <= 24:
        return ", ".join(described(row) for row in array)
    return " × ".join(map(str, array.shape)) + " numbers"


def name_of(names: Any, i: int) -> str:
    return str(i) if names is None else str(names[i])


def number(value: Any) -> str:
    return f"{float(value):.6g}".replace("-", "−", 1) if float(value) < 0 else f"{float(value):.6g}"


def plain_number(value: float) -> str:
    """Six digits, and nothing that is rounding beside one: logarithms of determinants may be zero."""
    return number(0.0 if abs(value) < 1e-12 else value)


def text_safe(text: str) -> str:
    """A sentence of a file, with nothing that Markdown would read as markup but its first words."""
    head, sep, rest = text.partition(".* ")
    for mark in ("*", "_", "$", "<"):
        rest = rest.replace(mark, "\\" + mark)
    return head + sep + rest


def typeset(text: str) -> str:
    """Powers and indices of a problem's words as such: 4^-3, x_i, and sqrt 2."""
    text = re.sub(r"\^(?:\((-?[\w/]+)\)|(-?\d+|[a-z*+]))(?![\w^])", power, text)
    index = r"(?<![\w`])(sum|max|min|[A-Za-z])\\?_([a-z0-9]|\d\d)(?![\w`])"
    text = re.sub(index, lambda f: f"{'Σ' if f[1] == 'sum' else f[1]}<sub>{f[2]}</sub>", text)
    return re.sub(r"\bsqrt (\d+)|\bsqrt\((\d+)\)", lambda f: f"√{f[1] or f[2]}", text)


def power(found: re.Match[str]) -> str:
    return f"<sup>{(found[1] or found[2]).replace('-', '−')}</sup>"


# ------------------------------------------------------------------- pictures


def draw(stated: Any, design: Any) -> tuple[bytes, bytes, str]:
    """A picture of the design that suits the problem, a small one, and a sentence for those who cannot see it."""
    from convexdesign.plotting import new_axes, plot_allocation, plot_ellipse, plot_map

    problem = design.problem
    X = np.asarray(stated.arms.values, dtype=float)
    vectors = X.ndim == 2 and stated.kind != "variance-g-optimal"
    curve = regression_settings(X) if vectors else None
    grid = factor_settings(X if X.ndim == 2 else X[:, :, 0]) if stated.kind != "variance-g-optimal" else None
    words = in_words(design)
    if curve is not None:
        ax = plot_curve(design, curve, new_axes((7.0, 4.2)))
        alt = f"Sensitivity of every setting, none above the bound. {words}"
    elif grid is not None:
        points, factors = grid
        ax = plot_map(points, design.weights, factors=factors, ax=new_axes((7.0, 4.6)))
        alt = f"A map of the settings of two factors, a disc on each that is measured. {words}"
    elif X.shape[1] == 2 and vectors and design.support.size > 1:
        targets = problem.targets.take(np.arange(problem.targets.m)) if problem.targets.m <= 12 else None
        scale = np.ones(len(X)) if problem.noise_variance is None else problem.noise_variance
        scale = scale if problem.costs is None else scale * problem.costs
        ax = plot_ellipse(X, design.weights, targets, scale, problem.prior, ax=new_axes((7.0, 4.6)))
        alt = f"Arms, targets and the confidence ellipse of the design in the plane. {words}"
    else:
        of = "measurements" if problem.costs is None else "budget"
        ax = plot_allocation(design.weights, problem.arms.names, share_of=of, ax=new_axes((7.0, 4.2)))
        alt = f"Bars of the weights. {words}"
    picture = svg(ax.figure)
    return picture, small(ax.figure), alt.replace("\n", " ")


def svg(figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def small(figure: Any) -> bytes:
    """The picture for the index: without words, which nobody could read there."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_visible(False)
    for ax in figure.axes:
        if ax.get_legend() is not None:
            ax.get_legend().remove()
        ax.tick_params(length=0, labelbottom=False, labelleft=False)
        ax.set(xlabel="", ylabel="", title="")
    figure.set_size_inches(3.6, 2.4)
    return svg(figure)


def in_words(design: Any) -> str:
    order = design.support[np.argsort(-design.weights[design.support], kind="stable")]
    first = ", ".join(f"{design.problem.arm_name(int(i))} {design.weights[i]:.3f}" for i in order[:4])
    more = f" and {order.size - 4} more" if order.size > 4 else ""
    return f"Weights: {first}{more}."


def regression_settings(X: Any) -> Any:
    """The settings x where the arms are (1, x, x^2, ...), else None."""
    if X.shape[1] < 2 or not np.all(X[:, 0] == 1):
        return None
    powers = np.vander(X[:, 1], X.shape[1], increasing=True)
    return X[:, 1] if np.allclose(X, powers, atol=1e-9) else None


def factor_settings(X: Any) -> tuple[Any, tuple[str, str]] | None:
    """Where arms lie that are products of powers of two factors (1, a, b, ...), or of three shares of a mixture; else None."""
    pairs, first, second = (len(np.unique(part, axis=0)) for part in (X[:, 1:3], X[:, 1], X[:, 2:3]))
    # Neither column may be a function of the other, as the square of a single factor is.
    if X.shape[1] >= 4 and np.all(X[:, 0] == 1) and pairs > max(first, second):
        a, b = X[:, 1], X[:, 2]
        powers = [a**i * b**j for i, j in itertools.product(range(4), repeat=2) if 1 < i + j < 4]
        rest = [x for x in X[:, 3:].T if np.any(x)]
        if all(any(np.allclose(x, p, atol=1e-9) for p in powers) for x in rest):
            return X[:, 1:3], ("first factor", "second factor")
    if X.shape[1] >= 3 and np.allclose(X[:, :3].sum(axis=1), 1) and np.all(X[:, :3] >= 0) and len(X) > 3:
        corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
        return X[:, :3] @ corners, ("from the first component to the second", "to the third, at the top")
    return None


def plot_curve(design: Any, settings: Any, ax: Any) -> Any:
    """Sensitivities sum_j (b_j'y_i)^2 of the certificate's vectors: the bound is their largest."""
    from convexdesign.plotting import plot_equivalence, sensitivity

    problem = design.problem
    Y = problem.arms.take(np.arange(problem.n_arms))
    dual = design.certificate.dual
    if dual is None or problem.criterion.name in ("D", "DS"):
        M = information_of_interest(design)
        values = sensitivity(Y.reshape(problem.n_arms, -1, problem.arms.d), design.weights, M)
    else:
        values = ((Y @ dual.vectors.T) ** 2).sum(axis=1)
        values = values * (design.value / values.max() if problem.criterion.name != "E" else 1.0)
    how = {"limited": not problem.weight_set.is_simplex, "xlabel": "setting x", "ylabel": "sensitivity"}
    return plot_equivalence(values, design.weights, settings, ax=ax, **how)


def information_of_interest(design: Any) -> Any:
    """M with C M C = the derivative of the criterion: A for D (and G), K(K'CK)^-1 K' for D_s."""
    problem = design.problem
    if problem.criterion.name != "DS":
        return None
    K, C = problem.contrast_matrix, np.linalg.pinv(design.information, rcond=1e-10, hermitian=True)
    return K @ np.linalg.inv(K.T @ C @ K) @ K.T


# ------------------------------------------------------------------- the index


def index(entries: list[Entry]) -> str:
    """Pictures by topic, each problem once."""
    found = {e.name: e for e in entries}
    listed = [name for names in TOPICS.values() for name in names.split()]
    twice = sorted({name for name in listed if listed.count(name) > 1})
    lost = sorted(set(found) - set(listed))
    if twice or lost:
        raise RuntimeError(f"problems without a topic: {lost}; with several: {twice}")
    lines = [
        "# Gallery",
        "",
        "Every problem of the library, solved: statement, data, picture, certified value, and the code, to take away as a",
        "notebook, a script and the data. Each page is made by running what it shows. The files are in `problems/`;",
        "`convexdesign problems` lists them.",
        "",
    ]
    for topic, names in TOPICS.items():
        about = [found[name] for name in names.split() if name in found]
        if about:
            lines += [f"## {topic}", "", *cards(about)]
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *(e.name for e in entries), "```", ""])


def cards(entries: list[Entry]) -> list[str]:
    lines = ["::::{grid} 1 2 3 3", ":gutter: 3", ""]
    for e in entries:
        lines += [
            f":::{{grid-item-card}} {e.title}",
            f":link: {e.name}",
            ":link-type: doc",
            "",
            f"```{{image}} {e.name}-small.svg",
            f":alt: {e.alt}",
            "```",
            f"{e.kind}, value {plain_number(e.value)}",
            ":::",
            "",
        ]
    return [*lines, "::::", ""]


def write(app: Any) -> None:
    from convexdesign.problemfile import library

    only = set(filter(None, app.config.gallery_only.split(",")))
    paths = [path for path in library() if not only or path.stem in only]
    with drawn_as_settings_say():
        entries = [entry(path) for path in paths]
    files: dict[str, str | bytes] = {f"{e.name}.md": e.page for e in entries}
    files |= {f"{e.name}.svg": e.picture for e in entries}
    files |= {f"{e.name}-small.svg": e.thumbnail for e in entries}
    write_pages(Path(app.srcdir) / "gallery", files | {"index.md": index(entries)})
    taken = {name: content for e in entries for name, content in e.downloads.items()}
    write_pages(Path(app.srcdir) / "_build" / "downloads" / "gallery", taken)


@contextlib.contextmanager
def drawn_as_settings_say() -> Any:
    """The look of the site's pictures, without touching that of anybody else in this process."""
    import matplotlib

    with matplotlib.rc_context(fname=os.environ["MATPLOTLIBRC"]):
        yield


def setup(app: Any) -> dict[str, Any]:
    app.add_config_value("gallery_only", "", "env", str)
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
