"""Titles of columns, and which direction is better."""

import math

import pytest

from bisimulator import published
from bisimulator.jobs.spec import make_spec
from bisimulator.report._table_columns import (
    best_range,
    bounds,
    direction,
    paper_columns,
    paper_row,
    printed,
    short_title,
    table_columns,
    title,
)


@pytest.mark.parametrize(
    ("column", "words", "narrow", "better"),
    [
        ("average_return", "average return", "return", "higher"),
        ("recall_g2", "recall, group 2", "recall g2", "higher"),
        ("recall_gap", "recall gap", "recall gap", "lower"),
        ("recall_sd", "recall, SD", "recall sd", "lower"),
        ("recall_mean", "recall, mean", "recall mean", "higher"),
        ("social_burden_g1", "social burden, group 1", "burden g1", "lower"),
        ("credit_gap", "credit gap", "credit gap", "lower"),
        ("credit_gap_mean", "credit gap, mean", "credit gap mean", "lower"),
        ("approvals_g1", "approvals, group 1", "approvals g1", ""),
        ("approval_rate_gap", "approval rate gap", "approval rate gap", "lower"),
    ],
)
def test_names_and_directions(column, words, narrow, better):
    assert (title(column), short_title(column), direction(column)) == (words, narrow, better)


def test_a_column_that_no_metric_declares_is_refused():
    with pytest.raises(KeyError, match="no metric has a column 'something_of_mine'"):
        title("something_of_mine")


def test_every_published_number_has_a_direction():
    assert all(direction(metric) for _, _, metric in published.results())


def test_columns_are_those_of_the_papers_table_or_the_headlines():
    assert paper_columns("lending") == [
        "average_return",
        "credit_gap",
        "recall_g1",
        "recall_g2",
        "recall_gap",
    ]
    assert paper_columns("elsewhere") == []
    assert table_columns("elsewhere", ["recall_gap", "average_return"]) == ["average_return", "recall_gap"]


def test_if_the_papers_table_would_leave_groups_out_there_are_means_over_groups():
    two = ["average_return", "credit_gap", "recall_g1", "recall_g2", "recall_mean", "recall_gap"]
    assert table_columns("lending", two) == paper_columns("lending")
    three = ["average_return", "credit_gap", "recall_mean", "recall_gap"]
    assert table_columns("lending", [*two, "recall_g3"]) == three
    assert table_columns("lending-10-groups", [*two, "recall_g3"]) == paper_columns("lending-10-groups")


def test_other_settings_have_no_row_in_the_paper():
    assert paper_row(make_spec("lending", "ppo")) == published.row("lending", "PPO")
    assert paper_row(make_spec("lending", "ppo", settings={"population": 500})) == {}
    assert paper_row(make_spec("lending", "ppo", view="life")) == {}
    row = published.row("lending", "PPO + Bisimulator")
    for view in ("life", "queue"):
        assert paper_row(make_spec("lending", "ppo-bisimulator", view=view)) == row
    assert paper_row(make_spec("lending", "reject-all")) == {}


def test_the_best_is_unknown_where_nothing_is_known_or_neither_is_better():
    assert best_range("recall_gap", [math.nan]) == (math.inf, -math.inf)
    assert best_range("approvals_g1", [1.0, 2.0]) == (math.inf, -math.inf)
    assert best_range("recall_gap", [math.nan, 0.2, 0.1]) == pytest.approx((0.095, 0.105))
    assert best_range("average_return", [-100.0, -200.0]) == pytest.approx((-105, -95))


def test_numbers_are_printed_as_in_the_paper():
    assert printed(3582.6349, 53.7) == "3582.63 ± 53.70"
    assert printed(1.0, math.nan) == "1.00"
    assert printed(math.nan, 1.0) == "-"


def test_bounds():
    values = [bounds(column) for column in ("recall_g1", "recall_gap", "credit_gap", "average_return")]
    assert values == [(0, 1), (0, 1), (0, None), (None, None)]
