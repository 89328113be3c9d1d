"""Whether a model and its noise are defined everywhere on a region: proven over boxes, or the setting where they are not.

What is undefined over a box (the logarithm of zero, a division by zero, the root of a negative number, an overflow) has
unbounded ends in interval arithmetic. Boxes are halved until all ends are finite, or an inequality of the region is
violated everywhere on them; a setting in floating point that is not finite, or a box too small to halve, names the place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.errors import InputError
from convexdesign.regions.frame import outward
from convexdesign.regions.generalised import GlmCurve, GlmModel, NonlinearCurve, NonlinearModel
from convexdesign.regions.intervals import Interval
from convexdesign.regions.polynomial import Polynomial
from convexdesign.regions.positive import positive_on
from convexdesign.regions.region import Region
from convexdesign.regions.tape import as_tree, values_at
from convexdesign.typing import Floats

if TYPE_CHECKING:
    from convexdesign.regions.model import Curve
    from convexdesign.regions.text import Ratio

__all__ = ["check_curve", "check_curve_over_box", "check_positive", "place"]

MOST_BOXES = 100_000
BATCH = 2048
# Boxes are halved to this share of the region's box.
SMALLEST = 2.0**-40
# A value below this share of the coefficients cannot be told from zero.
TINY = 1e-9
Enclosed = Callable[[dict[str, Interval]], list[Interval]]


def check_positive(region: Region, ratio: Ratio, name: str) -> None:
    """InputError where a noise variance or a cost is not positive somewhere in the region, or may be zero; infinite is allowed.

    Nothing is known, and nothing said, where the polynomials have too many coefficients: the proof of a bound then needs
    a lower bound on the numerator of its own.
    """
    for part, strictly in zip(ratio, (True, False)):
        found = None if part.is_constant and part.constant_term() > 0 else positive_on(region, part, strictly)
        if found is None or found.proven:
            continue
        top, bottom = (float(p.at(np.array([[float(v) for v in found.at]]))[0]) for p in ratio)
        size = float(sum(abs(v) for v in region.scaled(part).values()))
        where = place(region, [float(v) for v in found.at])
        if found.settles:
            value = (
                float(found.value) if part is ratio[0] and ratio[1].is_constant else top / bottom if bottom else np.inf
            )
            raise InputError(f"{name} is {value:g} at {where}; it must be positive everywhere in the region")
        if strictly and abs(float(found.value)) <= TINY * size:
            raise InputError(
                f"{name} cannot be told from zero near {where}; it must be positive everywhere in the region"
            )


def check_curve(curve: Curve | NonlinearCurve) -> None:
    """InputError where the model is not defined at its parameters somewhere in the region."""
    region = curve.region
    for piece, levels in enumerate(region.pieces):
        named = "".join(f", {name} = {value}" for name, value in levels.items())
        if isinstance(curve, NonlinearCurve):
            constants = {name: Interval.of(float(v)) for name, v in curve.constants(piece).items()}
            trees = curve.trees

            def derivatives(settings: dict[str, Interval], own: Any = constants, trees: Any = trees) -> list[Interval]:
                values = {**own, **settings}
                for name, p in region.eliminated:
                    found = as_tree(p).over(values)
                    values[name] = Interval(np.asarray(found.lo), np.asarray(found.hi))
                return [tree.over(values) for tree in trees]

            rows = lambda x, piece=piece: curve.rows(piece, x)  # noqa: E731
            at = undefined_place(region, derivatives, rows)
            if at is not None:
                x, k, value = at
                raise InputError(
                    f"the derivative by {curve.terms[k]} {says(value)} {place(region, x)}{named}; leave such settings out of "
                    "the region, or change theta"
                )
        elif isinstance(curve, GlmCurve):
            check_mean(curve, piece, named)


def check_curve_over_box(model: GlmModel | NonlinearModel, box: Region, region: Region) -> None:
    """InputError where the model is not defined at some parameters of a box somewhere in the region."""
    joint = region * box
    q = region.q
    for piece, levels in enumerate(region.pieces):
        named = "".join(f", {name} = {value}" for name, value in levels.items())
        if isinstance(model, NonlinearModel):
            curve = model.over(region)
            constants = {name: float(v) for name, v in curve.constants(piece).items() if name not in box.names}

            def derivatives(settings: dict[str, Interval], own: Any = constants, trees: Any = curve.trees) -> Any:
                values = {**{name: Interval.of(v) for name, v in own.items()}, **settings}
                for name, part in region.eliminated:
                    found = as_tree(part).over(values)
                    values[name] = Interval(np.asarray(found.lo), np.asarray(found.hi))
                return [tree.over(values) for tree in trees]

            def rows(x: Floats, own: Any = constants, trees: Any = curve.trees) -> Floats:
                values = {**own, **{name: x[:, k] for k, name in enumerate(joint.names)}}
                values |= {name: part.at(x[:, :q]) for name, part in region.eliminated}
                return values_at(trees, values, len(x))

            at = undefined_place(joint, derivatives, rows)
            if at is not None:
                raise InputError(
                    f"the derivative by {curve.terms[at[1]]} {says(at[2])} {place(joint, at[0])}{named}; make the box of "
                    "parameters, or the region, smaller"
                )
            continue
        glm = model.over(region)
        eta = Polynomial.constant(0, joint.names)
        for name, term in zip(box.names, glm.polynomials(piece)):
            eta = eta + Polynomial.variable(name, joint.names) * term.substituted({}, joint.names)
        check_predictor(joint, eta, glm, named, "make the box of parameters, or the region, smaller")


def check_mean(curve: GlmCurve, piece: int, named: str) -> None:
    """The mean of a generalised linear model must be one that its family has, and the information finite."""
    remedy = "choose a theta, or a region, with smaller predictors"
    check_predictor(curve.region, curve.eta(piece), curve, named, remedy)


def check_predictor(region: Region, eta: Polynomial, curve: GlmCurve, named: str, remedy: str) -> None:
    """The same for a linear predictor over a region, of settings or of settings and parameters."""
    model, node = curve.model, curve.weight
    assert isinstance(model, GlmModel)
    assert node is not None
    if model.link == "identity" and model.family in ("poisson", "gamma"):
        found = positive_on(region, eta)
        if found is not None and not found.proven:
            raise InputError(
                f"theta: the mean is {float(found.value):.6g} at {place(region, [float(v) for v in found.at])}{named}; of the "
                f"family {model.family} with the link identity it must be positive everywhere in the region"
            )
        return
    tree = as_tree(eta)

    def weight(settings: dict[str, Interval]) -> list[Interval]:
        return [node.over({"eta": tree.over(settings)})]

    def rows(x: Floats) -> Floats:
        return np.broadcast_to(np.asarray(node.at({"eta": eta.at(x)}), dtype=float), (len(x),))[:, None]

    at = undefined_place(region, weight, rows)
    if at is not None:
        x, _, value = at
        predictor = float(eta.at(np.array([x]).reshape(1, region.q))[0])
        raise InputError(
            f"theta: the information of one measurement {says(value)} {place(region, x)}{named}, where the predictor is "
            f"{predictor:.6g}; {remedy}"
        )


def undefined_place(
    region: Region, enclosed: Enclosed, rows: Callable[[Floats], Floats]
) -> tuple[list[float], int, float] | None:
    """A setting at which an entry of the rows is not finite, its number and value; zero where that is not shown."""
    q = region.q
    if not q:
        values = rows(np.empty((1, 0)))[0]
        bad = np.flatnonzero(~np.isfinite(values))
        return ([], int(bad[0]), float(values[bad[0]])) if bad.size else None
    inequalities = [as_tree(g) for g in region.inequalities]
    ends = [(outward(a, -1), outward(b, 1)) for a, b in zip(region.lower, region.upper)]
    low, high = (np.array([[pair[side] for pair in ends]]) for side in (0, 1))
    width, waiting, count = high[0] - low[0], [(low, high)], 0
    while waiting and count < MOST_BOXES:
        low, high = waiting.pop()
        count += len(low)
        settings = {name: Interval(low[:, k], high[:, k]) for k, name in enumerate(region.names)}
        open_ = np.ones(len(low), dtype=bool)
        for g in inequalities:
            open_ &= ~(np.broadcast_to(g.over(settings).hi, open_.shape) < 0)
        parts = enclosed(settings)
        finite = [np.broadcast_to(np.isfinite(part.lo) & np.isfinite(part.hi), open_.shape) for part in parts]
        open_ &= ~np.all(finite, axis=0)
        if not open_.any():
            continue
        unbounded = np.array([int(np.argmin([own[k] for own in finite])) for k in np.flatnonzero(open_)])
        low, high = low[open_], high[open_]
        middle = np.clip((low + high) / 2.0, low, high)
        found = first_undefined(region, rows, np.vstack([middle, low, high]))
        if found is not None:
            return found
        shares = (high - low) / width
        small = shares.max(axis=1) <= SMALLEST
        if small.any():
            k = int(np.argmax(small))
            if region.inside(middle[k : k + 1])[0]:
                return middle[k].tolist(), int(unbounded[k]), 0.0
        axis, number = np.argmax(shares, axis=1), np.arange(len(low))
        first_high, second_low = high.copy(), low.copy()
        first_high[number, axis] = second_low[number, axis] = middle[number, axis]
        low, high = np.vstack([low, second_low])[~np.tile(small, 2)], np.vstack([first_high, high])[~np.tile(small, 2)]
        # The newest first: a place where something is unbounded is found by halving there.
        waiting += [(low[s : s + BATCH], high[s : s + BATCH]) for s in range(0, len(low), BATCH)]
    return None


def first_undefined(
    region: Region, rows: Callable[[Floats], Floats], x: Floats
) -> tuple[list[float], int, float] | None:
    """The first of the settings inside the region whose row is not finite."""
    x = x[region.inside(x, 0.0)]
    values = rows(x) if len(x) else np.empty((0, 1))
    bad = np.argwhere(~np.isfinite(values))
    if not len(bad):
        return None
    k, entry = (int(v) for v in bad[0])
    return x[k].tolist(), entry, float(values[k, entry])


def says(value: float) -> str:
    """What a number that is not finite lacks, and where."""
    if np.isfinite(value):
        return "cannot be shown to be defined near"
    return "is not finite at" if np.isinf(value) else "is not defined at"


def place(region: Region, x: Sequence[float]) -> str:
    """The setting in words."""
    return ", ".join(f"{name} = {value:.10g}" for name, value in zip(region.names, x)) or "its levels"
