"""The summary: how much of the paper is matched or beaten, and the statistics."""

from bisimulator.report._by_scenario import scenes
from bisimulator.report.summary import difference_grid, markdown_summary, tally
from tests.report.made_up import few, made_up


def test_every_scenario_of_the_paper_has_a_line_and_all_have_one():
    found = tally(few())
    assert list(found) == ["lending", "lending-conscientiousness", "lending-10-groups", "college", "all"]
    assert [s.total for s in found.values()] == [55, 55, 16, 60, 186]
    assert found["college"].not_run == 60


def test_the_page_has_the_counts_the_definitions_and_the_statistics():
    text = markdown_summary(few())
    s = tally(few())["all"]
    counts = " | ".join(map(str, s.counts.values()))
    assert f"| all | {counts} | 186 | {s.matched + s.beaten} | {s.within} |" in text
    for words in ("Matched: the two 95% intervals", "Beaten: they do not", "### Interquartile means"):
        assert words in text
    assert text.count("### Against plain PPO") == 2
    assert "significantly" in text


def test_differences_need_plain_ppo_and_another():
    for results in ([made_up(method="ppo")], [made_up(method="dqn"), made_up(method="accept-all")]):
        (scene,) = scenes(results)
        assert difference_grid(scene) is None
