"""What a store holds is seen without touching it, and only what may go is removed."""

import shutil

import numpy as np
import pytest

from bisimulator import files
from bisimulator.jobs import _lock as locking
from bisimulator.jobs import inventory
from bisimulator.jobs import run as jobs
from tests.jobs.test_run import rule


def fake_checkpoint(folder, done=3, updates=12):
    files.write_arrays(folder / "checkpoint.npz", {"done": np.array([done, updates])})


@pytest.fixture
def store(tmp_path):
    """A finished job, a stopped one, one with a damaged result, one that was started."""
    jobs.run(rule(), tmp_path)
    finished = tmp_path / rule().name
    for name in ("stopped", "damaged", "begun"):
        shutil.copytree(finished, finished.with_name(name))
    for name in ("stopped", "begun"):
        for path in finished.with_name(name).iterdir():
            if path.name != "config.json":
                path.unlink()
    fake_checkpoint(finished.with_name("stopped"))
    (finished.with_name("damaged") / "outcome.npz").write_bytes(b"no archive")
    (finished.with_name("damaged") / "learned.npz.damaged").write_bytes(b"old")
    (finished.with_name("stopped") / ".unfinished-checkpoint.npz.x").write_bytes(b"half")
    return tmp_path


def snapshot(store):
    return {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}


def found(store):
    return {job.folder.name.split("-")[0]: job for job in inventory.inventory(store)}


def test_every_job_has_its_state_and_looking_changes_nothing(store):
    before = snapshot(store)
    seen = found(store)
    assert {name: (job.state, job.share) for name, job in seen.items()} == {
        "accept": ("done", 1.0),
        "stopped": ("stopped", 0.25),
        "damaged": ("damaged", 1.0),
        "begun": ("stopped", 0.0),
    }
    assert seen["damaged"].damaged == ("outcome.npz", "learned.npz.damaged")
    assert seen["accept"].config == rule().to_dict()
    assert seen["accept"].seconds > 0
    assert snapshot(store) == before


def test_a_held_job_is_running_and_nothing_of_it_can_go(store):
    folder = found(store)["stopped"].folder
    with locking.only_one(folder, patience=0):
        job = found(store)["stopped"]
        assert job.state == "running"
        assert inventory.leftovers(job) == []
        assert inventory.clean(job) == (0, 0)
    assert (folder / "checkpoint.npz").exists()


def test_a_job_without_its_result_or_with_a_broken_configuration_is_damaged(store):
    seen = found(store)
    (seen["accept"].folder / "outcome.npz").unlink()
    (seen["stopped"].folder / "config.json").write_text('{"scen')
    (seen["begun"].folder / "checkpoint.npz").write_bytes(b"")
    again = found(store)
    assert {job.state for job in again.values()} == {"damaged"}
    assert again["stopped"].config == {}


def test_cleaning_takes_what_stopped_and_what_was_set_aside_and_leaves_results(store):
    seen = found(store)
    results = snapshot(seen["accept"].folder)
    removed = {name: inventory.clean(job) for name, job in seen.items()}
    assert removed["accept"] == (0, 0)
    assert removed["stopped"][0] == 3
    assert removed["damaged"] == (1, 3)
    assert snapshot(seen["accept"].folder) == results
    assert not seen["stopped"].folder.exists()
    assert not seen["begun"].folder.exists()
    assert {path.name for path in seen["damaged"].folder.iterdir()} >= {"done", "outcome.npz"}


def test_a_checkpoint_that_a_finished_job_does_not_need_can_go(store):
    job = found(store)["accept"]
    fake_checkpoint(job.folder)
    assert [path.name for path in inventory.leftovers(found(store)["accept"])] == ["checkpoint.npz"]


def test_finished_results_go_only_when_asked_for_and_strangers_files_never(store):
    job = found(store)["accept"]
    (job.folder / "notes.txt").write_text("mine")
    inventory.clean(job, finished_too=True)
    assert [path.name for path in job.folder.iterdir()] == ["notes.txt"]


def test_an_empty_store_has_no_jobs(tmp_path):
    assert inventory.inventory(tmp_path) == []
