"""The pages of real people say what their examples compute."""

import runpy
from pathlib import Path

import pytest

import bisimulator

ROOT = Path(__file__).parents[2]


def load(name):
    script = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    return script, (ROOT / "docs" / "envs" / f"{name}.md").read_text(encoding="utf-8")


def test_policies_of_the_uci_page():
    script, page = load("uci_default")
    rows = script["policy_rows"](bisimulator.make("lending-uci-default"))
    assert len(rows) == 6
    assert all(row in page for row in rows)


@pytest.mark.long
def test_goals_of_the_uci_page():
    script, page = load("uci_default")
    assert all(row in page for row in script["goal_rows"](bisimulator.make("lending-uci-default")))


@pytest.mark.long
def test_thresholds_of_the_law_school_page():
    script, page = load("law_school")
    env = bisimulator.make("college-law-school")
    assert all(script["row"](env, scores) in page for scores in script["THRESHOLDS"])
