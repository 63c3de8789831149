"""`bisimulator runs` on the command line."""

import numpy as np
import pytest

from bisimulator import files
from bisimulator.cli import app as cli
from bisimulator.jobs.run import run
from bisimulator.jobs.spec import make_spec
from bisimulator.jobs.store import load
from tests.jobs.test_run import SETTINGS


def job(**changes):
    options = {"seeds": 2, "episodes": 2, "settings": SETTINGS} | changes
    return make_spec("lending", "accept-all", **options)


@pytest.fixture
def store(tmp_path):
    """A finished job and one that stopped after a quarter."""
    run(job(), tmp_path)
    folder = tmp_path / job(seeds=3).name
    files.write_json(folder / "config.json", job(seeds=3).to_dict())
    files.write_arrays(folder / "checkpoint.npz", {"done": np.array([3, 12])})
    return tmp_path


def shown(capsys, *arguments, code=0):
    assert cli.main(["runs", *arguments]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_list_shows_every_jobs_state(store, capsys):
    text = shown(capsys, "list", "--out", str(store))
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in text.splitlines() if line.strip()}
    assert rows[job().name].startswith("population 12, horizon 20, seeds 2, episodes 2 done 2 ")
    assert rows[job(seeds=3).name].startswith(
        "population 12, horizon 20, seeds 3, episodes 2 stopped at 25% 3 "
    )
    assert "1 done, 1 stopped" in text


def test_an_empty_store_is_listed(tmp_path, capsys):
    assert "no jobs yet" in shown(capsys, "list", "--out", str(tmp_path))


def test_show_has_configuration_and_result(store, capsys):
    text = shown(capsys, "show", job().name, "--out", str(store))
    assert "settings.population" in text
    mean, half = load(store / job().name).summary["average_return"]
    assert f"{mean:.2f}±{half:.2f}" in text
    assert "stopped at 25%" in shown(capsys, "show", job(seeds=3).name[-6:], "--out", str(store))


def test_show_names_what_is_damaged(store, capsys):
    (store / job().name / "outcome.npz").write_bytes(b"")
    text = shown(capsys, "show", job().name, "--out", str(store))
    assert "damaged" in text
    assert "outcome.npz" in text
    assert (store / job().name / "done").exists()  # looking changes nothing


def test_verify_names_every_file_that_was_changed(store, capsys):
    assert "1 finished jobs" in shown(capsys, "verify", "--out", str(store))
    (store / job().name / "episodes.csv").write_text("seed\n0\n")
    assert cli.main(["runs", "verify", "--out", str(store)]) == 2
    captured = capsys.readouterr()
    assert f"{store / job().name}: episodes.csv was altered" in captured.out
    assert "1 of 2 jobs" in captured.err


def test_clean_says_what_it_would_remove_and_needs_a_yes(store, capsys):
    text = shown(capsys, "clean", "--out", str(store))
    assert f"{store / job(seeds=3).name} (stopped at 25%): checkpoint.npz, config.json" in text
    assert "add --yes" in text
    assert (store / job(seeds=3).name / "checkpoint.npz").exists()
    assert "Removed 2 files" in shown(capsys, "clean", "--yes", "--out", str(store))
    assert not (store / job(seeds=3).name).exists()
    assert (store / job().name / "done").exists()
    assert "Nothing to remove." in shown(capsys, "clean", "--yes", "--out", str(store))


def test_clean_all_removes_results_too(store, capsys):
    shown(capsys, "clean", "--all", "--yes", "--out", str(store))
    assert not list(store.iterdir())


WRONG = [
    (["show"], "show needs a job's name"),
    (["show", "nothing"], "there is no job 'nothing'"),
    (["show", "accept-all"], "could be lending/accept-all-"),
    (["list", "x"], "list takes all jobs of a folder, got 'x'"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_input_is_explained(store, capsys, arguments, message):
    assert message in shown(capsys, *arguments, "--out", str(store), code=2)


def test_a_missing_folder_is_reported(tmp_path, capsys):
    assert "there is no folder" in shown(capsys, "list", "--out", str(tmp_path / "x"), code=2)
