"""What holds for every registered method."""

from functools import partial
from itertools import cycle, islice

import jax
import jax.numpy as jnp
import pytest

import bisimulator
from bisimulator import registry
from bisimulator.methods.hooks import LearnedMethod
from bisimulator.policies import Rule
from bisimulator.solvers import trainer
from tests.small import HORIZON, POPULATION, SEEDS, tiny_solver, train_and_check

RULES = [name for name in registry.names("method") if isinstance(registry.lookup("method", name), Rule)]
LEARNED = [
    name for name in registry.names("method") if isinstance(registry.lookup("method", name), LearnedMethod)
]


def pairs(methods, first):
    """Every method in every environment; all but the pairs in `first` are long tests, because compiling takes time."""
    every = [(name, scenario) for name in methods for scenario in registry.names("environment")]
    return [pair if pair in first else pytest.param(*pair, marks=pytest.mark.long) for pair in every]


def each_once(methods):
    """Every method and every environment in at least one pair."""
    length = max(len(methods), len(registry.names("environment")))
    return set(islice(zip(cycle(methods), cycle(registry.names("environment")), strict=False), length))


@pytest.mark.parametrize(("name", "scenario"), pairs(RULES, each_once(RULES)))
def test_a_rule_decides_in_every_environment(name, scenario):
    env = bisimulator.make(scenario, population=6, horizon=5)
    rule = registry.lookup("method", name)
    act = rule.build(rule.config, env).bind(env)
    obs = env.observe(env.reset(jax.random.key(0)))
    for batch in (obs, jnp.stack([obs] * 3), jnp.zeros((2, 3, env.observation_size))):
        actions = act(jax.random.key(1), batch)
        assert actions.shape == batch.shape[:-1]
        assert actions.dtype == jnp.int32
        assert set(actions.ravel().tolist()) <= set(range(env.num_actions))


def test_every_method_is_a_rule_or_a_learned_method():
    assert {*RULES, *LEARNED} == set(registry.names("method"))


# tests/golden has the short ones, with their numbers
@pytest.mark.long
@pytest.mark.parametrize("scenario", registry.names("environment"))
@pytest.mark.parametrize("name", LEARNED)
def test_a_learned_method_trains_in_every_environment(name, scenario):
    train_and_check(name, bisimulator.make(scenario, population=POPULATION, horizon=HORIZON))


MANY_GROUPS = ("lending", {"groups": 40})


@pytest.mark.parametrize(
    ("scenario", "settings"), [*((name, {}) for name in registry.names("environment")), MANY_GROUPS]
)
@pytest.mark.parametrize("name", LEARNED)
def test_an_update_preserves_all_shapes_in_every_environment(name, scenario, settings):
    """The update is only traced, which is enough to find a method that does not fit an environment."""
    env = bisimulator.make(scenario, population=POPULATION, horizon=HORIZON, **settings)
    solver = tiny_solver(name, env)
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), len(SEEDS)))
    before = jax.eval_shape(lambda keys: solver.init(keys, env), keys)
    after, logs = jax.eval_shape(lambda t: solver.update(t, env.scenario, env.params), before)
    assert shapes(before) == shapes(after)
    assert logs["qualified"].shape == (len(SEEDS), env.num_groups)
    if solver.method.adapt_at(solver.updates):
        adapt = partial(trainer._adapt, solver, env.scenario, env.params, horizon=HORIZON)
        assert shapes(jax.eval_shape(adapt, before)) == shapes(before)


def shapes(tree):
    return jax.tree.map(lambda x: (x.shape, x.dtype), tree)


@pytest.mark.parametrize("name", LEARNED)
def test_a_learned_method_has_a_summary_and_a_solver_and_is_hashable(name):
    entry, env = registry.lookup("method", name), bisimulator.make("lending", population=6, horizon=5)
    assert entry.summary
    assert entry.solver in trainer.SOLVERS
    first, again = tiny_solver(name, env), tiny_solver(name, env)
    # equal solvers share their compiled program
    assert first == again
    assert hash(first) == hash(again)
