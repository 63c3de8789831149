"""Sentences say what the numbers say, with their intervals, and claim no more."""

import pytest

from bisimulator.report._by_scenario import by_scenario
from bisimulator.report.sentences import join_names, paper_sentence, scenario_sentences, trivial_rule
from tests.report.synthetic_results import by_chance, several_results, synthetic_result, with_counts


def sentences(*results):
    (scenario,) = by_scenario(results)
    return scenario_sentences(scenario)


def test_recalls_of_the_baseline_and_the_fairest_method_compared_with_it():
    unfair = synthetic_result(method="ppo", recalls=(0.9, 0.4), noise=0.0, income=1000.0)
    fair = synthetic_result(method="dqn", recalls=(0.8, 0.75), noise=0.0, income=900.0)
    first, second, *_ = sentences(unfair, fair)
    assert first == (
        "Under PPO 90.0% ± 0.0% of those who would repay get a loan in group 1, and 40.0% ± 0.0% in group 2."
    )
    assert second.startswith(
        "Smallest recall gap: DQN. DQN instead of PPO: "
        "recall gap 0.05 ± 0.00 instead of 0.50 ± 0.00 (significantly lower), "
        "average return 900.00 ± 0.00 instead of 1000.00 ± 0.00 (10.0% less, significantly lower), "
        "credit gap "
    )


def test_a_difference_that_may_be_chance_is_not_called_one():
    _, second, *_ = sentences(*by_chance())
    assert second.startswith(
        "Smallest recall gap: DQN. DQN instead of PPO: "
        "recall gap 0.20 ± 0.00 instead of 0.50 ± 5.08 (no significant difference), "
    )


def test_one_seed_has_no_interval_and_cannot_tell():
    results = [
        synthetic_result(method="ppo", recalls=(0.9, 0.4), noise=0.0, seeds=1),
        synthetic_result(method="dqn", recalls=(0.8, 0.75), noise=0.0, seeds=1),
    ]
    first, second, *_ = sentences(*results)
    assert "90.0% of those who would repay" in first
    assert "recall gap 0.05 instead of 0.50 (too few seeds to tell)" in second


def test_all_methods_with_the_smallest_gap_are_named_the_one_with_the_highest_return_first():
    results = [
        synthetic_result(method="ppo", recalls=(0.9, 0.4), noise=0.0),
        synthetic_result(method="dqn", recalls=(1.0, 1.0), noise=0.0, income=900.0),
        synthetic_result(method="accept-all", recalls=(1.0, 1.0), noise=0.0, income=950.0),
    ]
    assert sentences(*results)[1].startswith(
        "Smallest recall gap (to within 0.005): accept-all and DQN. accept-all instead of PPO: recall gap 0.00 ± 0.00"
    )


def test_in_college_people_are_admitted():
    assert "who would succeed are admitted" in sentences(synthetic_result("college"))[0]


def test_groups_with_equal_recalls():
    (sentence,) = sentences(synthetic_result(recalls=(0.7, 0.7), noise=0.0))
    assert sentence == "Under PPO 70.0% ± 0.0% of those who would repay get a loan in every group."


def test_recalls_that_differ_a_little_are_both_given():
    sentence = sentences(synthetic_result(recalls=(0.7, 0.6999), noise=0.0))[0]
    assert sentence.endswith("get a loan in group 1, and 70.0% ± 0.0% in group 2.")


def test_without_plain_ppo_the_least_fair_method_is_the_baseline():
    results = [
        synthetic_result(method="dqn", recalls=(0.9, 0.3)),
        synthetic_result(method="accept-all", recalls=(1.0, 1.0)),
    ]
    assert sentences(*results)[0].startswith("Under DQN")
    assert "accept-all instead of DQN" in sentences(*results)[1]


def test_if_nobody_is_qualified_nothing_is_claimed():
    result = synthetic_result()
    result.outcome.counts[..., 2:4] = 0
    assert sentences(result) == ["No method's recall is defined here: nobody qualified applied."]


@pytest.mark.parametrize(
    ("approved", "rule"), [(100, "accept-all"), (0, "reject-all"), (99, ""), ([100, 99], "")]
)
def test_methods_that_decide_like_a_trivial_rule_are_named(approved, rule):
    result = with_counts(synthetic_result(), "approved", approved)
    assert trivial_rule(result.outcome) == rule
    said = [s for s in sentences(result) if "decide" in s]
    assert said == ([f"PPO decides like {rule} in every evaluation episode."] if rule else [])


def test_a_trivial_rule_itself_is_not_named():
    results = [with_counts(synthetic_result(method=m), "approved", 100) for m in ("accept-all", "ppo", "dqn")]
    said = [s for s in sentences(*results) if "decide" in s]
    assert said == ["PPO and DQN decide like accept-all in every evaluation episode."]


def test_figure_2_in_words():
    result = synthetic_result(method="ppo-bisimulator")
    true, observed = (result.summary[m] for m in ("credit_gap", "observed_credit_gap"))
    assert sentences(result)[-1] == (
        f"The agent of PPO + Bisimulator observes a credit gap of {observed[0]:.2f} ± {observed[1]:.2f} points; "
        f"the true one is {true[0]:.2f} ± {true[1]:.2f}."
    )


def test_how_much_of_the_paper_is_matched():
    sentence = paper_sentence(several_results())
    assert sentence.startswith("Of the paper's 186 numbers 28 were run here: ")
    assert "158 were not run." in sentence
    assert "only 3 seeds or 400,000 training steps" in sentence  # wide intervals overlap easily
    assert "times as wide as the published ones (median); if they were no wider, " in sentence
    assert "seeds or" not in paper_sentence([synthetic_result(seeds=10)])
    assert "With one seed there are no intervals" in paper_sentence([synthetic_result(seeds=1)])
    assert paper_sentence([synthetic_result(method="accept-all")]) == (
        "None of the paper's 186 numbers was run here."
    )


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
    assert join_names(names) == text
