"""The reference: one page a subject, made from the names that each package exports, so that none is forgotten."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from written import write_pages

__all__ = ["SUBJECTS", "Subject"]


@dataclass(frozen=True)
class Subject:
    """A page: a title, a sentence or two, and the public names of a module (all of them where names is None)."""

    page: str
    title: str
    about: str
    module: str
    names: tuple[str, ...] | None = None


# Markers: the errors of a module, and what no other page has.
ERRORS, OTHERS = ("*errors",), ("*others",)

SUBJECTS = (
    Subject(
        "problems",
        "Problems",
        "What is to be designed: arms, targets, noise, costs, bounds. One class, one constructor for each kind.",
        "convexdesign",
        ("DesignProblem", "BlockArms"),
    ),
    Subject(
        "solving",
        "Designs",
        "From a problem to weights with a certificate, and from weights to whole numbers.",
        "convexdesign",
        ("solve", "Design", "Status", "Certificate", "ExactDesign"),
    ),
    Subject(
        "verifying",
        "Verification",
        "How good is a design, whoever made it?",
        "convexdesign",
        ("verify", "match_design", "Verification", "Improvement", "efficiencies"),
    ),
    Subject(
        "plugin",
        "Plug-in",
        "The design step of bandit code: arrays in, arrays out ([with a whole algorithm](../plug-in.md)).",
        "convexdesign.plugin",
    ),
    Subject(
        "estimation",
        "Estimation",
        "Parameters and noise variances from counts, means and sums of squares.",
        "convexdesign.estimation",
    ),
    Subject(
        "identification",
        "Identification",
        "Adaptive experiments that find the best item, or all above a threshold.",
        "convexdesign.identification",
    ),
    Subject(
        "simulation", "Simulation", "Worlds whose truth is known, and experiments in them.", "convexdesign.simulation"
    ),
    Subject(
        "explore",
        "The explorer",
        "What the [explorer](../explorer.md) shows, as values: from a state to designs, certificates, bounds and code.",
        "convexdesign.explore",
        ("State", "view", "View", "program", "alone"),
    ),
    Subject(
        "regions",
        "Regions",
        "Designs over continuous regions: where the factors may be set, the model over it, and the design with its proof.",
        "convexdesign.regions",
    ),
    Subject(
        "compound",
        "Several problems at once",
        "Compound and maximin designs: one design for several problems, with one certificate for all of them.",
        "convexdesign.compound",
    ),
    Subject("experiment", "Durable experiments", "Ask and tell over days, on disk.", "convexdesign.experiment"),
    Subject(
        "features",
        "Features",
        "From settings of factors to arms: model matrices, and phi for variances.",
        "convexdesign.features",
    ),
    Subject("instances", "Instances", "The instances of the paper, made precise.", "convexdesign.instances"),
    Subject("problemfile", "Problem files", "Problems as TOML files, and the library.", "convexdesign.problemfile"),
    Subject("tables", "Tables", "CSV and NPY files as arms, items and numbers per arm.", "convexdesign.tables"),
    Subject("plotting", "Plots", "Every plot is a function of data and of an axis.", "convexdesign.plotting"),
    Subject("rounding", "Rounding on arrays", "The methods behind `Design.round`.", "convexdesign.rounding"),
    # What is left of the top level, of either sort, so that nothing is forgotten.
    Subject("errors", "Errors", "What can go wrong, and what it is called.", "convexdesign", ERRORS),
    Subject("more", "More", "What has no page of its own.", "convexdesign", OTHERS),
)


def pages() -> dict[str, str]:
    """All pages of the reference by file name."""
    out = {}
    listed = []
    for subject in SUBJECTS:
        names = public_names(subject)
        if not names:
            continue
        out[f"{subject.page}.md"] = page(subject, names)
        listed.append(subject)
    out["index.md"] = index(listed)
    return out


def public_names(subject: Subject) -> tuple[str, ...]:
    """The names of a subject: as listed, or what its module exports, functions and classes only."""
    module = import_module(subject.module)
    exported = [n for n in getattr(module, "__all__", ()) if callable(getattr(module, n))]
    errors = [n for n in exported if is_error(getattr(module, n))]
    if subject.names == ERRORS:
        return tuple(errors)
    if subject.names == OTHERS:
        taken = {n for s in SUBJECTS if s.module == subject.module for n in s.names or ()}
        # What is lent to the top level is described in its own room.
        taken |= {n for s in SUBJECTS if s.module != subject.module for n in public_names(s)}
        return tuple(n for n in exported if n not in taken and n not in errors)
    return tuple(exported) if subject.names is None else subject.names


def is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, BaseException)


def page(subject: Subject, names: tuple[str, ...]) -> str:
    module = import_module(subject.module)
    lines = [f"# {subject.title}", "", subject.about, "", "```{eval-rst}", f".. currentmodule:: {subject.module}", ""]
    for name in names:
        lines += directive(name, getattr(module, name))
    return "\n".join([*lines, "```", ""])


def directive(name: str, thing: Any) -> list[str]:
    if is_error(thing):
        return [f".. autoexception:: {name}", ""]
    if inspect.isclass(thing):
        return [f".. autoclass:: {name}", "   :members:", "   :show-inheritance:", ""]
    return [f".. autofunction:: {name}", ""]


def index(subjects: list[Subject]) -> str:
    lines = [
        "# Reference",
        "",
        "Every public name, its arguments, what it raises, and an example that the tests run. The usual import is",
        "",
        "```python",
        "import convexdesign as cd",
        "```",
        "",
        "Variances are always variances (squared units of the outcome), never standard deviations.",
        "",
        "| page | what is there |",
        "|---|---|",
        *(f"| [{s.title}]({s.page}.md) | {s.about} |" for s in subjects),
        "",
        "```{toctree}",
        ":hidden:",
        "",
        *(s.page for s in subjects),
        "```",
        "",
    ]
    return "\n".join(lines)


def write(app: Any) -> None:
    write_pages(Path(app.srcdir) / "api", pages())


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
