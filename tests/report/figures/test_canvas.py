"""Ranges of axes, labelled groups and sizes of markers."""

import math
from itertools import pairwise

import pytest

from bisimulator.report.figures._canvas import labelled_groups, limits, marker_size


@pytest.mark.parametrize(
    ("values", "halves", "expected"),
    [
        ([1.0, 2.0], [0.1, 0.2], (0.9, 2.2)),
        ([1.0, 2.0], [50.0, 0.0], (0.0, 3.0)),  # an interval of two seeds does not hide the values
        ([1.0, 2.0], [math.nan, math.nan], (1.0, 2.0)),  # one seed
        ([1.0, 1.0], [0.5, 0.5], (0.5, 1.5)),
        ([2.0], [0.0], (1.0, 3.0)),
        ([0.0, math.nan], [0.0, 9.0], (-0.5, 0.5)),
    ],
)
def test_the_range_holds_all_values_and_intervals_that_are_not_far_wider(values, halves, expected):
    assert limits(values, halves, margin=0) == pytest.approx(expected)
    low, high = limits(values, halves)
    assert low < expected[0]
    assert high > expected[1]


def test_without_values_there_is_still_a_range():
    assert limits([math.nan], [math.nan]) == (0, 1)


def test_the_range_does_not_exceed_the_bounds():
    assert limits([0.2, 0.9], [0.5, 0.5], (0.0, 1.0), margin=0) == (0, 1)
    assert limits([0.4, 0.6], [0.1, 0.1], (0.0, None), margin=0) == pytest.approx((0.3, 0.7))


def test_of_many_groups_some_are_labelled_with_the_first_and_the_last():
    assert labelled_groups(3) == [1, 2, 3]
    assert labelled_groups(12) == list(range(1, 13))
    for groups in (13, 100, 1234):
        numbers = labelled_groups(groups)
        assert (len(numbers), numbers[0], numbers[-1]) == (10, 1, groups)
        assert max(b - a for a, b in pairwise(numbers)) <= groups / 9 + 1


def test_markers_of_few_groups_have_their_size_and_those_of_many_do_not_touch():
    assert marker_size(4, 10) == 4
    assert marker_size(4, 100) * 100 <= marker_size(4, 24) * 24
