"""The decisions of an evaluation as a frame: the same ones, and as fairlearn's MetricFrame takes them."""

import dataclasses

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, selection_rate, true_positive_rate
from sklearn.metrics import recall_score

import bisimulator
from bisimulator import policies


@pytest.fixture(scope="module")
def evaluation():
    # college ends early if everybody is admitted, and observed scores are not whole numbers
    env = bisimulator.make("college", population=20, horizon=40)
    return bisimulator.evaluate(env, policies.random(0.5), seeds=[3, 8], episodes=2)


@pytest.fixture(scope="module")
def rows(evaluation):
    return evaluation.decisions()


def test_they_are_the_decisions_that_were_evaluated(evaluation, rows):
    sums = rows.assign(hit=rows.accepted & rows.qualified).groupby(["seed", "episode", "group"]).sum()
    counts = {"accepted": "approved", "qualified": "qualified", "hit": "approved_qualified"}
    for column, count in counts.items():
        np.testing.assert_array_equal(sums[column], evaluation.outcome.count(count).reshape(-1))
    np.testing.assert_allclose(sums["reward"], evaluation.outcome.count("reward").reshape(-1), rtol=1e-5)
    assert len(rows) == evaluation.outcome.count("applied").sum()


def test_columns(rows):
    assert " ".join(rows) == "seed episode step group score accepted qualified reward"
    assert set(rows.seed) == {3, 8}
    assert set(rows.group) == {"1", "2"}
    assert rows.accepted.dtype == rows.qualified.dtype == bool
    first = rows[(rows.seed == 3) & (rows.episode == 0)]
    np.testing.assert_array_equal(first.step, np.arange(len(first)))
    assert rows.score.between(0, 9).all()
    assert rows.score.max() > 1  # in points


def test_fairlearn_takes_them_as_they_are(rows):
    rates = {"approval_rate": selection_rate, "recall": true_positive_rate, "also": recall_score}
    frame = MetricFrame(
        metrics=rates, y_true=rows["qualified"], y_pred=rows["accepted"], sensitive_features=rows["group"]
    )
    hits = rows[rows.qualified].groupby("group")["accepted"].mean()
    np.testing.assert_allclose(frame.by_group["recall"], hits)
    np.testing.assert_allclose(frame.by_group["also"], hits)
    np.testing.assert_allclose(frame.by_group["approval_rate"], rows.groupby("group")["accepted"].mean())


def test_metrics_by_group_are_those_of_the_summary(evaluation):
    table = evaluation.by_group
    assert table.index.tolist() == ["1", "2"]
    assert table.index.name == "group"
    assert {"recall", "precision", "approval_rate", "social_burden"} <= set(table)
    assert table.loc["2", "recall"] == evaluation.summary["recall_g2"][0]
    assert not [column for column in table if "gap" in column]


def test_where_a_step_decides_on_all_groups_there_are_no_rows(evaluation):
    env = bisimulator.make("infectious")
    other = dataclasses.replace(evaluation, _env=env)
    with pytest.raises(
        ValueError, match="one row per applicant, and a step of 'infectious' decides on all groups"
    ):
        other.decisions()
