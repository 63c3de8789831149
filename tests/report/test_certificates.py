"""What `certify` and `frontier` print and draw."""

import io
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

import bisimulator
from bisimulator import policies
from bisimulator.evaluation.certify import Estimate, certify
from bisimulator.exact.frontier import frontier
from bisimulator.report import certificates as truth
from bisimulator.report.certificates import (
    MethodPoint,
    certificate_table,
    draw_frontier,
    frontier_table,
    published_results,
    regret_table,
    remarks,
    show_certificate,
    show_frontier,
)


def printed(render):
    console = Console(file=io.StringIO(), width=200)
    result = render(console)
    return result, console.file.getvalue()


@pytest.fixture(scope="module")
def small():
    return bisimulator.make("lending", population=20, horizon=100)


def test_certificate_in_print(small):
    found, text = printed(
        lambda c: show_certificate(small, policies.thresholds((3, 3)), title="threshold", console=c)
    )
    assert found.exact
    for words in (
        "threshold on lending: exact",
        "repaid loans",
        "over an episode",
        f"{found.gap:.2f}",
        "matched",
    ):
        assert words in text


def test_of_many_groups_a_narrow_terminal_shows_the_lowest_and_the_highest():
    env = bisimulator.make("lending", groups=10, population=10, horizon=20)
    found = certify(env, policies.thresholds((3,) * 10))
    console = Console(file=io.StringIO(), width=80)
    console.print(certificate_table(found, "threshold", env.group_names))
    lines = console.file.getvalue().splitlines()
    head, first = next((line, after) for line, after in pairwise(lines) if "gap" in line)
    assert "lowest group highest group" in " ".join(head.split())
    values = found.entries[next(iter(found.entries))].values
    assert f"{values.min():.2f} " in first
    assert f"{values.max():.2f} " in first


def test_estimates_in_print_say_what_they_are(small, monkeypatch):
    found = Estimate("college", "Because.", np.array([2.0, 1.0]), (0, 1), 1.0, (0.5, 1.5), 10, 5)
    monkeypatch.setattr(truth, "certify", lambda *_, **__: found)
    _, text = printed(lambda c: show_certificate(small, policies.accept_all(), title="all", console=c))
    assert "all: Estimate for college from 10 seeds x 5 episodes, not a proof" in text
    assert "[0.5, 1.5]. Because." in text


def test_frontier_in_print_has_the_paper_and_its_regrets(tmp_path):
    figure = tmp_path / "frontier.png"
    best, text = printed(
        lambda c: show_frontier(
            "lending", criterion="min-recall", levels=[0.9, 1], settings={}, figure=figure, console=c
        )
    )
    assert best.value[1] == pytest.approx(3570.7, abs=0.05)
    lines = {line.split()[1]: line for line in text.splitlines() if line.startswith("paper")}
    assert "527.2" in lines["Max-util"]
    assert "41.3" in lines["ELBERT-PO"]
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert "levels down" not in text


def test_other_parameters_are_not_compared_with_the_paper():
    settings = {"population": 20, "horizon": 100}
    _, text = printed(
        lambda c: show_frontier("lending", criterion="min-recall", levels=[1], settings=settings, console=c)
    )
    assert "paper" not in text


def test_levelling_down_is_flagged_and_explained(small):
    best = frontier(small, "recall-gap", levels=[0.0, 1.0])
    _, text = printed(lambda c: c.print(frontier_table(best)))
    rows = text.splitlines()[2:4]
    assert "levels down" in rows[0]
    assert "levels down" not in rows[1]
    assert any("Equal is not the same as better" in sentence for sentence in remarks(best))
    assert remarks(frontier(small, levels=[0.0])) == []


def test_bounds_that_nobody_attains_are_said_to_be_such():
    env = bisimulator.make("lending-conscientiousness", population=10, horizon=30)
    best = frontier(env, levels=[0.9])
    assert any("knows everybody's conscientiousness" in sentence for sentence in remarks(best))
    _, text = printed(lambda c: c.print(frontier_table(best)))
    assert text.splitlines()[2].split()[1] == "-"  # no attained value, only a bound


def test_unreachable_levels_are_explained(small):
    best = frontier(small, "credit-gap", levels=[0.0])
    assert np.isnan(best.value[0])
    assert any("no policy reaches" in sentence for sentence in remarks(best))


def test_regret_of_one_s_own_results(small):
    best = frontier(small, levels=[1.0])
    everybody = MethodPoint("everybody", best.value[0], recalls=(1.0, 1.0))
    worse = MethodPoint("worse", best.value[0] - 7, recalls=(1.0, 1.0))
    unknown = MethodPoint("unknown", 1.0)
    assert everybody.regret(best) == pytest.approx(0, abs=1e-3)
    assert worse.regret(best) == pytest.approx(7, abs=1e-3)
    assert np.isnan(unknown.regret(best))
    _, text = printed(lambda c: c.print(regret_table(best, [unknown, worse, everybody])))
    assert [line.split()[1] for line in text.splitlines()[2:]] == ["everybody", "worse", "unknown"]


def test_regret_by_gap(small):
    best = frontier(small, "recall-gap", levels=[0.05])
    result = MethodPoint("method", best.value[0] - 3, recall_gap=0.05)
    assert result.regret(best) == pytest.approx(3, abs=1e-2)


def test_ten_groups_show_the_range_of_recalls():
    env = bisimulator.make("lending-10-groups", population=20, horizon=50)
    _, text = printed(lambda c: c.print(frontier_table(frontier(env, levels=[0.8]))))
    assert "lowest recall" in text


def test_published_results():
    lending = {result.method: result for result in published_results("lending")}
    assert len(lending) == 11
    assert lending["EO"].recalls == (0.83, 0.73)
    assert lending["EO"].credit_gap == 2.71
    ten = published_results("lending-10-groups")
    assert all(result.recalls == () and result.recall_gap is not None for result in ten)
    assert published_results("elsewhere") == []


@pytest.mark.parametrize("criterion", ["min-recall", "recall-gap", "credit-gap"])
def test_the_figure_shows_every_known_point(small, criterion):
    results = [MethodPoint("a", 1.0, (0.5, 0.6), 0.1, 3.0), MethodPoint("b", 2.0, source="paper")]
    best = frontier(small, criterion)
    axes = draw_frontier(best, results).axes[0]
    labels = axes.get_legend_handles_labels()[1]
    assert any("1  a, here: regret" in label for label in labels)
    assert not any(" b, paper" in label for label in labels)
    curve = axes.lines[0].get_xdata()
    assert curve.min() <= results[0].level(criterion) <= curve.max()


def test_the_curve_is_not_carried_on_where_the_demand_still_binds(small):
    best = frontier(small, levels=[0.95, 1.0])
    axes = draw_frontier(best, [MethodPoint("a", 1.0, (0.1, 0.1))]).axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [0.95, 1.0])


def test_a_point_from_an_evaluation(small):
    summary = bisimulator.evaluate(small, policies.accept_all(), seeds=2, episodes=1).summary
    point = MethodPoint.from_summary("all", summary)
    assert point.recalls == (1.0, 1.0)
    assert point.average_return == summary["average_return"][0]
    assert point.level("credit-gap") == summary["credit_gap"][0]
