"""Dependencies point one way: read from the imports themselves."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "convexdesign"

# Lower layers first; a module may import its own layer's package and any lower layer.
LAYERS = (
    ("errors", "decimals", "typing"),
    ("arguments", "extras"),
    ("balls", "digest", "files", "deprecation"),
    ("showing", "result_table"),
    ("features",),
    ("arms",),
    ("problem",),
    ("dual_certificate",),
    ("criteria",),
    ("evaluation",),
    ("roundoff",),
    ("aliasing", "certificate", "rounding", "rigorous", "plotting"),
    ("outcome", "negligible"),
    ("trace",),
    ("frankwolfe",),
    ("programs",),
    ("allowed", "precision", "runs", "stratified", "vertex"),
    ("exact", "saved"),
    ("whole_numbers",),
    ("design", "swaps"),
    ("judging", "warm_start"),
    ("solving",),
    ("verification", "plugin"),
    ("efficiency_table",),
    ("compound",),
    ("regions",),
    ("estimation",),
    ("identification",),
    ("algorithms",),
    ("simulation", "experiment"),
    ("instances", "tables", "matching", "problemfile", "reproduce", "explore", "cli", "__main__"),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = sorted(PACKAGE.rglob("*.py"))


def part(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the full name"
            found.add(node.module or "")
            if node.module == "convexdesign":
                found |= {f"convexdesign.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    here = part(path)
    if here == "__init__":
        return
    assert here in LEVEL, f"{here} has no place in the layers"
    for name in imports(path):
        if not name.startswith("convexdesign."):
            continue
        there = name.split(".")[1]
        if there == here or there not in LEVEL:
            continue
        allowed = LEVEL[there] < LEVEL[here] or (LEVEL[there] == LEVEL[here] == len(LAYERS) - 1)
        assert allowed, f"{here} imports {there}, which lies above or beside it"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_programs_import_cvxpy(path):
    """And criteria: inside the function that builds a program, or in a file of programs that such a function imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {line for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for line in map(id, ast.walk(node))}
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "cvxpy" for name in names):
            late = id(node) in inside or "program" in path.stem
            assert part(path) == "programs" or (part(path) == "criteria" and late)


def test_importing_the_package_imports_nothing_heavy():
    import subprocess
    import sys

    heavy = ("cvxpy", "scipy", "pandas", "matplotlib", "rich", "typer", "pydantic", "narwhals", "joblib", "tqdm")
    script = f"import sys, convexdesign; print([m for m in {heavy!r} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("experiment/*.py")), ids=lambda p: p.name)
def test_the_store_reads_no_private_member_of_an_algorithm(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            private = node.attr.startswith("_") and not node.attr.startswith("__")
            assert not private or node.value.id not in ("algorithm", "draft", "made"), f"{path.name}: {node.attr}"


def test_the_plan_of_the_rooms_shows_every_room():
    plan = (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    missing = {name for names in LAYERS for name in names if not re.search(rf"\b{name}\b", plan)} - {
        "__main__",
        "balls",
        "dual_certificate",
    }
    assert missing == set()
