"""Exact values of trained policies: against many simulated episodes, and where there are none."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import policies
from bisimulator.evaluation import _exact_evaluation, exact_evaluation
from bisimulator.evaluation.goal_outcome import outcome_moments
from bisimulator.exact.chain import expect
from bisimulator.policies import Network
from bisimulator.policies.networks import make_mlp

SIZE = {"population": 20, "horizon": 100}


def network(obs):
    """A stand-in for a trained network: what it does depends on score, group and past loans."""
    group = obs[..., 1:-2].argmax(-1) % 2
    accept = 6 * obs[..., 0] - 2 + group + obs[..., -2] - 2 * obs[..., -1]
    return jnp.stack([jnp.zeros_like(accept), accept], -1)


@pytest.mark.parametrize(
    ("name", "greedy"),
    [
        pytest.param("lending-conscientiousness", True, marks=pytest.mark.long),
        ("lending-us-2003", False),
        *(
            pytest.param(n, g, marks=pytest.mark.long)
            for n in ("lending", "lending-10-groups")
            for g in (True, False)
        ),
    ],
)
def test_networks_do_what_many_episodes_show(name, greedy):
    env = bisimulator.make(name, **SIZE)
    policy = Network(network, greedy)
    exact = exact_evaluation(env, policy)
    episodes = bisimulator.evaluate(env, policy, seeds=1000, episodes=1).outcome
    moments = outcome_moments(episodes)
    # what is rare may be missing in all episodes; its count is then about that of a Poisson distribution
    spread = np.maximum(moments.std(0, ddof=1), np.sqrt(abs(exact.moments)))
    assert (abs(moments.mean(0) - exact.moments) <= 4 * spread / np.sqrt(len(moments)) + 1e-4).all()
    seen = env.scenario.person_model.observations(env.params, 3, range(env.num_groups))
    by_loans = policy.accept_probability(env, seen)
    assert np.ptp(np.asarray(by_loans), axis=(2, 3)).max() > 0.05


@pytest.mark.parametrize(
    ("policy", "table"),
    [
        (policies.accept_all(), np.ones((2, 7))),
        (policies.random(0.25), np.full((2, 7), 0.25)),
        (policies.thresholds((2, 4)), [[0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1]]),
        (np.full((2, 7), 0.5), np.full((2, 7), 0.5)),
        (lambda obs: obs[:, 0] >= 0.5, [[0, 0, 0, 1, 1, 1, 1]] * 2),
    ],
)
def test_policies_that_ignore_past_loans_are_those_of_their_table(policy, table):
    env = bisimulator.make("lending")
    np.testing.assert_allclose(exact_evaluation(env, policy).moments, expect(env, table).moments, rtol=1e-12)


class IgnoresGroups(policies.Policy):
    """Sampled by score alone."""

    weight: float = eqx.field(static=True, default=2.0)

    def accept_probability(self, env, obs):
        return jax.nn.sigmoid(self.weight * (2 * obs[..., 0] - 1))

    def bind(self, env):
        return lambda key, obs: jax.random.bernoulli(key, self.accept_probability(env, obs)).astype(jnp.int32)


def test_a_policy_that_ignores_groups():
    env = bisimulator.make("lending", **SIZE)
    table = np.tile(1 / (1 + np.exp(-2 * (2 * np.arange(7) / 6 - 1))), (2, 1))
    exact = exact_evaluation(env, IgnoresGroups())
    np.testing.assert_allclose(exact.moments, expect(env, table).moments, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "policy"),
    [
        (lambda env: bisimulator.make("college"), policies.accept_all()),
        (lambda env: env.with_omega(jnp.array([[1.0, 1.0], [2.0, 0.5]])), policies.accept_all()),
        (lambda env: env, lambda key, obs: obs[:, 0] > 0.4),
        (lambda env: env, np.ones((100, 2, 7))),
        (lambda env: bisimulator.make("lending", clock=True, **SIZE), lambda obs: obs[:, 0] > 0.4),
        (lambda env: bisimulator.make("lending", clock=True, **SIZE), Network(network)),
        (lambda env: env, bisimulator.policies.rules.rule_policy),
    ],
)
def test_where_there_is_no_exact_answer(make, policy):
    env = bisimulator.make("lending", **SIZE)
    if policy is bisimulator.policies.rules.rule_policy:
        policy = policy("max-util", env)
    assert exact_evaluation(make(env), policy) is None


def test_a_clock_that_the_policy_does_not_look_at_changes_nothing():
    table = np.random.default_rng(1).random((2, 7))
    exact, timed = (
        exact_evaluation(bisimulator.make("lending", clock=c, **SIZE), table) for c in (False, True)
    )
    assert exact.average_return == timed.average_return


def test_the_certificate_of_a_policy_with_a_clock_is_an_estimate_that_says_why():
    env = bisimulator.make("lending", clock=True, **SIZE)
    estimate = bisimulator.certify(env, Network(network), seeds=2, episodes=1)
    assert not estimate.exact
    assert "sees a clock" in estimate.reason


@pytest.mark.parametrize("options", [{"groups": 40}, {"groups": 5, "group_blind": True}])
@pytest.mark.parametrize("greedy", [True, False])
def test_networks_that_take_groups_by_codes_are_asked_without_observations_of_all_groups(options, greedy):
    groups = options["groups"]
    env = bisimulator.make("lending", groups=groups, population=4, horizon=8)
    mlp = make_mlp(jax.random.key(0), env.observation_size, (16,), 2, 3.0, **options)
    seen = env.scenario.person_model.observations(env.params, 3, range(groups))
    found = _exact_evaluation.acceptance(env, Network(mlp, greedy), 3)
    asked = _exact_evaluation.acceptance(env, Network(lambda obs: mlp(obs), greedy), 3)
    np.testing.assert_allclose(found, asked, atol=1e-6)
    expected = Network(mlp, greedy).accept_probability(env, seen)[:, :, 1, 1]
    np.testing.assert_allclose(found[:, :, 1, 1], expected, atol=1e-6)
    assert (np.ptp(found, axis=0).max() > 0.1) == ("group_blind" not in options)


def test_many_groups_are_looked_at_a_few_at_a_time(monkeypatch):
    env = bisimulator.make("lending", groups=5, population=4, horizon=8)
    whole = _exact_evaluation.acceptance(env, Network(network), 3)
    monkeypatch.setattr(_exact_evaluation, "_NUMBERS_AT_ONCE", 9 * 7 * env.observation_size * 2)
    asked, model = [], env.scenario.person_model

    def observations(params, size, groups):
        asked.append(list(groups))
        return model.observations(params, size, groups)

    scenario = dataclasses.replace(
        env.scenario, person_model=dataclasses.replace(model, observations=observations)
    )
    few = _exact_evaluation.acceptance(dataclasses.replace(env, scenario=scenario), Network(network), 3)
    assert asked[1:] == [[0, 1], [2, 3], [4]]  # after a look at how an observation goes on behind the group
    np.testing.assert_allclose(few, whole, rtol=1e-6)
