"""Attention compared with a unit-by-unit allocation, NumPy, and known rules."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.envs import attention
from bisimulator.policies.rules import rule_policy
from bisimulator.simulation import check_action_range
from tests.matrix import some
from tests.messages import refused


def unit_by_unit(logits, units):
    """The definition: one unit after the other to the largest p, which falls by 1 / N."""
    p = np.exp(logits.astype(np.float64))
    p, given = p / p.sum(), np.zeros(len(logits), int)
    for _ in range(units):
        first = int(np.argmax(np.round(p, 9)))  # equal shares go to the first
        given[first] += 1
        p[first] -= 1 / units
    return given


@pytest.fixture(scope="module")
def allocate():
    """Allocations of 6 units to 5 locations, (B, 5)."""
    return jax.jit(lambda logits: attention.allocate(logits, 6))


def test_units_go_to_the_largest_share_one_by_one(allocate):
    logits = np.random.default_rng(0).uniform(-3, 3, (500, 5)).astype(np.float32)
    expected = [unit_by_unit(row, 6) for row in logits]
    np.testing.assert_array_equal(allocate(logits), expected)


def test_equal_shares_go_to_the_first_locations_and_a_share_of_all_takes_all(allocate):
    logits = np.zeros((500, 5), np.float32)
    logits[1, :2] = 3
    logits[2] = [-3, -3, 3, -3, -3]
    assert allocate(logits)[:3].tolist() == [[2, 1, 1, 1, 1], [3, 3, 0, 0, 0], [0, 0, 6, 0, 0]]


def test_every_allocation_has_its_action(allocate):
    wanted = np.random.default_rng(1).multinomial(6, np.full(5, 0.2), 500)
    actions = attention.logits_of(jnp.asarray(wanted), None)
    assert (np.abs(np.asarray(actions)) <= attention.MAX_LOGIT).all()
    np.testing.assert_array_equal(allocate(actions), wanted)


def test_rates_seen_incidents_and_rewards():
    env = bisimulator.make(
        "attention", rates=(5.0, 2.0, 0.05), units=4, rate_up=0.5, rate_down=0.1, horizon=3
    )
    state, action = jax.jit(env.reset)(jax.random.key(0)), attention.logits_of(jnp.array([3, 1, 0]), None)
    assert not np.asarray(env.observe(state)).any()
    after, step = env.step(jax.random.key(1), state, action)
    np.testing.assert_allclose(after.rates, [4.7, 1.9, 0.55], rtol=1e-6)
    seen, occurred = np.asarray(step.tallies["supply"]), np.asarray(step.tallies["demand"])
    np.testing.assert_array_equal(seen, np.minimum([3, 1, 0], occurred))
    np.testing.assert_allclose(step.tallies["reward"], seen - 0.25 * (occurred - seen))
    np.testing.assert_array_equal(step.tallies["missed"], occurred - seen)
    last = np.asarray(step.obs).reshape(8, 4, 3)
    assert not last[:-1].any()
    np.testing.assert_allclose(
        last[-1], [seen / 4, occurred / (occurred + 4), [0.75, 0.25, 0], seen / (occurred + 1)]
    )
    for _ in range(60):  # a rate never falls below 0
        after, _ = env.step(jax.random.key(2), after, action)
    assert float(after.rates[1]) == 0


def test_units_miss_incidents_with_the_probability_of_those_that_are_left():
    """Two units and one incident: found with 1 - miss**2."""
    params = bisimulator.make("attention", miss=0.5).params
    keys = jax.random.split(jax.random.key(0), 4000)
    look = jax.jit(jax.vmap(lambda key: attention.discover(key, jnp.array([2, 1, 0, 3, 2]),
                                                           jnp.array([1, 1, 4, 0, 9]), params)))  # fmt: skip
    found = np.asarray(look(keys))
    assert abs(found[:, 0].mean() - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 4000)
    assert abs(found[:, 1].mean() - 0.5) < 4 * np.sqrt(0.25 / 4000)
    assert not found[:, 2:4].any()
    assert found[:, 4].max() == 2


# Reward per step and bias, simulated by others and rounded; of how many episodes is not known, 20 are assumed.
RULES = {
    ("attention", "uniform"): (0.21, 0.35),
    ("attention", "proportional"): (0.35, 0.10),
    ("attention-harder", "uniform"): (-4.31, 0.335),
    ("attention-harder", "proportional"): (-2.62, 0.137),
}


@pytest.mark.parametrize(("scenario", "rule"), some(RULES, [("attention", "proportional")]))
def test_rules_have_the_known_reward_and_bias(scenario, rule):
    env, (reward, bias) = bisimulator.make(scenario), RULES[scenario, rule]
    columns = bisimulator.evaluate(env, rule_policy(rule, env), seeds=10, episodes=20).episodes
    rewards, biases = columns["reward_per_step"], columns["benefit_rate_bias"][:, 0]
    assert abs(rewards.mean() - reward) <= 3 * rewards.std() / np.sqrt(20) + 0.005
    assert abs(biases.mean() - bias) <= 3 * biases.std(ddof=1) + 0.005


@pytest.mark.long
def test_seen_and_missed_incidents_without_any_dynamics():
    env = bisimulator.make("attention", rate_up=0, rate_down=0)
    columns = bisimulator.evaluate(env, rule_policy("uniform", env), seeds=5, episodes=10).episodes
    for name, expected in (("incidents_seen", 5285), ("incidents_missed", 17_225)):
        error = columns[name].std() / np.sqrt(50)
        assert abs(columns[name].mean() - expected) < 3 * np.hypot(error, columns[name].std() / np.sqrt(10))


def test_functions_of_observations_return_one_row_of_numbers_each():
    env = bisimulator.make("attention", horizon=5)
    even = bisimulator.evaluate(env, lambda obs: 0 * obs[:, :5], seeds=2, episodes=1)
    assert np.isfinite(even.episodes["reward_per_step"]).all()
    with pytest.raises(ValueError, match=r"it must return \(B, 5\), got \(2,\) where \(2, 5\) was expected"):
        bisimulator.evaluate(env, lambda obs: obs[:, 0], seeds=1, episodes=1)
    with pytest.raises(ValueError, match="numbers from -3 to 3, the actions of attention"):
        check_action_range(env, -3, 4)
    with pytest.raises(ValueError, match="an action of 'attention' is an array"):
        _ = env.num_actions


WRONG = [
    ({"rates": (1, -2)}, ["rates must be one or more numbers from 0 on"]),
    ({"rates": (1, 2), "groups": 3}, ["rates must have shape (3,)", "(2,)"]),
    ({"units": 0}, ["units must be at least 1"]),
    ({"rate_up": (0.1, 0.2)}, ["rate_up must have shape (5,)"]),
    ({"rate_down": -1}, ["rate_down must not be negative"]),
    ({"miss": 2}, ["miss must lie in [0, 1]"]),
    ({"group_names": ("a",)}, ["group_names must be 5 names"]),
]


@pytest.mark.parametrize(("keywords", "parts"), WRONG)
def test_wrong_parameters_raise_an_error_that_names_the_rule(keywords, parts):
    with refused(parts):
        bisimulator.make("attention", **keywords)


def test_other_numbers_of_locations():
    env = bisimulator.make("attention-harder", groups=3)
    np.testing.assert_allclose(env.params.rates, [30, 22.5, 12.5])
    np.testing.assert_allclose(env.params.rate_up, [0.08, 0.4, 2.0])
    assert env.horizon == 1024
