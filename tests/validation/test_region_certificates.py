"""A seeded share of the count of certificates over random regions, and controls: what is false is seen."""

import dataclasses

import numpy as np
import pytest
import region_certificates as judged

import convexdesign as cd
from convexdesign.regions import everywhere
from convexdesign.regions.exchange import Search


@pytest.mark.parametrize("number", [0, 1, 2, 4, 5])
def test_nothing_claimed_is_false(number):
    assert judged.judge(number, seed=0)["false"] == ""


@pytest.mark.parametrize(
    ("field", "factor", "seen"), [("most", 0.999, {"sample", "bernstein"}), ("value", 1.01, {"value"})]
)
def test_the_judge_sees_what_is_false(field, factor, seen, monkeypatch):
    def forged(problem, **options):
        design = solve(problem, **options)
        c = design.certificate
        return dataclasses.replace(design, certificate=dataclasses.replace(c, **{field: getattr(c, field) * factor}))

    solve = cd.solve
    monkeypatch.setattr(cd, "solve", lambda problem, **options: (forged if options else solve)(problem, **options))
    assert set(judged.judge(0, seed=0)["false"].split()) >= seen


def test_a_search_that_is_lost_is_never_certified(monkeypatch):
    # A search that never leaves |x| <= 1/2 finds the optimum there; the proof knows the whole square.
    def near(self, piece, B, starts, most, priced=True):
        x = np.clip(starts, -0.5, 0.5)
        height = self.sensitivity(piece, B, x, priced)
        order = np.argsort(-height, kind="stable")[:most]
        return x[order], height[order]

    def inside(self):
        return [np.clip(x, -0.5, 0.5) for x in spread(self)]

    spread = Search._spread
    monkeypatch.setattr(Search, "_spread", inside)
    monkeypatch.setattr(Search, "best_near", near)
    monkeypatch.setattr(everywhere, "MOST_CELLS", 4)
    problem = cd.DesignProblem.d_optimal(cd.Model.polynomial(["a", "b"], 2).over(cd.Region.box(a=(-1, 1), b=(-1, 1))))
    with pytest.warns(cd.ConvergenceWarning):
        design = cd.solve(problem, tol=1e-4)
    assert design.status is not cd.Status.CERTIFIED
    assert (design.points[["a", "b"]].abs() <= 0.5).all(axis=None)
    assert design.certificate.found == pytest.approx(6, rel=1e-4)  # optimal, as far as the search could see
    assert design.gap > 0.5
    assert design.bound >= -4.471776419  # that of the whole square
