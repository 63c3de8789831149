"""Rows of numbers from any spaces, compared with Gymnasium's own flattening, and what raises."""

import numpy as np
import pytest
from gymnasium import spaces

from bisimulator.adapters._encoding import Encoding, flatten_batch
from bisimulator.adapters.gymnasium.vector_env import BisimulatorVectorEnv

BOX = spaces.Box(-1, 3, (2,), np.float32)
SPACES = {
    "box": spaces.Box(-1, 1, (2, 3), np.float64),
    "discrete": spaces.Discrete(4, start=2),
    "multi-discrete": spaces.MultiDiscrete([3, 2], start=[1, 0]),
    "multi-binary": spaces.MultiBinary(3),
    "dict": spaces.Dict({"b": BOX, "a": spaces.Discrete(3), "c": spaces.Tuple((BOX, spaces.MultiBinary(2)))}),
}


def batch_of(space, samples):
    """Samples of a space as arrays with a leading axis."""
    if isinstance(space, spaces.Dict):
        return {key: batch_of(inner, [s[key] for s in samples]) for key, inner in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(batch_of(inner, [s[i] for s in samples]) for i, inner in enumerate(space.spaces))
    return np.stack([np.asarray(s) for s in samples])


@pytest.mark.parametrize("name", SPACES)
def test_batches_are_flattened_like_gymnasiums_single_observations(name):
    space = SPACES[name]
    space.seed(0)
    samples = [space.sample() for _ in range(5)]
    expected = np.stack([spaces.utils.flatten(space, sample) for sample in samples])
    np.testing.assert_allclose(flatten_batch(space, batch_of(space, samples), 5), expected, rtol=1e-6)


def test_observations_of_the_librarys_environments_are_rows_already():
    env = BisimulatorVectorEnv("lending", 4, population=10, horizon=20)
    obs, _ = env.reset(seed=0)
    group = obs[:, 1:3].argmax(1)
    encoding = Encoding(
        env.single_observation_space, env.single_action_space, 2, group_entries=env.group_entries
    )
    np.testing.assert_array_equal(encoding.rows(obs, group), obs)


def test_rows_are_score_group_and_other_entries():
    encoding = Encoding(BOX, spaces.Discrete(2), 3, score=1)
    rows = encoding.rows(np.array([[0.0, 3.0], [-1.0, 1.0]]), np.array([2, 0]))
    np.testing.assert_allclose(rows, [[1, 0, 0, 1, 0.25], [0.5, 1, 0, 0, 0]])
    assert encoding.is_fitted
    assert encoding.size == 5


def test_entries_without_bounds_are_standardised_once():
    rng = np.random.default_rng(0)
    encoding = Encoding(spaces.Box(-np.inf, np.inf, (2,), np.float32), spaces.Discrete(2), 2)
    obs, group = rng.normal(50, 9, (400, 2)), rng.integers(2, size=400)
    assert not encoding.is_fitted
    first = encoding.fit_scaling(encoding.rows(obs, group))
    assert encoding.is_fitted
    np.testing.assert_allclose(first, encoding.rows(obs, group), atol=1e-5)
    np.testing.assert_allclose(first[:, [0, 3]].mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(first[:, [0, 3]].std(0), 1, atol=1e-4)
    np.testing.assert_array_equal(first[:, 1:3], np.eye(2)[group])


@pytest.mark.parametrize("score", ["b", lambda obs: obs["b"][:, 0], 3])
def test_scores_of_dict_observations(score):
    space = spaces.Dict({"a": spaces.Discrete(3), "b": BOX})
    obs = {"a": np.array([0, 2]), "b": np.array([[1.0, 0.0], [2.0, 0.0]])}
    rows = Encoding(space, spaces.Discrete(2), 2, score=score).rows(obs, np.array([0, 1]))
    assert rows[1, 0] - rows[0, 0] == pytest.approx(0.25 if score == 3 else 1)


def test_actions_become_one_number_and_0_rejects():
    pair = spaces.MultiDiscrete([2, 3])
    actions = np.array([[0, 0], [0, 2], [1, 0], [1, 2]])
    np.testing.assert_array_equal(Encoding(BOX, pair, 2).actions(actions), [0, 2, 3, 5])
    np.testing.assert_array_equal(Encoding(BOX, pair, 2, reject=[1, 0]).actions(actions), [3, 2, 0, 5])
    other = Encoding(BOX, spaces.Discrete(3, start=5), 2, reject=6)
    np.testing.assert_array_equal(other.actions(np.array([5, 6, 7])), [1, 0, 2])
    np.testing.assert_array_equal(
        Encoding(BOX, spaces.MultiBinary(2), 2).actions(np.array([[0, 1], [1, 1]])), [1, 3]
    )


@pytest.mark.parametrize(
    ("observations", "actions", "options", "message"),
    [
        (BOX, spaces.Box(-1, 1), {}, "continuous decisions are never the same; discretise them"),
        (BOX, spaces.MultiDiscrete([200, 200]), {}, "at most 1024 different actions, got 40000"),
        (spaces.Sequence(BOX), spaces.Discrete(2), {}, "fixed number of entries"),
        (spaces.Text(5), spaces.Discrete(2), {}, "score must say by which number people are matched"),
        (SPACES["dict"], spaces.Discrete(2), {}, "score must say by which number people are matched"),
        (SPACES["dict"], spaces.Discrete(2), {"score": "income"}, "its keys are: 'a', 'b', 'c'"),
        (BOX, spaces.Discrete(2), {"score": 2}, "0 to 1, got 2"),
        (BOX, spaces.Discrete(2), {"score": -1}, "score must be at least 0"),
        (BOX, spaces.Discrete(2), {"num_groups": 1}, "num_groups must be at least 2"),
    ],
)
def test_unsupported_spaces_and_wrong_options(observations, actions, options, message):
    with pytest.raises(ValueError, match=message):
        Encoding(observations, actions, options.pop("num_groups", 2), **options)


def test_a_score_function_must_return_one_number_per_observation():
    encoding = Encoding(BOX, spaces.Discrete(2), 2, score=lambda obs: obs)
    with pytest.raises(ValueError, match="one number for each of 3 observations"):
        encoding.rows(np.zeros((3, 2)), np.zeros(3, int))
