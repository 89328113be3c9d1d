"""Pages with code as notebooks and as scripts: the same text and cells, without what only the site understands."""

from __future__ import annotations

import re
import textwrap
from typing import Any

__all__ = ["data_files", "notebook", "script"]

# Where a cell reads a file that lies beside the page.
READ = re.compile(r"""(?:read_csv|load_problem)\(\s*["']([^"'/]+)["']""")
BLOCK = re.compile(r"^(:{3,})\{(\w[\w-]*)\} ?(.*?)\n(.*?)^\1[ ]*$\n?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?!https?:)[^)\s]+)\)")


def notebook(text: str, needs: str = "plot", beside: str = "") -> Any:
    """The notebook of a page in MyST; needs: extras that it uses; beside: which pages lie next to it (a regular expression)."""
    import nbformat
    from myst_nb.core.read import read_myst_markdown_notebook
    from myst_parser.config.main import MdParserConfig

    enabled = MdParserConfig(enable_extensions={"amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"})
    made = read_myst_markdown_notebook(text, enabled)
    for k, cell in enumerate(made.cells):
        cell.id = f"cell-{k}"  # the same at every build
        cell.metadata = {}
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source, beside)
    files = data_files(text)
    with_files = f" Put {' and '.join(f'`{f}`' for f in files)}, from the same page, beside it." if files else ""
    install = (
        f"From the documentation of convexdesign. It needs the package with its extras: `pip install '.[{needs}]'` in a "
        f"checkout.{with_files}"
    )
    made.cells.insert(1, nbformat.v4.new_markdown_cell(install, id="install"))
    made.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.validate(made)
    return made


def script(made: Any) -> str:
    """The notebook as a Python file: text in comments, cells apart by `# %%`, which editors run one by one."""
    parts = []
    draws = False
    for cell in made.cells:
        if cell.cell_type == "markdown":
            parts.append(
                "# %% [markdown]\n" + textwrap.indent(cell.source, "# ", lambda line: True).replace("# \n", "#\n")
            )
        else:
            parts.append("# %%\n" + cell.source)
            draws = draws or "plt." in cell.source or "plot" in cell.source
    if draws:
        parts.append(
            "# %% Where this runs as a script, what was drawn is shown at the end.\n"
            "from matplotlib import pyplot\n\npyplot.show()"
        )
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def data_files(text: str) -> list[str]:
    """Names of the files that a page reads from its own folder."""
    return list(dict.fromkeys(READ.findall(text)))


def plain(text: str, beside: str = "") -> str:
    """Markdown as notebooks show it: notes as quotations, solutions folded, links to pages beside it or as words."""
    while (found := BLOCK.search(text)) is not None:
        _, kind, title, body = found.groups()
        body = re.sub(r"\A(?::\w+:.*\n)+\n?", "", body).strip()
        text = text[: found.start()] + block(kind, title, body) + "\n" + text[found.end() :]
    text = re.sub(r"\{(?:term|doc|ref|code)\}`([^`<]+?)(?: *<[^`>]*>)?`", r"\1", text)
    text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.MULTILINE)

    def link(found: re.Match[str]) -> str:
        words, target = found.groups()
        page = target.partition("#")[0]
        if beside and re.fullmatch(beside, page):
            return f"[{words}]({page.removesuffix('.md')}.ipynb)"
        return words

    return LINK.sub(link, text).strip()


def block(kind: str, title: str, body: str) -> str:
    if kind == "dropdown":
        return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
    heading = f"**{title}**\n\n" if title else ""
    return textwrap.indent(heading + body, "> ", lambda line: True).replace("> \n", ">\n")
