"""Classes of loan histories: how many there are where that is known, and which must stay apart."""

import dataclasses

import numpy as np
import pytest

import bisimulator
from bisimulator.exact._lumping import Histories
from bisimulator.exact.chain import person_chain

VISITS = 6


@pytest.fixture(scope="module")
def chain():
    return person_chain(bisimulator.make("lending", groups=1, population=1, horizon=VISITS, c_max=4))


def layers(chain, accept, start=(0.2, 0.3, 0.3, 0.2), repayment=(0.2, 0.4, 0.6, 0.8)):
    """From the first visit to the last."""
    chain = dataclasses.replace(chain, repayment=np.array([[repayment]]))
    return list(Histories(np.array([start]), accept, chain, 0, np.ones(VISITS)).layers())[::-1]


def test_rejecting_everybody_leaves_one_class(chain):
    for layer in layers(chain, np.zeros((4, VISITS, VISITS))):
        assert layer.size == 1
        np.testing.assert_array_equal(layer.moves[2], [1])
        np.testing.assert_array_equal(layer.signals[:, 0], 0)


@pytest.mark.parametrize("probability", [1.0, 0.5])
def test_policies_that_ignore_loans_have_one_class_per_score(chain, probability):
    for layer in layers(chain, np.full((4, VISITS, VISITS), probability)):
        assert layer.size == 4
        _, loans, repaid = layer.signals
        np.testing.assert_allclose(np.sort(repaid), probability * np.array([0.2, 0.4, 0.6, 0.8]))
        np.testing.assert_allclose(loans, probability)
        np.testing.assert_allclose(np.add.reduceat(layer.moves[2], layer.moves[0][:-1]), 1)


def test_equal_repayment_probabilities_make_one_class(chain):
    """Scores with the same probability of repayment are one class, whatever else differs."""
    for layer in layers(chain, np.ones((4, VISITS, VISITS)), repayment=(0.5,) * 4):
        assert layer.size == 1


def test_only_reachable_states_count(chain):
    """From one score, with one loan at most, there are three states: no loan yet, repaid, defaulted."""
    accept = np.zeros((4, VISITS, VISITS))
    accept[:, 0, 0] = 0.5
    accept[3] = np.random.default_rng(0).random((VISITS, VISITS))  # not reachable
    result = layers(chain, accept, start=(0, 1, 0, 0))
    assert [len(layer.label) for layer in result] == [1] + [3] * (VISITS - 1)
    assert [layer.size for layer in result] == [1] + [2] * (
        VISITS - 1
    )  # whoever has had a loan gets no other


def test_a_later_difference_separates_earlier_classes(chain):
    """Whoever repaid two loans is rejected: people with one repaid loan differ from those with none, at one score."""
    accept = np.ones((4, VISITS, VISITS))
    accept[:, 2:] = 0
    result = layers(chain, accept, start=(0, 0, 0, 1), repayment=(1, 1, 1, 1))
    assert [layer.size for layer in result] == [1] * VISITS
    loans = [layer.signals[1, 0] for layer in result]
    assert loans == [1, 1, 0, 0, 0, 0]
