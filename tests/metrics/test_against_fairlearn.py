"""Rates and their gaps compared with the MetricFrame of fairlearn on the same decisions."""

import equinox as eqx
import jax
import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, count, selection_rate
from sklearn.metrics import precision_score, recall_score

import bisimulator
from bisimulator import policies, registry
from bisimulator.core import Env
from bisimulator.simulation import episodes as simulate

RATES = {"recall": recall_score, "precision": precision_score, "approval-rate": selection_rate}
CASES = {
    "lending": {"population": 60, "horizon": 300},
    "college": {"population": 60, "horizon": 150, "score_mean": (8, 6, 5), "budget_mean": (4, 3, 2)},
}


@eqx.filter_jit
def episode(name, scenario, params, policy, horizon):
    act = policy.bind(Env(name, scenario, params))
    decisions, state = simulate.episode(scenario, jax.random.key(8), act, params, horizon)
    return decisions, simulate.summarise(decisions, state, scenario, params)


@pytest.fixture(scope="module", params=CASES)
def decided(request):
    env = bisimulator.make(request.param, **CASES[request.param])
    table = np.linspace(0.1, 0.9, env.num_groups * env.params.num_scores).reshape(env.num_groups, -1)
    decisions, outcome = episode(
        env.name, env.scenario, env.params, policies.table(table), int(env.params.horizon)
    )
    valid = np.asarray(decisions.valid)
    frame = MetricFrame(
        metrics={**RATES, "applied": count},
        y_true=np.asarray(decisions.qualified)[valid].astype(int),
        y_pred=np.asarray(decisions.action)[valid],
        sensitive_features=np.asarray(decisions.group)[valid],
    )
    return outcome, frame


@pytest.mark.parametrize("name", RATES)
def test_rates_of_groups_and_gaps_agree_with_fairlearn(decided, name):
    outcome, frame = decided
    metric = registry.lookup("metric", name)
    np.testing.assert_allclose(metric.by_group(outcome), frame.by_group[name], rtol=1e-6)
    np.testing.assert_allclose(
        metric.columns(outcome)[f"{metric.name}_gap"], frame.difference()[name], rtol=1e-6
    )


def test_the_same_decisions_are_counted(decided):
    outcome, frame = decided
    np.testing.assert_array_equal(outcome.count("applied"), frame.by_group["applied"])
