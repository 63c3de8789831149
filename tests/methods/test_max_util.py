"""Max-util compared with exact values and a brute-force search over thresholds."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bisimulator
from bisimulator import registry
from bisimulator.exact.chain import expect
from bisimulator.methods.max_util import Config, best_threshold, build
from bisimulator.policies.adaptive import Counts

SHARES = hnp.arrays(np.float32, (2, 5), elements=st.floats(0.015625, 1, width=32))


@given(SHARES, SHARES, st.floats(0.5, 2), st.floats(-4, -0.25))
def test_no_other_threshold_earns_more(people, chance, gain, loss):
    policy = np.asarray(
        best_threshold(Counts(jnp.asarray(people), jnp.asarray(chance)), jnp.float32(gain), jnp.float32(loss))
    )
    assert (policy[0] == policy[1]).all()  # the same for all groups
    assert (np.diff(policy[0]) >= 0).all()  # a threshold
    profit = (people * (chance * gain + (1 - chance) * loss)).sum(0)
    best = max(profit[t:].sum() for t in range(6))
    assert (policy[0] * profit).sum() >= best - 1e-4 * np.abs(profit).sum()


def test_in_lending_the_threshold_is_3():
    env = bisimulator.make("lending")
    counts = Counts(env.params.initial, env.params.qualified_probs)
    policy = best_threshold(counts, *env.params.accept_rewards)
    assert policy.tolist() == [[0, 0, 0, 1, 1, 1, 1]] * 2


def test_simulated_returns_agree_with_the_exact_return_of_the_threshold():
    env = bisimulator.make("lending", population=100, horizon=1000)
    exact = expect(env, np.tile([0, 0, 0, 1, 1, 1, 1.0], (2, 1)))
    result = bisimulator.evaluate(env, build(Config(), env), seeds=20, episodes=5)
    mean, half = result.summary["average_return"]
    assert abs(mean - exact.average_return) < 2 * half


@pytest.mark.parametrize("wrong", [{"knows": "everything"}, {"every": -1}, {"knows": "seen", "every": 0}])
def test_wrong_options_raise_an_error(wrong):
    with pytest.raises(ValueError, match="must be"):
        Config(**wrong)


@pytest.mark.long
def test_a_rule_fitted_to_seen_applicants_comes_close_to_the_oracle():
    env = bisimulator.make("lending", population=200, horizon=4000)
    oracle, learner = (
        bisimulator.evaluate(env, build(Config(knows=knows), env), seeds=4, episodes=2).summary
        for knows in ("population", "seen")
    )
    assert learner["average_return"][0] > 0.9 * oracle["average_return"][0]


def test_the_published_name_is_registered():
    assert registry.lookup("method", "max-util").published == "Max-util"
