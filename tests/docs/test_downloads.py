"""What pages give to take away: notebooks, scripts and data that work in a folder of their own."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import downloads
import gallery_pages
import lesson_data
import nbformat
import plain_docstrings
import pytest

import convexdesign as cd
from convexdesign.problemfile import find, library, load_problem

LESSONS = sorted((Path(__file__).parents[2] / "docs" / "lessons").glob("[1-9]*-*.md"))
# What only the site understands.
OF_THE_SITE = re.compile(r"^:::|\{\w+\}`|\]\([\w./-]+\.md|^\(\w+\)=", re.MULTILINE)


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_a_lesson_is_a_notebook_and_a_script_with_all_its_cells(page):
    text = page.read_text(encoding="utf-8")
    files = downloads.files_of(f"lessons/{page.stem}", text, page.parent)
    made = nbformat.reads(files[f"{page.stem}.ipynb"], as_version=4)
    nbformat.validate(made)
    cells = [cell.source for cell in made.cells if cell.cell_type == "code"]
    assert len(cells) == text.count("```{code-cell}")
    program = files[f"{page.stem}.py"]
    compile(program, page.name, "exec")
    assert all(cell in program for cell in cells)
    words = "\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert OF_THE_SITE.findall(words) == []
    data = set(files) - {f"{page.stem}.ipynb", f"{page.stem}.py"}
    assert data, "every lesson has an exercise with data"
    assert all(f"`{name}`" in words for name in data)
    assert all(name in downloads.links(list(files)) for name in files)


def test_the_made_up_data_are_what_their_program_draws():
    folder = LESSONS[0].parent
    for name, make in lesson_data.MADE.items():
        assert (folder / name).read_text(encoding="utf-8") == make(), f"run docs/_ext/lesson_data.py: {name}"


def test_the_glossary_explains_the_words_that_the_pages_use():
    text = (LESSONS[0].parents[1] / "glossary.md").read_text(encoding="utf-8")
    terms = set(re.findall(r"^(?![ `#])(\S.*)\n {2}\S", text, re.MULTILINE))
    words = ["arm", "item", "target", "design", "XY", "oracle", "certificate", "efficiency"]
    assert {*words, "level set", "$\\delta$ (`delta`)", "$\\psi^*$ (`psi_star`)", "$\\rho^*$ (`rho_star`)"} <= terms


def test_every_problem_has_one_topic():
    listed = [name for names in gallery_pages.TOPICS.values() for name in names.split()]
    assert sorted(listed) == [path.stem for path in library()]


def test_what_a_page_of_the_gallery_gives_runs_where_it_is_put(tmp_path, monkeypatch):
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "show", lambda: None)
    stated = load_problem(find("random-xy"))
    files = gallery_pages.to_take_away(stated, cd.solve(stated.problem()))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert set(files) == {"random-200x10.npy", *(f"random-xy.{e}" for e in ("ipynb", "py", "toml", "csv"))}
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(Path("random-xy.py").read_text(encoding="utf-8"), "random-xy.py", "exec"), {})
    pyplot.close("all")
    assert "certified" in printed.getvalue()
    assert json.loads(Path("random-xy.ipynb").read_text(encoding="utf-8"))["nbformat"] == 4
    rows = Path("random-xy.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 201
    assert rows[0].startswith("arm,weight")
    assert rows[0].endswith("x9,x10")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("4^-3 x_i s^(4/3)", "4<sup>−3</sup> x<sub>i</sub> s<sup>4/3</sup>"),
        ("(1 + sqrt 5)^2 s\\_1^2/w\\_1", "(1 + √5)<sup>2</sup> s<sub>1</sub><sup>2</sup>/w<sub>1</sub>"),
        ("default_rng(0), a_long_name", "default_rng(0), a_long_name"),
    ],
)
def test_formulas_in_words_are_set(words, shown):
    assert gallery_pages.typeset(words) == shown


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("y_i'A^-1y_i", r"y\ :sub:`i`\ 'A\ :sup:`−1`\ y\ :sub:`i`\ "),
        ("sum_i w_i (a b)^2", r"Σ\ :sub:`i`\  w\ :sub:`i`\  (a b)\ :sup:`2`\ "),
        ("Σ_i s_x² 2^(p-1)", r"Σ\ :sub:`i`\  s\ :sub:`x`\ ² 2\ :sup:`p−1`\ "),
        ("|z|_A <= sqrt(A0)", r"\|z\|\ :sub:`A`\  <= √(A\ :sub:`0`\ )"),
        ("noise_variance, n_new and 3*2", r"noise\_variance, n\_new and 3\*2"),
    ],
)
def test_formulas_of_docstrings_are_set_on_the_reference_pages(words, shown):
    assert plain_docstrings.typeset(words) == shown
