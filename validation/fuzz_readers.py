"""A hundred thousand broken files: every reader answers with what it read, or with an error in words.

Valid inputs of every reader (problem files, CSV in several dialects, NPY, saved designs, certificates, observations, results of
experiments, formulas) are mutated: bytes are flipped, pieces cut out, doubled, moved and exchanged between files, and replaced
by what breaks parsers (integers of thousands of digits, brackets without end, NUL, other marks and encodings). A reader passes
where it returns or raises a ConvexDesignError. It fails by any other exception, by taking longer than SECONDS, and by memory
beyond MOST_MEMORY.

    python validation/fuzz_readers.py docs/validation --count 100000 --seed 0 --jobs 2
    python validation/fuzz_readers.py --only 123        # one input again, with its traceback
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import random
import re
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from counting import kept_parts, markdown, shown, unfinished, written

import convexdesign as cd

__all__ = ["READERS", "Outcome", "TooLongError", "judge", "limited", "mutated", "run"]

COUNT = 100_000
SECONDS = 20
MOST_MEMORY = 6 * 2**30
CERTIFIED_PROBLEM = "line-d"

Read = Callable[[Path], Any]


@dataclass(frozen=True)
class Reader:
    """A reader, valid inputs for it, and the ending of their names."""

    read: Read
    seeds: tuple[bytes, ...]
    suffix: str = ".csv"


@dataclass(frozen=True)
class Outcome:
    """What a reader made of one input: "read", "refused" or "failed", and for a failure its kind and its traceback."""

    reader: str
    verdict: str
    kind: str = ""
    detail: str = ""


# ------------------------------------------------------------------ valid inputs

TABLES = tuple(
    text.encode(encoding)
    for text, encoding in (
        ("name,one,x\na,1,2.5\nb,1,3.5\nc,1,-4e-2\n", "utf-8"),
        ("name;one;x\na;1;2,5\nb;1;3,5\nc;1;-4\n", "utf-8"),
        ("1\t2.5\n1\t3.5\n2\t7\n", "utf-16"),
        ('"one" "x"\n"a" 1 2.5\n"b" 1 3.5\n"c" 1 7\n', "latin-1"),
        ("x,y\r\n1,2\r\n3,4\r\n5,\u22126\r\n", "utf-8-sig"),
        ('colour,dose,size\nred,0.5,"1"\nblue,2,"2"\n"deep, blue",3,4\n', "utf-8"),
        ("a,b,weight\n-1,0,0.25\n1,1,0.5\n0,1,0.25\n", "utf-8"),
    )
)
FACTORS = (TABLES[0], *TABLES[3:], b"supplier|x|y\nu|1|2\nv|1|2\nu|2|3\n")
VECTORS = (b"0.25\n0.5\n0.25\n", b"arm,weight\na,0.25\nb,0.5\nc,0.25\n", b"arm;share\n0;0,5\n2;0,5\n")
OBSERVATIONS = (
    b"arm,reward\na,1.5\nb,2\na,0.25\nc,-1\n",
    b"arm;reward\na;1.5\nb;2\nc;0.25\n",
    b"arm,count,mean,m2\na,3,0.5,1.25\nb,2,1,0\n",
    b"arm,count,mean,variance\nc,3,0.5,1.25\na,2,1,0\n",
)
RESULTS = (
    b"key,arm,reward\nk1,a,1.5\nk2,b,2\nk3,a,0.25\n",
    b"key,batch,arm,count,mean,m2\nk1,1,a,3,0.5,1.25\nk1,1,b,2,1,0\n",
    b"key;arm;reward\nk1;a;1,5\nk2;b;2\n",
)
FORMULAS = (
    b"1 + a + b + a:b + a**2",
    b"(a + b + `feed rate`)**2 - a:b",
    b"C(kind, Treatment('y'))*a + log(b)",
    b"0 + poly(a, 2) + center(b)/kind + I(a / (b + 1)**2)",
    b"bs(b, df=4) + sqrt(b) %in% kind",
)
PROBLEM = b"""title = "t"
kind = "best-arm-oracle"
arms = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
arm_names = ["a", "b", "c"]
theta = [1.0, 0.25]
noise_variance = [1.0, 2.0, 3.0]
costs = 2.0
max_weight = [0.9, 0.9, 0.9]
inequalities = { G = [[1.0, 1.0, 0.0]], h = [0.95] }
"""
RESPONSES = b"""title = "t"
kind = "d-optimal"
arms = [[[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]]
noise_variance = [[[1.0, 0.5], [0.5, 2.0]]]
existing_counts = [1, 2]
n_new = 5
"""

TABLE = pd.DataFrame(
    {
        "a": [-1.0, 0, 1, 2, 3],
        "b": [1.0, 0.5, 2, 5, 3],
        "feed rate": [0.5, 1, 2, 4, 8],
        "kind": list("xyzxy"),
    }
)


def npy(values: Any, **options: Any) -> bytes:
    """The bytes of an NPY file."""
    stream = BytesIO()
    np.save(stream, np.asarray(values, **options))
    return stream.getvalue()


ARRAYS = (npy([[1.0, 2], [3, 4]]), npy([[1, 2], [3, 4]], order="F"), npy([[1.0, 2, 3]], dtype="f4"))
LISTINGS = (
    TABLES[6],
    b"1 1 2\n-1 0 1\n1 1 3\n",
    b"a;b;count\n-1;0;2\n0;1;5\n",
    b"arm,proportion\n0,0.5\n2,0.5\n",
    npy([[-1.0, 0, 0.5], [0, 1, 0.5]]),
)


def saved_designs() -> tuple[bytes, ...]:
    """Designs as `save` writes them."""
    problems = (
        cd.DesignProblem.d_optimal([[1, 0], [0, 1], [1, 1]]),
        cd.DesignProblem.xy_allocation(pd.DataFrame(np.eye(2), index=["a", "b"]), noise_variance=[1.0, 2.0]),
        cd.DesignProblem.average_variance([[1, 0], [0, 1], [1, 1]], np.eye(2), max_weight=0.6),
    )
    with tempfile.TemporaryDirectory() as folder:
        out = []
        for problem in problems:
            path = Path(folder) / "design.json"
            cd.solve(problem).save(path)
            out.append(path.read_bytes())
        return tuple(out)


def certificates() -> tuple[bytes, ...]:
    """A certificate as `certify` writes it."""
    from convexdesign.problemfile import find, write_certificate

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        write_certificate(find(CERTIFIED_PROBLEM), path)
        return (path.read_bytes(),)


@cache
def experiment() -> cd.Experiment:
    """An experiment that has asked for its first batch."""
    algorithm = cd.identification.MartingaleElimination(pd.DataFrame(np.eye(3), index=list("abc")), rng=0)
    # Open until this process ends; its folder goes with it.
    folder = tempfile.TemporaryDirectory()
    KEPT.append(folder)
    x = cd.Experiment.create(Path(folder.name) / "x.db", algorithm)
    x.ask()
    return x


KEPT: list[Any] = []


# ------------------------------------------------------------------ readers


@cache
def readers() -> dict[str, Reader]:
    """Every reader of files and texts, with valid inputs."""
    from convexdesign.cli.experiment.results import read_results
    from convexdesign.cli.observing import read_observations
    from convexdesign.features import model_matrix
    from convexdesign.matching import match_design, read_listing
    from convexdesign.problemfile import check_certificate, find, load_problem
    from convexdesign.tables import read_table, read_vector
    from convexdesign.tables.factors import read_factors

    certified = find(CERTIFIED_PROBLEM)

    def formula(path: Path) -> Any:
        return model_matrix(TABLE, path.read_bytes().decode("utf-8", "surrogateescape"))

    def observations(path: Path) -> Any:
        return read_observations(
            str(path), 3, ("a", "b", "c"), arm="arm", reward="reward", delimiter=None, decimal=None
        )

    return {
        "table": Reader(read_table, TABLES),
        "array": Reader(read_table, ARRAYS, ".npy"),
        "vector": Reader(lambda path: read_vector(path, 3, names=["a", "b", "c"]), (*VECTORS, npy([1.0, 2, 3]))),
        "factors": Reader(read_factors, FACTORS),
        "listing": Reader(lambda path: match_design([[-1, 0], [1, 1], [0, 1]], read_listing(path)), LISTINGS),
        "problem": Reader(
            lambda path: load_problem(path).problem(),
            (PROBLEM, RESPONSES, *(find(name).read_bytes() for name in ("line-d", "soare-xy", "parabola-ds"))),
            ".toml",
        ),
        "design": Reader(cd.Design.load, saved_designs(), ".json"),
        "certificate": Reader(lambda path: check_certificate(path, certified), certificates(), ".json"),
        "observations": Reader(observations, OBSERVATIONS),
        "results": Reader(lambda path: read_results(str(path), experiment(), "file"), RESULTS),
        "formula": Reader(formula, FORMULAS, ".txt"),
    }


READERS = (
    "table",
    "array",
    "vector",
    "factors",
    "listing",
    "problem",
    "design",
    "certificate",
    "observations",
    "results",
    "formula",
)


# ------------------------------------------------------------------ mutations

BREAKING = (
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x1b[31m",
    b'"',
    b"'",
    b"`",
    b"\\",
    b"\n",
    b"\r",
    b"\r\n",
    b",",
    b";",
    b"\t",
    b" ",
    b"|",
    b".",
    b"-",
    "\u2212".encode(),
    "\u202e".encode(),
    b"#",
    b"nan",
    b"NaN",
    b"inf",
    b"-Infinity",
    b"1e999",
    b"1e-400",
    b"-0.0",
    b"0x10",
    b"1_000",
    b"1.000,5",
    b"9" * 400,
    b"9" * 5000,
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[" * 2000,
    b"(" * 60,
    b'{"a":' * 500,
    b"[[1.0]]",
    b'"text"',
    b"1979-05-27T07:32:00Z",
    b"-1",
    b"0",
    b"1e300",
    b"18446744073709551616",
    b"__import__('os')",
    b"a" * 3000,
    b"=",
    b"= 1\n",
    b"\nkind = ",
    b"**",
    b"^9",
    b":",
    b"(",
    b")",
    b"~",
)
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def mutated(seed: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """A valid input after one to six changes."""
    data = seed
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 6))):
        data = rng.choice(CHANGES)(data, others, rng)[: 2**20]
    return data


def _place(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 1, 2, 4, 16, 64)))


def flipped(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """One byte of any value."""
    start, _ = _place(data, rng)
    return data[:start] + bytes([rng.randrange(256)]) + data[start + 1 :]


def cut(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """A piece is missing."""
    start, end = _place(data, rng)
    return data[:start] + data[end:]


def ended(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """The file ends before it should."""
    return data[: rng.randrange(len(data) + 1)]


def doubled(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """A piece comes again, here or elsewhere."""
    start, end = _place(data, rng)
    at = rng.choice((start, rng.randrange(len(data) + 1)))
    return data[:at] + data[start:end] * rng.choice((1, 1, 2, 50)) + data[at:]


def inserted(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """Something that breaks parsers, between or instead."""
    start, end = _place(data, rng)
    return data[:start] + rng.choice(BREAKING) + data[rng.choice((start, end)) :]


def renumbered(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """Another number, or none, in place of one."""
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    number = rng.choice(found)
    return data[: number.start()] + rng.choice(BREAKING) + data[number.end() :]


def spliced(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """The beginning of one input and the end of another."""
    other = rng.choice(others)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def exchanged(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """Lines in another order, one of them away."""
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines[rng.randrange(2) :])


def recoded(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """Another encoding, or other ends of lines."""
    with suppress(UnicodeError):
        return rng.choice(
            (
                lambda: data.decode().encode("utf-16"),
                lambda: data.decode().encode("utf-32"),
                lambda: data.decode().encode("utf-16-le"),
                lambda: data.replace(b"\n", b"\r"),
                lambda: data.replace(b",", b";"),
                lambda: data.replace(b"true", b"false").replace(b"e", b"E"),
            )
        )()
    return data


CHANGES = (
    flipped,
    flipped,
    cut,
    ended,
    doubled,
    inserted,
    inserted,
    renumbered,
    renumbered,
    spliced,
    exchanged,
    recoded,
)


# ------------------------------------------------------------------ judging


class TooLongError(BaseException):
    """The time is over; no reader may catch it."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """TooLongError after so many seconds, where the system has timers."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def input_of(number: int, seed: int) -> tuple[str, bytes]:
    """The reader and the bytes of an input, by its number alone."""
    rng = random.Random(f"{seed} {number}")
    name = READERS[number % len(READERS)]
    seeds = readers()[name].seeds
    return name, mutated(rng.choice(seeds), seeds, rng)


def judge(number: int, seed: int, folder: Path) -> Outcome:
    """What the reader makes of one input."""
    name, data = input_of(number, seed)
    path = folder / f"input{readers()[name].suffix}"
    path.write_bytes(data)
    try:
        with warnings.catch_warnings(), limited(SECONDS):
            warnings.simplefilter("ignore")
            readers()[name].read(path)
    except cd.ConvexDesignError as error:
        return Outcome(name, "refused" if str(error) else "failed", "" if str(error) else "an error without words")
    except TooLongError:
        return Outcome(name, "failed", f"longer than {SECONDS} s", traceback.format_exc())
    except Exception as error:
        return Outcome(name, "failed", type(error).__name__, traceback.format_exc())
    return Outcome(name, "read")


def judge_part(numbers: range, seed: int) -> list[tuple[int, Outcome]]:
    """`judge_all` in a process of its own, which may not take more memory than MOST_MEMORY."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    return judge_all(numbers, seed)


def judge_all(numbers: range, seed: int) -> list[tuple[int, Outcome]]:
    """The outcomes of some inputs."""
    with tempfile.TemporaryDirectory() as folder:
        return [(number, judge(number, seed, Path(folder))) for number in numbers]


def fuzz(
    name: str,
    heads: tuple[str, str, str],
    names: Iterable[str],
    part: Callable[[range, int], list[tuple[int, Outcome]]],
    page: Callable[[pd.DataFrame], str],
    output_dir: str | None,
    count: int,
    seed: int,
    jobs: int,
) -> list[dict[str, Any]]:
    """Judge so many inputs and write NAME.csv and its page; one row for each of the names, whose column failed must be zero.

    heads: what rows are of, what is counted, and what is said of inputs that pass, as in ("reader", "inputs", "read").
    """
    import joblib

    who, what, passed = heads
    numbers = [range(start, min(start + 500, count)) for start in range(0, count, 500)]
    done = kept_parts((joblib.delayed(part)(some, seed) for some in numbers), jobs)
    outcomes = list(itertools.chain.from_iterable(shown(done, len(numbers), f"{what}, by 500")))
    for number, outcome in [pair for pair in outcomes if pair[1].verdict == "failed"][:20]:
        print(f"{what} {number}, {outcome.reader}: {outcome.kind}\n{outcome.detail}", file=sys.stderr)
    tally, verdicts = (
        Counter((outcome.reader, outcome.verdict) for _, outcome in outcomes),
        (passed, "refused", "failed"),
    )
    rows = [
        {who: one, what: sum(tally[one, verdict] for verdict in verdicts)}
        | {verdict: tally[one, verdict] for verdict in verdicts}
        for one in names
    ]
    frame = pd.DataFrame(rows)
    print(markdown(frame))
    if output_dir is not None:
        written(output_dir, name, [frame], page)
    return rows


def command(
    description: str,
    name: str,
    count: int,
    run: Callable[..., list[dict[str, Any]]],
    one: Callable[[int, int], Outcome],
) -> int:
    """The command line of such a program: all inputs, or one again, told by its number and the seed; what the shell is told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("output_dir", nargs="?")
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", type=int, help="One input again.")
    options = parser.parse_args()
    if options.only is not None:
        outcome = one(options.only, options.seed)
        print(outcome.verdict, outcome.kind, outcome.detail, sep="\n")
        return int(outcome.verdict == "failed")
    with unfinished(options.output_dir, name, options.count, options.seed):
        rows = run(options.output_dir, options.count, options.seed, options.jobs)
    return int(any(row["failed"] for row in rows))


def run(output_dir: str | None, count: int = COUNT, seed: int = 0, jobs: int = 1) -> list[dict[str, Any]]:
    """Judge so many inputs and write fuzz-readers.csv and its page; one row a reader, whose column failed must be zero."""
    from fuzz_readers import judge_part as part_of  # by name, so that processes share nothing

    part, pages = judge_all if jobs == 1 else part_of, partial(page, count=count, seed=seed)
    return fuzz("fuzz-readers", ("reader", "inputs", "read"), READERS, part, pages, output_dir, count, seed, jobs)


def page(frame: pd.DataFrame, count: int, seed: int) -> str:
    """The page of the table."""
    return f"""# Broken files

Valid inputs of every reader, mutated: bytes flipped, pieces cut, doubled, moved and exchanged between files, numbers replaced
by what breaks parsers. A reader passes where it returns, or says in words what is wrong (`ConvexDesignError`); any other
exception, more than {SECONDS} seconds, and more memory than {MOST_MEMORY // 2**30} GiB are failures. {count:,} inputs,
{int(frame["failed"].sum())} failures.

{markdown(frame)}

Written by `python validation/fuzz_readers.py docs/validation --count {count} --seed {seed}` on
{datetime.datetime.now(datetime.UTC).date().isoformat()}.
"""


def main() -> int:
    def one(number: int, seed: int) -> Outcome:
        ((_, outcome),) = judge_all(range(number, number + 1), seed)
        print(input_of(number, seed)[1][:2000], outcome.reader, sep="\n")
        return outcome

    what = "Give every reader a share of a hundred thousand broken inputs."
    return command(what, "fuzz_readers", COUNT, run, one)


if __name__ == "__main__":
    sys.exit(main())
