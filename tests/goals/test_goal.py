"""Goals as text: what is read, what is written, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bisimulator.goals import DEMANDS, Goal

CAN_LEVEL_DOWN = ["recall-gap", "approval-gap", "return-gap", "credit-gap", "benefit-gap"]


def levels(name):
    low = -1e6 if name == "min-return" else 0.0
    return st.floats(low, min(DEMANDS[name].max_level, 1e6), allow_subnormal=False)


@st.composite
def texts(draw):
    names = draw(st.lists(st.sampled_from(sorted(DEMANDS)), min_size=1, max_size=4, unique=True))
    flags = {name: name in CAN_LEVEL_DOWN and draw(st.booleans()) for name in names}
    return [f"{name}={draw(levels(name))!r}" + ",raise-only" * flags[name] for name in names]


@given(texts())
def test_text_and_json_come_back_as_they_were(demands):
    goal = Goal.parse(demands)
    assert [demand.name for demand in goal.demands] == [text.partition("=")[0] for text in demands]
    assert [demand.level for demand in goal.demands] == [
        float(text.partition("=")[2].removesuffix(",raise-only")) for text in demands
    ]
    assert [demand.raise_only for demand in goal.demands] == [text.endswith("raise-only") for text in demands]
    assert Goal.parse(goal.text) == goal
    assert Goal.parse(json.loads(json.dumps(goal.to_json()))) == goal
    assert Goal.parse(goal) is goal
    assert hash(Goal.parse(goal.text)) == hash(goal)


def test_levels_are_written_as_short_as_they_can_be():
    goal = Goal.parse(["min-recall=0.90", "credit-gap=2.500,raise-only", "recall-gap=.123456789"])
    assert goal.text == str(goal) == "min-recall=0.9 credit-gap=2.5,raise-only recall-gap=0.123456789"
    assert repr(goal) == f"Goal({goal.text!r})"
    assert goal.to_json() == ["min-recall=0.9", "credit-gap=2.5,raise-only", "recall-gap=0.123456789"]


@pytest.mark.parametrize("name", DEMANDS)
def test_which_goals_need_lives(name):
    assert Goal.parse(f"{name}=0.5").needs_lives == (name == "credit-gap")
    assert Goal.parse(f"{name}=0.5 credit-gap=1" if name != "credit-gap" else "credit-gap=1").needs_lives


@pytest.mark.parametrize("name", DEMANDS)
def test_every_demand_has_a_summary_and_says_whether_it_can_level_down(name):
    assert DEMANDS[name].summary
    assert DEMANDS[name](0.5).can_level_down == (name in CAN_LEVEL_DOWN)


WRONG = [
    ("min-recal=0.9", r"Unknown goal 'min-recal'\. Did you mean 'min-recall'"),
    ("min-recal", r"Unknown goal 'min-recal'\. Did you mean 'min-recall'"),
    ("=0.9", r"Unknown goal ''.*Known: .*min-recall"),
    ("min-recall", r"a goal is NAME=LEVEL, got 'min-recall'; try min-recall=0\.9"),
    ("min-recall=", r"the level of min-recall must be a number, got ''; try min-recall=0\.9"),
    ("min-recall=high", r"the level of min-recall must be a number, got 'high'"),
    ("min-recall=1.5", r"the level of min-recall must lie in \[0, 1\], got 1\.5"),
    ("min-recall=90%", r"the level of min-recall must be a number, got '90%'"),
    ("recall-gap=-0.1", r"the level of recall-gap must lie in \[0, 1\], got -0\.1"),
    ("credit-gap=-1", r"the level of credit-gap must lie in \[0, inf\], got -1"),
    ("min-recall=nan", "the level of min-recall must be finite, got nan"),
    ("min-return=inf", "the level of min-return must be finite, got inf"),
    (
        "min-recall=0.9,raise-only",
        "min-recall never lowers a group, so raise-only says nothing; leave it out",
    ),
    ("min-return=1,raise-only", "min-return never lowers a group"),
    ("recall-gap=0.1,raise", r"Unknown option of the goal recall-gap 'raise'\. Did you mean 'raise-only'"),
    ("recall-gap=0.1,", "Unknown option of the goal recall-gap ''"),
    ("min-recall=0.9 min-recall=0.8", "the goal asks for min-recall twice; write it once, with one level"),
    (["recall-gap=0.1", "recall-gap=0.1,raise-only"], "the goal asks for recall-gap twice"),
    ("", r"got no goal; write NAME=LEVEL, such as min-recall=0\.9"),
    ([], "got no goal"),
    ([" "], "a goal is NAME=LEVEL, got ' '; try min-recall=0.9"),
]


@pytest.mark.parametrize(("goal", "message"), WRONG)
def test_wrong_goals_are_refused_with_a_hint(goal, message):
    with pytest.raises(ValueError, match=message):
        Goal.parse(goal)


def test_a_sweep_has_one_goal_per_level_with_both_ends():
    levels = [goal.demands[0].level for goal in Goal.sweep("min-recall=0.7:1:0.05")]
    assert levels == [0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0]
    only = Goal.sweep("recall-gap=0:0.1:0.1,raise-only")
    assert [goal.text for goal in only] == ["recall-gap=0,raise-only", "recall-gap=0.1,raise-only"]
    assert len(Goal.sweep("credit-gap=2:2:1")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "min-recall",
        "min-recall=0.9",
        "min-recall=0.9:1",
        "min-recall=a:b:c",
        "min-recall=1:0.5:0.1",
        "min-recall=0.5:1:0",
        "min-recall=0.5:1:-1",
        "min-recall=0:1:1e-9",
        "min-recall=nan:1:0.1",
        "min-recall=0.5:1:nan",
        "min-recall=0.5:1:inf",
        "min-recal=0.5:1:0.1",
        "min-recall=0.5:1.2:0.1",
        "min-recall=0.5:1:0.1,raise",
    ],
)
def test_other_sweeps_raise(text):
    with pytest.raises(ValueError, match=r"goal|the level of min-recall"):
        Goal.sweep(text)


@pytest.mark.parametrize("wrong", [5, "min-recall=0.9", ("min-recall=0.9",), None])
def test_a_goal_that_is_not_made_of_demands_is_refused(wrong):
    with pytest.raises(
        TypeError, match=r"a goal is made of demands, got .*; pass Goal.parse\('min-recall=0.9'\)"
    ):
        Goal(wrong)


def test_a_sweep_that_is_no_text_is_refused():
    with pytest.raises(TypeError, match="a sweep of goals is a text or a list, got 5"):
        Goal.sweep(5)
