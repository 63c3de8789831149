"""Lending with the numbers of other papers: group sizes, tables of moves, published rules, and the exact chain."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import policies
from bisimulator.envs import _lending_people
from bisimulator.envs._lending_moves import whole_sizes
from bisimulator.envs._lending_people import GROUP, OBSERVED, TRUE
from bisimulator.envs.lending_delayed_impact import MOVES
from bisimulator.exact import expect
from tests.matrix import some
from tests.messages import refused

decide = jax.jit(_lending_people.decide)


def people_after(env, score, group, action, u, omega=None):
    """Records at `score` after a decision with every number of `u`."""
    person = np.tile(np.array([score, score, 0, 0, group, 0], np.float32), (len(u), 1))
    params = env.params if omega is None else env.with_omega(omega).params
    return [np.asarray(x) for x in decide(person, np.full(len(u), action), u, params)]


@pytest.mark.parametrize("action", [0, 1])
@pytest.mark.parametrize("group", [0, 1])
def test_scores_move_by_the_table(action, group):
    """An even grid of uniform numbers has the frequencies of the table; a rejected person's score moves less often."""
    env = bisimulator.make("lending-harder")
    u = ((np.arange(20_000) + 0.5) / 20_000).astype(np.float32)
    moving = 1.0 if action else (0.3, 0.1)[group]
    for score in range(7):
        after, _, repays = people_after(env, score, group, action, u)
        for outcome in (0, 1):
            mine = after[repays == bool(outcome), TRUE].astype(int)
            frequency = np.bincount(mine, minlength=7) / len(mine)
            expected = moving * np.array(MOVES[outcome][score]) + (1 - moving) * np.eye(7)[score]
            np.testing.assert_allclose(frequency, expected, atol=1e-3)
        np.testing.assert_array_equal(after[:, TRUE], after[:, OBSERVED])


def test_omega_scales_the_moves_that_are_seen():
    env = bisimulator.make("lending-harder")
    u = np.linspace(0, 0.999, 500, dtype=np.float32)
    omega = jnp.array([[0.5, 2.0], [1.0, 1.0]])
    after, _, repays = people_after(env, 3, 0, 1, u, omega)
    factor = np.where(repays, 0.5, 2.0)
    np.testing.assert_allclose(
        after[:, OBSERVED], np.clip(3 + factor * (after[:, TRUE] - 3), 0, 6), atol=1e-6
    )


def test_plain_moves_as_a_table_are_the_plain_moves():
    """The same uniform numbers lead to the same scores, however the moves are written."""
    plain = bisimulator.make("lending", population=9)
    start = np.arange(7)
    table = np.eye(7)[np.stack([np.maximum(start - 1, 0), np.minimum(start + 1, 6)])]
    written = bisimulator.make("lending", population=9, moves=table)
    u = np.linspace(0, 0.999, 200, dtype=np.float32)
    for score in (0, 3, 6):
        for action in (0, 1):
            first, second = (people_after(env, score, 1, action, u) for env in (plain, written))
            for a, b in zip(first, second, strict=True):
                np.testing.assert_array_equal(a, b)
    accept = np.random.default_rng(0).random((2, 7))
    np.testing.assert_allclose(expect(plain, accept).moments, expect(written, accept).moments, rtol=1e-9)


def test_group_sizes_are_fixed():
    env = bisimulator.make("lending-delayed-impact", group_probs=(0.34, 0.66), population=103)
    reset = jax.jit(env.reset)
    for seed in range(3):
        group = np.asarray(reset(jax.random.key(seed)).people)[:, GROUP].astype(int)
        assert np.bincount(group).tolist() == [35, 68]
    assert env.scenario.person_model.chain(env.params).group_sizes == pytest.approx([35, 68])
    drawn = bisimulator.make("lending-delayed-impact", fixed_sizes=False)
    reset = jax.jit(drawn.reset)
    sizes = {int(np.asarray(reset(jax.random.key(s)).people)[:, GROUP].sum()) for s in range(5)}
    assert len(sizes) > 1


def test_whole_sizes_give_the_rest_to_the_largest_remainders():
    assert whole_sizes(np.array([0.5, 0.25, 0.25]), 7).tolist() == [3, 2, 2]
    assert whole_sizes(np.array([0.1, 0.2, 0.7]), 10).tolist() == [1, 2, 7]


# Reward per step and recall gap of "accept from this score on", simulated by others and rounded.
RULES = {3: (0.147, 0.163), 2: (0.186, 0.082), 0: (-0.100, 0.0)}
ROUNDING = 0.0005


@pytest.mark.parametrize("threshold", some(RULES, (3,)))
def test_rules_have_the_known_reward_and_recall_gap(threshold):
    """Within three standard errors of a simulation of 100 episodes."""
    env = bisimulator.make("lending-delayed-impact")
    simulated = bisimulator.evaluate(
        env, policies.thresholds((threshold,) * 2), seeds=20, episodes=5
    ).episodes
    reward, gap = RULES[threshold]
    for values, expected in (
        (simulated["average_return"] / env.horizon, reward),
        (simulated["recall_g1"] - simulated["recall_g2"], gap),
    ):
        assert abs(values.mean() - expected) <= 3 * values.std() / np.sqrt(values.size) + ROUNDING


@pytest.mark.parametrize("name", ["lending-delayed-impact", "lending-harder"])
def test_simulated_episodes_agree_with_the_exact_chain(name):
    env = bisimulator.make(name, population=40, horizon=400)
    accept = np.random.default_rng(1).random((2, 7))
    exact, simulated = expect(env, accept), bisimulator.evaluate(env, accept, seeds=16, episodes=25)

    def agrees(values, expected):
        values = np.asarray(values, np.float64).reshape(400)
        error = values.std() / np.sqrt(values.size)
        assert abs(values.mean() - expected) < 4 * error

    agrees(simulated.episodes["average_return"], exact.average_return)
    for g in range(2):
        agrees(simulated.outcome.count("approved")[..., g], exact.approved[g])
        agrees(simulated.outcome.count("approved_qualified")[..., g], exact.approved_qualified[g])
        for c in range(7):
            agrees(simulated.outcome.true_scores[..., g, c], exact.people[g] * exact.final_scores[g, c])


def test_the_frontier_bounds_every_policy_on_the_harder_scenario():
    env = bisimulator.make("lending-harder", population=20, horizon=200)
    best = bisimulator.frontier(env, levels=[0.9])
    assert best.value[0] <= best.upper_bound[0]
    assert best.stationary_value[0] <= best.upper_bound[0] + 1e-9
    by_time = bisimulator.evaluate(env, best.policy(0), seeds=10, episodes=20).episodes["average_return"]
    assert abs(by_time.mean() - best.value[0]) < 4 * by_time.std() / np.sqrt(by_time.size)
    thresholds = [expect(env, np.tile(np.arange(7) >= t, (2, 1)).astype(float)) for t in range(8)]
    fair = [e.average_return for e in thresholds if e.recall.min() >= 0.9]
    assert fair
    assert max(fair) <= best.upper_bound[0]


def test_other_numbers_of_groups_and_scores():
    env = bisimulator.make("lending-harder", groups=3)
    np.testing.assert_allclose(env.params.rejected_moves, [0.3, 0.2, 0.1], rtol=1e-6)
    assert bisimulator.make("lending-delayed-impact", c_max=4).params.num_scores == 4
    assert policies.thresholds((1, 1, 1)).bind(env) is not None


WRONG = [
    ({"moves": MOVES, "score_up": 2}, ["score_up and score_down must be left out", "got 2 and 1"]),
    ({"moves": [[[1.0]], [[1.0]]]}, ["moves must have shape (2, 7, 7)", "(2, 1, 1)"]),
    ({"moves": np.ones((2, 7, 7))}, ["moves must sum to 1", "got 7"]),
    ({"rejected_moves": 1.5}, ["rejected_moves must lie in [0, 1]", "1.5"]),
    ({"rejected_moves": (0.1, 0.2, 0.3)}, ["rejected_moves must have shape (2,)", "(3,)"]),
]


@pytest.mark.parametrize(("keywords", "parts"), WRONG)
def test_wrong_parameters_raise_an_error_that_names_the_rule(keywords, parts):
    with refused(parts):
        bisimulator.make("lending", **keywords)
