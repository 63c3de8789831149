"""The population of 2003 compared with the table it is estimated from."""

import csv
from importlib import resources

import numpy as np
import pytest

import bisimulator
from bisimulator.envs import us_credit
from bisimulator.exact import chain


@pytest.fixture(scope="module")
def rows():
    text = resources.files("bisimulator").joinpath("data/us_credit_2003.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture(scope="module")
def env():
    return bisimulator.make("lending-us-2003")


def test_the_table_is_the_published_one(rows):
    assert len(rows) == 4 * 198
    sizes = {row["group"]: int(row["group_people"]) for row in rows}
    assert sizes == {"white": 133165, "black": 18274, "hispanic": 14702, "asian": 7906}


def test_groups_have_the_shares_of_the_table(env):
    assert env.group_names == ("white", "black", "hispanic", "asian")
    sizes = np.array([133165, 18274, 14702, 7906])
    np.testing.assert_allclose(env.params.group_probs, sizes / sizes.sum(), atol=1e-6)


def test_distributions_are_the_cumulative_shares_of_the_table(env, rows):
    """Rank -> points is a rising map, so the share below an edge is the cumulative share at the edge's rank."""
    below = np.cumsum(np.asarray(env.params.initial, np.float64), axis=1)
    for g, name in enumerate(env.group_names):
        mine = [row for row in rows if row["group"] == name]
        points = us_credit.points_of(np.array([float(row["score"]) for row in mine]))
        share = np.array([float(row["cumulative_share"]) for row in mine])
        np.testing.assert_allclose(
            below[g, :-1], np.interp(env.params.score_edges[1:-1], points, share), atol=2e-4
        )


def test_rates_are_those_of_the_table(env, rows):
    """The average rate is that of the table, and a bin's rate lies between those of the rows in and around it."""
    population = us_credit.people()
    for g, name in enumerate(env.group_names):
        mine = [row for row in rows if row["group"] == name]
        repaid = 1 - np.array([float(row["default_rate"]) for row in mine])
        weight = np.diff([0.0, *(float(row["cumulative_share"]) for row in mine)])
        average = (population.initial[g] * population.repayment[g]).sum()
        np.testing.assert_allclose(average, weight @ repaid / weight.sum(), atol=1e-6)
        points = us_credit.points_of(np.array([float(row["score"]) for row in mine]))
        for c, (low, high) in enumerate(zip(population.edges, population.edges[1:], strict=False)):
            around = repaid[max(np.searchsorted(points, low) - 1, 0) : np.searchsorted(points, high) + 1]
            assert around.min() - 1e-9 <= population.repayment[g, c] <= around.max() + 1e-9


def test_moves_and_profit_are_those_of_liu_et_al(env):
    p = env.params
    assert p.score_edges[:2] == (300, 325)
    assert p.score_edges[-1] == 850
    width = p.score_edges[1] - p.score_edges[0]
    assert (int(p.score_up) * width, int(p.score_down) * width) == (75, 150)
    assert float(p.reward_default) == -4 * float(p.reward_repaid)
    np.testing.assert_allclose(
        us_credit.points_of([0, 2.1, 50, 100]), [300, 350, 650 + 50 * 2.3 / 13.8, 850], rtol=1e-6
    )


def test_groups_can_be_chosen():
    pair = bisimulator.make("lending-us-2003", groups=["black", "white"])
    assert pair.group_names == ("black", "white")
    np.testing.assert_allclose(pair.params.group_probs, np.array([18274, 133165]) / 151439, atol=1e-6)
    assert bisimulator.make("lending-us-2003", groups=2).group_names == ("white", "black")
    with pytest.raises(ValueError, match=r"groups must be at most 4 \(white, .* got 5"):
        bisimulator.make("lending-us-2003", groups=5)
    with pytest.raises(ValueError, match=r"Unknown group 'wite'\. Did you mean 'white'"):
        bisimulator.make("lending-us-2003", groups=["wite"])


def test_every_parameter_can_be_changed():
    params = bisimulator.make("lending-us-2003", score_up=1, reward_default=-2, population=9).params
    assert (int(params.score_up), int(params.score_down), float(params.reward_default)) == (1, 6, -2)
    assert params.omega.tolist() == [[1, 6]] * 4
    with pytest.raises(TypeError, match="has no parameter 'score_ups'"):
        bisimulator.make("lending-us-2003", score_ups=1)


def test_simulated_and_exact_results_agree(env):
    """Asymmetric moves of several bins, rates by group: means over 40 episodes within four standard errors."""
    levels = np.array([12, 13, 12, 14])
    outcome = bisimulator.evaluate(env, bisimulator.policies.thresholds(levels), seeds=8, episodes=5).outcome
    exact = chain.expect(env, (np.arange(22) >= levels[:, None]).astype(float))
    people = 1000 * np.asarray(env.params.group_probs)[:, None]
    for simulated, expected in (
        (outcome.count("reward"), exact.group_return),
        (outcome.count("approved"), exact.approved),
        (outcome.count("qualified"), exact.qualified),
        (outcome.count("approved_qualified"), exact.approved_qualified),
        (outcome.true_scores, people * exact.final_scores),
    ):
        episodes = simulated.reshape(-1, *expected.shape).astype(np.float64)
        # the sample variance says little about rare events, so it is at least that of a Poisson count
        variance = np.maximum(episodes.var(0, ddof=1), abs(expected))
        assert (abs(episodes.mean(0) - expected) <= 4 * np.sqrt(variance / len(episodes)) + 1e-3).all()
