"""Progress of jobs: a live table on a terminal, lines elsewhere, JSON for machines."""

import dataclasses
import io
import json

from rich.console import Console

from bisimulator.jobs.executors import Event
from bisimulator.jobs.papers import paper_jobs
from bisimulator.report import progress
from bisimulator.report._job_states import JobStates, result_cells
from bisimulator.report.progress import live_table, progress_view, recalls
from tests.report.synthetic_results import synthetic_result
from tests.report.test_job_states import HALF


def test_machines_get_progress_as_json_and_unknown_numbers_as_null():
    states, text = JobStates(paper_jobs(["college"], ["ppo"], seeds=1)), io.StringIO()
    with progress_view(states, Console(file=text), as_json=True) as show:
        show(Event(0, "started"))
        show(Event(0, "progress", progress=dataclasses.replace(HALF, episode_return=float("nan"))))
    events = [json.loads(line) for line in text.getvalue().splitlines()]
    assert events[1]["progress"]["episode_return"] is None
    assert (events[1]["progress"]["steps"], events[1]["share"]) == (500, 0.5)


def test_on_a_terminal_running_jobs_are_redrawn_and_finished_rows_stay():
    specs = paper_jobs(["college"], ["ppo", "accept-all", "dqn", "threshold", "eo"], seeds=2)
    states = JobStates(specs)
    states.update(Event(0, "progress", progress=HALF))
    states.update(Event(1, "elsewhere"))
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    console.print(live_table(states))
    shown = console.file.getvalue()
    assert "college   ppo" in shown
    assert "50%    1,000" in shown
    assert "in another process" in shown
    assert "waiting" in shown
    assert "0 of 5 jobs" in shown
    console = Console(file=io.StringIO(), width=200, force_terminal=True, color_system=None)
    with progress_view(states, console) as show:
        show(Event(0, "finished", result=synthetic_result("college", seeds=2)))
        show(Event(1, "failed", message="update 3: [the] loss"))
    assert "[1/5] college ppo" in console.file.getvalue()
    assert "failed, update 3: [the] loss" in console.file.getvalue()


def test_many_waiting_jobs_are_counted():
    states = JobStates(paper_jobs(["lending"], seeds=2))
    console = Console(file=io.StringIO(), width=120)
    console.print(live_table(states))
    assert f"and {len(states.jobs) - 3} more" in console.file.getvalue()


def test_long_trainings_print_lines(monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", -1.0)
    states, text = JobStates(paper_jobs(["college"], ["ppo"], seeds=1)), io.StringIO()
    with progress_view(states, Console(file=text, width=200)) as show:
        show(Event(0, "started"))
        show(Event(0, "progress", progress=HALF))
        show(Event(0, "retried", message="its worker died, it is given to another"))
        for _ in range(3):
            show(Event(0, "elsewhere"))
    lines = text.getvalue().splitlines()
    assert lines[0].startswith(
        "college ppo: 50%, -:-- remaining, 500 steps, 1,000 steps/s, return 6, recall 0.25 / 0.75"
    )
    assert lines[1:] == [
        "college ppo: its worker died, it is given to another",
        "college ppo: another process works on it, left for later",
    ]


def test_elsewhere_than_on_a_terminal_there_is_nothing_in_the_first_seconds():
    states = JobStates(paper_jobs(["college"], ["ppo"], seeds=1))
    for console in (Console(file=io.StringIO()), None):
        with progress_view(states, console) as show:
            show(Event(0, "started"))
            show(Event(0, "progress", progress=HALF))
        assert states.jobs[0].share == 0.5
        assert console is None or console.file.getvalue() == ""


def test_of_many_groups_the_lowest_and_the_highest_recall_are_shown():
    assert recalls(HALF) == "0.25 / 0.75"
    many = dataclasses.replace(HALF, recall=(0.5, 0.9, 0.3, 0.4, 0.6))
    assert recalls(many) == "0.30 / 0.90"


def test_the_cells_of_a_result_have_the_published_number_in_parentheses():
    result = synthetic_result("college", noise=0.0)
    cells = result_cells(result)
    assert cells[0] == "return 1000.0±0.0 (193.9±6.5)"
    assert len(cells) == 6
