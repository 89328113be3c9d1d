"""Proofs over regions in rational arithmetic: what a certificate states is found here, and proven by `rigorous.check_region`.

Nothing here is trusted. Vectors b_j, settings and weights are doubles, read as the fractions they are; settings are moved into
the region where rounding has left it. The squares of a relaxation, rounded to whole numbers over a power of two, are squares
again, and what is left of the identity is expanded exactly: its coefficients are added to nu by the checker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, frexp, lcm
from typing import Any

import numpy as np

from convexdesign.errors import InputError
from convexdesign.regions.criteria import Vectors
from convexdesign.regions.design import RegionDesign
from convexdesign.regions.model import Curve
from convexdesign.regions.polynomial import Polynomial
from convexdesign.regions.problem import RegionProblem
from convexdesign.regions.proof import RegionProver, Relaxation, named_constraints
from convexdesign.regions.search import inner_points, maximise, spread_points
from convexdesign.regions.sum_of_squares import Bound
from convexdesign.rigorous import check_region
from convexdesign.typing import Floats, Indices

__all__ = ["ExactEfficiency", "exact_efficiency", "exact_problem", "region_certificate"]

# Bits kept of the entries of squares, beside the largest, and of lambda.
ROOT_BITS = 50
MOST_BITS = 64
DEEPEST = 14
# By what share a bound proven again may be larger: the solver's last digits depend on where the search for the design began.
AGAIN = 1e-7
# What a conversion to doubles may lose.
ROUNDED = Fraction(1, 2**52)
# Relative room below a least eigenvalue, and above the inverse of A for G.
ROOM = Fraction(1, 10**11)
SPARE = Fraction(1, 10**9)
NAMES = {
    "DesignProblem": "minimax",
    "g_optimal": "g-optimal",
    "d_optimal": "d-optimal",
    "ds_optimal": "ds-optimal",
    "a_optimal": "a-optimal",
    "i_optimal": "i-optimal",
    "average_variance": "average-variance",
    "c_optimal": "c-optimal",
    "e_optimal": "e-optimal",
    "xy_allocation": "xy-allocation",
    "level_set_allocation": "level-set-allocation",
}
Row = list[Any]


def exact_problem(problem: RegionProblem) -> check_region.RegionStatement:
    """The problem as the checker knows it, every double read as the fraction it is."""
    if not (problem.is_polynomial and isinstance(problem.curve, Curve)):
        raise InputError("a proof in rational arithmetic is for polynomial models; of others intervals are the proof")
    region, curve, fields = problem.region, problem.curve, problem.fields
    q, d = region.q, curve.d
    f = [[dict(p.terms) for p in curve.polynomials(k)] for k in range(len(region.pieces))]
    g: list[check_region.Poly] = []
    for k, boxed in enumerate(region.boxed):
        if boxed:
            x = check_region.variable(k, q)
            g.append(check_region.plus(x, check_region.constant(region.lower[k], q), -1))
            g.append(check_region.plus(check_region.constant(region.upper[k], q), x, -1))
    g += [dict(p.terms) for p in region.inequalities]
    one = check_region.constant(1, q)
    price = (one, one) if problem.price is None else (dict(problem.price[0].terms), dict(problem.price[1].terms))
    prior = fractions_of(np.zeros((d, d)) if problem.prior is None else problem.prior)
    if problem.n_new is not None:
        prior = [[x / Fraction(problem.n_new) for x in row] for row in prior]
    aim: dict[str, list[Row]] = {}
    if "M" in fields:
        aim["M"] = fractions_of(fields["M"])
    if "interest" in fields:
        aim["interest"] = fractions_of(fields["interest"])
    if "direction" in fields:
        aim["targets"] = fractions_of(fields["direction"][None, :])
    for name in ("targets", "items"):
        if name in fields:
            aim["targets"] = fractions_of(fields[name])
    if problem.kind == "xy_allocation":
        aim["targets"] = [[a - b for a, b in zip(v, w)] for v in aim["targets"] for w in aim["targets"]]
    return check_region.RegionStatement(NAMES[problem.kind], q, f, g, price, prior, aim)


def fractions_of(values: Floats) -> list[Row]:
    """Doubles as fractions."""
    return [[Fraction(x) for x in row] for row in np.asarray(values, dtype=float).tolist()]


def region_certificate(
    design: RegionDesign, exact: check_region.RegionStatement | None = None, runs: bool = False
) -> dict[str, Any]:
    """What the checker reads, checked.

    exact: the problem as the checker has read it from a file; by default that of the design.
    runs: whether the weights say how often each setting is run, and not which share of the budget it has.
    """
    problem = exact_problem(design.problem) if exact is None else exact
    writer = _Writer(design, problem)
    document = writer.bound()
    document["settings"] = [
        {"piece": int(piece), "at": [check_region.hexadecimal(v) for v in x]} for piece, x in writer.settings()
    ]
    settings = [(s["piece"], [check_region.fraction(x) for x in s["at"]]) for s in document["settings"]]
    document["weights"] = whole(spent(design.problem, settings, design.weights) if runs else design.weights)
    document |= {"format": check_region.FORMAT, "kind": problem.kind, "data": problem.digest(), "value": "0/1"}
    A = check_region.information(problem, settings, document["weights"])
    if problem.kind == "e-optimal":
        document["value"] = check_region.hexadecimal(least_eigenvalue(A))
    value, bound = check_region.recompute(problem, document)
    document |= {"value": check_region.hexadecimal(value), "bound": check_region.hexadecimal(bound)}
    document["digest"] = check_region.base.sha256(document)
    check_region.check(document, problem)
    return document


@dataclass(frozen=True)
class ExactEfficiency:
    """Both ends of the efficiency, proven; of determinants as ratios of them, whose roots of the order `root` count."""

    low: Fraction
    high: Fraction
    root: int

    @property
    def interval(self) -> tuple[float, float]:
        """As doubles, rounded outwards."""
        low, high = float(self.low * (1 - ROUNDED)), float(self.high * (1 + ROUNDED))
        if self.root > 1:
            low, high = low ** (1 / self.root) * (1 - 2.0**-50), high ** (1 / self.root) * (1 + 2.0**-50)
        return min(low, 1.0), min(high, 1.0)


def exact_efficiency(design: RegionDesign, where: Indices, x: Floats, counts: Floats) -> ExactEfficiency:
    """The efficiency of settings with counts, exactly as given: from the bound of a design, and from what that reaches."""
    problem = exact_problem(design.problem)
    keep = np.flatnonzero(counts > 0)
    settings = [(int(where[k]), [Fraction(v) for v in x[k].tolist()]) for k in keep]
    shares = spent(design.problem, settings, counts[keep])
    A = check_region.information(problem, settings, shares)
    root = problem.d if problem.kind == "d-optimal" else 1
    root = len(problem.aim["interest"][0]) if problem.kind == "ds-optimal" else root
    try:
        if problem.kind == "g-optimal":
            return ExactEfficiency(*worst_variances(design, problem, settings, shares, A), 1)
        writer = _Writer(design, problem)
        value = exact_value(problem, A)
    except check_region.Rejected:
        return ExactEfficiency(Fraction(0), Fraction(0), root)
    best = check_region.information(problem, writer.settings(), whole(design.weights))
    document = writer.bound()
    B, Q = check_region.form(problem, document["vectors"])
    most = check_region.fraction(document["most"])
    if check_region.most_everywhere(problem, Q, document) > most:
        raise AssertionError("the squares do not prove what they were rounded for")
    bound = check_region.bound_of(
        problem, B, Q, most + check_region.trace(Q, problem.prior), document["vectors"].get("targets", [])
    )
    reached, above = exact_value(problem, best), value
    if problem.kind == "e-optimal":
        above = rayleigh(A)
    if problem.kind in check_region.MAXIMISED:
        return ExactEfficiency(value / bound, above / reached, root)
    return ExactEfficiency(bound / value, reached / above, root)


def spent(problem: RegionProblem, settings: list[tuple[int, Row]], counts: Floats) -> list[Fraction]:
    """What the runs of each setting cost together; their number where runs have no costs."""
    out = [Fraction(n) for n in counts.tolist()]
    if problem.cost is None:
        return out
    top, bottom = (dict(p.terms) for p in problem.cost)
    prices = [(check_region.value_at(top, at), check_region.value_at(bottom, at)) for _, at in settings]
    if any(a <= 0 or b <= 0 for a, b in prices):
        raise check_region.Rejected("a cost is not positive at a setting")
    return [n * a / b for n, (a, b) in zip(out, prices)]


def exact_value(problem: check_region.RegionStatement, A: list[Row]) -> Fraction:
    """The criterion; of E a bound from below."""
    return check_region.value_of(problem, A, least_eigenvalue(A) if problem.kind == "e-optimal" else None)


def worst_variances(
    design: RegionDesign,
    problem: check_region.RegionStatement,
    settings: list[tuple[int, Row]],
    weights: list[Fraction],
    A: list[Row],
) -> tuple[Fraction, Fraction]:
    """Of G: the optimum over the largest variance of the settings, proven, and over one at a setting."""
    frame = design.problem.adapted.frame
    plain = np.array([[float(v) for v in row] for row in A])
    h = frame.matrix(plain)
    level, vectors = np.linalg.eigh((h + h.T) / 2)
    if not level[0] > 1e-12 * level[-1]:
        raise check_region.Rejected("singular")
    root = (vectors / np.sqrt(level)).T
    x = np.array([[float(v) for v in at] for _, at in settings]).reshape(len(settings), -1)
    where = [piece for piece, _ in settings]
    share = np.array([float(w) for w in weights])
    adapted = design.problem.adapted
    prover = RegionProver(frame, adapted.price)
    best, peaks = 0.0, []
    for piece in range(len(adapted.region.pieces)):

        def height(u: Floats, piece: int = piece) -> Floats:
            return np.asarray(np.sum((frame.piece_rows(piece, u, False) @ root.T) ** 2, axis=1))

        starts = spread_points(adapted.region, design.problem.curve.degree, np.random.default_rng(0), 50)
        top = maximise(height, adapted.region, starts, 1, None if not adapted.region.inequalities else lambda u: u)[0]
        peaks.append((piece, design.problem.region.coordinates(adapted.region.table([piece], top))[1][0]))
        p, charge = prover.polynomial(piece, root)
        bounds = [prover.bound(piece, p, charge, relaxation) for relaxation in prover.hierarchy(p)[:2]]
        best = max(best, min((bound.value for bound in bounds if bound is not None), default=np.inf))
    own = replace(design.certificate, vectors=Vectors(root, np.arange(len(root))), most=best * (1.0 + 1e-9))
    writer = _Writer(replace(design, where=where, x=x, weights=share / share.sum(), certificate=own), problem)
    document = writer.bound()
    _, Q = check_region.form(problem, document["vectors"])
    most = check_region.fraction(document["most"])
    if check_region.most_everywhere(problem, Q, document) > most:
        raise AssertionError("the squares do not prove what they were rounded for")
    value, bound = check_region.worst_variance(problem, A, Q, most)
    heights = [variance_at(problem, A, piece, at) for piece, at in [*settings, *writer.inside(peaks)]]
    return bound / value, bound / max(heights)


def variance_at(problem: check_region.RegionStatement, A: list[Row], piece: int, x: Row) -> Fraction:
    """f(x)'A^-1 f(x)."""
    f = [check_region.value_at(p, x) for p in problem.f[piece]]
    return Fraction(check_region.base.dot(f, [check_region.base.dot(row, f) for row in check_region.inverse(A, [f])]))


def rayleigh(A: list[Row]) -> Fraction:
    """An upper bound on the least eigenvalue."""
    v = [Fraction(x) for x in np.linalg.eigh(np.array([[float(x) for x in row] for row in A]))[1][:, 0].tolist()]
    dot = check_region.base.dot
    return Fraction(dot(v, [dot(row, v) for row in A])) / Fraction(dot(v, v))


class _Writer:
    """The parts of a certificate of one design."""

    def __init__(self, design: RegionDesign, exact: check_region.RegionStatement):
        if not design.certificate.kind.startswith("sum of") or design.certificate.vectors is None:
            raise InputError(
                f"the bound is proven by {design.certificate.kind}; in rational arithmetic it can be by sums of squares"
            )
        self.design, self.exact = design, exact
        self.stated = design.problem
        self.problem = design.problem.adapted
        self.q = self.problem.region.q
        self.x = self.coordinates()

    def coordinates(self) -> list[check_region.Poly]:
        """The factors as linear polynomials of u, |u| <= 1."""
        region, q = self.problem.region, self.q
        x: list[check_region.Poly] = []
        gone = dict(region.eliminated)
        for k, name in enumerate(self.stated.region.names):
            if self.problem is self.stated:
                unit = check_region.variable(k, q)
                x.append(check_region.plus(check_region.constant(region.centre[k], q), unit, region.half[k]))
            else:
                x.append(dict(gone[name].terms))
        return x

    def bound(self) -> dict[str, Any]:
        """Vectors, coordinates, squares and lambda."""
        vectors = self.vectors()
        document: dict[str, Any] = {"vectors": vectors, "frame": self.frame()}
        _, Q = check_region.form(self.exact, vectors)
        prover = RegionProver(self.problem.frame, self.problem.price)
        self.numbers = self.matched()
        pieces = range(len(self.problem.region.pieces))
        document["pieces"] = [self.cell(prover, piece, 0) for piece in pieces]
        most = check_region.most_everywhere(self.exact, Q, document)
        size = 2 ** max(MOST_BITS - frexp(float(most))[1], 0)
        return document | {"most": check_region.hexadecimal(Fraction(ceil(most * size), size))}

    def vectors(self) -> dict[str, Any]:
        """B, or C, in the coordinates of the model: R' is exact."""
        found = self.design.certificate.vectors
        assert found is not None
        R = fractions_of(self.problem.frame.R)
        B = found.B
        if self.exact.kind in check_region.AVERAGES:
            L = self.design.finite.contrast_matrix
            once = np.zeros((L.shape[1], B.shape[1]))
            np.add.at(once, found.targets, B)
            C = check_region.multiplied(check_region.transposed(R), fractions_of(once.T @ np.linalg.pinv(L)))
            return over_a_power_of_two(check_region.multiplied(C, R))
        rows = check_region.multiplied(fractions_of(B), R)
        if self.exact.kind == "g-optimal":
            rows = [[x * (1 + SPARE) for x in row] for row in rows]
        out = over_a_power_of_two(rows)
        return out | {"targets": found.targets.tolist()} if self.exact.kind in check_region.TARGETED else out

    def frame(self) -> dict[str, Any]:
        """x = c + Hu with what shows that |u| <= 1."""
        q = self.q
        zero = (0,) * q
        units = [next(iter(check_region.variable(k, q))) for k in range(q)]
        g = [check_region.composed(p, self.x, q) for p in self.exact.g]
        return {
            "centre": [check_region.hexadecimal(p.get(zero, Fraction(0))) for p in self.x],
            "axes": [[check_region.hexadecimal(p.get(unit, Fraction(0))) for unit in units] for p in self.x],
            "walls": [wall(k, g, units, zero) for k in range(q)],
        }

    def matched(self) -> list[tuple[int, Fraction]]:
        """Of every inequality of the adapted region its number in the exact problem, and by what that is larger."""
        q, region = self.q, self.problem.region
        own = [check_region.composed(p, self.x, q) for p in self.exact.g]
        u = {
            name: Polynomial.constant(region.centre[k], region.names)
            + Polynomial.constant(region.half[k], region.names) * Polynomial.variable(name, region.names)
            for k, name in enumerate(region.names)
        }
        listed = {tuple(sorted(unit_of(p).items())): (k, size_of(p)) for k, p in reversed(list(enumerate(own)))}
        out = []
        for inequality in region.inequalities:
            p = dict(inequality.substituted(u, region.names).terms)
            place, size = listed[tuple(sorted(unit_of(p).items()))]
            out.append((place, size / size_of(p)))
        return out

    def cell(self, prover: RegionProver, piece: int, depth: int) -> dict[str, Any]:
        """The squares of a relaxation that suffices, or two halves."""
        assert self.design.certificate.vectors is not None
        p, charge = prover.polynomial(piece, self.design.certificate.vectors.B)
        enough = self.design.certificate.most * (1.0 + AGAIN)
        best: tuple[Relaxation, Bound] | None = None
        for relaxation in prover.hierarchy(p)[: 2 if depth else None]:
            bound = prover.bound(piece, p, charge, relaxation)
            if bound is not None and (best is None or bound.value < best[1].value):
                best = relaxation, bound
            if best is not None and best[1].value <= enough:
                break
        if best is None or (best[1].value > enough and depth < DEEPEST):
            if depth >= DEEPEST:
                raise InputError("the bound of the design could not be proven again in rational arithmetic")
            axis = max(range(self.q), key=lambda k: prover.region.half[k] / self.problem.region.half[k])
            region = self.problem.region
            at = (prover.region.centre[axis] - region.centre[axis]) / region.half[axis]
            low, high = (self.cell(half, piece, depth + 1) for half in prover.halves)
            return {"cut": axis, "at": check_region.hexadecimal(at), "low": low, "high": high}
        share = max(p.values(), key=abs) / max(prover.top.values(), key=abs)
        scale = 2.0 ** -round(float(np.log2(abs(share))))
        out = {"squares": self.squares(prover, *best, scale)}
        if not prover.plain:
            prover.positive()
            if prover.of_price is None:
                raise InputError("noise and cost are not shown to be positive by sums of squares")
            out["price"] = self.squares(prover, *prover.of_price, 1.0)
        return out

    def squares(self, prover: RegionProver, relaxation: Relaxation, bound: Bound, scale: float) -> dict[str, Any]:
        """nu and the squares; those of the solver belong to p times `scale`."""
        known = {
            frozenset(scaled.items()): (names, whole_)
            for names, scaled, whole_ in named_constraints(prover.region, relaxation.products)
        }
        out = []
        for square in bound.squares:
            if not square.root.size:
                continue
            names, size = known.get(frozenset(square.constraint.items()), ((), Fraction(1)))
            listed = []
            for name in names:
                if name[0] == "g":
                    place, factor = self.numbers[int(name[1:])]
                    size, name = size * factor, f"g{place}"
                listed.append(name)
            root = square.root / np.sqrt(float(size) * scale)
            bits = max(ROOT_BITS - frexp(float(np.abs(root).max()))[1], 0)
            entries = [[round(v) for v in row] for row in np.ldexp(root, bits).tolist()]
            out.append({"times": listed, "basis": square.basis.tolist(), "bits": bits, "root": entries})
        return {"nu": check_region.hexadecimal(Fraction(bound.nu) / Fraction(scale)), "sum": out}

    def settings(self) -> list[tuple[int, Row]]:
        """The design's settings."""
        return self.inside(list(zip(self.design.where, self.design.x)))

    def inside(self, settings: Sequence[tuple[int, Floats]]) -> list[tuple[int, Row]]:
        """Settings moved into the region where rounding has left it."""
        region = self.stated.region
        if not self.q:
            return [(int(piece), []) for piece, _ in settings]
        inner = inner_points(region, 200, np.random.default_rng(0))
        middle = inner.mean(axis=0)
        low, high = np.array(region.lower, dtype=float), np.array(region.upper, dtype=float)
        out = []
        for piece, x in settings:
            out.append((int(piece), self.moved(x, [middle, *inner], high - low)))
        return out

    def moved(self, x: Floats, towards: Sequence[Floats], width: Floats) -> Row:
        """The setting itself, or one a little nearer to the first of some others for which that helps."""
        for share in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8):
            for other in towards[: 1 if not share else None]:
                step = (other - x) / max(float(np.abs((other - x) / width).max()), 1e-300)
                at = [Fraction(v) for v in (x + share * step).tolist()]
                if all(check_region.value_at(g, at) >= 0 for g in self.exact.g):
                    return at
        raise InputError(f"the setting {x.tolist()} could not be moved into the region by a share of 1e-8")


def wall(k: int, g: list[check_region.Poly], units: list[Any], zero: Any) -> dict[str, Any]:
    """Multipliers that show |u_k| <= 1: of linear inequalities, or of a ball."""
    from scipy.optimize import linprog

    flat = [i for i, p in enumerate(g) if all(sum(key) <= 1 for key in p)]
    out: dict[str, Any] = {}
    for side, sign in (("above", 1), ("below", -1)):
        slopes = [[g[i].get(unit, Fraction(0)) for unit in units] for i in flat]
        wanted = [Fraction(-sign * (j == k)) for j in range(len(units))]
        level = [g[i].get(zero, Fraction(0)) for i in flat]
        if not flat:
            break
        size = [max(abs(v) for v in row) for row in slopes]
        matrix = np.array([[float(v / s) for v in row] for row, s in zip(slopes, size)]).T
        found = linprog(
            [float(v / s) for v, s in zip(level, size)], A_eq=matrix, b_eq=[float(v) for v in wanted], method="highs"
        )
        chosen = [i for i in range(len(flat)) if found.status == 0 and found.x[i] > 1e-9]
        y = combination([slopes[i] for i in chosen], wanted)
        if y is None or min(y) < 0 or 1 - sum(m * level[i] for m, i in zip(y, chosen)) < 0:
            break
        out[side] = {str(flat[i]): check_region.hexadecimal(m) for i, m in zip(chosen, y) if m}
    if len(out) == 2:
        return out
    for i, p in enumerate(g):
        if p.get(zero, Fraction(0)) > 0 and max(sum(key) for key in p) == 2:
            share = 1 / p[zero]
            rest = check_region.plus({zero: Fraction(1), tuple(2 * n for n in units[k]): Fraction(-1)}, p, -share)
            if all(sum(key) == 2 and max(key) == 2 and value > 0 for key, value in rest.items()):
                return {"square": {str(i): check_region.hexadecimal(share)}}
    raise InputError("the region is not shown to lie within its box by its own inequalities")


def combination(columns: list[Row], wanted: Row) -> Row | None:
    """y with sum y_i columns_i = wanted, exactly, or None."""
    n = len(columns)
    rows = [[*(column[j] for column in columns), wanted[j]] for j in range(len(wanted))]
    place, pivots = 0, []
    for k in range(n):
        pivot = next((i for i in range(place, len(rows)) if rows[i][k]), None)
        if pivot is None:
            continue
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [x / rows[place][k] for x in rows[place]]
        for i in range(len(rows)):
            if i != place and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[place])]
        pivots.append(k)
        place += 1
    if any(row[-1] for row in rows[place:]):
        return None
    y = [Fraction(0)] * n
    for row, k in zip(rows, pivots):
        y[k] = row[-1]
    return y


def size_of(p: Mapping[Any, Fraction]) -> Fraction:
    """The sum of the absolute coefficients."""
    return sum((abs(value) for value in p.values()), Fraction(0))


def unit_of(p: Mapping[Any, Fraction]) -> dict[Any, Fraction]:
    """The same direction with coefficients of sum one."""
    size = size_of(p)
    return {key: value / size for key, value in p.items()}


def over_a_power_of_two(rows: list[Row]) -> dict[str, Any]:
    """Dyadic fractions as whole numbers over 2^bits, those of other denominators rounded."""
    bits = max((x.denominator.bit_length() - 1 for row in rows for x in row), default=0)
    bits = min(bits, 1200)
    return {"bits": bits, "rows": [[round(x * 2**bits) for x in row] for row in rows]}


def whole(weights: Iterable[float | Fraction]) -> list[int]:
    """Whole numbers in exactly the proportions of positive doubles or fractions."""
    exact = [Fraction(w) for w in weights]
    common = lcm(*(w.denominator for w in exact))
    return [int(w * common) for w in exact]


def least_eigenvalue(A: list[Row]) -> Fraction:
    """A number a little below."""
    level = float(np.linalg.eigvalsh(np.array([[float(x) for x in row] for row in A]))[0])
    return Fraction(level) * (1 - ROOM) if level > 0 else Fraction(0)
