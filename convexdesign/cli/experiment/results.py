"""Files of results: one line a measurement or one a batch and arm, each with a key."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from convexdesign.cli.experiment.opening import labels, some
from convexdesign.cli.observing import opened
from convexdesign.errors import InputError
from convexdesign.experiment.conversions import SAME, half_digit, put_right, summed
from convexdesign.experiment.parsing import LONGEST_KEY
from convexdesign.tables.cells import THOUSANDS
from convexdesign.tables.dialect import DELIMITERS

if TYPE_CHECKING:
    from convexdesign.experiment import Experiment

__all__ = ["ResultsFile", "read_results"]

SINGLE = ("arm", "reward")
SUMMARY = ("arm", "count", "mean")
SPREADS = ("m2", "variance")
SUCCESSES = ("successes", "conversions")
COLUMNS = ("key", "batch", "arm", "reward", "count", "mean", *SPREADS, *SUCCESSES)
# What a line holds that holds nothing.
BLANK = "\ufeff\"' \t\r\n,;|"
# Counts are kept in 64 bits.
MOST_PULLS = 2**63 - 1


@dataclass(frozen=True, eq=False)
class ResultsFile:
    """What a file holds: single rewards as keys, arms (indices), rewards and batches (None where the file says nothing);
    or summaries by key, each with its batch and rows (arm, count, mean, m2). rounded: where digits were put right."""

    source: str
    single: bool
    keys: list[str]
    batches: list[int | None]
    arms: list[int]
    rewards: list[float]
    summaries: dict[str, tuple[int | None, list[tuple[int, int, float, float]]]]
    rounded: list[str]


def read_results(
    source: str, x: Experiment, prefix: str | None, delimiter: str | None = None, decimal: str | None = None
) -> ResultsFile:
    """Read a CSV file, or standard input for "-".

    Columns: key, arm and reward; or key, arm, count, mean, and m2 or variance; of rewards of two values key, arm, count, and
    mean or successes. A column batch is read where there is one. prefix: without a column of keys, lines are called PREFIX-1,
    PREFIX-2, ... delimiter: what the header is separated by if None. decimal: a point if None, or a comma where something
    else separates cells. Raises InputError naming the line.
    """
    marks = _Marks(source, decimal)
    with _opened(source) as stream:
        first, before = stream.readline(), 0
        while first and not first.strip(BLANK):  # as spreadsheets leave them
            first, before = stream.readline(), before + 1
        mark = delimiter_of(first) if delimiter is None else delimiter
        if len(mark) != 1 or mark in '"\r\n':
            raise InputError(f"--delimiter is {mark!r}; give one character, such as ; or a tab")
        marks.free = decimal is None and mark != ","
        reader = csv.reader(chain([first], stream), delimiter=mark, strict=True)
        header = _header(next(reader, []))
        values = x.two_values
        single = _is_single(source, header, two_valued=values is not None)
        if "key" not in header and prefix is None:
            raise InputError(
                f"{source} has no column 'key', so that telling it twice could count twice; add one, or name its lines "
                "with --key-prefix (another one for every file)"
            )
        found = ResultsFile(source, single, [], [], [], [], {}, [])
        arms, keys = _Names(labels(x.arm_names, x.n_arms)), _Keys(x)
        number = 0
        for row in reader:
            if not any(map(str.strip, row)):
                continue  # as spreadsheets write rows of empty cells
            number += 1
            line = _Line(source, before + reader.line_num, header, row, marks)
            key = keys.of(line) if "key" in header else f"{prefix}-{number}"
            batch = line.whole("batch") if "batch" in header else None
            arm = arms.index(line)
            if single:
                found.keys.append(key)
                found.batches.append(batch)
                found.arms.append(arm)
                found.rewards.append(line.number("reward"))
            else:
                ends = None if values is None else (float(values[0][arm]), float(values[1][arm]))
                _add(found, line, key, batch, arm, ends)
    if number == 0:
        raise InputError(f"{source} holds no result")
    marks.refuse_thousands()
    return found


def _header(names: list[str]) -> list[str]:
    """The names of the columns, those that are known in small letters however they are written."""
    plain = [name.strip() for name in names]
    return [name.lower() if name.lower() in COLUMNS and name.lower() not in plain else name for name in plain]


def delimiter_of(line: str) -> str:
    """What separates the names in a header: the mark that gives a column of arms, else a comma."""
    for mark in DELIMITERS:
        if "arm" in (name.strip().strip('"').strip().lower() for name in line.lstrip("\ufeff").split(mark)):
            return mark
    return DELIMITERS[0]


class _Marks:
    """The decimal mark of a file: the one said, or found out where it may be a comma (free) from the numbers."""

    def __init__(self, source: str, decimal: str | None) -> None:
        if decimal not in (None, ".", ","):
            raise InputError(f"--decimal must be '.' or ',', got {decimal!r}")
        self.source = source
        self.decimal = decimal or "."
        self.free = self.guessed = False
        self.commas = ""
        self.certain = False

    def plain(self, text: str) -> str:
        """A number's text with a decimal point."""
        if self.free and ("," in text or "." in text):
            # The first number with a mark says which one it is.
            self.decimal, self.free, self.guessed = ("," if "," in text else "."), False, True
        if self.decimal == "," and "." not in text:
            if "," in text:
                self.commas = self.commas or text
                self.certain = self.certain or not THOUSANDS.fullmatch(text)
            return text.replace(",", ".")
        # A point where commas are the marks is no number; float() would take it for one.
        return text if self.decimal == "." else text.replace(".", "?")

    def refuse_thousands(self) -> None:
        """InputError where all commas that were found might separate thousands."""
        if self.guessed and self.commas and not self.certain:
            raise InputError(
                f"{self.source}: every comma is followed by three digits, as in {self.commas!r}: pass --decimal , if it is "
                "the decimal mark, and otherwise remove the separators"
            )


def _is_single(source: str, header: list[str], two_valued: bool) -> bool:
    twice = [name for name in COLUMNS if header.count(name) > 1]
    if twice:
        raise InputError(f"{source} has the column {twice[0]!r} twice; leave one of them out")
    if {"reward", "count"} <= set(header):
        raise InputError(f"{source} has both columns reward and count; give single rewards, or counts and means")
    if set(SINGLE) <= set(header):
        return True
    numbers = [name for name in SUCCESSES if name in header]
    if numbers and not two_valued:
        raise InputError(
            f"{source} has a column {numbers[0]}, and the noise is not bernoulli; give mean and m2 or variance"
        )
    if len(numbers) > 1 or (numbers and "mean" in header):
        both = " and ".join([*numbers, "mean"][:2])
        raise InputError(f"{source} has both columns {both}; leave one of them out")
    if {"arm", "count"} <= set(header) and numbers:
        return False
    if set(SUMMARY) <= set(header) and (two_valued or set(SPREADS) & set(header)):
        return False
    enough = "; of noise bernoulli key, arm, count and mean or successes are enough" if two_valued else ""
    raise InputError(
        f"{source}: the header is {','.join(header)!r}; it needs key, arm and reward (one line a measurement), or key, "
        f"arm, count, mean and m2 or variance (one line an arm){enough}"
    )


def _add(
    found: ResultsFile, line: _Line, key: str, batch: int | None, arm: int, ends: tuple[float, float] | None
) -> None:
    """One arm's counts, mean and sum of squares, among those of its key. ends: the two values that its rewards may have."""
    count = line.whole("count")
    if count == 0:
        return
    column = next((name for name in SUCCESSES if name in line.header), None)
    if column is not None:
        assert ends is not None
        number = line.whole(column)
        if number > count:
            raise InputError(f"{line.place}: {column} is {number:,}, of {count:,} in all; correct the row")
        mean, m2 = summed(*ends, count, number)
    else:
        mean, m2 = _mean_and_squares(found, line, count, ends)
    known, rows = found.summaries.setdefault(key, (batch, []))
    if known != batch:
        raise InputError(f"{line.place}: key {key!r} is of two batches, {known} and {batch}")
    if any(row[0] == arm for row in rows):
        raise InputError(f"{line.place}: key {key!r} has this arm twice; give each part a key of its own")
    rows.append((arm, count, mean, m2))


def _mean_and_squares(
    found: ResultsFile, line: _Line, count: int, ends: tuple[float, float] | None
) -> tuple[float, float]:
    """What a line says of its rewards; of two values what is left out follows, and what was rounded is put right."""
    mean = line.number("mean")
    spread = next((name for name in SPREADS if name in line.header), None)
    given = None if spread is None else _squares(line, spread, count)
    if ends is None:
        assert given is not None
        return mean, given
    if count == 1:
        return mean, 0.0
    # What a variance was multiplied by: some programs divide by all, and not by all but one.
    ways = (count - 1, count) if spread == "variance" else (1,)
    for times in ways:
        m2 = None if given is None or spread is None else given / ways[0] * times
        slack = 0.0 if spread is None else times * half_digit(line.plain(spread))
        right = put_right(*ends, count, mean, m2, mean_slack=half_digit(line.plain("mean")), m2_slack=slack)
        if right is None:
            continue
        if mean == right[0] and (given is None or abs(given - right[1]) <= SAME * right[1]):
            return mean, right[1] if given is None else given
        number = round(count * (right[0] - ends[0]) / (ends[1] - ends[0]))
        digits = "mean" if spread is None else f"mean or {spread}"
        found.rounded.append(
            f"{line.place}: digits of {digits} were rounded; what {number:,} of {count:,} give exactly was taken"
        )
        return right
    if given is not None:
        return mean, given
    if ends[0] <= mean <= ends[1]:
        share = count * (mean - ends[0]) / (ends[1] - ends[0])
        raise InputError(
            f"{line.place}: mean {line.text('mean')} of {count:,} makes {share:.6g} successes, no whole number; write more "
            "digits, or the number in a column successes"
        )
    return mean, 0.0


def _squares(line: _Line, spread: str, count: int) -> float:
    if count > 1:
        m2 = line.number(spread) * (1 if spread == "m2" else count - 1)
        if m2 < 0:
            raise InputError(
                f"{line.place}: {spread} is {line.text(spread)!r}, not a number of at least 0; correct the row"
            )
        return m2
    if line.text(spread).lower() in ("", "nan", "na", "null") or line.number(spread) == 0:
        return 0.0  # of one measurement there is no more to say, and some programs say nothing
    raise InputError(f"{line.place}: {spread} is {line.text(spread)!r}, but one measurement does not vary")


class _Line:
    """One line of the file; errors name it."""

    def __init__(self, source: str, number: int, header: list[str], row: list[str], marks: _Marks) -> None:
        self.marks = marks
        self.place = f"{source}, line {number}"
        self.header = header
        if len(row) != len(header):
            raise InputError(f"{self.place}: {len(row)} cells, but the header has {len(header)}")
        self.cells = dict(zip(header, row))

    def text(self, column: str) -> str:
        return self.cells[column].strip()

    def plain(self, column: str) -> str:
        """The text of a number, with a decimal point."""
        return self.marks.plain(self.text(column))

    def number(self, column: str) -> float:
        try:
            value = float(self.plain(column).replace("_", "?"))  # Python would read 1_0 as 10
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"{self.place}: {column} is {self.text(column)!r}, not a finite number; correct the row")
        return value

    def whole(self, column: str) -> int:
        text = self.text(column)
        # Programs that know missing values write whole numbers as 12.0.
        ends = (".0", ",0") if self.marks.free else (f"{self.marks.decimal}0",)
        digits = text[:-2] if text.endswith(ends) else text
        if not digits.isdecimal() or len(digits) > 20 or int(digits) > MOST_PULLS:
            raise InputError(f"{self.place}: {column} is {text[:60]!r}, not a whole number up to 2^63; correct the row")
        return int(digits)


class _Names:
    """Arms by their names: as they are, or but for blanks around them where that can only mean one."""

    def __init__(self, called: list[str]) -> None:
        self.called = called
        self.exact = {name: i for i, name in enumerate(called)}
        self.stripped: dict[str, list[int]] = {}
        for i, name in enumerate(called):
            self.stripped.setdefault(name.strip(), []).append(i)

    def index(self, line: _Line) -> int:
        """The arm of a line."""
        raw = line.cells["arm"]
        if raw in self.exact:
            return self.exact[raw]
        found = self.stripped.get(raw.strip(), [])
        if len(found) == 1:
            return found[0]
        if found:
            names = " and ".join(repr(self.called[i]) for i in found)
            raise InputError(f"{line.place}: arm {raw!r} may be {names}, which differ by blanks; write it as it is")
        raise InputError(f"{line.place}: arm {raw.strip()!r} is unknown; the arms are {some(self.called)}")


class _Keys:
    """Keys without the blanks around them, but for keys that were told with blanks; two are never taken for one."""

    def __init__(self, x: Experiment) -> None:
        self.x = x
        self.written: dict[str, str] = {}

    def of(self, line: _Line) -> str:
        """The key of a line."""
        raw = line.cells["key"]
        key = raw.strip()
        if raw != key and raw.isprintable() and 0 < len(raw) <= LONGEST_KEY and self.x.batch_told(raw) is not None:
            return raw
        if self.written.setdefault(key, raw) != raw:
            raise InputError(
                f"{line.place}: the keys {self.written[key]!r} and {raw!r} differ by blanks alone; give each result a key of "
                "its own, or one result one key"
            )
        return key


@contextmanager
def _opened(source: str) -> Iterator[IO[Any]]:
    """The text of a file, or of standard input, read alike: strictly UTF-8, without a byte-order mark, lines ended in any way.

    What is no CSV in UTF-8 becomes an InputError.
    """
    try:
        with opened(source) as stream:
            yield io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    except UnicodeDecodeError:
        raise InputError(f"{source} is not UTF-8 text; save it as CSV in UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{source} is not a table of comma-separated values: {error}") from None
