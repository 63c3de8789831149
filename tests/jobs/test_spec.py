"""A job in full: equal specs have equal names, different ones different names, and stored ones come back."""

import dataclasses
import json

import jax
import pytest

from bisimulator import registry
from bisimulator.goals import Goal, GoalConfig
from bisimulator.jobs.solver_defaults import default_solver
from bisimulator.jobs.spec import default_view, make_spec, spec_from_dict
from bisimulator.methods.bisimulator import Config
from bisimulator.methods.goal_hooks import GoalHooks
from bisimulator.methods.hooks import LearnedMethod
from bisimulator.policies.rules import methods_for
from bisimulator.solvers import trainer
from bisimulator.solvers.dqn import DQNConfig
from bisimulator.solvers.ppo import PPOConfig
from bisimulator.solvers.trainer import SOLVERS

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
        {"greedy": True},
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
    explicit = make_spec(
        "lending",
        "ppo-bisimulator",
        solver=default_solver("ppo", "life", with_goal=False),
        config=Config(),
        seeds=10,
    )
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


# Views and goals.


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("queue", "", False)),
        ({"view": "life"}, ("life", "", False)),
        ({"method": "dqn"}, ("queue", "", True)),
        ({"method": "dqn", "solver": {"temperature": 0.1}}, ("queue", "", False)),
        ({"method": "dqn", "goal": "min-recall=0.9"}, ("life", "min-recall=0.9", False)),
        ({"method": "max-util"}, ("queue", "", True)),
        ({"goal": "min-recall=0.9"}, ("life", "min-recall=0.9", False)),
        ({"goal": ["min-recall=.90", "credit-gap=2.5"]}, ("life", "min-recall=0.9 credit-gap=2.5", False)),
        ({"goal": Goal.parse("min-recall=0.9"), "view": "queue"}, ("queue", "min-recall=0.9", False)),
        ({"goal": "min-recall=0.9", "greedy": True}, ("life", "min-recall=0.9", True)),
        ({"greedy": True}, ("queue", "", True)),
        ({"scenario": "college", "goal": "min-recall=0.9"}, ("queue", "min-recall=0.9", False)),
    ],
)
def test_a_goal_is_trained_on_lives_and_policies_act_as_they_were_learned(options, expected):
    spec = make_spec(**({"scenario": "lending", "method": "ppo"} | options))
    assert (spec.view, spec.goal, spec.greedy) == expected
    control = GoalConfig(eta=0.4, proportional=20.0) if spec.view == "life" else GoalConfig()
    assert spec.control == (control if spec.goal else None)


def test_the_critic_sees_the_clock_with_a_goal_on_lives_alone():
    def clock(**options):
        return make_spec("lending", "ppo", **options).solver.critic_clock

    goal = "min-recall=0.9"
    assert clock(goal=goal)
    assert not any((clock(), clock(view="life"), clock(goal=goal, view="queue")))


@pytest.mark.parametrize("name", methods_for(registry.lookup("environment", "lending")))
def test_a_method_declares_its_view_which_is_the_default_where_there_are_lives(name):
    entry = registry.lookup("method", name)
    declared = entry.view if isinstance(entry, LearnedMethod) else "queue"
    assert declared == ("life" if "bisimulator" in name or name in ("lag-ppo", "foc-ppo") else "queue")
    assert make_spec("lending", name).view == default_view("lending", name) == declared
    assert make_spec("college", name).view == "queue"
    assert make_spec("lending", name, view="queue").view == "queue"


@pytest.mark.parametrize("method", ["ppo", "dqn"])
def test_the_solver_follows_the_view_and_the_goal(method):
    """Nothing is discounted in a life; with a goal the policy is averaged, and DQN samples and ends its exploration."""
    queue, life, goal, queue_goal = (
        make_spec("lending", method, **options).solver
        for options in (
            {},
            {"view": "life"},
            {"goal": "min-recall=0.9"},
            {"goal": "min-recall=0.9", "view": "queue"},
        )
    )
    assert queue == SOLVERS[method][1]()
    assert (life.gamma, goal.gamma, queue_goal.gamma) == (1.0, 1.0, queue.gamma)
    assert goal.average == queue_goal.average > 0
    if method == "dqn":
        assert goal.temperature > life.temperature == 0
        assert goal.epsilon_end == 0
    mine = make_spec("lending", method, view="life", solver={"gamma": 0.5, "learning_rate": 1e-3}).solver
    assert (mine.gamma, mine.learning_rate) == (0.5, 1e-3)


def test_control_changes_only_what_it_names():
    spec = make_spec("lending", "ppo", goal="min-recall=0.9", control={"eta": 0.3})
    default = make_spec("lending", "ppo", goal="min-recall=0.9").control
    assert spec.control == dataclasses.replace(default, eta=0.3)
    assert make_spec("lending", "ppo", goal="min-recall=0.9", control=spec.control) == spec


@pytest.mark.parametrize(
    "options",
    [
        {"view": "life"},
        {"goal": "min-recall=0.9"},
        {"goal": "recall-gap=0.123456789,raise-only credit-gap=2.5", "control": {"window": 5000}},
        {"goal": "min-recall=0.9", "view": "queue", "greedy": True},
    ],
)
@pytest.mark.parametrize("method", ["ppo", "dqn-bisimulator-reward"])
def test_a_stored_spec_with_a_goal_comes_back_as_it_was(method, options):
    spec = make_spec("lending", method, seeds=3, **options)
    again = spec_from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again == spec
    assert again.name == spec.name


def test_view_goal_and_control_are_in_the_name():
    changes = [
        {},
        {"view": "life"},
        {"goal": "min-recall=0.9"},
        {"goal": "min-recall=0.9", "view": "queue"},
        {"goal": "min-recall=0.8"},
        {"goal": "min-recall=0.80000001"},
        {"goal": "recall-gap=0.1"},
        {"goal": "recall-gap=0.1,raise-only"},
        {"goal": "min-recall=0.9", "control": {"eta": 0.3}},
    ]
    names = [make_spec("lending", "ppo", **change).name for change in changes]
    assert len(set(names)) == len(names)
    assert make_spec("lending", "ppo", goal=["min-recall=0.90"]).name == names[2]


WRONG_GOALS = [
    ({"view": "lif"}, ValueError, r"Unknown view 'lif'\. Did you mean 'life'"),
    ({"scenario": "college", "view": "life"}, ValueError, "'college' has no life view.*use the view 'queue'"),
    (
        {"scenario": "college", "goal": "credit-gap=1"},
        ValueError,
        "'credit-gap=1' is measured at the end of a life",
    ),
    ({"goal": "credit-gap=1", "view": "queue"}, ValueError, "'credit-gap=1' .* so it needs the view 'life'"),
    ({"goal": "min-recal=1"}, ValueError, r"Unknown goal 'min-recal'\. Did you mean 'min-recall'"),
    ({"goal": ""}, ValueError, "got no goal; write NAME=LEVEL"),
    (
        {"method": "accept-all", "goal": "min-recall=1"},
        ValueError,
        "'accept-all' is not trained, so it cannot pursue",
    ),
    ({"goal": "min-recall=1", "control": {"etta": 1}}, TypeError, "no parameter 'etta'. Did you mean 'eta'"),
    ({"goal": "min-recall=1", "control": {"eta": -1}}, ValueError, "eta must lie in"),
    ({"goal": "min-recall=1", "control": 3}, TypeError, "options of the control of a goal must be a mapping"),
]


@pytest.mark.parametrize(("wrong", "error", "message"), WRONG_GOALS)
def test_wrong_views_and_goals_are_refused_with_a_hint(wrong, error, message):
    with pytest.raises(error, match=message):
        make_spec(**({"scenario": "lending", "method": "ppo"} | wrong))


def test_the_solver_of_a_spec_pursues_its_goal():
    spec = make_spec("lending", "ppo-bisimulator", goal="min-recall=0.9", control={"eta": 0.3}, steps=1024)
    method = spec.make_solver(spec.make_env()).method
    assert isinstance(method, GoalHooks)
    assert method.controller.goal == Goal.parse("min-recall=0.9")
    assert method.controller.config == spec.control
    assert spec.control.eta == 0.3


@pytest.mark.parametrize("method", ["ppo", "dqn", "ppo-bisimulator"])
def test_a_group_blind_policy_is_another_job_and_does_not_look_at_the_group(method):
    seeing, blind = (make_spec("lending", method, group_blind=blind) for blind in (False, True))
    assert blind.name != seeing.name
    env = blind.make_env()
    shards = trainer.init(env, blind.make_solver(env), (0,))
    solver, theta = blind.make_solver(env), jax.tree.map(lambda x: x[0], shards[0].theta)
    assert solver.policy(theta).unseen == env.num_groups
    with pytest.raises(ValueError, match="cannot be made group-blind"):
        make_spec("lending", "accept-all", group_blind=True)


@pytest.mark.parametrize("goal", [None, "min-recall=0.9"])
def test_the_fast_preset_learns_with_larger_steps_on_a_quarter_of_the_decisions(goal):
    usual, fast = (make_spec("lending", "ppo", goal=goal, view="life", fast=fast) for fast in (False, True))
    assert make_spec("lending", "ppo", goal=goal, fast=True) == fast
    assert fast.steps * 4 == usual.steps == 400_000
    assert fast.solver.learning_rate == 2 * usual.solver.learning_rate
    assert fast.solver.critic_clock
    assert make_spec("lending", "ppo", fast=True, steps=50_000).steps == 50_000
    assert make_spec("lending", "ppo", fast=True, solver={"entropy": 0.5}).solver.entropy == 0.5


@pytest.mark.parametrize(
    "options",
    [
        {"method": "dqn"},
        {"method": "accept-all"},
        {"scenario": "college"},
        {"scenario": "attention"},
        {"view": "queue"},
    ],
)
def test_the_fast_preset_is_for_ppo_on_lives(options):
    with pytest.raises(ValueError, match="fast is a preset for PPO on lives"):
        make_spec(**({"scenario": "lending", "method": "ppo", "fast": True} | options))
