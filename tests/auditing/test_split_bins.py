"""Splitting bins changes nothing but where decisions may change."""

import dataclasses

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing.split_bins import fractions_of, split_bins
from bisimulator.exact.chain import expect, person_chain
from bisimulator.exact.frontier import frontier


@pytest.fixture(scope="module")
def split(env):
    return split_bins(env, [610, 440])[0]


def test_points_become_edges_exactly(split, env):
    edges = split.params.score_edges
    assert {610.0, 440.0, *env.params.score_edges} <= set(edges)
    assert (np.diff(edges) > 0).all()


def test_points_on_edges_change_nothing(env):
    same, note = split_bins(env, [300, 450, 850])
    assert same is env
    assert note == ""


def test_fractions_are_counted_once():
    np.testing.assert_allclose(fractions_of([310, 340, 360, 325], [300, 325, 350, 375]), [0.4, 0.6])
    assert fractions_of([7], [7, 7]) == []


def test_policies_of_whole_bins_lead_to_the_same(split, env):
    table = np.array([[0.0, 0.5, 1, 1], [0, 1, 0, 1]])
    whole, parts = expect(env, table), expect(split, np.repeat(table, 3, axis=1))
    for name in ("group_return", "applied", "approved", "qualified", "approved_qualified"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-6)
    np.testing.assert_allclose(parts.final_scores.reshape(2, 4, 3).sum(-1), whole.final_scores, rtol=1e-5)


def test_the_frontier_is_that_of_whole_bins(split, env):
    levels = [0.8, 0.95]
    np.testing.assert_allclose(
        frontier(split, levels=levels).upper_bound, frontier(env, levels=levels).upper_bound, rtol=1e-5
    )


def test_moves_lead_to_the_same_part_of_another_bin(split):
    chain = person_chain(split)
    up, down = chain.repaid.targets[:, 0], chain.defaulted.targets[:, 0]
    parts = np.arange(12) % 3
    assert (parts[up] == parts)[: 12 - 3].all()
    assert (parts[down] == parts)[3:].all()


def test_counted_people_are_used(env):
    counts = np.arange(24.0).reshape(2, 12)
    split, note = split_bins(env, [610, 440], lambda edges: counts)
    np.testing.assert_allclose(split.params.initial, counts / counts.sum(1, keepdims=True), rtol=1e-6)
    assert "counted in the data" in note


def test_an_environment_whose_scores_cannot_be_divided_names_its_edges(env):
    model = dataclasses.replace(env.scenario.person_model, split_scores=None)
    rigid = dataclasses.replace(env, scenario=dataclasses.replace(env.scenario, person_model=model))
    with pytest.raises(
        ValueError, match=r"610: the scores of 'lending' cannot be divided; choose edges .* 300, 450"
    ):
        split_bins(rigid, [610])


def test_hidden_types_and_plain_scores_keep_working():
    env = bisimulator.make("lending-conscientiousness", score_edges=range(8))
    split, _ = split_bins(env, [2.5])
    np.testing.assert_allclose(
        expect(split, np.ones((2, 14))).average_return, expect(env, np.ones((2, 7))).average_return, rtol=1e-6
    )
