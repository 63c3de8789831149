"""Jobs in words."""

from bisimulator.jobs.labels import changed_options, changes_in_words, labels
from bisimulator.jobs.spec import make_spec


def test_jobs_of_different_methods_are_called_by_their_methods():
    assert labels([make_spec("lending", "ppo"), make_spec("lending", "dqn")]) == ["ppo", "dqn"]


def test_jobs_of_one_method_are_told_apart_by_what_differs():
    specs = [
        make_spec("lending", "ppo-bisimulator", config={"kappa": 0.05}),
        make_spec("lending", "ppo-bisimulator", config={"kappa": 0.1}, solver={"gamma": 0.9}),
        make_spec("lending", "ppo", steps=4096),
    ]
    assert labels(specs) == [
        "ppo-bisimulator (gamma 1.0, kappa 0.05)",
        "ppo-bisimulator (gamma 0.9, kappa 0.1)",
        "ppo",
    ]


def test_goals_that_differ_tell_jobs_apart():
    specs = [
        make_spec("lending", "ppo", view="life", steps=4096),
        make_spec("lending", "ppo", goal="min-recall=0.9"),
        make_spec("lending", "ppo", goal="min-recall=0.95", control={"eta": 0.5}),
    ]
    assert labels(specs) == ["ppo (no goal)", "ppo (goal min-recall=0.9)", "ppo (goal min-recall=0.95)"]


def test_what_follows_from_a_goal_is_not_repeated():
    specs = [
        make_spec("lending", "ppo", view="life"),
        make_spec("lending", "ppo", goal="min-recall=0.9"),
        make_spec("lending", "ppo", goal="min-recall=0.9", control={"eta": 0.5}),
    ]
    assert labels(specs) == [
        "ppo (no goal, eta default)",
        "ppo (goal min-recall=0.9, eta 0.4)",
        "ppo (goal min-recall=0.9, eta 0.5)",
    ]
    assert changes_in_words(specs[1]) == "view life, goal min-recall=0.9"
    assert changes_in_words(specs[2]) == "eta 0.5, view life, goal min-recall=0.9"


def test_a_setting_that_one_job_lacks_is_its_default():
    specs = [make_spec("lending", "ppo"), make_spec("lending", "ppo", settings={"population": 500})]
    assert labels(specs) == ["ppo (population default)", "ppo (population 500)"]


def test_the_same_job_in_two_scenarios_needs_no_distinction():
    assert labels([make_spec("lending", "ppo"), make_spec("college", "ppo")]) == ["ppo", "ppo"]


def test_changes_from_the_defaults():
    assert changed_options(make_spec("lending", "ppo")) == {}
    spec = make_spec("lending", "ppo", seeds=3, solver={"gamma": 0.9}, settings={"population": 500})
    assert changed_options(spec) == {"settings.population": 500, "solver.gamma": 0.9, "seeds": 3}
    assert changes_in_words(spec) == "population 500, gamma 0.9, seeds 3"


def test_long_values_are_shown_by_their_size():
    spec = make_spec("lending", "ppo", settings={"initial": [[1 / 7] * 7] * 2})
    assert changes_in_words(spec) == "initial of 2 values"
