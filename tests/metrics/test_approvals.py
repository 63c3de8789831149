"""Approvals of given counts."""

import numpy as np

from bisimulator.metrics.approvals import METRIC
from tests.metrics.outcomes import outcome


def test_approvals_count_accepted_applications():
    columns = METRIC.columns(outcome([[1, 1]] * 2, approved=[9, 4]))
    np.testing.assert_allclose(columns["approvals_g1"], [9, 18])
    np.testing.assert_allclose(columns["approvals_gap"], [5, 10])
