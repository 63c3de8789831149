"""How `frontier` prints and draws frontiers and the points of methods."""

import io

import numpy as np
import pytest
from rich.console import Console

import bisimulator
from bisimulator import policies
from bisimulator.exact.frontier import frontier
from bisimulator.report.frontiers import (
    MethodPoint,
    draw_frontier,
    explanations,
    frontier_table,
    job_points,
    print_frontier,
    published_points,
    regret_table,
)
from tests.report.synthetic_results import synthetic_result


def printed(renderable):
    console = Console(file=io.StringIO(), width=200)
    console.print(renderable)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def small():
    return bisimulator.make("lending", population=20, horizon=100)


def test_frontier_in_print_has_the_paper_and_its_regrets(tmp_path):
    env, console = bisimulator.make("lending"), Console(file=io.StringIO(), width=200)
    best = frontier(env, "min-recall", levels=[0.9, 1])
    points = published_points("lending")
    print_frontier(best, points, env.group_names, console)
    text = console.file.getvalue()
    assert best.value[1] == pytest.approx(3570.7, abs=0.05)
    lines = {line.split()[1]: line for line in text.splitlines() if line.startswith("paper")}
    assert "527.2" in lines["Max-util"]
    assert "41.3" in lines["ELBERT-PO"]
    assert "levels down" not in text
    draw_frontier(best, points).savefig(tmp_path / "frontier.png")
    assert (tmp_path / "frontier.png").read_bytes().startswith(b"\x89PNG")


def test_without_points_there_are_no_regrets(small):
    console = Console(file=io.StringIO(), width=200)
    print_frontier(frontier(small, levels=[1]), [], small.group_names, console)
    assert "Regret" not in console.file.getvalue()


def test_levelling_down_is_flagged_and_explained(small):
    best = frontier(small, "recall-gap", levels=[0.0, 1.0])
    rows = printed(frontier_table(best)).splitlines()[2:4]
    assert "levels down" in rows[0]
    assert "levels down" not in rows[1]
    assert any("Equal is not the same as better" in sentence for sentence in explanations(best))
    assert explanations(frontier(small, levels=[0.0])) == []


def test_bounds_that_may_not_be_attained_are_said_to_be_such():
    env = bisimulator.make("lending-conscientiousness", population=10, horizon=30)
    best = frontier(env, levels=[0.9])
    assert any("knows everybody's conscientiousness" in sentence for sentence in explanations(best))
    text = printed(frontier_table(best))
    assert text.splitlines()[2].split()[1] == "-"  # no attained value, only a bound


def test_unreachable_levels_are_explained(small):
    best = frontier(small, "credit-gap", levels=[0.0])
    assert np.isnan(best.value[0])
    assert any("no policy reaches" in sentence for sentence in explanations(best))


def test_regret_of_points(small):
    best = frontier(small, levels=[1.0])
    everybody = MethodPoint("everybody", best.value[0], recalls=(1.0, 1.0))
    worse = MethodPoint("worse", best.value[0] - 7, recalls=(1.0, 1.0))
    unknown = MethodPoint("unknown", 1.0)
    assert everybody.regret(best) == pytest.approx(0, abs=1e-3)
    assert worse.regret(best) == pytest.approx(7, abs=1e-3)
    assert np.isnan(unknown.regret(best))
    text = printed(regret_table(best, [unknown, worse, everybody]))
    assert [line.split()[1] for line in text.splitlines()[2:]] == ["everybody", "worse", "unknown"]


def test_regret_by_gap(small):
    best = frontier(small, "recall-gap", levels=[0.05])
    point = MethodPoint("method", best.value[0] - 3, recall_gap=0.05)
    assert point.regret(best) == pytest.approx(3, abs=1e-2)


def test_ten_groups_show_the_range_of_recalls():
    env = bisimulator.make("lending-10-groups", population=20, horizon=50)
    assert "lowest recall" in printed(frontier_table(frontier(env, levels=[0.8])))


def test_published_points():
    lending = {point.method: point for point in published_points("lending")}
    assert len(lending) == 11
    assert lending["EO"].recalls == (0.83, 0.73)
    assert lending["EO"].credit_gap == 2.71
    ten = published_points("lending-10-groups")
    assert all(point.recalls == () and point.recall_gap is not None for point in ten)
    assert published_points("elsewhere") == []


def test_points_of_jobs_are_labelled_by_what_differs():
    results = [synthetic_result(steps=40_000), synthetic_result(steps=20_000), synthetic_result(method="dqn")]
    points = job_points(results)
    assert [point.method for point in points] == ["ppo (steps 40000)", "ppo (steps 20000)", "dqn"]
    assert points[0].average_return == results[0].summary["average_return"][0]


@pytest.mark.parametrize("criterion", ["min-recall", "recall-gap", "credit-gap"])
def test_the_figure_shows_every_known_point(small, criterion):
    points = [MethodPoint("a", 1.0, (0.5, 0.6), 0.1, 3.0), MethodPoint("b", 2.0, source="paper")]
    best = frontier(small, criterion)
    axes = draw_frontier(best, points).axes[0]
    labels = axes.get_legend_handles_labels()[1]
    assert any("1  a, here: regret" in label for label in labels)
    assert not any(" b, paper" in label for label in labels)
    curve = axes.lines[0].get_xdata()
    assert curve.min() <= points[0].level(criterion) <= curve.max()


def test_a_dollar_sign_in_a_name_is_a_dollar_sign(small):
    figure = draw_frontier(frontier(small, levels=[1.0]), [MethodPoint("$x_{$", 1.0, (0.5, 0.5))])
    figure.draw_without_rendering()  # as mathematics the name would be wrong
    (legend,) = figure.legends
    assert "$x_{$" in legend.get_texts()[-1].get_text()


def test_the_curve_is_not_extended_where_the_demand_still_binds(small):
    best = frontier(small, levels=[0.95, 1.0])
    axes = draw_frontier(best, [MethodPoint("a", 1.0, (0.1, 0.1))]).axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [0.95, 1.0])


def test_a_point_from_an_evaluation(small):
    summary = bisimulator.evaluate(small, policies.accept_all(), seeds=2, episodes=1).summary
    point = MethodPoint.from_summary("all", summary)
    assert point.recalls == (1.0, 1.0)
    assert point.average_return == summary["average_return"][0]
    assert point.level("credit-gap") == summary["credit_gap"][0]
