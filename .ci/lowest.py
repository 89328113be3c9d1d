"""The lowest versions that pyproject.toml admits of what users install, as a constraints file for pip.

    python .ci/lowest.py > constraints-lowest.txt

The tools of the tests and of the documentation (extras `test` and `docs`) are no part of it.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
TOOLS = {"test", "docs"}


def lowest(pyproject: Path = PYPROJECT) -> str:
    """The text of constraints-lowest.txt: `name==version` for every `name>=version`, extras dropped, in order of names."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    extras = [names for extra, names in project["optional-dependencies"].items() if extra not in TOOLS]
    pins = set()
    for requirement in sum(extras, project["dependencies"]):
        found = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement)
        if found is None:
            raise ValueError(f"{requirement!r} states no lower bound of the form name>=version")
        pins.add(f"{found[1]}=={found[2]}")
    return "\n".join(
        ["# The lowest supported versions, written by .ci/lowest.py from pyproject.toml.", *sorted(pins), ""]
    )


if __name__ == "__main__":
    print(lowest(), end="")
