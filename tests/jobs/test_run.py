"""A job is run once, kept whole, loaded afterwards, resumed where it stopped, and run again where it is damaged."""

import csv
import dataclasses
import errno
import json
import os
import re
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from bisimulator import files
from bisimulator._signals import noticing_stops
from bisimulator.errors import DiskFull, Interrupted
from bisimulator.evaluation import mean_and_interval
from bisimulator.jobs import _checkpoint as checkpoint
from bisimulator.jobs import run as jobs
from bisimulator.jobs import seal, store
from bisimulator.jobs.spec import make_spec
from bisimulator.solvers import trainer
from tests.small import JOB, METHOD, METHOD_OPTIONS, SETTINGS, SOLVER_OPTIONS


def rule(**changes):
    return make_spec("lending", "accept-all", **({"seeds": 2, "episodes": 2, "settings": SETTINGS} | changes))


def learned(**changes):
    options = {"settings": SETTINGS, "solver": SOLVER_OPTIONS, "config": METHOD_OPTIONS, **JOB}
    return make_spec("lending", METHOD, **(options | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A trained job, its folder and what it told while it ran."""
    out, told = tmp_path_factory.mktemp("runs"), []
    return jobs.run(learned(), out, told.append), out / learned().name, told


def assert_same(a, b):
    for field in dataclasses.fields(a.outcome):
        np.testing.assert_array_equal(getattr(a.outcome, field.name), getattr(b.outcome, field.name))
    assert (a.curves is None) == (b.curves is None)
    if a.curves is not None:
        one, other = a.curves.arrays(), b.curves.arrays()
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    assert a.learned.keys() == b.learned.keys()
    for name in a.learned:
        np.testing.assert_array_equal(a.learned[name], b.learned[name])


def test_a_finished_job_keeps_everything_and_no_checkpoint(finished):
    result, folder, told = finished
    names = {p.name for p in folder.iterdir()}
    results = {"weights.npz", "learned.npz", "outcome.npz", "episodes.csv", "curves.npz", "timing.json"}
    assert names == {"config.json", *results, "done"}
    assert told[-1].update == told[-1].updates == 10
    assert result.outcome.counts.shape[:2] == (2, 2)
    assert result.learned["omega"].shape == (2, 2, 2)


def test_a_result_carries_the_platform_that_computed_it(finished, tmp_path):
    _, folder, _ = finished
    found = jobs.load(folder)
    assert re.fullmatch(r"\w+ \w+, Python 3\.\S+, jax \S+, jaxlib \S+, numpy \S+", found.platform)
    elsewhere = dataclasses.replace(found, platform="another", weights=None)
    files.write_bytes(tmp_path / "config.json", (folder / "config.json").read_bytes())
    store.save(elsewhere, tmp_path)
    assert store.load(tmp_path).platform == "another"  # and not the one that read it


def test_a_finished_job_is_loaded_and_not_run_again(finished, monkeypatch):
    result, folder, _ = finished
    monkeypatch.setattr(trainer, "train", lambda *args, **keywords: pytest.fail("trained again"))
    assert_same(jobs.run(learned(), folder.parents[1]), result)
    alone = store.load(folder)
    assert alone.spec == learned()
    assert_same(alone, result)


def test_the_same_spec_gives_the_same_numbers_elsewhere(finished, tmp_path):
    result, folder, _ = finished
    assert_same(jobs.run(learned(), tmp_path), result)
    again = tmp_path / learned().name
    for name in ("weights.npz", "episodes.csv", "config.json", "curves.npz"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


def test_another_spec_has_another_folder_and_other_numbers(tmp_path):
    first, second = jobs.run(rule(), tmp_path), jobs.run(rule(seeds=[7, 8]), tmp_path)
    assert len(list((tmp_path / "lending").iterdir())) == 2
    assert (first.outcome.counts != second.outcome.counts).any()


def test_a_seeds_episodes_do_not_depend_on_the_other_seeds(tmp_path):
    both, turned = jobs.run(rule(seeds=[0, 1]), tmp_path), jobs.run(rule(seeds=[1, 0]), tmp_path)
    np.testing.assert_array_equal(both.outcome.counts[0], turned.outcome.counts[1])


@pytest.mark.parametrize("name", ["outcome.npz", "learned.npz"])
def test_a_damaged_result_is_named_set_aside_and_computed_again(tmp_path, name):
    before = jobs.run(rule(), tmp_path)
    folder = tmp_path / rule().name
    (folder / name).write_bytes(b"no archive at all")
    with pytest.warns(UserWarning, match=f"{name} was altered; set aside"):
        again = jobs.run(rule(), tmp_path)
    assert_same(again, before)
    assert (folder / f"{name}.damaged").exists()
    assert_same(jobs.run(rule(), tmp_path), before)


def test_an_outcome_that_lacks_an_array_is_noticed(tmp_path):
    before = jobs.run(rule(), tmp_path)
    file = tmp_path / rule().name / "outcome.npz"
    arrays = files.read_arrays(file)
    files.write_arrays(file, {name: arrays[name] for name in ("counts", "true_scores")})
    with pytest.warns(UserWarning, match=r"outcome\.npz was altered"):
        assert_same(jobs.run(rule(), tmp_path), before)


def test_a_job_whose_config_is_damaged_cannot_be_loaded_by_its_folder(tmp_path):
    jobs.run(rule(), tmp_path)
    folder = tmp_path / rule().name
    (folder / "config.json").write_text('{"scenario": "lending"')
    with pytest.warns(UserWarning, match=r"config\.json was altered"):
        assert store.load(folder) is None
    assert (folder / "done").exists()  # looking changes nothing


def test_a_job_of_another_version_is_left_out_and_left_alone(tmp_path, monkeypatch):
    jobs.run(rule(), tmp_path)
    folder = tmp_path / rule().name
    monkeypatch.setattr(store, "VERSION", store.VERSION + 1)
    with pytest.warns(UserWarning, match=r"left out: another version of the package made it"):
        assert store.find_runs(tmp_path) == []
    assert (folder / "done").exists()
    assert not list(folder.glob("*.damaged"))


def test_a_job_with_parameters_that_are_not_known_here_is_left_out(tmp_path):
    jobs.run(rule(), tmp_path)
    folder = (tmp_path / rule().name).rename(tmp_path / "saved")
    files.write_json(folder / "config.json", rule().to_dict() | {"package": "9.9", "planet": "Mars"})
    seal.seal(folder)
    with pytest.warns(UserWarning, match=r"left out: version 9\.9 .* no parameter 'planet'"):
        assert store.find_runs(tmp_path) == []


@pytest.mark.parametrize("how", ["edited", "swapped", "removed", "another job's folder"])
def test_what_is_not_as_it_was_sealed_is_named_and_not_used(tmp_path, how):
    jobs.run(rule(), tmp_path)
    jobs.run(rule(seeds=[5, 6]), tmp_path)
    folder, other = tmp_path / rule().name, tmp_path / rule(seeds=[5, 6]).name
    if how == "edited":
        config = json.loads((folder / "config.json").read_text())
        files.write_json(folder / "config.json", config | {"seeds": [7, 8]})
        named = "config.json was altered"
    elif how == "swapped":
        shutil.copy(other / "outcome.npz", folder / "outcome.npz")
        named = "outcome.npz was altered"
    elif how == "removed":
        (folder / "learned.npz").unlink()
        named = "learned.npz is missing"
    else:
        shutil.rmtree(folder)
        shutil.copytree(other, folder)
        named = "config.json belongs to another job"
    with pytest.warns(UserWarning, match=f"left out: {named}"):
        assert [r.spec for r in store.find_runs(tmp_path)] == [rule(seeds=[5, 6])]
    with pytest.warns(UserWarning, match=named), pytest.raises(ValueError, match="runs verify"):
        store.load_policies(folder)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.EIO])
def test_a_read_error_is_no_damage(finished, monkeypatch, number):
    result, folder, _ = finished
    before = {path: path.read_bytes() for path in folder.iterdir()}
    read_bytes = Path.read_bytes

    def fail(path):
        if path.name == "outcome.npz":
            raise OSError(number, os.strerror(number), str(path))
        return read_bytes(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fail)
        for attempt in (lambda: jobs.run(learned(), folder.parents[1]), lambda: store.load(folder)):
            with pytest.raises(OSError, match=r"outcome\.npz"):
                attempt()
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert_same(jobs.run(learned(), folder.parents[1]), result)


def test_without_its_networks_a_job_gives_no_policies_and_is_computed_again(finished, tmp_path):
    result, folder, _ = finished
    copy = tmp_path / learned().name
    shutil.copytree(folder, copy)
    assert len(store.load_policies(copy)[1]) == 2
    (copy / "weights.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"weights\.npz was altered; run the job again"):
        store.load_policies(copy)
    with pytest.warns(UserWarning, match=r"weights\.npz was altered; set aside"):
        assert_same(jobs.run(learned(), tmp_path), result)
    assert len(store.load_policies(copy)[1]) == 2


def test_without_its_last_file_a_job_is_not_finished(tmp_path):
    before = jobs.run(rule(), tmp_path)
    folder = tmp_path / rule().name
    (folder / "done").unlink()
    assert store.load(folder) is None
    assert_same(jobs.run(rule(), tmp_path), before)


def test_ctrl_c_keeps_a_checkpoint_and_the_second_start_ends_the_same(finished, tmp_path, monkeypatch):
    result, undisturbed, _ = finished
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", 0.0)

    def press(progress):
        if progress.update == 4:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="stopped after 4 of 10 updates"):
        jobs.run(learned(), tmp_path, press)
    folder = tmp_path / learned().name
    assert (folder / "checkpoint.npz").exists()
    assert not (folder / "done").exists()
    told = []
    assert_same(jobs.run(learned(), tmp_path, told.append), result)
    assert told[0].update == 5
    for name in ("weights.npz", "curves.npz"):
        assert (folder / name).read_bytes() == (undisturbed / name).read_bytes()


def test_a_damaged_checkpoint_is_set_aside_and_training_starts_anew(finished, tmp_path):
    result, _, _ = finished
    folder = tmp_path / learned().name
    folder.mkdir(parents=True)
    (folder / "checkpoint.npz").write_bytes(b"half a file")
    with pytest.warns(UserWarning, match=r"checkpoint\.npz is damaged"):
        assert_same(jobs.run(learned(), tmp_path), result)
    assert (folder / "checkpoint.npz.damaged").exists()


def test_the_time_spent_is_kept_and_goes_on_after_a_stop(finished, tmp_path, monkeypatch):
    result, folder, _ = finished
    assert result.seconds > 0
    assert store.load(folder).seconds == result.seconds
    stop_after(4, tmp_path, monkeypatch)
    kept = checkpoint.read_checkpoint(tmp_path / learned().name / checkpoint.NAME, shapes())
    assert kept.seconds > 0
    dataclasses.replace(kept, seconds=1000.0).write(tmp_path / learned().name / checkpoint.NAME)
    assert jobs.run(learned(), tmp_path).seconds > 1000


def test_killed_before_the_result_was_kept_nothing_is_trained_again(finished, tmp_path, monkeypatch):
    result, _, _ = finished

    def kill(result, folder):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "save", kill)
        with pytest.raises(KeyboardInterrupt):
            jobs.run(learned(), tmp_path)
    told = []
    assert_same(jobs.run(learned(), tmp_path, told.append), result)
    assert told == []


def test_what_a_kill_left_half_written_is_removed(tmp_path):
    folder = tmp_path / rule().name
    folder.mkdir(parents=True)
    (folder / ".unfinished-outcome.npz.abc").write_bytes(b"half")
    (folder / ".lock").write_bytes(b"")
    jobs.run(rule(), tmp_path)
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_full_disk_is_said_and_harms_nothing(finished, tmp_path, monkeypatch):
    """It fills up when the checkpoint after update 6 is written; the one after update 5 stays."""
    result, _, _ = finished
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", 0.0)
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", 0.0)
    updates, sync = [], os.fsync

    def full(handle):
        if updates[-1:] == [6]:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        DiskFull, match=r"checkpoint\.npz could not be written, the disk is full; .* Make room"
    ):
        jobs.run(learned(), tmp_path, lambda p: updates.append(p.update))
    folder = tmp_path / learned().name
    assert {path.name for path in folder.iterdir()} == {"config.json", "checkpoint.npz"}
    told = []
    monkeypatch.setattr(os, "fsync", sync)
    assert_same(jobs.run(learned(), tmp_path, told.append), result)
    assert told[0].update == 6


def test_a_checkpoint_whose_curve_does_not_fit_is_damaged(finished, tmp_path, monkeypatch):
    result, _, _ = finished
    path = stop_after(4, tmp_path, monkeypatch) / checkpoint.NAME
    kept = checkpoint.read_checkpoint(path, shapes())
    assert {len(values) for values in kept.rows.values()} == {1}
    dataclasses.replace(kept, rows={}).write(path)
    with pytest.warns(UserWarning, match=r"checkpoint\.npz is damaged \(holds no learning curve"):
        assert_same(jobs.run(learned(), tmp_path), result)


def test_a_damaged_curve_is_recomputed_with_the_rest(finished, tmp_path):
    result, folder, _ = finished
    copy = tmp_path / learned().name
    shutil.copytree(folder, copy)
    (copy / "curves.npz").write_bytes(b"no archive")
    with pytest.warns(UserWarning, match=r"curves\.npz was altered"):
        assert_same(jobs.run(learned(), tmp_path), result)


def test_sigterm_keeps_a_checkpoint_as_ctrl_c_does(finished, tmp_path, monkeypatch):
    folder, told = stop_after(4, tmp_path, monkeypatch, signal.SIGTERM), []
    assert (folder / checkpoint.NAME).exists()
    assert_same(jobs.run(learned(), tmp_path, told.append), finished[0])
    assert told[0].update > 4


def test_a_stop_whose_exception_got_lost_stops_the_next_training(finished, tmp_path):
    with noticing_stops():
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupted, match="after 1 of 10 updates"):
            jobs.run(learned(), tmp_path)
    assert_same(jobs.run(learned(), tmp_path), finished[0])


def shapes():
    """What a checkpoint of `learned` looks like."""
    env = learned().make_env()
    rollouts, solver = env.in_view(learned().view), learned().make_solver(env)
    return trainer.init_shapes(rollouts, solver, learned().seeds)


def stop_after(update, out, monkeypatch, number=signal.SIGINT):
    """The job's folder, with Ctrl-C after some update."""

    def press(progress):
        if progress.update == update:
            os.kill(os.getpid(), number)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "_SECONDS_PER_CHUNK", 0.0)
        with pytest.raises(Interrupted):
            jobs.run(learned(), out, press)
    return out / learned().name


def test_episodes_and_summary_are_the_metrics_of_the_outcome(finished):
    result, folder, _ = finished
    with (folder / "episodes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["scenario", "method", "seed", "episode", "metric", "value"]
    for metric, values in result.columns.items():
        mine = [r for r in rows if r["metric"] == metric]
        assert [(r["seed"], r["episode"]) for r in mine] == [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]
        np.testing.assert_array_equal([float(r["value"]) for r in mine], np.asarray(values, float).ravel())
        mean, half = mean_and_interval(values)
        told = {row[2]: row[3:] for row in store.summary_rows(result)}
        np.testing.assert_array_equal([float(x) for x in told[metric]], [mean, half])
