"""Social burden by hand."""

import numpy as np

from bisimulator import registry
from bisimulator.metrics.social_burden import METRIC
from tests.metrics.outcomes import outcome


def test_mean_cost_of_those_who_paid_and_were_admitted():
    columns = METRIC.columns(outcome([[1, 1]] * 3, burden=[6, 3, 0], burdened=[4, 3, 0]))
    np.testing.assert_allclose(columns["social_burden_g1"], 1.5)
    np.testing.assert_allclose(columns["social_burden_g2"], 1)
    assert np.isnan(columns["social_burden_g3"]).all()
    np.testing.assert_allclose(columns["social_burden_gap"], 0.5)


def test_it_speaks_of_college_only():
    applies = {name for name in registry.ENVIRONMENTS if METRIC.applies(registry.lookup("environment", name))}
    assert applies == {"college"}
