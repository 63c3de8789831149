"""What holds for every registered method."""

import dataclasses
import inspect
import re
from functools import partial
from itertools import cycle

import jax
import numpy as np
import pytest

import bisimulator
from bisimulator import registry
from bisimulator.goals import GoalConfig
from bisimulator.jobs.spec import make_spec
from bisimulator.methods.hooks import LearnedMethod
from bisimulator.policies import Rule
from bisimulator.policies.rules import rule_policy
from bisimulator.solvers import trainer
from tests.matrix import matrix
from tests.small import HORIZON, SEEDS, make_small, some_actions, tiny_solver, train_and_check

ENVIRONMENTS = registry.names("environment")
RULES = [name for name in registry.names("method") if isinstance(registry.lookup("method", name), Rule)]
APPLICANTS = [name for name in ENVIRONMENTS if registry.lookup("environment", name).applicants]
LEARNED = [
    name for name in registry.names("method") if isinstance(registry.lookup("method", name), LearnedMethod)
]


def applies(name, scenario):
    return registry.lookup("method", name).applies(registry.lookup("environment", scenario))


def where(name):
    return [scenario for scenario in ENVIRONMENTS if applies(name, scenario)]


ON_ALL_GROUPS = [name for name in LEARNED if "infectious" in where(name)]


def one_each(names):
    """Each method in all environments where it applies; all but one of them are long tests."""
    return [
        pytest.param(name, scenario, marks=() if j == i % len(where(name)) else pytest.mark.long)
        for i, name in enumerate(names)
        for j, scenario in enumerate(where(name))
    ]


CONFIGS = {type(registry.lookup("method", name).config) for name in registry.names("method")}


@pytest.mark.parametrize(
    "config",
    sorted([*CONFIGS, GoalConfig, *(config for _, config in trainer.SOLVERS.values())], key=repr),
    ids=lambda config: f"{config.__module__}.{config.__name__}",
)
def test_every_option_has_a_comment_which_is_its_help_text(config):
    source = inspect.getsource(config)
    for field in dataclasses.fields(config):
        assert re.search(rf"^    {field.name}: .* = .*  # \S", source, re.MULTILINE), field.name


def test_every_environment_has_methods_and_the_others_are_refused():
    for scenario in ENVIRONMENTS:
        usable = [name for name in registry.names("method") if applies(name, scenario)]
        assert usable
        for name in set(registry.names("method")) - set(usable):
            with pytest.raises(
                ValueError, match=f"{name!r} does not apply to {scenario!r}; methods that do: "
            ):
                make_spec(scenario, name)
    with pytest.raises(ValueError, match="'threshold' does not apply to 'attention'"):
        rule_policy("threshold", make_small("attention"))


@pytest.mark.parametrize(("name", "scenario"), one_each(RULES))
def test_a_rule_decides_where_it_applies(name, scenario):
    env = make_small(scenario)
    rule = registry.lookup("method", name)
    act = jax.jit(rule.build(rule.config, env).bind(env))
    obs = np.asarray(jax.jit(lambda key: env.observe(env.reset(key)))(jax.random.key(0)))
    for batch in (obs, np.stack([obs] * 3), np.zeros((2, 3, env.observation_size), np.float32)):
        actions = act(jax.random.key(1), batch)
        assert actions.shape == (*batch.shape[:-1], *env.action_space.shape)
        assert actions.dtype == some_actions(env).dtype
        low, high = env.action_space.bounds
        assert low <= actions.min() <= actions.max() <= high


def test_every_method_is_a_rule_or_a_learned_method():
    assert {*RULES, *LEARNED} == set(registry.names("method"))


# tests/golden has the short ones, with their numbers
@pytest.mark.long
@pytest.mark.parametrize(("name", "scenario"), [(name, place) for name in LEARNED for place in where(name)])
def test_a_learned_method_trains_in_every_environment(name, scenario):
    train_and_check(name, make_small(scenario))


# shifted: tests/golden trains the methods in the environments of the diagonal
@pytest.mark.parametrize(
    ("name", "place"),
    [
        *matrix(LEARNED, [*APPLICANTS, "40 groups"], shift=1),
        *zip(ON_ALL_GROUPS, cycle(("infectious", "infectious-harder")), strict=False),
    ],
)
def test_an_update_preserves_all_shapes_in_every_environment(name, place):
    """The update is only traced, which is enough to find a method that does not fit an environment."""
    scenario, settings = ("lending", {"groups": 40}) if place == "40 groups" else (place, {})
    env = make_small(scenario, **settings)
    solver = tiny_solver(name, env)
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), len(SEEDS)))
    before = jax.eval_shape(lambda keys: solver.init(keys, env), keys)
    after, logs = jax.eval_shape(lambda t: solver.update(t, env.scenario, env.params), before)
    assert shapes(before) == shapes(after)
    assert logs["qualified"].shape == (len(SEEDS), env.num_groups)
    if solver.method.adapt_at(solver.updates):
        adapt = partial(trainer._adaptation, solver, env.scenario, env.params, horizon=HORIZON)
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
