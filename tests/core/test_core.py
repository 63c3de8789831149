"""The parts that all environments share, against plain Python and NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import bisimulator
from bisimulator import core
from bisimulator.adapters.gymnasium.env import action_space, valid_actions
from bisimulator.core import Box, Discrete, Env, MultiDiscrete
from tests import probes


@given(bits=st.integers(0, 2**32 - 1), n=st.integers(1, 2**31 - 2))
def test_random_index_is_the_high_word_of_the_product(bits, n):
    assert int(core.random_index(jnp.uint32(bits), n)) == bits * n >> 32


def test_random_index_is_uniform():
    draws = core.random_index(jax.random.bits(jax.random.key(1), (60_000,)), 6)
    counts = np.bincount(np.asarray(draws), minlength=6)
    assert counts.size == 6
    assert abs(counts - 10_000).max() < 4 * np.sqrt(60_000 * 1 / 6 * 5 / 6)


def test_random_words_are_uniform_and_independent():
    """Over the keys of consecutive steps: uniform words, none of which tells about another or the step before."""
    keys = jax.vmap(lambda t: jax.random.fold_in(jax.random.key(5), t))(jnp.arange(40_000))
    u = np.asarray(jax.vmap(lambda key: core.uniform(core.random_words(key, 3)))(keys))
    columns = np.concatenate([u[:-1], u[1:]], 1)
    assert abs(u.mean(0) - 0.5).max() < 4 / np.sqrt(12 * len(u))
    assert abs(np.corrcoef(columns.T)[np.triu_indices(6, 1)]).max() < 4.5 / np.sqrt(len(u))


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_random_words_of_any_kind_of_key(impl):
    words = core.random_words(jax.random.key(0, impl=impl), 3)
    assert words.dtype == jnp.uint32
    assert len(set(words.tolist())) == 3


@given(bits=st.integers(0, 2**32 - 1))
def test_uniform_lies_below_one(bits):
    u = core.uniform(jnp.uint32(bits))
    assert u.dtype == jnp.float32
    assert float(u) == (bits >> 8) / 2**24 < 1


@given(
    weights=st.lists(st.sampled_from([0.0, 0.1, 1.0, 3.0]), min_size=8, max_size=8).filter(any),
    place=st.integers(0, 7),
)
def test_draw_category_follows_the_distribution_function(weights, place):
    """Also at the very borders between categories, and never a category of probability 0."""
    probs = jnp.asarray(np.array(weights) / sum(weights), jnp.float32)
    u = jnp.concatenate([jnp.arange(256) / 256, jnp.cumsum(probs)[place][None], jnp.float32([1 - 2**-24])])
    drawn = np.asarray(core.draw_category(probs, jnp.minimum(u, 1 - 2**-24)))
    assert (np.asarray(probs)[drawn] > 0).all()
    share = np.bincount(drawn[:256], minlength=8) / 256
    np.testing.assert_allclose(share, probs, atol=1 / 256 + 1e-6)


def test_a_row_of_a_table_of_borders_draws_what_its_probabilities_draw():
    rng = np.random.default_rng(0)
    table, rows = (
        jnp.asarray(rng.dirichlet(np.ones(5), 4), jnp.float32),
        jnp.asarray(rng.integers(4, size=200)),
    )
    u = jnp.asarray(rng.random(200), jnp.float32)
    drawn = core.category_between(core.category_borders(table)[rows], u)
    np.testing.assert_array_equal(drawn, core.draw_category(table[rows], u))
    assert len(np.unique(drawn)) == 5


def test_count_row_counts_what_its_names_say():
    action, qualified = jnp.array([0, 0, 1, 1]), jnp.array([False, True, False, True])
    rows = core.count_row(action, qualified, jnp.array([0.0, 0, -1, 1]), jnp.array([2.0, 2, 0, 3]))
    columns = dict(zip(core.COUNTS, np.asarray(rows).T.tolist(), strict=True))
    assert columns == {
        "applied": [1, 1, 1, 1],
        "approved": [0, 0, 1, 1],
        "qualified": [0, 1, 0, 1],
        "approved_qualified": [0, 0, 0, 1],
        "reward": [0, 0, -1, 1],
        "burden": [0, 0, 0, 3],
        "burdened": [0, 0, 0, 1],
    }


@given(
    people=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 4), st.floats(0, 4, width=32)), min_size=9, max_size=9
    )
)
def test_score_histograms_keep_everybody_and_their_mean(people):
    group, true, observed = (np.array(x) for x in zip(*people, strict=True))
    people = core.Snapshot(
        jnp.asarray(group), jnp.asarray(true, jnp.float32), jnp.asarray(observed, jnp.float32)
    )
    by_true, by_observed = (np.asarray(x) for x in core.score_histograms(people, 3, 5))
    grid = np.arange(by_observed.shape[1]) / core.SCORE_GRID
    for g in range(3):
        np.testing.assert_array_equal(by_true[g], np.bincount(true[group == g], minlength=5))
        np.testing.assert_allclose(by_observed[g].sum(), (group == g).sum(), atol=1e-5)
        np.testing.assert_allclose(by_observed[g] @ grid, observed[group == g].sum(), atol=1e-4)


def test_whole_observed_scores_stay_exact():
    score = jnp.arange(5.0)
    people = core.Snapshot(jnp.zeros(5, int), score, score)
    true, observed = map(np.asarray, core.score_histograms(people, 1, 5))
    np.testing.assert_array_equal(observed[:, :: core.SCORE_GRID], true)
    assert observed.sum() == 5


def test_a_scale_of_one_score_works():
    people = core.Snapshot(jnp.zeros(3, int), jnp.zeros(3), jnp.zeros(3))
    true, observed = core.score_histograms(people, 1, 1)
    assert (float(true[0, 0]), float(observed[0, 0])) == (3, 3)


def test_make_explains_unknown_names_and_keywords():
    with pytest.raises(ValueError, match="Did you mean 'college'"):
        bisimulator.make("colege")
    with pytest.raises(TypeError, match=r"no parameter 'horizont'. Did you mean 'horizon'"):
        bisimulator.make("lending", horizont=5)


def test_an_environment_tells_what_it_is():
    env = bisimulator.make("lending", population=5, horizon=7)
    assert repr(env) == "Env('lending', groups=2, scores=7, population=5, horizon=7)"
    assert (env.num_groups, env.num_actions, env.observation_size) == (2, 2, 5)


def test_with_omega_changes_nothing_else():
    env = bisimulator.make("lending", population=5)
    omega = jnp.array([[0.5, 1.0], [2.0, 0.0]])
    other = env.with_omega(omega)
    np.testing.assert_array_equal(other.params.omega, omega)
    np.testing.assert_array_equal(env.params.omega, 1)
    assert other.params.population == 5
    np.testing.assert_array_equal(other.params.initial, env.params.initial)


def test_sums_do_not_stop_at_the_largest_whole_number_of_float32():
    size = 2**24 + 2**20 + 3
    group = (np.arange(size) == 5).astype(np.int32)
    total = np.asarray(
        jax.jit(lambda g, x: core.sum_at((2, 1), (g,), x))(group, np.ones((size, 1), np.float32))
    )
    np.testing.assert_array_equal(total[:, 0], [size - 1, 1])


def test_sums_of_fractions_are_accurate():
    total = np.asarray(core.sum_at((1,), (jnp.zeros(10**6, jnp.int32),), jnp.full(10**6, 0.1)))
    assert abs(total[0] / (10**6 * float(np.float32(0.1))) - 1) < 1e-4


@pytest.mark.parametrize(("size", "parts"), [(1, 1), (7, 3), (100, 100), (101, 100), (10_000, 100)])
def test_evenly_is_what_whole_numbers_of_any_size_would_give(size, parts):
    np.testing.assert_array_equal(core.evenly(size, parts), np.arange(size) * parts // size)


def test_evenly_does_not_overflow():
    size = 22_000_000
    last = np.asarray(jax.jit(lambda: core.evenly(size, 100)[-3:])())
    np.testing.assert_array_equal(last, [99, 99, 99])


@pytest.mark.parametrize(
    ("space", "actions", "inside"),
    [
        (Discrete(3), [[0], [2], [3], [-1]], [True, True, False, False]),
        (MultiDiscrete((3, 2)), [[2, 1], [1, 2], [3, 0], [-1, 0]], [True, False, False, False]),
        (Box(-1.0, 1.0, (2,)), [[-1.0, 1.0], [0.0, 1.1]], [True, False]),
    ],
    ids=["Discrete", "MultiDiscrete", "Box"],
)
def test_spaces_say_what_an_action_can_be(space, actions, inside):
    assert space.contains(np.asarray(actions, np.float64)).tolist() == inside
    assert space.shape == (() if isinstance(space, Discrete) else (2,))


def test_several_choices_at_once_are_not_one():
    env = Env("choose", probes.CHOOSING, probes.make_params())
    assert action_space(env) == spaces.MultiDiscrete((3, 2))
    assert valid_actions(np.array([[2, 1], [1, 2]]), env).tolist() == [True, False]
    with pytest.raises(ValueError, match="is an array of 2 whole numbers, below 3, 2, and not one"):
        env.num_actions  # noqa: B018
