"""A file is whole or what it was before."""

import os

import pytest

from bisimulator import writing


def test_what_was_there_is_replaced(tmp_path):
    for content in (b"first", b"second"):
        writing.replace(tmp_path / "x", content)
        assert (tmp_path / "x").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_what_fails_leaves_what_was_there_and_nothing_else(tmp_path, monkeypatch):
    writing.replace(tmp_path / "x", b"first")

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        writing.replace(tmp_path / "x", b"second")
    assert (tmp_path / "x").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_what_is_written_may_be_read_by_whom_any_new_file_may(tmp_path):
    writing.replace(tmp_path / "x", b"")
    (tmp_path / "y").touch()
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "y").stat().st_mode
