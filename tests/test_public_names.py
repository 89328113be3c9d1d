"""The public names: listed once, found lazily, hidden by nothing."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import convexdesign as cd

PACKAGES = ["convexdesign"] + [m.name for m in pkgutil.walk_packages(cd.__path__, "convexdesign.") if m.ispkg]


def test_dir_shows_the_public_names_only():
    assert dir(cd) == sorted([*cd.__all__, "__version__"])
    assert len(set(cd.__all__)) == len(cd.__all__)
    for name in cd.__all__:
        assert getattr(cd, name) is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_no_function_hides_a_module(package):
    """`import convexdesign.x.y as z` gives the module y, whatever the package exports."""
    within = import_module(package)
    for module in pkgutil.iter_modules(within.__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            found = import_module(module.name)
            assert getattr(within, module.name.rpartition(".")[2]) is found, module.name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        _ = cd.slove


def test_subpackages_wait_until_they_are_asked_for():
    lazy = ("estimation", "experiment", "explore", "identification", "instances", "plotting", "rigorous", "simulation")
    script = f"import sys, convexdesign as cd; print([m for m in {lazy!r} if f'convexdesign.{{m}}' in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
