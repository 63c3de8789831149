"""Values in units of the returns: the scale follows them, the values stay, and large rewards are learned like small."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from bisimulator.methods.hooks import Method
from bisimulator.policies import make_mlp
from bisimulator.solvers import trainer
from bisimulator.solvers._value_scale import ValueScale
from bisimulator.solvers.ppo import PPO, PPOConfig
from tests import probes

GAMMA, TIMES = 0.9, 500.0
CONFIG = PPOConfig(
    num_envs=4,
    rollout=8,
    minibatch=16,
    epochs=4,
    learning_rate=5e-3,
    gamma=GAMMA,
    hidden=(16,),
    input_scale=1.0,
    normalize_values=True,
)


@dataclasses.dataclass(frozen=True)
class LargeRewards(Method):
    def reward(self, state, batch, extras):
        return TIMES * batch.reward


def test_the_first_batch_sets_the_scale_and_values_stay_as_they_are():
    critic = make_mlp(jax.random.key(0), 3, (8,), 2, 1.0)
    obs = jax.random.normal(jax.random.key(1), (5, 3))
    drawn = np.random.default_rng(2).normal([-300.0, 5.0], [20.0, 0.1], (64, 4, 2))
    returns = jnp.asarray(drawn, jnp.float32)
    scale = ValueScale.start(2)
    before = scale.values(critic(obs))
    after, moved = scale.update(critic, returns)
    np.testing.assert_allclose(after.mean, returns.mean((0, 1)), rtol=1e-5)
    np.testing.assert_allclose(after.sd, returns.std((0, 1)), rtol=1e-4)
    np.testing.assert_allclose(after.values(moved(obs)), before, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(after.values(after.outputs(returns)), returns, rtol=1e-4)


def test_later_batches_move_the_scale_and_a_constant_stream_divides_nothing_by_zero():
    critic = make_mlp(jax.random.key(0), 3, (8,), 1, 1.0)
    scale, critic = ValueScale.start(1).update(critic, jnp.zeros((16, 1)))
    assert np.isfinite(np.asarray(critic.weights[-1])).all()
    for _ in range(200):
        scale, critic = scale.update(critic, jnp.tile(jnp.array([[9.0], [11.0]]), (8, 1)))
    np.testing.assert_allclose([scale.mean[0], scale.sd[0]], [10.0, 1.0], rtol=0.02)


def test_large_rewards_are_learned_like_small_ones():
    env = probes.probe(probes.TWO_STEP)
    theta = probes.all_seeds(trainer.train(env, PPO(CONFIG, LargeRewards(), 150), (0,)))[0]
    known = probes.values(probes.TWO_STEP, GAMMA)
    obs = jnp.stack([jnp.array([signal, 1.0]) for signal in known])
    got = jax.vmap(lambda t: t.scale.values(t.critic(obs)))(theta)[0, :, 0]
    wanted = TIMES * np.array([*known.values()])
    np.testing.assert_allclose(got, wanted, atol=0.05 * np.abs(wanted).max())
