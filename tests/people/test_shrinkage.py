"""Rates of few people are shrunk towards those of many."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import betabinom

from bisimulator.people._group_effects import fit_group_effects
from bisimulator.people._shrinkage import (
    WEIGHT_BOUNDS,
    logistic_trend,
    max_likelihood_weight,
    shrink,
    shrink_towards,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_without_weight_rates_are_unchanged_and_empty_bins_get_the_prior():
    prior, people, repaid = np.array([0.5, 0.6, 0.7]), np.array([10.0, 0, 4]), np.array([9.0, 0, 0])
    np.testing.assert_allclose(shrink_towards(prior, people, repaid, 0.0), [0.9, 0.6, 0.0])
    np.testing.assert_allclose(shrink_towards(prior, people, repaid, 10.0), [14 / 20, 0.6, 7 / 14])


@pytest.mark.parametrize("true_weight", [5.0, 40.0, 300.0])
def test_the_weight_maximises_the_likelihood_of_the_counts(true_weight, rng):
    prior, people = np.linspace(0.2, 0.9, 80), np.full(80, 60.0)
    repaid = betabinom.rvs(60, true_weight * prior, true_weight * (1 - prior), random_state=rng).astype(float)
    weight = max_likelihood_weight(prior, people, repaid)
    grid = np.geomspace(1, 1e4, 4001)[:, None]
    likelihood = betabinom.logpmf(repaid, 60, grid * prior, grid * (1 - prior)).sum(1)
    np.testing.assert_allclose(weight, grid[likelihood.argmax(), 0], rtol=5e-3)
    assert true_weight / 2 < weight < 2 * true_weight


SAME = expit(np.linspace(-2, 3, 8))
SMALL = {  # rates of a small group beside a large one with the rates SAME
    "alike": SAME,
    "an equal effect at all scores": expit(np.linspace(-2, 3, 8) - 0.6),
    "a third everywhere": SAME / 3,
    "the same at all scores": np.full(8, 0.5),
}


@pytest.mark.parametrize("case", SMALL)
def test_a_small_group_s_rates_are_nearer_to_the_truth_than_plain_ones_and_not_biased(case, rng):
    people, truth = np.array([[5000.0] * 8, [40.0] * 8]), np.stack([SAME, SMALL[case]])
    ours, plain = [], []
    for _ in range(30):
        repaid = rng.binomial(people.astype(int), truth).astype(float)
        ours.append((shrink(fit_group_effects(people, repaid), people, repaid)[0] - truth)[1])
        plain.append((repaid / people - truth)[1])
    assert np.square(ours).mean() <= np.square(plain).mean()
    assert abs(np.mean(ours)) < 0.02


def test_the_trend_solves_the_likelihood_equations_and_exists_for_any_counts():
    people = np.array([50.0, 80, 120, 90, 30])
    repaid = np.array([5.0, 20, 70, 70, 28])
    curve = logistic_trend(people, repaid)
    place = np.linspace(-1, 1, 5)
    for slope in ((people * curve - repaid).sum(), (place * (people * curve - repaid)).sum()):
        assert abs(slope) < 0.1  # as little as the ridge allows
    for repaid in (np.zeros(5), people, np.array([0, 0, 0, 90.0, 30])):
        curve = logistic_trend(people, repaid)
        assert np.isfinite(curve).all()
        assert (curve >= 0).all()
        assert (curve <= 1).all()
    assert logistic_trend(np.array([10.0]), np.array([7.0]))[0] == pytest.approx(0.7, abs=0.02)


def test_a_bin_without_people_follows_the_trend():
    people = np.array([[100.0, 100, 0, 100, 100]])
    repaid = np.array([[20.0, 40, 0, 80, 95]])
    rates, pooled = shrink(fit_group_effects(people, repaid), people, repaid)
    assert 0.4 < rates[0, 2] < 0.8
    np.testing.assert_allclose(rates[0, 2], pooled[2])


def test_the_weight_stays_within_its_bounds():
    # rates that are far more alike than chance allows, and far less
    assert max_likelihood_weight(np.full(50, 0.5), np.full(50, 100.0), np.full(50, 50.0)) == pytest.approx(
        WEIGHT_BOUNDS[1], rel=0.1
    )
    extreme = np.tile([0.0, 100.0], 25)
    assert max_likelihood_weight(np.full(50, 0.5), np.full(50, 100.0), extreme) == pytest.approx(
        WEIGHT_BOUNDS[0], rel=0.1
    )
