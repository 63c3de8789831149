"""Moments of lives: counted as a plain loop counts them, and nearer to the truth than the sample itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator.goals import lives
from bisimulator.goals.lives import LifeMeasure
from bisimulator.goals.moments import M

GROUPS, ENVS, STEPS, MOMENTS = 2, 8, 40, M.ENDED
MEASURE = LifeMeasure(window=50_000.0, recent=1.0)  # recent: the newest batch alone
measure = jax.jit(MEASURE.measure)
moments = jax.jit(MEASURE.moments)


def start(key):
    centres = jax.random.uniform(key, (lives.FEATURES - 1, 2))
    return MEASURE.init(key, centres, num_envs=ENVS, num_groups=GROUPS, group_entries=0, num_moments=MOMENTS)


class Stream:
    """Lives of one to five decisions. What they bring depends on what they began with, and on luck."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.left = np.zeros(ENVS, int)
        self.first, self.group = np.zeros(ENVS), np.zeros(ENVS, int)
        self.sums, self.ended = np.zeros((ENVS, MOMENTS)), []

    def batch(self, cut=0.0):
        rows = []
        for _ in range(STEPS):
            new = self.left == 0
            self.left[new] = self.rng.integers(1, 6, new.sum())
            self.first[new] = self.rng.uniform(size=new.sum())
            self.group[new] = self.rng.integers(0, GROUPS, new.sum())
            self.sums[new] = 0
            accepted = self.first > 0.4 + 0.2 * self.group
            qualified = self.rng.uniform(size=ENVS) < self.first
            one, reward = np.ones(ENVS), accepted * np.where(qualified, 1, -1)
            added = np.stack([reward, one, one, accepted, qualified, accepted & qualified], -1)
            self.sums += added
            self.left -= 1
            terminated = self.left == 0
            truncated = ~terminated & (self.rng.uniform(size=ENVS) < cut)
            self.left[truncated] = 0
            self.ended += [(self.group[env], self.sums[env].copy()) for env in np.flatnonzero(terminated)]
            obs = np.stack([self.first, self.rng.uniform(size=ENVS)], -1)
            rows.append((obs, added, self.group.copy(), terminated, truncated))
        obs, added, group, *flags = (np.stack(column) for column in zip(*rows, strict=True))
        return obs.astype(np.float32), added.astype(np.float32), group, *flags


def test_whole_lives_are_counted_once_also_across_batches(key):
    stream, state = Stream(0), start(key)
    for _ in range(3):
        before = len(stream.ended)
        state = measure(state, *stream.batch(cut=0.1))
        expected = np.zeros((GROUPS, MOMENTS))
        for group, sums in stream.ended[before:]:
            expected[group] += sums
        np.testing.assert_allclose(state.recent, expected, rtol=1e-5)
    number = np.bincount([group for group, _ in stream.ended])
    np.testing.assert_allclose(state.all_starts[:, -1], number, rtol=1e-6)


def test_a_group_that_was_hardly_seen_is_not_corrected(key):
    stream, state = Stream(0), start(key)
    batch = stream.batch()
    state = measure(state, *batch[:3], *(np.zeros_like(flags) for flags in batch[3:]))
    np.testing.assert_array_equal(moments(state), 0)


def test_small_samples_come_nearer_to_the_truth(key):
    stream, state, found = Stream(1), start(key), []
    for _ in range(300):
        state = measure(state, *stream.batch())
        found.append((state.recent, moments(state)))
    sample, corrected = np.asarray(found[100:]).transpose(1, 0, 2, 3)
    threshold = np.array([0.4, 0.6])
    for column, truth in (
        (M.APPROVED, 1 - threshold),
        (M.REWARD, threshold * (1 - threshold)),
        (M.QUALIFIED, np.array([0.5, 0.5])),
    ):
        raw, better = (x[:, :, column] / x[:, :, M.APPLIED] for x in (sample, corrected))
        error = better.std(0) / len(better) ** 0.5
        # what is known of first observations and of luck is itself a sample, of all people so far
        known = raw.std(0) / 200**0.5
        assert (np.abs(better.mean(0) - truth) < 4 * np.hypot(error, known)).all()
        assert (better.var(0) < 0.5 * raw.var(0)).all()


def test_how_lives_begin_may_be_known_before_the_first_one(key):
    """Unknown, it has to be learned from the lives met, and their chance would be in every rate."""
    rng, errors = np.random.default_rng(5), {}
    group = rng.integers(0, GROUPS, 200_000)
    people = rng.uniform(size=(len(group), 2)).astype(np.float32)
    for known in (False, True):
        found = []
        for seed in range(20):
            stream, state = Stream(seed), start(key)
            if known:
                state = state.with_starts(people, group)
                np.testing.assert_array_equal(state.all_starts[:, -1], np.bincount(group))
            rates = []
            for _ in range(12):
                state = measure(state, *stream.batch())
                rates.append(moments(state))
            approved, applied = np.mean(rates[4:], 0)[:, [M.APPROVED, M.APPLIED]].T
            found.append(approved / applied - (1 - np.array([0.4, 0.6])))
        errors[known] = np.square(found).mean()
    assert errors[True] < 0.5 * errors[False]


def test_luck_is_zero_on_average(key):
    stream, state, found = Stream(2), start(key), []
    for _ in range(60):
        obs, added, group, *_ = batch = stream.batch()
        features = lives._features(state.weights, state.offsets, obs)
        found.append(MEASURE._luck(state, features, added, group)[0])
        state = measure(state, *batch)
    luck = np.asarray(found[30:]).reshape(-1, 2 * lives._WEIGHTS)
    assert (np.abs(luck.mean(0)) < 4 * luck.std(0) / len(luck) ** 0.5).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_solution_of_a_regression(seed):
    rng = np.random.default_rng(seed)
    features = np.tanh(rng.normal(size=(GROUPS, 200, lives.FEATURES)))
    features[..., -1] = 1
    squares, target = features.transpose(0, 2, 1) @ features, rng.normal(size=(GROUPS, lives.FEATURES))
    ridge = (1 + lives._RIDGE * 200) * np.eye(lives.FEATURES)
    expected = np.linalg.solve(squares + ridge, target[..., None])[..., 0]
    found = lives._solve(jnp.asarray(squares, jnp.float32), jnp.asarray(target, jnp.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
