"""The README's picture can be drawn again, and shows the numbers of the README's table."""

import re
import runpy
from pathlib import Path

from PIL import Image

import bisimulator
from bisimulator.evaluation import exact_evaluation

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "first_look.py"
POLICIES = {
    "`accept-all`": bisimulator.policies.accept_all(),
    "accept from score 3 on": bisimulator.policies.thresholds((3, 3)),
}


def test_it_draws_a_picture(tmp_path, capsys):
    target = tmp_path / "images" / "look.png"
    runpy.run_path(str(SCRIPT))["main"](target)
    with Image.open(target) as picture:
        assert picture.width > 2 * picture.height
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 10
    assert str(target) in capsys.readouterr().out


def test_its_numbers_are_those_of_the_readmes_table():
    env, readme = bisimulator.make("lending"), (ROOT / "README.md").read_text(encoding="utf-8")
    for name, policy in POLICIES.items():
        gap, recalls, earned = runpy.run_path(str(SCRIPT))["result_lines"](exact_evaluation(env, policy))
        row = re.search(rf"^\| {name} \| (\S+) \| (\S+) \| (\S+ / \S+) \|", readme, re.MULTILINE)
        assert earned == f"return {float(row[1]):,.0f}"
        assert gap == f"credit gap {row[2]} points"
        assert recalls == f"recall {row[3].replace(' / ', ' and ')}"
