"""DQN learns the known action values of the probes and shapes rewards with what the method knows by now."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator.methods.hooks import Method, Plain
from bisimulator.solvers import trainer
from bisimulator.solvers.dqn import DQN, DQNConfig, Theta
from tests import probes

GAMMA = 0.9
CONFIG = DQNConfig(
    num_envs=4,
    rollout=4,
    minibatch=32,
    epochs=4,
    learning_rate=5e-3,
    gamma=GAMMA,
    target_every=5,
    capacity=512,
    epsilon_end=0.2,  # so that every action keeps being tried
    hidden=(16,),
    input_scale=1.0,
)
UPDATES, SEEDS = 400, (0, 1)


def q_values(training, signals):
    """(S, signals, actions)"""
    obs = jnp.stack([jnp.array([s, 1.0]) for s in signals])
    theta, _ = probes.all_seeds(training)
    return np.asarray(jax.vmap(lambda q: q(obs))(theta.q))


def known_q(which):
    """signal -> the value of rejecting and of accepting there, going on as well as possible."""
    return {
        probes.CONSTANT: {0.0: (1, 1)},
        probes.OBSERVATION: {-1.0: (-1, -1), 1.0: (1, 1)},
        probes.ACTION: {0.0: (-1, 1)},
        probes.MATCHING: {-1.0: (1, -1), 1.0: (-1, 1)},
        probes.TWO_STEP: {0.0: (-GAMMA, GAMMA), -1.0: (-1, -1), 1.0: (1, 1)},
        probes.TERMINATED: {0.0: (1, 1)},
        probes.TRUNCATED: {0.0: (1 / (1 - GAMMA), 1 / (1 - GAMMA))},
        probes.TURNS: {-1.0: (-1, -1), 0.0: (0, 0), 1.0: (1, 1)},
    }[which]


@pytest.mark.parametrize("which", range(8))
def test_action_values_of_the_probes(which):
    """All rewards are certain, so every action's value is learned: within 5% of the largest."""
    training = trainer.train(probes.probe(which), DQN(CONFIG, Plain(), UPDATES), SEEDS)
    known = known_q(which)
    wanted = np.array([*known.values()], float)
    got = q_values(training, known)
    np.testing.assert_allclose(got, np.tile(wanted, (2, 1, 1)), atol=0.05 * np.abs(wanted).max())


def test_bootstrapping_through_the_same_person_values_what_a_decision_does_to_the_person():
    config = dataclasses.replace(CONFIG, bootstrap="same-person", visit_gamma=0.5)
    training = trainer.train(probes.probe(probes.TURNS), DQN(config, Plain(), UPDATES), SEEDS)
    known = probes.values_of_turns(0.5)
    wanted = np.array([*known.values()])
    np.testing.assert_allclose(q_values(training, known), np.tile(wanted, (2, 1, 1)), atol=0.1)


@dataclasses.dataclass(frozen=True)
class Moving(Method):
    """Adds to the reward how often `learn` was called, in hundreds: stored rewards would lag behind."""

    def init(self, key, env, num_envs):
        return jnp.float32(0)

    def learn(self, key, state, batch):
        return state + 0.01, ()

    def reward(self, state, batch, extras):
        return batch.reward + state


def test_a_drawn_batch_is_rewarded_by_what_the_method_knows_now():
    """At the end the method adds 4 to everything; the buffer's oldest transitions were collected 32 updates ago.

    With corrections stored at collection the values would lie at least .16 lower on average.
    """
    config = dataclasses.replace(CONFIG, anneal=False)
    training = trainer.train(probes.probe(probes.ACTION), DQN(config, Moving(), UPDATES), SEEDS)
    np.testing.assert_allclose(probes.all_seeds(training)[1], 4.0, rtol=1e-4)
    np.testing.assert_allclose(q_values(training, [0.0])[:, 0], [[3, 5]] * 2, atol=0.1)
    for part in training:
        drawn = part.replay.sample(jax.random.key(0)[None], (100,))
        assert set(np.unique(drawn.reward)) == {-1, 1}  # the original rewards are stored


class Recorder(Method):
    """Notes the shapes that each hook is called with, while tracing."""

    def __init__(self):
        self.seen = {}

    def init(self, key, env, num_envs):
        self.seen["init"] = num_envs
        return jnp.zeros(5)

    def learn(self, key, state, batch):
        self.seen["learn"] = (key.shape, state.shape, batch.obs.shape)
        return state, ()

    def reward(self, state, batch, extras):
        self.seen["reward"] = (state.shape, batch.obs.shape, extras)
        return batch.reward


def test_hooks_are_called_with_the_shapes_they_promise_and_training_keeps_its_own():
    method, env = Recorder(), probes.probe(probes.CONSTANT)
    solver = DQN(CONFIG, method, UPDATES)
    keys = jnp.stack([jax.random.key(s) for s in range(3)])
    training = jax.eval_shape(lambda: solver.init(keys, env))
    after, logs = jax.eval_shape(lambda t: solver.update(t, env.scenario, env.params), training)
    size = env.observation_size
    assert method.seen == {
        "init": CONFIG.num_envs,
        "learn": ((), (5,), (CONFIG.minibatch, 1, size)),
        "reward": ((5,), (CONFIG.epochs, CONFIG.minibatch, size), ()),
    }
    assert training.replay.rows.shape[:2] == (3, CONFIG.capacity)
    assert logs["loss"].shape == (3,)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), training) == jax.tree.map(
        lambda x: (x.shape, x.dtype), after
    )


def test_exploration_falls_in_a_line_and_stays():
    solver = DQN(dataclasses.replace(CONFIG, epsilon_end=0.05, epsilon_fraction=0.5), Plain(), updates=100)
    got = [float(solver.epsilon(jnp.int32(u))) for u in (0, 25, 50, 75, 100)]
    np.testing.assert_allclose(got, [1.0, 0.525, 0.05, 0.05, 0.05], atol=1e-6)


def test_exploring_takes_any_action_with_probability_epsilon():
    q = probes_q()
    obs = jnp.tile(jnp.array([[0.0, 1.0]]), (20_000, 1))
    for epsilon in (0.0, 0.4, 1.0):
        act = DQN(CONFIG, Plain(), UPDATES).act(jnp.float32(epsilon))
        theta = jax.tree.map(lambda x: x[None], Theta(q, q))
        actions = act(theta, jax.random.key(0)[None], obs[None])
        # five standard deviations of a mean of 20,000 draws
        assert float(actions.mean()) == pytest.approx(1 - epsilon / 2, abs=5 * 0.5 / 20_000**0.5)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_a_temperature_softens_the_policy_and_how_it_behaves(temperature):
    q = probes_q()  # action 1 is worth 1 more
    solver = DQN(dataclasses.replace(CONFIG, temperature=temperature), Plain(), UPDATES)
    theta, obs = Theta(q, q), jnp.tile(jnp.array([[0.0, 1.0]]), (20_000, 1))
    expected = 1 / (1 + np.exp(-1 / temperature))
    np.testing.assert_allclose(jax.nn.softmax(solver.policy(theta)(obs[:1]))[0, 1], expected, rtol=1e-6)
    actions = solver.behave(theta)(jax.random.key(1), obs)
    # five standard deviations of a mean of 20,000 draws
    assert float(actions.mean()) == pytest.approx(expected, abs=5 * 0.5 / 20_000**0.5)


def probes_q():
    """A network that prefers action 1 everywhere."""
    from bisimulator.policies.networks import MLP

    return MLP([jnp.zeros((2, 2))], [jnp.array([0.0, 1.0])])


def test_the_target_network_follows_every_few_updates():
    env = probes.probe(probes.OBSERVATION)
    solver = DQN(CONFIG, Plain(), UPDATES)
    training = trainer.init(env, solver, SEEDS)[0]
    kept = np.asarray(training.theta.target.weights[0])
    for update in range(1, 12):
        training, _, _ = trainer._advance(solver, env.scenario, env.params, training, 1)
        target = np.asarray(training.theta.target.weights[0])
        if update % CONFIG.target_every == 0:
            np.testing.assert_array_equal(target, training.theta.q.weights[0])
            assert (target != kept).any()
            kept = target.copy()
        else:
            np.testing.assert_array_equal(target, kept)
