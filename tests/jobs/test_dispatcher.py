"""Parts of jobs in the hands of workers that do as they are told."""

import dataclasses
import json
from collections import Counter

import pytest

from bisimulator.errors import Interrupted
from bisimulator.jobs.dispatcher import RETRIES, Report, dispatch, progress_from_dict, together
from bisimulator.jobs.run import run
from bisimulator.solvers.trainer import Progress
from tests.jobs.test_run import assert_same, learned, rule


class Workers:
    """Runs parts in this process, one per look, and reports what `mishaps` says of the first of them instead."""

    def __init__(self, *mishaps):
        self.waiting, self.mishaps, self.submitted, self.cancelled = [], list(mishaps), [], set()

    def submit(self, part):
        self.waiting.append(part)
        self.submitted.append((part.job, part.index))

    def reports(self):
        part = self.waiting.pop(0)
        yield Report(part, "begun")
        mishap = self.mishaps.pop(0) if self.mishaps else None
        if mishap == "stop":
            self.waiting.append(part)
            raise KeyboardInterrupt
        if mishap is None:
            run(part.spec, part.out)
        yield Report(part, mishap or "finished", message="said so")

    def cancel(self, parts):
        self.cancelled |= {(part.job, part.index) for part in parts}
        self.waiting = [part for part in self.waiting if part not in parts]


def kinds_of(told, job):
    return [event.kind for event in told if event.job == job]


def test_parts_are_joined_and_results_come_in_the_order_of_the_jobs(tmp_path):
    specs, told = [learned(seeds=2), rule()], []
    results = dispatch(Workers(), specs, tmp_path / "parts", told.append)
    for result, spec in zip(results, specs, strict=True):
        assert_same(result, run(spec, tmp_path / "whole"))
    assert kinds_of(told, 0) == kinds_of(told, 1) == ["started", "finished"]


def test_what_is_there_is_not_run_again(tmp_path):
    specs, told = [rule(), learned(seeds=2)], []
    dispatch(Workers(), specs, tmp_path, lambda event: None)
    workers = Workers()
    dispatch(workers, specs, tmp_path, told.append)
    assert workers.submitted == []
    assert kinds_of(told, 0) == kinds_of(told, 1) == ["kept"]


@pytest.mark.parametrize(("mishap", "kind"), [("died", "retried"), ("busy", "elsewhere")])
def test_a_part_whose_worker_dies_or_that_another_command_is_at_comes_again(tmp_path, mishap, kind):
    workers, told = Workers(mishap), []
    (result,) = dispatch(workers, [rule()], tmp_path, told.append)
    assert workers.submitted == [(0, 0)] * 2
    assert Counter(kinds_of(told, 0))[kind] == 1
    assert_same(result, run(rule(), tmp_path))


def test_a_job_of_which_a_part_fails_is_given_up_and_no_other(tmp_path):
    workers, told = Workers("failed"), []
    results = dispatch(workers, [learned(seeds=2), rule()], tmp_path, told.append)
    assert results[0] is None
    assert results[1] is not None
    assert workers.cancelled == {(0, 0), (0, 1)}
    assert [(e.job, e.message) for e in told if e.kind == "failed"] == [(0, "said so")]


def test_a_worker_that_always_dies_is_given_up(tmp_path):
    told = []
    assert dispatch(Workers(*["died"] * 99), [rule()], tmp_path, told.append) == [None]
    assert told[-1].message == f"its worker died {RETRIES + 1} times (said so)"


def test_an_interrupt_stops_the_workers_and_says_what_is_left(tmp_path):
    workers = Workers(None, "stop")
    with pytest.raises(Interrupted, match="stopped with 1 of 2 jobs left; run the same command again"):
        dispatch(workers, [rule(), learned(seeds=2)], tmp_path, lambda event: None)
    assert workers.cancelled == {(1, 0), (1, 1)}


def progress(update, updates, speed):
    return Progress(update, updates, 10 * update, speed, float(update), (0.5, 1.0), {"loss": 1.0})


def test_a_job_is_as_far_as_its_parts_together():
    parts = [progress(4, 4, 7.0), progress(2, 4, 5.0)]
    whole = together(parts, 3)  # the third has not begun
    assert (whole.update, whole.updates, whole.steps) == (2, 4, 20)
    assert whole.steps_per_second == 5.0  # one of them is done
    assert (whole.episode_return, whole.recall, whole.loss) == (3.0, (0.5, 1.0), 1.0)


def test_progress_survives_json():
    there = progress(2, 4, 5.0)
    assert progress_from_dict(json.loads(json.dumps(dataclasses.asdict(there)))) == there
