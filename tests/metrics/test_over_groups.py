"""Aggregation over groups; NaN marks a group with nothing to count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bisimulator.metrics import _over_groups as over_groups

VALUES = st.lists(st.one_of(st.floats(-50, 50), st.just(np.nan)), min_size=1, max_size=6)


@given(VALUES)
def test_gap_mean_and_sd_agree_with_numpy_over_known_groups(values):
    numbers = over_groups.gap_mean_sd("x", np.array([values]))
    known = np.array(values)[~np.isnan(values)]
    expected = [np.ptp(known), known.mean(), known.std()] if known.size else [np.nan] * 3
    got = [numbers[f"x_{name}"][0] for name in ("gap", "mean", "sd")]
    np.testing.assert_allclose(got, expected, atol=1e-9)


def test_equal_groups_have_gap_and_sd_zero():
    numbers = over_groups.gap_mean_sd("x", np.full((2, 3), 0.7))
    np.testing.assert_allclose(numbers["x_gap"], 0)
    np.testing.assert_allclose(numbers["x_sd"], 0, atol=1e-15)


@pytest.mark.parametrize(("part", "whole", "expected"), [(1, 4, 0.25), (0, 4, 0), (0, 0, np.nan)])
def test_a_ratio_is_nan_if_the_whole_is_zero(part, whole, expected):
    np.testing.assert_equal(over_groups.ratio(np.array([part]), np.array([whole]))[0], expected)
