"""The command-line page, read from the program itself: its commands, options, defaults, and what examples print."""

from __future__ import annotations

import contextlib
import io
import shlex
from pathlib import Path
from typing import Any

from written import write_page

__all__ = ["output_of"]

# One example a command; those without a line here have no output of their own to show.
EXAMPLES = {
    "solve": "convexdesign solve soare-best-arm --round 60",
    "verify": "convexdesign verify soare-xy --counts counts.csv",
    "round": "convexdesign round experiment-2-best-arm --n 100",
    "problems": "convexdesign problems",
    "demo": "convexdesign demo",
}
FILES = {"counts.csv": "name,count\ne1,20\ne2,20\nnear e1,20\n"}


def page() -> str:
    """The whole page as Markdown."""
    import typer

    from convexdesign.cli.app import EXIT_CODES, app
    from convexdesign.cli.arguments import ProblemOptions, parameters_of

    group = typer.main.get_command(app)
    stated = {parameter.name for parameter in parameters_of(ProblemOptions)}
    shared: dict[str, Any] = {}
    sections: list[str] = []
    for name, command in commands_of(group):
        own = []
        for parameter in command.params:
            if parameter.name in stated:
                shared.setdefault(parameter.name, parameter)
            else:
                own.append(parameter)
        states = len(own) < len(command.params)
        sections += section(name, command, own, states)
    intro = [
        "# Command line",
        "",
        f"{group.help} Results go to standard output and messages to standard error; with `--json` there is one JSON",
        "document, also for errors. A table is CSV (separator and decimal mark are found out) or NPY, one arm a row.",
        "",
        EXIT_CODES.replace("\n", " "),
        "",
        "This page is made from the program; `convexdesign COMMAND --help` prints the same.",
        "",
        "## Stating the problem",
        "",
        "`solve`, `verify`, `round` and some others begin with a problem: a file, a name from the library, or a table",
        "of arms with these options.",
        "",
        *table(list(shared.values())),
    ]
    return "\n".join([*intro, "", *sections])


def commands_of(group: Any, before: str = "") -> list[tuple[str, Any]]:
    """Names and commands, those of a group after one another under its own name."""
    found: list[tuple[str, Any]] = []
    for name, command in group.commands.items():
        inner = commands_of(command, f"{before}{name} ") if hasattr(command, "commands") else []
        found += inner or [(before + name, command)]
    return found


def section(name: str, command: Any, own: list[Any], states: bool) -> list[str]:
    usage = f"convexdesign {name}" + (" FILE" if states else "") + (" [OPTIONS]" if command.params else "")
    lines = [f"## {name}", "", "```text", usage, "```", "", code_safe(command.help or ""), ""]
    if states:
        lines += ["It takes the options of [stating the problem](#stating-the-problem), and these:", ""]
    lines += [*table(own), ""]
    example = EXAMPLES.get(name)
    if example:
        lines += ["```console", f"$ {example}", output_of(example).rstrip(), "```", ""]
    return lines


def table(parameters: list[Any]) -> list[str]:
    """Arguments and options as a table."""
    rows = ["| option | what it is | default |", "|---|---|---|"]
    for parameter in parameters:
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        names = ", ".join([*parameter.opts, *parameter.secondary_opts])
        if parameter.param_type_name == "argument":
            names = parameter.metavar or parameter.name.upper()
        elif parameter.metavar:
            names += f" {parameter.metavar}"
        default = "" if parameter.default in (None, False) else f"`{parameter.default}`"
        default = "required" if parameter.required else default
        rows.append(f"| `{names}` | {code_safe(parameter.help or '')} | {default} |".replace("CSV|", "CSV\\|"))
    return rows


def code_safe(text: str) -> str:
    """Help as Markdown: words that look like options, and powers, are code."""
    words = []
    for word in text.split(" "):
        bare = word.strip(".,;:()`'")
        words.append(word.replace(bare, f"`{bare}`") if bare.startswith("--") and "`" not in word else word)
    return " ".join(words).replace("a**2", "a\\*\\*2")


def output_of(command: str) -> str:
    """What a command line prints on standard output, run in this process in a folder of its own."""
    import os
    import tempfile

    from convexdesign.cli import main

    before = Path.cwd()
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, content in FILES.items():
                Path(name).write_text(content, encoding="utf-8")
            with contextlib.redirect_stdout(out):
                code = main(shlex.split(command)[1:])
        finally:
            os.chdir(before)
    if code != 0:
        raise RuntimeError(f"{command} ended with exit code {code}")
    return out.getvalue()


def write(app: Any) -> None:
    write_page(Path(app.srcdir) / "command-line.md", page())


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
