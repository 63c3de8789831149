"""Many jobs one after the other: results in order, failures told, nothing repeated that another process does."""

import threading

import pytest

from bisimulator.jobs import _lock as locking
from bisimulator.jobs import executors
from bisimulator.jobs import run as jobs
from tests.jobs.test_run import assert_same, rule

SPECS = [rule(seeds=[seed]) for seed in range(3)]


@pytest.fixture
def computed(monkeypatch):
    """Which jobs' episodes were simulated."""
    seen, simulate = [], jobs.run_episodes

    def watched(env, policy, keys):
        seen.append(keys)
        return simulate(env, policy, keys)

    monkeypatch.setattr(jobs, "run_episodes", watched)
    return seen


def test_results_come_in_the_order_of_the_jobs_and_are_told(tmp_path):
    told = []
    results = executors.run_locally(SPECS, tmp_path, told.append)
    assert [result.spec for result in results] == SPECS
    assert [(e.job, e.kind) for e in told] == [(j, k) for j in range(3) for k in ("started", "finished")]
    assert [e.result for e in told if e.kind == "finished"] == results


def test_a_job_that_fails_does_not_stop_the_others(tmp_path, monkeypatch):
    run = executors.run

    def spoiled(spec, *args, **keywords):
        if spec == SPECS[1]:
            raise FloatingPointError("update 3: the loss became NaN or infinite")
        return run(spec, *args, **keywords)

    monkeypatch.setattr(executors, "run", spoiled)
    told = []
    results = executors.run_locally(SPECS, tmp_path, told.append)
    assert [result is None for result in results] == [False, True, False]
    assert [(e.job, e.message) for e in told if e.kind == "failed"] == [
        (1, "update 3: the loss became NaN or infinite")
    ]


def test_what_another_process_is_at_comes_last(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "_SECONDS_BETWEEN_LOOKS", 0.01)
    release, told = threading.Event(), []
    folder = tmp_path / SPECS[0].name

    def other():
        with locking.only_one(folder, patience=0):
            ready.set()
            release.wait()

    ready = threading.Event()
    thread = threading.Thread(target=other)
    thread.start()
    ready.wait()

    def tell(event):
        told.append((event.job, event.kind))
        if told.count((0, "elsewhere")) == 3:  # looked at again and again when nothing else is left
            release.set()

    results = executors.run_locally(SPECS, tmp_path, tell)
    thread.join()
    assert [result.spec for result in results] == SPECS
    finished = [job for job, kind in told if kind == "finished"]
    assert finished == [1, 2, 0]


def test_two_at_one_store_do_no_job_twice_and_have_the_same_results(tmp_path, computed, monkeypatch):
    monkeypatch.setattr(executors, "_SECONDS_BETWEEN_LOOKS", 0.01)
    specs = [rule(seeds=[seed]) for seed in range(6)]
    found = {}

    def work(name):
        found[name] = executors.run_locally(specs, tmp_path, lambda event: None)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(computed) == len(specs)
    for one, other in zip(found["one"], found["other"], strict=True):
        assert_same(one, other)
