"""Decisions in words."""

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing.alternatives import Alternative
from bisimulator.auditing.decision_words import (
    accepted_in_words,
    alternative_in_words,
    decision_rows,
    difference_in_words,
    rule_in_words,
)
from bisimulator.auditing.group_numbers import exact_row
from bisimulator.auditing.split_bins import split_bins
from bisimulator.goals.demands import MinRecall


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([1, 1, 1, 1], "everybody"),
        ([0, 0, 0, 0], "nobody"),
        ([0.5] * 4, "50% of all"),
        ([0, 0, 1, 1], "from 600 on"),
        ([0, 0.375, 1, 1], "from 600 on and 37.5% of those from 450 to below 600"),
        ([1, 0, 0.2, 1], "from 700 on, 20% of those from 600 to below 700 and below 450"),
    ],
)
def test_whom_a_policy_accepts_of_a_group(row, words, env):
    assert rule_in_words(np.array(row, float), env) == words


def test_whom_it_accepts_of_all_groups(env):
    assert accepted_in_words(np.ones((2, 4)), env) == "everybody"
    same = np.array([[0, 0, 1, 1.0]] * 2)
    assert accepted_in_words(same, env) == "every group from 600 on"
    assert (
        accepted_in_words(np.array([[0, 0, 1, 1.0], [0, 0, 0, 0]]), env)
        == "<b>up</b> from 600 on; down nobody"
    )


def test_scores_without_bins_are_numbers():
    plain = bisimulator.make("lending")
    assert rule_in_words(np.array([0, 0, 0, 1.0, 1, 1, 1]), plain) == "from 3 on"


def test_how_it_differs_from_the_audited_policy(env):
    audited = np.array([[0, 0, 1, 1.0], [0, 1, 1, 1]])
    ours = np.array([[0, 0.3, 1, 0.5], [1, 1, 1, 0]])
    assert difference_in_words(ours, audited, env) == (
        "of group <b>up</b> it also accepts 30% of those from 450 to below 600, accepts 50% instead of 100% "
        "of those from 700 on; of group down it also accepts those below 450, no longer accepts those from 700 on"
    )
    assert difference_in_words(audited, audited, env) == ""


def alternative(table, env):
    row = exact_row("x", env, bisimulator.policies.accept_all())
    return Alternative(MinRecall(0.9), np.array(table, float), row, 1.0, env)


def test_thresholds_are_written_as_audit_takes_them(env):
    text = alternative_in_words(alternative([[0, 0, 1, 1], [0, 1, 1, 1]], env))
    assert text == "Accept <b>up</b> from 600 on; down from 450 on. As thresholds: <b>up</b>=600,down=450."
    assert alternative_in_words(alternative([[0, 0, 1, 1]] * 2, env)) == "Accept every group from 600 on."


def test_decision_tables_have_a_row_per_group_and_part_of_a_bin(env):
    split, _ = split_bins(env, [610])
    audited = np.zeros((2, 8))
    rows = decision_rows(alternative([[0, 0, 1, 1], [0, 0.25, 1, 1]], env), audited, split)
    assert len(rows) == 2 * 8
    assert rows[4] == ("<b>up</b>", 600.0, 610.0, 1.0, 0.0)
    assert [row[3] for row in rows[8:]] == [0, 0, 0.25, 0.25, 1, 1, 1, 1]
    assert decision_rows(alternative(np.ones((2, 4)), env), None, split)[0][-1] == ""
