"""Evaluation during and after a training: whole episodes, the same ones each time, apart from those of training."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import bisimulator
from bisimulator.evaluation import run_episodes
from bisimulator.methods.hooks import Plain
from bisimulator.policies import Network
from bisimulator.solvers import evaluator as evaluating
from bisimulator.solvers import trainer
from bisimulator.solvers._shards import shard_seeds as split
from bisimulator.solvers.ppo import PPO, PPOConfig
from tests import probes

SEEDS = (3, 8)
SOLVER = PPO(PPOConfig(num_envs=2, rollout=4, minibatch=8, hidden=(8,)), Plain(), updates=5)


def test_the_evaluation_shares_no_key_with_the_training():
    """fold_in(key, i) equals split(key, n)[i]: a small number would give a key that training uses."""
    seed = 5
    evaluation = jax.random.key_data(evaluating.evaluation_keys((seed,), 4)).reshape(-1, 2).tolist()
    root = jax.random.key(seed)
    parents = jnp.concatenate([root[None], jax.random.split(root, 64)])
    children = jax.vmap(lambda key: jax.random.split(key, 64))(parents)
    training = jax.random.key_data(jnp.concatenate([parents, children.ravel()])).tolist()
    assert len(training) == 65 + 65 * 64
    assert not set(map(tuple, training)) & set(map(tuple, evaluation))


def test_evaluation_is_the_episodes_of_the_policy():
    """CONSTANT-like: a policy that always accepts in TRUNCATED earns 1 a step and has recall 1."""
    env = probes.probe(probes.TRUNCATED, horizon=7)
    training = trainer.init(env, SOLVER, SEEDS)
    always = jnp.array([[-50.0, 50.0]])
    training = tuple(eqx.tree_at(lambda t: t.theta.actor.biases[-1], part, always) for part in training)
    outcome = evaluating.evaluate_training(env, SOLVER, training, SEEDS, episodes=3, greedy=True)
    assert outcome.counts.shape == (2, 3, 1, 7)
    assert (outcome.count("reward") == 7).all()
    assert (outcome.count("approved") == 7).all()


def test_planned_once_and_played_again_it_is_what_an_evaluation_from_scratch_finds():
    """For a policy that samples, too, and again after the policy has changed."""
    env = bisimulator.make("lending", population=20, horizon=100)
    seeds = (5, 6)
    evaluator = evaluating.Evaluator(env, SOLVER, seeds, episodes=2, greedy=False)
    for start in (seeds, (15, 16)):  # two different policies
        training = trainer.init(env, SOLVER, start)
        found = evaluator(training)
        theta = jax.tree.map(lambda *parts: jnp.concatenate(parts), *(part.theta for part in training))
        for i, seed in enumerate(seeds):
            network = Network(jax.tree.map(lambda x, i=i: x[i], theta).actor, greedy=False)
            expected = run_episodes(env, network, evaluating.evaluation_keys((seed,), 2)[0])
            jax.tree.map(lambda a, b, i=i: np.testing.assert_array_equal(a[i], b), found, expected)


def test_parts_depend_on_the_seeds_alone():
    assert split((4,)) == [(4,)]
    assert split((4, 2)) == [(4,), (2,)]
    assert split(tuple(range(10))) == [(seed,) for seed in range(10)]
