"""References of the trade-off figure: exact where they exist, once per scenario, and a reason where they do not."""

from types import SimpleNamespace

import numpy as np
import pytest

import bisimulator
from bisimulator.exact.chain import expect
from bisimulator.exact.frontier import frontier
from bisimulator.jobs import references as module
from bisimulator.jobs.references import references
from bisimulator.jobs.spec import make_spec
from bisimulator.policies import accept_all
from tests.report.synthetic_results import synthetic_result

SMALL = {"population": 50, "horizon": 200}


@pytest.fixture(scope="module")
def found():
    results = [synthetic_result(method=method, settings=SMALL) for method in ("ppo", "dqn")]
    return references(results)["lending"]


def test_accept_all_is_exact(found):
    exact = expect(bisimulator.make("lending", **SMALL), np.ones((2, 7)))
    assert found.accept_all == {
        "average_return": (exact.average_return, 0.0),
        "recall_gap": (0.0, 0.0),
        "credit_gap": (exact.credit_gap, 0.0),
    }


@pytest.mark.parametrize("metric", ["recall_gap", "credit_gap"])
def test_the_frontier_is_that_of_the_exact_tools(found, metric):
    levels, bounds = found.frontiers[metric]
    best = frontier(bisimulator.make("lending", **SMALL), metric.replace("_", "-"), levels[[3]])
    np.testing.assert_allclose(bounds, [best.best_at(level) for level in levels], rtol=1e-6)
    assert (np.diff(bounds) >= 0).all()
    assert found.left_out == {}


def test_accept_all_among_the_jobs_is_not_computed_again(monkeypatch):
    monkeypatch.setattr(module, "optimum_curve", lambda env, criterion: ([], []))
    results = [synthetic_result(method=method, settings=SMALL) for method in ("ppo", "accept-all")]
    assert references(results)["lending"].accept_all == {}


def test_jobs_with_different_settings_have_no_common_reference():
    results = [synthetic_result(settings=SMALL), synthetic_result(method="accept-all")]
    found = references(results)["lending"]
    assert found.left_out == dict.fromkeys(["recall_gap", "credit_gap"], "the jobs have different settings")
    assert not found.frontiers


def test_what_would_take_minutes_is_left_out(monkeypatch):
    monkeypatch.setattr(module, "optimum_curve", lambda env, criterion: criterion)
    monkeypatch.setattr(module, "_MAX_SCORES", 6)
    found = references([synthetic_result(settings=SMALL)])["lending"]
    assert found.frontiers == {"recall_gap": "recall-gap"}
    assert found.left_out["credit_gap"].startswith("it takes minutes with more than 6 scores")


def test_without_exact_values_accept_all_is_simulated_as_the_jobs_were(monkeypatch):
    def evaluate(env, policy, *, episodes, seeds):
        return SimpleNamespace(summary={"average_return": (env.name, policy, episodes, seeds)})

    monkeypatch.setattr(module, "evaluate", evaluate)
    found = references([synthetic_result("college", seeds=[3, 8])])["college"]
    name, policy, *size = found.accept_all["average_return"]
    assert (name, *size) == ("college", 2, (3, 8))
    assert policy == accept_all()
    assert found.left_out["recall_gap"].startswith("people influence each other")


def test_where_nobody_applies_nobody_can_be_accepted():
    job = SimpleNamespace(spec=make_spec("infectious", "ppo"), columns={"benefit_rate_gap": None})
    found = references([job])["infectious"]
    assert (found.accept_all, found.frontiers) == ({}, {})
    assert found.left_out["benefit_rate_gap"].startswith("a step decides on all groups at once")


def test_too_many_groups_have_no_frontier_and_the_report_says_so():
    many, few = (bisimulator.make("lending", groups=groups, **SMALL) for groups in (61, 60))
    for metric in ("credit_gap", "recall_gap"):
        assert "got 61 groups with 7 scores" in module._why_no_frontier(many, metric)
        assert module._why_no_frontier(few, metric) == ""
