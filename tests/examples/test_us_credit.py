"""The picture of the people of 2003 can be drawn again, and their page says what the code computes."""

import runpy
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

import bisimulator

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "examples" / "us_credit.py"))


def test_it_draws_a_picture(script, tmp_path, capsys, monkeypatch):
    # two levels draw the same curve as all of them, only with fewer points
    monkeypatch.setattr(bisimulator, "frontier", partial(bisimulator.frontier, levels=[0.5, 0.95]))
    target = tmp_path / "images" / "us.png"
    script["main"](target)
    with Image.open(target) as picture:
        assert picture.width > 2 * picture.height
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 10
    shown = capsys.readouterr().out
    page = (ROOT / "docs" / "envs" / "us_credit.md").read_text(encoding="utf-8")
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(rows) == 5
    assert all(row in page for row in rows)


def test_the_thresholds_are_the_ones_that_pay_best(script):
    env = bisimulator.make("lending-us-2003")
    rule = bisimulator.registry.lookup("method", "threshold")
    level = rule.build(rule.config, env).levels[0]
    assert env.params.score_edges[int(level)] == script["AT_ONCE"]
    earned = {
        score: bisimulator.exact.chain.expect(env, script["from_score"](env, score)).average_return
        for score in range(300, 851, 25)
    }
    assert max(earned, key=earned.get) == script["IN_THE_LONG_RUN"]
