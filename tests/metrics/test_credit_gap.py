"""The credit gap compared with the Wasserstein distance of SciPy."""

from itertools import combinations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import wasserstein_distance

from bisimulator import registry
from bisimulator.core import SCORE_GRID, Snapshot, score_histograms
from bisimulator.metrics.credit_gap import METRIC, gaps
from tests.metrics.outcomes import outcome

people = hnp.arrays(
    float, st.tuples(st.integers(2, 5), st.integers(1, 8)), elements=st.integers(0, 9)
).filter(lambda table: (table.sum(-1) > 0).all())


@given(people)
def test_gaps_are_kantorovich_distances_of_pairs(table):
    scores = np.arange(table.shape[1])
    expected = [
        wasserstein_distance(scores, scores, table[i], table[j])
        for i, j in combinations(range(len(table)), 2)
    ]
    numbers = gaps("x", table, 1)
    np.testing.assert_allclose(
        [numbers["x"], numbers["x_mean"]], [max(expected), np.mean(expected)], atol=1e-12
    )


def test_episodes_stand_alone_and_empty_groups_do_not_count():
    rng = np.random.default_rng(0)
    table = rng.integers(1, 9, (3, 5, 4)).astype(float)
    table[rng.random((3, 5)) < 0.3] = 0
    whole = gaps("x", table, 1)
    for episode, numbers in enumerate(table):
        alone = gaps("x", numbers[numbers.sum(-1) > 0], 1)
        assert {name: values[episode] for name, values in whole.items()} == pytest.approx(alone, rel=1e-12)


def test_equal_groups_have_no_gap_without_rounding():
    table = np.tile(np.random.default_rng(0).random(7), (9, 1))
    assert gaps("x", table, 1) == {"x": 0.0, "x_mean": 0.0}


def test_the_largest_gap_of_many_groups_is_found_without_all_pairs():
    table = np.random.default_rng(0).multinomial(20, np.full(7, 1 / 7), 300).astype(float)
    cdf = (table / 20).cumsum(-1)
    assert gaps("x", table, 1)["x"] == pytest.approx(abs(cdf[:, None] - cdf).sum(-1).max(), rel=1e-12)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 64)), min_size=2, max_size=9))
def test_observed_scores_on_the_grid_are_exact(pairs):
    group, place = np.array(pairs).T
    if len(set(group)) < 2:
        return
    score = place / SCORE_GRID
    people = Snapshot(jnp.asarray(group), jnp.zeros(len(pairs)), jnp.asarray(score, jnp.float32))
    _, observed = score_histograms(people, 2, 5)
    expected = wasserstein_distance(score[group == 0], score[group == 1])
    found = gaps("x", np.asarray(observed, float), SCORE_GRID)["x"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_gap_of_three_groups():
    columns = METRIC.columns(outcome([[1, 0, 0], [0, 0, 3], [0, 2, 0]]))
    np.testing.assert_allclose(columns["credit_gap"], 2)
    np.testing.assert_allclose(columns["credit_gap_mean"], (2 + 1 + 1) / 3)


def test_the_gap_is_0_for_one_group_and_nan_without_two_groups_of_people():
    np.testing.assert_array_equal(gaps("x", np.ones((4, 1, 3)), 1)["x"], 0)
    unknown = gaps("x", np.array([[1.0, 2.0], [0.0, 0.0]]), 1)
    assert np.isnan(unknown["x"])
    assert np.isnan(unknown["x_mean"])


def test_true_and_observed_gap_are_equal_if_scores_are():
    one = outcome([[1, 0, 2], [0, 2, 1]])
    observed = registry.lookup("metric", "observed-credit-gap").columns(one)
    np.testing.assert_allclose(observed["observed_credit_gap"], METRIC.columns(one)["credit_gap"])


def test_the_credit_gap_applies_to_lending_only():
    applies = {
        name for name in registry.names("environment") if METRIC.applies(registry.lookup("environment", name))
    }
    assert applies == {name for name in registry.names("environment") if name.startswith("lending")}
