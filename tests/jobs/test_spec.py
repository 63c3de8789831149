"""A job in full: equal specs have equal names, different ones different names, and stored ones come back."""

import dataclasses
import json

import pytest

from bisimulator.jobs.spec import make_spec, spec_from_dict
from bisimulator.methods.bisimulator import Config
from bisimulator.solvers.dqn import DQNConfig
from bisimulator.solvers.ppo import PPOConfig

METHODS = ["ppo", "dqn", "ppo-bisimulator", "dqn-bisimulator-reward", "accept-all"]


@pytest.mark.parametrize("method", METHODS)
def test_a_stored_spec_comes_back_as_it_was(method):
    spec = make_spec("lending", method, seeds=3, settings={"population": 50, "group_probs": [0.3, 0.7]})
    stored = json.loads(json.dumps(spec.to_dict()))
    again = spec_from_dict(stored)
    assert again == spec
    assert again.name == spec.name


def test_defaults_are_the_methods_own():
    spec = make_spec("college", "dqn-bisimulator")
    assert (spec.seeds, spec.steps, spec.episodes) == (tuple(range(10)), 400_000, 5)
    assert isinstance(spec.solver, DQNConfig)
    assert spec.config.alpha == 1.5
    assert make_spec("college", "ppo-bisimulator").config.alpha == 5


def test_everything_that_decides_numbers_is_in_the_name():
    base = {"seeds": 2, "steps": 5000, "episodes": 3, "settings": {"population": 10}}
    changes = [
        {"seeds": 3},
        {"seeds": [1, 0]},
        {"steps": 6000},
        {"episodes": 4},
        {"greedy": False},
        {"settings": {"population": 11}},
        {"settings": {"horizon": 10}},
        {"solver": PPOConfig(gamma=0.9)},
        {"config": Config(alpha=4.0)},
    ]
    names = [make_spec("lending", "ppo-bisimulator", **(base | change)).name for change in [{}, *changes]]
    names.append(make_spec("college", "ppo-bisimulator", **base).name)
    names.append(make_spec("lending", "ppo-bisimulator-reward", **base).name)
    assert len(set(names)) == len(names)
    assert make_spec("lending", "ppo-bisimulator", **base).name == names[0]
    assert names[0].startswith("lending/ppo-bisimulator-")


def test_filling_in_a_default_by_hand_is_the_same_job():
    explicit = make_spec("lending", "ppo-bisimulator", solver=PPOConfig(), config=Config(), seeds=10)
    assert explicit.name == make_spec("lending", "ppo-bisimulator").name


def test_a_rule_has_no_steps():
    first, second = (make_spec("lending", "accept-all", steps=steps) for steps in (1000, 2000))
    assert first.steps == 0
    assert first.name == second.name


WRONG = [
    ({"method": "pop"}, "Unknown method 'pop'.*'ppo'"),
    ({"scenario": "colege"}, "Unknown environment 'colege'.*'college'"),
    ({"seeds": 0}, "seeds must be at least 1, got 0"),
    ({"episodes": 0}, "episodes must be at least 1, got 0"),
    ({"steps": 100}, "steps must be at least 512, got 100"),
    ({"steps": 1000.0}, "steps must be a whole number, got 1000.0"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_wrong_specs_are_refused_with_the_way_out(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_spec(**({"scenario": "lending", "method": "ppo"} | wrong))


def test_a_stored_spec_with_an_unknown_field_is_refused():
    stored = make_spec("lending", "ppo").to_dict() | {"sedes": 3}
    with pytest.raises(TypeError, match=r"no parameter 'sedes'.*'seeds'"):
        spec_from_dict(stored)


def test_specs_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_spec("lending", "ppo").steps = 3
