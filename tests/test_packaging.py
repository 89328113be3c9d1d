"""The wheel is complete: it carries the types marker and the problem library, and works where nothing else is.

The source distribution holds what `make` needs besides.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("--wheel", tmp_path_factory.mktemp("wheel"))


def build(kind, target):
    # No isolation: the build backend is among the test requirements, so that no network is needed.
    command = [sys.executable, "-m", "build", kind, "--no-isolation", "--outdir", str(target), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = target.iterdir()
    return made


def test_the_source_distribution_holds_what_is_run_and_built_from_source(tmp_path):
    with tarfile.open(build("--sdist", tmp_path)) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {
        "validation/durability/crowd.py",
        "validation/identification_promise.py",
        "benchmarks/warm_start.py",
    } <= names
    assert {
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "Makefile",
        "constraints.txt",
        "constraints-lowest.txt",
        "tests/test_packaging.py",
        "docs/conf.py",
    } <= names


def test_the_wheel_holds_package_types_and_library(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "convexdesign/py.typed" in names
    assert {"convexdesign/explore/explorer.js", "convexdesign/explore/explorer.css"} <= set(names)
    problems = [n for n in names if n.startswith("convexdesign/library/") and n.endswith(".toml")]
    assert len(problems) == len(list((ROOT / "problems").glob("*.toml"))) >= 18
    assert all(n.startswith(("convexdesign/", "convexdesign-")) for n in names)


def test_an_installed_wheel_lists_and_solves_its_library(wheel, tmp_path):
    import venv

    # The environment sees this one's dependencies, but not this checkout: the wheel's own package comes first.
    venv.create(tmp_path / "env", with_pip=False, system_site_packages=False)
    python = tmp_path / "env" / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = tmp_path / "env" / "lib" / version / "site-packages"
    zipfile.ZipFile(wheel).extractall(site)
    outer = Path(subprocess.__file__).parent / "site-packages"
    paths = [p for p in sys.path if p.endswith("site-packages")] or [str(outer)]
    (site / "dependencies.pth").write_text("\n".join(paths) + "\n")
    script = (
        "import convexdesign, json\n"
        "from convexdesign import problemfile\n"
        "assert 'site-packages/convexdesign' in convexdesign.__file__, convexdesign.__file__\n"
        "assert problemfile.__file__.startswith(convexdesign.__file__.removesuffix('__init__.py'))\n"
        "from convexdesign.cli import main\n"
        "main(['solve', 'hexagon-xy', '--json'])\n"
    )
    run = subprocess.run([str(python), "-E", "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert '"CERTIFIED"' in run.stdout.upper().replace("'", '"')
    listing = subprocess.run(
        [str(python), "-E", "-m", "convexdesign.cli", "problems", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert listing.returncode == 0, listing.stderr
    assert listing.stdout.count("hexagon-xy") >= 1
