"""Rounds of visits: each visit is in one round, nobody is in a round twice, and visits stay in time order."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bisimulator.envs import _parallel_rounds as parallel_rounds


def check(visitor, people, rounds):
    size, rows = len(visitor), np.asarray(rounds.visits)
    overflow = np.asarray(rounds.overflow)[: int(rounds.num_overflow)]
    assert sorted([*rows[rows < size], *overflow]) == list(range(size))
    turn = np.full(size, -1)
    for number, row in enumerate(rows):
        row = row[row < size]
        assert len(set(visitor[row])) == len(row)
        turn[row] = number
    turn[overflow] = len(rows) + np.arange(len(overflow))
    for person in range(people):
        assert (np.diff(turn[visitor == person]) > 0).all()
    fits = turn < len(rows)
    np.testing.assert_array_equal(rows.ravel()[np.asarray(rounds.cell)[fits]], np.flatnonzero(fits))
    assert (np.asarray(rounds.cell)[~fits] == rows.size).all()


@pytest.mark.parametrize("rows", [None, 1, 3, 8])
def test_every_visit_is_in_one_round_and_nobody_is_in_a_round_twice(rows):
    with pytest.MonkeyPatch.context() as patch:
        if rows is not None:
            patch.setattr(parallel_rounds, "num_rounds", lambda visits, people: rows)
        compiled = jax.jit(lambda visitor: parallel_rounds.assign_rounds(visitor, 6))

        @given(visitor=st.lists(st.integers(0, 5), min_size=24, max_size=24))
        def any_visits(visitor):
            check(np.array(visitor), 6, compiled(np.array(visitor)))

        any_visits()


@pytest.mark.parametrize(("people", "size"), [(1, 1), (1, 5), (4, 1), (7, 3), (3, 60)])
def test_few_people_and_few_visits_do_not_overflow(people, size):
    visitor = np.random.default_rng(0).integers(0, people, size)
    rounds = jax.jit(lambda visitor: parallel_rounds.assign_rounds(visitor, people))(visitor)
    check(visitor, people, rounds)
    assert rounds.num_overflow == 0


@pytest.mark.parametrize(("people", "size"), [(1000, 10_000), (100, 10_000), (100_000, 10_000)])
def test_usual_sizes_do_not_overflow_and_leave_hardly_a_cell_empty(people, size):
    compiled = jax.jit(lambda visitor: parallel_rounds.assign_rounds(visitor, people))
    for seed in range(20):
        visitor = np.random.default_rng(seed).integers(0, people, size)
        rounds = compiled(visitor)
        assert rounds.num_overflow == 0
    check(visitor, people, rounds)
    assert rounds.visits.size < 1.02 * size
