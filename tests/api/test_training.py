"""`bisimulator.train` and `bisimulator.compare` as a program uses them."""

import dataclasses
import json

import matplotlib.figure
import numpy as np
import pytest

import bisimulator
from bisimulator import registry
from bisimulator.api.comparing import make_variants
from bisimulator.api.sweeping import goal_specs
from bisimulator.errors import JobsFailed
from bisimulator.evaluation import exact_evaluation
from bisimulator.jobs import executors
from bisimulator.jobs.spec import make_spec
from bisimulator.metrics.ratios import RECALL
from tests.small import FEW, JOB, METHOD, METHOD_OPTIONS, SETTINGS, SOLVER_OPTIONS

ENV = bisimulator.make("lending", **SETTINGS)
SMALL = {"seeds": 2, "episodes": 2, "progress": False}
TINY = {**METHOD_OPTIONS, "solver": SOLVER_OPTIONS, **JOB, "progress": False}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    return bisimulator.train(ENV, METHOD, **TINY, out=str(out))


def test_the_summary_has_the_names_of_evaluate(result):
    evaluation = bisimulator.evaluate(ENV, bisimulator.policies.accept_all(), seeds=2, episodes=1)
    assert result.summary.keys() == evaluation.summary.keys()
    mean, half = result.summary["average_return"]
    assert np.isfinite([mean, half]).all()


def test_a_policy_evaluates_to_the_results_own_numbers(result):
    """The same keys: `evaluate` and the job agree, number by number."""
    for s, seed in enumerate(result.seeds):
        again = bisimulator.evaluate(result.env(seed), result.policy(seed), seeds=[seed], episodes=2)
        np.testing.assert_allclose(again.episodes["average_return"][0], result.episodes["average_return"][s])


def test_learning_curves_have_metrics_and_the_solvers_diagnostics(result):
    assert result.curves.steps.tolist() == [24, 48, 72, 80]
    for name in ("approx_kl", "clip_fraction", "entropy", "value_loss", "explained_variance"):
        assert result.curves.values[f"solver/{name}"].shape == (4, 2)
    assert result.curves.values["recall_gap"].shape == (4, 2)


def test_frames_figures_and_text(result):
    frame = result.to_frame()
    assert frame[["seed", "episode"]].to_numpy().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert (
        frame["average_return"].to_numpy().reshape(2, 2).tolist()
        == result.episodes["average_return"].tolist()
    )
    assert isinstance(result.plot("recall_gap"), matplotlib.figure.Figure)
    assert len(repr(result).splitlines()) < 10
    assert "average return" in repr(result)
    assert "<table>" in result._repr_html_()


def test_what_a_result_holds_prints_shortly(result):
    evaluation = bisimulator.evaluate(ENV, bisimulator.policies.accept_all(), seeds=2, episodes=1)
    for held in (result.result, result.curves, result.policy(), result.env(), evaluation.outcome):
        assert len(repr(held)) < 300
        assert len(held._repr_html_()) < 600
    assert (
        repr(result.curves)
        == f"Curves(4 points up to step 80, {len(result.curves.values)} columns in .values)"
    )
    assert repr(result.result) == f"Result({result.spec.name}, 2 seeds x 2 episodes)"


def test_without_pandas_the_message_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        result.to_frame()


def test_saved_results_come_back(result, tmp_path):
    result.save(str(tmp_path / "job"))
    again = bisimulator.TrainingResult.load(tmp_path / "job")
    assert again.spec == result.spec
    assert again.summary == result.summary
    obs = np.zeros((3, ENV.observation_size), np.float32)
    np.testing.assert_array_equal(again.policy(1).network(obs), result.policy(1).network(obs))
    with pytest.raises(ValueError, match="holds no finished job"):
        bisimulator.TrainingResult.load(tmp_path)


def test_a_second_call_with_the_same_folder_trains_nothing(result, tmp_path, monkeypatch):
    options = {**TINY, "out": tmp_path}
    first = bisimulator.train(ENV, METHOD, **options)
    monkeypatch.setattr(executors, "run", lambda *a, **k: pytest.fail("trained again"))
    assert bisimulator.train(ENV, METHOD, **options).summary == first.summary


def test_nothing_is_written_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert bisimulator.train(ENV, "threshold", **SMALL).summary["recall_g1"]
    assert not list(tmp_path.iterdir())


def test_a_rule_has_a_policy_too():
    found = bisimulator.train(ENV, "max-util", knows="seen", **SMALL)
    assert found.policy().knows == "seen"
    assert found.curves is None


WRONG = [
    ({"method": "ppo-bisimulator", "alfa": 3}, TypeError, "no parameter 'alfa'. Did you mean 'alpha'"),
    ({"method": "ppo", "solver": {"gama": 1}}, TypeError, "no parameter 'gama'. Did you mean 'gamma'"),
    ({"method": "pppo"}, ValueError, "Unknown method 'pppo'"),
    ({"env": "lendin"}, ValueError, "Unknown environment 'lendin'"),
    ({"env": 3}, TypeError, "env must be a name or come from bisimulator.make, got 3"),
    ({"method": "accept-all", "solver": {"gamma": 1}}, ValueError, "is not trained"),
    ({"seeds": 0}, ValueError, "seeds must be at least 1, got 0"),
    (
        {"env": dataclasses.replace(ENV, name="mine")},
        ValueError,
        "bisimulator.register('environment', 'mine', scenario)",
    ),
]


@pytest.mark.parametrize(("arguments", "error", "message"), WRONG)
def test_mistakes_fail_at_once(arguments, error, message):
    with pytest.raises(error) as raised:
        bisimulator.train(**({"env": "lending", "progress": False} | arguments))
    assert message in str(raised.value)


def test_a_failed_training_raises(monkeypatch):
    def fail(*args, **options):
        raise FloatingPointError("update 3: the loss became NaN or infinite")

    monkeypatch.setattr(executors, "run", fail)
    with pytest.raises(JobsFailed, match="1 of 1 jobs failed: lending ppo: update 3"):
        bisimulator.train(ENV, "ppo", **SMALL, steps=1024)


def test_settings_of_the_environment_are_stored_with_the_job(tmp_path):
    people = bisimulator.make("lending", **SETTINGS, group_probs=np.array([0.25, 0.75]))
    bisimulator.train(people, "accept-all", out=tmp_path, **SMALL)
    (config,) = tmp_path.rglob("config.json")
    settings = json.loads(config.read_text())["settings"]
    assert settings == {**SETTINGS, "group_probs": [0.25, 0.75]}


def test_an_environment_with_another_omega_keeps_it():
    changed = ENV.with_omega(np.array([[1.0, 1.0], [2.0, 0.5]], np.float32))
    found = bisimulator.train(changed, "accept-all", **SMALL)
    np.testing.assert_array_equal(found.env().params.omega, changed.params.omega)


def test_compare_labels_variants_and_survives_failures(monkeypatch, tmp_path):
    run = executors.run

    def spoiled(spec, *args, **options):
        if spec.method == "reject-all":
            raise FloatingPointError("no luck")
        return run(spec, *args, **options)

    monkeypatch.setattr(executors, "run", spoiled)
    methods = ["max-util", "accept-all", "reject-all"]
    with pytest.warns(UserWarning, match="lending reject-all failed: no luck"):
        found = bisimulator.compare(ENV, methods, sweep={"every": [0, 10]}, out=tmp_path, **SMALL)
    assert list(found) == ["max-util (every 0)", "max-util (every 10)", "accept-all"]
    assert found.failed == {"lending reject-all": "no luck"}
    assert found["accept-all"].summary["recall_g1"][0] == 1
    assert found.to_frame().index.tolist() == list(found)
    figure = found.plot()
    assert isinstance(figure, matplotlib.figure.Figure)
    assert "no policy has a higher expected return" in figure.get_supxlabel()
    assert "max-util (every 10)" in repr(found)
    assert "max-util (every 10)" in found._repr_html_()


def test_a_sweep_over_goals_and_options_has_one_job_per_combination():
    specs = make_variants(
        "lending",
        ["ppo", "accept-all"],
        {},
        {"learning_rate": [1e-4, 3e-4]},
        "min-recall=0.8:0.9:0.1",
        seeds=2,
    )
    tried = [(s.method, s.goal, s.solver.learning_rate) for s in specs if s.solver is not None]
    assert tried == [
        ("ppo", f"min-recall={level}", rate) for level in ("0.8", "0.9") for rate in (1e-4, 3e-4)
    ]
    assert [(s.method, s.goal) for s in specs if s.solver is None] == [("accept-all", "")]
    with pytest.raises(ValueError, match="exclude each other"):
        make_variants("lending", ["ppo"], {}, {}, ["min-recall=0.9"], goal="recall-gap=0")


def test_the_fast_preset_is_for_what_is_trained_and_sets_the_steps():
    learned, rule = make_variants("lending", ["ppo", "accept-all"], {}, {}, fast=True, steps=None)
    assert learned == make_spec("lending", "ppo", fast=True)
    assert rule == make_spec("lending", "accept-all")
    level = goal_specs("lending", "ppo", "min-recall=0.8:0.9:0.1", fast=True, steps=None)[0]
    assert level == make_spec("lending", "ppo", goal="min-recall=0.8", fast=True, curve_every=0)


def test_a_sweep_of_an_option_that_no_method_has_is_refused():
    with pytest.raises(TypeError, match=r"no parameter 'kapa'\. Did you mean 'kappa'"):
        bisimulator.compare("lending", ["ppo-bisimulator"], sweep={"kapa": [0]}, progress=False)


@pytest.fixture
def registered():
    added = []

    def add(kind, name, entry):
        bisimulator.register(kind, name, entry)
        added.append((kind, name))

    yield add
    for kind, name in added:
        registry.unregister(kind, name)


def test_what_is_registered_works_everywhere(registered):
    from bisimulator.cli import app

    registered("environment", "my-bank", ENV.scenario)
    registered("method", "my-rule", registry.lookup("method", "accept-all"))
    registered(
        "metric",
        "my-recall",
        dataclasses.replace(RECALL, name="my_recall", over_groups={}, overall=lambda o: {}),
    )
    env = bisimulator.make("my-bank", **SETTINGS)
    found = bisimulator.train(env, "my-rule", **SMALL)
    assert found.summary["my_recall_g1"] == found.summary["recall_g1"]
    assert make_spec("my-bank", "my-rule").name.startswith("my-bank/my-rule-")
    assert app.main(["simulate", "my-bank", "my-rule", *FEW]) == 0
    with pytest.raises(ValueError, match="there is already an environment 'my-bank'"):
        bisimulator.register("environment", "my-bank", ENV.scenario)


def test_everything_public_is_in_dir():
    assert set(bisimulator.__all__) <= set(dir(bisimulator))
    for name in bisimulator.__all__:
        assert getattr(bisimulator, name) is not None


def test_training_towards_a_goal_stores_its_multipliers(tmp_path):
    goal = ["min-recall=0.9", "credit-gap=0.5,raise-only"]
    options = {"solver": SOLVER_OPTIONS, **JOB, "out": tmp_path, "progress": False}
    result = bisimulator.train(ENV, "ppo", goal=goal, control={"eta": 1.0}, **options)
    assert (result.spec.view, result.spec.goal) == ("life", " ".join(goal))
    sizes = {"min-recall": ENV.num_groups, "credit-gap": ENV.num_groups**2}
    for name, size in sizes.items():
        multipliers, slacks = (result.learned[f"{what}/{name}"] for what in ("multiplier", "slack"))
        assert multipliers.shape == slacks.shape == (2, size)
        assert np.isfinite(slacks).all()
        assert (multipliers >= 0).all()
        for curve in (result.curves.values[f"solver/{what}/{name}"] for what in ("multiplier", "violation")):
            assert curve.shape == (4, 2)
            assert (curve >= 0).all()
    assert result.learned["multiplier/min-recall"].any()
    assert np.isfinite(result.summary["recall_g2"][0])
    again = bisimulator.train(ENV, "ppo", goal=goal, control={"eta": 1.0}, **options)
    np.testing.assert_array_equal(
        again.learned["multiplier/credit-gap"], result.learned["multiplier/credit-gap"]
    )


@pytest.mark.long
def test_what_became_of_a_goal_is_exact_where_the_policies_have_exact_values(tmp_path):
    options = {"steps": 32, "solver": SOLVER_OPTIONS, "curve_every": 0, **SMALL}
    result = bisimulator.train(ENV, "ppo", goal="min-recall=0.9", **options)
    (outcome,) = result.goal_outcomes
    assert outcome.measured == "exact"
    assert [round(e.recall.min(), 9) for e in result.expectations] == [
        round(exact_evaluation(result.env(seed), result.policy(seed)).recall.min(), 9)
        for seed in result.seeds
    ]
    assert "Reached (exact)" in repr(result)
    college = bisimulator.make("college", population=5, horizon=6)
    (outcome,) = bisimulator.train(college, "ppo", goal="min-recall=0.9", **options).goal_outcomes
    assert outcome.measured == f"simulated, {SMALL['seeds'] * SMALL['episodes']} episodes"


@pytest.mark.parametrize("wrong", [5, None, ["runs"], "", "a\0b"])
def test_what_is_no_path_is_refused(wrong):
    with pytest.raises((TypeError, ValueError), match=r"folder must be a path, got .*; pass a text"):
        bisimulator.TrainingResult.load(wrong)
