"""A sample of the forgeries: none is believed; and the forger is no fool, for faults put back are found by it."""

from __future__ import annotations

import copy
import json
from collections import Counter
from fractions import Fraction

import forgeries
import numpy as np
import pytest

import convexdesign as cd
from convexdesign.criteria import average
from convexdesign.rigorous import check


@pytest.mark.parametrize("what", ["certificate", "saved design"])
def test_no_forgery_is_believed(what):
    first = 0 if what == "certificate" else 1
    rows = [forgeries.forge(number, seed=15) for number in range(first, 160, 2)]
    assert {row["what"] for row in rows} == {what}
    outcomes = Counter(row["outcome"] for row in rows)
    assert set(outcomes) == {"refused", "true"}, [row for row in rows if row["outcome"] not in ("refused", "true")]
    assert min(outcomes.values()) > 8  # neither is all that happens


def test_every_kind_is_forged_in_every_way():
    assert {base.name.split(",")[0] for base in forgeries.certified()} == set(check.KINDS)
    assert {name.split(",")[0] for name, _ in forgeries.saved()} >= set(check.KINDS) | {
        "e-optimal",
        "ds-optimal",
        "i-optimal",
    }
    rows = [forgeries.forge(number, seed=16) for number in range(60)]
    made = {name for row in rows for name in row["how"].split(", ") if name}
    every = (*forgeries.CERTIFICATE_FORGERS, *forgeries.TEXT_FORGERS, *forgeries.SAVED_FORGERS)
    assert len(made & {forger.__name__ for forger in every}) > 15


def test_targets_that_count_as_often_as_they_are_named_would_be_found(monkeypatch, tmp_path):
    honest = dict(forgeries.saved())["a-optimal"]
    document, path = copy.deepcopy(honest), tmp_path / "design.json"
    document |= {"support": [0, 1, 2, 3, 4], "weights": [0.3, 0.2, 0.2, 0.1, 0.2]}
    scale = forgeries.met(document, times=3)
    targets, vectors = document["witness"]["targets"], np.array(document["witness"]["vectors"])
    rows = np.vstack([vectors, scale * vectors, scale * vectors]).tolist()
    path.write_text(json.dumps(document | {"witness": {"targets": targets * 3, "vectors": rows}}))
    assert forgeries.judged_design(cd.Design.load(path))["outcome"] == "true"
    monkeypatch.setattr(average, "summed_by_target", lambda targets, vectors, _: (targets, vectors))
    found = forgeries.judged_design(cd.Design.load(path))
    assert found["outcome"] == "accepted"
    assert "CERTIFIED to" in found["why"]


@pytest.mark.parametrize("base", forgeries.OWN_FIELDS)
def test_a_ratio_above_the_truth_is_told_from_one_below(base, tmp_path):
    """A poor design, whose efficiency the honest certificate proves to eight digits."""
    stated = next(other for other in forgeries.certified() if other.name == f"{base}, noise")
    document, path = stated.documents[1], stated.write(tmp_path)
    ratio = check.check(document, check.read(path))
    assert ratio < Fraction(99, 100)
    for factor, outcome in ((1, "true"), (1 - Fraction(1, 10**6), "true"), (1 + Fraction(1, 10**6), "accepted")):
        assert forgeries.judged_certificate(document, ratio * factor, path)["outcome"] == outcome
