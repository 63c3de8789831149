"""Certificates against the exact chain, closed forms, and the numbers in docs/exact/certificate.md."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import bisimulator
from bisimulator.exact import _entries
from bisimulator.exact._finite import check_chain
from bisimulator.exact.certificate import (
    HORIZONS,
    SIGNALS,
    _PersonChains,
    certify_table,
    episode_distance,
    visit_discount,
)
from bisimulator.exact.chain import expect, person_chain
from bisimulator.exact.metric import bisimulation_metric
from tests.exact.chains import random_chain


@pytest.fixture(scope="module")
def lending():
    return bisimulator.make("lending")


def test_accepting_everybody(lending):
    certificate = certify_table(lending, np.ones((2, 7)))
    assert certificate.gap == pytest.approx(13.52, abs=5e-3)
    assert certificate.bound == pytest.approx(13.52, abs=5e-3)
    assert "Tight" in certificate.explanation
    loans = certificate.entry("loans", "episode")
    np.testing.assert_allclose(loans.values, [10, 10])
    assert loans.bound == 0
    assert "exactly alike" in loans.explanation


def test_rejecting_the_lowest_score(lending):
    certificate = certify_table(lending, np.tile([0, 1, 1, 1, 1, 1, 1], (2, 1)))
    assert certificate.gap == pytest.approx(33.42, abs=5e-3)
    assert certificate.bound == pytest.approx(33.46, abs=5e-3)


def test_fairness_by_compensation(lending):
    """Group 1 turned away at score 2 just often enough that both groups return the same."""

    def certificate(q):
        accept = np.ones((2, 7))
        accept[0, 2] = q
        return certify_table(lending, accept)

    q = brentq(lambda q: np.subtract(*certificate(q).values), 0, 0.1, xtol=1e-12)
    entry = certificate(q).entry()
    assert entry.gap == pytest.approx(0, abs=1e-6)
    assert entry.bound == pytest.approx(28, abs=0.5)
    assert entry.over_time + entry.between_people == pytest.approx(entry.slack)
    assert min(entry.over_time, entry.between_people) > 1
    assert "Fairness by compensation" in entry.explanation


def test_discount_between_visits(lending):
    assert visit_discount(lending, 0.99) == pytest.approx(0.09, abs=5e-4)
    assert visit_discount(bisimulator.make("lending", population=1), 0.99) == pytest.approx(0.99)


def test_discounted_values_are_those_of_an_infinite_horizon(lending):
    """A discount per step as one per visit: the sum over steps, the first of which is a visit."""
    accept = np.random.default_rng(0).random((2, 7))
    gamma = visit_discount(lending, 0.999)
    values = certify_table(lending, accept, gamma).values
    chance = np.linspace(0.3, 0.9, 7)
    for g, initial in enumerate(np.asarray(lending.params.initial)):
        total, share, weight = 0.0, initial.astype(float), 1.0
        for _ in range(400):
            total += weight * share @ (accept[g] * (2 * chance - 1))
            moved = share * accept[g]
            share = share - moved
            share[np.minimum(np.arange(7) + 1, 6)[:-1]] += (moved * chance)[:-1]
            share[6] += (moved * chance)[6]
            share[np.arange(6)] += (moved * (1 - chance))[1:]
            share[0] += (moved * (1 - chance))[0]
            weight *= gamma
        assert values[g] == pytest.approx(total, rel=1e-6)


@given(
    st.sampled_from([{}, {"groups": 4}, {"conscientiousness": (0.55, 0.1), "c_max": 3}]),
    st.integers(0, 2**32),
    st.sampled_from([(1, 3), (7, 20), (50, 500)]),
)
@settings(max_examples=12, deadline=None)
def test_episode_values_are_those_of_the_chain(params, seed, size):
    population, horizon = size
    env = bisimulator.make("lending", population=population, horizon=horizon, **params)
    accept = np.random.default_rng(seed).random(env.params.initial.shape).round(1)
    exact, people = expect(env, accept), population / env.num_groups
    certificate = certify_table(env, accept)
    pairs = {"reward": exact.group_return, "loans": exact.approved, "repaid": exact.approved_qualified}
    for signal, totals in pairs.items():
        np.testing.assert_allclose(certificate.entry(signal, "episode").values, totals / people, atol=1e-6)


@given(st.integers(0, 2**32), st.sampled_from([2, 3]))
@settings(max_examples=25, deadline=None)
def test_every_bound_holds(seed, groups):
    rng = np.random.default_rng(seed)
    env = bisimulator.make(
        "lending",
        initial=rng.dirichlet(np.ones(4), groups),
        repayment=rng.random((groups, 4)),
        population=5,
        horizon=20,
    )
    certificate = certify_table(env, rng.random((groups, 4)).round(1), gamma=0.9)
    assert set(certificate.entries) == {(s, h) for s in SIGNALS for h in HORIZONS}
    for entry in certificate.entries.values():
        assert (entry.gaps <= entry.bounds + entry.error_bound).all()
        assert entry.gap == pytest.approx(np.ptp(entry.values))
        assert entry.gap == entry.gaps[entry.groups]
        assert entry.bound == entry.bounds[entry.groups]
        assert entry.over_time + entry.between_people == pytest.approx(entry.slack, abs=1e-9)
        assert entry.error_bound < 1e-8
        g, h = entry.groups
        initial = np.asarray(env.params.initial, float)
        np.testing.assert_allclose(entry.pairing.sum(1), initial[g] / initial[g].sum(), atol=1e-9)
        np.testing.assert_allclose(entry.pairing.sum(0), initial[h] / initial[h].sum(), atol=1e-9)
        assert entry.pairing[entry.worst_pair] > 0
        assert entry.worst_distance >= entry.bound - 1e-9  # the largest is at least the average


def test_the_same_group_twice_is_certified_fair():
    env = bisimulator.make("lending", initial=[[0.2, 0.5, 0.3]] * 2, population=10, horizon=50)
    certificate = certify_table(env, [[0.1, 0.5, 1.0]] * 2)
    for entry in certificate.entries.values():
        assert entry.gap == pytest.approx(0, abs=1e-12)
        assert entry.bound == pytest.approx(0, abs=1e-12)


def test_episode_distance_with_a_geometric_number_of_visits():
    """If the number of visits is geometric, the finite recursion tends to the discounted metric."""
    P, R = random_chain(5, np.random.default_rng(1))
    matrix, _ = check_chain(P, R)
    tail = 0.8 ** np.arange(120)
    distance, error = episode_distance(matrix, matrix, R, R, tail)
    np.testing.assert_allclose(distance, bisimulation_metric(P, R, 0.8).distance, atol=1e-8)
    assert error < 1e-11


def test_worst_pair_and_pairing_of_a_small_environment():
    """Everybody of group 1 at the top, of group 2 at the bottom: one pair, and its distance is the bound."""
    env = bisimulator.make("lending", initial=[[0, 0, 1], [1, 0, 0]], population=4, horizon=8)
    entry = certify_table(env, np.ones((2, 3))).entry("reward", "episode")
    assert entry.worst_pair == (2, 0)
    assert entry.bound == pytest.approx(entry.worst_distance)
    assert entry.pairing[2, 0] == pytest.approx(1)


def test_one_group():
    env = bisimulator.make("lending", groups=1, population=10, horizon=50)
    certificate = certify_table(env, np.ones((1, 7)))
    assert certificate.gap == certificate.bound == 0
    assert "only one group" in certificate.explanation
    assert certificate.entry("loans", "episode").values[0] == pytest.approx(5)


def test_text_names_every_entry(lending):
    text = str(certify_table(lending, np.ones((2, 7))))
    for words in [*SIGNALS.values(), *HORIZONS.values(), "exact"]:
        assert words in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": np.ones((2, 6))}, "policy must have shape"),
        ({"policy": np.full((2, 7), 1.5)}, "did you pass percentages"),
        ({"policy": np.ones((2, 7)), "gamma": 1.0}, "no fixed point at 1"),
    ],
)
def test_bad_input(lending, arguments, message):
    with pytest.raises(ValueError, match=message):
        certify_table(lending, **arguments)


def test_unknown_entries(lending):
    certificate = certify_table(lending, np.ones((2, 7)))
    with pytest.raises(ValueError, match="Did you mean 'reward'"):
        certificate.entry("rewards")
    with pytest.raises(ValueError, match="Unknown horizon"):
        certificate.entry("reward", "finite")


def test_of_very_many_groups_the_pair_with_the_largest_gap_is_bounded(monkeypatch):
    env = bisimulator.make("lending", groups=4, population=20, horizon=40)
    every = certify_table(env, np.full((4, 7), 0.5)).main
    monkeypatch.setattr(_entries, "_MAX_PAIRS", 3)
    one = certify_table(env, np.full((4, 7), 0.5)).main
    assert (one.groups, one.gap, one.bound) == (every.groups, every.gap, every.bound)
    np.testing.assert_array_equal(one.pairing, every.pairing)
    assert np.isnan(one.bounds).sum() == 4 * 3 - 2


def test_transport_problems_have_only_the_scores_that_can_be_reached(lending):
    """Zeros that a sparse matrix stores would be places of every problem: minutes for tens of scores."""
    chains = _PersonChains(person_chain(lending), np.tile([0, 0, 0, 0.5, 1, 1, 1], (2, 1)))
    assert [np.diff(moves.indptr).tolist() for moves in chains.moves] == [[1, 1, 1, 3, 2, 2, 2]] * 2
