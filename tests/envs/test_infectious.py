"""Infectious compared with a NumPy implementation, known rules and published sick days."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.envs import infectious
from bisimulator.policies.rules import rule_policy
from bisimulator.simulation import check_action_range
from tests.matrix import some
from tests.messages import refused

TRIANGLE_AND_TAIL = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]


def make(**settings):
    return bisimulator.make(
        "infectious", edges=TRIANGLE_AND_TAIL, groups=[0, 0, 0, 1, 1], horizon=6, **settings
    )


@pytest.mark.parametrize("model", ["SI", "SIR", "SEIR"])
def test_everybody_moves_as_a_numpy_implementation_says(model):
    env = make(model=model, infection=0.4, incubation=0.3, recovery=0.2, relapse=0.25)
    p, letters = env.params, model
    contacts = np.asarray(p.contacts)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        health = rng.integers(0, len(letters), 5)
        key = jax.random.key(seed)
        u = np.asarray(jax.random.uniform(key, (5,)))
        after = np.asarray(infectious.spread(key, jnp.asarray(health), p))
        for i in range(5):
            sick = (contacts[i] * (health == letters.index("I"))).sum()
            leave = {
                "S": 1 - 0.6**sick,
                "E": 0.3,
                "I": 0.2 if "R" in letters else 0.0,
                "R": 0.25,
            }[letters[health[i]]]
            expected = (health[i] + 1) % len(letters) if u[i] < leave else health[i]
            assert after[i] == expected


def test_treatment_makes_the_susceptible_immune_and_is_wasted_on_others():
    env = make()
    health = jnp.array([0, 1, 2, 0, 1])
    for person, expected in enumerate([2, 1, 2, 2, 1]):
        after, treated = infectious.treat(health, jnp.int32(person + 1), env.params)
        assert after.tolist() == [*health.tolist()[:person], expected, *health.tolist()[person + 1 :]]
        assert np.flatnonzero(treated).tolist() == [person]
    after, treated = infectious.treat(health, jnp.int32(0), env.params)
    assert after.tolist() == health.tolist()
    assert not treated.any()
    cured, _ = infectious.treat(jnp.array([0, 1, 1, 0, 1]), jnp.int32(2), make(model="SI").params)
    assert cured.tolist() == [0, 0, 1, 0, 1]


def test_tallies_count_treatments_infections_and_sick_people_of_each_group():
    env = make(infection=1.0, recovery=0.0, untreated_steps=0)
    state = jax.jit(env.reset)(jax.random.key(0))
    assert state.health.tolist() == [1, 0, 0, 0, 0]
    state, step = jax.jit(env.step)(jax.random.key(1), state, jnp.int32(4))  # the fourth person
    assert state.health.tolist() == [1, 1, 1, 2, 0]
    assert {name: x.tolist() for name, x in step.tallies.items() if name != "reward"} == {
        "supply": [0, 1],
        "demand": [2, 0],
        "sick": [1, 0],
    }
    np.testing.assert_allclose(step.tallies["reward"], [0, 2 / 5])
    assert float(step.reward) == pytest.approx(0.4)


def test_the_first_patient_and_the_untreated_steps():
    fixed, anybody = make(untreated_steps=0, first_patient=3), make(untreated_steps=0, first_patient=None)
    keys = jax.random.split(jax.random.key(0), 400)
    assert (np.asarray(jax.jit(jax.vmap(fixed.reset))(keys).health) == [0, 0, 0, 1, 0]).all()
    share = np.asarray(jax.jit(jax.vmap(anybody.reset))(keys).health).mean(0)
    assert (abs(share - 0.2) < 4 * np.sqrt(0.16 / 400)).all()
    spread = np.asarray(jax.jit(jax.vmap(make(infection=1.0, recovery=0.0).reset))(keys[:3]).health)
    assert (spread == [1, 1, 1, 0, 0]).all()


# Reward per step and bias, simulated by others (200 episodes) and rounded.
RULES = {
    ("infectious", "nobody"): (0.080, 0.0),
    ("infectious", "random"): (0.180, 0.13),
    ("infectious", "degree"): (0.269, 0.60),
    ("infectious-harder", "nobody"): (0.058, 0.0),
    ("infectious-harder", "random"): (0.130, 0.19),
    ("infectious-harder", "degree"): (0.195, 0.83),
}


@pytest.mark.parametrize(("scenario", "rule"), some(RULES, [("infectious-harder", "degree")]))
def test_rules_have_the_known_reward_and_bias(scenario, rule):
    """Within three standard errors of 200 episodes; that of the bias is estimated from ten times 200."""
    env, (reward, bias) = bisimulator.make(scenario), RULES[scenario, rule]
    columns = bisimulator.evaluate(env, rule_policy(rule, env), seeds=10, episodes=200).episodes
    rewards, biases = columns["reward_per_step"], columns["benefit_rate_bias"][:, 0]
    assert abs(rewards.mean() - reward) <= 3 * rewards.std() / np.sqrt(200) + 0.0005
    assert abs(biases.mean() - bias) <= 3 * biases.std(ddof=1) + 0.005


SICK_DAYS = {"nobody": 58.01, "eigenvector": 25.56, "degree": 25.61, "betweenness": 25.17}


@pytest.mark.parametrize("rule", some(SICK_DAYS, ["betweenness"]))
def test_sick_days_are_those_of_atwood_et_al(rule):
    """Within 3% of 1000 published runs, with as many of ours."""
    env = bisimulator.make("infectious", recovery=0.5, first_patient=None, untreated_steps=0)
    days = bisimulator.evaluate(env, rule_policy(rule, env), seeds=10, episodes=400).episodes["sick_days"]
    assert days.mean() == pytest.approx(SICK_DAYS[rule], rel=0.03)


def test_functions_of_observations_decide_here_and_tables_do_not():
    env = make()
    result = bisimulator.evaluate(env, lambda obs: (obs[:, 0] > 2).astype(int), seeds=2, episodes=2)
    assert set(result.episodes) >= {"sick_days", "benefit_rate_bias", "reward_per_step", "average_return"}
    assert not {"recall_gap", "approval_rate_gap", "credit_gap", "social_burden_gap"} & set(result.episodes)
    with pytest.raises(ValueError, match=r"returned action 9; return a whole number from 0 to 5"):
        check_action_range(env, 0, 9)
    with pytest.raises(
        ValueError, match="decides on applicants by group and score, and 'infectious' has none"
    ):
        bisimulator.evaluate(env, np.ones((2, 3)), seeds=1, episodes=1)


WRONG = [
    ({"edges": [(0, 1, 2)]}, ["edges must be pairs of people", "pass edges such as"]),
    ({"edges": [(0, 1.5)]}, ["edges must be pairs of people numbered from 0"]),
    ({"edges": []}, ["edges must have 2 dimension"]),
    ({"groups": 99}, ["groups must be at most 34", "99"]),
    ({"groups": [0, 1]}, ["groups must have shape (34,)", "(2,)"]),
    ({"groups": [0] * 33 + [2]}, ["numbered from 0 without gaps"]),
    ({"model": "SIS"}, ["Unknown model 'SIS'"]),
    ({"infection": 1.5}, ["infection must lie in [0, 1]", "1.5"]),
    ({"first_patient": 34}, ["first_patient must be at most 33"]),
    ({"untreated_steps": -1}, ["untreated_steps must be at least 0"]),
    ({"group_names": ("a",)}, ["group_names must be 2 names"]),
]


@pytest.mark.parametrize(("keywords", "parts"), WRONG)
def test_wrong_parameters_raise_an_error_that_names_the_rule(keywords, parts):
    with refused(parts):
        bisimulator.make("infectious", **keywords)
