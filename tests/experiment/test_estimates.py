"""Estimates with intervals that hold at all times, the table of rounds, the page: what they say is what was told."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.experiment import RoundView
from convexdesign.experiment import events as events_module
from convexdesign.identification.evidence import SCALES, SHARES, log_wealth

I = cd.identification  # noqa: E741
NAMES = ["red", "green <b>", "blue & co", "old"]
MEANS = np.array([1.0, 0.5, 0.8, 0.0])


def started(path, rounds, **options):
    arms = pd.DataFrame(np.eye(4), index=NAMES)
    x = cd.Experiment.create(path, I.MartingaleElimination(arms, **options))
    env = cd.simulation.LinearEnvironment(np.eye(4), MEANS, noise_variance=1.0, rng=1)
    for _ in range(rounds):
        if x.done:
            break
        batch = x.ask()
        x.tell(batch, env.pull(batch.counts))
    return x


def totals(x):
    """Counts and means of all results, from the log's own sums."""
    folded = [step["folded"] for step in x.transcript()["steps"] if step.get("folded")]
    count, total = np.zeros((2, 4))
    for sums in folded:
        count[sums["arms"]] += sums["count"]
        total[sums["arms"]] += np.array(sums["count"]) * sums["mean"]
    return count, total / count


def test_estimates_of_separate_arms_are_their_means_and_differences_are_differences(path):
    x = started(path, 3)
    found, (count, mean) = x.confidence(control="old"), totals(x)
    assert found.count.tolist() == count.tolist()
    assert found.mean == pytest.approx(mean)
    assert found.estimate == pytest.approx(mean)
    assert found.to_control.reference == 3
    assert found.to_control.estimate == pytest.approx(mean - mean[3])
    leader = int(np.argmax(mean))
    assert found.to_leader.reference == leader
    assert found.to_leader.low[leader] == found.to_leader.high[leader] == 0.0
    assert np.all(found.low < found.estimate)
    assert np.all(found.estimate < found.high)
    # The difference of two items is minus that of the same two the other way round.
    other = x.confidence(control=leader).to_control
    assert other.low[3] == pytest.approx(-found.to_control.high[leader])
    assert found.item_names == tuple(NAMES)


def test_ends_are_those_of_the_mixture_for_known_variances(path):
    """One round, separate arms: the end solves log wealth(M - mV, V) = log(2 m / (delta/2)), here solved anew."""
    from scipy.optimize import brentq

    x = started(path, 1, known_variances=1.0)
    found, (count, mean) = x.confidence(), totals(x)
    threshold = np.log(2 * 4 / 0.025)
    for i in range(4):

        def wealth(m, i=i):
            M = np.array([count[i] * (mean[i] - m)])
            return float(log_wealth(M, np.array([count[i]]), SCALES[:, None] * count[i], SHARES)[0]) - threshold

        assert found.low[i] == pytest.approx(brentq(wealth, mean[i] - 5.0, mean[i]), abs=1e-8)
        assert found.high[i] - mean[i] == pytest.approx(mean[i] - found.low[i])


def test_intervals_narrow_with_rounds_and_widen_with_the_level(path):
    x = started(path, 4)
    found = x.confidence()
    assert found.over_time.low.shape == (4, 4)
    assert np.all(np.diff(found.over_time.low, axis=0) >= 0)
    assert np.all(np.diff(found.over_time.high, axis=0) <= 0)
    assert found.level == pytest.approx(0.95)
    wider, narrower = x.confidence(level=0.99), x.confidence(level=0.8)
    assert np.all(wider.low < found.low)
    assert np.all(found.low < narrower.low)
    assert np.all(wider.to_leader.high >= found.to_leader.high)


def test_nothing_is_written_and_a_reader_sees_the_same(path):
    x = started(path, 2)
    before = path.read_bytes()
    with cd.Experiment.open(path, read_only=True) as reader:
        a, b = x.confidence(control=3), reader.confidence(control=3)
        assert a.to_frame().equals(b.to_frame())
        assert a.arms_to_frame().equals(b.arms_to_frame())
        assert reader.to_frame().equals(x.to_frame())
        reader.to_html()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.5}, "level"),
        ({"level": 0.9995}, "give a smaller level"),
        ({"control": 4}, "0 to 3"),
        ({"control": "none of them"}, "control is"),
    ],
)
def test_what_cannot_be_estimated(path, options, message):
    x = started(path, 1)
    with pytest.raises(cd.InputError, match=message):
        x.confidence(**options)


def test_before_the_first_round_there_is_nothing(path):
    x = started(path, 0)
    with pytest.raises(cd.InputError, match="no round is complete"):
        x.confidence()
    assert x.to_frame().empty
    assert "<h2>Estimates" not in x.to_html()


def test_the_table_of_rounds(path):
    x = started(path, 20)
    table, answer = x.to_frame(), x.result()
    assert answer.answer == (0,)
    assert table["pulls"].sum() == table["samples"].iloc[-1] == answer.samples
    assert table["left"].iloc[-1] == 1
    dropped = [name for cell in table["dropped"] for name in cell.split(", ") if name]
    assert sorted(dropped) == sorted(NAMES[1:])
    assert table["p_value"].iloc[-1] == answer.p_value
    assert all(isinstance(view, RoundView) for view in x.rounds())


@pytest.mark.parametrize(
    "algorithm",
    [
        lambda arms: I.Rage(arms, variance_bounds=(1.0, 2.0)),
        lambda arms: I.HRage(arms, variance_bounds=(0.5, 2.0)),
        lambda arms: I.HRage(arms, burn_in="adaptive"),
        lambda arms: I.HRage(arms, known_variances=1.0),
        lambda arms: I.StaticAllocation(arms, variance_bounds=(1.0, 2.0)),
        lambda arms: I.MartingaleElimination(arms, noise="sub-gaussian", variance_bounds=(0.1, 10.0)),
        lambda arms: I.MartingaleElimination(arms, objective=I.LevelSet(0.3)),
    ],
    ids=["rage", "h-rage", "adaptive", "known", "static", "sub-gaussian", "level-set"],
)
def test_every_algorithm_has_estimates(path, algorithm):
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]])
    env = cd.simulation.LinearEnvironment(arms, [1.0, 0.0], noise_variance=1.0, rng=3)
    with cd.Experiment.create(path, algorithm(arms)) as x:
        for _ in range(4):
            if not x.done:
                batch = x.ask()
                x.tell(batch, env.pull(batch.counts))
        found = x.confidence(control=1)
        truth = arms @ [1.0, 0.0]
        assert np.all(found.low < truth)
        assert np.all(truth < found.high)
        assert np.all(np.isfinite(found.high - found.low))
        assert np.all(found.to_control.low <= truth - truth[1])
        assert np.all(truth - truth[1] <= found.to_control.high)
        assert (found.to_leader is None) == isinstance(x.algorithm().objective, I.LevelSet)
        assert found.assumption == x.status().assumption
        assert x.to_html().count("<svg") >= 2


@pytest.mark.parametrize("rates", [(0.05, 0.1), (0.0, 1.0)])
def test_rewards_of_two_values_have_estimates(path, rates):
    """Rates and their differences keep in the range that the rewards have, also where bets alone would not say so."""
    rng, rates = np.random.default_rng(0), np.array(rates)
    items = [[1, 0], [0, 1], [0.5, 0.5]]
    with cd.Experiment.create(path, I.MartingaleElimination(np.eye(2), items, noise="bernoulli")) as x:
        for _ in range(4):
            batch = x.ask()
            ones = rng.binomial(batch.counts, rates)
            mean = ones / np.maximum(batch.counts, 1)
            x.tell(batch, Observations(batch.counts, mean, batch.counts * mean * (1 - mean)))
            if x.done:
                break
        found = x.confidence(control=0)
    values = np.append(rates, rates.mean())
    for low, high in ((found.low, found.high), (found.over_time.low[0], found.over_time.high[0])):
        assert np.all(low <= values)
        assert np.all(values <= high)
        assert np.all(low[:2] >= 0.0)
        assert np.all(high[:2] <= 1.0)
    assert np.all(found.to_control.low[:2] >= [0.0, -1.0])
    assert np.all(found.to_control.high[:2] <= [0.0, 1.0])
    assert "either 0 or 1" in found.assumption


# ------------------------------------------------------------------ the page


class Page(HTMLParser):
    """Collects text and tags; every tag is closed in its order."""

    VOID = ("meta", "path", "circle", "rect", "polyline", "polygon")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.links = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_is_one_file_with_all_that_there_is_to_know(path):
    x = started(path, 3)
    x.note("<script>alert('no')</script> & more")
    x.mark_missing(x.ask(), arms=[0], counts=[2], reason="a server fell over")
    text = x.to_html(control="old")
    page = Page(text)
    words = " ".join(page.words)
    assert page.links == []
    assert "script" not in page.tags
    assert "http" not in text.replace("http-equiv", "")
    assert page.tags.count("svg") == 3
    for name in NAMES:
        assert name in words
    found = x.confidence(control="old")
    for value in (*found.estimate, *found.low, *found.high, *found.to_control.low):
        assert f"{value:.4g}" in words
    assert "<script>alert('no')</script> & more" in words
    assert "a server fell over" in words
    assert x.status().guarantee[1:] in words
    for view in x.rounds():
        assert f"{view.samples:,}" in words


def table(text, head):
    """The rows of the table whose header holds this cell, as lists of texts."""
    whole = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
    rows = [[unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in whole]
    start = next(k for k, row in enumerate(rows) if head in row)
    return [row for row in rows[start + 1 :] if len(row) == len(rows[start])]


def test_who_was_dropped_when_and_why(path):
    x = started(path, 20)
    text = x.to_html()
    fates = [row for row in table(text, "rounds by then") if row[1] == "eliminated"]
    expected = [
        [NAMES[i], "eliminated", str(view.number), f"{view.samples:,}", f"p-value {view.p_values[i]:.3g}"]
        for view in x.rounds()
        for i in view.dropped
    ]
    assert [row[:2] + row[3:] for row in fates][: len(expected)] == expected
    words = " ".join(Page(text).words)
    assert "Result" not in words
    assert re.search(r"answer red status", words)


def test_every_act_is_named_and_every_round_is_shown_as_it_was(path, monkeypatch):
    """Each act with its own word, variant, key and batch; rounds as they were, whatever is amended, dropped or joined since."""
    clock = iter(range(10_000))
    monkeypatch.setattr(events_module, "datetime", Ticking(clock))
    world = cd.simulation.LinearEnvironment(np.eye(5), [1.0, 0.6, 0.3, 0.0, 0.5], noise_variance=1.0, rng=4)

    def pulled(counts):
        told = world.pull(np.append(counts, np.zeros(5 - len(counts), dtype=int)))
        return Observations(counts, told.mean[: len(counts)], told.m2[: len(counts)])

    arms = pd.DataFrame(np.eye(4), index=NAMES)
    with cd.Experiment.create(path, I.MartingaleElimination(arms)) as x:
        told = []
        for _ in range(2):
            batch = x.ask()
            told.append(pulled(batch.counts))
            x.tell(batch, told[-1])
        before = x.to_frame()
        batch = x.ask()
        arrived = batch.counts + [3, -2, 0, 0]
        x.arrived(batch, arrived, reason="traffic")
        x.tell(batch, pulled(arrived), key="third")
        wrong = Observations(told[0].count, told[0].mean + [0.0, 0.0, 9.0, 0.0], told[0].m2)
        x.amend("batch-0", observations=wrong, reason="two orders")
        x.take_back("batch-0", reason="no, they were right")
        x.drop_item([3], reason="legal said no")
        x.withdraw([3], reason="withdrawn too")
        x.join_variant("pink", reason="idea of the board")
        batch = x.ask()
        x.mark_missing(batch, arms=[1], counts=[2], reason="lost")
        frame, text = x.to_frame(), x.to_html()
    assert frame.iloc[:2].equals(before)
    assert frame["left"].iloc[0] == 4
    assert frame["completed"].is_monotonic_increasing
    rounds = table(text, "completed (UTC)")[:3]
    assert [row[2] for row in rounds] == [time[:16].replace("T", " ") for time in frame["completed"]]
    assert [int(row[7]) for row in rounds] == frame["left"].tolist()
    named = [row[1:] for row in table(text, "which")]
    asked = arrived - [3, -2, 0, 0]
    numbers = [f"{arrived[i]:,} of {NAMES[i]} ({asked[i]:,} asked for)" for i in (0, 1)]
    assert named[0] == ["arrived", f"batch 2: {numbers[0]}, {numbers[1]}, of the others as asked", "traffic"]
    grey = f"{told[0].count[2]:,} of {NAMES[2]} with mean"
    was, now = f"{grey} {told[0].mean[2]:.6g}", f"{grey} {told[0].mean[2] + 9.0:.6g}"
    assert [row[0] for row in named[1:3]] == ["amended", "taken back"]
    for (_, which, _), (first, then) in zip(named[1:3], ((was, now), (now, was))):
        assert which.startswith("batch-0, of batch 0: ")
        assert which.index(first) < which.index("; now ") < which.index(then)
    assert [row[2] for row in named[1:3]] == ["two orders", "no, they were right"]
    assert named[3:] == [
        ["dropped", f"item {NAMES[3]}", "legal said no"],
        ["withdrawn", f"arm {NAMES[3]}", "withdrawn too"],
        ["joined", "variant pink", "idea of the board"],
        ["missing", f"batch 3: 2 of {NAMES[1]}", "lost"],
    ]
    fates = [row[:2] + row[5:] for row in table(text, "rounds by then")]
    for fate in (
        [NAMES[3], "dropped", "legal said no"],
        [f"arm {NAMES[3]}", "withdrawn", "withdrawn too"],
        ["variant pink", "joined", "idea of the board"],
    ):
        assert fate in fates


class Ticking:
    """A clock that goes a minute further whenever it is looked at."""

    def __init__(self, minutes):
        self.minutes = minutes

    def now(self, zone):
        return datetime(2026, 1, 1, tzinfo=zone) + timedelta(minutes=next(self.minutes))


def test_plots_show_the_intervals(path):
    pytest.importorskip("matplotlib")
    from convexdesign.plotting import new_axes

    x = started(path, 3)
    ax = x.plot(ax=new_axes())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == NAMES
    found = x.confidence()
    for line, low, high in zip(ax.lines, found.low, found.high):
        assert line.get_ydata()[-1] == pytest.approx((low + high) / 2.0)


# ------------------------------------------------------------------ results as a table


def test_results_are_those_that_count_as_corrected(x, path, env):
    batch = x.ask()
    x.tell(batch, arms=[0, 1], rewards=[1.0, 2.0], keys=["b", "a"])
    x.amend("b", reward=5.0)
    left = batch.counts - [1, 1, 0]
    rest = env.pull(left)
    x.tell(batch, rest, key="rest")
    rows = x.results()
    assert rows[:2] == [("a", 0, 1, 1, 2.0, 0.0), ("b", 0, 0, 1, 5.0, 0.0)]
    assert rows[2:] == [
        ("rest", 0, int(i), int(left[i]), float(rest.mean[i]), float(rest.m2[i])) for i in np.flatnonzero(left)
    ]
    assert sum(row[3] for row in rows) == batch.total
