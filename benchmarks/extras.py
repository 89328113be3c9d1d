"""What each extra weighs: the packages it brings beyond those of the bare package, to download and on disk.

    python benchmarks/extras.py [FOLDER]

pip resolves every extra for this Python and this system, and the wheels are fetched into a temporary folder; on disk means
their files as they are unpacked, before Python compiles any. With FOLDER the table is written to FOLDER/extras.md.
"""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from convexdesign.extras import EXTRAS

ROOT = Path(__file__).parents[1]

PAGE = """# What each extra weighs

Made by `python benchmarks/extras.py docs/benchmarks`, {date}, Python {python} on {system}. Megabytes (10^6 bytes) of wheels to
download, and unpacked; an extra is what it adds to the first line. Extras share packages, so that their sums are upper bounds.

{table}
"""


def main() -> None:
    found = resolved(",".join(extra.name for extra in EXTRAS))
    bare = closure(found, "")
    rows = [("convexdesign", "solve, verify, round, simulate, tables, the explorer in the browser", bare)]
    rows += [(f"[{e.name}]", e.what, closure(found, e.name) - bare) for e in EXTRAS]
    sizes: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        wanted = sorted({f"{name}=={found[name]['version']}" for _, _, names in rows for name in names})
        pip("download", "--no-deps", "--only-binary", ":all:", "-d", folder, *wanted)
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as files:
                unpacked = sum(f.file_size for f in files.infolist())
            sizes[canonicalize_name(wheel.name.split("-")[0])] = (wheel.stat().st_size, unpacked)
    lines = ["| install | for | packages | download, MB | on disk, MB |", "|---|---|---|---|---|"]
    for name, what, names in rows:
        download, disk = (sum(sizes[n][k] for n in names) / 1e6 for k in (0, 1))
        lines.append(f"| `{name}` | {what} | {len(names)} | {download:.1f} | {disk:.0f} |")
    print("\n".join(lines))
    if len(sys.argv) > 1:
        page = PAGE.format(
            date=datetime.date.today(),
            python=platform.python_version(),
            system=f"{platform.system()} {platform.machine()}",
            table="\n".join(lines),
        )
        (Path(sys.argv[1]) / "extras.md").write_text(page, encoding="utf-8")


def resolved(extras: str) -> dict[str, Any]:
    """Metadata by name of all that pip would install with these extras."""
    report = pip("install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", f"{ROOT}[{extras}]")
    return {canonicalize_name(i["metadata"]["name"]): i["metadata"] for i in json.loads(report)["install"]}


def closure(found: dict[str, Any], extra: str) -> set[str]:
    """Names of what the package needs with one extra, directly or not, itself apart."""
    seen: set[tuple[str, str]] = set()
    open_ = [("convexdesign", extra), ("convexdesign", "")]
    while open_:
        name, of = here = open_.pop()
        if here in seen or name not in found:
            continue
        seen.add(here)
        for line in found[name].get("requires_dist", []):
            needs = Requirement(line)
            if needs.marker is None or needs.marker.evaluate({"extra": of}):
                open_ += [(canonicalize_name(needs.name), e) for e in ("", *needs.extras)]
    return {name for name, _ in seen} - {"convexdesign"}


def pip(*arguments: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


if __name__ == "__main__":
    main()
