"""A few pinned numbers of every solver, method, scenario and exact tool.

A change of these numbers changes the meaning of stored jobs. Whoever changes one raises `VERSION` in `jobs/spec.py` and
writes the new numbers with `make golden`; until then these tests fail.
"""

import inspect
import json
import os
from functools import cache
from pathlib import Path

import gymnasium
import jax
import numpy as np
import pytest

import bisimulator
from bisimulator import registry
from bisimulator.adapters import gymnasium_id
from bisimulator.evaluation import mean_and_interval
from bisimulator.jobs.run import run
from bisimulator.jobs.solver_defaults import default_solver
from bisimulator.jobs.spec import VERSION, make_spec
from bisimulator.methods.hooks import LearnedMethod
from bisimulator.policies import Rule
from bisimulator.policies.rules import methods_for
from bisimulator.solvers import trainer
from tests.matrix import diagonal, matrix, some
from tests.probes import all_seeds
from tests.small import HORIZON, POPULATION, tiny, train_and_check

FILE = Path(__file__).with_name("numbers.json")
WRITE = bool(os.environ.get("BISIMULATOR_WRITE_GOLDEN"))

ENVIRONMENTS = registry.names("environment")
# the environments of the first trainings that were pinned; others would shift the pairs of the diagonal
TRAINED = ["lending", "lending-conscientiousness", "lending-10-groups", "lending-us-2003", "college"]
RULES = [
    name
    for name in methods_for(registry.lookup("environment", "lending"))
    if isinstance(registry.lookup("method", name), Rule)
]
SHORT_RULES = [("uniform", "attention"), ("random", "infectious"), ("continuous-jury", "college-threshold")]
OTHER_RULES = [*SHORT_RULES, ("proportional", "attention-harder"), ("betweenness", "infectious-harder")]
LEARNED = [
    name for name in registry.names("method") if isinstance(registry.lookup("method", name), LearnedMethod)
]
LENDING = [name for name in ENVIRONMENTS if name.startswith("lending")]
# scores that move by one, hidden types, and a table of moves
EXACT = ["lending", "lending-conscientiousness", "lending-delayed-impact"]
MANY_GROUPS = {"groups": 40}
JOBS = [
    ("lending", {}),
    *(
        pytest.param(name, settings, marks=pytest.mark.long)
        for name, settings in [
            *((name, {}) for name in ENVIRONMENTS[1:] if registry.lookup("environment", name).discrete),
            ("lending", MANY_GROUPS),
        ]
    ),
]


@cache
def stored():
    return json.loads(FILE.read_text())


def pinned(case, numbers):
    """Compare the numbers of a case with the stored ones; BISIMULATOR_WRITE_GOLDEN=1 writes them instead."""
    rounded = [float(f"{number:.7g}") for number in np.ravel(numbers)]
    assert np.isfinite(rounded).all()
    if WRITE:
        known = stored() if FILE.exists() else {"version": VERSION, "numbers": {}}
        if known["version"] != VERSION:
            known = {"version": VERSION, "numbers": {}}
        known["numbers"][case] = rounded
        FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        stored.cache_clear()
        return
    assert stored()["version"] == VERSION, "VERSION was raised; write the new numbers: make golden"
    assert case in stored()["numbers"], f"{case} has no stored numbers; write them: make golden"
    assert rounded == pytest.approx(stored()["numbers"][case], rel=2e-4, abs=1e-6), (
        f"{case}: the numbers changed; if this is intended, raise VERSION and write them: make golden"
    )


def size(tree):
    leaves = [np.asarray(x) for x in jax.tree.leaves(tree) if np.issubdtype(x.dtype, np.floating)]
    return sum(float(np.abs(x.astype(np.float64)).sum()) for x in leaves)


# Compiling takes long. The Bisimulator's search for omega is the same code with both solvers, so with DQN only its
# reward correction is short; GGF-PPO and F-PPO-L are the code of max-min PPO.
SAME = ("ppo-bisimulator-reward", "dqn-bisimulator", "ggf-ppo", "f-ppo-l")
TRAININGS = [
    *(
        pytest.param(name, scenario, {}, marks=[pytest.mark.long] if name in SAME else [])
        for name, scenario in diagonal(LEARNED, TRAINED)
    ),
    *(
        pytest.param(name, "lending", MANY_GROUPS, marks=pytest.mark.long)
        for name in ("ppo", "dqn", "ppo-bisimulator")
    ),
]


@pytest.mark.parametrize(("name", "scenario", "settings"), TRAININGS)
def test_a_short_training(name, scenario, settings):
    env = bisimulator.make(scenario, population=POPULATION, horizon=HORIZON, **settings)
    solver, training, _ = train_and_check(name, env)  # not the progress: its chunks depend on the time
    theta, method = all_seeds(training)
    learned = trainer.describe(solver, training)
    groups = "".join(f" {key}={value}" for key, value in settings.items())
    pinned(
        f"train {name} {scenario}{groups}",
        [size(solver.policy(theta)), size(theta), size(method), size(learned)],
    )


@pytest.mark.parametrize("name", some(["ppo", "dqn"], ["ppo"]))
def test_a_short_training_towards_a_goal(name):
    """On lives: by reward streams with PPO, by the reward with DQN."""
    entry = registry.lookup("method", name)
    solver_config = tiny(default_solver(entry.solver, "life", with_goal=True))
    spec = make_spec(
        "lending",
        name,
        goal="min-recall=0.9",
        solver=solver_config,
        steps=4 * solver_config.batch,
        settings={"population": POPULATION, "horizon": HORIZON},
    )
    env = spec.make_env()
    solver = spec.make_solver(env)
    training = trainer.train(env, solver, (0, 1), view=spec.view)
    theta, method = all_seeds(training)
    pinned(f"goal {name} lending", [size(theta), size(method), size(trainer.describe(solver, training))])


@pytest.mark.parametrize(
    ("name", "scenario"), [*matrix(RULES, ["lending", "college"]), *some(OTHER_RULES, SHORT_RULES)]
)
def test_the_results_of_a_rule(name, scenario, tmp_path):
    spec = make_spec(
        scenario,
        name,
        seeds=2,
        episodes=2,
        settings=small_settings(scenario, 40, 200 if scenario == "lending" else 60),
    )
    pinned(f"rule {name} {scenario}", headlines(run(spec, tmp_path)))


@pytest.mark.parametrize(("scenario", "settings"), JOBS)
def test_the_results_of_a_job(scenario, settings, tmp_path):
    """A whole job: training, learning curves and evaluation."""
    method = registry.lookup("method", "ppo")
    solver = tiny(trainer.SOLVERS[method.solver][1]())
    spec = make_spec(
        scenario,
        "ppo",
        solver=solver,
        steps=4 * solver.batch,
        seeds=2,
        episodes=2,
        curve_every=2 * solver.batch,
        curve_episodes=1,
        greedy=False,
        settings=small_settings(scenario, 30, 50) | settings,
    )
    result = run(spec, tmp_path)
    rate = "approval_rate_mean" if spec.make_env().scenario.applicants else "benefit_rate_mean"
    curves = [result.curves.values["average_return"].sum(), result.curves.values[rate].sum()]
    pinned(f"job {scenario} {settings or ''}".strip(), [*headlines(result), *curves])


def small_settings(scenario, population, horizon):
    known = inspect.signature(registry.lookup("environment", scenario).make_params).parameters
    return ({"population": population} if "population" in known else {}) | {"horizon": horizon}


def headlines(result):
    names = ("average_return", "approval_rate_mean", "credit_gap", "social_burden_mean")
    names += () if "recall_gap" in result.columns else ("benefit_rate_bias", "benefit_rate_mean")
    means = {name: mean_and_interval(values)[0] for name, values in result.columns.items()}
    return [means[name] for name in names if name in means and np.isfinite(means[name])]


@pytest.mark.parametrize("scenario", ENVIRONMENTS)
def test_an_episode_of_the_gymnasium_environment(scenario):
    env = gymnasium.make(gymnasium_id(scenario), **small_settings(scenario, 30, 40))
    discrete = registry.lookup("environment", scenario).discrete
    obs, _ = env.reset(seed=3)
    total_reward, total_obs, ended = 0.0, obs.sum(), False
    t = 0
    while not ended:
        action = int(t % 3 > 0) if discrete else real_numbers(env.action_space.shape[0], t)
        obs, reward, terminated, truncated, info = env.step(action)
        total_reward, total_obs = total_reward + reward, total_obs + obs.sum()
        t, ended = t + 1, terminated or truncated
    pinned(
        f"gymnasium {scenario}",
        [total_reward, total_obs, t, info["outcome"]["true_scores"].sum(), info["outcome"]["counts"].sum()],
    )


def real_numbers(size, t):
    return np.linspace(-1, t % 3, size) if size > 1 else np.array([t % 3 / 2])


@pytest.mark.parametrize("scenario", some(LENDING, EXACT))
def test_exact_values(scenario):
    env = bisimulator.make(scenario, population=20, horizon=100)
    groups, scores = env.num_groups, env.params.num_scores
    table = np.tile(np.linspace(0.1, 1.0, scores), (groups, 1))
    exact = bisimulator.exact.expect(env, table)
    certificate = bisimulator.certify(env, table)
    main = certificate.entry("reward", "episode")
    best = bisimulator.frontier(env, "min-recall", levels=[0.9])
    pinned(
        f"exact {scenario}",
        [
            exact.average_return,
            exact.recall_gap,
            exact.credit_gap,
            main.gap,
            main.bound,
            best.upper_bound[0],
            best.stationary_value[0],
        ],
    )
