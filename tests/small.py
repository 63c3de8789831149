"""Trainings that take about a second, and what must hold after each of them.

Most of a small training is compiling it, so tests that need any finished job use `JOB`, which is compiled once.
"""

import dataclasses
import inspect
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import bisimulator
from bisimulator import registry
from bisimulator.core import Discrete
from bisimulator.solvers import trainer
from tests.probes import all_seeds

POPULATION, HORIZON, SEEDS = 6, 10, (0, 1)
# values that make a training small, for the fields that a configuration has
TINY = {
    "num_envs": 2,
    "rollout": 4,
    "minibatch": 4,
    "epochs": 1,
    "capacity": 16,
    "hidden": (4,),
    "psi_hidden": (4,),
    "psi_first_steps": 1,
    "psi_steps": 1,
    "psi_minibatch": 8,
    "dynamics_at": (0.5,),
}

SETTINGS = {"population": 12, "horizon": 20}
SET = ["--set", *(f"{name}={value}" for name, value in SETTINGS.items())]
FEW = ["--seeds", "2", "--episodes", "2", *SET]
METHOD, METHOD_OPTIONS = "ppo-bisimulator-reward", {"alpha": 2.0, "hidden": (4,), "psi_hidden": (4,)}
SOLVER_OPTIONS = {
    "num_envs": 2,
    "rollout": 4,
    "minibatch": 8,
    "epochs": 1,
    "hidden": (4,),
    "learning_rate": 1e-2,
}
JOB = {"seeds": 2, "steps": 80, "episodes": 2, "curve_every": 24, "curve_episodes": 2}


def make_small(name, population=POPULATION, horizon=HORIZON, **settings):
    """An environment with few people, if their number can be chosen."""
    return bisimulator.make(name, horizon=horizon, **few_people(name, population), **settings)


def few_people(name, population=POPULATION):
    """The setting of an environment's number of people, if it can be chosen."""
    known = inspect.signature(registry.lookup("environment", name).make_params).parameters
    return {"population": population} if "population" in known else {}


def some_actions(env, *leading):
    """Actions of an environment: reject, treat nobody, or allocate evenly."""
    discrete = isinstance(env.action_space, Discrete)
    return jnp.zeros((*leading, *env.action_space.shape), jnp.int32 if discrete else jnp.float32)


def on_command_line(options, prefix=""):
    """Options as arguments of `bisimulator train`."""
    values = {name: value if isinstance(value, tuple) else (value,) for name, value in options.items()}
    return [
        argument
        for name, value in values.items()
        for argument in (f"--{prefix}{name.replace('_', '-')}", *map(str, value))
    ]


def tiny(config):
    """The configuration with values that make a training small."""
    fields = {f.name for f in dataclasses.fields(config)}
    small = {name: value for name, value in TINY.items() if name in fields}
    if getattr(config, "dynamics_steps", 0):  # 0 stays 0: it means that only the reward correction is learned
        small["dynamics_steps"] = 2
    return dataclasses.replace(config, **small)


def tiny_solver(name, env, updates=4):
    entry = registry.lookup("method", name)
    solver_config = tiny(trainer.SOLVERS[entry.solver][1]())
    return trainer.make_solver(entry, env, updates * solver_config.batch, solver_config, tiny(entry.config))


def train_and_check(name, env):
    """Train a method for four updates and assert everything that holds for every method.

    Returns the solver, the training and the last progress report.
    """
    solver, reports = tiny_solver(name, env), []
    training = trainer.train(env, solver, SEEDS, on_progress=reports.append)
    assert reports[-1].update == solver.updates == 4
    assert len(reports[-1].recall) == env.num_groups
    theta, method = all_seeds(training)
    for leaf in jax.tree.leaves((theta, method)):
        assert leaf.shape[0] == len(SEEDS)
        assert np.isfinite(leaf).all()
    start, _ = all_seeds(trainer.init(env, solver, SEEDS))
    changed = jax.tree.map(lambda a, b: bool((a != b).any()), solver.policy(theta), solver.policy(start))
    assert all(jax.tree.leaves(changed))
    network = solver.policy(jax.tree.map(lambda x: x[0], theta))
    outputs = env.action_space.shape or (env.num_actions,)
    some_people = jax.ShapeDtypeStruct((3, env.observation_size), jnp.float32)
    assert jax.eval_shape(lambda obs: network(obs), some_people).shape == (3, *outputs)

    @partial(jax.vmap, axis_size=len(SEEDS))
    def adapted_omega(method):
        return solver.method.observe_params(method, env.params).omega

    omega = np.asarray(jax.jit(adapted_omega)(method))
    assert omega.shape == (len(SEEDS), *env.params.omega.shape)
    low, high = env.omega_bounds
    assert ((low <= omega) & (omega <= high)).all()
    for value in trainer.describe(solver, training).values():
        assert value.shape[0] == len(SEEDS)
    return solver, training, reports[-1]
