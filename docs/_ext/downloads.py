"""What may be taken away from a page: a notebook, a script, and the data that they read, in files beside the page."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import nbformat
from notebooks import data_files, notebook, script
from written import write_page

__all__ = ["files_of", "links"]

# Folders whose pages are a course: their pages refer to one another, and come as one archive too.
LESSONS = "lessons"
NEEDS = {"lessons": "plot,exact,rigorous,nonlinear", "gallery": "plot,nonlinear"}
TITLE = re.compile(r"^# .+\n", re.MULTILINE)
CALLED = {".ipynb": "notebook", ".py": "script", ".toml": "problem file", ".csv": "data"}


def files_of(name: str, text: str, folder: Path) -> dict[str, str | bytes]:
    """Notebook, script and data of a page, by file name; data lie in the page's folder."""
    stem = name.rpartition("/")[2]
    made = notebook(text, NEEDS.get(name.partition("/")[0], "plot"), r"[1-9]\d?-[\w-]+\.md")
    return {
        f"{stem}.ipynb": nbformat.writes(made) + "\n",
        f"{stem}.py": script(made),
        **{data: (folder / data).read_bytes() for data in data_files(text)},
    }


def links(names: list[str]) -> str:
    """One line for the head of a page."""
    shown = []
    for name in names:
        word = CALLED[Path(name).suffix]
        word += f" {name}" if word == "data" else ""
        shown.append(f'<a href="{name}" download>{word}</a>')
    return f'<p class="downloads">To take away: {", ".join(shown)}</p>\n'


def archive(files: dict[str, str | bytes]) -> bytes:
    """A ZIP of the files, the same bytes at every build."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in sorted(files.items()):
            made.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def write(app: Any) -> None:
    """Everything under _build/downloads, which the settings lay over the site."""
    folder = Path(app.srcdir) / LESSONS
    target = Path(app.srcdir) / "_build" / "downloads" / LESSONS
    course: dict[str, str | bytes] = {}
    for page in sorted(folder.glob("[1-9]*-*.md")):
        course |= files_of(f"{LESSONS}/{page.stem}", page.read_text(encoding="utf-8"), folder)
    for name, content in {**course, "lessons.zip": archive(course)}.items():
        write_page(target / name, content)


def head(app: Any, name: str, source: list[str]) -> None:
    """The line of links, below the title of a page that has files."""
    folder, _, stem = name.rpartition("/")
    made = Path(app.srcdir) / "_build" / "downloads" / folder
    if not (made / f"{stem}.ipynb").exists():
        return
    if folder == LESSONS:
        names = [f"{stem}.ipynb", f"{stem}.py", *data_files(source[0])]
    else:
        names = [f"{stem}{ending}" for ending in CALLED if (made / f"{stem}{ending}").exists()]
    source[0] = TITLE.sub(lambda found: f"{found[0]}\n{links(names)}\n", source[0], count=1)


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    app.connect("source-read", head)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
