"""Every exit code, and what is printed where on the way to it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from convexdesign.cli import main
from convexdesign.errors import SolverError

COMMAND = [sys.executable, "-m", "convexdesign.cli"]
HEAVY = ("cvxpy", "pandas", "matplotlib", "scipy", "rich", "clarabel", "joblib", "tqdm")


def failed(result, code: int, *parts: str) -> str:
    """The message of a failure: one line for people on standard error, nothing on standard output."""
    assert result.code == code, (result.out, result.err)
    assert result.out == ""
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err
    return result.err


# ------------------------------------------------------------------ 2: bad input


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["sove"], ["sove", "--help"]),
        (["solve"], ["FILE", "convexdesign solve --help"]),
        (["solve", "FILE", "--tolerance", "1"], ["--tolerance"]),
        (["solve", "FILE", "--tol", "small"], ["--tol"]),
        (["solve", "FILE", "--tol", "-1"], ["tol is -1"]),
        (["solve", "FILE", "--method", "magic"], ["magic", "frank-wolfe"]),
        (["solve", "FILE", "--method", "conic", "--formulation", "spd"], ["spd", "did you mean 'sdp'"]),
        (["solve", "FILE", "--time-limit", "0"], ["time_limit"]),
        (["solve", "FILE", "--output", "no/where/w.csv"], ["--output", "does not exist"]),
        (["solve", "FILE", "--plot", "plot.docx"], ["--plot", ".png"]),
        (["solve", "FILE", "--theta", "1,0"], ["--theta", "states the whole problem"]),
        (["solve", "nowhere.toml"], ["nowhere.toml", "no such file"]),
        (["solve", "experiment-2-best-amr"], ["experiment-2-best-arm", "convexdesign problems"]),
        (["solve", "ARMS"], ["--problem"]),
        (["solve", "ARMS", "--problem", "xy-alocation"], ["did you mean xy-allocation"]),
        (["solve", "ARMS", "--problem", "best-arm-oracle"], ["needs --theta"]),
        (["solve", "ARMS", "--problem", "level-set-oracle"], ["needs --theta and --threshold"]),
        (["solve", "ARMS", "--problem", "g-optimal", "--items", "ARMS"], ["takes no --items"]),
        (["solve", "ARMS", "--problem", "c-optimal", "--direction", "1,2,3"], ["3 numbers", "2 coordinates"]),
        (["solve", "ARMS", "--problem", "c-optimal", "--direction", "up"], ["neither a file nor numbers"]),
        (["solve", "ARMS", "--problem", "ds-optimal", "--interest", "0.5"], ["whole numbers"]),
        (["solve", "ARMS", "--problem", "ds-optimal", "--interest", "nan"], ["whole numbers"]),
        (["solve", "ARMS", "--problem", "ds-optimal", "--interest", "x.csv"], ["neither a file nor indices"]),
        (["solve", "ARMS", "--problem", "average-variance"], ["needs --matrix"]),
        (["solve", "ARMS", "--problem", "g-optimal", "--noise-variance", "-1"], ["noise_variance", "positive"]),
        (["solve", "ARMS", "--problem", "g-optimal", "--noise-variance", "loud"], ["neither a number nor a file"]),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else None,
)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_bad_input(cli, problem_file, arms, words, parts, as_json):
    words = [{"FILE": str(problem_file), "ARMS": str(arms)}.get(word, word) for word in words]
    result = cli(*words, *(["--json"] if as_json else []))
    if not as_json:
        failed(result, 2, "error: ", *parts)
        return
    assert result.code == 2
    error = json.loads(result.out)["error"]
    assert error["code"] == 2
    for part in parts:
        assert part in error["message"]


def test_a_broken_problem_file_names_file_and_field(cli, tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text('title = "t"\nkind = "xy-allocation"\n')
    failed(cli("solve", path), 2, "broken.toml", "arms is missing")


def test_a_missing_extra_is_said_before_the_work(cli, problem_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    failed(cli("solve", problem_file, "--plot", "x.png"), 2, "convexdesign[plot]")


# ------------------------------------------------------------ 3: not certified


def test_not_certified_still_gives_the_best_design(cli, tmp_path):
    """Multiplicative steps close the gap slowly: 1e-12 is out of reach within a hundredth of a second."""
    words = ("solve", "experiment-2-best-arm", "--method", "multiplicative", "--tol", 1e-12, "--time-limit", 1e-6)
    out = tmp_path / "w.csv"
    result = cli(*words, "--output", out)
    assert result.code == 3
    assert "NOT within the tolerance" in result.out
    assert "warning: certified gap" in result.err
    assert out.exists()
    document = json.loads(cli(*words, "--json").out)
    assert document["certified"] is False
    assert document["status"] in ("TIME_LIMIT", "STALLED", "ITERATION_LIMIT")
    assert document["gap"] > 1e-12


def test_no_solver_returning_anything_is_not_certified(cli, problem_file, monkeypatch):
    def broken(*args, **kwargs):
        raise SolverError("no solver returned anything usable")

    monkeypatch.setattr("convexdesign.cli.reading.find_problem", broken)
    failed(cli("solve", problem_file), 3, "no solver returned")


# ----------------------------------------------------- 4, 1, 130: the other ends


def test_a_target_that_no_arm_informs(cli, tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text("a,b\n1,0\n2,0\n")
    words = ("solve", path, "--problem", "c-optimal", "--direction", "0,1")
    failed(cli(*words), 4, "range")
    error = json.loads(cli(*words, "--json").out)["error"]
    assert (error["code"], error["type"]) == (4, "UnidentifiableError")


@pytest.mark.parametrize(("error", "code"), [(RuntimeError("oops"), 1), (KeyboardInterrupt(), 130)])
def test_bugs_and_interruptions(cli, problem_file, monkeypatch, error, code):
    def fails(*args, **kwargs):
        raise error

    monkeypatch.setattr("convexdesign.cli.reading.find_problem", fails)
    result = cli("solve", problem_file)
    assert result.code == code
    assert ("Traceback" in result.err) == (code == 1)
    assert ("please report it" in result.err) == (code == 1)
    document = json.loads(cli("solve", problem_file, "--json").out)
    assert document["error"]["code"] == code


# ---------------------------------------------------------------- the process


def environment(**changes):
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", **changes}


def test_json_on_standard_output_alone_and_the_exit_code_of_the_process(tmp_path):
    done = subprocess.run(
        [*COMMAND, "solve", "experiment-2-best-arm", "--json"], capture_output=True, env=environment(), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["certified"] is True
    assert done.stderr == b""
    wrong = subprocess.run([*COMMAND, "solve", "nothing", "--json"], capture_output=True, env=environment())
    assert wrong.returncode == 2
    assert json.loads(wrong.stdout)["error"]["code"] == 2


def test_an_interrupt_ends_with_130(tmp_path):
    """A solve that cannot finish (the tolerance is out of the method's reach) is interrupted as by Ctrl-C."""
    script = (
        "import sys, numpy as np; from convexdesign.cli import main; np.save('x.npy', "
        "np.random.default_rng(0).standard_normal((2000, 20))); print('ready', file=sys.stderr, flush=True); "
        "sys.exit(main(['solve', 'x.npy', '--problem', 'xy-allocation', '--method', 'frank-wolfe-vanilla', "
        "'--tol', '1e-12', '--json']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=tmp_path
    )
    assert process.stderr.readline() == b"ready\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["error"]["code"] == 130
    assert b"Traceback" not in err


@pytest.mark.parametrize("words", [["problems"], ["problems", "--json"]])
def test_an_interrupt_while_the_program_is_read(words):
    code = (
        "import sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'convexdesign.cli.app': raise KeyboardInterrupt\n"
        f"from convexdesign.cli import main; sys.meta_path.insert(0, Impatient()); sys.exit(main({words!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stderr) == (130, "convexdesign: interrupted\n")
    if "--json" in words:
        assert json.loads(done.stdout)["error"]["code"] == 130


def test_a_closed_pipe_is_quiet():
    process = subprocess.Popen(
        [*COMMAND, "problems"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert err == b""


def test_a_terminal_without_greek_letters_gets_the_rest(tmp_path):
    (tmp_path / "arms.csv").write_text("name,a,b\nα,1,0\nβ,0,1\n", encoding="utf-8")
    words = ["solve", "arms.csv", "--problem", "g-optimal"]
    for extra in ([], ["--json"]):
        done = subprocess.run(
            [*COMMAND, *words, *extra], capture_output=True, env=environment(PYTHONIOENCODING="ascii"), cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode("ascii")
        if extra:
            assert json.loads(text)["names"] == ["α", "β"]
        else:
            assert "0.500000" in text


def test_no_escape_codes_in_a_pipe():
    done = subprocess.run([*COMMAND, "problems"], capture_output=True, env=environment())
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout


# ----------------------------------------------------------------------- help


NAMES = (
    *("solve", "verify", "certify", "check", "round", "efficiencies", "estimate", "simulate", "reproduce"),
    *("problems", "explore", "extras", "demo"),
)


def test_help_and_version(cli):
    for words in (["--help"], ["-h"], []):
        shown = cli(*words)
        assert shown.code == 0
        assert shown.err == ""
        for command in NAMES:
            assert f" {command} " in shown.out
    import convexdesign

    version = cli("--version")
    assert (version.code, version.out) == (0, f"convexdesign {convexdesign.__version__}\n")


def test_every_command_has_help_and_json(cli):
    from convexdesign.cli.app import COMMANDS

    assert [command.__name__.rstrip("_") for command in COMMANDS] == list(NAMES)
    for command in NAMES:
        shown = cli(command, "--help")
        assert shown.code == 0
        assert ("--json" in shown.out) == (command != "explore")  # which shows a page and prints no result
        unknown = cli(command, "--no-such-option")
        assert unknown.code == 2
        assert f"convexdesign {command} --help" in unknown.err


@pytest.mark.parametrize("words", [["--help"], ["solve", "--help"], ["simulate", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(words):
    code = (
        f"import sys; from convexdesign.cli import main; code = main({words!r}); "
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert done.returncode == 0
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("module", ["convexdesign", "convexdesign.cli"])
def test_python_runs_the_package(module):
    command = [sys.executable, "-m", module, "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("convexdesign ")


def test_main_takes_the_process_arguments_by_default(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["convexdesign", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("convexdesign ")
