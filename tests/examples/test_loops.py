"""The loops of one's own run, with and without the Bisimulator, and learn from corrected rewards."""

import runpy
from pathlib import Path

import numpy as np
import torch

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = {"population": 20, "horizon": 50}


def test_a_plain_loop(capsys):
    script = runpy.run_path(str(EXAMPLES / "plain_loop.py"))
    script["main"](steps=40, **SMALL)
    shown = capsys.readouterr().out
    assert shown.count("group") == 2
    assert "recall_g2" in shown
    worth = [script["learn"](40, plain) for plain in (True, False)]
    assert np.abs(worth[0]).max() <= 1  # rewards of lending are -1, 0 and 1
    assert (worth[0] != worth[1]).any()


def test_a_plain_loop_is_short():
    source = (EXAMPLES / "plain_loop.py").read_text(encoding="utf-8")
    body = source[source.index("def learn") : source.index("def main")].strip().splitlines()
    assert len(body) <= 25
    assert source.count("# one") == source.count("# two") == 1


def test_cleanrl_style(capsys):
    script = runpy.run_path(str(EXAMPLES / "cleanrl_style.py"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    args = script["Args"](total_timesteps=1024, num_steps=32, minibatches=2, update_epochs=1)
    agent = script["main"](args)
    script["show"](agent, **SMALL)
    torch.set_num_threads(threads)
    assert "recall_g2" in capsys.readouterr().out
    assert all(weights.isfinite().all() for weights in agent.parameters())


def test_two_lines_make_the_difference():
    source = (EXAMPLES / "cleanrl_style.py").read_text(encoding="utf-8")
    assert source.count("# bisimulator: the") == 2
