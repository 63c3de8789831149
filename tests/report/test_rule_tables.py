"""Fixed policies per group, compared with the paper's rows, and in one sentence."""

import io

import pytest
from rich.console import Console

import bisimulator
from bisimulator import policies
from bisimulator.report.rule_tables import comparison_table, in_one_sentence, per_group_table


def rendered(table):
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def summary():
    env = bisimulator.make("lending", population=20, horizon=40)
    return bisimulator.evaluate(env, policies.accept_all(), seeds=2, episodes=1).summary


def test_each_group_has_a_row(summary):
    lines = rendered(per_group_table({"accept-all": summary}, ["[red]", "blue"])).splitlines()
    first, second = (line.split() for line in lines if "[red]" in line or "blue" in line)
    assert first[:4] == ["accept-all", "[red]", "1.00", "1.00"]  # approval rate and recall
    assert second[:3] == ["blue", "1.00", "1.00"]


def test_the_papers_rows_are_below_ours(summary):
    lines = rendered(comparison_table("lending", {"accept-all": summary}, ["EO", "PPO"])).splitlines()
    assert [line.split()[:2] for line in lines if line.startswith(("here", "paper"))] == [
        ["here", "accept-all"],
        ["paper", "EO"],
        ["paper", "PPO"],
    ]
    elsewhere = rendered(comparison_table("elsewhere", {"accept-all": summary}, []))
    assert "recall mean" in elsewhere
    assert "paper" not in elsewhere


def sentence(ours, other):
    numbers = (
        {"recall_gap": ours, "average_return": (90.0, 1.0)},
        {
            "recall_gap": other,
            "average_return": (120.0, 2.0),
        },
    )
    return in_one_sentence(dict(zip(("accept-all", "threshold"), numbers, strict=True)))


@pytest.mark.parametrize(
    ("ours", "other", "expected"),
    [
        ((0.0, 0.01), (0.61, 0.05), "0.00±0.01 instead of 0.61±0.05 (significantly lower)"),
        ((0.61, 0.05), (0.0, 0.01), "0.61±0.05 instead of 0.00±0.01 (significantly higher)"),
        ((0.0, 0.01), (0.61, 1.05), "0.00±0.01 instead of 0.61±1.05 (no significant difference)"),
        ((0.5, 0.1), (0.5, 0.1), "0.50±0.10 instead of 0.50±0.10 (the same)"),
        ((0.5, float("nan")), (0.6, float("nan")), "0.50 instead of 0.60 (too few seeds to tell)"),
        ((float("nan"), float("nan")), (0.6, 0.1), "- instead of 0.60±0.10 (unknown)"),
    ],
)
def test_the_first_policy_against_the_last(ours, other, expected):
    assert sentence(ours, other) == (
        f"accept-all instead of threshold: recall gap {expected}, "
        "average return 90.00±1.00 instead of 120.0±2.0 (significantly lower)."
    )


def test_the_credit_gap_is_compared_if_scores_move(summary):
    assert "credit gap" in in_one_sentence({"accept-all": summary, "again": summary})
