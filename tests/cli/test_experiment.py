"""The commands of an experiment: what they print and write, and their exit codes."""

from __future__ import annotations

import csv
import errno
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fast_folder import fast_folder

import convexdesign as cd
from convexdesign.cli.app import app

COMMANDS = (
    "create",
    "plan",
    "ask",
    "tell",
    "status",
    "result",
    "mark-missing",
    "arrived",
    "amend",
    "take-back",
    "withdraw",
    "join",
    "export",
    "check",
    "recover",
    "report",
    "note",
    "list",
)


@pytest.fixture(name="tmp_path")
def folder():
    with fast_folder() as path:
        yield path


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = tmp_path / "study.db"
    monkeypatch.setenv("CONVEXDESIGN_STORE", str(path))
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def experiment(cli, store):
    """Runs `convexdesign experiment ...` on a store."""
    return lambda *words: cli("experiment", *words)


@pytest.fixture
def begun(experiment, problem_file):
    """An experiment with an open batch."""
    created = experiment("create", problem_file, "--algorithm", "rage", "--variance-bounds", 1, 2)
    assert created.code == 0, created.err
    assert experiment("ask", "-o", "batch.csv").code == 0
    return experiment


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def results(path, *lines, header="key,arm,reward"):
    path.write_text("\n".join([header, *lines]) + "\n")
    return path.name


def test_every_command_helps(experiment):
    import typer

    group = typer.main.get_command(app).commands["experiment"]
    assert tuple(group.commands) == COMMANDS
    for command in COMMANDS:
        shown = experiment(command, "--help")
        assert shown.code == 0
        assert "--json" in shown.out
        assert ("--store" in shown.out) == (command != "list")
        unknown = experiment(command, "--no-such-option")
        assert unknown.code == 2
    assert "tell" in experiment("--help").out


def test_create_says_what_the_answer_rests_on(experiment, store, problem_file):
    refused = experiment("create", problem_file, "--algorithm", "h-rage")
    assert refused.code == 2
    assert "needs --variance-bounds" in refused.err
    assert not store.exists()
    made = experiment("create", problem_file, "--variance-bounds", 1, 2, "--delta", 0.1, "--json")
    assert json.loads(made.out) == {
        "store": str(store),
        "algorithm": "MartingaleElimination",
        "delta": 0.1,
        "n_arms": 3,
        "n_items": 3,
        "variance_bounds": [1.0, 2.0],
        "known_variances": False,
        "noise": "gaussian",
        "reward_range": None,
        "assumption": "rewards have means x'theta and independent Gaussian noise of variances up to 2",
        "max_samples": None,
        "budget": None,
        "smallest_gap": None,
    }
    assert "exists already" in experiment("create", problem_file, "--variance-bounds", 1, 2).err


def test_a_smallest_gap_is_kept_in_the_store(experiment, store, problem_file):
    made = experiment("create", problem_file, "--smallest-gap", 0.25, "--json")
    assert json.loads(made.out)["smallest_gap"] == 0.25
    with cd.Experiment.open(store, read_only=True) as x:
        assert x.algorithm().smallest_gap == 0.25


def test_create_for_rewards_of_two_values(experiment, store, problem_file):
    for words, reason in (
        (["--algorithm", "static", "--noise", "bernoulli"], "use rage, martingale"),
        (["--algorithm", "h-rage", "--noise", "bernoulli"], "H-RAGE does not hold"),
        (["--algorithm", "h-rage", "--reward-range", 0, 1, "--variance-bounds", 1, 2], "--reward-range: h-rage"),
        (["--noise", "bounded"], "needs --reward-range LOW HIGH"),
        (["--noise", "poisson"], "poisson"),
    ):
        refused = experiment("create", problem_file, *words)
        assert (refused.code, reason in refused.err) == (2, True), refused.err
        assert not store.exists()
    made = json.loads(experiment("create", problem_file, "--noise", "bernoulli", "--reward-range", 0, 9, "--json").out)
    assert (made["noise"], made["reward_range"]) == ("bernoulli", [0.0, 9.0])
    assert "either 0 or 9 (Bernoulli noise)" in made["assumption"]
    assert "either 0 or 9 (Bernoulli noise)" in experiment("status").out
    assert "either 0 or 9 (Bernoulli noise)" in json.loads(experiment("status", "--json").out)["guarantee"]


def test_two_values_are_refused_unless_confirmed(experiment, store, problem_file, tmp_path):
    for words, code in ((["--confirm-noise"], 0), ([], 2)):
        assert experiment("create", problem_file, *words).code == 0
        batch = json.loads(experiment("ask", "--json").out)
        rates = [(pulls // 4) / pulls for pulls in batch["pulls"]]
        rows = [f"{a},{n},{p},{n * p * (1 - p)}" for a, n, p in zip(batch["arms"], batch["pulls"], rates)]
        (tmp_path / "r.csv").write_text("key,arm,count,mean,m2\n" + "\n".join(f"all,{row}" for row in rows))
        told = experiment("tell", tmp_path / "r.csv")
        assert told.code == code, told.err
        store.unlink()
    assert "are either 0 or 1" in told.err
    assert "nothing was recorded" in told.err


@pytest.mark.parametrize(
    ("words", "algorithm"),
    [
        (["experiment-2-best-arm"], "MartingaleElimination"),
        (["experiment-2-best-arm", "--known-variances"], "MartingaleElimination"),
        (["experiment-2-best-arm", "--algorithm", "h-rage", "--known-variances"], "HRage"),
        (["experiment-2-best-arm", "--algorithm", "h-rage", "--burn-in", "adaptive", "--epsilon", "0.1"], "HRage"),
        (["experiment-2-best-arm", "--algorithm", "martingale", "--max-samples", "1000"], "MartingaleElimination"),
        (["experiment-2-best-arm", "--algorithm", "martingale", "--budget", "1000"], "MartingaleElimination"),
        (["experiment-2-level-set", "--algorithm", "rage"], "Rage"),
        (["experiment-2-level-set-allocation", "--algorithm", "static", "--level", "0.9"], "StaticAllocation"),
        (["experiment-2-xy", "--algorithm", "static-g"], "StaticAllocation"),
    ],
)
def test_algorithms_and_problems(experiment, words, algorithm):
    made = experiment("create", *words, "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["algorithm"] == algorithm
    assert json.loads(experiment("status", "--json").out)["phase"] == "READY"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["experiment-2-best-arm", "--algorithm", "oracle"], "choose from h-rage"),
        (["experiment-2-best-arm", "--level", "1"], "--level is for level sets"),
        (["experiment-2-level-set-allocation"], "give --level"),
        (["parabola-d"], "identifies nothing"),
        (["experiment-2-best-arm", "--algorithm", "rage", "--known-variances"], "use h-rage"),
        (["experiment-2-best-arm", "--variance-bounds", "2", "1"], "low <= high"),
        (["experiment-2-best-arm", "--delta", "2"], "delta is 2"),
        (["experiment-2-best-arm", "--burn-in", "sharp"], "--burn-in is h-rage's alone"),
        (["experiment-2-best-arm", "--algorithm", "rage", "--budget", "9"], "--budget is martingale's alone"),
        (["soare-xy", "--algorithm", "h-rage", "--budget", "9"], "--budget is martingale's alone"),
        (["soare-xy", "--algorithm", "rage", "--smallest-gap", "1"], "--smallest-gap is martingale's alone"),
        (["soare-xy", "--smallest-gap", "0"], "--smallest-gap is 0"),
        (["soare-xy", "--algorithm", "oracle"], "--algorithm oracle is unknown; choose from h-rage"),
        (
            ["experiment-2-best-arm", "--algorithm", "martingale", "--budget", "9", "--max-samples", "8"],
            "--max-samples is 8 and budget is 9; give one",
        ),
        (["no-such-problem"], "no-such-problem"),
    ],
)
def test_what_cannot_be_created(experiment, store, words, message):
    refused = experiment("create", *words)
    assert refused.code == 2
    assert message in refused.err
    assert not store.exists()


def test_ask_prints_the_same_batch_until_it_is_told(begun):
    first = begun("ask")
    assert first.code == 0
    assert first.out == begun("ask").out
    table = rows(first.out)
    assert [row["arm"] for row in table] == [row["arm"] for row in table if row["arm"] in ("left", "up", "tilt")]
    assert all(row["pulls"] == row["outstanding"] for row in table)
    document = json.loads(begun("ask", "--json").out)
    assert document["batch"] == 0
    assert not document["done"]
    assert document["pulls"] == [int(row["pulls"]) for row in table]
    assert document["total"] == sum(document["pulls"])


def test_a_dash_is_standard_output_where_that_is_where_it_would_go_and_no_file_elsewhere(begun, cli, arms, tmp_path):
    for words in (("ask",), ("ask", "--shares"), ("export",), ("export", "--results"), ("export", "--json")):
        assert begun(*words, "--output", "-").out == begun(*words).out
    others = [begun("report", "--html", "-"), begun("recover", "-o", "-")]
    others += [cli("solve", arms, "--problem", "xy-allocation", option, "-") for option in ("--output", "--plot")]
    for refused in others:
        assert refused.code == 2
        assert "- is standard output, where this does not go; name a file" in refused.err
    assert not (tmp_path / "-").exists()


def test_single_results_by_name(begun, tmp_path):
    arm = rows(begun("ask").out)[0]["arm"]
    name = results(tmp_path / "r.csv", f"a,{arm},0.5", f"b,{arm},-1")
    dry = begun("tell", name, "--dry-run", "--json")
    assert json.loads(dry.out)["accepted"] == 2
    assert json.loads(begun("status", "--json").out)["told"] == 0
    told = json.loads(begun("tell", name, "--json").out)
    assert (told["accepted"], told["repeated"], told["pulls"], told["phase"]) == (2, 0, 2, "WAITING")
    again = begun("tell", name)
    assert again.code == 0
    assert again.out.startswith("0 results recorded (0 measurements), 2 known already")
    # The file has grown: the new lines alone count.
    results(tmp_path / "r.csv", f"a,{arm},0.5", f"b,{arm},-1", f"c,{arm},2")
    assert json.loads(begun("tell", name, "--json").out)["accepted"] == 1
    status = begun("status")
    assert "open batch     0: 3 of" in status.out


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("key;arm;reward\na;ARM;1,5\nb;ARM;-2\nc;ARM;0,125\n", ()),
        ("key;arm;reward\na;ARM;1.5\nb;ARM;-2\nc;ARM;0.125\n", ()),
        ("\ufeffkey\tarm\treward\r\na\tARM\t1,5\r\nb\tARM\t-2,0\r\nc\tARM\t0,125\r\n", ()),
        ('"key";"arm";"reward"\na;ARM;1,500\nb;ARM;-2\nc;ARM;0,125\n', ("--decimal", ",")),
        ('key,arm,reward\na,ARM,"1,5"\nb,ARM,-2\nc,ARM,"0,125"\n', ("--decimal", ",")),
        ("key:arm:reward\na:ARM:1.5\nb:ARM:-2\nc:ARM:0.125\n", ("--delimiter", ":")),
    ],
    ids=["semicolons", "points", "tabs", "said", "quoted", "colons"],
)
def test_other_separators_and_decimal_commas(begun, tmp_path, text, options):
    arm = rows(begun("ask").out)[0]["arm"]
    begun("tell", results(tmp_path / "plain.csv", f"a,{arm},1.5", f"b,{arm},-2", f"c,{arm},0.125"))
    (tmp_path / "other.csv").write_text(text.replace("ARM", arm), encoding="utf-8", newline="")
    # The same content under the same keys: nothing new, and no conflict.
    again = begun("tell", "other.csv", *options, "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["repeated"] == 3
    assert "'a' has this content already" in begun("amend", "other.csv", *options).err


def test_summaries_with_semicolons(begun, tmp_path):
    arm = rows(begun("ask").out)[0]["arm"]
    header = "key;arm;count;mean;variance"
    assert begun("tell", results(tmp_path / "r.csv", f"a;{arm};2,0;0,25;0,5", header=header)).code == 0
    plain = results(tmp_path / "s.csv", f"a,{arm},2,0.25,0.5", header="key,arm,count,mean,variance")
    assert json.loads(begun("tell", plain, "--json").out)["repeated"] == 1


def test_a_file_without_keys_is_told_with_a_prefix(begun, tmp_path):
    arm = rows(begun("ask").out)[0]["arm"]
    name = results(tmp_path / "r.csv", f"{arm},0.5", f"{arm},0.5", header="arm,reward")
    refused = begun("tell", name)
    assert refused.code == 2
    assert "--key-prefix" in refused.err
    assert json.loads(begun("tell", name, "--key-prefix", "monday", "--json").out)["accepted"] == 2
    assert json.loads(begun("tell", name, "--key-prefix", "monday", "--json").out)["repeated"] == 2
    assert json.loads(begun("tell", name, "--key-prefix", "tuesday", "--json").out)["accepted"] == 2


def test_a_conflict_is_exit_code_5_and_changes_nothing(begun, tmp_path):
    arm = rows(begun("ask").out)[0]["arm"]
    begun("tell", results(tmp_path / "r.csv", f"a,{arm},0.5"))
    before = begun("status", "--json").out
    conflict = begun("tell", results(tmp_path / "r.csv", f"new,{arm},1", f"a,{arm},0.75"))
    assert conflict.code == 5
    assert "'a' was told before with other content" in conflict.err
    assert begun("status", "--json").out == before
    error = json.loads(begun("tell", "r.csv", "--json").out)["error"]
    assert (error["code"], error["type"]) == (5, "ConflictError")
    assert begun("amend", results(tmp_path / "r.csv", f"a,{arm},0.75"), "--reason", "typed wrongly").code == 0
    assert begun("tell", "r.csv").code == 0
    assert json.loads(begun("status", "--json").out)["amendments"] == 1


@pytest.mark.parametrize(
    ("header", "lines", "message"),
    [
        ("key,arm,reward", ["a,left,nan"], "line 2: reward is 'nan', not a finite number"),
        ("key,arm,reward", ["a,left,1", "b,left,1e999"], "line 3: reward is '1e999'"),
        ("key,arm,reward", ["a,left,many"], "reward is 'many'"),
        ("key,arm,reward", ["a,right,1"], "arm 'right' is unknown; the arms are left, up, tilt"),
        ("key,arm,reward", ["a,left"], "2 cells, but the header has 3"),
        ("key,arm,reward", ["a,left,1", "a,left,2"], "two different rows"),
        ("key,arm,reward", [], "holds no result"),
        ("key,arm", ["a,left"], "it needs key, arm and reward"),
        ("key,arm,reward,batch", ["a,left,1,7"], "there is no batch 7"),
        ("key,arm,reward,batch", ["a,left,1,x"], "batch is 'x', not a whole number"),
        ("key,arm,count,mean,m2", ["a,left,99999999,0,1"], "now 99999999 more"),
        ("key,arm,count,mean,m2", ["a,left,2,0,-1"], "not a number of at least 0"),
        ("key,arm,count,mean,m2", ["a,left,2.5,0,1"], "count is '2.5', not a whole number"),
        ("key,arm,count,mean,variance", ["a,left,2,0,1", "a,left,2,0,1"], "has this arm twice"),
        ("key,arm,count,mean,variance", ["a,left,2,,1"], "mean is ''"),
        ("key,arm,count,mean,m2", [], "holds no result"),
        ("key,arm,count,mean,m2", ["a,left,1,0.5,7"], "line 2: m2 is '7', but one measurement does not vary"),
        ("key,arm,count,mean,variance", ["a,left,1,0.5,7"], "variance is '7', but one measurement does not vary"),
        ("key,arm,count,mean,variance", ["a,left,2,0.5,-1"], "line 2: variance is '-1', not a number of at least 0"),
        ("key,arm,count,mean,m2", ["a,left,99999999999999999999,0,1"], "not a whole number up to 2^63"),
        ("key,arm,count,mean,m2", ["a,left," + "9" * 5000 + ",0,1"], "not a whole number up to 2^63"),
        ("key,arm,reward,batch", ["a,left,1,-1"], "batch is '-1', not a whole number"),
        ("key,arm,reward", ["a,left,1_0"], "reward is '1_0', not a finite number"),
        ("key,arm,reward", ["a,left,1e308"], "its square would be too large; choose a larger unit"),
        ("key,arm,count,mean,m2", ["a,left,2,1e200,1"], "mean of arm left is 1e+200"),
        ("key,arm,count,mean,m2", ["a,left,2,1,1e300"], "m2 of arm left is 1e+300"),
        ("key,arm,reward,reward", ["a,left,1,2"], "has the column 'reward' twice"),
        ("key,arm,reward,count,mean,m2", ["a,left,1,2,3,4"], "both columns reward and count"),
        ("key;arm;value", ["a;left;1"], "it needs key, arm and reward"),
        ("key;arm;reward", ["a;left;1,234", "b;left;2,500"], "three digits, as in '1,234': pass --decimal ,"),
        ("key;arm;reward", ["a;left;1,5", "b;left;2.5"], "line 3: reward is '2.5', not a finite number"),
        ("key;arm;reward", ["a;left;1.5", "b;left;2,5"], "line 3: reward is '2,5', not a finite number"),
        ("key;arm;reward", ["a;left;1.234,5"], "line 2: reward is '1.234,5', not a finite number"),
        ("key,arm,reward", ['a,left,"1,5"'], "line 2: reward is '1,5', not a finite number"),
        ("key,arm,reward", ['a,left,"1'], "not a table of comma-separated values: unexpected end"),
        ("key,arm,reward", ["k" * 10**5 + ",left,1"], "give 1 to 200 printable characters"),
        ("key,arm,reward", ["k" * 10**6 + ",left,1"], "field larger than field limit"),
        ("key,arm,reward", ["a\0b,left,1"], "printable"),
        ("", [""], "it needs key, arm and reward"),
    ],
)
def test_bad_results_are_refused_whole(begun, tmp_path, header, lines, message):
    before = begun("status", "--json").out
    refused = begun("tell", results(tmp_path / "r.csv", *lines, header=header))
    assert refused.code in (2, 5)
    assert message in refused.err
    assert begun("status", "--json").out == before


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfkey,arm,reward\r\na,ARM,1\r\n",
        b"key,arm,reward\ra,ARM,1\r",
        b'"key","arm","reward"\n"a","ARM","1"',
        b' key , arm , reward ,note\n\n a , ARM , 1.0 ,"x, y"\n\n a ,ARM,1,again\n',
        b"key,arm,count,mean,m2\na,ARM,1.0,1,\nb,ARM,0,,\n",
        b"key,arm,count,mean,variance\na,ARM,1,1,NaN\n",
    ],
    ids=["windows", "old-mac", "quoted", "spaces", "summary", "summary-nan"],
)
@pytest.mark.parametrize("source", ["r.csv", "-"])
def test_tables_as_programs_write_them(begun, tmp_path, monkeypatch, content, source):
    content = content.replace(b"ARM", rows(begun("ask").out)[0]["arm"].encode())
    (tmp_path / "r.csv").write_bytes(content)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="ascii", errors="surrogateescape"))
    told = begun("tell", source, "--json")
    assert told.code == 0, told.err
    assert json.loads(told.out)["accepted"] == 1


@pytest.mark.parametrize("source", ["r.csv", "-"])
@pytest.mark.parametrize("content", ["key,arm,reward\nä,left,1\n".encode(e) for e in ("latin-1", "utf-16")])
def test_other_encodings_are_refused(begun, tmp_path, monkeypatch, content, source):
    (tmp_path / "r.csv").write_bytes(content)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", errors="surrogateescape"))
    refused = begun("tell", source)
    assert refused.code == 2
    assert f"{source} is not UTF-8 text" in refused.err


def test_a_file_is_replaced_when_the_new_one_is_complete(begun, tmp_path, monkeypatch):
    before = (tmp_path / "batch.csv").read_text()
    (tmp_path / "link.csv").symlink_to("batch.csv")
    (tmp_path / "batch.csv").write_text("old")
    assert begun("ask", "-o", "link.csv").code == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "batch.csv").read_text() == before

    def fail(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    for module, name in (("state", "write_rows"), ("record", "write_rows")):
        monkeypatch.setattr(sys.modules[f"convexdesign.cli.experiment.{module}"], name, fail)
    for command in ("ask", "export"):
        failed = begun(command, "-o", "batch.csv")
        assert failed.code == 3
        assert "the output could not be written: No space left" in failed.err
    assert (tmp_path / "batch.csv").read_text() == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_devices_are_written_to_as_they_are(begun):
    for command in ("ask", "export"):
        assert begun(command, "-o", "/dev/null").code == 0
        assert begun(command, "-o", "/dev/full").code == 3
    with Path("/dev/full").open("wb") as device:
        command = [sys.executable, "-m", "convexdesign.cli", "experiment", "status"]
        full = subprocess.run(command, stdout=device, stderr=subprocess.PIPE, text=True, check=False)
    assert full.returncode == 3
    assert full.stderr.splitlines() == ["convexdesign: error: the output could not be written: No space left on device"]


def test_standard_input_and_files_that_are_not_there(begun, monkeypatch):
    arm = rows(begun("ask").out)[0]["arm"]
    monkeypatch.setattr("sys.stdin", io.StringIO(f"key,arm,reward\na,{arm},1\n"))
    assert json.loads(begun("tell", "-", "--json").out)["accepted"] == 1
    assert "no such file" in begun("tell", "nowhere.csv").err


def test_to_the_end(begun, tmp_path, cli, store):
    assert begun("result").code == 3
    assert json.loads(begun("result", "--json").out)["done"] is False
    means = {"left": 1.0, "up": 0.0, "tilt": 0.8776}
    for _ in range(20):
        if begun("result").code == 0:
            break
        batch = rows(begun("ask").out)
        lines = [f"k-{r['batch']},{r['batch']},{r['arm']},{r['pulls']},{means[r['arm']]},1.5" for r in batch]
        told = begun("tell", results(tmp_path / "r.csv", *lines, header="key,batch,arm,count,mean,variance"))
        assert told.code == 0, told.err
    found = json.loads(begun("result", "--json").out)
    assert (found["answer"], found["status"], found["done"]) == (["left"], "IDENTIFIED", True)
    assert found["guarantee"].startswith(
        "the answer is wrong with probability at most 0.05, if rewards have means x'theta"
    )
    assert found["guarantee"].endswith(found["assumption"])
    assert "answer         left" in begun("result").out
    assert rows(begun("ask").out) == []
    assert json.loads(begun("ask", "--json").out)["done"] is True
    assert "waits for      nothing: there is a result" in begun("status").out
    # The batch is found by the file, though it is long closed.
    assert json.loads(begun("tell", "r.csv", "--json").out)["repeated"] == 1
    sound = begun("check")
    assert sound.code == 0
    assert sound.out.startswith("sound; ")
    assert json.loads(begun("check", "--json").out)["sound"] is True


def test_undecided_is_exit_code_3(experiment, problem_file, tmp_path):
    experiment("create", problem_file, "--algorithm", "rage", "--variance-bounds", 1, 2, "--max-samples", 10)
    undecided = experiment("result")
    assert undecided.code == 3
    assert "answer         undecided" in undecided.out
    assert json.loads(experiment("result", "--json").out)["status"] == "UNDECIDED"


def test_a_spent_budget_is_a_best_guess_with_its_p_value(experiment, problem_file, tmp_path):
    experiment("create", problem_file, "--algorithm", "martingale", "--budget", 60)
    told, number = tmp_path / "told.csv", 0
    while batch := rows(experiment("ask").out):
        pulls = [(row["arm"], k) for row in batch for k in range(int(row["pulls"]))]
        lines = [f"{number}-{arm}-{k},{arm},{0.1 * (k % 3)}\n" for arm, k in pulls]
        told.write_text("key,arm,reward\n" + "".join(lines))
        recorded = experiment("tell", told)
        assert recorded.code == 0, recorded.err
        number += 1
    found = json.loads(experiment("result", "--json").out)
    assert (found["status"], found["samples"]) == ("BEST_GUESS", 60)
    assert 0.05 < found["p_value"] <= 1.0
    assert f"p-value        {found['p_value']:.3g}, of the answer being wrong" in experiment("result").out
    # The promise of a best guess is its p-value, not delta.
    assert f"best guess; the p-value of its being wrong is {found['p_value']:.3g}" in found["guarantee"]
    assert "0.05" not in found["guarantee"]


def test_limits_and_the_best_guess_of_now_are_shown(experiment, problem_file, tmp_path):
    made = experiment("create", problem_file, "--algorithm", "martingale", "--budget", 600, "--variance-bounds", 1, 2)
    assert "budget 600" in made.out
    assert (
        "the answer rests on this: rewards have means x'theta and independent Gaussian noise of variances up to 2"
        in made.out
    )
    assert "if the budget of 600 measurements is spent first, it is a best guess" in experiment("status").out
    before = json.loads(experiment("status", "--json").out)
    assert (before["budget"], before["max_samples"], before["best_guess"], before["p_value"]) == (600, None, None, None)
    for _ in range(2):  # nobody led before the first batch, so that the second bets first
        batch = rows(experiment("ask").out)
        lines = [
            f"{r['batch']}-{r['arm']},{r['arm']},{r['pulls']},{1.0 * (r['arm'] == 'up')},{int(r['pulls'] != '1')}"
            for r in batch
        ]
        told = experiment("tell", results(tmp_path / "r.csv", *lines, header="key,arm,count,mean,variance"))
        assert told.code == 0, told.err
    after = json.loads(experiment("status", "--json").out)
    assert after["best_guess"] == ["up"]
    assert 0 < after["p_value"] < 1
    shown = experiment("status").out
    assert f"best guess     up: p-value {after['p_value']:.3g}" in shown
    assert "budget 600" in shown
    assert "open batch" not in shown


def test_max_samples_is_shown(experiment, problem_file):
    made = experiment("create", problem_file, "--variance-bounds", 1, 2, "--max-samples", 10**7, "--json")
    assert json.loads(made.out)["max_samples"] == 10**7
    assert "at most 10,000,000" in experiment("status").out
    assert json.loads(experiment("status", "--json").out)["max_samples"] == 10**7


def test_result_asks_for_nothing(begun, tmp_path):
    before = json.loads(begun("status", "--json").out)
    assert "waits for" in begun("result").err
    batch = rows(begun("ask").out)
    lines = [f"k-{r['arm']},{r['arm']},{r['pulls']},0,1.5" for r in batch]
    begun("tell", results(tmp_path / "r.csv", *lines, header="key,arm,count,mean,variance"))
    told = json.loads(begun("status", "--json").out)
    assert told["phase"] == "READY"
    assert told["events"] > before["events"]
    waits = begun("result")
    assert waits.code == 3
    assert "not done: the next batch is due" in waits.err
    assert json.loads(begun("result", "--json").out)["waits_for"] == "the next batch: ask"
    assert json.loads(begun("status", "--json").out) == told


def test_a_void_answer_is_no_success(begun, tmp_path):
    for _ in range(20):
        batch = rows(begun("ask").out)
        if not batch:
            break
        # Variance 400 where at most 2 was promised; the means decide at once.
        lines = [f"k-{r['batch']}-{r['arm']},{r['arm']},{r['pulls']},{1000 * (r['arm'] == 'left')},400" for r in batch]
        begun("tell", results(tmp_path / "r.csv", *lines, header="key,arm,count,mean,variance"))
    shown = begun("result")
    assert shown.code == 3
    assert "status         IDENTIFIED: void: the data contradict" in shown.out
    assert "is right with probability" not in shown.out
    assert shown.out.count("void") == 2  # of the status and of the guarantee, once each
    assert "the rewards of arm left" in shown.out
    found = json.loads(begun("result", "--json").out)
    assert found["void"]
    assert found["meaning"].startswith("void: ")
    assert "VOID" in begun("list", tmp_path).out


def test_missing_and_withdrawn(begun, tmp_path):
    batch = rows(begun("ask").out)
    arm = batch[0]["arm"]
    missing = json.loads(begun("mark-missing", "--arm", arm, "--count", 2, "--reason", "lost", "--json").out)
    assert missing["pulls_missing"] == 2
    assert "2 missing results" in missing["guarantee"]
    assert json.loads(begun("mark-missing", "--json").out)["phase"] == "READY"
    again = rows(begun("ask").out)
    assert [(r["arm"], r["pulls"]) for r in again] == [(r["arm"], r["pulls"]) for r in batch]
    assert "cannot be missing" in begun("mark-missing", "--arm", arm, "--count", 10**7).err
    assert "unknown" in begun("mark-missing", "--arm", "right").err
    shown = begun("withdraw", arm, "--reason", "broken", "--anyway")
    assert shown.code == 0
    assert f"withdrawn      {arm}" in shown.out
    others = [name for name in ("left", "up", "tilt") if name != arm]
    assert begun("withdraw", others[0], "--anyway").code == 0
    stopped = begun("ask")
    assert stopped.code == 4
    assert "cannot tell item" in stopped.err
    assert begun("result").code == 4
    assert "stopped" in begun("status").out


@pytest.fixture(scope="module")
def asked():
    """The bytes of a store of conversions of which the first batch was asked."""
    with fast_folder() as path:
        pages = pd.DataFrame(np.eye(2), index=["old", "new, red"])
        algorithm = cd.identification.MartingaleElimination(pages, noise="bernoulli")
        with cd.Experiment.create(path / "pages.db", algorithm) as x:
            x.ask()
        return (path / "pages.db").read_bytes()


@pytest.fixture
def conversions(experiment, store, asked):
    store.write_bytes(asked)
    return experiment


@pytest.mark.parametrize(
    ("header", "old", "new", "note"),
    [
        ("count,mean", "32,0.0625", "32,0.125", None),
        ("count,mean", "32,0.063", "32,0.125", "line 2: digits of mean were rounded; what 2 of 32 give"),
        ("count,successes", "32,2", "32,4", None),
        ("count,conversions", "32,2.0", "32,4.0", None),
        ("count,mean,m2", "32,0.0625,1.875", "32,0.125,3.5", None),
        (
            "count,mean,m2",
            "32,0.0625,1.88",
            "32,0.125,3.5",
            "line 2: digits of mean or m2 were rounded; what 2 of 32 give",
        ),
        ("count,mean,variance", "32,0.0625,0.0605", "32,0.125,0.113", r"(and so in 1 other row)"),
        ("count,mean,variance", "32,0.0625,0.05859375", "32,0.125,0.109375", r"(and so in 1 other row)"),
    ],
)
def test_conversions_need_no_squares_and_rounded_ones_are_put_right(
    conversions, store, tmp_path, header, old, new, note
):
    with cd.Experiment.open(store) as x:
        x.ask()
    name = results(tmp_path / "r.csv", f"a,old,{old}", f'b,"new, red",{new}', header=f"key,arm,{header}")
    told = conversions("tell", name)
    assert (told.code, "guarantee" in told.err) == (0, False)
    assert (note in told.err) if note else not told.err
    with cd.Experiment.open(store) as x:
        assert [row[3:] for row in x.results()] == [(32, 0.0625, 1.875), (32, 0.125, 3.5)]
        assert not x.status().void
    assert "0 results recorded (0 measurements), 2 known already" in conversions("tell", name).out
    assert "'new, red'" in conversions("status").out


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        (
            "count,mean",
            "32,0.05",
            "line 2: mean 0.05 of 32 makes 1.6 successes, no whole number; write more digits, or",
        ),
        ("count,successes", "32,33", "line 2: successes is 33, of 32 in all"),
        ("count,successes,mean", "32,2,0.0625", "both columns successes and mean"),
        ("count,successes,conversions", "32,2,2", "both columns successes and conversions"),
    ],
)
def test_what_are_no_conversions(conversions, tmp_path, header, row, message):
    refused = conversions("tell", results(tmp_path / "r.csv", f"a,old,{row}", header=f"key,arm,{header}"))
    assert (refused.code, message in refused.err) == (2, True)


def test_squares_that_conversions_cannot_have_void_the_guarantee(conversions, tmp_path):
    told = conversions("tell", results(tmp_path / "r.csv", "a,old,32,0.0625,0.0605", header="key,arm,count,mean,m2"))
    assert told.code == 0
    assert "squares about it of 0.0605, which with that mean are 1.875" in told.err


def test_results_that_were_exported_are_known_single_ones_too(conversions, tmp_path):
    told = conversions("tell", results(tmp_path / "r.csv", "a,old,1", "b,old,0"))
    assert told.code == 0
    conversions(
        "tell", results(tmp_path / "s.csv", "c,old,30,2", 'c,"new, red",32,4', header="key,arm,count,successes")
    )
    assert conversions("export", "--results", "-o", "all.csv").code == 0
    again = conversions("tell", "all.csv")
    assert (again.code, again.out.splitlines()[0]) == (0, "0 results recorded (0 measurements), 3 known already")
    assert "has this content already" in conversions("amend", "all.csv").err


def test_successes_are_for_rewards_of_two_values(begun, tmp_path):
    arm = rows(begun("ask").out)[0]["arm"]
    refused = begun("tell", results(tmp_path / "r.csv", f"a,{arm},3,1", header="key,arm,count,successes"))
    assert (refused.code, "the noise is not bernoulli" in refused.err) == (2, True)


def test_every_kind_of_event_is_exported(experiment, store):
    from convexdesign.experiment.events import EventKind, PendingEvent
    from convexdesign.experiment.parsing import reward_rows

    pages = pd.DataFrame(np.eye(3), index=list("abc"))
    with cd.Experiment.create(store, cd.identification.MartingaleElimination(pages, noise="bernoulli")) as x:
        x.ask()
        x.tell_all([reward_rows(0, ["r"], [0], [1.0], 3)])
        x.amend("r", reward=0.0, reason="mistyped")
        x.take_back("r")
        x.mark_missing(0, [1], [2])
        x.arrived(0, x.expected())
        left = x.outstanding()
        x.tell(0, cd.estimation.Observations(left, [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]), key="rest")
        x.join_variant("new, and last", reason="an idea")
        x.drop_item([0])
        x.withdraw([0])
        x.note("a note")
        answer = {"status": "IDENTIFIED", "answer": [1], "survivors": [1]}
        for kind, body in (
            (EventKind.FAILED, {"message": "no", "designs": []}),
            (EventKind.FINISHED, {"result": answer, "doubts": []}),
        ):
            with x._writing() as write:
                write(PendingEvent(kind, body))
        x.amend("r", reward=0.0, reason="mistyped after all")
        with x._writing() as write:
            write(PendingEvent(EventKind.STOPPED, {"message": "cannot tell"}))
        events = x.events()
        assert {event.kind for event in events} == set(EventKind)
    rows = list(csv.DictReader(io.StringIO(experiment("export").out)))
    assert {row["kind"] for row in rows} == {kind.value for kind in EventKind}
    assert sorted({int(row["seq"]) for row in rows}) == list(range(len(events)))
    (joined,) = [json.loads(row["detail"]) for row in rows if row["kind"] == "joined"]
    assert (joined["arms"][0]["name"], joined["items"][0][0]) == ("new, and last", "new, and last")
    told = json.loads(experiment("export", "--json").out)["events"]
    assert [event["kind"] for event in told] == [event.kind.value for event in events]
    assert all(event["body"] == kept.body for event, kept in zip(told, events) if kept.kind is not EventKind.TOLD)


def test_export_tells_everything(begun, tmp_path):
    arm = rows(begun("ask").out)[0]["arm"]
    begun("tell", results(tmp_path / "r.csv", f"a,{arm},0.5", f"b,{arm},-1"))
    begun("tell", results(tmp_path / "s.csv", f"s,{arm},2,0.25,0.5", header="key,arm,count,mean,m2"))
    document = json.loads(begun("export", "--json").out)
    assert [event["kind"] for event in document["events"]] == ["created", "asked", "told", "summarised"]
    told = document["events"][2]["body"]
    assert (told["keys"], told["rewards"]) == (["a", "b"], [0.5, -1.0])
    assert begun("export", "--format", "csv", "-o", "e.csv").code == 0
    table = rows((tmp_path / "e.csv").read_text())
    lines = [(r["key"], r["arm"], r["pulls"], r["mean"], r["m2"]) for r in table if r["key"]]
    assert lines == [("a", arm, "1", "0.5", ""), ("b", arm, "1", "-1.0", ""), ("s", arm, "2", "0.25", "0.5")]
    assert {r["seq"] for r in table} == {"0", "1", "2", "3"}
    assert begun("export", "--format", "xml").code == 2


def test_a_damaged_store_is_exit_code_5_and_recover_saves_what_is_sound(begun, tmp_path, store):
    import sqlite3

    arm = rows(begun("ask").out)[0]["arm"]
    for k in range(3):
        begun("tell", results(tmp_path / "r.csv", f"k{k},{arm},{k}"))
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE events SET body = replace(body, 'k1', 'k9') WHERE seq = 3")
    connection.close()
    for words in (["status"], ["ask"], ["check"], ["export"], ["tell", "r.csv"], ["result"]):
        found = begun(*words)
        assert found.code == 5, words
        assert "is damaged" in found.err
    saved = json.loads(begun("recover", "--output", "sound.db", "--json").out)
    assert (saved["events"], saved["lost"]) == (3, 2)
    assert begun("recover", "--output", "sound.db").code == 2
    assert begun("check", "--store", "sound.db").code == 0
    assert json.loads(begun("status", "--store", "sound.db", "--json").out)["told"] == 1


def test_a_store_that_is_not_there(experiment):
    for words in (["status"], ["ask"], ["check"], ["recover", "-o", "x.db"]):
        assert experiment(*words).code == 2


def test_the_store_must_be_named(cli, monkeypatch):
    monkeypatch.delenv("CONVEXDESIGN_STORE", raising=False)
    missing = cli("experiment", "status")
    assert missing.code == 2
    assert "--store" in missing.err


def test_a_solver_that_fails_is_exit_code_3(experiment, problem_file, monkeypatch):
    from convexdesign.errors import SolverError
    from convexdesign.experiment import designing

    def fail(*arguments, **options):
        raise SolverError("no luck")

    experiment("create", problem_file, "--algorithm", "rage", "--variance-bounds", 1, 2)
    monkeypatch.setattr(designing, "solve", fail)
    failed = experiment("ask")
    assert failed.code == 3
    assert "nothing was asked for, ask again later" in failed.err
    monkeypatch.undo()


# ------------------------------------------------------------------ names


@pytest.fixture
def alike(experiment, tmp_path):
    """An experiment whose arms' names differ by blanks, or hold what would move a terminal's cursor."""
    path = tmp_path / "alike.toml"
    path.write_text(
        'title = "t"\nkind = "xy-allocation"\narm_names = ["up", "up ", "a\\u001b[2Kb\\nguarantee c"]\n'
        "arms = [[1.0, 0.0], [0.0, 1.0], [0.8775825618903728, 0.479425538604203]]\n"
    )
    assert experiment("create", path, "--algorithm", "rage", "--variance-bounds", 1, 2).code == 0
    assert experiment("ask", "-o", "batch.csv").code == 0
    return experiment


def told_by_arm(store):
    with cd.Experiment.open(store) as x:
        told = x.transcript()["steps"][0]["batches"][0]["told"]
    return dict(zip(told["arms"], told["pulls"]))


def test_names_that_differ_by_blanks_stay_apart(alike, store, tmp_path):
    first = "key,arm,reward\nk1,up,1\nk2,up ,2\nk3,up ,3\n"
    (tmp_path / "r.csv").write_text(first)
    assert alike("tell", "r.csv").code == 0
    assert told_by_arm(store) == {0: 1, 1: 2}
    (tmp_path / "r.csv").write_text("key,arm,reward\nk9, up,1\n")
    refused = alike("tell", "r.csv")
    assert refused.code == 2
    assert "may be 'up' and 'up ', which differ by blanks" in refused.err
    with cd.Experiment.open(store) as x:
        x.tell(0, arms=[0], rewards=[4.0], keys=["k1 "])
    (tmp_path / "r.csv").write_text("key,arm,reward\nk1 ,up,4\nk1,up,1\n")
    assert "0 results recorded (0 measurements), 2 known already" in alike("tell", "r.csv").out
    (tmp_path / "r.csv").write_text("key,arm,reward\nk1 ,up,5\n")
    assert alike("amend", "r.csv").code == 0
    with cd.Experiment.open(store) as x:
        assert x.tell(0, arms=[0, 0], rewards=[1.0, 5.0], keys=["k1", "k1 "]).repeated == 2


def test_keys_that_differ_by_blanks_are_never_taken_for_one(begun):
    name = results(Path("r.csv"), " k1,left,1", "k2,left,2", "k1,left,1")
    refused = begun("tell", name)
    assert refused.code == 2
    assert "the keys ' k1' and 'k1' differ by blanks alone" in refused.err
    assert begun("tell", results(Path("r.csv"), " k1, left,1", "k2 ,left ,2")).code == 0
    assert "2 known already" in begun("tell", results(Path("r.csv"), "k1,left,1", "k2,left,2")).out


def test_names_do_nothing_to_a_terminal(alike):
    for shown in (alike("status"), alike("status", "--json"), alike("withdraw", "nobody")):
        assert all(c.isprintable() or c == "\n" for c in shown.out + shown.err)
    shown = alike("status").out
    assert "a\\x1b[2Kb\\nguarantee c" in shown
    assert sum(line.startswith("guarantee") for line in shown.splitlines()) == 1
    name = "a\x1b[2Kb\nguarantee c"
    # Data keep the names as they are: what is told with them is told of the right arm.
    assert name in json.loads(alike("status", "--json").out)["survivors"]
    asked = json.loads(alike("ask", "--json").out)["arms"]
    assert [row["arm"] for row in rows(Path("batch.csv").read_text())] == asked


def test_notes_and_the_list_of_a_folder(begun, store):
    assert begun("note").out == ""
    noted = begun("note", "--text", "begun on a Monday")
    assert noted.code == 0
    assert noted.out.endswith("begun on a Monday\n")
    (note,) = json.loads(begun("note", "--json").out)["notes"]
    assert note["note"] == "begun on a Monday"
    assert begun("note", "--text", " ").code == 2
    (entry,) = json.loads(begun("list", ".", "--json").out)["experiments"]
    assert (entry["store"], entry["phase"], entry["note"]) == (store.name, "WAITING", "begun on a Monday")
    shown = begun("list", store.parent)
    assert "begun on a Monday" in shown.out
    assert "Rage" in shown.out
    store.write_bytes(store.read_bytes()[:5000])
    assert "cannot be read" in begun("list", ".").out
    assert "trouble" in begun("list", ".", "--json").out
    store.unlink()
    assert begun("list", ".").out == "no experiments\n"
    assert begun("list", "nowhere").code == 2


def test_looking_leaves_the_file_as_it_is(begun, store):
    before = store.read_bytes()
    for words in (("status",), ("result",), ("export", "--json"), ("check",), ("note",)):
        begun(*words)
        assert store.read_bytes() == before
        assert sorted(file.name for file in store.parent.iterdir() if "study" in file.name) == [store.name]


def test_results_as_they_arrived(experiment, store, problem_file, tmp_path):
    assert experiment("create", problem_file).code == 0
    asked = rows(experiment("ask", "--shares").out)
    assert sum(float(row["share"]) for row in asked) == pytest.approx(1.0)
    assert [float(row["share"]) for row in asked] == json.loads(experiment("ask", "--shares", "--json").out)["shares"]
    more, fewer = asked[0], asked[1]
    said = experiment("arrived", "--arm", more["arm"], "--count", int(more["pulls"]) + 2, "--json")
    assert json.loads(said.out)["outstanding"] == sum(int(row["pulls"]) for row in asked) + 2
    assert experiment("arrived", "--arm", more["arm"], "--arm", fewer["arm"], "--count", 3).code == 2
    for count in (-1, 10**20):
        said = experiment("arrived", "--arm", more["arm"], "--count", count)
        assert (said.code, f"arm {more['arm']}: {count} results" in said.err) == (2, True)
    assert "named twice" in experiment("arrived", *(["--arm", more["arm"], "--count", 3] * 2)).err
    lines = [f"{row['arm']}-day,{row['arm']},{int(row['pulls']) + 4},0.5,3.0" for row in asked]
    name = results(tmp_path / "day.csv", *lines, header="key,arm,count,mean,m2")
    assert experiment("tell", name).code == 2
    told = json.loads(experiment("tell", name, "--as-arrived", "--json").out)
    assert told["batches"] == [{"batch": 0, "outstanding": 0}]
    state = json.loads(experiment("status", "--json").out)
    assert state["pulls_told"] == state["pulls_asked"] == sum(int(row["pulls"]) + 4 for row in asked)
    assert "chance or a clock" in state["guarantee"]
    assert experiment("arrived", "--arm", more["arm"], "--count", 3).code == 2  # no batch is open


def test_a_late_correction_is_tried_made_and_taken_back(begun, store, tmp_path):
    asked = rows(begun("ask").out)
    lines = [f"{row['arm']}-day,{row['arm']},{row['pulls']},0.5,{row['pulls']}" for row in asked]
    begun("tell", results(tmp_path / "day.csv", *lines, header="key,arm,count,mean,m2"))
    again = rows(begun("ask").out)
    begun("tell", results(tmp_path / "one.csv", f"x,{again[0]['arm']},1"))
    lines[0] = f"{asked[0]['arm']}-day,{asked[0]['arm']},{asked[0]['pulls']},0.6,{asked[0]['pulls']}"
    name = results(tmp_path / "right.csv", lines[0], header="key,arm,count,mean,m2")
    total = sum(int(row["pulls"]) for row in asked) + 1
    before = store.read_bytes()
    refused = begun("amend", name)
    assert refused.code == 2
    assert f"would set 1 of {total:,} results aside" in refused.err
    tried = json.loads(begun("amend", name, "--set-aside", "--dry-run", "--json").out)
    assert (tried["dry_run"], tried["pulls_set_aside"], tried["amendments"]) == (True, 1, 1)
    assert "nothing was written" in begun("amend", name, "--set-aside", "--dry-run").err
    assert store.read_bytes() == before
    assert json.loads(begun("amend", name, "--set-aside", "--json").out)["pulls_set_aside"] == 1
    stored = store.read_bytes()
    assert json.loads(begun("take-back", f"{asked[0]['arm']}-day", "--dry-run", "--json").out)["taken_back"] == 1
    assert store.read_bytes() == stored
    back = json.loads(begun("take-back", f"{asked[0]['arm']}-day", "--json").out)
    assert (back["pulls_set_aside"], back["told"]) == (0, 1)
    assert begun("take-back", "x").code == 2
    assert begun("check").code == 0


def test_join(experiment, store, problem_file):
    assert experiment("create", problem_file).code == 0
    words = ("join", "--vector", "0.9,0.1")
    with cd.Experiment.open(store) as x:
        named = x.item_names is not None
    words += ("--item", "new") if named else ()
    before = store.read_bytes()
    tried = experiment(*words, "--dry-run", "--json")
    assert json.loads(tried.out)["joined"] == ["new" if named else "3"]
    assert store.read_bytes() == before
    assert "joined         " in experiment(*words).out
    assert "again" in experiment("join", "--vector", "0.9,0.1", *(("--item", "newer") if named else ())).err
    assert "numbers separated by commas" in experiment("join", "--vector", "0.9,x").err
    assert "give --variant, or --vector" in experiment("join").err
    assert "for a --variant" in experiment("join", "--vector", "0.7,0.1", "--noise-variance", "1").err
    if not named:
        assert "the new one is 3 (--variant 3)" in experiment("join", "--variant", "fourth").err
    fourth = "fourth" if named else "3"
    shown = experiment("join", "--variant", fourth)
    assert f"arms joined    {fourth}" in shown.out, shown.err
    assert fourth in {row["arm"] for row in rows(experiment("ask").out)}
    assert experiment("check").code == 0


def test_report_and_its_page(begun, store, tmp_path):
    assert "no round is complete" in begun("report").err
    asked = rows(begun("ask").out)
    lines = [f"{row['arm']}-day,{row['arm']},{row['pulls']},0.5,{row['pulls']}" for row in asked]
    assert begun("tell", results(tmp_path / "day.csv", *lines, header="key,arm,count,mean,m2")).code == 0
    before = store.read_bytes()
    control = asked[0]["arm"]
    document = json.loads(begun("report", "--control", control, "--json").out)
    assert document["level"] == pytest.approx(0.95)
    assert document["to_control"]["item"] == control
    assert all(low < value < high for low, value, high in zip(*(document[k] for k in ("low", "estimate", "high"))))
    assert [entry["pulls"] for entry in document["rounds"]] == [sum(int(row["pulls"]) for row in asked)]
    shown = begun("report", "--html", "page.html")
    assert "hold together and at all times with probability 0.95" in shown.out
    printed = [line.split() for line in shown.out.splitlines()]
    for row in asked:
        variance = int(row["pulls"]) / (int(row["pulls"]) - 1)
        assert [row["arm"], row["pulls"], "0.5", f"{variance:.4g}"] in printed
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert begun("report", "--control", "nobody").code == 2
    assert begun("report", "--html", "no/such/folder.html").code == 2
    assert store.read_bytes() == before


def test_exported_results_are_read_by_estimate_and_by_tell(begun, store, cli, tmp_path, problem_file):
    arm, other = (row["arm"] for row in rows(begun("ask").out)[:2])
    begun("tell", results(tmp_path / "r.csv", f"a,{arm},0.5", f"b,{arm},-1", f"c,{other},2"))
    begun("tell", results(tmp_path / "s.csv", f"d,{arm},3,0.5,2", header="key,arm,count,mean,m2"))
    assert begun("export", "--results", "-o", "all.csv").code == 0
    table = rows((tmp_path / "all.csv").read_text())
    assert [(row["key"], row["arm"], row["count"]) for row in table] == [
        ("a", arm, "1"),
        ("b", arm, "1"),
        ("c", other, "1"),
        ("d", arm, "3"),
    ]
    (tmp_path / "arms.csv").write_text("name,x,y\nleft,1,0\nup,0,1\ntilt,0.5,0.5\n")
    found = json.loads(cli("estimate", "all.csv", "--arms", "arms.csv", "--json").out)
    assert found["measurements"] == 6
    columns = json.loads(begun("export", "--results", "--json").out)
    assert columns["count"] == [1, 1, 1, 3]
    # Another store of the same problem takes them as they are.
    again = ("--store", store.with_name("again.db"))
    assert begun("create", problem_file, "--algorithm", "rage", "--variance-bounds", 1, 2, *again).code == 0
    assert begun("ask", *again).code == 0
    assert json.loads(begun("tell", "all.csv", *again, "--json").out)["pulls"] == 6
    assert begun("export", "--results", *again).out == (tmp_path / "all.csv").read_text()


def test_files_as_spreadsheets_leave_them_are_read_and_lines_are_counted_as_editors_do(begun, tmp_path):
    arm = rows(begun("ask").out)[0]["arm"]
    path = tmp_path / "r.csv"
    path.write_text(f"\n;;;\nKey;ARM;Reward;note\na;{arm};0,5;\n;;;;;\n\nb;{arm};x;\n")
    assert f"{path}, line 7: reward is 'x'" in begun("tell", path).err
    path.write_text(path.read_text().replace(";x;", ";1,5;"))
    assert "2 results recorded (2 measurements)" in begun("tell", path).out


def test_files_where_folders_belong_and_the_other_way_round(begun, experiment, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "p.csv").write_text("variant,a,b\nx,1,0\ny,0,1\n")
    for words, message in (
        (("tell", "d"), "d is a folder; name a file in it"),
        (("status", "--store", "d"), "d is a folder; name the file of the experiment in it"),
        (("list", "p.csv"), "p.csv is a file; give the folder that it lies in"),
        (("status", "--store", "p.csv"), "p.csv is a file of text, and not the store of an experiment"),
        (("create", "-", "--store", "new.db"), "- is standard input, from which no problem and no arms are read"),
    ):
        refused = begun(*words)
        assert (refused.code, message in refused.err) == (2, True), refused.err


def test_output_to_a_file_that_is_open_goes_on_behind_what_is_in_it(begun, store, tmp_path):
    """`--output /dev/stdout >> log.txt`: what was in log.txt stays there; so does what another descriptor has written."""
    log = tmp_path / "log.txt"
    log.write_text("before\n")
    with log.open("a") as file:
        path = f"/dev/fd/{file.fileno()}"
        for words in (("ask", "--output"), ("export", "--output"), ("report", "--html")):
            assert begun(*words, path).code == (2 if words[0] == "report" else 0)
    text = log.read_text()
    assert text.startswith("before\nbatch,arm,pulls,outstanding\n")
    assert "seq,time,kind" in text
    log.write_text("before\n")
    with log.open("a") as file:
        command = [
            sys.executable,
            "-m",
            "convexdesign",
            "experiment",
            "ask",
            "--store",
            store,
            "--output",
            "/dev/stdout",
        ]
        subprocess.run(command, stdout=file, check=True)
    assert log.read_text().startswith("before\nbatch,arm")


def test_a_file_of_names_is_a_list_of_variants_and_arms_that_joined_are_exported(experiment, cli, tmp_path):
    path = tmp_path / "pages.csv"
    path.write_text("old page\nold page\n")
    assert "has the name 'old page' twice" in experiment("create", path).err
    path.write_text("variant\nold page\n\nshort\n")
    assert "2 arms, 2 items" in experiment("create", path, "--noise", "bernoulli").out
    asked = rows(experiment("ask").out)
    assert [row["arm"] for row in asked] == ["old page", "short"]
    lines = [f"a,{row['arm']},{row['pulls']},0.5,{int(row['pulls']) * 0.25}" for row in asked]
    assert experiment("tell", results(tmp_path / "r.csv", *lines, header="key,arm,count,mean,m2")).code == 0
    assert experiment("join", "--variant", "video").code == 0
    assert experiment("export", "--arms", "arms.csv", "--results", "--output", "results.csv").code == 0
    table = rows((tmp_path / "arms.csv").read_text())
    assert [row.pop("arm") for row in table] == ["old page", "short", "video"]
    assert [[float(value) for value in row.values()] for row in table] == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    batch = rows(experiment("ask").out)
    lines = [f"b,{row['arm']},{row['pulls']},0.5,{int(row['pulls']) * 0.25}" for row in batch]
    assert experiment("tell", results(tmp_path / "s.csv", *lines, header="key,arm,count,mean,m2")).code == 0
    assert experiment("export", "--results", "--output", "results.csv").code == 0
    found = cli("estimate", "results.csv", "--arms", "arms.csv", "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)["names"] == ["old page", "short", "video"]


def test_plan_simulates_before_the_start(experiment, store, problem_file):
    assert experiment("create", problem_file).code == 0
    before = store.read_bytes()
    assert "give --noise-variance" in experiment("plan", "--gap", 1).err
    words = ("plan", "--gap", 0.4, "--gap", 2, "--noise-variance", 1, "--runs", 3)
    near, far, *hard = json.loads(experiment(*words, "--json").out)["plan"]
    assert (near["gap"], far["gap"], near["runs"]) == (0.4, 2.0, 3)
    assert near["mean"] > far["mean"] > 0
    assert [row["case"] for row in hard] == ["hard", "hard"]
    shown = experiment(*words)
    for row in (near, *hard):
        assert f"{round(row['mean']):,}" in shown.out
        assert f"{row['best']:.4g}" in shown.out
    assert "over 3 simulated experiments for every gap and case" in shown.out
    assert "guessed" not in shown.out
    shown = experiment("plan", "--gap", 2, "--noise-variance", 1, "--runs", 1, "--no-hard").out
    assert "over 1 simulated experiment for every gap" in shown
    assert experiment("plan", "--gap", -1, "--noise-variance", 1).code == 2
    assert store.read_bytes() == before


def test_plan_of_conversions_advises_options_and_says_what_guesses_are(experiment, tmp_path):
    (tmp_path / "p.csv").write_text("name,a,b\na,1,0\nb,0,1\n")
    made = ("create", tmp_path / "p.csv", "--problem", "xy-allocation", "--noise", "bernoulli", "--budget", 400)
    assert experiment(*made).code == 0
    assert "give --baseline, the usual rate" in experiment("plan", "--gap", 0.01).err
    assert "baseline is 3, but rewards lie between 0 and 1" in experiment("plan", "--gap", 0.01, "--baseline", 3).err
    words = ("plan", "--gap", 0.001, "--baseline", 0.03, "--runs", 2)
    assert all(row["guessed"] == 1.0 for row in json.loads(experiment(*words, "--json").out)["plan"])
    shown = experiment(*words).out
    assert "as the budget of 400 was spent first; the promise of delta 0.05 is not theirs" in shown


def test_variants_are_dropped_by_name_and_warned_about_before(begun, store):
    before = store.read_bytes()
    refused = begun("withdraw", "tilt", "up")
    assert refused.code == 4
    assert "nothing was withdrawn, as without arms tilt, up the arms" in refused.err
    assert "item up from item left" in refused.err or "item left from item up" in refused.err
    assert store.read_bytes() == before
    tried = json.loads(begun("withdraw", "tilt", "--item", "tilt", "--dry-run", "--json").out)
    assert (tried["dropped"], tried["withdrawn"], tried["dry_run"]) == (["tilt"], ["tilt"], True)
    assert store.read_bytes() == before
    done = begun("withdraw", "tilt", "--item", "tilt", "--reason", "gone")
    assert done.code == 0
    assert "dropped        tilt" in done.out
    assert begun("withdraw", "--item", "nobody").code == 2
    assert begun("withdraw").code == 2
    assert begun("withdraw", "up", "--anyway").code == 0
    assert begun("ask").code == 4
    assert begun("check").code == 0
