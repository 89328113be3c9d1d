"""What errors advise can be done as they say: arguments in Python, options on the command line, fields in problem files."""

import ast
import pathlib
import re
import warnings

import pytest

import convexdesign as cd
from convexdesign.cli.experiment.wording import options_worded, worded
from convexdesign.problemfile import load_problem
from convexdesign.tables import read_table

# A table that is unclear, what Python advises, and the options that make it clear.
UNCLEAR = {
    "counting names": ("id,one,x\n1,1,2.5\n2,1,3.5\n", "names=True", ["--names"], ["--no-names"]),
    "numbered runs": ("run,one,x\n1,1,2.5\n2,1,3.5\n", "names=False", ["--names"], ["--no-names"]),
    "numbered columns": ("0,1,2\n0.5,1.5,2.5\n3.5,1.5,1.5\n", "header=True", ["--header"], ["--no-header"]),
    "codes": ("1,5\n2,6\n3,9\n", "decimal= to say", ["--delimiter", ","], ["--decimal", ","]),
    "encoding": ("name,one,x\nM\xfcller,1,2.5\nb,1,3.5\n", "encoding='cp1252'", ["--encoding", "cp1252"], None),
}


@pytest.mark.parametrize(("text", "argument", "first", "second"), UNCLEAR.values(), ids=UNCLEAR.keys())
def test_the_advice_of_the_command_line_is_made_of_its_options(cli, tmp_path, text, argument, first, second):
    path = tmp_path / "arms.csv"
    path.write_text(text, encoding="cp1252")
    with pytest.raises(cd.InputError, match=argument):
        read_table(path)
    command = ("solve", path, "--problem", "d-optimal")
    refused = cli(*command)
    assert refused.code == 2
    assert argument not in refused.err
    found = set()
    for options in filter(None, (first, second)):
        assert options[0] in refused.err
        result = cli(*command, *options, "--json")
        assert result.code == 0, result.err
        found.add(result.out.partition('"method"')[0])
    assert len(found) == (1 if second is None else 2)  # the options differ in what they make of it


def test_problem_files_advise_their_own_fields(tmp_path):
    (tmp_path / "arms.csv").write_text("id,one,x\n1,1,2.5\n2,1,3.5\n")
    path = tmp_path / "p.toml"
    path.write_text('title = "t"\nkind = "d-optimal"\narms = "arms.csv"\n')
    with pytest.raises(cd.InputError, match=r'write \{ file = "...", names = true \}'):
        load_problem(path)
    path.write_text('title = "t"\nkind = "d-optimal"\narms = { file = "arms.csv", names = true }\n')
    assert load_problem(path).arms.names == ("1", "2")


def test_thousands_marks_repeated_names_and_factors_are_called_so(cli, tmp_path):
    path = tmp_path / "arms.csv"
    for text, words in (
        (
            "name;one;x\na;1 000,0;2,5\nb;1 000,0;3,5\n",
            "'1 000,0' is not a number; write numbers .* thousands separators",
        ),
        ("name,one,x\na,1,2.5\na,1,2.5\nb,1,3.5\n", "same name, 'a'; .*factor settings.*--formula"),
        ('"supplier" "x"\n"1" "a" 2.5\n"2" "b" 3.5\n', "'a' is not a number; .*factor settings.*--formula"),
    ):
        path.write_text(text)
        result = cli("solve", path, "--problem", "d-optimal")
        assert result.code == 2
        assert re.search(words, result.err), result.err


def test_tables_as_r_writes_them_with_and_without_a_formula(cli, tmp_path):
    """write.table: blanks, quotes, and a header without a cell for the row names."""
    path = tmp_path / "arms.txt"
    path.write_text('"one" "x"\n"a" 1 2.5\n"b" 1 3.5\n"c" 1 7\n')
    plain = cli("solve", path, "--problem", "d-optimal", "--json")
    assert '"names": ["a", "b", "c"]' in plain.out
    by_formula = cli("solve", path, "--problem", "d-optimal", "--formula", "0 + one + x", "--json")
    assert '"names": ["a", "b", "c"]' in by_formula.out
    path.write_text('"supplier" "x"\n"1" "a" 2.5\n"2" "b" 3.5\n"3" "c" 7\n')
    result = cli("solve", path, "--problem", "d-optimal", "--formula", "supplier", "--json")
    assert '"columns": ["Intercept", "supplier[T.b]", "supplier[T.c]"]' in result.out


def noted(cli, path, *more):
    return "look like factor settings" in cli("solve", path, "--problem", "d-optimal", *more).err


def test_tables_that_look_like_factor_settings_are_called_so(cli, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("temp,time\n-1,100\n1,100\n-1,200\n1,200\n")
    result = cli("solve", path, "--problem", "d-optimal")
    assert result.code == 0
    assert "--formula '1 + temp + time'" in result.err
    assert not noted(cli, path, "--formula", "1 + temp + time")
    for text in (
        "a,b\n1,-1\n1,1\n1,-1\n1,1\n",  # a constant: somebody thought of the intercept
        "a,b\n0,1\n1,0\n0,1\n1,0\n",  # indicators
        "-1,100\n1,100\n-1,200\n1,200\n",  # no names
        "a,b\n0.31,1.7\n0.22,1.9\n0.17,1.2\n0.8,1.1\n",  # measured values
    ):
        path.write_text(text)
        assert not noted(cli, path), text


def test_one_over_a_column_is_nesting_and_said_to_be(cli, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n4\n")
    result = cli("solve", path, "--problem", "d-optimal", "--formula", "1 + 1/a")
    assert result.code == 0
    assert "write I(1 / a)" in result.err
    for formula in ("1 + I(1 / a)", "1 + a"):
        assert cli("solve", path, "--problem", "d-optimal", "--formula", formula).err == ""


def test_observations_in_another_encoding(cli, tmp_path):
    arms, seen = tmp_path / "arms.csv", tmp_path / "seen.csv"
    arms.write_bytes("name,a\nMüller,1\nMeyer,2\n".encode("cp1252"))
    seen.write_bytes("arm,reward\nMüller,1\nMüller,2\nMeyer,2\nMeyer,5\n".encode("cp1252"))
    refused = cli("estimate", seen, "--arms", arms)
    assert "--encoding 'cp1252'" in refused.err
    result = cli("estimate", seen, "--arms", arms, "--encoding", "cp1252", "--json")
    assert result.code == 0, result.err
    assert '"names": ["Müller", "Meyer"]' in result.out
    assert '"variance": [0.5, 4.5]' in result.out
    arms.write_text("name,a\nMüller,1\nMeyer,2\n", encoding="utf-8")
    advised = cli("estimate", seen, "--arms", arms)
    assert advised.code == 2
    assert "--encoding 'cp1252'" in advised.err


# ------------------------------------------------------------------ experiments

# Keywords that no command has an option for: what a file of results says instead, or what no command can leave out.
PYTHON_ALONE = {"observations", "key", "keys", "arms", "rewards", "reward", "known_variances", "variance_history"}
SPELT = re.compile(r"(?<![\w-])([a-z_]+)=(?=True|False|'|\(|[\s,;.)]|$)")


def messages():
    """Texts that errors and warnings of experiments are made of; what is filled in is a word."""
    package = pathlib.Path(cd.__file__).parent
    for path in [
        package / "simulation/expectation.py",
        *package.glob("experiment/*.py"),
        *package.glob("identification/*.py"),
    ]:
        tree = ast.parse(path.read_text())
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield path.name, "".join(p.value if isinstance(p, ast.Constant) else "'x'" for p in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                yield path.name, node.value


def test_no_message_of_an_experiment_is_left_in_the_spelling_of_python():
    spelt = {(name, text) for name, text in messages() if " " in text and SPELT.search(text)}
    assert len(spelt) > 20
    left = {(name, text) for name, text in spelt if set(SPELT.findall(worded(text))) - PYTHON_ALONE}
    assert not left


@pytest.mark.parametrize(
    ("python", "options"),
    [
        ("With set_aside=True they go; dry_run=True shows how", "With --set-aside they go; --dry-run shows how"),
        ("as what arrived (as_arrived=True, --as-arrived)", "as what arrived (--as-arrived)"),
        ("give noise='bounded' with reward_range=(low, high)", "give --noise bounded with --reward-range LOW HIGH"),
        ("give baseline=, the usual rate", "give --baseline, the usual rate"),
        ("smallest_gap is 0", "--smallest-gap is 0"),
        ("a level = 3, noise==2 of arm 'dry_run'", "a level = 3, noise==2 of arm 'dry_run'"),
    ],
)
def test_keywords_become_options(python, options):
    assert worded(python) == options
    with pytest.raises(cd.InputError) as caught, options_worded():
        raise cd.InputError(python)
    assert str(caught.value) == options


def test_warnings_of_experiments_advise_options_too(monkeypatch):
    seen = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_, **__: seen.append(message))
    with warnings.catch_warnings(), options_worded():
        warnings.simplefilter("always")
        warnings.warn("noise='bounded' is safe", UserWarning, stacklevel=1)
    assert seen == ["--noise bounded is safe"]
