"""Where many jobs stand, from events alone and a clock that is set by hand."""

import dataclasses

import pytest

from bisimulator.jobs.executors import Event
from bisimulator.jobs.spec import make_spec
from bisimulator.jobs.store import Result
from bisimulator.report._job_states import Board, clock
from bisimulator.solvers.trainer import Progress

SPECS = [make_spec("lending", method, seeds=2) for method in ("ppo", "ppo", "dqn", "accept-all")]
HALF = Progress(5, 10, 500, 1000.0, 5.5, (0.25, 0.75), {"loss": 0.125})


@pytest.fixture
def board():
    now = [100.0]
    board = Board(SPECS, now=lambda: now[0])
    board.set = lambda value: now.__setitem__(0, value)
    return board


def at(share):
    return dataclasses.replace(HALF, update=round(10 * share))


def result(job, seconds):
    return Result(SPECS[job], None, {}, seconds=seconds)


def test_a_job_goes_from_waiting_to_finished(board):
    assert [job.state for job in board.jobs] == ["waiting"] * 4
    assert (board.done, board.share, board.all_remaining) == (0, 0.0, None)
    board.take(Event(0, "started"))
    assert (board.jobs[0].state, board.jobs[0].share) == ("running", 0.0)
    board.take(Event(0, "progress", progress=HALF))
    assert board.jobs[0].share == 0.5
    board.take(Event(0, "finished", result=result(0, 20.0)))
    assert (board.jobs[0].state, board.done) == ("finished", 1)


def test_a_job_that_was_there_already_is_kept(board):
    board.take(Event(0, "kept", result=result(0, 20.0)))
    assert (board.jobs[0].state, board.jobs[0].share, board.done) == ("kept", 1.0, 1)


def test_what_remains_of_a_job_follows_its_own_pace_since_it_was_taken_up(board):
    board.take(Event(0, "started"))
    board.set(130.0)  # compiling
    board.take(Event(0, "progress", progress=at(0.2)))
    assert board.remaining(board.jobs[0]) is None
    board.set(134.0)
    board.take(Event(0, "progress", progress=at(0.4)))
    assert board.remaining(board.jobs[0]) == pytest.approx(12.0)  # 4 s for two tenths, six tenths left


def test_what_others_took_tells_what_remains_of_those_that_wait(board):
    board.take(Event(0, "finished", result=result(0, 20.0)))
    assert board.remaining(board.jobs[1]) == 20.0  # the same method
    assert board.all_remaining is None  # nothing is known of the others
    board.take(Event(1, "started"))
    board.set(103.0)
    assert board.remaining(board.jobs[1]) == 17.0
    board.set(150.0)
    assert board.remaining(board.jobs[1]) == 0.0
    board.set(100.0)
    board.take(Event(2, "finished", result=result(2, 60.0)))
    board.take(Event(3, "finished", result=result(3, 1.0)))
    assert board.all_remaining == 20.0
    assert board.share == pytest.approx(81 / 101)


def test_failed_lost_and_busy_jobs(board):
    board.take(Event(0, "started"))
    board.take(Event(0, "elsewhere"))
    assert board.jobs[0].state == "elsewhere"
    board.take(Event(1, "progress", progress=HALF))
    board.take(Event(1, "retried", message="its worker died"))
    assert (board.jobs[1].state, board.jobs[1].share) == ("waiting", 0.0)
    board.take(Event(2, "failed", message="not finite"))
    assert (board.jobs[2].state, board.jobs[2].message, board.done) == ("failed", "not finite", 1)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, "-:--"), (0.2, "0:00"), (65, "1:05"), (3723.4, "1:02:03"), (59.6, "1:00")]
)
def test_times_as_on_a_clock(seconds, shown):
    assert clock(seconds) == shown
