"""Fixed policies and policies made of functions."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import policies, registry
from tests.matrix import some

ENV = bisimulator.make("lending", population=10, horizon=20)


def observations(scores, groups):
    """What the bank of ENV sees of people without a past."""
    one_hot = np.eye(2)[np.asarray(groups)]
    return jnp.asarray(
        np.column_stack([np.asarray(scores) / 6, one_hot, np.zeros((len(scores), 2))]), jnp.float32
    )


ALL = observations(list(range(7)) * 2, [0] * 7 + [1] * 7)


def actions(policy, obs=ALL, env=ENV):
    return np.asarray(policies.as_policy(policy).bind(env)(jax.random.key(0), obs))


def test_constants():
    assert (actions(policies.accept_all()) == 1).all()
    assert (actions(policies.reject_all()) == 0).all()


def test_thresholds_are_at_least_and_per_group():
    expected = [c >= level for level in (3, 5) for c in range(7)]
    np.testing.assert_array_equal(actions(policies.thresholds((3, 5))), expected)


def test_thresholds_between_scores_and_beyond_the_scale():
    between = actions(policies.thresholds((2.5, 7)))
    np.testing.assert_array_equal(between, [0, 0, 0, 1, 1, 1, 1] + [0] * 7)


@pytest.mark.parametrize("c_max", [2, 7, 10, 31])
def test_whole_scores_meet_their_own_threshold_on_every_scale(c_max):
    """Observed scores come as float32 fractions of the top score; none may fall below itself."""
    env = bisimulator.make("lending", groups=1, c_max=c_max)
    scores = np.arange(c_max, dtype=np.float32) / np.float32(c_max - 1)
    obs = jnp.stack([jnp.asarray(scores), jnp.ones(c_max), jnp.zeros(c_max), jnp.zeros(c_max)], -1)
    for level in range(c_max):
        np.testing.assert_array_equal(
            actions(policies.thresholds((level,)), obs, env), np.arange(c_max) >= level
        )


def test_table_of_certainties_is_followed_and_rounds_observed_scores():
    table = np.eye(7)[[2, 4]]
    np.testing.assert_array_equal(actions(table), table.ravel())
    np.testing.assert_array_equal(actions(table, observations([1.6, 2.4, 3.6], [0, 0, 1])), [1, 1, 1])


def test_table_accepts_with_its_probabilities():
    table = policies.table(np.full((2, 7), 0.3))
    many = jnp.tile(ALL, (2000, 1))
    share = np.asarray(table.bind(ENV)(jax.random.key(3), many)).reshape(2000, 14).mean(0)
    assert abs(share - 0.3).max() < 4 * np.sqrt(0.3 * 0.7 / 2000)


def test_random_accepts_with_its_probability():
    draws = policies.random(0.2).bind(ENV)(jax.random.key(4), jnp.tile(ALL, (1000, 1)))
    assert abs(draws.mean() - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 14_000)


FUNCTIONS = {
    "jax": lambda obs: obs[..., 0] >= 0.5,
    "numpy": lambda obs: np.asarray(obs)[..., 0] >= 0.5,
    "with a key": lambda key, obs: (obs[..., 0] >= 0.5).astype(jnp.int32),
    "with a default": lambda obs, level=0.5: obs[..., 0] >= level,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_function_of_observations_is_a_policy(name):
    np.testing.assert_array_equal(actions(FUNCTIONS[name]), np.asarray(ALL)[:, 0] >= 0.5)
    three_axes = jnp.stack([ALL, ALL])
    assert actions(FUNCTIONS[name], three_axes).shape == (2, 14)


def test_a_numpy_function_gives_the_same_evaluation_as_a_jax_function():
    runs = [bisimulator.evaluate(ENV, FUNCTIONS[name], seeds=2, episodes=2) for name in ("jax", "numpy")]
    for metric, values in runs[0].episodes.items():
        np.testing.assert_array_equal(values, runs[1].episodes[metric])


WRONG = {
    "one action for all": (lambda obs: jnp.ones((), int), ValueError, "(B,)", "axis=-1"),
    "one action for all, numpy": (lambda obs: np.asarray(obs).sum() > 0, ValueError, "got ()", "axis=-1"),
    "no array": (lambda obs: 1, ValueError, "(B,)", "axis=-1"),
    "probabilities": (lambda obs: obs[..., 0], TypeError, "float32", "policies.table"),
    "probabilities, numpy": (lambda obs: np.asarray(obs)[..., 0], TypeError, "float32", "policies.table"),
    "numpy with a key": (
        lambda key, obs: np.asarray(obs)[..., 0] > 0,
        TypeError,
        "jax.numpy",
        "(observations)",
    ),
    "a number": (3, TypeError, "got 3", "a function of observations"),
    "thresholds of other groups": (policies.thresholds((3,)), ValueError, "(2,)", "(1,)"),
    "table of other scores": (np.ones((2, 6)), ValueError, "(2, 7)", "(2, 6)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_policies_are_explained(name):
    policy, error, *parts = WRONG[name]
    with pytest.raises(error) as raised:
        bisimulator.evaluate(ENV, policy, seeds=1, episodes=1)
    for part in parts:
        assert part in str(raised.value)


@pytest.mark.parametrize(
    "build",
    [lambda: policies.random(1.5), lambda: policies.table([[2.0]]), lambda: policies.thresholds([["a"]])],
)
def test_wrong_numbers_are_refused_before_use(build):
    with pytest.raises(ValueError, match="must"):
        build()


def test_the_registered_threshold_is_where_a_decision_pays():
    """lending: P[c] > .5 first at 3, also where conscientiousness, which no score tells, matters; college: 6.

    Where nothing pays, nobody is accepted.
    """
    rule = registry.lookup("method", "threshold")
    assert rule.build(rule.config, ENV).levels.tolist() == [3, 3]
    assert rule.build(rule.config, bisimulator.make("college")).levels.tolist() == [6, 6]
    assert rule.build(rule.config, bisimulator.make("lending", repayment=[0.4] * 7)).levels.tolist() == [7, 7]
    assert rule.build(rule.config, bisimulator.make("lending-conscientiousness")).levels.tolist() == [3, 3]


def test_the_registered_threshold_can_be_set():
    rule = registry.lookup("method", "threshold")
    asked = dataclasses.replace(rule.config, min_score=2)
    assert rule.build(asked, ENV).levels.tolist() == [2, 2]
    with pytest.raises(ValueError, match="min_score must be at least 0, got -2"):
        dataclasses.replace(rule.config, min_score=-2)


GENERATOR = np.random.default_rng(0)
RANDOM = {
    "a number per call": lambda obs: np.full(len(obs), np.random.rand() < 0.5),  # noqa: NPY002
    "a number per person": lambda obs: np.random.rand(len(obs)) < 0.5,  # noqa: NPY002
    "a threshold": lambda obs: obs[:, 0] >= GENERATOR.random(),
    "almost never": lambda obs: (obs[:, 0] >= 0.5) | (GENERATOR.random() < 1e-9),
    "NumPy alone": lambda obs: np.asarray(obs)[:, 0] >= GENERATOR.random(),
}


@pytest.mark.parametrize("name", some(RANDOM, ("almost never", "NumPy alone")))
def test_a_function_that_draws_random_numbers_is_never_exact(name):
    obs = jnp.asarray(ALL)
    assert policies.as_policy(RANDOM[name]).accept_probability(ENV, obs) is None
    certificate = bisimulator.certify(ENV, RANDOM[name], seeds=2, episodes=1)
    assert not certificate.exact
    assert "random" in certificate.reason


def test_a_function_that_draws_random_numbers_draws_them_in_every_step():
    rates = bisimulator.evaluate(ENV, RANDOM["a number per call"], seeds=30, episodes=1)
    approved, applied = (rates.outcome.count(c).sum(-1) for c in ("approved", "applied"))
    assert 0.3 < approved.sum() / applied.sum() < 0.7
    assert len(np.unique(approved)) > 2


def test_a_function_with_a_key_must_draw_with_it():
    with pytest.raises(TypeError, match="draw with the key"):
        actions(lambda key, obs: obs[:, 0] >= np.random.rand())  # noqa: NPY002


def test_deterministic_functions_stay_exact():
    for name in ("jax", "numpy", "with a default"):
        assert bisimulator.certify(ENV, FUNCTIONS[name]).exact


def test_a_compiled_program_is_not_used_again_with_other_values():
    level, table = 0.0, np.zeros(1)

    def policy(obs):
        return obs[:, 0] >= level + table[0]

    assert bisimulator.evaluate(ENV, policy, seeds=1, episodes=1).summary["approval_rate_mean"][0] == 1
    level = 2.0
    assert bisimulator.evaluate(ENV, policy, seeds=1, episodes=1).summary["approval_rate_mean"][0] == 0
    level, table[0] = 0.0, 3.0
    assert bisimulator.evaluate(ENV, policy, seeds=1, episodes=1).summary["approval_rate_mean"][0] == 0


NO_ACTIONS = [(action, library) for action in (2, 7, -1) for library in (jnp, np)]


@pytest.mark.parametrize(("action", "library"), some(NO_ACTIONS, [(-1, jnp), (7, np)]))
def test_actions_that_the_environment_does_not_have_are_refused(action, library):
    def policy(obs):
        return library.where(library.asarray(obs)[:, 0] >= 0.5, action, 0)

    for use in (bisimulator.evaluate, bisimulator.certify):
        with pytest.raises(ValueError, match=f"action {action}; return 0 .reject. or 1 .accept."):
            use(ENV, policy)
