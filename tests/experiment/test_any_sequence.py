"""Random sequences of everything that can be done to an experiment: what must hold after each of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import convexdesign as cd
from convexdesign.estimation import Observations
from convexdesign.experiment import Phase, check

I = cd.identification  # noqa: E741
ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [2.0, 1.0]])
ITEMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
THETA = np.array([1.0, 0.6])
MAKERS = {
    "rage": lambda: I.Rage(ARMS, ITEMS, variance_bounds=(0.5, 1.0), rng=0),
    "hrage": lambda: I.HRage(ARMS, ITEMS, variance_bounds=(0.5, 1.0), rng=0),
    "martingale": lambda: I.MartingaleElimination(ARMS, ITEMS, rng=0),
}
STEPS = 40


class Actor:
    """Does random things to an experiment, and keeps its own account of the results that count."""

    def __init__(self, path, x, seed):
        self.path, self.x = path, x
        self.rng = np.random.default_rng(seed)
        self.told = {}  # key: (batch, arguments)
        self.made = 0

    def reward(self, arm):
        return float(ARMS[arm] @ THETA + 0.8 * self.rng.standard_normal())

    def key(self):
        self.made += 1
        return f"key-{self.made}"

    def step(self):
        phase = self.x.status().phase
        if phase is Phase.READY:
            self.x.done  # noqa: B018  (plans the next batch, or finds the result)
            return
        actions = [self.again, self.reopen, self.conflict, self.amend]
        if phase is Phase.WAITING:
            actions += [self.rows, self.summary, self.finish, self.finish, self.finish, self.missing, self.withdraw]
        actions[int(self.rng.integers(len(actions)))]()

    def rows(self):
        due = np.repeat(np.arange(len(ARMS)), np.minimum(self.x.outstanding(), 3))
        if due.size == 0:
            return
        arms = self.rng.permutation(due)[:4]
        batch, keys = self.x.open_batch, [self.key() for _ in arms]
        values = [self.reward(arm) for arm in arms]
        self.x.tell(batch, arms=arms, rewards=values, keys=keys)
        for key, arm, value in zip(keys, arms, values):
            self.told[key] = (batch, {"arms": [arm], "rewards": [value], "keys": [key]})

    def summary(self, share=0.3):
        due = self.x.outstanding()
        counts = np.floor(due * share).astype(int) if share < 1 else due
        if counts.sum() == 0:
            return
        env = cd.simulation.LinearEnvironment(ARMS, THETA, 0.64, rng=self.rng)
        batch, key = self.x.open_batch, self.key()
        observed = env.pull(counts)
        self.x.tell(batch, observations=observed, key=key)
        self.told[key] = (batch, {"observations": observed, "key": key})

    def finish(self):
        self.summary(share=1)

    def again(self):
        if self.told:
            batch, arguments = self.told[str(self.rng.choice(list(self.told)))]
            assert self.x.tell(batch, **arguments).accepted == 0

    def conflict(self):
        if self.told:
            key = str(self.rng.choice(list(self.told)))
            before = self.x.digest()
            with pytest.raises(cd.ConflictError):
                self.x.tell(self.told[key][0], arms=[0], rewards=[1e6], keys=[key])
            assert self.x.digest() == before

    def amend(self):
        rows = [key for key, (_, arguments) in self.told.items() if "arms" in arguments]
        if not rows:
            return
        key = str(self.rng.choice(rows))
        batch, arguments = self.told[key]
        value = self.reward(arguments["arms"][0])
        try:
            self.x.amend(key, reward=value, set_aside=bool(self.rng.random() < 0.3))
        except cd.InputError:
            return  # set aside already, or used by later batches
        self.told[key] = (batch, {**arguments, "rewards": [value]})

    def missing(self):
        due = np.flatnonzero(self.x.outstanding())
        if self.rng.random() < 0.5 and due.size:
            self.x.mark_missing(self.x.open_batch, arms=[int(due[0])], counts=[1])

    def withdraw(self):
        gone = self.x.status().withdrawn
        if len(gone) < 2 and self.rng.random() < 0.3:
            self.x.withdraw([int(self.rng.choice([i for i in range(len(ARMS)) if i not in gone]))])

    def reopen(self):
        digest = self.x.digest()
        self.x.close()
        self.x = cd.Experiment.open(self.path)
        assert self.x.digest() == digest

    def account(self):
        """The results that count, by this account and by the experiment's."""
        live = {i for step in self.x.transcript()["steps"] for i in (b["id"] for b in step.get("batches", ()))}
        mine = sum(
            int(arguments["observations"].total) if "observations" in arguments else 1
            for batch, arguments in self.told.values()
            if batch in live
        )
        return mine, self.x.status().pulls_told


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("seed", range(3))
def test_after_any_sequence_the_account_is_right(path, name, seed):
    actor = Actor(path, cd.Experiment.create(path, MAKERS[name]()), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", I.GuaranteeWarning)  # amendments make up rewards
        for _ in range(STEPS):
            actor.step()
            mine, theirs = actor.account()
            assert mine == theirs
    actor.reopen()
    for step in actor.x.transcript()["steps"]:
        if step.get("folded"):
            batches = {b["id"] for b in step["batches"]}
            whole = Observations.empty(len(ARMS))
            for batch, arguments in actor.told.values():
                if batch in batches:
                    observed = arguments.get("observations")
                    if observed is None:
                        observed = Observations.from_rewards(len(ARMS), arguments["arms"], arguments["rewards"])
                    whole = whole.merge(observed)
            arms = step["folded"]["arms"]
            assert step["folded"]["count"] == whole.count[arms].tolist()
            np.testing.assert_allclose(step["folded"]["mean"], whole.mean[arms], rtol=1e-9)
            np.testing.assert_allclose(step["folded"]["m2"], whole.m2[arms], rtol=1e-9, atol=1e-9)
    actor.x.close()
    assert check(path).problems == ()
