"""Policies that look at past loans, against the exact chain where they ignore them and simulation where not."""

import numpy as np
import pytest

import bisimulator
from bisimulator.exact.certificate import certify_table
from bisimulator.exact.history import certify_history, most_visits


@pytest.mark.parametrize("params", [{}, {"conscientiousness": (0.55, 0.1), "c_max": 3}])
def test_a_policy_that_ignores_history_has_the_values_of_its_table(params):
    env = bisimulator.make("lending", population=20, horizon=60, **params)
    table = np.random.default_rng(0).random(env.params.initial.shape)
    size = most_visits(env)
    found = certify_history(env, np.broadcast_to(table[:, :, None, None], (*table.shape, size, size)))
    truth = certify_table(env, table)
    for signal in ("reward", "loans", "repaid"):
        view, wanted = found.view(signal, "episode"), truth.view(signal, "episode")
        np.testing.assert_allclose(view.values, wanted.values, atol=1e-8)
        assert view.gap == pytest.approx(wanted.gap, abs=1e-8)
        assert np.isnan(view.bound)
    assert "exact all the same" in found.explanation


def test_one_loan_each_by_hand():
    """Two steps, one person: accept only who never had a loan. Exactly one loan, worth 2 p - 1."""
    env = bisimulator.make("lending", initial=[[1, 0], [0, 1]], repayment=[0.3, 0.9], population=1, horizon=2)
    accept = np.zeros((2, 2, 2, 2))
    accept[:, :, 0, 0] = 1
    certificate = certify_history(env, accept)
    np.testing.assert_allclose(certificate.view("loans", "episode").values, [1, 1])
    np.testing.assert_allclose(certificate.values, [-0.4, 0.8], atol=1e-6)
    assert certificate.gap == pytest.approx(1.2, abs=1e-6)
    with pytest.raises(ValueError, match="no discounted view"):
        certificate.view("reward", "discounted")


def test_wrong_shape():
    env = bisimulator.make("lending", population=1, horizon=2)
    with pytest.raises(ValueError, match="groups x scores x repaid x defaulted"):
        certify_history(env, np.ones((2, 7, 3, 3)))
