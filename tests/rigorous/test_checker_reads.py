"""The portable checker reads what the package reads, or refuses: tables, arrays, and the fields of a problem file."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.problemfile import check_certificate, load_problem, write_certificate
from convexdesign.rigorous import check
from convexdesign.tables import read_table, read_vector

ARMS = np.array([[1.0, 0.5], [-0.25, 2.0], [-3.0, 1.5], [2.0, -1.25]])
REFUSALS = (check.Rejected, *check.ERRORS)


def written(folder, fields, kind="g-optimal"):
    path = folder / "problem.toml"
    path.write_text(f'title = "t"\nkind = "{kind}"\n{fields}\n', encoding="utf-8")
    return path


def certified(path):
    """The efficiency proven from the file that certify wrote, and what the checker read."""
    out = path.with_suffix(".json")
    write_certificate(path, out)
    assert check_certificate(out, path) > 1 - Fraction(1, 10**8)
    return check.read(path)


def table(separator, mark=".", minus="-", head=None, names=None):
    lines = [] if head is None else [separator.join(head)]
    for i, row in enumerate(ARMS.tolist()):
        cells = [repr(x).replace(".", mark).replace("-", minus) for x in row]
        lines.append(separator.join(cells if names is None else [names[i], *cells]))
    return "\n".join(lines) + "\n"


LABELS = ["red", "light blue", "e3", "d"]
TABLES = {
    "commas": table(","),
    "blanks after commas": table(", ", head=["x", "y"]),
    "semicolons": table(";", head=["x", "y"]),
    "decimal commas": table(";", ",", head=["x", "y"]),
    "tabs": table("\t", head=["x", "y"]),
    "blanks": table("  "),
    "minus signs": table(",", minus="\u2212"),
    "names": table(",", head=["name", "x", "y"], names=LABELS),
    "names without a header": table(", ", names=LABELS),
    "an index": table(",", head=["", "x", "y"], names=["0", "1", "2", "3"]),
    "quotes": table(",", head=['""', '"x"', '"y"'], names=['"a"', '"b"', '"c d"', '"e"']),
    "a byte-order mark": "\ufeff" + table(",", head=["x", "y"]),
    "blank lines around": "\n\n" + table(",", head=["x", "y"]) + "\n\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_every_usual_table_is_read_as_the_numbers_in_it(name, tmp_path):
    (tmp_path / "arms.csv").write_text(TABLES[name], encoding="utf-8")
    problem = certified(written(tmp_path, 'arms = "arms.csv"'))
    unit = Fraction(problem.arms[0][0])  # the first entry is 1
    assert [[x / unit for x in row] for row in problem.arms] == ARMS.tolist()


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", ">f4", "<f2", "|i1", "<i8", ">i2", "|b1", "<u4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_in_their_own_order_and_type(dtype, order, tmp_path):
    given = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]])
    if np.dtype(dtype).kind == "f":
        given = given + np.arange(12).reshape(4, 3) / 8
    np.save(tmp_path / "arms.npy", given.astype(dtype, order=order))
    problem = certified(written(tmp_path, 'arms = "arms.npy"'))
    assert [[x / Fraction(problem.arms[0][0]) for x in row] for row in problem.arms] == given.tolist()


NOISE = [4.0, 0.5, 1.0, 2.0]
PER_ARM = {
    "list": "[4, 0.5, 1.0, 2]",
    "by position": "x\n4\n0.5\n1\n2\n",
    "by name": "arm,variance\nd,2.0\nred,4.0\nlight blue,0.5\ne3,1.0\n",
    "by index": "arm,variance\n3,2.0\n0,4.0\n1,0.5\n2,1.0\n",
    "array": np.array(NOISE),
    "row of an array": np.array([NOISE], dtype=np.float32),
}


@pytest.mark.parametrize("form", PER_ARM)
@pytest.mark.parametrize("field", ["noise_variance", "costs"])
def test_numbers_per_arm_come_by_position_by_name_or_by_index(form, field, tmp_path):
    given = PER_ARM[form]
    if isinstance(given, np.ndarray):
        np.save(tmp_path / "given.npy", given)
    else:
        (tmp_path / "given.csv").write_text(given)
    file = "given.npy" if isinstance(given, np.ndarray) else "given.csv"
    value = given if form == "list" else f'"{file}"'
    arms = f"arms = {ARMS.tolist()}\narm_names = {json.dumps(LABELS)}\n"
    assert certified(written(tmp_path, f"{arms}{field} = {value}")).prices == NOISE


def test_names_may_come_from_the_table_of_arms(tmp_path):
    (tmp_path / "arms.csv").write_text(TABLES["names"])
    (tmp_path / "noise.csv").write_text(PER_ARM["by name"])
    assert certified(written(tmp_path, 'arms = "arms.csv"\nnoise_variance = "noise.csv"')).prices == NOISE


@pytest.mark.parametrize(
    "fields",
    [
        "Sigma = [[1.1, 0.3], [0.3, 0.7]]\nexisting_counts = [3, 0, 1, 2]\nn_new = 7",
        "prior_information = [[2.0, 0.1], [0.10000000000000002, 1.0]]\nn_new = 3",
        "noise_variance = [4, 0.5, 1, 2]\ncosts = 3\nexisting_counts = [0, 0, 0, 5]\nn_new = 2.5",
        "prior_information = [[0.0, 0.0], [0.0, 0.0]]\nn_new = 3",
    ],
)
@pytest.mark.parametrize("kind", ["g-optimal", "a-optimal", "d-optimal", "variance-g-optimal"])
def test_noise_costs_and_information_held_are_taken_exactly(fields, kind, tmp_path):
    if kind == "variance-g-optimal":
        fields = fields.replace("prior_information", "#").replace("n_new = 3", "")
    certified(written(tmp_path, f"arms = {ARMS.tolist()}\n{fields}", kind))


@pytest.mark.parametrize("field", ["items", "Sigma"])
@pytest.mark.parametrize("arms", ["x,y\n1,0.5\n0.5,2\n", "x2,x1\n1,0.5\n0.5,2\n", "1.5,0.5\n0.5,2.5\n", None])
@pytest.mark.parametrize("head", ["x,y", "y,x", "x1,x2", "x2,x1", "u,v", "0,1", "1,0", None])
def test_columns_named_in_another_order_are_never_taken_by_position(field, arms, head, tmp_path):
    """Either the checker and the package read the same data, or the checker refuses."""
    (tmp_path / "other.csv").write_text(
        (f'"{head.replace(",", chr(34) + "," + chr(34))}"\n' if head else "") + "2.5,0.5\n0.5,1.5\n"
    )
    given = 'arms = "arms.csv"' if arms else "arms = [[1.5, 0.5], [0.5, 2.5]]"
    if arms:
        (tmp_path / "arms.csv").write_text(arms)
    path = written(tmp_path, f'{given}\n{field} = "other.csv"', "level-set-allocation")
    problem = attempt(lambda: check.read(path), REFUSALS)
    if problem is not None:
        file = load_problem(path)
        unit = Fraction(problem.arms[0][0]) / Fraction(float(file.arms.values[0, 0]))
        if field == "items":
            items = file.problem().stated.items.values
            assert [[x / unit for x in row] for row in problem.vectors] == items.tolist()
        else:
            assert [float(p) for p in problem.prices] == pytest.approx(
                file.inputs["noise_variance"].tolist(), rel=1e-14
            )
    elif head is None and arms is None:
        raise AssertionError("nothing is named, so nothing can be in another order")


def random_table(rng):
    """A text table of whatever form, often one with a single meaning and often not."""
    numbers = ["1", "0", "-1", "2", "10", "1.5", "\u22122", "0,5", "1,25", "1e3", ".5", "1,000", "00", "7", "2.25"]
    words = ["a", "x1", "x 2", "id", "arm", "e", "na", "inf", "-", "", "dose (mg)", "a;b", "1x", "5%", '"q"', "e0"]
    separator, n, d = rng.choice([",", ";", "\t", " ", "|", ", ", "; "]), rng.randint(1, 5), rng.randint(1, 4)
    rows = [[rng.choice(numbers if rng.random() < 0.97 else words) for _ in range(d)] for _ in range(n)]
    if rng.random() < 0.3:
        whole = rng.random() < 0.5
        rows = [[str(rng.randint(-1, 9)) if whole else repr(round(rng.uniform(-9, 9), 2)) for _ in row] for row in rows]
    head = [rng.choice(words[:6]) + str(j) * (rng.random() < 0.8) for j in range(d)]
    labelled = rng.random()
    if labelled < 0.5:
        for i, row in enumerate(rows):
            row.insert(0, f"{rng.choice(words[:5])}{i}" if labelled < 0.3 else str(i))
        head.insert(0, rng.choice(["", "id", "arm", "name", "q"]))
    if rng.random() < 0.5:
        rows.insert(0, head[rng.random() < 0.05 :])
    if rng.random() < 0.1:
        rows = [[f'"{cell}"' for cell in row] for row in rows]
    end = rng.choice(["\n", "\r\n"])
    return end.join(separator.join(row) for row in rows) + end * rng.randint(0, 2)


def attempt(read, refusals):
    try:
        return read()
    except refusals:
        return None


def test_a_table_has_the_meaning_that_it_has_for_the_package_or_none(tmp_path):
    rng, both, package = random.Random(15), 0, 0
    path = tmp_path / "table.csv"
    names = ["a0", "x11", "a2"]
    for _ in range(600):
        path.write_text(random_table(rng), encoding="utf-8", newline="")
        own = attempt(lambda: check.matrix(tmp_path, "table.csv")[1:], REFUSALS)
        read = attempt(lambda: read_table(path), cd.InputError)
        vector = attempt(lambda: check.per_arm(tmp_path, "table.csv", names, 3), REFUSALS)
        package += read is not None
        if own is not None:
            both += 1
            assert read is not None, path.read_text()
            assert own == (list(read.names or []), read.values.tolist()), path.read_text()
        if vector is not None:
            assert vector == read_vector(path, 3, names=names).tolist(), path.read_text()
    assert 4 * both > 3 * package > 400


REFUSED = {
    "targets of a kind that has its own": "arms = [[1.0, 0.0], [0.0, 1.0]]\ntargets = [[1.0, 0.0]]",
    "constraints": "arms = [[1.0, 0.0], [0.0, 1.0]]\nmax_weight = 0.7",
    "a word for a number": 'arms = [["1.0", 0.0], [0.0, 1.0]]',
    "a truth value for a number": "arms = [[true, 0.0], [0.0, 1.0]]",
    "one list for rows": "arms = [1.0, 2.0]",
    "ragged rows": "arms = [[1.0, 0.0], [0.0]]",
    "no arms": "arms = []",
    "infinity": "arms = [[inf, 0.0], [0.0, 1.0]]",
    "too little noise": "arms = [[1.0, 0.0], [0.0, 1.0]]\nnoise_variance = [1.0]",
    "too much noise": "arms = [[1.0, 0.0], [0.0, 1.0]]\nnoise_variance = [1.0, 1.0, 1.0]",
    "negative noise and costs": "arms = [[1.0, 0.0], [0.0, 1.0]]\nnoise_variance = -1.0\ncosts = -1.0",
    "noise of zero": "arms = [[1.0, 0.0], [0.0, 1.0]]\nnoise_variance = [0.0, 1.0]",
    "noise twice": "arms = [[1.0, 0.0], [0.0, 1.0]]\nnoise_variance = 1.0\nSigma = [[1.0, 0.0], [0.0, 1.0]]",
    "Sigma that is not symmetric": "arms = [[1.0, 0.0], [0.0, 1.0]]\nSigma = [[1.0, 0.1], [0.2, 1.0]]",
    "Sigma that is indefinite": "arms = [[1.0, 0.0], [0.0, 1.0]]\nSigma = [[1.0, 2.0], [2.0, 1.0]]",
    "information that is not symmetric": "arms = [[1.0, 0.0], [0.0, 1.0]]\nn_new = 1\n"
    "prior_information = [[1.0, 0.1], [0.2, 1.0]]",
    "numbers without measure": "arms = [[1e80, 0.0], [0.0, 1.0]]",
    "variances without measure": "arms = [[1.0, 0.0], [0.0, 1.0]]\nnoise_variance = 1e-80",
    "Sigma of another size": "arms = [[1.0, 0.0], [0.0, 1.0]]\nSigma = [[1.0]]",
    "information twice": "arms = [[1.0, 0.0], [0.0, 1.0]]\nexisting_counts = [1, 1]\nn_new = 1\n"
    "prior_information = [[1.0, 0.0], [0.0, 1.0]]",
    "information without n_new": "arms = [[1.0, 0.0], [0.0, 1.0]]\nexisting_counts = [1, 1]",
    "n_new alone": "arms = [[1.0, 0.0], [0.0, 1.0]]\nn_new = 3",
    "half a count": "arms = [[1.0, 0.0], [0.0, 1.0]]\nexisting_counts = [0.5, 1]\nn_new = 1",
    "information of another size": "arms = [[1.0, 0.0], [0.0, 1.0]]\nprior_information = [[1.0]]\nn_new = 1",
    "a missing file": 'arms = "nowhere.csv"',
    "a folder": 'arms = "."',
    "text called an array": 'arms = "text.npy"',
    "an array cut short": 'arms = "short.npy"',
    "complex numbers": 'arms = "complex.npy"',
    "a vector for rows": 'arms = "vector.npy"',
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_package_refuses_is_refused(name, tmp_path):
    (tmp_path / "text.npy").write_text(table(","))
    np.save(tmp_path / "short.npy", ARMS)
    (tmp_path / "short.npy").write_bytes((tmp_path / "short.npy").read_bytes()[:-8])
    np.save(tmp_path / "complex.npy", ARMS.astype(complex))
    np.save(tmp_path / "vector.npy", ARMS[0])
    path = written(tmp_path, REFUSED[name])
    with pytest.raises(REFUSALS):
        check.read(path)
    if name != "constraints":
        with pytest.raises(cd.InputError):
            load_problem(path).problem()


def test_nothing_is_written_that_the_checker_would_reject(tmp_path):
    (tmp_path / "arms.csv").write_text(table(",").replace("\n", ",\n"))  # an empty last column
    path = written(tmp_path, 'arms = "arms.csv"')
    assert load_problem(path).arms.n == 4
    with pytest.raises(cd.InputError, match="would be rejected: it is not certain whether a table"):
        write_certificate(path, tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()
