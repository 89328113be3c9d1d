"""The site: every link leads somewhere, every picture has words, nothing is fetched, every public name is documented.

A site that `make docs` built is checked as it is, unless something changed since; then one is built here, without running
the cells of its pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
import webpages

import convexdesign as cd

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LESSONS = sorted((DOCS / "lessons").glob("[1-9]*-*.md"), key=lambda path: int(path.name.split("-")[0]))
# Packages whose names users meet; the rest are parts.
PUBLIC = ("estimation", "features", "identification", "instances", "plotting", "problemfile", "simulation")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    built = DOCS / "_build" / "html"
    if is_current(built):
        return built
    base = tmp_path_factory.getbasetemp()
    # Workers that run side by side share one site: who makes its folder builds it, the others wait.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    try:
        folder.mkdir()
    except FileExistsError:
        return awaited(folder)
    try:
        return build(folder)
    finally:
        (folder / "done").touch()


def awaited(folder: Path) -> Path:
    while not (folder / "done").exists():
        time.sleep(0.2)
    assert (folder / "html" / "objects.inv").exists(), "the site was not built; its builder's tests say why"
    return folder / "html"


def build(folder: Path) -> Path:
    left_out = shutil.ignore_patterns("_build", "api", "gallery", "command-line.md")
    shutil.copytree(DOCS, folder / "docs", ignore=left_out)
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    options = ["-q", "-W", "--keep-going", "-D", "nb_execution_mode=off", "-D", "gallery_only=soare-xy,parabola-a"]
    command = [sys.executable, "-m", "sphinx", *options, "-b", "html", str(folder / "docs"), str(folder / "html")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return folder / "html"


def is_current(built: Path) -> bool:
    """Whether the site is there and younger than everything that it shows."""
    front = built / "index.html"
    if not front.exists():
        return False
    sources = [*DOCS.rglob("*.md"), *DOCS.rglob("*.py"), *(ROOT / "convexdesign").rglob("*.py")]
    return all(path.stat().st_mtime < front.stat().st_mtime for path in sources if "_build" not in path.parts)


def test_links_pictures_and_what_is_loaded(site):
    assert webpages.faults(site) == []
    assert len(list(site.rglob("*.html"))) > 40


def test_every_public_name_is_in_the_reference(site):
    from sphinx.util.inventory import InventoryFile

    with (site / "objects.inv").open("rb") as stream:
        inventory = InventoryFile.load(stream, "", lambda base, path: path)
    documented = {name for kind in inventory if kind.startswith("py:") for name in inventory[kind]}
    names = set(cd.__all__) - {"Experiment", "Model", "Region"}  # on the pages of their subpackages
    wanted = {f"convexdesign.{name}" for name in names if callable(getattr(cd, name))}
    for package in PUBLIC:
        module = import_module(f"convexdesign.{package}")
        wanted |= {f"convexdesign.{package}.{n}" for n in module.__all__ if callable(getattr(module, n))}
    assert sorted(wanted - documented) == []


def test_the_page_of_the_command_line_has_every_command(site):
    import typer

    from convexdesign.cli.app import app

    text = (site / "command-line.html").read_text(encoding="utf-8")
    for name in typer.main.get_command(app).commands:
        assert f"convexdesign {name}" in text, name


def test_there_are_ten_lessons_with_exercises_and_solutions():
    assert [int(path.name.split("-")[0]) for path in LESSONS] == list(range(1, 11))
    for path in LESSONS:
        text = path.read_text(encoding="utf-8")
        _, exercises = text.split("\n## Exercises\n")
        asked = re.findall(r"^\*\*\d\. ", exercises, re.MULTILINE)
        answered = len(re.findall(r"\{dropdown\} Solution$|code_prompt_show: Solution$", exercises, re.MULTILINE))
        assert len(asked) >= 3, path.name
        assert answered >= len(asked), path.name
        assert "## To take away" in text, path.name


def test_pictures_of_cells_have_words():
    """A cell that draws must say in words what is seen: the built page has no other source for it."""
    for path in [*LESSONS, *DOCS.glob("*.md")]:
        for cell in re.findall(
            r"^```\{code-cell\}.*?^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        ):
            if re.search(r"subplots\(|plotting\.plot_|\.plot\(\)|\.plot_rounds\(\)", cell):
                assert "\n    alt: " in cell, f"{path.name}: {cell[:200]}"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html">b</a>', "broken link: b.html"),
        ('<a href="#nowhere">x</a>', "broken link: #nowhere"),
        ('<a href="a.html#nowhere">x</a>', "broken link: a.html#nowhere"),
        ('<img src="data:," alt=" ">', "picture without words"),
        ('<script src="https://cdn.example/x.js"></script>', "fetched from elsewhere"),
        ('<script src="//cdn.example/x.js"></script>', "fetched from elsewhere"),
        ('<img src="missing.png" alt="a">', "missing file: missing.png"),
        ('<div class="output traceback highlight">', "cells show an error"),
    ],
)
def test_the_checker_finds(tmp_path, body, fault):
    (tmp_path / "a.html").write_text(f'<p id="here"></p><a href="#here">x</a>{body}')
    (found,) = webpages.faults(tmp_path)
    assert fault in found


def test_the_checker_finds_nothing_where_nothing_is_wrong(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "style.css").write_text("a { background: url(data:x) }")
    (tmp_path / "b" / "index.html").write_text('<h1 id="top">B</h1>')
    (tmp_path / "a.html").write_text(
        '<a href="b/">b</a><a href="b/index.html#top">b</a><a href="https://example.org/#x">far</a>'
        '<img src="data:," alt="dot"><link rel="stylesheet" href="style.css">'
    )
    assert webpages.faults(tmp_path) == []
