"""The contract between solvers and methods: a solver refuses a method whose hooks it would ignore."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import registry
from bisimulator.methods.elbert import ELBERT
from bisimulator.methods.hooks import HOOKS, LearnedMethod, Method, Plain
from bisimulator.policies import MLP
from bisimulator.solvers import trainer
from bisimulator.solvers.dqn import DQN
from bisimulator.solvers.solver import check_hooks, move_average
from bisimulator.solvers.trainer import SOLVERS
from tests.small import tiny

ENV = bisimulator.make("lending", population=6, horizon=5)
LEARNED = [
    name for name in registry.names("method") if isinstance(registry.lookup("method", name), LearnedMethod)
]


def test_a_solver_refuses_a_method_whose_hooks_it_would_ignore():
    method = ELBERT.build(ELBERT.config, ENV)
    with pytest.raises(
        ValueError, match=r"DQN does not call advantage, num_streams, streams, which Elbert needs"
    ):
        check_hooks(DQN, method)


@pytest.mark.parametrize("name", LEARNED)
def test_every_registered_method_is_accepted_by_its_own_solver(name):
    entry = registry.lookup("method", name)
    solver, _ = SOLVERS[entry.solver]
    check_hooks(solver, entry.build(entry.config, ENV))


@pytest.mark.parametrize("solver", [solver for solver, _ in SOLVERS.values()])
def test_every_solver_calls_known_hooks_and_accepts_the_plain_method(solver):
    assert solver.hooks <= HOOKS
    assert Plain().used_hooks() == Method().used_hooks() == frozenset()
    check_hooks(solver, Plain())


def test_a_running_average_over_all_updates_is_their_mean_and_over_less_the_newest_count_more():
    drawn = jax.random.normal(jax.random.key(0), (20, 3, 2))
    networks = [MLP([weights], [weights[0]]) for weights in drawn]
    everything = latest = networks[0]
    for update, network in enumerate(networks):
        everything = move_average(everything, network, jnp.int32(update), 1.0)
        latest = move_average(latest, network, jnp.int32(update), 0.05)  # of 20 updates: one
    np.testing.assert_allclose(everything.weights[0], drawn.mean(0), atol=1e-6)
    np.testing.assert_allclose(everything.biases[0], drawn[:, 0].mean(0), atol=1e-6)
    np.testing.assert_allclose(latest.weights[0], drawn[-1], atol=1e-6)


@pytest.mark.parametrize("name", ["ppo", pytest.param("dqn", marks=pytest.mark.long)])
def test_the_averaged_policy_lies_between_those_of_training_which_it_does_not_change(name):
    entry = registry.lookup("method", name)
    _, default = SOLVERS[entry.solver]
    trained = {}
    for average in (0.0, 1.0):
        config = tiny(default(average=average))
        solver = trainer.make_solver(entry, ENV, 3 * config.batch, config)
        shards = trainer.train(ENV, solver, (0,))
        trained[average] = solver, jax.tree.map(lambda x: x[0], shards[0].theta)
    (plain, last), (averaged, theta) = trained[0.0], trained[1.0]
    now = theta.actor if name == "ppo" else theta.q
    for a, b in zip(jax.tree.leaves(now), jax.tree.leaves(plain.policy(last)), strict=True):
        np.testing.assert_array_equal(a, b)
    weights = averaged.policy(theta).weights[0]
    assert not np.array_equal(weights, now.weights[0])
    start = trainer.init(ENV, averaged, (0,))[0].theta.average.weights[0][0]
    assert abs(weights - start).max() < abs(now.weights[0] - start).max()
