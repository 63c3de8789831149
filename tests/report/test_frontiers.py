"""How `frontier` prints and draws frontiers and the points of methods."""

import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

import bisimulator
from bisimulator.evaluation.goal_outcome import GoalOutcome
from bisimulator.exact.frontier import frontier
from bisimulator.goals import DEMANDS
from bisimulator.report.frontier_points import MethodPoint, published_points
from bisimulator.report.frontiers import (
    draw_frontier,
    explanations,
    frontier_rows,
    frontier_table,
    goal_table,
    print_frontier,
    regret_table,
)


def point(method, average_return, recalls=(), **levels):
    """A point with these recalls and levels, such as `recall_gap=0.1`."""
    known = {name.replace("_", "-"): np.array([level]) for name, level in levels.items()}
    if not recalls:
        return MethodPoint(method, np.array([average_return]), known)
    known["min-recall"] = np.array([min(recalls)])
    return MethodPoint(method, np.array([average_return]), known, {"min-recall": np.array([recalls])})


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
    print_frontier(best, points, console)
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
    print_frontier(frontier(small, levels=[1]), [], console)
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
    everybody = point("everybody", best.value[0], (1.0, 1.0))
    worse = point("worse", best.value[0] - 7, (1.0, 1.0))
    unknown = point("unknown", 1.0)
    text = printed(regret_table(best, [unknown, worse, everybody]))
    assert [line.split()[1] for line in text.splitlines()[2:]] == ["everybody", "worse", "unknown"]
    assert [line.split()[2] for line in text.splitlines()[2:]] == ["1.000", "1.000", "-"]
    assert " 7.00 " in text.splitlines()[3]


def goal_outcome(**changes):
    values = {"reached": (0.88, 0.01), "violation": (0.02, 0.01), "average_return": (3600.0, 20.0)}
    optimum = {"best_any": 3900.0, "best_stationary": 3800.0, "regret": (7.7, 0.5)}
    return GoalOutcome("min-recall=0.9", 0.9, "exact", **values, **optimum | changes)


def test_goals_are_shown_with_the_levels_reached(small):
    trained = MethodPoint("ppo [x]", np.array([1.0]), {}, measured="exact", goals=[goal_outcome()])
    row = printed(goal_table([trained, point("plain", 2.0)])).splitlines()[2:]
    assert " ".join(row[0].split()) == (
        "ppo [x] min-recall=0.9 0.880±0.010 0.020±0.010 3600.0±20.0 7.70±0.50 exact"
    )
    assert len(row) == 1
    console = Console(file=io.StringIO(), width=200)
    print_frontier(frontier(small, levels=[1]), [trained], console)
    assert "Goals and levels reached" in console.file.getvalue()
    console = Console(file=io.StringIO(), width=200)
    print_frontier(frontier(small, levels=[1]), [point("plain", 2.0)], console)
    assert "Goals" not in console.file.getvalue()


def test_one_seed_has_no_interval():
    alone = MethodPoint("ppo", np.array([1.0]), {}, goals=[goal_outcome(regret=(7.7, np.nan))])
    assert "7.70 " in printed(goal_table([alone]))
    assert "nan" not in printed(goal_table([alone]))


def test_ten_groups_show_the_range_of_recalls():
    env = bisimulator.make("lending-10-groups", population=20, horizon=50)
    assert "lowest recall" in printed(frontier_table(frontier(env, levels=[0.8])))


@pytest.mark.parametrize(
    ("criterion", "level"),
    [("min-recall", 0.5), ("approval-gap", 0.1), pytest.param("credit-gap", 3.0, marks=pytest.mark.long)],
)
def test_the_figure_shows_every_known_point(small, criterion, level):
    levels, rates = {criterion: np.array([level])}, {criterion: np.array([[level, 0.6]])}
    points = [
        MethodPoint("a", np.array([1.0]), levels, rates),
        MethodPoint("b", np.array([2.0]), {}, source="paper"),
    ]
    best = frontier(small, criterion, group_blind=criterion == "approval-gap")
    axes = draw_frontier(best, points).axes[0]
    assert len(axes.lines) == 2 + (criterion == "approval-gap")
    labels = axes.get_legend_handles_labels()[1]
    assert any("1  a, here: regret" in label for label in labels)
    assert not any(" b, paper" in label for label in labels)
    curve = axes.lines[0].get_xdata()
    assert curve.min() <= points[0].level(criterion) <= curve.max()


def test_a_dollar_sign_in_a_name_is_a_dollar_sign(small):
    figure = draw_frontier(frontier(small, levels=[1.0]), [point("$x_{$", 1.0, (0.5, 0.5))])
    figure.draw_without_rendering()  # as mathematics the name would be wrong
    (legend,) = figure.legends
    assert "$x_{$" in legend.get_texts()[-1].get_text()


def test_the_curve_is_not_extended_where_the_demand_still_binds(small):
    best = frontier(small, levels=[0.95, 1.0])
    axes = draw_frontier(best, [point("a", 1.0, (0.1, 0.1))]).axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [0.95, 1.0])


@pytest.mark.parametrize("criterion", DEMANDS)
def test_every_criterion_has_its_rates_in_the_table_and_its_axis(small, criterion):
    best = frontier(small, criterion, levels=[0.5])
    axis = draw_frontier(best).axes[0].get_xlabel()
    rate = "recall" if criterion == "credit-gap" else DEMANDS[criterion].rate
    assert f"{rate} 1" in printed(frontier_table(best))
    assert axis in {
        f"smallest {rate} of a group",
        f"{criterion.replace('-', ' ')}",
        f"{criterion.replace('-', ' ')}, in {DEMANDS[criterion].unit}",
    }


def test_group_blind_policies_are_a_column_of_the_table_and_of_the_file(small):
    best = frontier(small, levels=[0.8, 0.9], group_blind=True)
    head, first, *_ = printed(frontier_table(best)).splitlines()[1:]
    assert "group-blind" in head
    assert f" {best.group_blind_value[0]:.1f} " in first or f" {best.group_blind_value[0]:.2f} " in first
    columns, rows = frontier_rows(best)
    values = dict(zip(columns, rows[1], strict=True))
    assert float(values["min-recall"]) == 0.9
    assert float(values["group_blind"]) == best.group_blind_value[1]
    assert float(values["any_policy"]) == best.value[1]
    assert float(values["group_blind_recall_2"]) == best.group_blind_recalls[1, 1]
    assert any("group-blind ones at the score only" in sentence for sentence in explanations(best))
    without = frontier(small, levels=[0.8])
    assert "group-blind" not in printed(frontier_table(without))
    assert "group_blind" not in frontier_rows(without)[0]


def test_cells_without_a_policy_are_explained(small):
    best = frontier(small, levels=[0.9])
    assert not any("Empty" in sentence for sentence in explanations(best))
    missing = dataclasses.replace(best, stationary_value=np.full(1, np.nan))
    assert "Empty cells: no such policy was found at that level." in explanations(missing)
