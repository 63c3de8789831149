"""What a store holds is seen without touching it, and only what may go is removed."""

import os
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


NAMES = {"done": [0, 1], "stopped": [2, 3], "damaged": [4, 5], "begun": [6, 7]}


@pytest.fixture
def store(tmp_path):
    """A finished job, a stopped one, one with a damaged result, one that was started."""
    folders = {name: tmp_path / rule(seeds=seeds).name for name, seeds in NAMES.items()}
    for name in ("done", "damaged"):
        jobs.run(rule(seeds=NAMES[name]), tmp_path)
    for name in ("stopped", "begun"):
        files.write_json(folders[name] / "config.json", rule(seeds=NAMES[name]).to_dict())
    fake_checkpoint(folders["stopped"])
    (folders["damaged"] / "outcome.npz").write_bytes(b"no archive")
    (folders["damaged"] / "learned.npz.damaged").write_bytes(b"old")
    (folders["stopped"] / ".unfinished-checkpoint.npz.x").write_bytes(b"half")
    return tmp_path


def snapshot(store):
    return {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}


def found(store):
    names = {rule(seeds=seeds).name: name for name, seeds in NAMES.items()}
    return {names.get(job.name, job.name): job for job in inventory.inventory(store)}


def test_every_job_has_its_state_and_looking_changes_nothing(store):
    before = snapshot(store)
    seen = found(store)
    assert {name: (job.state, job.share) for name, job in seen.items()} == {
        "done": ("done", 1.0),
        "stopped": ("stopped", 0.25),
        "damaged": ("damaged", 1.0),
        "begun": ("stopped", 0.0),
    }
    assert seen["damaged"].damaged == ("outcome.npz was altered", "learned.npz.damaged")
    assert seen["done"].config == rule().to_dict()
    assert seen["done"].seconds > 0
    assert snapshot(store) == before


def test_a_held_job_is_running_and_nothing_of_it_can_go(store):
    folder = found(store)["stopped"].folder
    with locking.only_one(folder, patience=0):
        job = found(store)["stopped"]
        assert job.state == "running"
        assert inventory.leftovers(job) == []
        assert inventory.clean(job, store) == (0, 0)
    assert (folder / "checkpoint.npz").exists()


def test_a_job_without_its_result_or_with_a_broken_configuration_is_damaged(store):
    seen = found(store)
    (seen["done"].folder / "outcome.npz").unlink()
    (seen["stopped"].folder / "config.json").write_text('{"scen')
    (seen["begun"].folder / "checkpoint.npz").write_bytes(b"")
    again = found(store)
    assert {job.state for job in again.values()} == {"damaged"}
    assert again["stopped"].config == {}


def test_cleaning_takes_what_stopped_and_what_was_set_aside_and_leaves_results(store):
    seen = found(store)
    results = snapshot(seen["done"].folder)
    removed = {name: inventory.clean(job, store) for name, job in seen.items()}
    assert removed["done"] == (0, 0)
    assert removed["stopped"][0] == 3
    assert removed["damaged"] == (1, 3)
    assert snapshot(seen["done"].folder) == results
    assert not seen["stopped"].folder.exists()
    assert not seen["begun"].folder.exists()
    assert {path.name for path in seen["damaged"].folder.iterdir()} >= {"done", "outcome.npz"}


def test_a_checkpoint_that_a_finished_job_does_not_need_can_go(store):
    job = found(store)["done"]
    fake_checkpoint(job.folder)
    assert [path.name for path in inventory.leftovers(found(store)["done"])] == ["checkpoint.npz"]


def test_finished_results_go_only_when_asked_for_and_strangers_files_never(store):
    job = found(store)["done"]
    (job.folder / "notes.txt").write_text("mine")
    inventory.clean(job, store, finished_too=True)
    assert [path.name for path in job.folder.iterdir()] == ["notes.txt"]


def test_an_empty_store_has_no_jobs(tmp_path):
    assert inventory.inventory(tmp_path) == []


FOREIGN = {
    "models/bert/config.json": '{"model_type": "bert"}',
    "models/bert/checkpoint.npz": "weights",
    "models/bert-0123456789/config.json": '{"model_type": "bert"}',  # named as jobs are
    "site/done": "",
    "lending/ppo-0123456789/config.json": '{"scenario": "lending", "method": "ppo"}',  # the hash is another
    "lending/ppo-abcdef0123/checkpoint.npz": "mine",
    "lending/ppo-abcdef0123/thesis.tex": "mine",
}


def test_nothing_of_others_is_removed_and_nothing_above_the_store(store):
    for name, text in FOREIGN.items():
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        (store / name).write_text(text)
    (job,) = (job for job in inventory.inventory(store) if job.folder == store / rule(seeds=[6, 7]).name)
    assert all(not inventory.leftovers(job, finished_too=True) for job in foreign(store))
    for one in inventory.inventory(store):
        inventory.clean(one, store, finished_too=True)
    assert {name for name in FOREIGN if (store / name).exists()} == set(FOREIGN)
    assert not job.folder.exists()
    inside = store / "lending"
    jobs.run(rule(), store)
    shutil.rmtree(inside / "ppo-0123456789")
    shutil.rmtree(inside / "ppo-abcdef0123")
    for one in inventory.inventory(inside):
        inventory.clean(one, inside, finished_too=True)
    assert inside.exists()


def foreign(store):
    mine = {rule(seeds=seeds).name for seeds in NAMES.values()}
    return [job for job in inventory.inventory(store) if job.name not in mine]


def test_a_folder_behind_a_symbolic_link_is_left_alone(store, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "kept"
    folder = found(store)["stopped"].folder
    shutil.move(folder, elsewhere)
    folder.symlink_to(elsewhere)
    assert inventory.leftovers(inventory.look(folder)) == []
    assert (elsewhere / "checkpoint.npz").exists()


ODD = {
    "config.json": ["[]", "null", "{}", '{"scenario": 3, "method": []}', "[" * 10_000, "\x00"],
    "done": ["[]", "3", '{"sha256": 4}', '{"sha256": {"config.json": 4}}', '{"version": "x"}'],
    "checkpoint.npz": ["", "PK", "no archive"],
    "timing.json": ["[]", '{"seconds": "x"}', "nan"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in ODD.items() for text in texts])
def test_any_odd_folder_is_listed(store, name, text):
    folder = found(store)["stopped"].folder
    (folder / name).write_text(text)
    assert inventory.look(folder).state in ("stopped", "damaged")


def test_a_folder_that_cannot_be_read_is_named(store, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(inventory, "read_config", refuse)
    jobs_found = inventory.inventory(store)
    assert {job.state for job in jobs_found if "begun" in found(store)} <= {"unreadable", "damaged", "done"}
    assert any("cannot be read (Permission denied)" in str(job.damaged) for job in jobs_found)


def test_the_lock_of_a_killed_process_is_removed_with_the_next_start(store):
    folder = found(store)["done"].folder
    (folder / locking.NAME).touch()
    jobs.run(rule(), store)
    assert not (folder / locking.NAME).exists()


def test_a_lock_that_is_a_symbolic_link_is_refused(store, tmp_path_factory):
    folder, target = found(store)["begun"].folder, tmp_path_factory.mktemp("other") / "precious"
    (folder / locking.NAME).symlink_to(target)
    with pytest.raises(ValueError, match="is a symbolic link"):
        jobs.run(rule(seeds=NAMES["begun"]), store)
    assert not target.exists()
    assert os.path.lexists(folder / locking.NAME)


@pytest.mark.parametrize("change", [('"version"', '"vision"'), ('"version": ', '"version": 1')])
def test_a_seal_of_another_version_than_the_configuration_is_damage(store, change):
    done = store / rule().name / "done"
    done.write_text(done.read_text().replace(*change))
    job = found(store)["done"]
    assert job.state == "damaged"
    assert job.damaged == ("done has another version than config.json",)
