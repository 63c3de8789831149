"""Functions of score and group decide exactly where they change."""

import math

import numpy as np
import pytest

from bisimulator.auditing.group_numbers import score_table
from bisimulator.auditing.read_policy import read_policy
from bisimulator.auditing.score_functions import from_function, load_function
from bisimulator.evaluation._exact_evaluation import acceptance

FUNCTIONS = """
def by_score(score, group):
    return score >= (500 if group == "down" else 650)

def half(group, score):
    return 0.5

def by_observation(observations):
    return observations[..., 0] >= 0.5

def wrong(score, group):
    return "maybe"

number = 3
"""


@pytest.fixture
def functions(tmp_path):
    path = tmp_path / "my_rules.py"
    path.write_text(FUNCTIONS, encoding="utf-8")
    return path


def table_at(audited, score):
    """What the audited policy does at a score, by group."""
    edges = audited.env.params.score_edges
    c = int(np.searchsorted(edges, score, side="right")) - 1
    return score_table(audited.env, audited.policy)[:, c].tolist()


def test_a_function_is_split_where_its_decisions_change(env, functions):
    audited = read_policy(f"{functions}:by_score", env)
    edges = audited.env.params.score_edges
    assert {500.0, 650.0} <= set(edges)
    assert [table_at(audited, score) for score in (499.99, 500, 649.99, 650, 850 - 1e-6)] == [
        [0, 0],
        [0, 1],
        [0, 1],
        [1, 1],
        [1, 1],
    ]
    assert "Each bin is split in 3 parts" in audited.notes[0]


def test_a_constant_probability_needs_no_split(env, functions):
    half = from_function("half", load_function(f"{functions}:half"), env)
    assert half.env is env
    np.testing.assert_array_equal(half.policy.probabilities, np.full((2, 4), 0.5))


def test_a_smooth_function_is_averaged_over_fine_parts(env):
    def smooth(score, group):
        return 1 / (1 + math.exp((600 - score) / 40))

    audited = from_function("smooth", smooth, env)
    assert audited.env.params.num_scores == 120
    edges = np.array(audited.env.params.score_edges)
    middles = (edges[1:] + edges[:-1]) / 2
    np.testing.assert_allclose(
        score_table(audited.env, audited.policy)[0], [smooth(m, "") for m in middles], atol=1e-3
    )
    assert "change at many scores" in audited.notes[0]


def test_functions_of_observations_are_policies_as_they_are(env, functions):
    audited = read_policy(f"{functions}:by_observation", env)
    table = acceptance(env, audited.policy, 1)[:, :, 0, 0]
    np.testing.assert_array_equal(table, [[0, 0, 1, 1]] * 2)


def test_functions_of_modules_are_imported(env):
    name = "tests.auditing.test_score_functions:accept_from_half"
    assert read_policy(name, env).name == name


def accept_from_half(observations):
    return observations[..., 0] >= 0.5


def test_a_function_must_return_a_probability(env, functions):
    with pytest.raises(
        ValueError, match="must return True, False or a probability, got 'maybe' for score 300"
    ):
        read_policy(f"{functions}:wrong", env)
    with pytest.raises(ValueError, match="has no function 'number'"):
        read_policy(f"{functions}:number", env)
