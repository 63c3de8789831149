"""The relation against the zeros of the metric, and on processes whose classes are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bisimulator.exact.metric import all_actions_metric, bisimulation_metric
from bisimulator.exact.relation import bisimulation_relation
from tests.exact.chains import chains, random_chain, two_groups


@st.composite
def lifted(draw):
    """A chain with copied states, mass into a copied state split at random: copies are bisimilar."""
    P, R = draw(chains(max=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    owner = np.concatenate([np.arange(len(R)), rng.integers(0, len(R), draw(st.integers(1, 4)))])
    big = np.zeros((len(owner), len(owner)))
    for x, base in enumerate(owner):
        for target in range(len(R)):
            copies = np.flatnonzero(owner == target)
            big[x, copies] = P[base, target] * rng.dirichlet(np.ones(len(copies)))
    return big, R[owner], owner


@given(lifted(), st.sampled_from([0.5, 0.9]))
@settings(max_examples=80, deadline=None)
def test_classes_are_the_zeros_of_the_metric(example, gamma):
    P, R, owner = example
    labels = bisimulation_relation(P, R)
    same = labels[:, None] == labels
    assert same[owner[:, None] == owner].all()
    np.testing.assert_array_equal(bisimulation_metric(P, R, gamma).distance < 1e-8, same)


@given(lifted(), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_classes_under_all_actions(example, seed):
    P, R, owner = example
    rng = np.random.default_rng(seed)
    matrices = np.stack([P, P[rng.permutation(len(P))]])
    rewards = np.stack([R, rng.integers(0, 2, owner.max() + 1)[owner].astype(float)])
    labels = bisimulation_relation(matrices, rewards)
    distance = all_actions_metric(matrices, rewards, 0.8).distance
    np.testing.assert_array_equal(distance < 1e-8, labels[:, None] == labels)


def test_same_rewards_different_futures():
    """0 and 1 look alike now; one leads to the reward, the other does not."""
    P = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    np.testing.assert_array_equal(bisimulation_relation(P, [0, 0, 1, 0]), [0, 1, 2, 1])


def test_groups_that_fare_alike_share_classes():
    chain = random_chain(5, np.random.default_rng(0))
    P, R, _ = two_groups(chain, chain)
    labels = bisimulation_relation(P, R)
    np.testing.assert_array_equal(labels[:5], labels[5:])
    assert labels.max() == 4


def test_tolerance():
    R = [0.0, 1e-6, 1.0]
    np.testing.assert_array_equal(bisimulation_relation(np.eye(3), R), [0, 1, 2])
    np.testing.assert_array_equal(bisimulation_relation(np.eye(3), R, tol=1e-3), [0, 0, 1])


def test_bad_input():
    with pytest.raises(ValueError, match="row 1 sums to 0"):
        bisimulation_relation([[1, 0], [0, 0]], [0, 0])
