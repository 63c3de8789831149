"""What `evaluate` promises: means, intervals, seeds, and the same episodes whoever simulates them."""

import dataclasses

import jax
import numpy as np
import pytest
from scipy import stats

import bisimulator
from bisimulator import evaluation, policies, registry
from bisimulator.auditing.trajectories import simulate_trajectories
from bisimulator.core import ANOTHER_BRANCH
from bisimulator.evaluation import _evaluate
from bisimulator.jobs.run import run as run_job
from bisimulator.jobs.spec import make_spec
from bisimulator.simulation import evaluation_keys
from bisimulator.solvers import trainer
from tests.matrix import some

ENV = bisimulator.make("lending", population=30, horizon=60)
HALF = policies.random(0.5)


@pytest.fixture(scope="module")
def run():
    return bisimulator.evaluate(ENV, HALF, seeds=4, episodes=3)


def test_values_are_seed_by_episode_and_counts_add_up(run):
    assert all(values.shape == (4, 3) for values in run.episodes.values())
    np.testing.assert_array_equal(run.outcome.count("applied").sum(-1), 60)
    np.testing.assert_array_equal(run.outcome.people.sum(-1), 30)
    approvals = run.outcome.approvals
    assert approvals.shape == (4, 3, 60, 2)
    np.testing.assert_array_equal(approvals[..., -1, :], run.outcome.count("approved"))
    assert (np.diff(approvals, axis=-2) >= 0).all()
    np.testing.assert_array_equal(run.episodes["average_return"], run.outcome.count("reward").sum(-1))


def test_a_seed_gives_the_same_episodes_whatever_the_others_are(run):
    again = bisimulator.evaluate(ENV, HALF, seeds=[2, 9, 5, 4], episodes=3)
    for metric, values in run.episodes.items():
        np.testing.assert_array_equal(values[2], again.episodes[metric][0])
    assert again.seeds == (2, 9, 5, 4)


def test_different_seeds_and_episodes_differ(run):
    assert len(np.unique(run.outcome.counts.reshape(12, -1), axis=0)) == 12


def test_names_are_those_of_the_published_tables(run):
    expected = {
        "average_return",
        "credit_gap",
        "recall_g1",
        "recall_g2",
        "recall_gap",
        "recall_mean",
        "recall_sd",
    }
    assert expected <= set(run.summary)
    assert not any("social_burden" in name for name in run.summary)
    college = bisimulator.make("college", population=20, horizon=20)
    summary = bisimulator.evaluate(college, HALF, seeds=2, episodes=1).summary
    assert {"average_return", "social_burden_g1", "social_burden_g2", "recall_g1", "recall_gap"} <= set(
        summary
    )
    assert not any("credit" in name for name in summary)


def test_interval_is_students_over_the_seeds_means():
    values = np.array([[1.0, 3.0], [5.0, 7.0], [2.0, 2.0]])
    mean, half = evaluation.mean_and_interval(values)
    low, high = stats.t.interval(0.95, 2, np.mean([2, 6, 2]), stats.sem([2, 6, 2]))
    np.testing.assert_allclose((mean - half, mean + half), (low, high), rtol=1e-12)


def test_undefined_episodes_are_left_out():
    nan = np.nan
    values = np.array([[1.0, nan], [nan, nan], [3.0, 5.0]])
    assert evaluation.mean_and_interval(values) == evaluation.mean_and_interval(np.array([[1.0], [4.0]]))
    assert np.isnan(evaluation.mean_and_interval(np.array([[nan]]))).all()
    one = evaluation.mean_and_interval(np.array([[2.0, 4.0]]))
    assert one[0] == 3
    assert np.isnan(one[1])


def test_rejecting_everybody_leaves_precision_undefined():
    summary = bisimulator.evaluate(ENV, policies.reject_all(), seeds=2, episodes=2).summary
    assert summary["average_return"] == (0, 0)
    assert summary["recall_gap"][0] == 0
    assert np.isnan(summary["precision_g1"][0])


def test_printing_shows_the_headline_metrics(run):
    lines = repr(run).splitlines()
    assert lines[0] == "Evaluation of lending: 4 seeds x 3 episodes"
    mean, half = run.summary["average_return"]
    assert lines[1] == f"  average return: {mean:.4g} ± {half:.2g}"
    assert [line.split(":")[0].strip() for line in lines[2:-1]] == [
        "credit gap",
        "recall, mean",
        "recall gap",
        "parity gap",
    ]
    assert lines[-1] == f"  All {len(run.summary)} metrics with their 95% intervals are in .summary"


def test_notebooks_get_a_table_with_escaped_names(run):
    page = dataclasses.replace(run, env="<b>&")._repr_html_()
    assert "Evaluation of &lt;b&gt;&amp;: 4 seeds x 3 episodes" in page
    assert "<b>" not in page
    assert page.count("<tr>") == 5


def test_other_parameters_of_the_same_shape_do_not_compile_again(run):
    size = _evaluate._run._cached._cache_size()
    env = bisimulator.make("lending", population=30, horizon=60, repayment=np.linspace(0.1, 0.5, 7))
    other = bisimulator.evaluate(env, policies.random(0.1), seeds=4, episodes=3)
    assert _evaluate._run._cached._cache_size() == size
    assert other.summary["average_return"][0] < run.summary["average_return"][0]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"seeds": []}, "got 0 of them"),
        ({"seeds": [1, 2, 1]}, "seeds must differ, got 1 twice"),
        ({"seeds": [1, -1]}, "a seed must be at least 0, got -1"),
        ({"seeds": "12"}, "seeds must be a whole number, got '12'"),
        ({"seeds": [0.5]}, "a seed must be a whole number, got 0.5"),
        ({"episodes": 0}, "episodes must be at least 1, got 0"),
        ({"episodes": 2.0}, "episodes must be a whole number, got 2.0"),
    ],
)
def test_wrong_numbers_are_explained(keywords, message):
    with pytest.raises(ValueError, match=message):
        bisimulator.evaluate(ENV, HALF, **keywords)


def test_the_environment_must_be_one():
    with pytest.raises(TypeError, match=r"must come from bisimulator\.make, got 'lending'"):
        bisimulator.evaluate("lending", HALF)


SMALL = {"population": 20, "horizon": 80}
RULES = [
    ("threshold", {}),
    ("eo", {}),
    ("max-util", {"every": 15}),  # refitted during the episode
    ("max-util", {"knows": "seen", "every": 15}),
]


def assert_same_numbers(columns, expected):
    assert columns.keys() == expected.keys()
    for metric, values in expected.items():
        np.testing.assert_array_equal(columns[metric], values, err_msg=metric)


@pytest.mark.parametrize(("method", "config"), some(RULES, (RULES[0], RULES[3])))
def test_evaluate_jobs_and_the_audit_simulate_the_same_episodes(method, config, tmp_path):
    spec = make_spec("lending", method, config=config, settings=SMALL, seeds=3, episodes=2)
    env = spec.make_env()
    rule = registry.lookup("method", method).build(spec.config, env)
    evaluated = bisimulator.evaluate(env, rule, seeds=3, episodes=2)
    job = run_job(spec, tmp_path)
    followed, _ = simulate_trajectories(env, rule, seeds=3, episodes=2)
    assert_same_numbers(job.columns, evaluated.episodes)
    assert_same_numbers(followed.episodes, evaluated.episodes)
    np.testing.assert_array_equal(job.outcome.counts, evaluated.outcome.counts)
    np.testing.assert_array_equal(followed.outcome.counts, evaluated.outcome.counts)


def test_an_episode_of_a_job_does_not_depend_on_its_other_seeds(tmp_path):
    spec = make_spec("lending", "max-util", settings=SMALL, seeds=[7, 2], episodes=2)
    env = spec.make_env()
    rule = registry.lookup("method", "max-util").build(spec.config, env)
    alone = bisimulator.evaluate(env, rule, seeds=[2], episodes=2)
    for metric, values in run_job(spec, tmp_path).columns.items():
        np.testing.assert_array_equal(values[1], alone.episodes[metric][0], err_msg=metric)


def words(keys):
    """Keys as tuples of their words, whatever their shape."""
    data = np.asarray(jax.random.key_data(keys))
    return set(map(tuple, data.reshape(-1, data.shape[-1]).tolist()))


def fold_in(keys, numbers):
    """fold_in of every key and every number."""
    return jax.vmap(lambda k: jax.vmap(lambda n: jax.random.fold_in(k, n))(numbers))(keys)


@pytest.mark.parametrize(("method", "num_keys"), [("ppo", 5), pytest.param("dqn", 4, marks=pytest.mark.long)])
def test_no_evaluation_key_is_used_in_training(method, num_keys):
    seeds, num_envs = range(10), 3
    spec = make_spec("lending", method, settings=SMALL, seeds=10, solver={"num_envs": num_envs})
    env = spec.make_env()
    states = trainer.init(env, spec.make_solver(env), spec.seeds)

    root = jax.numpy.stack([jax.random.key(seed) for seed in seeds])
    children = jax.vmap(lambda key: jax.random.split(key, num_keys))(root)
    pairs = jax.vmap(lambda key: jax.random.split(key, (num_envs, 2)))(children[:, -1])
    run_keys = jax.numpy.concatenate([state.key for state in states])
    env_keys = jax.numpy.concatenate([state.envs.key for state in states])
    assert words(run_keys) == words(children[:, 0])  # the derivation above is the solver's
    assert words(env_keys) == words(pairs[..., 1])

    steps = np.arange(200)
    updates = fold_in(run_keys, steps)
    env_steps = fold_in(env_keys.reshape(-1), steps)
    other_branch = np.array([ANOTHER_BRANCH])
    training = [
        root,
        children,
        pairs,
        updates,
        jax.vmap(lambda key: jax.random.split(key, 3))(updates.reshape(-1)),
        fold_in(updates.reshape(-1), other_branch),
        env_steps,
        fold_in(env_steps.reshape(-1), other_branch),
    ]
    evaluated = words(evaluation_keys(seeds, 20))
    assert len(evaluated) == 200
    for keys in training:
        assert not evaluated & words(keys)
