"""Results in the order of the paper, each once, with labels that tell them apart."""

import numpy as np

from bisimulator.report._by_scenario import by_scenario
from tests.report.synthetic_results import synthetic_result


def labels(scenario):
    return [entry.label for entry in scenario.entries]


def test_scenarios_are_in_the_order_of_the_registry_and_methods_in_that_of_the_paper():
    scenarios = by_scenario(
        [
            synthetic_result("college", "ppo"),
            synthetic_result("lending", "accept-all"),
            synthetic_result("lending", "dqn"),
            synthetic_result("lending", "ppo"),
            synthetic_result("lending", "ppo-bisimulator"),
        ]
    )
    assert [scenario.name for scenario in scenarios] == ["lending", "college"]
    assert labels(scenarios[0]) == ["PPO + Bisimulator", "PPO", "DQN", "accept-all"]


def test_methods_of_the_paper_without_a_result_are_listed():
    (scenario,) = by_scenario([synthetic_result("lending-10-groups", "ppo", recalls=np.full(10, 0.5))])
    assert scenario.missing == ["PPO + Bisimulator", "PPO + Bisimulator (Reward only)", "ELBERT-PO"]


def test_the_same_job_counts_once_and_jobs_that_differ_are_labelled_by_what_differs():
    long, short = synthetic_result(steps=40_000), synthetic_result(steps=20_000)
    (scenario,) = by_scenario([short, long, long])
    assert [entry.result.spec.steps for entry in scenario.entries] == [40_000, 20_000]
    assert labels(scenario) == ["PPO (steps 40000)", "PPO (steps 20000)"]
    assert len({entry.key for entry in scenario.entries}) == 2


def test_variants_of_a_method_are_labelled_by_their_options():
    results = [
        synthetic_result(method="ppo-bisimulator", config={"gauge": "kappa", "kappa": kappa})
        for kappa in (0.0, 0.05)
    ]
    (scenario,) = by_scenario(results)
    assert sorted(labels(scenario)) == ["PPO + Bisimulator (kappa 0.0)", "PPO + Bisimulator (kappa 0.05)"]
    assert sorted(entry.short for entry in scenario.entries)[1] == "PPO + Bisim. (kappa 0.05)"


def test_jobs_with_other_settings_have_no_row_in_the_paper_and_come_last():
    other = synthetic_result(settings={"population": 500})
    (scenario,) = by_scenario([other, synthetic_result()])
    assert [bool(entry.paper) for entry in scenario.entries] == [True, False]


def test_omega_is_there_only_if_the_method_adapts_it():
    methods = ("ppo-bisimulator", "ppo-bisimulator-reward", "ppo", "accept-all")
    (scenario,) = by_scenario([synthetic_result(method=method) for method in methods])
    assert [entry.omega is not None for entry in scenario.entries] == [True, False, False, False]


def test_the_options_decide_whether_omega_is_adapted_and_not_the_name_of_the_method():
    never = {"dynamics_steps": 0}
    (scenario,) = by_scenario([synthetic_result(method="ppo-bisimulator", config=never)])
    assert scenario.entries[0].omega is None
    some = {"dynamics_steps": 20}
    (scenario,) = by_scenario([synthetic_result(method="ppo-bisimulator-reward", config=some)])
    assert scenario.entries[0].omega is not None


def test_reports_talk_about_a_scenario_in_its_own_words():
    words = {
        name: by_scenario([synthetic_result(name)])[0].env.scenario.vocabulary.approvals
        for name in ("lending", "college")
    }
    assert words == {"lending": "loans", "college": "admissions"}


def test_a_seeds_value_is_the_mean_of_its_episodes():
    result = synthetic_result()
    (scenario,) = by_scenario([result])
    np.testing.assert_allclose(
        scenario.entries[0].per_seed("recall_gap"), result.columns["recall_gap"].mean(1)
    )
