"""Which policies get a proof, which an estimate, and that both tell the truth."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import policies
from bisimulator.certifying import _estimate, certify
from bisimulator.exact.certificate import certify_table


@pytest.fixture(scope="module")
def env():
    return bisimulator.make("lending", population=50, horizon=500)


@pytest.mark.parametrize(
    ("policy", "table"),
    [
        (policies.accept_all(), np.ones((2, 7))),
        (policies.reject_all(), np.zeros((2, 7))),
        (policies.random(0.25), np.full((2, 7), 0.25)),
        (policies.thresholds((2, 4)), [[0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1]]),
        (np.full((2, 7), 0.5), np.full((2, 7), 0.5)),
        (lambda obs: obs[:, 0] >= 0.5, [[0, 0, 0, 1, 1, 1, 1]] * 2),
    ],
)
def test_policies_on_scores_get_the_certificate_of_their_table(env, policy, table):
    found, wanted = certify(env, policy), certify_table(env, table)
    assert found.exact
    for key, view in wanted.views.items():
        np.testing.assert_allclose(found.views[key].values, view.values, atol=1e-12)
        assert found.views[key].bound == pytest.approx(view.bound, abs=1e-9)


class ForgivesOnce(eqx.Module):
    """Accepts with a probability that falls with the share of defaults: a stand-in for a trained network."""

    def accept_probability(self, env, obs):
        return 1 - 0.8 * obs[..., -1]

    def bind(self, env):
        def act(key, obs):
            chance = self.accept_probability(env, obs)
            return jax.random.bernoulli(key, chance).astype(jnp.int32)

        return act


def test_policies_on_history_get_exact_values(env):
    found = certify(env, ForgivesOnce())
    assert found.exact
    simulated = bisimulator.evaluate(env, ForgivesOnce(), seeds=30, episodes=10).summary
    for g, value in enumerate(found.values):
        mean, half = simulated[f"return_g{g + 1}"]
        assert abs(mean - value) < 2 * half
    assert np.isnan(found.bound)


@pytest.mark.parametrize(
    ("make", "policy", "reason"),
    [
        (
            lambda env: bisimulator.make("college", population=40, horizon=40),
            policies.accept_all(),
            "Only lending",
        ),
        (lambda env: env.with_omega(jnp.array([[1.0, 1.0], [2.0, 0.5]])), policies.accept_all(), "omega"),
        (lambda env: env, lambda key, obs: obs[:, 0] > 0.4, "accept_probability"),
        (
            lambda env: bisimulator.make("lending", population=4, horizon=1000),
            lambda obs: obs[:, 0] > 0.4,
            "times",
        ),
    ],
)
def test_the_rest_is_an_estimate_and_says_so(env, make, policy, reason):
    world = make(env)
    found = certify(world, policy, seeds=5, episodes=2)
    assert not found.exact
    assert reason in found.reason
    assert "not a proof" in str(found)
    low, high = found.interval
    assert 0 <= low <= found.gap <= high


def test_the_interval_covers_the_truth(env):
    """Accepting everybody, estimated although it could be proven: 95% intervals, so most of 20 cover."""
    truth = certify_table(env, np.ones((2, 7))).view("reward", "episode").gap
    covered = 0
    for start in range(20):
        found = _estimate(env, policies.accept_all(), "", episodes=2, seeds=range(start * 5, start * 5 + 5))
        covered += found.interval[0] <= truth <= found.interval[1]
    assert covered >= 17  # 95% of 20 is 19; 16 or fewer have probability .003


def test_one_group_has_no_gap():
    env = bisimulator.make("lending", groups=1, population=20, horizon=40)
    found = certify(env, lambda key, obs: obs[:, 0] > 0.4, seeds=2, episodes=1)
    assert found.gap == 0


def test_too_few_seeds(env):
    alone = bisimulator.make("lending", population=1, horizon=10)
    with pytest.raises(ValueError, match="use more seeds, or a larger population"):
        certify(alone, lambda key, obs: obs[:, 0] > 0.4, seeds=3)
    with pytest.raises(ValueError, match="seeds must be at least 2"):
        certify(env, lambda key, obs: obs[:, 0] > 0.4, seeds=1)
