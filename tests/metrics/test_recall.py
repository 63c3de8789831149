"""Recall by hand."""

import numpy as np

from bisimulator.metrics.recall import METRIC
from tests.metrics.outcomes import outcome


def test_share_of_the_qualified_who_were_accepted():
    columns = METRIC.columns(outcome([[1, 1]] * 3, qualified=[4, 8, 0], approved_qualified=[3, 2, 0]))
    np.testing.assert_allclose(columns["recall_g1"], 0.75)
    np.testing.assert_allclose(columns["recall_g2"], 0.25)
    assert np.isnan(columns["recall_g3"]).all()
    np.testing.assert_allclose(columns["recall_gap"], 0.5)
    np.testing.assert_allclose(columns["recall_mean"], 0.5)
    np.testing.assert_allclose(columns["recall_sd"], 0.25)
