"""A store in which anything was changed: every command names it or is right, and none ends with another exception."""

import dataclasses
import shutil
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bisimulator.jobs import inventory, store
from bisimulator.jobs.run import run
from tests.fuzz.odd_values import CLEAN, EXAMPLES
from tests.jobs.test_run import rule

FILES = ("config.json", "done", "outcome.npz", "learned.npz", "episodes.csv", "timing.json")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """Two finished jobs: the folder of the first, its result, and the files of both."""
    out = tmp_path_factory.mktemp("store")
    result = run(rule(), out)
    run(rule(seeds=[5, 6]), out)
    folders = [out / spec.name for spec in (rule(), rule(seeds=[5, 6]))]
    return out, folders[0], result, [{p.name: p.read_bytes() for p in f.iterdir()} for f in folders]


def damage(content, how, place, other):
    at = int(place * max(len(content), 1))
    return {
        "flip": content[:at] + bytes([content[at] ^ 0x5A]) + content[at + 1 :] if content else b"?",
        "cut": content[:at],
        "append": content + b"\0",
        "replace": b'{"scenario": "lending", "method": "ppo", "seeds": 3}',
        "nothing": b"",
        "swap": other,
    }.get(how, content)


@EXAMPLES
def test_a_changed_file_is_noticed_or_harmless(examples, jobs):
    out, folder, result, (original, another) = jobs

    @settings(max_examples=examples)
    @given(
        name=st.sampled_from(FILES),
        how=st.sampled_from(
            ["flip", "cut", "append", "replace", "nothing", "swap", "remove", "folder", "link"]
        ),
        place=st.floats(0, 1, exclude_max=True),
    )
    @example(name="done", how="cut", place=0.999)  # only the last line break is gone
    def check(name, how, place):
        restore(folder, original)
        path = folder / name
        changed = damage(original[name], how, place, another[name])
        if how in ("remove", "folder", "link"):
            path.unlink()
            if how == "folder":
                path.mkdir()
            elif how == "link":
                path.symlink_to("nowhere")
        else:
            path.write_bytes(changed)
        same = changed == original[name] and path.is_file()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = store.load(folder)
            except (*CLEAN, OSError):
                loaded = None
        if loaded is not None:
            for field in dataclasses.fields(result.outcome):
                kept, mine = (getattr(r.outcome, field.name) for r in (loaded, result))
                np.testing.assert_array_equal(kept, mine)
            assert loaded.spec == result.spec
        job = inventory.look(folder)
        assert (job.state == "done") == same
        for found in inventory.inventory(out):
            inventory.leftovers(found, finished_too=True)

    check()
    restore(folder, original)


def restore(folder, contents):
    shutil.rmtree(folder)
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
