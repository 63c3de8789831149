"""Approval rate by hand."""

import numpy as np

from bisimulator.metrics.approval_rate import METRIC
from tests.metrics.outcomes import outcome


def test_share_of_the_applications_that_were_accepted():
    columns = METRIC.columns(outcome([[1, 1]] * 2, applied=[10, 20], approved=[9, 4]))
    np.testing.assert_allclose(columns["approval_rate_g1"], 0.9)
    np.testing.assert_allclose(columns["approval_rate_g2"], 0.2)
    np.testing.assert_allclose(columns["approval_rate_gap"], 0.7)
