"""The instances against the facts the paper states and against their own geometry."""

from itertools import product

import numpy as np
import pytest

from convexdesign import instances
from convexdesign.errors import InputError
from convexdesign.features import phi, vech
from convexdesign.identification.best_arm import BestArm
from convexdesign.identification.level_set import LevelSet

EVERY = {
    "soare": instances.soare,
    "experiment_1": instances.experiment_1,
    "experiment_2": instances.experiment_2,
    "multivariate_testing": instances.multivariate_testing,
}


def means(x):
    return x.items @ x.theta


@pytest.mark.parametrize(
    ("name", "n", "d", "kappa", "rank"),
    [
        ("soare", 3, 2, 20.0, 3),
        ("experiment_1", 9, 4, 6.25, 9),
        ("experiment_2", 6, 3, 5.0, 6),
        ("multivariate_testing", 8, 7, 3.35, 8),
    ],
)
def test_sizes_kappa_and_rank_of_phi(name, n, d, kappa, rank):
    x = EVERY[name]()
    assert x.arms.shape == x.items.shape == (n, d)
    np.testing.assert_array_equal(x.arms, x.items)
    assert len(np.unique(x.arms, axis=0)) == n
    assert x.kappa == pytest.approx(kappa, rel=1e-12)
    assert np.linalg.matrix_rank(phi(x.arms)) == rank
    assert np.linalg.matrix_rank(x.arms) == d


@pytest.mark.parametrize("make", [*list(EVERY.values())[1:], lambda: instances.two_spheres(d=4, rng=3)])
def test_noise_variance_is_the_quadratic_form_of_sigma(make):
    x = make()
    np.testing.assert_allclose(x.noise_variance, phi(x.arms) @ vech(x.Sigma), rtol=1e-12)


def test_no_sigma_gives_the_intro_variances():
    """x3 = cos e1 + sin e2, so s_3 <= cos s_1 + sin s_2 and s_2 <= (s_3 + cos s_1)/sin: below sqrt(20)."""
    x = instances.soare()
    assert x.Sigma is None
    s = np.sqrt(x.noise_variance)
    assert s[1] > (s[2] + np.cos(0.5) * s[0]) / np.sin(0.5)


@pytest.mark.parametrize(("name", "best"), [("soare", 0), ("experiment_1", 0), ("experiment_2", 0)])
def test_best_arm_is_e1(name, best):
    x = EVERY[name]()
    assert isinstance(x.objective, BestArm)
    assert x.answer == (best,)
    np.testing.assert_array_equal(x.theta, np.eye(x.theta.size)[0])


def test_near_optimal_arms_of_the_experiments():
    gap = 1 - np.cos(0.02)
    first, second = instances.experiment_1(), instances.experiment_2()
    np.testing.assert_allclose(1 - means(first)[4:7], gap, rtol=1e-12)
    assert np.sort(1 - means(second))[1] == pytest.approx(gap, rel=1e-12)


def test_multivariate_best_layout_changes_the_third_dimension_only():
    x = instances.multivariate_testing()
    assert x.answer == (1,)
    np.testing.assert_array_equal(x.arms[1], [1, 0, 0, 1, 0, 0, 0])
    # The noisy layouts are those with the second variation in the first dimension.
    assert x.noise_variance[4:].min() > 3 * x.noise_variance[:4].max()


@pytest.mark.parametrize(
    ("name", "threshold", "answer"),
    [
        ("soare", 0.9, (0,)),
        ("experiment_1", 0.95, (0, 4, 5, 6)),
        ("experiment_2", 0.9, (0, 1)),
        ("multivariate_testing", 0.0, (0, 1, 2, 4)),
    ],
)
def test_level_set_versions(name, threshold, answer):
    x = EVERY[name](objective="level-set")
    assert x.objective == LevelSet(threshold)
    assert x.answer == answer
    assert np.abs(means(x) - threshold).min() > 1e-3, "an item on the threshold can never be decided"
    other = EVERY[name](objective=LevelSet(threshold + 10))
    assert other.answer == ()


def test_multivariate_default_is_the_stated_seven_columns():
    rows = [(1, a, b, c, a * b, a * c, b * c) for a, b, c in product((0, 1), repeat=3)]
    x = instances.multivariate_testing()
    np.testing.assert_array_equal(x.arms, rows)
    np.testing.assert_allclose(x.theta, [0, 0.01, 0.015, 0.02, -0.1, -0.1, -0.1])
    np.testing.assert_allclose(np.diag(x.Sigma), [0.3, 0.7, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3])


@pytest.mark.parametrize(("n", "m"), [(2, 1), (3, 2), (2, 5), (4, 3)])
def test_multivariate_family_against_its_model(n, m):
    """x'theta is the constant, plus one effect per changed place, plus one interaction per changed pair."""
    rng = np.random.default_rng(0)
    constant, effect = rng.normal(), rng.normal(size=(m, n))
    interaction = rng.normal(size=(m, m, n, n))
    theta = [constant, *effect[:, 1:].ravel()]
    for i in range(m):
        for j in range(i + 1, m):
            theta.extend(interaction[i, j, 1:, 1:].ravel())
    x = instances.multivariate_testing(n, m, theta=theta)
    expected = []
    for layout in product(range(n), repeat=m):
        value = constant + sum(effect[i, v] for i, v in enumerate(layout) if v)
        for i in range(m):
            for j in range(i + 1, m):
                if layout[i] and layout[j]:
                    value += interaction[i, j, layout[i], layout[j]]
        expected.append(value)
    np.testing.assert_allclose(means(x), expected)
    assert x.arms.shape[0] == n**m
    assert np.linalg.matrix_rank(x.arms) == x.arms.shape[1] == instances.multivariate_dimension(n, m)


def test_blocks_make_the_whole_matrix():
    whole = instances.multivariate_testing(3, 3).arms
    starts, blocks = zip(*instances.multivariate_blocks(3, 3, block=10))
    assert starts == (0, 10, 20)
    np.testing.assert_array_equal(np.vstack(blocks), whole)


@pytest.mark.parametrize("d", [3, 5])
def test_experiment_2_in_any_dimension(d):
    x = instances.experiment_2(d)
    assert x.arms.shape == (d + d * (d - 1) // 2, d)
    np.testing.assert_allclose(np.linalg.norm(x.arms, axis=1), 1, rtol=1e-12)
    variance = np.diag(x.Sigma)
    np.testing.assert_allclose(variance[[1, 2]], 0.2)
    np.testing.assert_allclose(np.delete(variance, [1, 2]), 1.0)


def test_two_spheres_radii_noise_and_seed():
    x = instances.two_spheres(rng=7)
    norms = np.linalg.norm(x.arms, axis=1)
    np.testing.assert_allclose(norms, np.r_[np.ones(200), np.full(1800, 0.1)], rtol=1e-12)
    np.testing.assert_allclose(np.diag(x.Sigma), [1, 0.1] * 7 + [1])
    np.testing.assert_array_equal(x.theta, np.ones(15))
    np.testing.assert_array_equal(x.arms, instances.two_spheres(rng=np.random.default_rng(7)).arms)
    assert not np.array_equal(x.arms, instances.two_spheres(rng=8).arms)


def test_two_spheres_directions_are_uniform():
    """The mean direction of N uniform unit vectors has squared length chi^2_d / (N d) about; d = 15.

    N d |mean|^2 is below 45 with probability above .9999 (chi-square, 15 degrees); the seed is fixed.
    """
    x = instances.two_spheres(rng=1)
    direction = x.arms / np.linalg.norm(x.arms, axis=1, keepdims=True)
    assert 2000 * 15 * np.sum(direction.mean(axis=0) ** 2) < 45


def test_arrays_are_read_only():
    x = instances.experiment_2()
    with pytest.raises(ValueError, match="read-only"):
        x.arms[0, 0] = 5.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: instances.soare(omega=0), "omega"),
        (lambda: instances.soare(kappa=-1), "kappa"),
        (lambda: instances.soare(objective="best"), "level-set"),
        (lambda: instances.experiment_1(q=1.5), "q"),
        (lambda: instances.experiment_2(d=2), "at least 3"),
        (lambda: instances.experiment_2(beta2=0), "beta2"),
        (lambda: instances.multivariate_testing(1, 3), "variations"),
        (lambda: instances.multivariate_testing(10, 9), "multivariate_arms"),
        (lambda: instances.multivariate_testing(theta=[1.0]), "theta"),
        (lambda: instances.multivariate_testing(Sigma=-np.eye(7)), "arm"),
        (lambda: instances.multivariate_layouts([8], 2, 3), "0 .. 7"),
        (lambda: instances.two_spheres(radius=0, rng=0), "radius"),
        (lambda: instances.two_spheres(outer=0, inner=0, rng=0), "at least one arm"),
        (lambda: LevelSet(float("nan")), "threshold"),
    ],
)
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
