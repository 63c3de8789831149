"""Many jobs one after the other: results in order, failures told, nothing repeated that another process does."""

import threading
from contextlib import nullcontext

import pytest

from bisimulator import registry
from bisimulator.jobs import _lock as locking
from bisimulator.jobs import _processes, dispatcher, executors
from bisimulator.jobs import run as jobs
from bisimulator.jobs.spec import make_spec
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


@pytest.fixture
def places(monkeypatch):
    """Where jobs were run, if they were."""
    seen = []
    monkeypatch.setattr(executors, "run_in_turn", lambda *args: seen.append("here"))
    monkeypatch.setattr(_processes, "worker_processes", lambda count: nullcontext(seen.append(count)))
    monkeypatch.setattr(dispatcher, "dispatch", lambda *args: None)
    monkeypatch.setattr(executors, "available_cores", lambda: 4)
    return seen


def test_workers_are_started_where_it_is_worth_it(tmp_path, places):
    long = make_spec("lending", "ppo", seeds=2, steps=executors._WORTH_WORKERS // 2)
    short = make_spec("lending", "ppo", seeds=2, steps=1024)
    for specs, processes in (([long], None), ([short], None), ([short], 3), ([long], 1), (SPECS, None)):
        executors.run_locally(specs, tmp_path, lambda event: None, processes=processes)
    assert places == [4, "here", 3, "here", "here"]


def test_what_this_program_registered_runs_in_this_process(tmp_path, places):
    registry.register("environment", "ours", registry.lookup("environment", "lending"))
    try:
        executors.run_locally([make_spec("ours", "ppo")], tmp_path, lambda event: None)
    finally:
        registry.unregister("environment", "ours")
    assert places == ["here"]


def test_finished_jobs_start_no_workers(tmp_path, monkeypatch):
    expected, told = executors.run_in_turn(SPECS, tmp_path, lambda event: None), []
    monkeypatch.setattr(_processes, "worker_processes", None)
    results = executors.run_locally(SPECS, tmp_path, told.append, processes=2)
    for found, result in zip(results, expected, strict=True):
        assert_same(found, result)
    assert [event.kind for event in told] == ["kept"] * len(SPECS)
