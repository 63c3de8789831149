"""Decisions from what environments say in `info`."""

import numpy as np
import pytest
from gymnasium import spaces

from bisimulator.adapters._decisions import Acceptance, Decisions, join, read_infos, read_vector_info


def test_infos_of_single_environments():
    said = read_infos(
        [{"group": 1, "accepted": True}, {}, {"group": 0, "accepted": False, "qualified": True}]
    )
    np.testing.assert_array_equal(said.group, [1, -1, 0])
    np.testing.assert_array_equal(said.accepted, [1, 0, 0])
    np.testing.assert_array_equal(said.qualified, [0, 0, 1])
    said = read_infos([{"group": 1, "accepted": (True, False)}, {"group": 0, "accepted": (True, True)}])
    np.testing.assert_array_equal(said.accepted, [[1, 0], [1, 1]])
    assert said.qualified is None
    with pytest.raises(ValueError, match="info has no 'group'"):
        read_infos([{}, {"accepted": True}])


def test_infos_of_vector_environments():
    """What ended in this step is in `final_info`."""
    last = {"group": np.array([0, 1]), "_group": np.array([False, True]), "qualified": np.array([0.0, 0.5])}
    info = {"group": np.array([1, 0]), "_group": np.array([True, False]), "qualified": np.array([1.0, 0.0])}
    info |= {"_qualified": info["_group"], "final_info": {**last, "_qualified": last["_group"]}}
    said = read_vector_info(info, 2)
    np.testing.assert_array_equal(said.group, [1, 1])
    np.testing.assert_array_equal(said.qualified, [1.0, 0.5])
    assert said.accepted is None
    np.testing.assert_array_equal(read_vector_info({}, 2).group, [-1, -1])


@pytest.mark.parametrize(
    ("space", "actions", "expected"),
    [
        (spaces.Discrete(3), [0, 1, 2], [0, 1, 1]),
        (spaces.Discrete(3, start=-1), [-1, 0, 1], [0, 1, 1]),
        (spaces.MultiDiscrete([2, 3]), [[0, 0], [0, 2], [1, 0]], [0, 1, 1]),
        (spaces.MultiBinary(2), [[0, 0], [0, 1], [1, 1]], [0, 1, 1]),
    ],
)
def test_every_action_but_the_first_accepts(space, actions, expected):
    np.testing.assert_array_equal(Acceptance(space)(np.array(actions), None), expected)


def test_a_function_or_the_environment_knows_better():
    actions, said = np.array([0, 1, 2]), np.array([1, 0, 0], np.float32)
    np.testing.assert_array_equal(Acceptance(spaces.Discrete(3))(actions, said), said)
    large = Acceptance(spaces.Discrete(3), lambda actions: actions == 2)
    np.testing.assert_array_equal(large(actions, said), [0, 0, 1])
    assert Acceptance(spaces.Box(0, 1))(np.zeros((3, 1)), None) is None
    with pytest.raises(ValueError, match=r"one flag for each of 3 actions, got shape \(\)"):
        Acceptance(spaces.Discrete(3), lambda actions: True)(actions, None)


def test_batches_are_joined():
    one = Decisions({"x": np.zeros((2, 1))}, np.zeros(2), np.zeros(2), np.zeros(2, int), np.zeros((2, 3)))
    both = join([one, one])
    assert both.observations["x"].shape == (4, 1)
    assert both.accepted.shape == (4, 3)
    assert both.qualified is None
