"""A design: proportions of measurements, with the proof of how good they are."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexdesign.aliasing import rank_note
from convexdesign.arguments import real_array, to_path
from convexdesign.arms.groups import repeat_per_response
from convexdesign.arms.labels import COORDINATES, in_order
from convexdesign.arms.noise import variances_of
from convexdesign.arms.read import LabelledVectors, aligned, read_rows
from convexdesign.certificate import Certificate, DualCertificate, Evaluation, certify, evaluate
from convexdesign.errors import InputError
from convexdesign.exact import ExactDesign
from convexdesign.features.model import coded_settings
from convexdesign.files import write_text
from convexdesign.outcome import Stats, Status, status_of
from convexdesign.problem import Canonical, DesignProblem, canonicalise
from convexdesign.problem.storage import problem_to_json
from convexdesign.result_table import ResultTable
from convexdesign.saved import read_document, read_saved
from convexdesign.typing import Floats
from convexdesign.whole_numbers import round_design

if TYPE_CHECKING:
    import pandas

__all__ = ["Design", "ExactDesign", "Status"]


FORMAT = "convexdesign design"
FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """Weights on the arms with a certificate: value, a proven bound on the optimum, and the gap between them.

    Variances are per unit of sampling effort: with N measurements in these proportions the variance of v'theta-hat is
    variance(v) / N.

    Parameters
    ----------
    problem : DesignProblem
        What the design is for.
    weights : array, shape (n,)
        Nonnegative, sum 1, in the order of the arms given.
    certificate : Certificate
        What proves the bound.
    status : Status
        How the solve ended.
    stats : Stats
        How it went: method, iterations, seconds.
    tol : float
        The relative gap that was asked for.
    known : Canonical, optional
        The problem's canonical form, where it has been found already.

    Examples
    --------
    >>> import convexdesign as cd
    >>> d = cd.solve(cd.DesignProblem.xy_allocation([[1, 0], [0, 1], [0.6, 0.8]]))
    >>> d.status.name, bool(d.gap <= 1e-6)
    ('CERTIFIED', True)
    """

    problem: DesignProblem
    weights: Floats
    certificate: Certificate
    status: Status
    stats: Stats = field(default_factory=lambda: Stats("given"))
    tol: float = 1e-6
    known: Canonical | None = None

    @property
    def value(self) -> float:
        """The criterion of exactly these weights: max_j v_j'A^-1 v_j, or log det A on the range."""
        return self.certificate.value

    @property
    def bound(self) -> float:
        """A proven bound on the optimal value: a lower one for variances, an upper one for log det."""
        return self.certificate.bound

    @property
    def lower_bound(self) -> float:
        """The proven bound on the optimal value; the same as `bound` (an upper bound for log det)."""
        return self.certificate.bound

    @property
    def gap(self) -> float:
        """The certified relative gap: the design is at most this share above the optimum."""
        return self.certificate.gap

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the arms with positive weight."""
        return np.flatnonzero(self.weights != 0)

    @cached_property
    def canonical(self) -> Canonical:
        """The problem in whitened coordinates, as the solvers see it."""
        return canonicalise(self.problem) if self.known is None else self.known

    @cached_property
    def _evaluation(self) -> Evaluation:
        return evaluate(self.canonical, self.weights)

    @property
    def rank(self) -> int:
        """The rank of A(w), at most the number d of coordinates."""
        return self.certificate.rank

    @cached_property
    def rank_note(self) -> str:
        """'rank 2 of 3 (columns 1, 2 are aliased)' where some coefficients cannot be estimated; empty where all can."""
        return rank_note(self.canonical, self._evaluation) if self.rank < self.problem.arms.d else ""

    @property
    def information(self) -> Floats:
        """A(w) = A0 + sum_i w_i x_i x_i' / noise_variance_i, or of several responses w_i X_i S_i^-1 X_i', shape (d, d)."""
        return _information(self.problem, self.weights)

    def variance(self, v: ArrayLike | Any) -> float | Floats:
        """v'A(w)^+ v: the variance of v'theta-hat per unit of sampling effort.

        Parameters
        ----------
        v : array_like, shape (d,) or (k, d)
            One vector, or rows; labels are put into the order of the arms' coordinates. Where the arms were made of a table
            of settings also such a table, or one setting as a mapping, coded as the arms are.

        Returns
        -------
        float or array of shape (k,)
            Infinite where the design does not measure v.

        Raises
        ------
        InputError
            For vectors of another length.

        Examples
        --------
        >>> import convexdesign as cd
        >>> d = cd.solve(cd.DesignProblem.g_optimal([[1, 0], [0, 1]]))
        >>> round(d.variance([1, -1]), 6)
        4.0
        """
        V = self._vectors(v)
        rows = np.atleast_2d(V)
        factor, restatement = self._evaluation.factor, self.canonical.restatement
        own = self.canonical.rows_inward(rows)
        values = np.einsum("ij,ij->i", own @ factor, own @ factor)
        if self._evaluation.rank < self.problem.arms.d:
            # v is measured when it is reproduced from its image: A C v = v.
            rebuilt = (own @ factor) @ (factor.T @ _information(self.canonical.problem, self.weights))
            off = _differ(rebuilt, own)
            if restatement is not None:
                off |= _differ(own @ restatement.inverse, rows)
            values = np.where(off, np.inf, values)
        return float(values[0]) if V.ndim == 1 else values

    def _vectors(self, v: Any) -> Floats:
        """One vector (d,) or rows (k, d) at the border; with labels in the order of the arms' coordinates."""
        arms = self.problem.rows
        one = not hasattr(v, "columns")
        coded = coded_settings(arms.matrix, v, "v")
        if coded is not v:
            F: Floats = np.asarray(coded, dtype=np.float64)
            return F[0] if one and len(F) == 1 else F
        if hasattr(v, "columns") and not isinstance(v, np.ndarray):
            rows = read_rows(v, "v")
            if rows.d == arms.d or rows.n != arms.d:
                return np.asarray(aligned(arms, rows, "v").values, dtype=float)
        V = real_array(in_order(v, "v", arms.columns, COORDINATES), "v")
        if V.ndim not in (1, 2) or V.shape[-1] != arms.d:
            raise InputError(f"v must have {arms.d} entries per vector, got shape {V.shape}")
        return V

    def to_frame(self) -> pandas.DataFrame:
        """One row per arm: arm, weight, noise_variance (variance), variance x'A^-1x of the arm's own prediction.

        For arms with several responses noise_variance and variance have one column for each, numbered from 0 (nan for
        responses that an arm does not have); their correlations are in `problem.noise_variance`.

        Returns
        -------
        pandas.DataFrame
            Where the rank is not full its attrs["rank"] says so.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.solve(cd.DesignProblem.g_optimal([[1, 0], [0, 1]])).to_frame().shape
        (2, 4)
        """
        import pandas

        rows = self.problem.rows
        frame = pandas.DataFrame(self._columns() if rows.responses == 1 else self._responses(rows))
        if self.rank_note:
            frame.attrs["rank"] = self.rank_note
        return frame

    def _columns(self) -> dict[str, Any]:
        """The columns of the table of ordinary arms."""
        problem = self.problem
        noise = np.ones(problem.n_arms) if problem.noise_variance is None else problem.noise_variance
        price = noise if problem.costs is None else noise * problem.costs
        own = self.canonical.problem.arms.quadratic(self._evaluation.factor) * price
        own[self._unmeasured_arms()] = np.inf
        names = problem.arms.names or range(problem.n_arms)
        return {"arm": list(names), "weight": self.weights, "noise_variance": noise, "variance": own}

    def _responses(self, rows: LabelledVectors) -> dict[str, Any]:
        """The columns of the table of arms with several responses."""
        problem = self.problem
        variance = np.full((rows.n, rows.responses), np.nan)
        variance[rows.places] = self.variance(rows.vectors.values)
        noise = np.where(np.isnan(variance), np.nan, variances_of(problem.noise_variance, rows))
        columns = {"arm": list(rows.names or range(rows.n)), "weight": self.weights}
        columns |= {f"noise_variance {k}": noise[:, k] for k in range(rows.responses)}
        return columns | {f"variance {k}": variance[:, k] for k in range(rows.responses)}

    def _unmeasured_arms(self) -> NDArray[np.intp]:
        if self._evaluation.rank == self.canonical.rank:
            return np.empty(0, dtype=np.intp)
        n, step = self.problem.n_arms, 65_536
        parts = (np.arange(start, min(start + step, n)) for start in range(0, n, step))
        return np.concatenate([part[np.isinf(self.variance(self.problem.arms.take(part)))] for part in parts])

    def plot(self, ax: Any = None) -> Any:
        """Bars of the weights.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axis drawn on.

        Raises
        ------
        MissingExtraError
            Without the extra `plot`.

        Examples
        --------
        >>> import convexdesign as cd
        >>> cd.solve(cd.DesignProblem.g_optimal([[1, 0], [0, 1]])).plot().get_xlabel()
        'share of measurements (%)'
        """
        from convexdesign.plotting import plot_allocation

        names = self.problem.arms.names
        return plot_allocation(self.weights, names=names, ax=ax)

    def round(
        self,
        n: int | None = None,
        method: str = "auto",
        *,
        budget: float | None = None,
        costs: ArrayLike | None = None,
        min_counts: ArrayLike | None = None,
        max_counts: ArrayLike | None = None,
        inequalities: Any = None,
        groups: ArrayLike | None = None,
        per_group: Any = None,
        rng: np.random.Generator | None = None,
        time_limit: float = 60.0,
        effort: str | float = "quick",
        progress: bool = False,
    ) -> ExactDesign:
        """n pulls as whole numbers per arm, with a certified efficiency against the best proportions.

        Bounds and linear constraints on the weights hold for the counts, and so do the limits stated here. With costs and no
        budget a plan is judged by what it gives per unit of cost.

        Parameters
        ----------
        n : int, optional
            The number of pulls; with a budget alone as many as that pays.
        method : {"auto", "ceil", "apportion", "regret", "exchange", "optimal"}
            The best of the cheap ones and of searches from many starts ("auto"); at most n + support pulls, variance at
            most value / n, whatever the constraints ("ceil"); efficiency at least 1 - support/n of these weights where
            nothing limits the counts ("apportion"); for few pulls ("regret"); local search on the criterion ("exchange");
            proven best counts ("optimal", extra `exact`).
        budget : float, optional
            What all pulls together may cost.
        costs : array_like, scalar or shape (n_arms,), optional
            What a pull costs, where the problem has no costs of its own.
        min_counts, max_counts : array_like, scalar or shape (n_arms,), optional
            The least and the most pulls of each arm.
        inequalities : (R, b), optional
            R n <= b for the counts n, R of shape (k, n_arms).
        groups : array_like, shape (n_arms,), optional
            The block of every arm: its day, its unit.
        per_group : int, (int, int) or mapping, optional
            How many runs each group gets, a number, (least, most), or such by the name of the group.
        rng : numpy.random.Generator, optional
            For the starts of the searches; fixed by default.
        time_limit : float
            Seconds, for `optimal`.
        effort : {"quick", "thorough"} or float
            What `auto` and the start of `optimal` spend: the words give the same plan on every machine, a number is
            seconds.
        progress : bool
            A bar on standard error, where that is a terminal.

        Returns
        -------
        ExactDesign
            Counts and what is proven of them.

        Raises
        ------
        InputError
            When n is too small, naming the least n that works, and when no whole numbers keep all constraints, naming
            those in the way and the nearest n.

        Examples
        --------
        >>> import convexdesign as cd
        >>> d = cd.solve(cd.DesignProblem.g_optimal([[1, 0], [0, 1]]))
        >>> e = d.round(7)
        >>> sorted(e.counts.tolist()), round(e.efficiency, 4)
        ([3, 4], 0.8571)
        """
        return round_design(
            self.canonical,
            self.weights,
            self.bound,
            n,
            method=method,
            budget=budget,
            costs=costs,
            min_counts=min_counts,
            max_counts=max_counts,
            inequalities=inequalities,
            groups=groups,
            per_group=per_group,
            rng=rng,
            time_limit=time_limit,
            effort=effort,
            progress=progress,
            dual=self.certificate.dual,
        )

    # ------------------------------------------------------------------ files

    def save(self, path: str | Path) -> None:
        """Write the design and its problem as JSON; very many arms by digest and path of their NPY file.

        That file is the one a memory map was made of, or a new one beside the document.

        Parameters
        ----------
        path : str or pathlib.Path
            The file to write.

        Raises
        ------
        InputError
            For a problem with a callable constraint or with arms made by a function or on a cluster, which no file can
            hold.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import convexdesign as cd
        >>> d = cd.solve(cd.DesignProblem.g_optimal([[1, 0], [0, 1]]))
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "design.json"
        >>> d.save(path); cd.Design.load(path).value == d.value
        True
        """
        path = to_path(path)
        support = self.support
        document = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "problem": problem_to_json(self.problem, path),
            "tol": self.tol,
            "support": support.tolist(),
            "weights": self.weights[support].tolist(),
            "witness": _written(self.certificate.dual),
            "ended": self.status.name,
            "summary": {
                "value": _finite(self.value),
                "bound": _finite(self.bound),
                "gap": _finite(self.gap),
                "method": self.stats.method,
                "formulation": self.stats.formulation,
                "backend": self.stats.backend,
                "iterations": self.stats.iterations,
                "seconds": self.stats.seconds,
            },
        }
        text = json.dumps(document, indent=1, allow_nan=False) + "\n"
        write_text(path, text)

    @classmethod
    def load(cls, path: str | Path) -> Design:
        """Read a design written by `save`; value, bound and status are computed again from the data in the file.

        Parameters
        ----------
        path : str or pathlib.Path
            The file to read.

        Returns
        -------
        Design
            The design, with its problem.

        Raises
        ------
        InputError
            For a file that is no saved design, is of a later format, or is damaged, naming the field.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import convexdesign as cd
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "design.json"
        >>> cd.solve(cd.DesignProblem.g_optimal([[1, 0], [0, 1]])).save(path)
        >>> cd.Design.load(path).status.name
        'CERTIFIED'
        """
        path = to_path(path)
        document = read_document(path)
        if document.get("format") != FORMAT:
            raise InputError(f"{path}: not a saved design (no field format = {FORMAT!r})")
        if document.get("version") != FORMAT_VERSION:
            raise InputError(
                f"{path}: format version {document.get('version')}; this release reads {FORMAT_VERSION}: "
                "upgrade convexdesign"
            )
        try:
            saved = read_saved(document, path)
            canonical = canonicalise(saved.problem)
            certificate = certify(canonical, saved.weights, saved.dual)
            status = status_of(certificate, saved.tol, Status[saved.ended])
        except InputError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"{path}: a field is missing or has the wrong form: {error!r}") from None
        return cls(saved.problem, saved.weights, certificate, status, Stats(**saved.summary), saved.tol, canonical)

    # ---------------------------------------------------------------- display

    def __repr__(self) -> str:
        criterion = self.problem.criterion
        side = "upper" if criterion.maximised else "lower"
        rank = f"; {self.rank_note}" if self.rank_note else ""
        return (
            f"Design({self.problem.kind}: {criterion.symbol} {self.value:.8g}, {side} bound {self.bound:.8g}, "
            f"gap {self.gap:.1e}, {self.status.name}; {self.support.size} of {self.problem.n_arms} arms{rank})"
        )

    def table(self) -> ResultTable:
        """What was solved and how good the answer is, then the arms with weight: as text, HTML or LaTeX.

        Returns
        -------
        ResultTable
            As text by str, in notebooks as HTML, for papers by as_latex().

        Examples
        --------
        >>> import convexdesign as cd
        >>> table = cd.solve(cd.DesignProblem.d_optimal([[1.0, 0.0], [0.0, 1.0]])).table()
        >>> print("\\n".join(str(table).splitlines()[-3:]))
        arm      weight
        arm 0  0.500000
        arm 1  0.500000
        """
        criterion = self.problem.criterion
        side = "upper bound" if criterion.maximised else "lower bound"
        facts = [(criterion.value_name, f"{self.value:.8g}"), (side, f"{self.bound:.8g}"), ("gap", f"{self.gap:.1e}")]
        facts += [("status", self.status.name), ("method", self.stats.method)]
        if self.rank_note:
            facts.append(("rank", self.rank_note))
        if self.certificate.feasibility > 0.0:
            facts.append(("constraints missed by", f"{self.certificate.feasibility:.1e}"))
        order = self.support[np.argsort(-self.weights[self.support], kind="stable")]
        rows = tuple((self.problem.arm_name(int(i)), f"{self.weights[i]:.6f}") for i in order)
        return ResultTable(f"{self.problem.kind}, proportions", tuple(facts), ("arm", "weight"), rows)

    def _repr_html_(self) -> str:
        from html import escape

        largest = self.support[np.argsort(-self.weights[self.support], kind="stable")][:20]
        rows = "".join(
            f"<tr><td>{escape(self.problem.arm_name(int(i)))}</td><td>{self.weights[i]:.6f}</td></tr>" for i in largest
        )
        more = self.support.size - largest.size
        tail = f"<tr><td colspan=2>and {more} more</td></tr>" if more else ""
        return f"<p>{escape(repr(self))}</p><table><tr><th>arm</th><th>weight</th></tr>{rows}{tail}</table>"


def _written(dual: DualCertificate | None) -> dict[str, Any] | None:
    """A dual certificate as plain data."""
    if dual is None:
        return None
    written = {"targets": dual.targets.tolist(), "vectors": dual.vectors.tolist()}
    return written if dual.remainders is None else written | {"remainders": dual.remainders.tolist()}


def _information(problem: DesignProblem, weights: Floats) -> Floats:
    support = np.flatnonzero(weights != 0)
    Y = problem.arms.take(support)
    A = Y.T @ (repeat_per_response(weights[support], Y)[:, None] * Y)
    return A if problem.prior is None else A + problem.prior


def _differ(first: Floats, second: Floats) -> NDArray[np.bool_]:
    """Which rows differ by more than rounding, each entry by its own size."""
    size = np.abs(first) + np.abs(second) + np.linalg.norm(second, axis=1, keepdims=True) * 1e-12
    return np.asarray((np.abs(first - second) > 1e-6 * size).any(axis=1))


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
