"""Thresholds are audited as they are typed."""

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing.group_numbers import score_table
from bisimulator.auditing.read_policy import read_policy
from bisimulator.auditing.thresholds import from_thresholds


def levels(audited):
    return np.asarray(audited.policy.levels).tolist()


def accepted_from(audited):
    """The score from which each group is accepted, as the policy decides."""
    table = score_table(audited.env, audited.policy)
    return [audited.env.params.score_edges[int(np.argmax(row))] for row in table]


def test_a_threshold_on_an_edge_needs_no_split(env):
    one = read_policy("600", env)
    assert levels(one) == [2, 2]
    assert one.env is env
    assert one.description == "Accepts everybody from score 600 on, whatever the group."
    assert (one.name, one.notes) == ("accept from 600", ())


def test_thresholds_within_bins_are_kept_apart(env):
    two = read_policy("down=440, others=610", env)
    assert two.name == "accept <b>up</b> from 610, down from 440"
    assert two.description == "Accepts <b>up</b> from score 610, down from score 440 on."
    assert accepted_from(two) == [610, 440]
    assert two.env.params.num_scores == 3 * 4
    (note,) = two.notes
    assert "(at 610, 440). Each bin is split in 3 parts there" in note
    assert "people are assumed to be spread evenly" in note


def test_nothing_is_rounded_in_the_name(env):
    assert read_policy("640.0000001", env).name == "accept from 640.0000001"


@pytest.mark.parametrize("text", ["900", "850", "299", "-5", "down=900,others=600"])
def test_outside_of_the_scores_is_an_error(text, env):
    with pytest.raises(ValueError, match=r"must be a score from 300 to below 850, got .*reject-all"):
        read_policy(text, env)


def test_thresholds_if_scores_have_no_other_unit():
    plain = bisimulator.make("lending")
    assert levels(read_policy("2.5", plain)) == [2.5, 2.5]
    assert levels(read_policy("1=3,2=2", plain)) == [3, 2]
    with pytest.raises(ValueError, match="a score from 0 to below 7, got 7"):
        read_policy("7", plain)


def test_thresholds_in_bins_say_the_score(env):
    audited = read_policy("3", env, in_bins=True)
    assert levels(audited) == [3, 3]
    assert audited.description == "Accepts everybody from score 700 (bin 3) on, whatever the group."
    with pytest.raises(ValueError, match="from 0 to below 4, got 4"):
        read_policy("4", env, in_bins=True)


def test_the_readme_s_640_on_bins_of_25_points():
    env = bisimulator.make("lending-us-2003", groups=2)
    audited = from_thresholds("640", env)
    assert accepted_from(audited) == [640, 640]
    assert audited.env.params.num_scores == 2 * 22
    assert (int(audited.env.params.score_up), int(audited.env.params.score_down)) == (2 * 3, 2 * 6)


def test_people_at_and_above_the_threshold_are_those_of_the_data():
    rng = np.random.default_rng(0)
    scores = rng.integers(300, 851, 2000)
    groups = np.where(rng.random(2000) < 0.6, "a", "b")
    people = bisimulator.Population.from_frame(
        {"group": groups, "score": scores, "repaid": rng.random(2000) < 0.8}, bins=10
    )
    audited = from_thresholds("a=640,others=620", people.make(), count_people=people.count)
    table = score_table(audited.env, audited.policy)
    first = (np.asarray(audited.env.params.initial) * table).sum(1)  # of the first applications
    shares = [(scores[groups == g] >= t).mean() for g, t in (("a", 640), ("b", 620))]
    np.testing.assert_allclose(first, shares, atol=1e-6)
    assert "counted in the data" in audited.notes[0]
