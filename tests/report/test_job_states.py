"""The state of many jobs, from events alone and with a clock that is set by hand."""

import dataclasses

import pytest

from bisimulator.jobs.executors import Event
from bisimulator.jobs.spec import make_spec
from bisimulator.jobs.store import Result
from bisimulator.report._job_states import JobStates
from bisimulator.report.text import clock
from bisimulator.solvers.trainer import Progress

SPECS = [make_spec("lending", method, seeds=2) for method in ("ppo", "ppo", "dqn", "accept-all")]
HALF = Progress(5, 10, 500, 1000.0, 5.5, (0.25, 0.75), {"loss": 0.125})


@pytest.fixture
def states():
    now = [100.0]
    states = JobStates(SPECS, now=lambda: now[0])
    states.set = lambda value: now.__setitem__(0, value)
    return states


def at(share):
    return dataclasses.replace(HALF, update=round(10 * share))


def result(job, seconds):
    return Result(SPECS[job], None, {}, seconds=seconds)


def test_a_job_goes_from_waiting_to_finished(states):
    assert [job.state for job in states.jobs] == ["waiting"] * 4
    assert (states.done, states.share, states.all_remaining) == (0, 0.0, None)
    states.update(Event(0, "started"))
    assert (states.jobs[0].state, states.jobs[0].share) == ("running", 0.0)
    states.update(Event(0, "progress", progress=HALF))
    assert states.jobs[0].share == 0.5
    states.update(Event(0, "finished", result=result(0, 20.0)))
    assert (states.jobs[0].state, states.done) == ("finished", 1)


def test_a_job_that_was_finished_before(states):
    states.update(Event(0, "kept", result=result(0, 20.0)))
    assert (states.jobs[0].state, states.jobs[0].share, states.done) == ("kept", 1.0, 1)


def test_the_remaining_time_of_a_job_follows_its_own_pace_since_it_was_resumed(states):
    states.update(Event(0, "started"))
    states.set(130.0)  # compiling
    states.update(Event(0, "progress", progress=at(0.2)))
    assert states.remaining(states.jobs[0]) is None
    states.set(134.0)
    states.update(Event(0, "progress", progress=at(0.4)))
    assert states.remaining(states.jobs[0]) == pytest.approx(12.0)  # 4 s for two tenths, six tenths left


def test_the_remaining_time_of_waiting_jobs_follows_from_similar_ones(states):
    states.update(Event(0, "finished", result=result(0, 20.0)))
    assert states.remaining(states.jobs[1]) == 20.0  # the same method
    assert states.all_remaining == 40.0  # dqn trains as many steps, and accept-all none
    states.update(Event(1, "started"))
    states.set(103.0)
    assert states.remaining(states.jobs[1]) == 17.0
    states.set(150.0)
    assert states.remaining(states.jobs[1]) == 0.0
    states.set(100.0)
    states.update(Event(2, "finished", result=result(2, 60.0)))
    states.update(Event(3, "finished", result=result(3, 1.0)))
    assert states.all_remaining == 20.0
    assert states.share == pytest.approx(81 / 101)


def test_the_remaining_time_of_all_jobs_is_known_once_the_first_one_trains(states):
    states.update(Event(0, "started"))
    states.set(110.0)  # compiling
    assert states.all_remaining is None
    states.update(Event(0, "progress", progress=at(0.1)))
    states.set(112.0)
    states.update(Event(0, "progress", progress=at(0.2)))
    # 2 s for a tenth: 16 s for the rest of it, and 20 s each for the other two trainings
    assert states.all_remaining == pytest.approx(16 + 20 + 20)


def test_failed_lost_and_busy_jobs(states):
    states.update(Event(0, "started"))
    states.update(Event(0, "elsewhere"))
    assert states.jobs[0].state == "elsewhere"
    states.update(Event(1, "progress", progress=HALF))
    states.update(Event(1, "retried", message="its worker died"))
    assert (states.jobs[1].state, states.jobs[1].share) == ("waiting", 0.0)
    states.update(Event(2, "failed", message="not finite"))
    assert (states.jobs[2].state, states.jobs[2].message, states.done) == ("failed", "not finite", 1)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, "-:--"), (0.2, "0:00"), (65, "1:05"), (3723.4, "1:02:03"), (59.6, "1:00")]
)
def test_times_as_on_a_clock(seconds, shown):
    assert clock(seconds) == shown


def test_jobs_that_run_side_by_side_share_the_time(states):
    for job in (0, 1):
        states.update(Event(job, "started"))
        states.update(Event(job, "progress", progress=at(0.2)))
    states.set(104.0)
    for job in (0, 1):
        states.update(Event(job, "progress", progress=at(0.4)))
    assert states.remaining(states.jobs[0]) == pytest.approx(12.0)
    left = [12.0, 12.0, 20.0, 0.0]  # the third waits and takes as long as the first two; a rule takes no time
    assert states.all_remaining == pytest.approx(sum(left) / 2)
