"""The picture of the gauge can be drawn again."""

import itertools
import runpy
from pathlib import Path

import pytest
from PIL import Image

from bisimulator.solvers.ppo import PPOConfig

SCRIPT = Path(__file__).parents[2] / "examples" / "gauge.py"


@pytest.mark.long
def test_it_trains_and_draws_a_picture(tmp_path, capsys):
    target = tmp_path / "images" / "gauge.png"
    solver = PPOConfig(num_envs=2, rollout=4, minibatch=4, epochs=1, hidden=(4,))
    runpy.run_path(str(SCRIPT))["main"](
        target,
        tmp_path / "runs",
        seeds=2,
        steps=16,
        kappas=(0.0,),
        solver=solver,
        settings={"population": 20, "horizon": 50},
    )
    with Image.open(target) as picture:
        assert picture.width > picture.height
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 10
    shown = capsys.readouterr().out
    for words in ("κ = 0 (the default)", "plain PPO", str(target)):
        assert words in shown


def test_labels_are_spread_out():
    spread = runpy.run_path(str(SCRIPT))["spread"]
    assert spread([], 1.0, 0.0) == []
    assert spread([5.0, 3.0], 1.0, 0.0) == [5.0, 3.0]
    heights = spread([2.0, 2.0, 2.0, 0.5], 1.0, 0.0)
    assert all(a - b >= 1 for a, b in itertools.pairwise(heights))
    assert min(heights) >= 0
