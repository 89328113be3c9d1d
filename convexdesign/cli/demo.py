"""`convexdesign demo`: the paper's second experiment, designed with and without knowing its noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from convexdesign.cli.arguments import AsJson, option
from convexdesign.cli.exits import end
from convexdesign.cli.files import check_picture, save_picture
from convexdesign.cli.output import print_line, print_table, respond
from convexdesign.cli.reading import find_problem
from convexdesign.cli.report import design_document

if TYPE_CHECKING:
    from convexdesign.design import Design
    from convexdesign.problemfile import ProblemFile
    from convexdesign.verification import Verification

__all__ = ["demo"]

PROBLEM = "experiment-2-best-arm"
INFORMED = "for the true noise"
BLIND = "as if all noise were equal"


def demo(
    plot: Annotated[
        Path | None, option("--plot", metavar="FILE", help="Draw both designs (.png, .svg or .pdf).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two designs for one experiment.

    The problem is the second experiment of Weltz et al. (2023): find the best of six arms whose measurements are
    unequally noisy. One design knows the noise; the other is the best for equal noise, and is then judged by the
    true one.
    """
    from convexdesign.solving import solve
    from convexdesign.verification import verify

    check_picture(plot)
    file = find_problem(PROBLEM)
    informed = solve(file.problem())
    equal = replace(file, inputs={name: value for name, value in file.inputs.items() if name != "noise_variance"})
    blind = solve(equal.problem())
    judged = verify(informed.problem, weights=blind.weights)
    if plot is not None:
        from convexdesign.plotting import new_axes, plot_comparison

        ax = plot_comparison(
            {INFORMED: informed.weights, BLIND: blind.weights},
            informed.problem.arms.names,
            title=f"Designing as if all noise were equal takes {judged.value / informed.value:.2f} times the measurements",
            ax=new_axes((7.5, 4.6)),
        )
        save_picture(ax, plot)
    respond(as_json, document(file, informed, blind, judged), lambda: show(informed, blind, judged))
    certified = informed.status.name == blind.status.name == "CERTIFIED"
    end(certified)


def document(file: ProblemFile, informed: Design, blind: Design, judged: Verification) -> dict[str, Any]:
    """Both designs as data; `ratio` is how many times more measurements the blind design needs."""
    names = informed.problem.arms.names
    return {
        "problem": file.name,
        "names": None if names is None else list(names),
        "noise_variance": informed.problem.noise_variance,
        "heteroskedastic": design_document(informed),
        "homoskedastic": {
            "weights": blind.weights,
            "value": judged.value,
            "assumed_value": blind.value,
            "gap": blind.gap,
            "efficiency_interval": list(judged.efficiency_interval),
        },
        "ratio": judged.value / informed.value,
        "certified": informed.status.name == blind.status.name == "CERTIFIED",
    }


def show(informed: Design, blind: Design, judged: Verification) -> None:
    """Both designs for a reader."""
    problem = informed.problem
    noise = [1.0] * problem.n_arms if problem.noise_variance is None else problem.noise_variance
    print_line("Experiment 2 of Weltz et al. (2023): which of six arms is best, when their noise differs?")
    print_line()
    print_line("Share of the measurements that each arm should get:")
    print_table(
        ("arm", "noise variance", INFORMED, BLIND),
        [
            (problem.arm_name(i), f"{noise[i]:.4g}", f"{informed.weights[i]:.4f}", f"{blind.weights[i]:.4f}")
            for i in range(problem.n_arms)
        ],
        left=("arm",),
    )
    print_table(
        ("", INFORMED, BLIND),
        [
            ("worst variance per measurement", f"{informed.value:.8g}", f"{judged.value:.8g}"),
            ("proven lower bound on the best", f"{informed.lower_bound:.8g}", f"{judged.lower_bound:.8g}"),
            ("certified gap", f"{informed.gap:.1e}", f"{judged.value / judged.lower_bound - 1:.1e}"),
        ],
        left=("",),
    )
    print_line(
        f"The design made as if all noise were equal needs {judged.value / informed.value:.2f} times as many "
        "measurements for the same precision."
    )
