"""Whole numbers of runs over a region, the settings free to move: searched, not proven; what it is worth is proven afterwards.

From many starts (several roundings of the optimal shares, and random runs) single runs are exchanged over a list of settings
spread over the region, as over a list of arms; where the criterion can, hundreds of random starts side by side. From other
random runs, on no list, all coordinates move together along the gradient of the criterion. The best plans of both sorts are
polished: coordinates move together, within the region, then single runs may leave for another setting, in turn.

With M = A0 + sum_i n_i u_i u_i' and 1/phi concave with the gradient G at M (`criteria.exchange`), the derivative of log phi by
a coordinate of the setting i is -2 phi n_i u_i'G du_i. Of a plan with costs phi is counted per unit of cost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.criteria import oracle_of
from convexdesign.criteria.exchange import inverse_factor
from convexdesign.criteria.swap_tables import swap_table
from convexdesign.problem import canonicalise
from convexdesign.regions.ascent import ChebyshevFunctions
from convexdesign.regions.problem import RegionProblem, values_of
from convexdesign.regions.search import inner_points, spread_points
from convexdesign.rounding.apportionment import apportion
from convexdesign.rounding.count_limits import Limits
from convexdesign.typing import Counts, Floats, Indices

__all__ = ["AMOUNTS", "Plan", "WholeSearch"]

# Descents over the list of settings, descents of random runs by all coordinates together, and plans that are polished.
AMOUNTS = {"quick": (30, 20, 10), "thorough": (300, 100, 30)}
# With more coordinates fewer random runs descend: so many coordinates in all.
MOST_COORDINATES = 40
# Random starts side by side for each descent over the list; how many of them are kept, and operations that they may take.
BESIDE, KEPT, MOST_BESIDE = 7, 1, 1e8
# Settings of the list, besides those of the design.
MOST_SETTINGS = 500
MOST_MOVES = 500
# Information of every direction that is added while a plan does not measure all of them, as a share of the design's own.
RIDGE = 1e-8
# A round of polish and exchange must gain so much of log phi for another.
GAIN = 1e-7
# All further rounds are taken to gain no more than so many times the last one.
REACH = 3.0
# A move must lower the criterion by more than this share, which is rounding.
PROGRESS = 1e-10
# Plans whose log phi differs by less are taken to be images of one another.
SAME = 1e-7
ROUNDS = 6
# Steps, in half widths of the region, by which a single run may leave its replicates.
NEARBY = (0.3, 0.1, 0.02)
# Coordinates closer than this to a side of the box lie on it; settings closer than this may be one.
ON_SIDE = 1e-6
MERGED = 1e-3
DIFFERENCE = 1e-5
# Steps of a polish, and of the first one of random runs.
STEPS, FIRST_STEPS = 100, 40
# Along curved sides the last digits take most of the steps: only the best plan gets more than these.
FEW_STEPS = 20
# What a step of theirs must gain, of log phi.
ACCURACY, FIRST_ACCURACY = 1e-10, 1e-7
# Of several targets so many of the worst count, and (sum_j phi_j^p)^(1/p) is their largest for these p, one after another.
MOST_TARGETS, SHARPNESS = 64, (30.0, 300.0)
# More variables than this are not moved together but setting by setting.
MOST_TOGETHER = 160


@dataclass(frozen=True, eq=False)
class Plan:
    """Settings (k, q) of pieces (k,), in coordinates between -1 and 1, how often each is run, and log phi."""

    where: Indices
    u: Floats
    counts: Counts
    value: float


class WholeSearch:
    """Plans of n runs for a problem over a region."""

    def __init__(
        self, problem: RegionProblem, where: Indices, x: Floats, weights: Floats, n: int, rng: np.random.Generator
    ):
        """where, x, weights: the optimal shares, from which plans are rounded."""
        self.problem, self.frame, self.region = problem, problem.frame, problem.region
        self.n, self.rng, self.q = n, rng, problem.region.q
        self.best_where, self.best_u, self.weights = where, self.frame.scaled(x), weights
        self.where, self.u = self._settings()
        every = self.frame.unscaled(self.u)
        targets = self.frame.rows(self.where, every, weighted=False) if problem.predicts_region else None
        self.canonical = canonicalise(problem.finite(self.where, every, targets))
        self.criterion = oracle_of(self.canonical).of_matrix(self.canonical)
        self.prior = None if self.canonical.prior is None else self.canonical.prior * float(problem.n_new or 1.0)
        U, self.costs = self.arms(self.where, self.u)
        self.U = U
        ridge = RIDGE * n * float(np.mean(np.sum(U**2, axis=1))) * np.eye(U.shape[1])
        self.ridge = ridge if self.prior is None else self.prior + ridge
        own = U[: len(weights)]
        start = inverse_factor((own * (n * weights)[:, None]).T @ own + self.ridge)
        several = start is not None and len(self.criterion.cuts(start, 2)) > 1
        self.sharpness = SHARPNESS if several else (1.0,)
        scaled = [{key: float(v) for key, v in self.region.scaled(g).items()} for g in self.region.inequalities]
        scaled = [{key: v / sum(map(abs, g.values())) for key, v in g.items()} for g in scaled]
        self.sides = ChebyshevFunctions.of(scaled, self.q) if scaled else None

    # ------------------------------------------------------------------ what a plan is worth

    def _settings(self) -> tuple[Indices, Floats]:
        """Settings of the optimal shares first, then others spread over the region."""
        problem, degree = self.problem, max(self.problem.curve.degree, 1)
        pieces = len(self.region.pieces)
        least = max(-(-2 * problem.curve.d // pieces), 8)
        room = max(MOST_SETTINGS // pieces, least)
        where, listed = [self.best_where], [self.best_u]
        for piece in range(pieces):
            x = spread_points(self.region, degree, self.rng, least, 9 if not problem.is_polynomial else None)
            if len(x) > room:
                # Of a fine grid some at random, after a coarse one as it is: good plans often lie on few levels.
                coarse = spread_points(self.region, degree, self.rng, least, degree + 1)
                x = np.vstack([coarse[: room // 2], x[self.rng.permutation(len(x))]])[:room]
            x = x[problem.allowed(x)]
            where.append(np.full(len(x), piece))
            listed.append(self.frame.scaled(x))
        return np.concatenate(where), np.vstack(listed)

    def arms(self, where: Indices, u: Floats) -> tuple[Floats, Floats]:
        """Rows (k, r) with the information of one run, in the coordinates of the criterion, and what one run costs (k,)."""
        x = self.frame.unscaled(u)
        rows = self.frame.rows(where, x)
        if self.problem.noise is not None:
            rows = rows / np.sqrt(values_of(self.problem.noise, x))[:, None]
        costs = np.ones(len(x)) if self.problem.cost is None else values_of(self.problem.cost, x)
        return np.asarray(self.canonical.rows_inward(rows) @ self.canonical.basis), costs

    def value(self, where: Indices, u: Floats, counts: Counts) -> float:
        """log phi per unit of cost."""
        U, costs = self.arms(where, u)
        M = (U * counts[:, None]).T @ U + self.ridge
        phi = self.criterion.value(M)
        with np.errstate(all="ignore"):
            out = float(np.log(phi * float(counts @ costs)))
        return out if np.isfinite(out) else np.inf

    def inside(self, where: Indices, u: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which settings are allowed, with no slack but rounding."""
        x = self.frame.unscaled(u)
        ok = self.region.inside(x, 1e-13) if self.q else np.ones(len(x), dtype=bool)
        return ok & self.problem.allowed(x)

    # ------------------------------------------------------------------ exchange over a list

    def starts(self) -> Any:
        """Counts over the list, one after another: the shares rounded, rounded at random, and random runs."""
        k, m = len(self.where), len(self.weights)
        # In proportion to runs, where shares are of a budget.
        w = self.weights / self.costs[:m]
        w = w / w.sum()
        exact = w * self.n
        counts = np.zeros(k, dtype=np.int64)
        counts[:m] = apportion(w, Limits(self.n, np.zeros(m, dtype=np.int64), np.full(m, self.n)))
        yield counts
        while True:
            counts = np.zeros(k, dtype=np.int64)
            counts[:m] = np.floor(exact)
            rest = self.n - int(counts.sum())
            share = exact - np.floor(exact)
            if rest and np.count_nonzero(share) >= rest:
                counts[self.rng.choice(m, rest, replace=False, p=share / share.sum())] += 1
            elif rest:
                counts[:m] += self.rng.multinomial(rest, w)
            yield counts
            for _ in range(2):
                yield np.bincount(self.rng.integers(0, k, self.n), minlength=k).astype(np.int64)

    def exchanged(self, where: Indices, u: Floats, counts: Counts) -> Plan | None:
        """Single runs moved to the best settings of the list while that helps; None where the plan measures too little."""
        U, costs = (self.U, self.costs) if u is self.u else self.arms(where, u)
        counts = counts.copy()
        table = swap_table(U, counts, self.criterion, self.ridge)
        if table is None or not np.isfinite(table.value):
            return None
        into = np.arange(len(counts))
        for moves in range(1, MOST_MOVES):
            out = np.flatnonzero(counts != 0)
            total = float(counts @ costs)
            for few_out, few_into in (table.shortlist(out, into), (out, into)):
                phi = table.swaps(few_out, few_into)
                if self.problem.cost is not None:
                    phi = phi * ((total - costs[few_out][:, None] + costs[few_into][None, :]) / total)
                at = int(np.argmin(phi))
                if phi.flat[at] < table.value * (1.0 - PROGRESS) or phi.size == len(out) * len(into):
                    break
            if not phi.flat[at] < table.value * (1.0 - PROGRESS):
                break
            o, i = int(few_out[at // len(few_into)]), int(few_into[at % len(few_into)])
            table.move(o, i)
            counts[o] -= 1
            counts[i] += 1
            if moves % 40 == 0:
                table = swap_table(U, counts, self.criterion, self.ridge)
                if table is None:
                    return None
        own = np.flatnonzero(counts != 0)
        return Plan(where[own], u[own], counts[own], self.value(where[own], u[own], counts[own]))

    def beside(self, count: int, keep: int) -> list[Counts]:
        """Counts over the list, best first: random runs that descend side by side, where the criterion has a way to."""
        size = self.n * self.U.size
        runs = self.rng.integers(0, len(self.U), (max(min(count, int(MOST_BESIDE // size)), 1), self.n))
        found = self.criterion.side_by_side(self.U, runs, self.ridge) if self.problem.cost is None else None
        if found is None:
            return []
        every = [np.bincount(own, minlength=len(self.U)).astype(np.int64) for own in found]
        value = np.array([self.value(self.where, self.u, counts) for counts in every])
        order = np.argsort(value, kind="stable")
        order = order[np.diff(value[order], prepend=-np.inf) > SAME]
        return [every[k] for k in order[:keep] if np.isfinite(value[k])]

    def refined(self, plan: Plan, best: Plan | None = None) -> Plan:
        """Settings polished and single runs exchanged in turn, until neither helps, or a better plan is out of reach."""
        for _ in range(ROUNDS):
            before = plan.value
            plan = self.polished(plan, STEPS if self.sides is None else FEW_STEPS)
            where, u = self._around(plan)
            counts = np.concatenate([plan.counts, np.zeros(len(where), dtype=np.int64)])
            moved = self.exchanged(np.concatenate([plan.where, where]), np.vstack([plan.u, u]), counts)
            if moved is not None and moved.value < plan.value - PROGRESS:
                plan = moved
            gain = before - plan.value
            if gain < GAIN or (best is not None and plan.value - REACH * gain > best.value):
                break
        return self.merged(plan)

    def _around(self, plan: Plan) -> tuple[Indices, Floats]:
        """Where single runs may go: near the plan's own settings, to their other levels, and to the list."""
        where, u = [self.where], [self.u]
        for k in range(self.q):
            for step in NEARBY:
                for sign in (-1.0, 1.0):
                    moved = plan.u.copy()
                    moved[:, k] = np.clip(moved[:, k] + sign * step, -1.0, 1.0)
                    where.append(plan.where)
                    u.append(moved)
        pieces = len(self.region.pieces)
        if pieces > 1:
            each = np.repeat(np.arange(pieces), len(plan.u))
            where.append(each)
            u.append(np.tile(plan.u, (pieces, 1)))
        all_where, all_u = np.concatenate(where), np.vstack(u)
        ok = self.inside(all_where, all_u)
        return all_where[ok], all_u[ok]

    # ------------------------------------------------------------------ polish

    def polished(self, plan: Plan, steps: int = STEPS) -> Plan:
        """All coordinates moved together to a local optimum of the criterion, within the region; the counts stay."""
        if not self.q:
            return plan
        k = len(plan.counts)
        groups = (
            [np.arange(k)] if self.sides is None or k * self.q <= MOST_TOGETHER else self.rng.permutation(k)[:, None]
        )
        for sharpness in self.sharpness[:1] if steps == FIRST_STEPS else self.sharpness:
            for which in groups:
                plan = self._moved(plan, which, steps, sharpness)
        return plan

    def _moved(self, plan: Plan, which: Indices, steps: int, sharpness: float) -> Plan:
        """The plan with the coordinates of some settings at a local optimum."""
        from scipy.optimize import minimize

        shape = (len(which), self.q)
        U, costs = self.arms(plan.where, plan.u)
        rest = np.setdiff1d(np.arange(len(plan.counts)), which)
        held = (U[rest] * plan.counts[rest][:, None]).T @ U[rest] + self.ridge
        spent = float(plan.counts[rest] @ costs[rest])
        where, counts = plan.where[which], plan.counts[which]

        def objective(flat: Floats) -> tuple[float, Floats]:
            return self._slope(where, flat.reshape(shape), counts, held, spent, sharpness)

        constraints: list[dict[str, Any]] = []
        if self.sides is not None:
            sides = self.sides

            def rows(flat: Floats) -> Floats:
                return sides.values(flat.reshape(shape)).ravel()

            def gradients(flat: Floats) -> Floats:
                _, slope, _ = sides.derivatives(flat.reshape(shape))
                m = slope.shape[1]
                out = np.zeros((shape[0], m, *shape))
                for i in range(shape[0]):
                    out[i, :, i, :] = slope[i]
                return out.reshape(shape[0] * m, -1)

            constraints = [{"type": "ineq", "fun": rows, "jac": gradients}]
        found = minimize(
            objective,
            plan.u[which].ravel(),
            jac=True,
            method="SLSQP" if constraints else "L-BFGS-B",
            bounds=[(-1.0, 1.0)] * (shape[0] * shape[1]),
            constraints=constraints,
            options={"maxiter": steps, "ftol": FIRST_ACCURACY if steps == FIRST_STEPS else ACCURACY},
        )
        u = plan.u.copy()
        u[which] = np.clip(found.x.reshape(shape), -1.0, 1.0)
        u = np.where(np.abs(np.abs(u) - 1.0) < ON_SIDE, np.sign(u), u)
        u = self._pulled_inside(plan, u)
        value = self.value(plan.where, u, plan.counts)
        return Plan(plan.where, u, plan.counts, value) if value < plan.value else plan

    def _slope(
        self, where: Indices, u: Floats, counts: Counts, held: Floats, spent: float, sharpness: float
    ) -> tuple[float, Floats]:
        """log phi per unit of cost, and its gradient by the coordinates."""
        if not np.isfinite(u).all():
            return 1e10, np.zeros(u.size)
        k, q = u.shape
        # The settings, and each a little lower and higher in every coordinate, in one call.
        every = np.repeat(u[None], 2 * q + 1, axis=0)
        for j in range(q):
            every[1 + j, :, j] = np.maximum(u[:, j] - DIFFERENCE, -1.0)
            every[1 + q + j, :, j] = np.minimum(u[:, j] + DIFFERENCE, 1.0)
        rows, prices = self.arms(np.tile(where, 2 * q + 1), every.reshape(-1, q))
        rows, prices = rows.reshape(2 * q + 1, k, -1), prices.reshape(2 * q + 1, k)
        U, costs = rows[0], prices[0]
        M = (U * counts[:, None]).T @ U + held
        total = spent + float(counts @ costs)
        F = inverse_factor(M) if np.isfinite(M).all() else None
        if F is None:
            return 1e10, np.zeros(u.size)
        phi, G = self._smoothed(M, F, sharpness)
        UG, gradient = U @ G, np.empty(u.shape)
        for j in range(q):
            a, b = 1 + j, 1 + q + j
            step = every[b, :, j] - every[a, :, j]
            gradient[:, j] = -2.0 * phi * counts * np.einsum("ij,ij->i", UG, (rows[b] - rows[a]) / step[:, None])
            gradient[:, j] += counts * (prices[b] - prices[a]) / step / total
        return float(np.log(phi * total)), np.nan_to_num(gradient).ravel()

    def _smoothed(self, M: Floats, F: Floats, sharpness: float) -> tuple[float, Floats]:
        """phi and G at M = (FF')^-1; of several targets nearly as bad as the worst (sum_j phi_j^p)^(1/p), which is smooth."""
        cuts = self.criterion.cuts(F, MOST_TARGETS)
        values = 1.0 / np.einsum("jkl,kl->j", cuts, M)
        worst = float(values.max())
        shares = (values / worst) ** sharpness
        phi = worst * float(shares.sum()) ** (1.0 / sharpness)
        shares *= values / (phi * shares.sum())
        return phi, np.tensordot(shares, cuts, 1)

    def _pulled_inside(self, plan: Plan, u: Floats) -> Floats:
        """Settings that left the region by rounding drawn back towards where they were, which lies in it."""
        outside = ~self.inside(plan.where, u)
        if not outside.any():
            return u
        low, high = np.zeros(len(u)), np.ones(len(u))
        for _ in range(50):
            middle = (low + high) / 2.0
            ok = self.inside(plan.where, plan.u + middle[:, None] * (u - plan.u))
            low, high = np.where(ok, middle, low), np.where(ok, high, middle)
        return np.where(outside[:, None], plan.u + low[:, None] * (u - plan.u), u)

    def merged(self, plan: Plan) -> Plan:
        """Settings next to each other made one, where that costs nothing."""
        left, groups = list(np.argsort(-plan.counts, kind="stable")), []
        while left:
            near = [
                k
                for k in left
                if plan.where[k] == plan.where[left[0]]
                and np.abs(plan.u[k] - plan.u[left[0]]).max(initial=0.0) < MERGED
            ]
            groups.append(near)
            left = [k for k in left if k not in near]
        if len(groups) == len(plan.counts):
            return plan
        counts = np.array([plan.counts[g].sum() for g in groups])
        u = np.array([plan.counts[g] @ plan.u[g] / plan.counts[g].sum() for g in groups]).reshape(len(groups), self.q)
        where = plan.where[[g[0] for g in groups]]
        if not self.inside(where, u).all():
            return plan
        fewer = self.polished(Plan(where, u, counts, self.value(where, u, counts)))
        return fewer if fewer.value <= plan.value + 1e-8 else plan

    # ------------------------------------------------------------------ all of it

    def best(self, effort: str | float) -> Plan | None:
        """The best plan that the effort found; None where no plan of n runs measures what is asked."""
        descents, random, polishes = AMOUNTS[effort] if isinstance(effort, str) else (10**9, 0, 0)
        deadline = np.inf if isinstance(effort, str) else time.monotonic() + effort
        beside = self.beside(BESIDE * descents, KEPT * polishes) if isinstance(effort, str) else self.beside(200, 4)
        found = [plan for counts in beside if (plan := self.exchanged(self.where, self.u, counts)) is not None]
        best: Plan | None = None
        for k, counts in enumerate(self.starts()):
            if k >= descents or (k and time.monotonic() > deadline):
                break
            exchanged = self.exchanged(self.where, self.u, counts)
            plans = [] if exchanged is None else [exchanged]
            if not isinstance(effort, str):
                # By turns from the list and from runs on none.
                plans = [self.refined(plan) for plan in (*plans, self.descended(), *found)]
                found = []
                best = min((plan for plan in (best, *plans) if plan is not None), key=lambda plan: plan.value)
            found += plans
        if not isinstance(effort, str):
            return best
        each = self.n * self.q
        found += [self.descended() for _ in range(min(random, max(3, random * MOST_COORDINATES // max(each, 1))))]
        seen: list[float] = []
        for plan in sorted(found, key=lambda plan: plan.value):
            if len(seen) == polishes:
                break
            if not np.isfinite(plan.value) or any(abs(plan.value - value) < SAME for value in seen):
                continue
            seen.append(plan.value)
            plan = self.refined(plan, best)
            best = plan if best is None or plan.value < best.value else best
        return best if best is None or self.sides is None else self.polished(best)

    def descended(self) -> Plan:
        """Random runs in the region, all coordinates moved together to a local optimum."""
        x = inner_points(self.region, self.n, self.rng) if self.q else np.empty((self.n, 0))
        # Of a thin region fewer points may have been found.
        x = x[self.rng.integers(0, len(x), self.n)] if len(x) < self.n else x
        where, u = self.rng.integers(0, len(self.region.pieces), self.n), self.frame.scaled(x)
        counts = np.ones(self.n, dtype=np.int64)
        return self.polished(Plan(where, u, counts, self.value(where, u, counts)), FIRST_STEPS)
