"""python check.py certificate.json problem.toml: is the design nearly optimal? By Python's integers and fractions alone.

This file needs no other and trusts none: every double is read as the fraction it is, and the claims are computed again. With
A = A0 + sum_i w_i x_i x_i'/p_i (weights over their sum, p_i noise variance times cost, w_i/p_i rounded down: that only makes
the design look worse), vectors b_j, multipliers m_j, S = sum m_j b_j b_j', h = sum m_j b_j'A0b_j + max_i x_i'Sx_i/p_i:

    minimax  value = max over ALL targets of v'A^-1v,  optimum >= bound = sum m_j (b_j'v_j)^2 / h,    efficiency bound/value
    A        value = tr A^-1,  all m_j = 1,            optimum >= bound = (sum b_j'v_j)^2 / h,        efficiency bound/value
    D        value = det A,                            optimum <= bound = (h/d)^d / det S,   efficiency (value/bound)^(1/d)

as (b'v)^2 <= (v'A^-1v)(b'Ab), for A summed over the coordinates, each once; det(A) det(S) <= (tr(AS)/d)^d; and tr(AS) <= h for
the optimal A. A table has to be written so plainly that it has one meaning only, the one that the package reads.
"""

import ast
import csv
import hashlib
import io
import json
import math
import re
import struct
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

FORMAT, BITS, MOST_BYTES, LEAST = "convexdesign certificate 1", 128, 2**30, 1e-75
FIELDS = ["bound", "data", "digest", "format", "kind", "multipliers", "value", "vectors", "weights"]
ORACLES = ("best-arm-oracle", "level-set-oracle")
KINDS = {"minimax": "targets", "c-optimal": "direction", ORACLES[0]: "theta", ORACLES[1]: "theta threshold"}
KINDS |= {"g-optimal": "", "variance-g-optimal": "", "d-optimal": "", "a-optimal": ""}
KINDS |= {"xy-allocation": "", "level-set-allocation": ""}
COMMON = (
    "title statement kind arms arm_names reference noise_variance Sigma costs existing_counts n_new prior_information"
)
ERRORS = (
    ArithmeticError,
    LookupError,
    OSError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
    csv.Error,
    struct.error,
)
Row = list[Any]  # whole numbers, fractions, or the cells of a text


class Rejected(Exception):
    """Why a certificate proves nothing."""


@dataclass(frozen=True)
class Problem:
    """Exact data, in a unit of length that makes all vectors whole: arms x_i, prices p_i, vectors behind the targets, A0."""

    kind: str
    arms: list[Row]
    prices: Row
    vectors: list[Row]
    prior: list[Row]
    theta: Row | None
    threshold: Fraction

    def targets(self) -> Iterator[tuple[int, Row, Any]]:
        """(index, v, g) for every target v/g; a pair of items i < j has the index i * count + j."""
        if self.kind == "xy-allocation":
            for (i, a), (j, b) in combinations(enumerate(self.vectors), 2):
                yield i * len(self.vectors) + j, minus(a, b), Fraction(1)
        else:
            gaps = [Fraction(1) if self.theta is None else dot(z, self.theta) - self.threshold for z in self.vectors]
            best = gaps.index(max(gaps)) if self.kind == ORACLES[0] else -1
            for j, (z, g) in enumerate(zip(self.vectors, gaps, strict=True)):
                if j != best:
                    yield (j, z, g) if best < 0 else (j, minus(self.vectors[best], z), gaps[best] - g)


def dot(a: Row, b: Row) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))


def minus(a: Row, b: Row) -> Row:
    return [x - y for x, y in zip(a, b, strict=True)]


def gram(weighted: list[tuple[Any, Row]], d: int) -> list[Row]:
    return [[sum(e * x[a] * x[b] for e, x in weighted) for b in range(d)] for a in range(d)]


def eliminate(A: list[Row]) -> tuple[list[Row], Row]:
    """M, triangular with ones on its diagonal, and D >= 0 with M A M' = diag(D); A is positive semidefinite or Rejected."""
    d = len(A)
    S = [[Fraction(x) for x in row] + [Fraction(a == b) for b in range(d)] for a, row in enumerate(A)]
    for k in range(d):
        if S[k][k] < 0 or (S[k][k] == 0 and any(S[k][k + 1 : d])):
            raise Rejected("a matrix that should be positive semidefinite is not")
        for a in range(k + 1, d):
            if S[a][k]:
                S[a] = minus(S[a], [S[a][k] / S[k][k] * y for y in S[k]])
    return [row[d:] for row in S], [S[k][k] for k in range(d)]


def variances(problem: Problem, A: list[Row]) -> Iterator[Any]:
    """v'A^-1v for every target; Rejected where A does not measure it."""
    M, D = eliminate(A)
    inverse = gram([(1 / q, m) for m, q in zip(M, D, strict=True) if q], len(A))
    common = math.lcm(*(x.denominator for row in inverse for x in row))
    C = [[int(x * common) for x in row] for row in inverse]
    lost = [m for m, q in zip(M, D, strict=True) if not q]
    for j, v, g in problem.targets():
        if g == 0 or any(dot(m, v) for m in lost):
            raise Rejected(f"target {j} is not measured by this design")
        yield Fraction(dot(v, [dot(row, v) for row in C]), common) / g**2


def by_number(entries: Any) -> dict[int, Any]:
    """A JSON object whose keys are whole numbers, each written in the one usual way."""
    if not (isinstance(entries, dict) and entries and all(re.fullmatch("0|[1-9][0-9]*", key) for key in entries)):
        raise Rejected("weights, multipliers and vectors must be objects with whole numbers as keys")
    return {int(key): entry for key, entry in entries.items()}


def recompute(problem: Problem, certificate: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """(value, bound) from the certificate's weights, multipliers and vectors alone."""
    d = len(problem.arms[0])
    w, m, B = (by_number(certificate[field]) for field in ("weights", "multipliers", "vectors"))
    numbers = [*w.values(), *m.values(), *(x for b in B.values() for x in b)]
    whole = all(type(x) is int for x in numbers) and min([*w.values(), *m.values(), *problem.prices]) > 0
    if not whole or m.keys() != B.keys() or max(w) >= len(problem.arms) or {len(b) for b in B.values()} != {d}:
        raise Rejected("weights and multipliers must be positive and whole, vectors whole, one per multiplier")
    efforts = {i: x / problem.prices[i] / sum(w.values()) for i, x in w.items()}
    fine = 2 ** (BITS + max(e.denominator.bit_length() - e.numerator.bit_length() for e in efforts.values()) + 1)
    pulled = [(math.floor(e * fine), problem.arms[i]) for i, e in efforts.items()]
    eliminate(problem.prior)  # semidefinite
    measured = gram(pulled, d)
    A = [
        [Fraction(x, fine) + y for x, y in zip(*rows, strict=True)]
        for rows in zip(measured, problem.prior, strict=True)
    ]
    S = gram([(m[j], b) for j, b in B.items()], d)
    h = max(dot(x, [dot(row, x) for row in S]) / p for x, p in zip(problem.arms, problem.prices, strict=True))
    h += sum(m[j] * dot(b, [dot(row, b) for row in problem.prior]) for j, b in B.items())
    if problem.kind == "d-optimal":
        value, size = math.prod(eliminate(A)[1]), math.prod(eliminate(S)[1])
        if not value * size:
            raise Rejected("the design or the vectors do not span all dimensions: a determinant is zero")
        return Fraction(value), (h / d) ** d / size
    terms = {j: (m[j], dot(B[j], v), g) for j, v, g in problem.targets() if j in B}
    if terms.keys() != B.keys() or h == 0:
        raise Rejected("a vector belongs to no target, or all are zero")
    if problem.kind != "a-optimal":
        return max(variances(problem, A)), sum(x * (hit / g) ** 2 for x, hit, g in terms.values()) / h
    if set(m.values()) != {1}:
        raise Rejected("for the average variance every multiplier must be 1")
    return sum(variances(problem, A)), Fraction(sum(hit for _, hit, _ in terms.values())) ** 2 / h


def sha256(data: dict[str, Any]) -> str:
    """Over every field but the digest itself."""
    rest = {field: x for field, x in data.items() if field != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, default=str).encode()).hexdigest()


def check(certificate: dict[str, Any], problem: Problem) -> Fraction:
    """The proven ratio of bound and value (at most 1), when every field is as claimed; Rejected otherwise."""
    if sorted(certificate) != FIELDS or certificate["digest"] != sha256(certificate):
        raise Rejected("a field is missing, added or changed: the digest does not match")
    if [certificate[x] for x in ("format", "kind", "data")] != [FORMAT, problem.kind, sha256(vars(problem))]:
        raise Rejected("the certificate was made for other data, or for another version of this checker")
    value, bound = recompute(problem, certificate)
    if [certificate["value"], certificate["bound"]] != [f"{x.numerator:x}/{x.denominator:x}" for x in (value, bound)]:
        raise Rejected("value or bound is not what the weights and vectors give")
    low, high = (value, bound) if problem.kind == "d-optimal" else (bound, value)
    if not 0 <= low <= high or not high:
        raise Rejected("no design is better than the optimum: value and bound contradict each other")
    return low / high


def parsed(text: bytes) -> Any:
    """The certificate in a JSON text, in which no field may come twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise Rejected("a field comes twice")
        return dict(pairs)

    return json.loads(text.decode(), object_pairs_hook=once)


def number(x: Any) -> Fraction:
    if type(x) not in (int, float) or not abs(x) * LEAST <= 1:
        raise Rejected(f"{str(x)[:20]} is no number, or too large")
    return Fraction(float(x))


def content(path: Path) -> bytes:
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise Rejected(f"{path} is missing, too large or no ordinary file")
    return path.read_bytes()


def array(raw: bytes, vector: bool) -> list[Row]:
    """The rows of a numpy file; of a vector one number each."""
    start = 10 if raw[6] == 1 else 12
    end = start + int.from_bytes(raw[8:start], "little")
    head = ast.literal_eval(raw[start:end].decode())
    n, d = (*head["shape"], 1) if vector and len(head["shape"]) == 1 else head["shape"]
    sizes = {"f2": "e", "f4": "f", "f8": "d", "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q"}
    sizes |= {"u1": "B", "u2": "H", "u4": "I", "u8": "Q"}
    order, code = {"<": "<", "|": "<", ">": ">"}[head["descr"][0]], sizes[head["descr"][1:]]
    flat = [float(x) for (x,) in struct.iter_unpack(order + code, raw[end:])]
    if len(flat) != n * d or (vector and 1 not in (n, d)):
        raise Rejected("an NPY file has not the shape that it says or needs")
    n, d = (n * d, 1) if vector else (n, d)
    return [flat[i::n] if head["fortran_order"] else flat[i * d : (i + 1) * d] for i in range(n)]


def kinds(cells: Row, mark: str) -> set[str]:
    """Which of number, text, and neither for certain, there are among the cells."""
    pattern = {".": r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", ",": r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?"}[mark]
    # It begins with a letter, or has one that is not the e of a number; no way of writing what is infinite or missing.
    letter = r"(?!\W*(inf|infinity|n/?an?|null|none|nil|missing|div/0|value)\W*$)([^\W\d_].*|.*[^\W\d_eE].*)"
    number, text = re.compile(pattern, re.ASCII), re.compile(letter, re.IGNORECASE | re.DOTALL)
    plain = (cell.replace("\u2212", "-") for cell in cells)
    return {"number" if number.fullmatch(c) else "text" if text.fullmatch(c) else "neither" for c in plain}


def counting(cells: Row) -> bool:
    """Whether the cells are 0, 1, 2, ... or 1, 2, 3, ..."""
    found = [int(cell) for cell in cells if re.fullmatch(r"[+-]?\d+", cell, re.ASCII)]
    return any(found == list(range(first, first + len(cells))) for first in (0, 1))


def headed(table: list[Row], mark: str) -> bool:
    """Whether the first line names the columns."""
    top, below = table[0], [cell for row in table[1:] for cell in row]
    rest = kinds(top[1:] or top, mark)
    if rest == {"text"} and (top[0] == "" or kinds(top[:1], mark) == {"text"}):
        return True
    integers = any(re.fullmatch(r"[+-]?\d+", cell, re.ASCII) for cell in below)
    if rest != {"number"} or (below and counting(top) and int(top[0]) == 0 and (len(top) > 2 or not integers)):
        raise Rejected("it is not certain whether a table begins with a header")
    return False


def named(head: Row, first: Row, mark: str, plain: bool) -> bool:
    """Whether the first column names the rows; plain: not where it holds numbers."""
    found = kinds(first, mark)
    labels = ("id", "index", "idx", "row", "arm", "arms", "item", "name", "names", "label", "no", "nr", "#")
    if found == {"text"} or (found == {"number"} and (plain or not head)):
        return found == {"text"}
    if found != {"number"} or (not counting(first) if head[0] == "" else head[0].lower() in labels):
        raise Rejected("it is not certain whether the first column of a table names its rows")
    return head[0] == ""


def text_table(text: str, vector: bool) -> tuple[Row, Row, list[Row]]:
    """(columns, names, rows) of a table of text; Rejected wherever the package might take it in another way."""
    found = [c for c in ";\t|" if c in text] or ["," if "," in text else " "]
    by, mark = found[0], "," if "," in text and found[0] != "," else "."
    if len(found) > 1 or text.lower().lstrip().lstrip('"').startswith("sep=") or re.search("[\0-\b\x0e-\x1f]", text):
        raise Rejected("it is not certain what separates the cells of a table")
    lines = (line.strip(" ") if by == " " else line for line in io.StringIO(text.strip("\r\n") + "\n", newline=""))
    table = [[c.strip() for c in row] for row in csv.reader(lines, delimiter=by, skipinitialspace=True, strict=True)]
    head = table.pop(0) if headed(table, mark) else []
    first, width = [row[0] for row in table], len(table[0])
    names = named(head, first, mark, vector or width == 1)
    columns, labels, rows = head[names:], first if names else [], [row[names:] for row in table]
    cells = [cell.replace("\u2212", "-") for row in rows for cell in row]
    if {len(row) for row in [*table, head or table[0]]} != {width} or kinds(cells, mark) != {"number"}:
        raise Rejected("a table has a cell too few, too many, or without a number")
    if any(len(set(x)) < len(x) for x in (columns, labels)) or re.search("[,;|\t]", "".join(columns + labels)):
        raise Rejected("a name in a table comes twice, or looks like several cells")
    # 1,5 may be two numbers or one, unless all are -1, 0 and 1; 1,000 may be one or a thousand.
    integer, unsigned, thousand = r"(.*\s)?[+\u2212-]?\d+", r"\+?\d+([eE][+-]?\d+)?", r"[+-]?[1-9]\d{0,2}(,\d{3})+"
    pairs = width == 2 and all(re.fullmatch(integer, a) and re.fullmatch(unsigned, b) for a, b in table)
    codes = not names and not vector and {*cells} <= {"-1", "0", "1"}
    thousands = all(re.fullmatch(thousand, cell) for cell in cells if "," in cell)
    if (by == "," and pairs and not head and not codes) or (mark == "," and thousands):
        raise Rejected("it is not certain what a comma means in a table")
    values = iter([float(cell.replace(",", ".")) for cell in cells])
    return columns, labels, [[next(values) for _ in row] for row in rows]


def table(path: Path, vector: bool = False) -> tuple[Row, Row, list[Row]]:
    """(columns, names, rows) of an NPY file or a table of text; nothing where there are no names."""
    raw = content(path)
    if raw[:6] == b"\x93NUMPY":
        return [], [], array(raw, vector)
    if path.suffix.lower() == ".npy":
        raise Rejected(f"{path} is no NPY file")
    return text_table(raw.decode("utf-8-sig").removeprefix("\ufeff"), vector)


def matrix(folder: Path, given: Any, width: int = 0) -> tuple[Row, Row, list[Row]]:
    """(columns, names, rows) of exact numbers: from the problem file itself, where nothing is named, or a table beside it."""
    columns, names, rows = table(folder / given) if isinstance(given, str) else ([], [], given)
    exact = [[number(x) for x in row] for row in rows]
    if not exact or not exact[0] or {len(row) for row in exact} != {width or len(exact[0])}:
        raise Rejected("a matrix has no numbers, or rows of a length that does not fit")
    return columns or [f"x{k + 1}" for k in range(len(exact[0]))] * isinstance(given, str), names, exact


def alike(folder: Path, given: Any, arms: Row, d: int, square: bool = False) -> list[Row]:
    """Rows of d exact numbers in the coordinates of the arms; square: each row belongs to one of these as well."""
    columns, rows, exact = matrix(folder, given, d)
    counted = ([f"x{k + 1}" for k in range(d)], [f"column_{k}" for k in range(d)])
    names = arms or [str(k) for k in range(d)]
    for labels in (columns, rows) if square else (columns,):
        # The package would change the order, or refuse, where names are the same in another order, or neither only counts.
        counting_only = not arms or arms in counted or labels in counted
        if labels and labels != names and (not counting_only or {*labels} == {*names}):
            raise Rejected("the coordinates of a table have other names than those of the arms, or another order")
    if square:
        little = Fraction(1e-10) * max(abs(x) for row in exact for x in row)
        if any(abs(exact[a][b] - exact[b][a]) > little for a in range(d) for b in range(a)):
            raise Rejected("a matrix that should be symmetric is not")
        eliminate([[x + little * (a == b) for b, x in enumerate(row)] for a, row in enumerate(exact)])
    return exact


def per_arm(folder: Path, given: Any, names: Row, n: int) -> Row:
    """One exact number per arm, from one for all, a list, or a table by position, by name or by index."""
    if not isinstance(given, list | str):
        return [number(given)] * n
    _, labels, rows = table(folder / given, vector=True) if isinstance(given, str) else ([], [], [[x] for x in given])
    if labels or len(rows[0]) > 1:
        rows = [[label, *row] for label, row in zip(labels, rows, strict=True)] if labels else rows
        place = {name: i for i, name in enumerate(names if labels else range(n))}
        listed = {place[label]: [x] for label, x in rows}
        if len(listed) < len(rows):
            raise Rejected("an arm is listed twice")
        rows = [listed.get(i, [0]) for i in range(n)]
    if len(rows) != n:
        raise Rejected(f"there are {n} arms and {len(rows)} numbers for them")
    return [number(x) for (x,) in rows]


def fields(path: Path) -> dict[str, Any]:
    """The fields of a problem file, all of which its kind knows."""
    p = tomllib.loads(content(path).decode("utf-8-sig"))
    kind = str(p.get("kind"))
    needed = {"arms", "kind", *KINDS.get(kind, "").split()}
    items = {"items", "item_names"} if kind.endswith(("allocation", "oracle")) else set()
    if kind not in KINDS or p.keys() - needed - items - {*COMMON.split()} or needed - p.keys():
        raise Rejected(f"{path}: this checker knows {', '.join(KINDS)}, with their own fields and without constraints")
    held = len(p.keys() & {"existing_counts", "prior_information"})
    if {"noise_variance", "Sigma"} <= p.keys() or held != len(p.keys() & {"n_new"}):
        raise Rejected(f"{path}: two fields say the same, or n_new and the information held do not come together")
    return p


def read(path: Path) -> Problem:
    """The problem that a file states, exactly."""
    p, here = fields(path), path.parent
    kind, (columns, names, xs) = p["kind"], matrix(here, p["arms"])
    n, d, names = len(xs), len(xs[0]), p.get("arm_names", names)
    if names and len({*names}) != n:
        raise Rejected(f"{path}: there must be as many different names as arms")
    given = [p.get(field, usual) for field, usual in (("noise_variance", 1), ("costs", 1), ("existing_counts", 0))]
    (noise, costs, counts), n_new = (per_arm(here, x, names, n) for x in given), number(p.get("n_new", 1))
    if "Sigma" in p:
        noise = [dot(x, [dot(row, x) for row in alike(here, p["Sigma"], columns, d, square=True)]) for x in xs]
    if min(noise + costs) < LEAST or min(counts) < 0 or any(x.denominator > 1 for x in counts) or n_new <= 0:
        raise Rejected(f"{path}: variances, costs and n_new must be positive, counts whole and not negative")
    wanted = [p["direction"]] if kind == "c-optimal" else p.get("targets", p.get("items", p["arms"]))
    units = [[Fraction(a == b) for b in range(d)] for a in range(d)]
    vs = units if kind == "a-optimal" else alike(here, wanted, columns, d)
    if kind == "variance-g-optimal":
        xs = vs = [[x[a] * x[b] * (1 + (a != b)) for a in range(d) for b in range(a, d)] for x in xs]
    unit = math.lcm(*(x.denominator for row in (*xs, *vs) for x in row))
    xs, vs = ([[int(x * unit) for x in row] for row in rows] for rows in (xs, vs))
    d = len(xs[0])
    held = alike(here, p.get("prior_information", [[0] * d] * d), columns, d, square=True)
    past = gram([(c / s, x) for c, s, x in zip(counts, noise, xs, strict=True) if c], d)
    prior = [[((held[a][b] + held[b][a]) * unit**2 / 2 + past[a][b]) / n_new for b in range(d)] for a in range(d)]
    theta = [number(x) / unit for x in p["theta"]] if kind in ORACLES else None
    prices = [s * c for s, c in zip(noise, costs, strict=True)]
    return Problem(kind, xs, prices, vs, prior, theta, number(p.get("threshold", 0)))


def main(arguments: list[str]) -> str | None:
    """Print what is proven, or return why the certificate is rejected."""
    try:
        problem = read(Path(arguments[1]))
        ratio = check(parsed(content(Path(arguments[0]))), problem)
    except (Rejected, *ERRORS) as error:
        return f"rejected: {error or type(error).__name__}"
    share = float(ratio * (1 - Fraction(1, 2**52)))  # rounded down
    return print(f"proven: {'ratio of determinants' if problem.kind == 'd-optimal' else 'efficiency'} at least {share}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
