"""Quantile matching compared with a NumPy implementation, and the sum over pairs with a double loop."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bisimulator.bisim import matching as uncompiled

match_quantiles = eqx.filter_jit(uncompiled.match_quantiles)
sum_of_pairwise_gaps = eqx.filter_jit(uncompiled.sum_of_pairwise_gaps)

SIZE = 40
CELLS = 2


def bins_by_hand(score, cell, group, valid, groups, quantiles):
    """(cell, group, quantile) of every decision, without ties; None if the decision is left out."""
    bins = [None] * len(score)
    for a in range(CELLS):
        for g in range(groups):
            members = [i for i in range(len(score)) if (cell[i], group[i]) == (a, g) and valid[i]]
            members.sort(key=lambda i: score[i])
            for rank, i in enumerate(members):
                bins[i] = (a, g, rank * quantiles // len(members))
    return bins


@pytest.mark.parametrize(("groups", "quantiles"), [(1, 4), (2, 4), (5, 3), (3, 1), (2, 7)])
def test_bins_counts_and_means_agree_with_a_loop(groups, quantiles):
    rng = np.random.default_rng(groups * 10 + quantiles)
    score = rng.permutation(SIZE) / SIZE
    cell, group = rng.integers(0, CELLS, SIZE), rng.integers(0, groups, SIZE)
    valid, values = rng.random(SIZE) < 0.9, rng.normal(size=SIZE)
    matching = match_quantiles(
        jax.random.key(0),
        jnp.asarray(score, jnp.float32),
        jnp.asarray(cell),
        jnp.asarray(group),
        num_cells=CELLS,
        num_groups=groups,
        quantiles=quantiles,
        valid=jnp.asarray(valid),
    )
    expected = bins_by_hand(score, cell, group, valid, groups, quantiles)
    shape = (CELLS, groups, quantiles)
    outside = int(np.prod(shape))
    for place, where in zip(matching.place.tolist(), expected, strict=True):
        if where is None:
            assert place >= outside
        else:
            assert np.unravel_index(place, shape) == where
    count, mean = np.zeros(shape), np.zeros(shape)
    for i, where in enumerate(expected):
        if where is not None:
            count[where] += 1
            mean[where] += values[i]
    mean /= np.maximum(count, 1)
    np.testing.assert_array_equal(matching.count, count)
    np.testing.assert_array_equal(matching.present, count > 0)
    np.testing.assert_allclose(matching.mean(jnp.asarray(values, jnp.float32)), mean, rtol=1e-5, atol=1e-6)


def match(score, group, *, cell=None, groups=2, quantiles=4, key=0, cells=1, valid=None):
    cell = jnp.zeros_like(group) if cell is None else cell
    return match_quantiles(
        jax.random.key(key),
        score,
        cell,
        group,
        num_cells=cells,
        num_groups=groups,
        quantiles=quantiles,
        valid=valid,
    )


def test_a_group_and_an_action_without_decisions_only_leave_their_own_bins_empty():
    score, group = jnp.arange(8.0), jnp.array([0, 2] * 4)
    matching = match(score, group, cell=jnp.ones(8, jnp.int32), groups=3, cells=2)
    count = np.asarray(matching.count)
    assert count[0].sum() == 0
    assert count[1, 1].sum() == 0
    np.testing.assert_array_equal(count[1, [0, 2]], np.ones((2, 4)))
    means = matching.mean(score)
    np.testing.assert_array_equal(means[1, 0], [0, 2, 4, 6])
    np.testing.assert_array_equal(means[1, 2], [1, 3, 5, 7])
    np.testing.assert_array_equal(means[1, 1], np.zeros(4))


def test_a_batch_without_valid_decisions_is_no_error():
    matching = match(jnp.arange(3.0), jnp.zeros(3, jnp.int32), valid=jnp.zeros(3, bool))
    assert not np.asarray(matching.present).any()
    np.testing.assert_array_equal(matching.mean(jnp.ones((3, 2))), np.zeros((1, 2, 4, 2)))


def test_fewer_decisions_than_quantiles_are_each_in_their_own_quantile():
    matching = match(jnp.array([3.0, 1.0]), jnp.zeros(2, jnp.int32))
    np.testing.assert_array_equal(matching.count[0, 0], [1, 0, 1, 0])
    assert matching.place.tolist() == [2, 0]


def test_means_preserve_further_axes():
    values = jnp.arange(16.0).reshape(8, 2)
    means = match(jnp.arange(8.0), jnp.zeros(8, jnp.int32), groups=1).mean(values)
    np.testing.assert_array_equal(means[0, 0], np.asarray(values).reshape(4, 2, 2).mean(1))


def test_ties_are_broken_uniformly_at_random():
    """Eight equal scores: each decision falls in each quantile a quarter of the time (chi-squared, fixed keys)."""
    keys = jax.random.split(jax.random.key(1), 4000)
    place = jax.vmap(
        lambda key: (
            match_quantiles(
                key, jnp.zeros(8), jnp.zeros(8, jnp.int32), jnp.zeros(8, jnp.int32), num_cells=1, num_groups=1
            ).place
        )
    )(keys)
    counts = np.stack([np.bincount(column, minlength=4) for column in np.asarray(place).T])
    expected = 1000.0
    chi2 = ((counts - expected) ** 2 / expected).sum(1)
    # 3 degrees of freedom: 20 has probability 2e-4, for eight decisions together 1e-3
    assert chi2.max() < 20
    np.testing.assert_array_equal((np.asarray(place)[:, :, None] == np.arange(4)).sum(1), 2)


def by_double_loop(values, present):
    who = np.flatnonzero(present)
    return sum(abs(values[i] - values[j]) for i in who for j in who if i < j)


GROUPS = 7
LISTS = st.lists(st.tuples(st.floats(-100, 100, width=32), st.booleans()), min_size=GROUPS, max_size=GROUPS)


@given(LISTS)
@settings(max_examples=200)
def test_pairwise_gaps_agree_with_a_double_loop(pairs):
    values = np.array([v for v, _ in pairs], np.float32)
    present = np.array([p for _, p in pairs])
    got = sum_of_pairwise_gaps(jnp.asarray(values), jnp.asarray(present))
    np.testing.assert_allclose(got, by_double_loop(values.astype(float), present), rtol=1e-5, atol=1e-2)


def test_pairwise_gaps_of_a_hundred_groups_keep_leading_axes():
    rng = np.random.default_rng(0)
    values, present = rng.normal(size=(3, 2, 100)), rng.random((3, 2, 100)) < 0.7
    got = sum_of_pairwise_gaps(jnp.asarray(values, jnp.float32), jnp.asarray(present))
    expected = [[by_double_loop(values[i, j], present[i, j]) for j in range(2)] for i in range(3)]
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_the_gradient_of_pairwise_gaps_agrees_with_finite_differences():
    """Piecewise linear: between two kinks a difference quotient is exact, so only rounding is tolerated."""
    values = np.array([0.5, -1.25, 3.0, 0.75, 9.0])
    present = np.array([True, True, True, True, False])
    gradient = jax.grad(sum_of_pairwise_gaps)(jnp.asarray(values, jnp.float32), jnp.asarray(present))
    step = 1e-3
    expected = [
        (by_double_loop(values + step * e, present) - by_double_loop(values - step * e, present)) / (2 * step)
        for e in np.eye(5)
    ]
    np.testing.assert_allclose(gradient, expected, atol=1e-9)
    assert gradient[4] == 0


def test_values_of_an_absent_group_do_not_matter():
    present = jnp.array([True, False, True])
    for hidden in (0.0, 1e30, -1e30):
        values = jnp.array([1.0, hidden, 4.0])
        value, gradient = jax.value_and_grad(sum_of_pairwise_gaps)(values, present)
        assert value == 3
        assert gradient.tolist() == [-1, 0, 1]
