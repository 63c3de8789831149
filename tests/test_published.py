"""The published numbers are complete and as printed in the paper."""

import math
from collections import Counter

import numpy as np

import bisimulator
from bisimulator import published, registry
from bisimulator.evaluation import metric_columns
from tests.metrics.outcomes import outcome


def test_all_numbers_of_all_four_tables_are_present():
    results = published.results()
    assert Counter(scenario for scenario, _, _ in results) == {
        "lending": 55,
        "lending-conscientiousness": 55,
        "college": 60,
        "lending-10-groups": 16,
    }
    assert all(math.isfinite(mean) and ci95 >= 0 for mean, ci95 in results.values())


def test_one_number_of_each_table_is_as_printed():
    results = published.results()
    assert results["lending", "PPO + Bisimulator", "average_return"] == (3582.63, 53.71)
    assert results["lending-conscientiousness", "Max-util", "recall_g2"] == (0.24, 0.01)
    assert results["college", "Classifier", "social_burden_g2"] == (1.45, 0.09)
    assert results["lending-10-groups", "PPO", "recall_gap"] == (0.55, 0.07)


def test_rows_and_methods_are_in_the_order_of_the_paper():
    assert published.methods("lending")[0] == "PPO + Bisimulator"
    assert published.methods("lending")[-1] == "EO"
    assert list(published.row("lending", "EO")) == [
        "average_return",
        "credit_gap",
        "recall_g1",
        "recall_g2",
        "recall_gap",
    ]
    assert published.methods("somewhere") == []
    assert published.row("lending", "nobody") == {}


def test_published_scenarios_are_registered_and_published_metrics_are_columns_of_evaluate():
    for scenario in registry.names("environment"):
        env = bisimulator.make(scenario)
        tallies = {name: np.zeros(env.num_groups) for name in (*env.scenario.tallies, "steps")}
        people = np.zeros((env.num_groups, env.params.num_scores))
        nothing = outcome(people, tallies=tallies if env.scenario.tallies else None)
        names = {metric for name, _, metric in published.results() if name == scenario}
        assert names <= set(metric_columns(env, nothing))
    of_the_paper = {"lending", "lending-conscientiousness", "lending-10-groups", "college"}
    assert {scenario for scenario, _, _ in published.results()} == of_the_paper
    assert of_the_paper <= set(registry.names("environment"))
