"""What was measured of Frank-Wolfe: one value, handed to the solver, with the commands that measured it."""

from __future__ import annotations

from dataclasses import dataclass

from convexdesign.problem.pairs import FEW_PAIRS

__all__ = ["BOUNDED", "TUNING", "BoundedTuning", "Tuning"]


@dataclass(frozen=True)
class Tuning:
    """From which sizes on the ways of large problems are the faster: `python benchmarks/large_arms.py`, `many_items.py`.

    whole: up to so many arms and as many targets, everything is in one master; first_targets: up to so many, all of these
    are in the first. few_entries: vectors of up to so many entries are all candidates, since evaluating them costs no more
    than the rest of a step. Otherwise the candidate set holds a share of all vectors, and no fewer than `fewest`; extending it
    copies vectors, and beyond the share `widest` of all a pass is cheaper. few_pairs: up to so many pairs of items are all
    candidates, otherwise `pairs` between full scans; few_items: those whose pairs come first where items are more than twice
    as many.

    How far masters are solved, whose weights only serve the next pricing: `python benchmarks/frank_wolfe.py`. To
    master_share of the gap; once nothing is missing, to final_share of the gap asked for; the first master of a smooth
    criterion as if the gap were first_gap. Members are forgotten only after the gap fell to the share `fall`, so that nothing
    comes and goes. A minimax master takes at most minimax_steps. For log det Newton's method converges within d_newton steps
    or, among near-duplicate arms, crawls: then come d_interior. For the average variance it needs about ten;
    average_patience before interior points take over, average_steps in all. Both begin with over-relaxed multiplicative
    steps w <- w q^a, as (a, their number); a = 1/2 never raises the average variance.

    A related design with a larger gap is not begun from: `python benchmarks/warm_start.py`.
    """

    whole: int = 64
    first_targets: int = 64
    few_entries: int = 100_000
    share: float = 0.02
    fewest: int = 5000
    widest: float = 0.05
    few_pairs: int = FEW_PAIRS
    pairs: int = 50_000
    few_items: int = 1500

    master_share: float = 0.1
    final_share: float = 0.3
    first_gap: float = 1e-2
    fall: float = 0.9
    minimax_steps: int = 60
    d_start: tuple[float, int] = (1.8, 3)
    d_newton: int = 12
    d_interior: int = 60
    average_start: tuple[float, int] = (0.5, 4)
    average_patience: int = 25
    average_steps: int = 60

    minimax_near: float = 0.5
    smooth_near: float = 0.3


@dataclass(frozen=True)
class BoundedTuning:
    """Of the interior points with bounds on the weights: `python benchmarks/bounded_weights.py`.

    dense: up to so many arms per coordinate of a symmetric matrix, systems of the arms are the cheaper ones. entries: numbers
    that the systems may hold, a quarter of a gigabyte. operations: in a second, as a rule. snapped: up to so many free arms,
    weights that are put on bounds are followed by a step of Newton's method.

    From so many as `many` arms on, working sets are worth their rounds, of which there are at most `rounds`. A set has
    per_coordinate arms for each coordinate of a symmetric matrix, and at least `least`; starting: vertices that the start goes
    through. Sets of a minimax begin with minimax_most arms and shrink with the gap, and its masters take at most minimax_steps;
    it learns its first prices from `sample` arms, at least sample_per_coordinate for each coordinate.
    """

    dense: int = 2
    entries: int = 2**25
    operations: float = 8e9
    snapped: int = 2500

    many: int = 4000
    rounds: int = 40
    per_coordinate: int = 6
    least: int = 600
    starting: int = 6
    minimax_steps: int = 60
    sample: int = 2000
    sample_per_coordinate: int = 20
    minimax_most: int = 4000


TUNING = Tuning()
BOUNDED = BoundedTuning()
