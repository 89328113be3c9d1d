"""Readers take regular files of limited size and depth; whatever else a path may be is refused in words."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.matching import read_listing
from convexdesign.problemfile import check_certificate, find, load_problem
from convexdesign.tables import read_table, read_vector
from convexdesign.tables.factors import read_factors

READERS = {
    "table": read_table,
    "vector": lambda path: read_vector(path, 3),
    "factors": read_factors,
    "listing": read_listing,
    "problem": load_problem,
    "design": cd.Design.load,
    "certificate": lambda path: check_certificate(path, find("soare-xy")),
}


@pytest.fixture(params=READERS)
def read(request):
    return READERS[request.param]


def test_folders_missing_files_and_paths_that_are_none(read, tmp_path):
    for path, message in ((tmp_path, "folder"), (tmp_path / "no.csv", "does not exist"), ("a\0b", "give the path")):
        with pytest.raises(cd.InputError, match=message) as caught:
            read(path)
        assert "\0" not in str(caught.value)


@pytest.mark.skipif(sys.platform == "win32", reason="no devices and pipes by name")
def test_devices_and_pipes_are_refused_at_once(read, tmp_path):
    """Reading any of them would never end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link.npy"
    link.symlink_to("/dev/zero")
    for path in (pipe, link, "/dev/zero"):
        with pytest.raises(cd.InputError, match="no regular file"):
            read(path)


def test_sizes_are_limited(read, tmp_path):
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(65 * 2**20)  # sparse
    with pytest.raises(cd.InputError, match="65 MiB; text is read up to 64"):
        read(path)


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 99999999999)}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 2)}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 5000 + b",)}",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3, 2)}",
        b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,)}",
        b"(" * 5000,
        b"\xff\xfe",
    ],
)
def test_broken_npy_headers(header, tmp_path):
    path = tmp_path / "a.npy"
    head = header + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + np.zeros(6).tobytes())
    for read in (read_table, lambda path: read_vector(path, 3)):
        with pytest.raises(cd.InputError, match=r"a\.npy"):
            read(path)


TOO_DEEP = {
    "brackets": "arms = " + "[" * 3000 + "]" * 3000,
    "nested": "arms = " + "[" * 100 + "]" * 100,
    "tables": ".".join("a" * 500) + " = 1",
    "digits": "arms = [[" + "9" * 5000 + "]]",
    "large": "arms = [[" + "9" * 400 + "]]",
}


@pytest.mark.parametrize("text", TOO_DEEP.values(), ids=TOO_DEEP.keys())
def test_toml_without_end(text, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text('title = "t"\nkind = "g-optimal"\n' + text + "\n", encoding="utf-8")
    with pytest.raises(cd.InputError, match=r"p\.toml") as caught:
        load_problem(path)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 5000, "9" * 5000, '{"format": "convexdesign design"}', "nan"]
)
def test_json_without_end(text, tmp_path):
    path = tmp_path / "d.json"
    path.write_text(text, encoding="utf-8")
    for read in (cd.Design.load, READERS["certificate"]):
        with pytest.raises(cd.InputError, match=r"d\.json"):
            read(path)


def test_observations_of_numbers_beyond_int64_are_refused():
    with pytest.raises(cd.InputError):
        Observations([10**30], [0.0], [0.0])
