"""Public functions with one odd argument: a clean error before anything runs, or a result."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bisimulator
from bisimulator import evaluation, exact, policies
from tests.fuzz.odd_values import CLEAN, EXAMPLES, ODD, check_clean

ENV = bisimulator.make("lending", population=5, horizon=20)
PEOPLE = {"group": ["a", "b"] * 30, "score": [600, 700, 650] * 20, "repaid": [0, 1] * 30}
TABLE = {"group": ["a", "a"], "score": [1, 2], "size": [60, 40], "late": [0.3, 0.1]}
# function -> arguments that are fine but for one of those named, which is odd; no odd value lets anything long begin
CALLS = {
    bisimulator.train: (
        {"env": ENV, "method": "nothing"},
        ["env", "method", "out", "progress", "solver", "goal"],
    ),
    bisimulator.compare: (  # not `methods`: None are all of them, which would train
        {"env": ENV, "methods": ["nothing"]},
        ["env", "sweep", "solver_sweep", "out", "progress"],
    ),
    bisimulator.learned_frontier: ({"env": ENV, "method": "nothing"}, ["env", "method", "goals", "out"]),
    bisimulator.audit: (
        {"policy": "nothing", "people": ENV},
        ["people", "goal", "group_blind", "in_bins", "gamma"],
    ),
    bisimulator.register: ({"kind": "metric", "name": "recall", "entry": 5}, ["kind", "name", "entry"]),
    bisimulator.Goal: ({}, ["demands"]),
    bisimulator.Goal.parse: ({}, ["goal"]),
    bisimulator.Goal.sweep: ({}, ["goals"]),
    bisimulator.TrainingResult.load: ({}, ["folder"]),
    bisimulator.Population.from_frame: (
        {"frame": PEOPLE, "bins": 2},
        ["frame", "group", "score", "repaid", "defaulted", "accepted", "features"],
    ),
    bisimulator.Population.from_table: (
        {"source": TABLE, "people": "size", "default_rate": "late", "bins": 2},
        ["source", "group", "score", "share", "cumulative_share", "repayment_rate", "default_rate", "people"],
    ),
    bisimulator.frontier: (
        {"env": ENV, "criterion": "nothing"},
        ["env", "criterion", "group_blind", "on_progress"],
    ),
    bisimulator.certify: (
        {"env": ENV, "policy": "nothing"},
        ["env", "policy", "gamma", "episodes", "seeds"],
    ),
    bisimulator.evaluate: (
        {"env": ENV, "policy": "nothing"},
        ["env", "policy", "episodes", "seeds"],
    ),
    bisimulator.group_metrics: (
        {"env": "nothing", "policy": policies.accept_all()},
        ["env", "policy", "episodes", "seed", "accepted", "num_groups"],
    ),
    evaluation.decision_table: ({"env": ENV, "policy": policies.accept_all()}, ["env", "policy", "path"]),
    exact.best_return: ({"env": ENV, "min_recalls": 0.5}, ["env", "min_recalls"]),
    exact.expect: ({"env": ENV, "policy": np.ones((2, 7))}, ["env", "policy"]),
    exact.visit_discount: ({"env": ENV, "gamma": 0.9}, ["env", "gamma"]),
    exact.optimal_transport: (
        {"cost": np.eye(2), "source": [0.5, 0.5], "target": [0.5, 0.5]},
        ["cost", "source", "target"],
    ),
    exact.bisimulation_metric: (
        {"transition": np.eye(2), "reward": [0.0, 1.0], "gamma": 0.5},
        ["transition", "reward", "gamma", "groups", "tol", "between", "couplings"],
    ),
    exact.all_actions_metric: (
        {"transition": [np.eye(2)], "reward": [[0.0, 1.0]], "gamma": 0.5},
        ["transition", "reward", "gamma", "tol", "couplings"],
    ),
    exact.bisimulation_relation: (
        {"transition": np.eye(2), "reward": [0.0, 1.0]},
        ["transition", "reward", "tol"],
    ),
    exact.policy_average: (
        {"transition": [np.eye(2)], "reward": [[0.0, 1.0]], "policy": [[1.0, 1.0]]},
        ["transition", "reward", "policy"],
    ),
    policies.random: ({}, ["probability"]),
    policies.clock: ({}, ["probabilities"]),
    policies.table: ({}, ["probabilities"]),
    policies.thresholds: ({}, ["levels"]),
    policies.as_policy: ({}, ["policy"]),
}


def named(function):
    return function.__qualname__


@EXAMPLES
@pytest.mark.parametrize("function", CALLS, ids=named)
def test_an_odd_argument_is_refused_or_taken(function, examples, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base, names = CALLS[function]

    @settings(max_examples=examples // len(CALLS))
    @given(name=st.sampled_from(names), odd=ODD)
    def check(name, odd):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(**(base | {name: odd}))
        except CLEAN as error:
            check_clean(error)

    check()
