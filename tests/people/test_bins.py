"""Bins of scores."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bisimulator.people._bins import (
    check_edges,
    count_in_bins,
    labels,
    make_edges,
    spread_over_bins,
)

scores = st.lists(st.integers(0, 50), min_size=1, max_size=40).map(lambda x: np.array(x, float))


def edges_of(values, **options):
    given = {
        "bins": 5,
        "binning": "equal-width",
        "edges": None,
        "score_range": None,
        "add_note": lambda text: None,
    }
    return make_edges(values, np.ones(len(values)), **given | options)


@given(scores, st.integers(1, 12), st.sampled_from(["equal-width", "quantile"]))
def test_every_score_is_in_exactly_one_bin_for_any_binning(values, bins, binning):
    edges = edges_of(values, bins=bins, binning=binning)
    counts = count_in_bins(values, np.ones(len(values)), edges)
    assert counts.sum() == len(values)
    assert len(counts) == len(edges) - 1 <= bins
    for c, (low, high) in enumerate(pairwise(edges)):
        last = c == len(counts) - 1
        inside = (values >= low) & ((values <= high) if last else (values < high))
        assert counts[c] == inside.sum()


def test_equal_width_bins_cover_the_given_range():
    np.testing.assert_allclose(
        edges_of(np.array([400.0, 500]), bins=11, score_range=(300, 850)), np.arange(300, 851, 50)
    )


def test_quantile_bins_contain_equally_many_people():
    values = np.random.default_rng(0).permutation(1000).astype(float)
    counts = count_in_bins(values, np.ones(1000), edges_of(values, bins=4, binning="quantile"))
    assert abs(counts - 250).max() <= 1


def test_quantiles_are_weighted():
    edges = make_edges(
        np.array([0.0, 1, 2, 3]),
        np.array([97.0, 1, 1, 1]),
        bins=2,
        binning="quantile",
        edges=None,
        score_range=None,
        add_note=print,
    )
    assert edges.tolist() == [0, 3]  # half of the people are at the lowest score already


def test_fewer_bins_than_requested_are_noted():
    notes = []
    assert len(edges_of(np.array([1.0, 1, 1, 2]), bins=4, binning="quantile", add_note=notes.append)) == 2
    assert "1 quantile bins instead of 4" in notes[0]
    assert edges_of(np.array([7.0, 7]), add_note=notes.append).tolist() == [7, 7]
    assert "same score, 7" in notes[1]


@pytest.mark.parametrize(
    ("edges", "part"),
    [
        ([1], "2 to 1001 numbers, got 1"),
        ([1, 1, 2], "must rise"),
        ([3, 2], "must rise"),
        (range(1003), "2 to 1001 numbers, got 1003"),
        (["a", "b"], "numeric"),
        ([1, np.nan], "finite"),
    ],
)
def test_wrong_edges_raise_an_error_that_names_the_rule(edges, part):
    with pytest.raises(ValueError, match=part):
        check_edges(edges)


def test_wrong_options_raise_an_error_that_names_the_option():
    with pytest.raises(ValueError, match=r"Unknown binning 'quantiles'\. Did you mean 'quantile'"):
        edges_of(np.ones(3), binning="quantiles")
    with pytest.raises(ValueError, match="bins must be at least 1"):
        edges_of(np.ones(3), bins=0)


def test_a_cumulative_table_is_spread_evenly_between_its_scores():
    scores, amounts = np.array([10.0, 20, 40]), np.array([1.0, 4, 2])
    # 1 at 10 itself, 4 evenly over 10..20, 2 evenly over 20..40
    np.testing.assert_allclose(spread_over_bins(scores, amounts, np.array([0.0, 15, 30, 40])), [3, 3, 1])


@given(scores, st.integers(1, 6))
def test_spreading_loses_nobody(values, bins):
    amounts = np.arange(1.0, len(values) + 1)
    spread = spread_over_bins(values, amounts, edges_of(values, bins=bins))
    assert spread.min() >= 0
    np.testing.assert_allclose(spread.sum(), amounts.sum())


def test_labels():
    assert labels(np.array([300.0, 325, 350])) == ["300-325", "325-350"]
