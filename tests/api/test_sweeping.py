"""`bisimulator.learned_frontier`: trainings at several levels of a goal, beside the exact frontier."""

import numpy as np
import pytest

import bisimulator
from tests.small import TINY

FAST = {"num_envs": 2, "rollout": 16, "minibatch": 32, "hidden": (4,)}


@pytest.fixture(scope="module")
def learned():
    env = bisimulator.make("lending", population=10, horizon=50)
    goals = "min-recall=0.5:0.9:0.4"
    return bisimulator.learned_frontier(
        env, "ppo", goals, seeds=2, steps=320, solver=FAST, episodes=1, progress=False
    )


@pytest.mark.long
def test_there_is_one_training_per_level_and_each_is_compared_with_the_optimum(learned):
    assert learned.goal == "min-recall"
    np.testing.assert_allclose(learned.asked, [0.5, 0.9])
    assert [o.asked for o in learned.outcomes] == [0.5, 0.9]
    assert all(o.measured == "exact" for o in learned.outcomes)
    for outcome in learned.outcomes:
        assert outcome.average_return[0] <= outcome.best_any + 1e-6
    assert learned.exact.criterion == "min-recall"


@pytest.mark.long
def test_it_is_shown_as_text_as_a_table_and_as_a_picture(learned):
    lines = repr(learned).splitlines()
    assert lines[0] == "ppo on lending: levels of min-recall, 2 seeds"
    assert len(lines) == 4
    assert "0.9" in learned._repr_html_()
    frame = learned.to_frame()
    assert frame["asked"].tolist() == [0.5, 0.9]
    labels = {text.get_text() for text in learned.plot().axes[0].get_legend().get_texts()}
    assert labels == {"provable optimum of any policy", "best by score and group", "learned by ppo"}


@pytest.mark.parametrize(
    ("goals", "message"),
    [
        (["min-recall=0.9", "recall-gap=0.1"], "one kind of goal"),
        ([], "one kind of goal, got none"),
        ("min-recall=0.9", "NAME=FROM:TO:STEP"),
    ],
)
def test_other_goals_raise_before_anything_is_trained(goals, message):
    with pytest.raises(ValueError, match=message):
        bisimulator.learned_frontier("lending", "ppo", goals, seeds=1, steps=TINY["num_envs"])
