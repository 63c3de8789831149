"""What holds for every registered method, whoever writes it."""

import jax
import jax.numpy as jnp
import pytest

import bisimulator
from bisimulator import registry
from bisimulator.policies import Rule

RULES = [name for name in registry.METHODS if isinstance(registry.lookup("method", name), Rule)]


@pytest.mark.parametrize("scenario", registry.ENVIRONMENTS)
@pytest.mark.parametrize("name", RULES)
def test_a_rule_decides_in_every_environment(name, scenario):
    env = bisimulator.make(scenario, population=6, horizon=5)
    act = registry.lookup("method", name).policy(env).bind(env)
    obs = env.observe(env.reset(jax.random.key(0)))
    for batch in (obs, jnp.stack([obs] * 3), jnp.zeros((2, 3, env.observation_size))):
        actions = act(jax.random.key(1), batch)
        assert actions.shape == batch.shape[:-1]
        assert actions.dtype == jnp.int32
        assert set(actions.ravel().tolist()) <= set(range(env.num_actions))
