"""Reflections u_k -> -u_k and exchanges u_k <-> u_l under which a problem over a region stays the same.

Each is found by what it does: the inequalities, the price and the sides of the box must go into themselves, exactly, and the
model into itself, h(gu) = P h(u) for a matrix P, up to rounding. Let the criterion not change under A -> PAP'. It is concave in
A, so that the mean of A over the group is at least as good, and some optimal design weighs all images of a setting alike.
Settings are then sought in one chamber, each for all of its images. Any vectors b_j prove a bound, whatever they came from, so
that nothing here need be exact.

A setting has up to 2^k images by k reflections. Information only feels the signs of products of two coordinates of h, and a
subgroup C of the reflections leaves the same mean where none of these signs other than 1 is constant on it: a fractional
factorial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement, pairwise, product
from math import comb, factorial, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from convexdesign.regions.polynomial import Exponents
from convexdesign.typing import Floats, Indices

if TYPE_CHECKING:
    from convexdesign.regions.problem import RegionProblem

__all__ = ["Symmetry", "symmetry_of"]

# Coefficients below this share of a row are the rounding of the coordinates.
ROUNDED = 1e-11
# Orders of the factors in which a fraction of their signs is sought.
ORDERS = 20
# A coordinate closer than this to a wall of the chamber is tried on it.
WALL = 0.02


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Coordinates that may be reflected with the signs (d,) of h; classes of exchangeable ones; P (d, d) of each exchange."""

    q: int
    flips: tuple[int, ...]
    signs: Floats
    classes: tuple[tuple[int, ...], ...]
    exchanges: Mapping[tuple[int, int], Floats]

    @property
    def order(self) -> int:
        """How many images a setting has in general."""
        return int(2 ** len(self.flips) * prod(factorial(len(c)) for c in self.classes))

    def averaged(self, A: Floats) -> Floats:
        """The mean of PAP' over the group, for symmetric matrices (..., d, d)."""
        if self.orbits is not None:
            # Up to signs the images of an entry are entries, and all of them alike.
            member, sizes = self.orbits
            means = (member.T @ A.reshape(-1, A.shape[-1] ** 2).T) / sizes[:, None]
            return np.asarray((member @ means).T).reshape(A.shape)
        out = A * (self.signs.T @ self.signs == len(self.signs)) if len(self.signs) else A
        for members in self.classes:
            # The mean over all orders of m is that over orders of m - 1, then over which of m comes last.
            for m in range(1, len(members)):
                total = out.copy()
                for k in members[:m]:
                    P = self.exchanges[k, members[m]]
                    total += P @ out @ P.T
                out = total / (m + 1)
        return np.asarray(out)

    @cached_property
    def orbits(self) -> tuple[Any, Floats] | None:
        """Signs (d^2, orbits), sparse, of the entries of a matrix that are images of one another, and how many they are.

        None where images of coordinates of h are more than these with a sign.
        """
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        images = [(np.arange(len(sign)), sign) for sign in self.signs]
        for P in (self.exchanges[pair] for members in self.classes for pair in pairwise(members)):
            place = np.abs(P).argmax(axis=1)
            sign = P[np.arange(len(P)), place]
            if np.count_nonzero(P) > len(P) or np.abs(np.abs(sign) - 1.0).max() > 0.0:
                return None
            images.append((place, sign))
        if not images:
            return None
        d = len(images[0][0])
        own = np.arange(d * d)
        # Every entry twice, as it is and with the other sign.
        start, end = [], []
        for place, sign in images:
            there = (place[:, None] * d + place[None, :]).ravel()
            other = d * d * (np.outer(sign, sign).ravel() < 0)
            start += [own, own + d * d]
            end += [there + other, there + d * d - other]
        links = sparse.coo_matrix(
            (np.ones(2 * d * d * len(images)), (np.concatenate(start), np.concatenate(end))), shape=(2 * d * d,) * 2
        )
        _, label = connected_components(links, directed=False)
        positive, negative = label[own], label[own + d * d]
        # What is its own negative is zero in the mean.
        kept = own[positive != negative]
        _, orbit, sizes = np.unique(np.minimum(positive, negative)[kept], return_inverse=True, return_counts=True)
        sign = np.where(positive < negative, 1.0, -1.0)[kept]
        return sparse.csr_matrix((sign, (kept, orbit.ravel())), shape=(d * d, len(sizes))), sizes.astype(float)

    def leaves(self, M: Floats, tol: float = 1e-13) -> bool:
        """Whether a matrix is its own mean."""
        return bool(np.abs(M - self.averaged(M)).max() <= tol * np.abs(M).max())

    def roots(self, rows: Floats) -> Floats:
        """For rows h (n, d) matrices X (n, d, r) with XX' the mean of hh' over the images."""
        level, vectors = np.linalg.eigh(self.averaged(rows[:, :, None] * rows[:, None, :]))
        rank = int((level > 1e-13 * level[:, -1:]).sum(axis=1).max())
        return np.asarray(vectors[:, :, -rank:] * np.sqrt(np.maximum(level[:, None, -rank:], 0.0)))

    def chamber(self, u: Floats) -> Floats:
        """The image in the chamber: coordinates that may be reflected not negative, exchangeable ones falling."""
        out = u.copy()
        out[:, self.flips] = np.abs(out[:, self.flips])
        for members in self.classes:
            out[:, members] = -np.sort(-out[:, members], axis=1)
        return out

    def on_walls(self, u: Floats) -> Floats:
        """Coordinates near a wall of the chamber put on it."""
        out = u.copy()
        for k in self.flips:
            out[np.abs(out[:, k]) < WALL, k] = 0.0
        for members in self.classes:
            for row in out:
                start = 0
                for end in range(1, len(members) + 1):
                    if end == len(members) or row[members[start]] - row[members[end]] > WALL:
                        own = list(members[start:end])
                        row[own] = row[own].mean()
                        start = end
        return out

    def count(self, values: Floats) -> int:
        """How many settings the grid has."""
        out = 1
        for members in self.classes:
            n = int((values >= 0).sum()) if members[0] in self.flips else len(values)
            out *= comb(n + len(members) - 1, len(members))
        return out

    def grid(self, values: Floats) -> Floats:
        """All settings of the chamber with coordinates among these values."""
        parts = []
        flipped = values[values >= 0]
        for members in self.classes:
            own = flipped if members[0] in self.flips else values
            parts.append([tuple(-v for v in c) for c in combinations_with_replacement(np.sort(-own), len(members))])
        order = np.argsort([k for members in self.classes for k in members])
        return np.array([sum(row, ()) for row in product(*parts)])[:, order]

    def size(self, u: Floats) -> int:
        """How many images of a setting the mean needs, about."""
        out = 1
        for members in self.classes:
            out *= arrangement_count(u[list(members)])
        return int(out * min(2 ** int(np.count_nonzero(u[list(self.flips)])), len(self.fraction)))

    def images(self, u: Floats, most: int) -> tuple[Floats, Floats] | None:
        """Of one setting so many images, with shares, that their information is the mean; None for more than `most`."""
        out = u[None, :]
        for members in self.classes:
            if len(out) * arrangement_count(u[list(members)]) > most:
                return None
            orders = np.array(list(arrangements(u[list(members)])))
            out = np.repeat(out, len(orders), axis=0)
            out[:, members] = np.tile(orders, (len(out) // len(orders), 1))
        signs = self.fraction
        if len(out) * len(signs) > 50 * most:
            return None
        every = np.repeat(out, len(signs), axis=0)
        every[:, self.flips] *= np.tile(signs, (len(out), 1))
        every, times = np.unique(every + 0.0, axis=0, return_counts=True)
        return (every, times / float(times.sum())) if len(every) <= most else None

    @cached_property
    def fraction(self) -> Floats:
        """Signs (n, flips) of the smallest subgroup of the reflections that is found to leave the same mean."""
        k = len(self.flips)
        parity = (self.signs < 0).T @ (1 << np.arange(k))
        felt = np.unique([a ^ b for a, b in combinations(np.unique(parity).tolist(), 2)]).astype(np.int64)
        best = generators(felt, np.arange(k))
        rng = np.random.default_rng(0)
        for _ in range(ORDERS):
            best = min(
                best, generators(felt, rng.permutation(k)), key=lambda found: int(found.max(initial=0)).bit_length()
            )
        bits = np.arange(int(best.max(initial=0)).bit_length())
        runs = (np.arange(1 << len(bits))[:, None] >> bits) & 1
        return np.asarray(1.0 - 2.0 * ((runs @ ((best[:, None] >> bits) & 1).T) & 1))


def generators(felt: Indices, order: Indices) -> Indices:
    """For each of k factors a word, such that those of no set that is felt (a mask of factors) cancel: the first ones, in turn.

    A run is a word as well, and the sign of a factor in it the parity of what the two have in common: 2^r runs for words of r
    bits. The signs of a set have the mean zero over all runs unless its words cancel.
    """
    words = np.zeros(len(order), dtype=np.int64)
    member = (felt[:, None] >> order[None, :]) & 1
    last = np.max(np.where(member > 0, np.arange(1, len(order) + 1), 0), axis=1, initial=0)
    for place in range(len(order)):
        sets = member[last == place + 1, :place]
        taken = np.bitwise_xor.reduce(np.where(sets > 0, words[order[:place]], 0), axis=1)
        free = np.setdiff1d(np.arange(len(taken) + 1), taken) if len(taken) else np.zeros(1, dtype=np.int64)
        words[order[place]] = free[0]
    return words


def arrangement_count(values: Floats) -> int:
    """How many different orders the values have."""
    return factorial(len(values)) // prod(factorial(int(c)) for c in np.unique(values, return_counts=True)[1])


def arrangements(values: Floats) -> list[tuple[float, ...]]:
    """All different orders of the values."""
    out: list[tuple[float, ...]] = [()]
    left = [list(values)]
    for _ in range(len(values)):
        new, rest = [], []
        for head, own in zip(out, left):
            for value in sorted(set(own)):
                new.append((*head, value))
                rest.append([*own[: own.index(value)], *own[own.index(value) + 1 :]])
        out, left = new, rest
    return out


def symmetry_of(problem: RegionProblem) -> Symmetry | None:
    """The reflections and exchanges of coordinates that leave the problem as it is; None where there are none."""
    if not problem.is_polynomial or not problem.region.q:
        return None
    region, frame = problem.region, problem.frame
    fixed = [] if problem.price is None else [region.scaled(p) for p in problem.price]
    bounds = [region.scaled(g) for g in region.inequalities]
    prior = problem.restated.get("prior_information")
    q = region.q

    def kept(change: Any, P: Floats | None) -> bool:
        if P is None or any(change(p) != p for p in fixed):
            return False
        if {frozenset(change(g).items()) for g in bounds} != {frozenset(g.items()) for g in bounds}:
            return False
        return prior is None or bool(np.abs(P @ prior @ P.T - prior).max() <= 1e-13 * np.abs(prior).max())

    flips, signs = [], []
    for k in range(q):
        P = image_of(frame.keys, frame.H, lambda keys, k=k: (keys, 1.0 - 2.0 * (keys[:, k] % 2)))
        sign = None if P is None else np.sign(np.diag(P))
        if P is None or sign is None or np.abs(P - np.diag(sign)).max() > ROUNDED:
            continue
        if kept(lambda p, k=k: {key: -v if key[k] % 2 else v for key, v in p.items()}, P):
            flips.append(k)
            signs.append(sign)
    exchanges: dict[tuple[int, int], Floats] = {}
    for k, other in combinations(range(q), 2):
        order = np.arange(q)
        order[[k, other]] = other, k
        if region.boxed[k] != region.boxed[other]:
            continue
        P = image_of(frame.keys, frame.H, lambda keys, order=order: (keys[:, order], np.ones(len(keys))))
        if P is not None and kept(lambda p, order=order: exchanged(p, order), P):
            exchanges[k, other] = P
    classes: list[tuple[int, ...]] = []
    for k in range(q):
        if not any(k in members for members in classes):
            classes.append((k, *(m for m in range(k + 1, q) if (k, m) in exchanges)))
    classes = [m for members in classes for m in coherent(members, exchanges, flips)]
    if not flips and all(len(members) == 1 for members in classes):
        return None
    return Symmetry(q, tuple(flips), np.array(signs).reshape(len(signs), frame.d), tuple(classes), exchanges)


def coherent(
    members: tuple[int, ...], exchanges: Mapping[tuple[int, int], Floats], flips: Sequence[int]
) -> list[tuple[int, ...]]:
    """The class where all pairs of it may be exchanged, and all or none reflected; else each coordinate alone."""
    together = all(pair in exchanges for pair in combinations(members, 2))
    alike = len({k in flips for k in members}) == 1
    return [members] if together and alike else [(k,) for k in members]


def exchanged(p: Mapping[Exponents, Any], order: Indices) -> dict[Exponents, Any]:
    """The polynomial with its variables in another order."""
    return {tuple(key[k] for k in order): value for key, value in p.items()}


def image_of(keys: Sequence[Indices], tables: Sequence[Floats], change: Any) -> Floats | None:
    """P with h(gu) = P h(u) on every piece, where g takes T_key to factor T_(new key); None where there is none."""
    left, right = [], []
    for own, H in zip(keys, tables):
        new, factor = change(own)
        place = {tuple(row): k for k, row in enumerate(own.tolist())}
        found = [place.get(tuple(row)) for row in new.tolist()]
        if any(k is None and H[:, j].any() for j, k in enumerate(found)):
            return None
        image = np.zeros_like(H)
        for j, k in enumerate(found):
            if k is not None:
                image[:, k] += factor[j] * H[:, j]
        left.append(H)
        right.append(image)
    H, image = np.hstack(left), np.hstack(right)
    P = np.asarray(np.linalg.lstsq(H.T, image.T, rcond=None)[0].T, dtype=float)
    size = np.abs(H).max(axis=1)
    P[np.abs(P) * size[None, :] < ROUNDED * size[:, None]] = 0.0
    nearest = np.round(P)
    P = np.asarray(np.where(np.abs(P - nearest) < ROUNDED, nearest, P), dtype=float)
    off = np.abs(P @ H - image).max(axis=1)
    return P if (off <= ROUNDED * size).all() else None
