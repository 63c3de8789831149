"""A job in parts is the job in one piece, bit for bit, and its parts are nobody's results."""

import dataclasses
from pathlib import Path

import jax
import numpy as np
import pytest

from bisimulator import files
from bisimulator.jobs import inventory, parts, store
from bisimulator.jobs.run import run
from bisimulator.jobs.spec import make_spec
from tests.jobs.test_run import assert_same, learned, rule


def run_parts(spec, out):
    return [run(part.spec, part.out) for part in parts.parts_of(0, spec, out)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    result = run(learned(seeds=3), out)
    return result, out


def test_joined_parts_are_the_whole(whole, tmp_path):
    expected, out = whole
    spec = expected.spec
    run_parts(spec, tmp_path)
    assert store.find_runs(tmp_path) == []  # a part is no result
    joined, missing = parts.join_stored(0, spec, tmp_path)
    assert missing == []
    assert_same(joined, expected)
    (found,) = store.find_runs(tmp_path)
    assert_same(found, expected)
    folder = tmp_path / spec.name
    assert not (folder / "parts").exists()
    for name in ("weights.npz", "learned.npz", "outcome.npz", "curves.npz", "episodes.csv", "config.json"):
        assert (folder / name).read_bytes() == (out / spec.name / name).read_bytes()
    one, other = (store.with_weights(result).weights for result in (found, expected))
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_a_part_that_was_altered_is_missing(whole, tmp_path):
    spec = whole[0].spec
    run_parts(spec, tmp_path)
    altered = parts.parts_of(0, spec, tmp_path)[1]
    (altered.folder / "outcome.npz").write_bytes(b"")
    with pytest.warns(UserWarning, match="computed again"):
        joined, missing = parts.join_stored(0, spec, tmp_path)
    assert missing == [altered]
    assert joined is None
    assert not (tmp_path / spec.name / "done").exists()


def test_what_cannot_be_split_stays_whole(tmp_path):
    for spec in (rule(), learned(seeds=1)):
        (part,) = parts.parts_of(3, spec, tmp_path)
        assert (part.job, part.folder) == (3, tmp_path / spec.name)


def test_cleaning_a_stopped_job_removes_its_parts(tmp_path):
    job = learned(seeds=2)
    run(rule(), parts.parts_of(0, job, tmp_path)[0].out)  # in the place of a part that is done
    files.write_json(tmp_path / job.name / "config.json", job.to_dict())
    (found,) = inventory.inventory(tmp_path)
    assert found.state == "stopped"
    count, size = inventory.clean(found, tmp_path)
    assert count > 2
    assert size > 0
    assert list(tmp_path.iterdir()) == []


def test_specs_of_parts_are_those_of_the_job_with_one_seed():
    spec, out = make_spec("lending", "ppo", seeds=[4, 7]), Path("runs")
    found = parts.parts_of(0, spec, out)
    assert [part.spec for part in found] == [dataclasses.replace(spec, seeds=(seed,)) for seed in (4, 7)]
    assert {part.out for part in found} == {out / spec.name / "parts"}
