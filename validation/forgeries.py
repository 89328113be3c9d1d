"""Forgeries of certificates and of saved designs: how many are believed?

A forger takes an honest certificate (of every kind that the portable checker knows) or a saved design (of every kind there
is), changes what it says, the problem it is about, or both, and makes every digest, value and bound fit again as far as that
can be done from outside. Then the checker, or `Design.load`, reads it. A forgery is accepted where what is claimed of the
design is false by exact rational arithmetic (`exactly.py`) from the data as the package reads them: an efficiency above
that against a better design, CERTIFIED although the gap, the value or the weights do not allow it, or a claim about a problem
that the package refuses. A changed document may also be true: an honest proof of a worse design.

    python validation/forgeries.py docs/validation --count 2000 --seed 0
    python validation/forgeries.py --only 417 --seed 0       # one forgery again, in words
"""

from __future__ import annotations

import argparse
import copy
import datetime
import json
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from adversarial import Statement, _exact_matrix
from counting import kept_parts, shown, unfinished
from exactly import Exact, double, rational
from flint import arb, fmpq, fmpq_mat

import convexdesign as cd
from convexdesign.certificate import DualCertificate, certify
from convexdesign.problem import canonicalise
from convexdesign.problemfile import load_problem, write_certificate
from convexdesign.rigorous import check

Document = dict[str, Any]
Random = random.Random

# What floating-point rounding may add to the claims of a saved design; a certificate has no such excuse.
ROUNDING = 1e-9
EXACTLY = 2.0**-50
# A design is within its rules up to this share of them.
WITHIN = 1e-6

ODD_NUMBERS: list[Any] = [
    0, -1, True, False, None, "1", "", 1.0, 0.5, -0.0, 5e-324, 1e-300, 1e300, 10**40, 10**400, 2**64, [], {}, [1],
    float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
ODD_KEYS = ["00", "-1", "+0", " 0", "0_0", "1e0", "0.0", "\u0660", "", "999", "true", "-0", "2"]


# ---------------------------------------------------------------------- the truth


def stated(problem: cd.DesignProblem) -> Statement:
    """The problem by its inputs, as exact arithmetic takes them."""
    inputs = problem.stated.arguments()
    arms = np.array(inputs["arms"].values, dtype=float)
    options: dict[str, Any] = {"items": arms}
    for name in ("items", "targets", "region"):
        if name in inputs:
            options[name] = np.array(inputs[name].values, dtype=float)
    for name in ("theta", "threshold", "direction", "interest", "M"):
        if name in inputs:
            options[name] = inputs[name]
    common = {name: getattr(problem, name) for name in ("noise_variance", "costs")}
    for name in ("existing_counts", "prior_information", "n_new", "min_weight", "max_weight", "inequalities"):
        common[name] = inputs.get(name)
    return Statement(problem.kind, "", arms, options, {name: x for name, x in common.items() if x is not None})


def in_numbers(problem: cd.DesignProblem, Sigma: np.ndarray | None = None) -> Exact:
    """The problem exactly; Sigma: the noise variances are x'Sigma x, without rounding."""
    exact = stated(problem).exact()
    if Sigma is None:
        return exact
    S, costs = _exact_matrix(Sigma), problem.costs if problem.costs is not None else np.ones(problem.n_arms)
    rows = [_exact_matrix(x[:, None]) for x in stated(problem).arms]
    noise = [(x.transpose() * S * x)[0, 0] for x in rows]
    return replace(exact, precision=[fmpq_mat(1, 1, [1 / (s * rational(c))]) for s, c in zip(noise, costs)])


def best_known(problem: cd.DesignProblem, exact: Exact) -> list[fmpq] | None:
    """Exact weights close to optimal, None where none can be found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            weights = cd.solve(problem, tol=1e-9, time_limit=10).weights
        except (cd.ConvexDesignError, ArithmeticError, ValueError):
            return None  # whether it can be solved is judged elsewhere
    n = len(weights)
    return exact.rules.repaired([rational(w) for w in weights], [fmpq(1, n)] * n)


def log_efficiency(exact: Exact, w: list[fmpq], best: list[fmpq] | None) -> Any:
    """The logarithm of an upper bound on the efficiency of w as a ball: by a better design, else zero; None: nothing."""
    own = exact.value(w)
    if own is None or (exact.criterion == "least eigenvalue" and own == 0):
        return None
    other = None if best is None else exact.value(best)
    if other is None or other == 0 or own == 0:
        return arb(0)
    if exact.criterion in ("log det", "interest"):
        log = (own - other) / exact.dimension
    else:
        log = arb(own / other).log() if exact.maximised else arb(other / own).log()
    return log if log < 0 else arb(0)


# ---------------------------------------------------------------------- certificates


@dataclass(frozen=True)
class Stated:
    """A problem file's text, the tables beside it, and honest certificates of good and bad designs."""

    name: str
    text: str
    tables: dict[str, bytes]
    documents: tuple[Document, ...]

    def write(self, folder: Path, text: str | None = None, tables: dict[str, bytes] | None = None) -> Path:
        for name, content in (self.tables if tables is None else tables).items():
            (folder / name).write_bytes(content)
        path = folder / "problem.toml"
        path.write_text(self.text if text is None else text, encoding="utf-8")
        return path


ARMS = [[1.0, 0.5], [-0.25, 2.0], [-3.0, 1.5], [2.0, -1.25], [0.5, 0.75]]
OWN_FIELDS = {
    "minimax": "targets = [[1.0, 1.0], [0.3, -1.0], [2.0, 0.1]]",
    "g-optimal": "",
    "variance-g-optimal": "",
    "xy-allocation": "items = [[1.0, 1.0], [0.3, -1.0], [0.0, 2.5], [-1.0, 0.5]]",
    "level-set-allocation": "items = [[1.0, 1.0], [0.3, -1.0], [0.0, 2.5]]",
    "best-arm-oracle": "items = [[1.0, 1.0], [0.3, -1.0], [0.0, 2.5]]\ntheta = [1.0, 0.3]",
    "level-set-oracle": "items = [[1.0, 1.0], [0.3, -1.0], [0.0, 2.5]]\ntheta = [1.0, 0.3]\nthreshold = 0.65",
    "c-optimal": "direction = [1.0, -0.4]",
    "a-optimal": "",
    "d-optimal": "",
}
# Fields of every kind; the tables that they name are written beside the file.
COMMON_FIELDS = {
    "plain": "",
    "noise": "noise_variance = [1.0, 0.7, 2.0, 0.1, 1.5]\ncosts = [1.0, 2.0, 1.0, 0.5, 3.0]",
    "held": "existing_counts = [3, 0, 1, 0, 2]\nn_new = 7\nnoise_variance = [1.0, 0.7, 2.0, 0.1, 1.5]",
    "Sigma": "Sigma = [[1.1, 0.3], [0.3, 0.7]]",
    "csv": 'noise_variance = "noise.csv"',
    "npy": 'noise_variance = "noise.npy"',
}


def npy(values: Any) -> bytes:
    with tempfile.TemporaryFile() as file:
        np.save(file, np.asarray(values))
        file.seek(0)
        return file.read()


def csv_of(rows: list[list[float]]) -> bytes:
    return "".join(", ".join(repr(x).replace("-", "\u2212") for x in row) + "\n" for row in rows).encode()


@cache
def certified() -> tuple[Stated, ...]:
    """Every kind with every set of common fields, arms in the file or beside it."""
    out = []
    for kind, own in OWN_FIELDS.items():
        for name, common in COMMON_FIELDS.items():
            arms, tables = f"arms = {ARMS}", {}
            if name in ("csv", "npy"):
                arms = f'arms = "arms.{name}"'
                tables["noise.csv"] = b"arm,variance\n4,1.5\n0,1.0\n1,0.7\n2,2.0\n3,0.1\n"
                tables["noise.npy"] = npy(np.array([1.0, 0.75, 2.0, 0.125, 1.5], dtype=np.float32))
                tables["arms.csv"], tables["arms.npy"] = csv_of(ARMS), npy(np.asfortranarray(ARMS))
            text = f'title = "t"\nkind = "{kind}"\n{arms}\n{own}\n{common}\n'
            base = Stated(f"{kind}, {name}", text, tables, ())
            with tempfile.TemporaryDirectory() as folder:
                path = base.write(Path(folder))
                given: list[dict[str, Any]] = [{}, {"weights": [0.1, 0.1, 0.1, 0.1, 0.6]}, {"counts": [9, 1, 1, 2, 7]}]
                documents = tuple(write_certificate(path, Path(folder) / "c.json", **how) for how in given)
            out.append(replace(base, documents=documents))
    return tuple(out)


Forger = Callable[[Random, Document], None]


def some(rng: Random, entries: Document) -> str:
    return rng.choice(list(entries))


def do_one(rng: Random, *changes: Callable[[], Any]) -> None:
    rng.choice(changes)()


def scale_multipliers(rng: Random, document: Document) -> None:
    factor, alike = rng.choice([2, 3, 5, 1000, 10**20]), rng.random() < 0.5
    for key in document["multipliers"]:
        document["multipliers"][key] = int(document["multipliers"][key]) * (factor if alike else rng.randint(1, factor))


def scale_vectors(rng: Random, document: Document) -> None:
    for key in document["vectors"]:
        factor = rng.choice([1, 2, -1, 7, 10**9])
        document["vectors"][key] = [x * factor if isinstance(x, int) else x for x in document["vectors"][key]]


def bend_vectors(rng: Random, document: Document) -> None:
    for key, vector in document["vectors"].items():
        document["vectors"][key] = [int(x) * rng.randint(-3, 9) + rng.randint(-(2**50), 2**50) for x in vector]


def change_weights(rng: Random, document: Document) -> None:
    n = max(map(int, document["weights"])) + 1
    weights = {str(i): rng.choice([1, 2, 5, 100, 10**30]) for i in range(n) if rng.random() < 0.8}
    document["weights"] = weights or {"0": 1}


def drop_an_entry(rng: Random, document: Document) -> None:
    field = rng.choice(["weights", "vectors", "multipliers", "both"])
    for name in ("vectors", "multipliers") if field == "both" else (field,):
        document[name].pop(some(rng, document[name]), None)


def rename_a_key(rng: Random, document: Document) -> None:
    key, old = rng.choice([*ODD_KEYS, "0", "1", "2", "3", "7"]), some(rng, document["vectors"])
    for name in rng.choice([("weights",), ("vectors", "multipliers")]):
        entries = document[name]
        if old in entries:
            value = entries.pop(old) if rng.random() < 0.5 else entries[old]
            entries[key] = copy.deepcopy(value)


def odd_number(rng: Random, document: Document) -> None:
    name = rng.choice(["weights", "multipliers", "vectors"])
    key, odd = some(rng, document[name]), rng.choice(ODD_NUMBERS)
    if name == "vectors" and rng.random() < 0.7:
        document[name][key][rng.randrange(len(document[name][key]))] = odd
    else:
        document[name][key] = odd


def borrow(rng: Random, document: Document) -> None:
    other = rng.choice(rng.choice(certified()).documents)
    for name in rng.sample(["weights", "multipliers", "vectors", "kind", "data"], rng.randint(1, 3)):
        document[name] = copy.deepcopy(other[name])


def reshape_vectors(rng: Random, document: Document) -> None:
    key = some(rng, document["vectors"])
    vector = document["vectors"][key]
    document["vectors"][key] = rng.choice([vector[:-1], [*vector, 1], [vector], [], vector[::-1]])


def change_kind(rng: Random, document: Document) -> None:
    document["kind"] = rng.choice([*OWN_FIELDS, "e-optimal", "", None])


def change_a_field(rng: Random, document: Document) -> None:
    name = some(rng, document)
    do_one(
        rng,
        lambda: document.pop(name),
        lambda: document.update({name: rng.choice(ODD_NUMBERS)}),
        lambda: document.update({"note": "trust me"}),
    )


CERTIFICATE_FORGERS: tuple[Forger, ...] = (
    scale_multipliers, scale_vectors, bend_vectors, change_weights, drop_an_entry, rename_a_key, odd_number, borrow,
    reshape_vectors, change_kind, change_a_field,
)  # fmt: skip

TextForger = Callable[[Random, str, dict[str, bytes]], str]


def change_a_number(rng: Random, text: str, tables: dict[str, bytes]) -> str:
    marks = [k for k, c in enumerate(text) if c.isdigit() and text[k - 1] in " [-"]
    if not marks:
        return text
    k = rng.choice(marks)
    return (
        text[:k]
        + rng.choice(["7", "3", "0", "-", "1e300", "1e-300", "true", "inf", "nan", '"1"', "9."])
        + text[k + 1 :]
    )


def change_the_noise(rng: Random, text: str, tables: dict[str, bytes]) -> str:
    line = rng.choice(["noise_variance = 1e-3", "noise_variance = [1.0, 1.0]", "noise_variance = -1.0\ncosts = -1.0",
                       "noise_variance = [1, 1, 1, 1, 1, 1]", "costs = [0.1, 1, 1, 1, 1]", "costs = 0",
                       "existing_counts = [9, 9, 9, 9, 9]", "existing_counts = [9, 9, 9, 9, 9]\nn_new = 1",
                       "prior_information = [[9.0, 0.0], [0.0, 9.0]]\nn_new = 2", "n_new = 0.1"])  # fmt: skip
    kept = [old for old in text.splitlines() if not old.startswith(("noise", "costs", "Sigma", "existing", "n_new"))]
    return "\n".join([*(kept if rng.random() < 0.7 else text.splitlines()), line, ""])


def add_fields_of_another_kind(rng: Random, text: str, tables: dict[str, bytes]) -> str:
    return text + rng.choice(["targets = [[0.1, 0.0]]", "items = [[0.1, 0.0], [0.0, 0.1]]", "direction = [0.1, 0.0]",
                              "max_weight = 0.9", "theta = [1.0, 0.0]", "threshold = 9.0"]) + "\n"  # fmt: skip


def change_the_kind_stated(rng: Random, text: str, tables: dict[str, bytes]) -> str:
    return text.replace(text.split('kind = "')[1].split('"')[0], rng.choice(list(OWN_FIELDS)), 1)


def change_a_table(rng: Random, text: str, tables: dict[str, bytes]) -> str:
    if not tables:
        return change_a_number(rng, text, tables)
    X = np.array(ARMS)
    arms = [npy(X), npy(X.astype(">f4")), npy(X.T), npy(X.astype(int)), npy(X.astype(complex)), npy(X)[:-8], npy(X[:4]),
            npy(X).replace(b"'fortran_order': False", b"'fortran_order': True "), npy(X) + bytes(8), csv_of(ARMS)]  # fmt: skip
    plain = csv_of(ARMS).decode()
    texts = [plain.replace(", ", ";"), plain.replace(", ", ";").replace(".", ","), plain.replace("\u2212", "-"),
             plain.replace("\u2212", ""), "x,y\n" + plain, ",\n" + plain, plain.replace(", ", ","), plain + "1.0, 1.0\n",
             "0, 1\n" + plain, plain.replace(".", ","), "sep=;\n" + plain, plain[2:]]  # fmt: skip
    tables["arms.npy"], tables["arms.csv"] = rng.choice(arms), rng.choice(texts).encode()
    noise = [1.0, 0.75, 2.0, 0.125, 1.5]
    tables["noise.npy"] = npy(rng.choice([noise, noise[:4], [noise], [[x] for x in noise], noise[::-1], [-1.0] * 5]))
    tables["noise.csv"] = rng.choice([b"1\n2\n3\n4\n5\n", b"1\n2\n3\n4\n", b"4,1.5\n4,1.0\n1,0.7\n2,2.0\n3,0.1\n",
                                      b"arm,variance\n0,9\n1,9\n2,9\n3,9\n-1,9\n", b"1,5\n2,5\n3,5\n4,5\n5,5\n",
                                      b"a,1\nb,1\nc,1\nd,1\ne,1\n"])  # fmt: skip
    return text


TEXT_FORGERS: tuple[TextForger, ...] = (
    change_a_number, change_the_noise, add_fields_of_another_kind, change_the_kind_stated, change_a_table,
)  # fmt: skip


def hexadecimal(x: Fraction) -> str:
    return f"{x.numerator:x}/{x.denominator:x}"


def sealed(rng: Random, document: Document, path: Path) -> Document:
    """The document with its claims and digests in order as far as the checker's own code can put them in order."""
    out = dict(document)
    if rng.random() < 0.1:
        return out
    try:
        problem = check.read(path)
        out["kind"], out["data"] = problem.kind, check.sha256(vars(problem))
        value, bound = check.recompute(problem, out)
        if rng.random() < 0.15:
            value, bound = rng.choice(
                [(bound, bound), (value, value), (bound, value), (value, bound * 2), (value / 2, bound)]
            )
        out["value"], out["bound"] = hexadecimal(value), hexadecimal(bound)
    except (check.Rejected, *check.ERRORS):
        pass
    out["digest"] = check.sha256(out)
    return out


def spoilt_json(rng: Random, text: str) -> bytes:
    """The text as it is or, now and then, with a field twice, a word for a number, or too much of either."""
    if rng.random() > 0.1:
        return text.encode()
    return rng.choice([
        text.replace('"weights": {', '"weights": {"0": 1}, "weights": {', 1), text.replace('": ', '": 1, "0": ', 2),
        text.replace("1", "1e400", 1), text.replace("1", "NaN", 1), "[" * 50_000 + text, text + text, text[:-3], "null",
        text.replace("{", '{"digest": "", ', 1), text.replace('"kind"', '"kind", "kind"', 1),
    ]).encode("utf-16" if rng.random() < 0.1 else "utf-8")  # fmt: skip


def forge_certificate(rng: Random, folder: Path) -> dict[str, Any]:
    base = rng.choice(certified())
    document, text, tables = copy.deepcopy(rng.choice(base.documents)), base.text, dict(base.tables)
    how = []
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.3:
            change = rng.choice(TEXT_FORGERS)
            text = change(rng, text, tables)
            how.append(change.__name__)
        else:
            forger = rng.choice(CERTIFICATE_FORGERS)
            try:
                forger(rng, document)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                continue  # an earlier change has left nothing of the kind to change
            how.append(forger.__name__)
    path = base.write(folder, text, tables)
    raw = spoilt_json(rng, json.dumps(sealed(rng, document, path)))
    (folder / "certificate.json").write_bytes(raw)
    row = {"what": "certificate", "of": base.name, "how": ", ".join(how)}
    try:
        ratio = check.check(check.parsed(raw), check.read(path))
    except (check.Rejected, *check.ERRORS) as error:
        return row | {"outcome": "refused", "why": str(error)[:90]}
    return row | judged_certificate(json.loads(raw), ratio, path)


def judged_certificate(document: Document, ratio: Fraction, path: Path) -> dict[str, Any]:
    """Whether the ratio that was proven is above that against a better design."""
    try:
        file = load_problem(path)
        problem = file.problem()
    except cd.InputError as error:
        return {"outcome": "accepted", "why": f"the package refuses the problem: {error}"[:90]}
    exact = in_numbers(problem, file.Sigma)
    total = sum(document["weights"].values())
    w = [fmpq(document["weights"].get(str(i), 0), total) for i in range(problem.n_arms)]
    log = log_efficiency(exact, w, best_known(problem, exact))
    claimed = arb(fmpq(ratio.numerator, ratio.denominator)).log() if ratio else None
    if claimed is not None and problem.kind == "d-optimal":
        claimed /= exact.dimension
    false = claimed is not None and (log is None or claimed > log + EXACTLY)
    return {"outcome": "accepted" if false else "true", "why": f"ratio {float(ratio):.6g}"}


# ---------------------------------------------------------------------- saved designs


def problems() -> dict[str, cd.DesignProblem]:
    """Every kind of problem, and what can be stated beside it."""
    P, X = cd.DesignProblem, np.array(ARMS)
    Z, noise = np.array([[1.0, 1.0], [0.3, -1.0], [0.0, 2.5]]), [1.0, 0.7, 2.0, 0.1, 1.5]
    held: dict[str, Any] = {"existing_counts": [3, 0, 1, 0, 2], "n_new": 7}
    return {
        "minimax": P(X, Z, noise_variance=noise),
        "g-optimal": P.g_optimal(X),
        "g-optimal, noise": P.g_optimal(X, noise_variance=noise),
        "variance-g-optimal": P.variance_g_optimal(X),
        "xy-allocation": P.xy_allocation(X, Z, costs=[1.0, 2.0, 1.0, 0.5, 3.0]),
        "level-set-allocation": P.level_set_allocation(X, Z, max_weight=0.4),
        "best-arm-oracle": P.best_arm_oracle(X, Z, theta=[1.0, 0.3]),
        "level-set-oracle": P.level_set_oracle(X, Z, theta=[1.0, 0.3], threshold=0.65, **held),
        "c-optimal": P.c_optimal(X, [1.0, -0.4], noise_variance=noise),
        "d-optimal": P.d_optimal(X, noise_variance=noise, **held),
        "ds-optimal": P.ds_optimal(X, [1]),
        "a-optimal": P.a_optimal(X, noise_variance=noise),
        "a-optimal, caps": P.a_optimal(X, max_weight=[0.3, 0.5, 0.4, 0.3, 0.5]),
        "i-optimal": P.i_optimal(X, Z, **held),
        "average-variance": P.average_variance(X, [[4.0, 1.0], [1.0, 2.0]], inequalities=([[1.0, 1, 0, 0, 0]], [0.5])),
        "e-optimal": P.e_optimal(X, noise_variance=noise),
    }


@cache
def saved() -> tuple[tuple[str, Document], ...]:
    """(kind, document) of designs solved and saved."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "design.json"
        for name, problem in problems().items():
            cd.solve(problem, tol=1e-7).save(path)
            out.append((name, json.loads(path.read_text())))
    return tuple(out)


def poor_weights(rng: Random, document: Document) -> None:
    n = len(document["problem"]["arms"]["values"])
    support = sorted(rng.sample(range(n), rng.randint(2, n)))
    weights = np.array([rng.choice([0.01, 0.1, 0.3, 1.0]) for _ in support])
    document |= {"support": support, "weights": (weights / weights.sum()).tolist(), "ended": "CERTIFIED"}


def odd_weights(rng: Random, document: Document) -> None:
    k = rng.randrange(len(document["weights"]))
    factor = rng.choice([2.0, 1 + 1e-6, 1 + 1e-8, 1 + 5e-10, 0.5, -1.0, 0.0, 5e-324])
    do_one(
        rng,
        lambda: document["weights"].__setitem__(k, rng.choice(ODD_NUMBERS)),
        lambda: document.update(weights=[w * factor for w in document["weights"]]),
        lambda: document.update(weights=document["weights"][:1]),
        lambda: document["weights"].__setitem__(k, document["weights"][k] * factor),
        lambda: document.update(weights=sum(document["weights"])),
    )


def odd_support(rng: Random, document: Document) -> None:
    k = rng.randrange(len(document["support"]))
    document["support"][k] = rng.choice([-1, -2, 99, document["support"][0], True, 0.0, "0", None, 2**70, 1.5, 0, 1])


def repeated_targets(rng: Random, document: Document) -> None:
    """The same vectors again, so long or so often that bound and value meet where they can be made to meet."""
    dual, times = document["witness"], rng.randint(2, 5)
    targets, vectors = dual["targets"], np.array(dual["vectors"])
    alias = [j - len(targets) for j in targets] if rng.random() < 0.3 else targets
    scale = rng.choice([rng.uniform(0, 1), met(document, times), 1.0])
    rows = [*vectors.tolist(), *(scale * vectors).tolist() * (times - 1)]
    document["witness"] = {"targets": [*targets, *(alias * (times - 1))], "vectors": rows}


def met(document: Document, times: int) -> float:
    """The scale of the copies at which the bound would be the value, were each target to count as often as it is named."""
    dual, support = document["witness"], document["support"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "design.json"
        path.write_text(json.dumps(document | {"witness": None}))
        try:
            design = cd.Design.load(path)
        except cd.InputError:
            return 1.0
    own = certify(
        canonicalise(design.problem),
        design.weights,
        DualCertificate(np.array(dual["targets"]), np.array(dual["vectors"])),
    )
    wanted = own.value / own.bound if own.bound else 1.0
    low, high = 0.0, 1.0
    for _ in range(60 if support else 0):  # (1 + (k - 1) s)^2 / (1 + (k - 1) s^2), growing in s
        middle = (low + high) / 2
        gain = (1 + (times - 1) * middle) ** 2 / (1 + (times - 1) * middle**2)
        low, high = (middle, high) if gain < wanted else (low, middle)
    return low


def odd_dual(rng: Random, document: Document) -> None:
    dual = document["witness"]
    vectors = np.array(dual["vectors"])
    k = rng.randrange(len(vectors))
    do_one(
        rng,
        lambda: dual.update(vectors=(vectors * rng.choice([1e150, 1e-300, 5e-324, 1e308, -1.0, 0.0])).tolist()),
        lambda: dual.update(vectors=np.random.default_rng(rng.randrange(99)).standard_normal(vectors.shape).tolist()),
        lambda: dual["vectors"][k].__setitem__(0, rng.choice(ODD_NUMBERS)),
        lambda: dual["targets"].__setitem__(k, rng.choice([-1, -2, 99, 0, 1, True, "0", 0.0, None, 2**70])),
        lambda: dual.update(targets=dual["targets"][:-1]),
        lambda: dual.update(vectors=vectors[:-1].tolist()),
        lambda: dual.update(vectors=np.hstack([vectors, vectors]).tolist()),
        lambda: dual.update(vectors=vectors.ravel().tolist()),
        lambda: dual.update(targets=[], vectors=[]),
        lambda: document.update(witness=None),
        lambda: document.update(witness=copy.deepcopy(rng.choice(saved())[1]["witness"])),
    )


def odd_promise(rng: Random, document: Document) -> None:
    do_one(
        rng,
        lambda: document.update(tol=rng.choice([*ODD_NUMBERS, 0.999, 2.0, 1e-12])),
        lambda: document.update(ended=rng.choice(["CERTIFIED", "PERFECT", "", None, 1, "TIME_LIMIT"])),
        lambda: document["summary"].update(value=1e-9, bound=1e-9, gap=0.0, status="CERTIFIED"),
        lambda: document["summary"].__setitem__(some(rng, document["summary"]), rng.choice(ODD_NUMBERS)),
        lambda: document.update(status="CERTIFIED", certificate={"gap": 0.0}, gap=0.0),
        lambda: document.update({some(rng, document): rng.choice(ODD_NUMBERS)}),
    )


def odd_problem(rng: Random, document: Document) -> None:
    problem = document["problem"]
    rows = problem["arms"]["values"]
    i = rng.randrange(len(rows))
    do_one(
        rng,
        lambda: rows[i].__setitem__(0, rng.choice(ODD_NUMBERS)),
        lambda: rows[i].__setitem__(0, rows[i][0] * rng.choice([2, 0.5, -1, 0])),
        lambda: rows.pop(i),
        lambda: problem.update(kind=rng.choice(list(OWN_FIELDS))),
        lambda: problem.update(noise_variance=[rng.choice([0.1, 1.0, 5.0]) for _ in rows]),
        lambda: problem.update(noise_variance=[1.0], costs=[1.0]),
        lambda: [problem.pop(name, None) for name in ("max_weight", "inequalities", "existing_counts", "n_new")],
        lambda: problem.update(max_weight=0.25),
        lambda: problem.update({some(rng, problem): rng.choice(ODD_NUMBERS)}),
        lambda: problem.update(copy.deepcopy(rng.choice(saved())[1]["problem"])),
        lambda: problem["arms"].update(names=["a"]),
        lambda: problem["arms"].update(path="/dev/zero", digest="0"),
    )


SAVED_FORGERS: tuple[Forger, ...] = (
    poor_weights, odd_weights, odd_support, repeated_targets, repeated_targets, odd_dual, odd_dual, odd_promise,
    odd_problem,
)  # fmt: skip


def forge_saved_design(rng: Random, folder: Path) -> dict[str, Any]:
    name, honest = rng.choice(saved())
    document = copy.deepcopy(honest)
    how = []
    forgers = [*([poor_weights] if rng.random() < 0.7 else []), *rng.choices(SAVED_FORGERS, k=rng.randint(1, 2))]
    for forger in forgers:
        try:
            forger(rng, document)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            continue  # nothing of the kind to change, as where no dual certificate is needed
        how.append(forger.__name__)
    path = folder / "design.json"
    path.write_bytes(spoilt_json(rng, json.dumps(document)))
    row = {"what": "saved design", "of": name, "how": ", ".join(how)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            design = cd.Design.load(path)
        except cd.InputError as error:
            return row | {"outcome": "refused", "why": str(error).removeprefix(f"{path}: ")[:90]}
        except Exception as error:
            return row | {"outcome": "crash", "why": repr(error)[:90]}
        return row | judged_design(design)


def judged_design(design: cd.Design) -> dict[str, Any]:
    """Whether value, efficiency or status say more than is true of the weights."""
    exact = in_numbers(design.problem)
    given = [rational(w) for w in design.weights]
    w = [x / sum(given, fmpq(0)) for x in given]
    own = exact.value(w)
    log = log_efficiency(exact, w, best_known(design.problem, exact))
    most = 0.0 if log is None else float(log.exp().upper())
    efficiency, certified = design.certificate.efficiency, design.status is cd.Status.CERTIFIED
    claims = {
        f"efficiency {efficiency:.9g} of {most:.9g}": efficiency > most + ROUNDING,
        f"CERTIFIED to {design.tol:g} at efficiency {most:.9g}": certified and (most + ROUNDING) * (1 + design.tol) < 1,
        "CERTIFIED outside the rules": certified and exact.rules.violations(w) > WITHIN,
        f"CERTIFIED value {design.value:.9g}": certified and not is_value(exact, own, design.value),
    }
    false = [claim for claim, wrong in claims.items() if wrong]
    outcome = "accepted" if false else "true"
    return {"outcome": outcome, "why": "; ".join(false) or f"{design.status.name}, efficiency {efficiency:.6g}"}


def is_value(exact: Exact, own: Any, value: float) -> bool:
    """Whether a value is that of the weights, or worse."""
    if own is None:
        return not np.isfinite(value) or (exact.criterion == "least eigenvalue" and value < ROUNDING)
    if not np.isfinite(value):
        return True
    if exact.criterion in ("log det", "interest"):
        return bool(abs(float(own.mid()) - value) < 1e-6)
    return abs(value - double(own)) <= 1e-6 * abs(double(own))


# ---------------------------------------------------------------------- counting


def forge(number: int, seed: int) -> dict[str, Any]:
    """One forgery, by its number alone: what it was, and its outcome (refused, true, accepted or crash)."""
    rng = Random(f"{seed}, {number}")
    with tempfile.TemporaryDirectory() as folder:
        make = forge_certificate if number % 2 == 0 else forge_saved_design
        return {"number": number} | make(rng, Path(folder))


PAGE = """# Forgeries

Command: `python validation/forgeries.py docs/validation --count {count} --seed {seed}` ({date}).

Certificates of every kind that the portable checker knows, and saved designs of every kind, changed by a forger who can put
every digest, value and bound in order again: multipliers, vectors, weights and targets scaled, repeated, moved or borrowed,
odd numbers, keys written in two ways, other problems, tables, arrays and noise, promises of the document itself. A forgery
counts as accepted where what it is taken to prove is false in exact rational arithmetic (`validation/exactly.py`). A changed
document may also be true: an honest proof of a worse design.

{table}
"""


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| forged | number | refused | true | accepted | crashes |", "|---|---|---|---|---|---|"]
    for what in ("certificate", "saved design"):
        part = Counter(row["outcome"] for row in rows if row["what"] == what)
        total = sum(part.values())
        lines.append(
            f"| {what} | {total} | {part['refused']} | {part['true']} | {part['accepted']} | {part['crash']} |"
        )
    return "\n".join(lines)


def run(output_dir: str | Path, count: int, seed: int, jobs: int) -> list[dict[str, Any]]:
    """Forge so many; write forgeries.md; the rows, of which those accepted or crashed are printed."""
    from forgeries import forge as task  # by its name, so that workers keep the honest documents that they have made
    from joblib import delayed

    rows = list(shown(kept_parts((delayed(task)(k, seed) for k in range(count)), jobs, 16), count, "forgeries"))
    for row in rows:
        if row["outcome"] in ("accepted", "crash"):
            print(f"{row['number']}: {row['outcome']}: {row['what']} of {row['of']}, {row['how']}: {row['why']}")
    target = Path(output_dir)
    target.mkdir(parents=True, exist_ok=True)
    date = datetime.date.today().isoformat()
    page = PAGE.format(count=count, seed=seed, date=date, table=table(rows))
    (target / "forgeries.md").write_text(page, encoding="utf-8")
    print(table(rows))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Forge certificates and saved designs, and count those that are believed."
    )
    parser.add_argument("output_dir", nargs="?", default="docs/validation")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    if options.only is not None:
        for key, value in forge(options.only, options.seed).items():
            print(f"{key:10} {value}")
        return 0
    with unfinished(options.output_dir, "forgeries", options.count, options.seed):
        rows = run(options.output_dir, options.count, options.seed, options.jobs)
    return int(any(row["outcome"] in ("accepted", "crash") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
