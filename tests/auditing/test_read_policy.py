"""Everything that a user can pass as a policy."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import policies
from bisimulator.auditing import read_policy as read_policy_module
from bisimulator.auditing.read_policy import read_policy
from bisimulator.jobs.spec import Spec, make_spec
from bisimulator.jobs.store import Result
from tests.messages import refused


def test_a_rule_by_its_name(env):
    assert read_policy("accept-all", env).description == "Accept everybody."


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
    with refused(parts):
        read_policy(text, env)


def test_without_people_only_a_job_is_a_policy(tmp_path):
    with pytest.raises(ValueError, match="'640' is not the folder of a finished job, so people are needed"):
        read_policy("640", None)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="holds no job that is finished and as it was written"):
        read_policy(str(tmp_path), None)


def test_a_trained_job_can_be_audited_with_other_people(env, tmp_path, monkeypatch):
    omega = jnp.full((2, 2), 1.5)
    seen = bisimulator.make("lending", omega=omega)
    result = Result(Spec("lending", "ppo", seeds=(4, 5), solver="ppo"), None, {})
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(read_policy_module, "load", lambda folder: result)
    trained = [(seen, policies.Network(lambda obs: obs, True))] * 2
    monkeypatch.setattr(read_policy_module, "load_policies", lambda folder: (result, trained))
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
    monkeypatch.setattr(read_policy_module, "load", lambda folder: rule)
    assert read_policy(str(tmp_path), None).name == "accept-all"
