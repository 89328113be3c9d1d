"""What the modules that count promises have in common: their command line, and tables as markdown."""

from __future__ import annotations

import argparse
import hashlib
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["count", "kept_part", "kept_parts", "markdown", "shown", "shows_more", "unfinished", "written"]

T = TypeVar("T")


def count(run: Callable[..., Any], description: str, replications: int) -> None:
    """Call run(output_dir, replications, seed, jobs, progress) as the command line says."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("output_dir", nargs="?", default="docs/validation")
    parser.add_argument("--replications", type=int, default=replications)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--progress", action=argparse.BooleanOptionalAction, default=sys.stderr.isatty())
    options = parser.parse_args()
    name = Path(sys.argv[0]).stem
    with unfinished(options.output_dir, name, options.replications, options.seed):
        run(options.output_dir, options.replications, options.seed, options.jobs, options.progress)


def written(
    output_dir: str | Path, name: str, tables: Iterable[pd.DataFrame], page: Callable[[pd.DataFrame], str]
) -> list[Path]:
    """NAME.csv and NAME.md, anew after every table: a count that is cut off leaves what it has; their paths."""
    paths = [Path(output_dir) / f"{name}.{kind}" for kind in ("csv", "md")]
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    for table in tables:
        table.to_csv(paths[0], index=False)
        paths[1].write_text(page(table), encoding="utf-8")
    return paths


def shows_more(wrong: int, runs: int, rate: float) -> bool:
    """Whether so many wrong runs show, at level 1e-3, that more than this rate of all are (Clopper and Pearson)."""
    from scipy.stats import beta

    return wrong > 0 and bool(beta.ppf(1e-3, wrong, runs - wrong + 1) > rate)


class _Store:
    """Results of parts in the order in which they are asked for, on disk as they come."""

    def __init__(self, file: IO[bytes], found: list[Any]) -> None:
        self.file = file
        self.found = found
        self.asked = 0

    def known(self) -> bool:
        """Whether the next part was found before."""
        return self.asked < len(self.found)

    def next(self) -> Any:
        self.asked += 1
        return self.found[self.asked - 1]

    def add(self, result: Any) -> None:
        pickle.dump(result, self.file)
        self.file.flush()
        self.found.append(result)


_store: _Store | None = None


@contextmanager
def unfinished(output_dir: str | Path | None, name: str, *identity: Any) -> Iterator[None]:
    """Within it, `kept_part` and `kept_parts` keep what they find in output_dir/.NAME.unfinished; a later run goes on there.

    The file is gone when the run is done. It is not used by a run of another identity, or of other code.
    """
    global _store
    if output_dir is None:
        yield
        return
    path = Path(output_dir) / f".{name}.unfinished"
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = (name, identity, _code())
    found = _read(path, mark)
    with path.open("r+b" if found is not None else "w+b") as file:
        if found is None:
            pickle.dump(mark, file)
            file.flush()
        else:
            file.seek(0, 2)
            if found:
                print(f"going on after {len(found)} parts found before ({path})", file=sys.stderr)
        _store = _Store(file, found or [])
        try:
            yield
        finally:
            _store = None
    path.unlink()


def kept_part(compute: Callable[[], T]) -> T:
    """compute(), or what it gave when the run was cut off later; parts are told apart by their order."""
    if _store is None:
        return compute()
    if not _store.known():
        _store.add(compute())
    result: T = _store.next()
    return result


def kept_parts(calls: Iterable[Any], jobs: int | None, batch_size: Any = "auto") -> Iterator[Any]:
    """The results of joblib's delayed calls, in order; each is kept as it comes."""
    from joblib import Parallel

    store, left = _store, iter(calls)
    while store is not None and store.known():
        next(left)
        yield store.next()
    for result in Parallel(n_jobs=jobs, return_as="generator", batch_size=batch_size)(left):
        if store is not None:
            store.add(result)
            store.next()
        yield result


def _code() -> str:
    """A digest of this folder's programs and of the package."""
    import convexdesign

    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(convexdesign.__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(path: Path, mark: Any) -> list[Any] | None:
    """What the file holds, cut back to whole results; None where there is none of this mark."""
    if not path.exists():
        return None
    found: list[Any] = []
    with path.open("r+b") as file:
        try:
            if pickle.load(file) != mark:
                return None
        except (EOFError, pickle.UnpicklingError, AttributeError, ImportError):
            return None
        whole = file.tell()
        try:
            while True:
                found.append(pickle.load(file))
                whole = file.tell()
        except (EOFError, pickle.UnpicklingError, AttributeError, ImportError, IndexError):
            file.truncate(whole)
    return found


def shown(found: Iterable[T], total: int, label: str, wanted: bool | None = None) -> Iterator[T]:
    """What is found, with a bar on standard error that says how long the rest will take; by default in terminals alone."""
    from tqdm import tqdm

    yield from tqdm(found, total=total, desc=label, disable=None if wanted is None else not wanted)


def markdown(frame: pd.DataFrame, digits: int = 4) -> str:
    """The frame as a markdown table: so many digits, large numbers whole with thousands separated."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
        return str(value)

    lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * frame.shape[1]]
    lines += ["| " + " | ".join(cell(v) for v in row) + " |" for row in frame.itertuples(index=False)]
    return "\n".join(lines)
