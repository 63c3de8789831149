"""Observations that are arrays, dictionaries or tuples."""

import numpy as np

from bisimulator.adapters._pytrees import add_batch_axis, concatenate, copy_arrays, stack


def nested(value):
    return {"b": (np.full(2, value), value), "a": [value, value]}


def test_stack_and_concatenate():
    batch = stack([nested(1.0), nested(2.0)])
    np.testing.assert_array_equal(batch["b"][0], [[1, 1], [2, 2]])
    np.testing.assert_array_equal(batch["b"][1], [1, 2])
    np.testing.assert_array_equal(batch["a"], [[1, 1], [2, 2]])  # a list is one array
    both = concatenate([batch, add_batch_axis(nested(3.0))])
    np.testing.assert_array_equal(both["b"][1], [1, 2, 3])
    np.testing.assert_array_equal(both["a"][2], [3, 3])


def test_copies_do_not_share_memory():
    original = nested(1.0)
    copied = copy_arrays(original)
    original["b"][0][:] = 9
    np.testing.assert_array_equal(copied["b"][0], 1)
