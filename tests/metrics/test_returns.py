"""Return of given counts."""

import numpy as np

from bisimulator.metrics.returns import METRIC
from tests.metrics.outcomes import outcome


def test_return_of_the_episode_and_per_person_of_each_group():
    columns = METRIC.columns(outcome([[3, 1], [2, 0]], reward=[8, -1]))
    np.testing.assert_allclose(columns["average_return"], [7, 14])
    np.testing.assert_allclose(columns["return_g1"], 2)
    np.testing.assert_allclose(columns["return_g2"], -0.5)
    np.testing.assert_allclose(columns["parity_gap"], 2.5)


def test_a_group_without_people_has_no_return_per_person():
    columns = METRIC.columns(outcome([[3, 1], [0, 0]], reward=[8, 0]))
    assert np.isnan(columns["return_g2"]).all()
    np.testing.assert_allclose(columns["parity_gap"], 0)
