"""Results in the order of the paper, each once, with names that tell them apart."""

import numpy as np

from bisimulator.report._by_scenario import scenes
from tests.report.made_up import made_up


def labels(scene):
    return [entry.label for entry in scene.entries]


def test_scenarios_are_in_the_registrys_order_and_methods_in_the_papers():
    found = scenes(
        [
            made_up("college", "ppo"),
            made_up("lending", "accept-all"),
            made_up("lending", "dqn"),
            made_up("lending", "ppo"),
            made_up("lending", "ppo-bisimulator"),
        ]
    )
    assert [scene.scenario for scene in found] == ["lending", "college"]
    assert labels(found[0]) == ["PPO + Bisimulator", "PPO", "DQN", "accept-all"]


def test_what_the_paper_has_and_we_do_not_is_known():
    (scene,) = scenes([made_up("lending-10-groups", "ppo", recalls=np.full(10, 0.5))])
    assert scene.missing == ["PPO + Bisimulator", "PPO + Bisimulator (Reward only)", "ELBERT-PO"]


def test_the_same_job_counts_once_and_jobs_that_differ_are_told_apart():
    long, short = made_up(steps=40_000), made_up(steps=20_000)
    (scene,) = scenes([short, long, long])
    assert [entry.result.spec.steps for entry in scene.entries] == [40_000, 20_000]
    assert len(set(labels(scene))) == len({entry.key for entry in scene.entries}) == 2
    assert all(label.startswith("PPO [") for label in labels(scene))


def test_other_settings_have_no_row_in_the_paper_and_stand_behind():
    other = made_up(settings={"population": 500})
    (scene,) = scenes([other, made_up()])
    assert [bool(entry.paper) for entry in scene.entries] == [True, False]


def test_omega_is_there_only_where_a_method_changes_it():
    methods = ("ppo-bisimulator", "ppo-bisimulator-reward", "ppo", "accept-all")
    (scene,) = scenes([made_up(method=method) for method in methods])
    assert [entry.omega is not None for entry in scene.entries] == [True, False, False, False]


def test_a_seeds_value_is_the_mean_of_its_episodes():
    result = made_up()
    (scene,) = scenes([result])
    np.testing.assert_allclose(scene.entries[0].per_seed("recall_gap"), result.columns["recall_gap"].mean(1))
