"""Precision by hand."""

import numpy as np

from bisimulator.metrics.precision import METRIC
from tests.metrics.outcomes import outcome


def test_share_of_the_accepted_who_were_qualified():
    columns = METRIC.columns(outcome([[1, 1]] * 2, approved=[5, 0], approved_qualified=[4, 0]))
    np.testing.assert_allclose(columns["precision_g1"], 0.8)
    assert np.isnan(columns["precision_g2"]).all()
    np.testing.assert_allclose(columns["precision_gap"], 0)
