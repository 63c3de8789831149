"""Event files for TensorBoard, read back as it would."""

import struct
import sys

import numpy as np
import pytest

from bisimulator.jobs.executors import Event
from bisimulator.jobs.learning_curves import Curves
from bisimulator.jobs.store import Result
from bisimulator.jobs.tensorboard import TensorBoard
from bisimulator.solvers.trainer import Progress
from tests.jobs.test_run import rule

PROGRESS = Progress(3, 10, 96, 1000.0, 5.5, (0.25, 0.75), {"loss": 0.125, "entropy": 0.5})


def scalars(folder):
    """(tag, step) -> value of every event file: records of length, checksum, content, checksum."""
    from tensorboardX.proto.event_pb2 import Event as Record

    found = {}
    for path in folder.rglob("events.*"):
        content, at = path.read_bytes(), 0
        while at < len(content):
            (size,) = struct.unpack("<Q", content[at : at + 8])
            record = Record.FromString(content[at + 12 : at + 12 + size])
            at += 12 + size + 4
            found |= {(v.tag, record.step): v.simple_value for v in record.summary.value}
    return found


def test_training_and_curves_are_written_one_folder_a_job(tmp_path):
    specs = [rule(seeds=[0]), rule(seeds=[1])]
    track = TensorBoard(specs, tmp_path)
    curves = Curves(np.array([50, 96]), {"recall_gap": np.array([[0.5, 0.7], [np.nan, 0.25]])})
    track(Event(0, "started"))
    track(Event(0, "progress", progress=PROGRESS))
    track(Event(0, "finished", result=Result(specs[0], None, {}, curves)))
    track(Event(1, "progress", progress=PROGRESS))
    track.close()
    assert scalars(tmp_path / specs[0].name) == pytest.approx(
        {
            ("training/return", 96): 5.5,
            ("losses/loss", 96): 0.125,
            ("losses/entropy", 96): 0.5,
            ("training/recall_g1", 96): 0.25,
            ("training/recall_g2", 96): 0.75,
            ("evaluation/recall_gap", 50): 0.6,
            ("evaluation/recall_gap", 96): 0.25,
        }
    )
    assert ("training/return", 96) in scalars(tmp_path / specs[1].name)


def test_without_it_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ValueError, match=r"pip install 'bisimulator\[track\]'"):
        TensorBoard([], tmp_path)
