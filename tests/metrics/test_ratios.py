"""Recall, precision, approval rate, accuracy and burdens of given counts."""

import numpy as np

from bisimulator import registry
from bisimulator.metrics.ratios import (
    ACCURACY,
    APPROVAL_RATE,
    ELIGIBLE_BURDEN,
    PRECISION,
    RECALL,
    SOCIAL_BURDEN,
)
from tests.metrics.outcomes import outcome


def test_recall_is_the_share_of_qualified_applicants_who_were_accepted():
    columns = RECALL.columns(outcome([[1, 1]] * 3, qualified=[4, 8, 0], approved_qualified=[3, 2, 0]))
    np.testing.assert_allclose(columns["recall_g1"], 0.75)
    np.testing.assert_allclose(columns["recall_g2"], 0.25)
    assert np.isnan(columns["recall_g3"]).all()
    np.testing.assert_allclose(columns["recall_gap"], 0.5)
    np.testing.assert_allclose(columns["recall_mean"], 0.5)
    np.testing.assert_allclose(columns["recall_sd"], 0.25)


def test_precision_is_the_share_of_accepted_applicants_who_were_qualified():
    columns = PRECISION.columns(outcome([[1, 1]] * 2, approved=[5, 0], approved_qualified=[4, 0]))
    np.testing.assert_allclose(columns["precision_g1"], 0.8)
    assert np.isnan(columns["precision_g2"]).all()
    np.testing.assert_allclose(columns["precision_gap"], 0)


def test_approval_rate_is_the_share_of_applications_that_were_accepted():
    columns = APPROVAL_RATE.columns(outcome([[1, 1]] * 2, applied=[10, 20], approved=[9, 4]))
    np.testing.assert_allclose(columns["approval_rate_g1"], 0.9)
    np.testing.assert_allclose(columns["approval_rate_g2"], 0.2)
    np.testing.assert_allclose(columns["approval_rate_gap"], 0.7)


def test_social_burden_is_the_mean_cost_of_admitted_applicants_who_paid():
    columns = SOCIAL_BURDEN.columns(outcome([[1, 1]] * 3, burden=[6, 3, 0], burdened=[4, 3, 0]))
    np.testing.assert_allclose(columns["social_burden_g1"], 1.5)
    np.testing.assert_allclose(columns["social_burden_g2"], 1)
    assert np.isnan(columns["social_burden_g3"]).all()
    np.testing.assert_allclose(columns["social_burden_gap"], 0.5)


def test_social_burden_applies_where_applicants_pay():
    names = registry.names("environment")
    applies = {name for name in names if SOCIAL_BURDEN.applies(registry.lookup("environment", name))}
    assert applies == {"college", "college-law-school", "college-threshold"}


def test_accuracy_and_eligible_burden_come_from_tallies():
    tallies = {"correct": [9, 5, 0], "applied": [10, 20, 0], "needed": [3, 0, 0], "demand": [6, 2, 0]}
    counted = outcome([[1, 1]] * 3, tallies)
    accuracy, burden = ACCURACY.columns(counted), ELIGIBLE_BURDEN.columns(counted)
    np.testing.assert_allclose(accuracy["accuracy_g1"], 0.9)
    np.testing.assert_allclose(accuracy["accuracy_g2"], 0.25)
    assert np.isnan(accuracy["accuracy_g3"]).all()
    np.testing.assert_allclose(burden["eligible_burden_g1"], 0.5)
    np.testing.assert_allclose(burden["eligible_burden_gap"], 0.5)
    assert np.isnan(burden["eligible_burden_g3"]).all()
    for metric in (ACCURACY, ELIGIBLE_BURDEN):
        where = [
            name
            for name in registry.names("environment")
            if metric.applies(registry.lookup("environment", name))
        ]
        assert where == ["college-threshold"]
