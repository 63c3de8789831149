"""Files are whole or not there, hold no pickle, and damage is named and set aside."""

import errno
import json
import os
import re
import warnings
import zipfile

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bisimulator import files

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False]), "c": np.int32(7)}


def test_arrays_come_back_as_they_were(tmp_path):
    files.write_arrays(tmp_path / "deep" / "x.npz", ARRAYS)
    back = files.read_arrays(tmp_path / "deep" / "x.npz")
    assert back.keys() == ARRAYS.keys()
    for name, value in ARRAYS.items():
        np.testing.assert_array_equal(back[name], value)
        assert back[name].dtype == np.asarray(value).dtype


def tree():
    many = {f"w{i}": jnp.full((2,), float(i)) for i in range(12)}
    return {"key": jax.random.split(jax.random.key(3), 2), "weights": many, "count": jnp.int32(5)}


def test_a_tree_comes_back_bit_for_bit_with_its_random_keys(tmp_path):
    files.write_tree(tmp_path / "x.npz", tree())
    back = files.read_tree(tmp_path / "x.npz", jax.eval_shape(tree))
    assert back["key"].dtype == tree()["key"].dtype
    np.testing.assert_array_equal(jax.random.key_data(back["key"]), jax.random.key_data(tree()["key"]))
    for name, value in tree()["weights"].items():
        np.testing.assert_array_equal(back["weights"][name], value)
    assert back["count"] == 5


def test_a_tree_of_another_shape_type_or_size_is_refused(tmp_path):
    files.write_tree(tmp_path / "x.npz", tree())
    wanted = jax.eval_shape(tree)
    smaller = {k: v for k, v in wanted.items() if k != "count"}
    with pytest.raises(ValueError, match="holds 14 arrays where 13 are expected"):
        files.read_tree(tmp_path / "x.npz", smaller)
    with pytest.raises(ValueError, match=r"holds int32\(\) where float32\(\) is expected"):
        files.read_tree(tmp_path / "x.npz", wanted | {"count": jax.ShapeDtypeStruct((), jnp.float32)})
    with pytest.raises(ValueError, match=r"where int32\(3,\) is expected"):
        files.read_tree(tmp_path / "x.npz", wanted | {"count": jax.ShapeDtypeStruct((3,), jnp.int32)})


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    files.write_json(path, {"a": 1})

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        files.write_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_pickles_are_not_read(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, evil=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="pickle"):
        files.read_arrays(path)
    with pytest.warns(UserWarning, match="damaged"):
        assert files.read_or_set_aside(path, files.read_arrays) is None


def test_nothing_in_the_library_pickles():
    """np.load everywhere with allow_pickle=False, and no pickle module."""
    from pathlib import Path

    import bisimulator

    for source in Path(bisimulator.__file__).parent.rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        assert "import pickle" not in text
        assert "allow_pickle=True" not in text
        assert text.count("np.load(") == text.count("allow_pickle=False")


DAMAGES = {
    "empty": b"",
    "text": b"not an archive",
    "half": None,
    "bare array": "npy",
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_archive_is_named_and_set_aside(tmp_path, how):
    path = tmp_path / "x.npz"
    files.write_arrays(path, ARRAYS)
    if how == "half":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif how == "bare array":
        np.save(tmp_path / "y.npy", np.arange(3))
        os.replace(tmp_path / "y.npy", path)
    else:
        path.write_bytes(DAMAGES[how])
    with pytest.warns(UserWarning, match=r"x\.npz is damaged .* set aside as x\.npz\.damaged"):
        assert files.read_or_set_aside(path, files.read_arrays) is None
    assert [p.name for p in tmp_path.iterdir()] == ["x.npz.damaged"]
    assert files.read_or_set_aside(path, files.read_arrays) is None  # gone: no warning


def test_damaged_json_is_set_aside_as_well(tmp_path):
    path = tmp_path / "config.json"
    for content in (b'{"a": 1', b"\xff\xfe\x00"):
        path.write_bytes(content)
        with pytest.warns(UserWarning, match=r"config\.json is damaged"):
            assert files.read_or_set_aside(path, lambda p: json.loads(p.read_text())) is None


@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(1, 255))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_flipped_byte_anywhere_is_either_harmless_or_set_aside(tmp_path, place, value):
    """Never a wrong number, never another exception: archives carry checksums of their contents."""
    path = tmp_path / "x.npz"
    files.write_arrays(path, ARRAYS)
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= value
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = files.read_or_set_aside(path, files.read_arrays)
    if back is not None and back.keys() == ARRAYS.keys():
        for name, wanted in ARRAYS.items():
            np.testing.assert_array_equal(back[name], wanted)


def test_csv_files_have_one_line_a_row(tmp_path):
    files.write_csv(tmp_path / "x.csv", ("a", "b"), [(1, "x,y"), (2.5, "")])
    assert (tmp_path / "x.csv").read_bytes() == b'a,b\n1,"x,y"\n2.5,\n'


def test_what_was_there_is_replaced(tmp_path):
    for content in (b"first", b"second"):
        files.write_bytes(tmp_path / "x", content)
        assert (tmp_path / "x").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_what_fails_leaves_what_was_there_and_nothing_else(tmp_path, monkeypatch):
    files.write_bytes(tmp_path / "x", b"first")

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        files.write_bytes(tmp_path / "x", b"second")
    assert (tmp_path / "x").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_what_is_written_may_be_read_by_whom_any_new_file_may(tmp_path):
    files.write_bytes(tmp_path / "x", b"")
    (tmp_path / "y").touch()
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "y").stat().st_mode


def test_cells_that_a_spreadsheet_would_compute_are_quoted():
    cells = ["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "-1.5", "+3", "-inf", "a=b", -2.5, "", "-"]
    row = files.csv_text(["=head"], [cells]).split("\n")
    assert row[0] == "'=head"
    assert row[1] == "'=1+1,'+x,'-x,'@SUM(A1),'\tx,-1.5,+3,-inf,a=b,-2.5,,'-"


def test_cells_have_nothing_that_a_terminal_would_obey():
    text = files.csv_text(["\x1b[31mred"], [["\x1b]0;title\x07a"], ["\x1b[2J=1+1"]])
    assert text == "red\na\n'=1+1\n"


def test_an_incomplete_header_of_an_array_is_damage(tmp_path):
    path = tmp_path / "x.npz"
    for header in (
        b"\x93NUMPY\x01\x00\xff\xff{'descr': (",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'shape': (9",
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.npy", header)
        with pytest.warns(UserWarning, match="is damaged"):
            assert files.read_or_set_aside(path, files.read_arrays) is None


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.EIO])
def test_what_cannot_be_read_now_is_no_damage(tmp_path, number):
    path = tmp_path / "x.npz"
    files.write_arrays(path, ARRAYS)

    def read(path):
        raise OSError(number, os.strerror(number), str(path))

    for attempt in (files.read_or_set_aside, files.is_whole):
        with pytest.raises(OSError, match=re.escape(os.strerror(number))):
            attempt(path, read)
    assert path.exists()
