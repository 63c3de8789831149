"""Plain sentences that say what the numbers say."""

import pytest

from bisimulator.report import findings
from bisimulator.report._by_scenario import scenes
from tests.report.made_up import few, made_up


def told(*results):
    (scene,) = scenes(results)
    return findings.of_scene(scene)


def test_who_gets_a_loan_and_who_brings_the_groups_together():
    unfair = made_up(method="ppo", recalls=(0.9, 0.4), noise=0.0, income=1000.0)
    fair = made_up(method="dqn", recalls=(0.8, 0.75), noise=0.0, income=900.0)
    first, second, *_ = told(unfair, fair)
    assert first == "Under PPO 90% of those who would repay get a loan in group 1, and 40% in group 2."
    assert second.startswith(
        "DQN brings the groups' recalls from 0.50 apart to 0.05; its return (900.0, 10.0% less)"
    )
    assert "significantly lower than that of PPO, by 100.0" in second


def test_all_who_are_equally_fair_are_named_the_one_with_the_highest_return_first():
    results = [
        made_up(method="ppo", recalls=(0.9, 0.4), noise=0.0),
        made_up(method="dqn", recalls=(1.0, 1.0), noise=0.0, income=900.0),
        made_up(method="accept-all", recalls=(1.0, 1.0), noise=0.0, income=950.0),
    ]
    assert told(*results)[1].startswith(
        "accept-all and DQN bring the groups' recalls from 0.50 apart to 0.00"
    )


def test_in_college_people_are_admitted():
    assert "who would succeed are admitted" in told(made_up("college"))[0]


def test_equal_groups_are_said_to_be_equal():
    (sentence,) = told(made_up(recalls=(0.7, 0.7), noise=0.0))
    assert sentence == "Under PPO 70% of those who would repay get a loan, in every group alike."


def test_without_plain_ppo_the_least_fair_is_the_measure():
    results = [made_up(method="dqn", recalls=(0.9, 0.3)), made_up(method="accept-all", recalls=(1.0, 1.0))]
    assert told(*results)[0].startswith("Under DQN")
    assert told(*results)[1].startswith("accept-all brings")


def test_where_nobody_is_qualified_nothing_is_claimed():
    result = made_up()
    result.outcome.counts[..., 2:4] = 0
    assert told(result) == ["No method's recall is defined here: nobody qualified applied."]


def test_figure_2_in_words():
    result = made_up(method="ppo-bisimulator")
    true, seen = (result.summary[m][0] for m in ("credit_gap", "observed_credit_gap"))
    assert (
        f"credit scores that are {seen:.2f} points apart where the true ones are {true:.2f}."
        in told(result)[-1]
    )


def test_the_score_in_a_sentence():
    sentence = findings.score_sentence(few())
    assert sentence.startswith("Of the paper's 186 numbers 28 were run here: ")
    assert "158 were not run." in sentence
    assert "only 3 seeds or 400,000 steps" in sentence  # wide intervals overlap easily
    assert "seeds or" not in findings.score_sentence([made_up(seeds=10)])
    assert "None" in findings.score_sentence([made_up(method="accept-all")])


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["A"], "A"),
        (["A", "B"], "A and B"),
        (["A", "B", "C", "D"], "A, B, C and D"),
        (["A", "B", "C", "D", "E"], "A, B, C and 2 others"),
    ],
)
def test_lists_of_names(names, text):
    assert findings.listed(names) == text
