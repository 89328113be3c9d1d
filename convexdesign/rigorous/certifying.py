"""certificate.json: a proof of near-optimality that others check with `check.py`, in exact whole numbers.

Written with python-flint, independently of the checker; what each number means is said in check.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexdesign.balls import precision
from convexdesign.errors import InputError
from convexdesign.evaluation import evaluate
from convexdesign.problem import Canonical, DesignProblem
from convexdesign.rigorous.data import ExactRows, exact_rationals
from convexdesign.rigorous.exact_problem import ExactProblem, read_exactly
from convexdesign.typing import Floats, Indices

__all__ = ["certify"]


FORMAT = "convexdesign certificate 1"
# Bits kept of w_i/p_i, and of each b_j beside its largest entry.
EFFORT_BITS = 128
VECTOR_BITS = 60
# Targets evaluated exactly when the certificate is written.
CANDIDATES = 1000
KINDS = (
    "minimax",
    "g-optimal",
    "variance-g-optimal",
    "xy-allocation",
    "level-set-allocation",
    "c-optimal",
    "a-optimal",
    "d-optimal",
    "best-arm-oracle",
    "level-set-oracle",
)


def certify(
    canonical: Canonical,
    weights: Floats,
    targets: Indices,
    vectors: Floats,
    Sigma: Floats | None = None,
) -> dict[str, Any]:
    """The certificate of the weights, or counts, as a JSON document.

    The document holds a digest of the data, whole weights, multipliers and vectors, the exact value and bound (hexadecimal
    fractions), and a digest over all of it.

    Parameters
    ----------
    canonical : Canonical
        The problem in canonical form.
    weights : array of shape (n,)
        Weights or counts.
    targets : array of int, shape (k,)
        The numbers of the targets, as in a DualCertificate; empty where the theorem of Kiefer and Wolfowitz gives the bound.
    vectors : array of shape (k, d)
        The vectors b_j.
    Sigma : array of shape (e, e), optional
        Where the noise variances were computed from it, so that x'Sigma x is taken exactly.

    Returns
    -------
    dict
        What the checker reads, with exact fractions.

    Raises
    ------
    InputError
        For kinds or constraints the checker does not know, for arms that do not span all dimensions where determinants are
        wanted, for targets named twice, and where the design does not measure a target.

    Examples
    --------
    >>> import convexdesign as cd
    >>> design = cd.solve(cd.DesignProblem.c_optimal([[1, 0], [0, 2]], [1, 1]))
    >>> dual = design.certificate.dual
    >>> document = cd.rigorous.certify(design.canonical, design.weights, dual.targets, dual.vectors)
    >>> document["kind"], document["weights"].keys() == {"0", "1"}
    ('c-optimal', True)
    """
    canonical = canonical.plain
    problem = canonical.problem
    if not problem.criterion.on_range and np.unique(targets).size < len(targets):
        raise InputError("a target is named twice: a bound counts each target once, so give one vector for each")
    if problem.kind not in KINDS or not problem.weight_set.is_simplex:
        raise InputError(
            f"a certificate can be written for {', '.join(KINDS)}, without constraints on the weights; "
            f"this is {problem.kind}{'' if problem.weight_set.is_simplex else ' with constraints'}"
        )
    with precision():
        data = _whole_data(canonical, read_exactly(problem), Sigma)
        w = _whole_vector(weights)
        if problem.criterion.on_range:
            targets = np.arange(len(vectors))
        elif len(targets) == 0:
            targets, vectors = _own_vectors(canonical, weights)
        common = _is_average(problem)
        multipliers, B = _whole_vectors(vectors, common)
        worst = _candidates(canonical, weights)
        value, bound = _value_and_bound(data, w, dict(zip(targets.tolist(), zip(multipliers, B))), worst)
    document: dict[str, Any] = {
        "format": FORMAT,
        "kind": problem.kind,
        "data": _sha256(data.as_json()),
        "weights": {str(i): x for i, x in enumerate(w) if x},
        "multipliers": {str(j): m for j, m in zip(targets.tolist(), multipliers)},
        "vectors": {str(j): b for j, b in zip(targets.tolist(), B)},
        "value": f"{int(value.p):x}/{int(value.q):x}",
        "bound": f"{int(bound.p):x}/{int(bound.q):x}",
    }
    return document | {"digest": _sha256(document)}


def _is_average(problem: DesignProblem) -> bool:
    """Whether the bound is on a sum over the targets, so that the lengths of their vectors matter together."""
    return not (problem.criterion.by_target or problem.criterion.on_range)


@dataclass(frozen=True, eq=False)
class _Data:
    """The problem in whole numbers: vectors times `unit`, prices and prior as fractions."""

    kind: str
    arms: list[list[int]]
    prices: list[Any]
    vectors: list[list[int]]
    prior: list[list[Any]]
    theta: list[Any] | None
    threshold: Any

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "arms": self.arms,
            "prices": [str(p) for p in self.prices],
            "vectors": self.vectors,
            "prior": [[str(x) for x in row] for row in self.prior],
            "theta": None if self.theta is None else [str(x) for x in self.theta],
            "threshold": str(self.threshold),
        }

    def target(self, number: int) -> tuple[list[int], Any]:
        """v and g of the target v/g."""
        from flint import fmpq

        if self.kind == "xy-allocation":
            i, j = divmod(number, len(self.vectors))
            return [a - b for a, b in zip(self.vectors[i], self.vectors[j])], fmpq(1)
        z = self.vectors[number]
        if self.theta is None:
            return z, fmpq(1)
        if self.kind == "level-set-oracle":
            return z, self._score(z) - self.threshold
        best = self.best
        return [a - b for a, b in zip(best, z)], self._score(best) - self._score(z)

    def _score(self, z: list[int]) -> Any:
        return sum(a * t for a, t in zip(z, self.theta or []))

    @property
    def best(self) -> list[int]:
        return max(self.vectors, key=self._score)


def _whole_data(canonical: Canonical, exact: ExactProblem, Sigma: Floats | None) -> _Data:
    from flint import fmpq

    problem = canonical.problem
    arms = exact.arms.rationals(np.arange(exact.arms.n))
    if _is_average(problem):
        vectors = exact_rationals(np.eye(exact.arms.d))
    else:
        rows = ExactRows(exact.vectors.source, None, exact.vectors.lifted)
        vectors = rows.rationals(np.arange(rows.n))
    unit = 1
    for row in (*arms, *vectors):
        for x in row:
            unit = max(unit, int(x.q))  # denominators are powers of two
    d = exact.arms.d
    noise = _noise(problem, exact, Sigma)
    held = (exact.prior if Sigma is None else _held(problem, exact, arms, noise)) or [[fmpq(0)] * d] * d
    prior = [[x * unit**2 for x in row] for row in held]
    oracle = exact.scale is not None
    theta = [x / unit for (x,) in exact_rationals(exact.scale.theta[:, None])] if oracle else None  # type: ignore[union-attr]
    threshold = _double(exact.scale.threshold) if oracle else fmpq(0)  # type: ignore[union-attr]
    return _Data(
        problem.kind, _times(arms, unit), _prices(problem, noise), _times(vectors, unit), prior, theta, threshold
    )


def _times(rows: list[list[Any]], unit: int) -> list[list[int]]:
    return [[int((x * unit).p) for x in row] for row in rows]


def _double(x: float) -> Any:
    from flint import fmpq

    return fmpq(*float(x).as_integer_ratio())


def _noise(problem: DesignProblem, exact: ExactProblem, Sigma: Floats | None) -> list[Any]:
    """The noise variance of every arm, x'Sigma x exactly where Sigma is given."""
    n = exact.arms.n
    if Sigma is None:
        return [_double(s) for s in (np.ones(n) if problem.noise_variance is None else problem.noise_variance)]
    S = exact_rationals(Sigma)
    rows = ExactRows(exact.arms.source).rationals(np.arange(n))
    return [sum(a * sum(s * b for s, b in zip(row, x)) for a, row in zip(x, S)) for x in rows]


def _prices(problem: DesignProblem, noise: list[Any]) -> list[Any]:
    return noise if problem.costs is None else [s * _double(c) for s, c in zip(noise, problem.costs, strict=True)]


def _held(
    problem: DesignProblem, exact: ExactProblem, arms: list[list[Any]], noise: list[Any]
) -> list[list[Any]] | None:
    """Information held divided by n_new: of counts made with exactly these noise variances, where there are counts."""
    counts = problem.stated.existing_counts
    if counts is None or exact.prior is None:
        return exact.prior
    made = [(_double(c) / s, x) for c, s, x in zip(np.asarray(counts, dtype=float), noise, arms, strict=True) if c]
    return [[x / _double(float(problem.n_new)) for x in row] for row in _gram(made, exact.arms.d)]  # type: ignore[arg-type]


def _whole_vector(values: Floats) -> list[int]:
    """Whole numbers in exactly the proportions of nonnegative doubles."""
    ratios = [float(v).as_integer_ratio() for v in values]
    common = max(q for _, q in ratios)
    return [p * (common // q) for p, q in ratios]


def _whole_vectors(vectors: Floats, common: bool) -> tuple[list[int], list[list[int]]]:
    """Multipliers and whole vectors with m_j b_j b_j' close to the given ones, up to one factor for all.

    common: one scale for all vectors (needed where their lengths matter together), else each to VECTOR_BITS of its own.
    """
    sizes = np.frexp(np.abs(vectors).max(axis=1))[1].astype(int)
    if common:
        sizes[:] = sizes.max()
    B = [[round(float(np.ldexp(x, int(VECTOR_BITS - e)))) for x in b] for b, e in zip(vectors.tolist(), sizes)]
    least = int(sizes.min())
    return [4 ** int(e - least) for e in sizes], B


def _own_vectors(canonical: Canonical, weights: Floats) -> tuple[Indices, Floats]:
    """Where Kiefer and Wolfowitz's theorem gave the bound: b_i = sqrt(w_i) C x_i for the arms with weight."""
    support = np.flatnonzero(weights != 0)
    F = evaluate(canonical, weights / weights.sum()).factor
    X = canonical.problem.targets.take(support)
    return support, np.sqrt(weights[support] / weights.sum())[:, None] * ((X @ F) @ F.T)


def _candidates(canonical: Canonical, weights: Floats) -> list[int]:
    """Targets among which the worst one is sure to be, unless doubles are wrong by 1e-6; the checker looks at all."""
    at = evaluate(canonical, weights / weights.sum())
    criterion = canonical.problem.criterion
    if at.value == criterion.worst_value:
        raise InputError("this design does not measure everything that is wanted, so nothing can be certified")
    if not criterion.by_target:
        return list(range(canonical.problem.arms.d))
    index, values = canonical.problem.targets.worst(at.factor, CANDIDATES)
    return [int(j) for j in index[values >= values[0] * (1 - 1e-6)]]


def _value_and_bound(
    data: _Data, w: list[int], proof: dict[int, tuple[int, list[int]]], worst: list[int]
) -> tuple[Any, Any]:
    from flint import fmpq, fmpq_mat

    d = len(data.arms[0])
    total = sum(w)
    pulled = [(fmpq(x) / data.prices[i] / total, data.arms[i]) for i, x in enumerate(w) if x]
    fine = 2 ** (EFFORT_BITS + 1 + max(int(e.q).bit_length() - int(e.p).bit_length() for e, _ in pulled))
    whole = [((int(e.p) * fine) // int(e.q), x) for e, x in pulled]
    A = fmpq_mat(d, d, [fmpq(x, fine) for row in _gram(whole, d) for x in row])
    A += fmpq_mat(d, d, [x for row in data.prior for x in row])
    S = _gram([(m, b) for m, b in proof.values()], d)
    most = max(
        fmpq(sum(a * sum(s * b for s, b in zip(row, x)) for a, row in zip(x, S))) / p
        for x, p in zip(data.arms, data.prices)
    )
    for m, b in proof.values():
        most += m * sum(p * b[k] * b[c] for k, row in enumerate(data.prior) for c, p in enumerate(row))
    if data.kind == "d-optimal":
        size = fmpq_mat(d, d, [fmpq(x) for row in S for x in row]).det()
        if A.det() == 0 or size == 0:
            raise InputError(
                f"the determinant over all {d} dimensions is zero, so nothing can be certified: certificates of D-optimality "
                "need arms, and a design, that span them all; leave out columns that depend on the others"
            )
        return A.det(), (most / d) ** d / size
    hits = []
    for j, (m, b) in proof.items():
        v, g = data.target(j)
        hits.append((m, sum(x * y for x, y in zip(b, v)), g))
    forms = _forms(A, data, worst)
    if data.kind == "a-optimal":
        return sum(forms), fmpq(sum(m * hit for m, hit, _ in hits)) ** 2 / most
    return max(forms), sum(m * (fmpq(hit) / g) ** 2 for m, hit, g in hits) / most


def _gram(weighted: list[tuple[Any, list[Any]]], d: int) -> list[list[Any]]:
    S: list[list[Any]] = [[0] * d for _ in range(d)]
    for e, x in weighted:
        for a in range(d):
            if x[a]:
                scaled = e * x[a]
                for b in range(a, d):
                    S[a][b] += scaled * x[b]
    return [[S[min(a, b)][max(a, b)] for b in range(d)] for a in range(d)]


def _forms(A: Any, data: _Data, numbers: list[int]) -> Iterable[Any]:
    """v'A^+ v / g^2 for some targets, through a regular block A_JJ of full rank: v must be A z with z on J."""
    from flint import fmpq, fmpq_mat

    d = A.nrows()
    entries = A.tolist()
    chosen = _regular_block(entries)
    inverse = fmpq_mat([[entries[a][b] for b in chosen] for a in chosen]).inv()
    rest = [k for k in range(d) if k not in chosen]
    L = fmpq_mat([[entries[a][b] for b in chosen] for a in rest]) * inverse if rest else None
    numerators, common = inverse.numer_denom()
    C = [[int(x) for x in row] for row in numerators.tolist()]
    for j in numbers:
        v, g = data.target(j)
        x = [v[k] for k in chosen]
        if L is not None and L * fmpq_mat(len(x), 1, [fmpq(a) for a in x]) != fmpq_mat(
            len(rest), 1, [fmpq(v[k]) for k in rest]
        ):
            raise InputError(
                f"target {j} is not measured by this design (its numbers read exactly), so nothing can be certified"
            )
        yield fmpq(sum(a * sum(c * b for c, b in zip(row, x)) for a, row in zip(x, C)), int(common)) / g**2


def _regular_block(A: list[list[Any]]) -> list[int]:
    """Indices J with A_JJ regular and of the rank of A, for an exactly positive semidefinite A."""
    S = [row[:] for row in A]
    chosen = []
    for k in range(len(S)):
        if S[k][k] == 0:
            continue
        chosen.append(k)
        for a in range(k + 1, len(S)):
            if S[a][k] != 0:
                share = S[a][k] / S[k][k]
                S[a] = [x - share * y for x, y in zip(S[a], S[k])]
    return chosen


def _sha256(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
