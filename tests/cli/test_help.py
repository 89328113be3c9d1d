"""Help: whole sentences, sections, and only what applies; completion: what the shell is offered."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import typer

from convexdesign.cli.app import app
from convexdesign.cli.command import OF_KIND, applies
from convexdesign.problem.kinds import COMMON, KINDS


def commands(group, before=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        else:
            yield (*before, name), command


ALL = dict(commands(typer.main.get_command(app)))


def test_no_sentence_is_cut(cli, monkeypatch):
    for words in ((), ("experiment",)):
        for width in (60, 80, 200):
            monkeypatch.setenv("COLUMNS", str(width))
            text = cli(*words, "--help").out
            flat = " ".join(text.split())
            assert "..." not in text.partition("Commands:")[2]
            for name, command in ALL.items():
                if name[:-1] == words:
                    assert " ".join(command.help.split("\n\n")[0].split()) in flat
            assert max(map(len, text.splitlines())) <= min(width, 100)


@pytest.mark.parametrize("name", ALL, ids=" ".join)
def test_every_option_has_words_of_its_own_and_stands_in_the_help(cli, name):
    text = cli(*name, "--help").out
    kinds = getattr(ALL[name].callback, "kinds", tuple(KINDS))
    for param in ALL[name].params:
        if param.param_type_name == "option" and applies(param, kinds, whole=False):
            assert param.help, param.name
            assert param.opts[0] in text


@pytest.mark.parametrize("kind", KINDS)
def test_behind_a_kind_help_lists_what_it_takes_and_nothing_else(cli, kind):
    text = cli("solve", "arms.csv", "--problem", kind, "--help").out
    for option in {name for names in OF_KIND.values() for name in names}:
        there = f"--{option} " in text
        assert there == (option in OF_KIND[kind]), option
    for option in COMMON:
        assert f"--{option.replace('_', '-')} " in text
    assert cli("verify", "arms.csv", f"--problem={kind}", "--help").code == 0


def test_a_problem_file_needs_none_of_the_options_of_a_table(cli):
    text = cli("solve", "problem.toml", "--help").out
    assert "--noise-variance" not in text
    assert "--formula " not in text
    assert "--tol" in text


@pytest.fixture
def completed(tmp_path, monkeypatch):
    """What bash is offered for the last word."""
    (tmp_path / "my-arms.csv").write_text("1,0\n")
    (tmp_path / "notes.doc").write_text("")
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)

    def run(*words):
        line = " ".join(["convexdesign", *words])
        told = {"_CONVEXDESIGN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
        command = [sys.executable, "-m", "convexdesign"]
        done = subprocess.run(command, env=os.environ | told, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    return run


def test_the_tab_key_offers_what_may_stand_there(completed):
    assert completed("solve", "my") == ["my-arms.csv"]
    assert completed("solve", "soare-x") == ["soare-xy"]
    assert completed("solve", "x", "--problem", "ds") == ["ds-optimal"]
    assert completed("simulate", "x", "--algorithm", "rage,mart") == ["rage,martingale"]


def test_completion_can_be_shown_and_breaks_nothing(cli):
    shown = cli("--show-completion", "bash")
    assert shown.code == 0
    assert "_convexdesign_completion" in shown.out


def test_a_command_for_some_kinds_lists_what_applies_to_these(cli):
    shown = cli("simulate", "--help").out
    assert "--theta" in shown
    for option in ("--targets", "--direction", "--interest", "--region", "--matrix", "phi2-optimal"):
        assert option not in shown
    assert "--direction" in cli("solve", "--help").out
