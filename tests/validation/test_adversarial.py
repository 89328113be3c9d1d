"""A seeded sample of the standing adversary; `make validate` runs ten thousand problems."""

import pytest
from adversarial import KINDS, judge

# Fourteen problems, one of every kind, a test: the numbers of a full count, so that what fails here can be looked at there.
SAMPLES = range(6)


@pytest.mark.parametrize("sample", SAMPLES)
def test_nothing_claimed_is_false(sample):
    rows = [judge(number, seed=0) for number in range(sample * len(KINDS), (sample + 1) * len(KINDS))]
    assert [row for row in rows if row["false"]] == []


# What a full count once found false: phi of ill-conditioned arms, twins within rounding, a master problem that stalls.
FOUND = (184, 688, 4277, 7628)


@pytest.mark.parametrize("number", FOUND)
def test_what_was_found_stays_mended(number):
    assert judge(number, seed=0)["false"] == ""


def test_the_judge_sees_what_is_false(monkeypatch):
    """Controls: a bound that is moved, a value that is moved, weights that are moved after the fact are each noticed."""
    import dataclasses

    import adversarial

    import convexdesign as cd

    real = cd.solve

    def lying(change):
        def solve(problem, **options):
            return change(real(problem, **options))

        return solve

    def moved_bound(design):
        certificate = dataclasses.replace(design.certificate, bound=design.certificate.bound * (1 + 1e-5))
        return dataclasses.replace(design, certificate=certificate)

    def moved_value(design):
        certificate = dataclasses.replace(design.certificate, value=design.certificate.value * (1 + 1e-5))
        return dataclasses.replace(design, certificate=certificate)

    def moved_weights(design):
        return dataclasses.replace(design, weights=0.9 * design.weights + 0.1 / design.weights.size)

    for change in (moved_bound, moved_value, moved_weights):
        monkeypatch.setattr(cd, "solve", lying(change))
        assert adversarial.judge(0, seed=0)["false"]
