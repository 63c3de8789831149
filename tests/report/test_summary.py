"""The summary: how much of the paper is matched or beaten, and the statistics."""

from bisimulator.report._by_scenario import by_scenario
from bisimulator.report.summary import counts_by_scenario, difference_grid, markdown_summary
from tests.report.synthetic_results import several_results, synthetic_result


def test_every_scenario_of_the_paper_has_a_row_and_there_is_one_for_all():
    counts = counts_by_scenario(several_results())
    assert list(counts) == ["lending", "lending-conscientiousness", "lending-10-groups", "college", "all"]
    assert [c.total for c in counts.values()] == [55, 55, 16, 60, 186]
    assert counts["college"].not_run == 60


def test_the_page_has_the_counts_the_definitions_and_the_statistics():
    text = markdown_summary(several_results())
    total = counts_by_scenario(several_results())["all"]
    numbers = " | ".join(map(str, [*total.by_verdict.values(), 186, total.matched + total.beaten]))
    assert f"| all | {numbers} | {total.within} | {total.only_by_width} | {total.width:.2f} |" in text
    assert "| college | 0 | 0 | 0 | 60 | 60 | 0 | 0 | 0 |  |" in text  # nothing was run, so there is no width
    for words in ("Matched: the two 95% intervals", "Beaten: they do not", "### Interquartile means"):
        assert words in text
    assert text.count("### Differences from plain PPO") == 2
    assert "significantly" in text


def test_differences_need_plain_ppo_and_another():
    for results in (
        [synthetic_result(method="ppo")],
        [synthetic_result(method="dqn"), synthetic_result(method="accept-all")],
    ):
        (scenario,) = by_scenario(results)
        assert difference_grid(scenario) is None
