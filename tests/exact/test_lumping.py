"""Classes of histories: how many there are where that is known, and that they are kept apart where they must be."""

import numpy as np
import pytest

import bisimulator
from bisimulator.exact._lumping import layers_backwards

VISITS = 6


@pytest.fixture(scope="module")
def params():
    return bisimulator.make("lending", population=1, horizon=VISITS, c_max=4).params


def layers(params, accept, start=(0.2, 0.3, 0.3, 0.2), chance=(0.2, 0.4, 0.6, 0.8)):
    """From the first visit to the last."""
    found = layers_backwards(np.array([start]), np.array([chance]), accept, params, VISITS)
    return list(found)[::-1]


def test_whom_nobody_accepts_are_all_alike(params):
    for layer in layers(params, np.zeros((4, VISITS, VISITS))):
        assert layer.size == 1
        np.testing.assert_array_equal(layer.moves[2], [1])
        np.testing.assert_array_equal(layer.signals(params)[:, 0], 0)


@pytest.mark.parametrize("probability", [1.0, 0.5])
def test_without_a_look_at_loans_classes_are_scores(params, probability):
    for layer in layers(params, np.full((4, VISITS, VISITS), probability)):
        assert layer.size == 4
        np.testing.assert_allclose(np.sort(layer.repaid), probability * np.array([0.2, 0.4, 0.6, 0.8]))
        np.testing.assert_allclose(layer.repaid + layer.defaulted, probability)
        np.testing.assert_allclose(np.add.reduceat(layer.moves[2], layer.moves[0][:-1]), 1)


def test_equal_chances_make_equal_classes(params):
    """Scores that repay alike are one class, whatever else differs."""
    for layer in layers(params, np.ones((4, VISITS, VISITS)), chance=(0.5,) * 4):
        assert layer.size == 1


def test_only_what_can_be_reached_counts(params):
    """From one score, with one loan at most, there are three states: no loan yet, repaid, defaulted."""
    accept = np.zeros((4, VISITS, VISITS))
    accept[:, 0, 0] = 0.5
    accept[3] = np.random.default_rng(0).random((VISITS, VISITS))  # out of reach
    found = layers(params, accept, start=(0, 1, 0, 0))
    assert [len(layer.label) for layer in found] == [1] + [3] * (VISITS - 1)
    assert [layer.size for layer in found] == [1] + [2] * (VISITS - 1)  # those with a loan get no other


def test_a_difference_shows_as_many_visits_earlier_as_it_takes(params):
    """Whoever repaid two loans is rejected: people with one repaid loan differ from those with none, at one score."""
    accept = np.ones((4, VISITS, VISITS))
    accept[:, 2:] = 0
    found = layers(params, accept, start=(0, 0, 0, 1), chance=(1, 1, 1, 1))
    assert [layer.size for layer in found] == [1] * VISITS
    loans = [layer.signals(params)[1, 0] for layer in found]
    assert loans == [1, 1, 0, 0, 0, 0]
