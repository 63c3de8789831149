"""Everything that a user can pass as a policy."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import policies
from bisimulator.audit import audited_policy
from bisimulator.audit.audited_policy import from_function, load_function, read_policy
from bisimulator.evaluation.certify import acceptance
from bisimulator.jobs.spec import Spec, make_spec
from bisimulator.jobs.store import Result

FUNCTIONS = """
def by_score(score, group):
    return score >= (500 if group == "down" else 650)

def half(group, score):
    return 0.5

def by_observation(observations):
    return observations[..., 0] >= 0.5

def wrong(score, group):
    return "maybe"

number = 3
"""


@pytest.fixture
def functions(tmp_path):
    path = tmp_path / "my_rules.py"
    path.write_text(FUNCTIONS, encoding="utf-8")
    return path


def levels(audited):
    return np.asarray(audited.policy.levels).tolist()


def test_thresholds_in_points_come_to_the_nearest_edge(env):
    one = read_policy("600", env)
    assert levels(one) == [2, 2]
    assert one.description == "Accepts everybody from score 600 on, whatever the group."
    assert one.notes == ()
    two = read_policy("down=440, others=610", env)
    assert levels(two) == [2, 1]
    assert two.description == "Accepts <b>up</b> from 600, down from 450 on."
    assert two.notes == (
        "A threshold of 610 lies within a bin of scores; the nearest edge is used, 600.",
        "A threshold of 440 lies within a bin of scores; the nearest edge is used, 450.",
    )
    assert levels(read_policy("900", env)) == [4, 4]  # nobody
    assert levels(read_policy("-5", env)) == [0, 0]
    assert levels(read_policy("3", env, in_bins=True)) == [3, 3]


def test_thresholds_if_scores_have_no_other_unit():
    plain = bisimulator.make("lending")
    assert levels(read_policy("2.5", plain)) == [2.5, 2.5]
    assert levels(read_policy("1=3,2=2", plain)) == [3, 2]


def test_a_rule_by_its_name(env):
    assert read_policy("accept-all", env).description == "Accept everybody."


def test_functions_of_score_and_group_are_called_at_every_bin(env, functions):
    audited = read_policy(f"{functions}:by_score", env)
    # the bins' middles are 375, 525, 650, 775
    np.testing.assert_array_equal(audited.policy.probabilities, [[0, 0, 1, 1], [0, 1, 1, 1]])
    half = from_function("half", load_function(f"{functions}:half"), env)
    np.testing.assert_array_equal(half.policy.probabilities, np.full((2, 4), 0.5))


def test_functions_of_observations_are_policies_as_they_are(env, functions):
    audited = read_policy(f"{functions}:by_observation", env)
    table = acceptance(env, audited.policy, 1)[:, :, 0, 0]
    np.testing.assert_array_equal(table, [[0, 0, 1, 1]] * 2)


def test_functions_of_modules_are_imported(env):
    assert read_policy("tests.audit.test_audited_policy:accept_from_half", env).name.endswith(
        "accept_from_half"
    )


def accept_from_half(observations):
    return observations[..., 0] >= 0.5


WRONG = [
    ("abc", ["'abc' is not a policy", "accept-all", "module:name"]),
    ("nan", ["'nan' is not a policy"]),
    ("uo=600,down=3", ["no group is called 'uo'", "down, others"]),
    ("600,500", ["no group is called '600'"]),
    ("down=600", ["no threshold for <b>up</b>", "add others="]),
    ("down=600,down=500,others=1", ["group 'down' has two thresholds"]),
    ("down=x,others=1", ["'x' is not a policy"]),
    ("ppo", ["'ppo' has to be trained first"]),
    ("nowhere.py:f", ["there is no file nowhere.py"]),
    ("no_such_module:f", ["cannot import 'no_such_module'"]),
    ("json:lodas", ["json has no function 'lodas'", "Did you mean 'loads'"]),
]


@pytest.mark.parametrize(("text", "parts"), WRONG)
def test_wrong_policies_are_explained(text, parts, env):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - every part of the message is checked below
        read_policy(text, env)
    for part in parts:
        assert part in str(raised.value)


def test_a_function_must_return_a_probability(env, functions):
    with pytest.raises(
        ValueError, match="must return True, False or a probability, got 'maybe' for score 375"
    ):
        read_policy(f"{functions}:wrong", env)
    with pytest.raises(ValueError, match="has no function 'number'"):
        read_policy(f"{functions}:number", env)


def test_without_people_only_a_job_is_a_policy(tmp_path):
    with pytest.raises(ValueError, match="'640' is not the folder of a finished job, so people are needed"):
        read_policy("640", None)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="holds a job that is not finished"):
        read_policy(str(tmp_path), None)


def test_a_trained_job_can_be_audited_with_other_people(env, tmp_path, monkeypatch):
    omega = jnp.full((2, 2), 1.5)
    seen = bisimulator.make("lending", omega=omega)
    result = Result(Spec("lending", "ppo", seeds=(4, 5), solver="ppo"), None, {})
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(audited_policy, "load", lambda folder: result)
    trained = [(seen, policies.Network(lambda obs: obs, True))] * 2
    monkeypatch.setattr(audited_policy, "load_policies", lambda folder: (result, trained))
    own = read_policy(str(tmp_path), None, seed=5)
    assert (own.env, own.name) == (seen, "ppo (seed 5)")
    other = read_policy(str(tmp_path), env)
    assert other.env.group_names == env.group_names
    np.testing.assert_array_equal(other.env.params.omega, omega)
    with pytest.raises(ValueError, match="seed 9 was not trained; choose one of 4, 5"):
        read_policy(str(tmp_path), None, seed=9)
    three = bisimulator.make("lending", groups=3, c_max=4)
    with pytest.raises(
        ValueError, match="was trained for 2 groups and 5 observed numbers; these people have 3 and 6"
    ):
        read_policy(str(tmp_path), three)
    rule = dataclasses.replace(result, spec=make_spec("lending", "accept-all"))
    monkeypatch.setattr(audited_policy, "load", lambda folder: rule)
    assert read_policy(str(tmp_path), None).name == "accept-all"
