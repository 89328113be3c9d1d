"""The Python code that computes what a view shows."""

from __future__ import annotations

from convexdesign.explore.state import PROBLEMS, State
from convexdesign.explore.views import View
from convexdesign.problem.kinds import KINDS

__all__ = ["program"]


def program(view: View) -> str:
    """A program that leaves the view's numbers in `design`, `blind`, `plan` and `samples`, and prints them.

    Parts that the view could not compute are left out; a problem without an answer is stated and solved all the same,
    and gives the error that the view shows.

    Parameters
    ----------
    view : View
        What is shown.

    Returns
    -------
    str
        Python source.

    Examples
    --------
    >>> from convexdesign.explore import State, view
    >>> print(program(view(State("d-optimal", ((1, 0), (0, 1)), (1, 3)))).splitlines()[4])
    arms = np.array([[1.0, 0.0], [0.0, 1.0]])
    """
    state = view.state
    lines = ["import numpy as np", "", "import convexdesign as cd", ""]
    lines += _matrix("arms", state.arms)
    lines += [f"noise_variance = np.array({list(state.noise_variance)})  # variances, never standard deviations"]
    if state.wanted_items:
        lines += _matrix("items", state.wanted_items)
    constructor = f"cd.DesignProblem.{KINDS[state.problem].constructor.__name__}"
    told = "".join(f", {text}" for text in _told(state))
    lines += [
        "",
        f"problem = {constructor}(arms{told}, noise_variance=noise_variance)",
        "design = cd.solve(problem)",
        'print("weights", design.weights.round(4))',
        'print("value", design.value, "proven bound", design.bound)',
    ]
    if view.blind is not None:
        lines += [
            "",
            "# The design made as if all noise were equal, judged by the noise there is.",
            f"blind = cd.verify(problem, weights=cd.solve({constructor}(arms{told})).weights)",
            'print("as if all noise were equal", blind.weights.round(4), "value", blind.value)',
        ]
    if view.plan is not None:
        lines += [
            "",
            f"plan = design.round({state.pulls})",
            'print("pulls", plan.counts, "efficiency", plan.efficiency)',
        ]
    if view.samples is not None:
        lines += ["", *_bound(state)]
    return "\n".join(lines) + "\n"


def _told(state: State) -> list[str]:
    """The constructor's arguments beside arms and noise."""
    uses = PROBLEMS[state.problem]
    told = ["items=items"] if state.wanted_items else []
    told += [f"{name}={list(getattr(state, name))}" for name in ("theta", "direction") if name in uses]
    return told + ([f"threshold={state.threshold}"] if "threshold" in uses else [])


def _bound(state: State) -> list[str]:
    level = state.problem.startswith("level-set")
    objective = f"cd.identification.LevelSet({state.threshold})" if level else "cd.identification.BestArm()"
    items = "items" if state.wanted_items else "None"
    return [
        f"# No algorithm that errs with probability at most {state.delta} takes fewer samples on average.",
        "samples = cd.identification.lower_bound(",
        f"    arms, {items}, {list(state.theta)}, {objective}, noise_variance, {state.delta}",
        ")",
        'print("samples at least", samples)',
    ]


def _matrix(name: str, rows: tuple[tuple[float, float], ...]) -> list[str]:
    """A matrix as code: on one line where it is short."""
    text = [str(list(row)) for row in rows]
    if len(rows) <= 5:
        return [f"{name} = np.array([{', '.join(text)}])"]
    return [f"{name} = np.array(", "    [", *(f"        {row}," for row in text), "    ]", ")"]
