"""Named numbers in files are taken by their names, whatever their order; names that differ are an error with both lists."""

import json

import pytest

ARMS = "name,one,dose\nA,1,0\nB,1,1\nC,1,2\nD,1,4\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def files(**texts: str) -> None:
        for name, text in texts.items():
            (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")

    return files


def value(result) -> float:
    assert result.code == 0, result.err
    return json.loads(result.out)["value"]


VECTORS = ("one,dose\n0.25,1\n", "dose,one\n1,0.25\n", "coordinate,value\ndose,1\none,0.25\n", "value\n0.25\n1\n")


@pytest.mark.parametrize(
    "options", [("c-optimal", "--direction"), ("best-arm-oracle", "--theta")], ids=["direction", "theta"]
)
def test_a_vector_per_coordinate_by_row_by_column_and_without_names(cli, write, options):
    kind, option = options
    write(arms=ARMS, **{f"v{k}": text for k, text in enumerate(VECTORS)}, bad="one,dosis\n0.25,1\n")
    values = {
        value(cli("solve", "arms.csv", "--problem", kind, option, f"v{k}.csv", "--json")) for k in range(len(VECTORS))
    }
    assert len(values) == 1
    refused = cli("solve", "arms.csv", "--problem", kind, option, "bad.csv")
    assert refused.code == 2
    assert "the labels are one, dosis, but the coordinates of the arms are one, dose" in refused.err


def test_matrices_by_named_rows_and_columns(cli, write):
    texts = ("one,dose\n1,0.5\n0.5,4\n", "dose,one\n4,0.5\n0.5,1\n", "name,one,dose\ndose,0.5,4\none,1,0.5\n")
    write(arms=ARMS, **{f"m{k}": text for k, text in enumerate(texts)}, bad="one,dosis\n1,0\n0,1\n")
    for options in (("average-variance", "--matrix"), ("d-optimal", "--n-new", "3", "--prior-information")):
        command = ("solve", "arms.csv", "--json", "--problem", *options)
        assert len({value(cli(*command, f"m{k}.csv")) for k in range(3)}) == 1
        refused = cli(*command, "bad.csv")
        assert refused.code == 2
        assert "'dosis' is no coordinate" in refused.err


def test_columns_of_region_items_and_interest(cli, write):
    write(arms=ARMS, r="one,dose\n1,9\n1,5\n", moved="dose,one\n9,1\n5,1\n", bad="a,b\n1,2\n3,4\n")
    write(K="name,first\ndose,1\none,0.5\n", K2="0.5\n1\n")
    for options in (("i-optimal", "--region"), ("level-set-allocation", "--items"), ("minimax", "--targets")):
        command = ("solve", "arms.csv", "--json", "--problem", *options)
        assert value(cli(*command, "r.csv")) == value(cli(*command, "moved.csv"))
        refused = cli(*command, "bad.csv")
        assert refused.code == 2
        assert "the labels are a, b, but the coordinates of the arms are one, dose" in refused.err
    command = ("solve", "arms.csv", "--json", "--problem", "ds-optimal", "--interest")
    assert value(cli(*command, "K.csv")) == value(cli(*command, "K2.csv"))


def test_problem_files_refer_to_named_matrices(cli, write, tmp_path):
    write(arms=ARMS, m="dose,one\n4,0.5\n0.5,1\n", G="D,C,B,A\n1,0,0,1\n")
    head = 'title = "t"\nkind = "average-variance"\narms = "arms.csv"\n'
    stated = {
        "named": head + 'M = "m.csv"\ninequalities = { G = "G.csv", h = [0.9] }\n',
        "plain": head + "M = [[1.0, 0.5], [0.5, 4.0]]\ninequalities = { G = [[1.0, 0.0, 0.0, 1.0]], h = [0.9] }\n",
    }
    values = []
    for name, text in stated.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        values.append(value(cli("solve", f"{name}.toml", "--json")))
    assert values[0] == values[1]
