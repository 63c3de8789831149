"""The training loops run, with and without the Bisimulator, and learn from corrected rewards."""

import runpy
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = {"population": 20, "horizon": 50}


def test_a_plain_loop(capsys):
    script = runpy.run_path(str(EXAMPLES / "plain_loop.py"))
    script["main"](steps=40, **SMALL)
    shown = capsys.readouterr().out
    assert shown.count("group") == 2
    assert "recall_g2" in shown
    plain, corrected = (script["learn"](40, plain) for plain in (True, False))
    assert (plain[0, 5:].argmax(-1) == 1).all()  # high scores are accepted
    assert (plain != corrected).any()


def test_the_plain_loop_is_short():
    source = (EXAMPLES / "plain_loop.py").read_text(encoding="utf-8")
    body = source[source.index("def learn") : source.index("def main")].strip().splitlines()
    assert len(body) <= 25
    assert source.count("# bisimulator: ") == 2


@pytest.mark.long
def test_cleanrl_style(capsys):
    script = runpy.run_path(str(EXAMPLES / "cleanrl_style.py"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    args = script["Args"](total_timesteps=1024, num_steps=32, minibatches=2, update_epochs=1)
    agent = script["main"](args)
    script["evaluate"](agent, **SMALL)
    torch.set_num_threads(threads)
    assert "recall_g2" in capsys.readouterr().out
    assert all(weights.isfinite().all() for weights in agent.parameters())


def test_cleanrl_style_needs_two_lines():
    source = (EXAMPLES / "cleanrl_style.py").read_text(encoding="utf-8")
    assert source.count("# bisimulator: ") == 2
