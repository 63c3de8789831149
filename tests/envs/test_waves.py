"""Visits in waves: each once, nobody twice at a time, everybody's in the order of time."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bisimulator.envs import _waves as waves


def check(visitor, people, found):
    size, rows = len(visitor), np.asarray(found.visits)
    late = np.asarray(found.late)[: int(found.late_count)]
    assert sorted([*rows[rows < size], *late]) == list(range(size))
    turn = np.full(size, -1)
    for number, row in enumerate(rows):
        row = row[row < size]
        assert len(set(visitor[row])) == len(row)
        turn[row] = number
    turn[late] = len(rows) + np.arange(len(late))
    for person in range(people):
        assert (np.diff(turn[visitor == person]) > 0).all()
    in_time = turn < len(rows)
    np.testing.assert_array_equal(rows.ravel()[np.asarray(found.place)[in_time]], np.flatnonzero(in_time))
    assert (np.asarray(found.place)[~in_time] == rows.size).all()


@pytest.mark.parametrize("rows", [None, 1, 3, 8])
def test_every_visit_comes_once_and_nobody_twice_at_a_time(rows):
    with pytest.MonkeyPatch.context() as patch:
        if rows is not None:
            patch.setattr(waves, "number_of_waves", lambda visits, people: rows)
        compiled = jax.jit(lambda visitor: waves.in_waves(visitor, 6))

        @given(visitor=st.lists(st.integers(0, 5), min_size=24, max_size=24))
        def any_visits(visitor):
            check(np.array(visitor), 6, compiled(np.array(visitor)))

        any_visits()


@pytest.mark.parametrize(("people", "size"), [(1, 1), (1, 5), (4, 1), (7, 3), (3, 60)])
def test_few_people_and_few_visits(people, size):
    visitor = np.random.default_rng(0).integers(0, people, size)
    found = jax.jit(lambda visitor: waves.in_waves(visitor, people))(visitor)
    check(visitor, people, found)
    assert found.late_count == 0


@pytest.mark.parametrize(("people", "size"), [(1000, 10_000), (100, 10_000), (100_000, 10_000)])
def test_in_the_sizes_that_are_used_nobody_is_late_and_hardly_a_place_is_empty(people, size):
    compiled = jax.jit(lambda visitor: waves.in_waves(visitor, people))
    for seed in range(20):
        visitor = np.random.default_rng(seed).integers(0, people, size)
        found = compiled(visitor)
        assert found.late_count == 0
    check(visitor, people, found)
    assert found.visits.size < 1.02 * size
