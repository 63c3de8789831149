"""The paper's tables with our numbers: the same in Markdown, LaTeX and CSV, for any text."""

import re

import pytest

from bisimulator import published
from bisimulator.report import tables
from bisimulator.report._by_scenario import by_scenario
from tests.report.synthetic_results import several_results, synthetic_result

HOSTILE = "a|b_c\\ <b>&amp; 50% {x} $y$ #1 `z` *w* [u](v)\nnew~line^"


def markdown_rows(text):
    """The cells of every table row; an escaped bar does not separate cells."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_markdown_has_our_numbers_in_the_papers_layout():
    results = several_results()
    rows = markdown_rows(tables.markdown_tables(results)["lending"])
    assert rows[0] == ["method", "return ↑", "credit gap ↓", "recall g1 ↑", "recall g2 ↑", "recall gap ↓"]
    ppo = next(row for row in rows if row[0] == "PPO")
    expected = [results[0].summary[m] for m in ("average_return", "credit_gap", "recall_g1", "recall_g2")]
    assert [cell.strip("*") for cell in ppo[1:5]] == [f"{mean:.2f} ± {half:.2f}" for mean, half in expected]


def test_each_number_is_next_to_the_published_one_with_the_difference():
    results = several_results()
    rows = markdown_rows(tables.markdown_tables(results)["lending"])
    start = next(i for i, row in enumerate(rows) if row[:3] == ["method", "metric", "here"])
    ppo = next(i for i, row in enumerate(rows) if i > start and row[0] == "PPO")
    mean, half = results[0].summary["average_return"]
    theirs = published.row("lending", "PPO")["average_return"]
    assert rows[ppo][1:5] == [
        "return ↑",
        f"{mean:.2f} ± {half:.2f}",
        f"{theirs.mean:.2f} ± {theirs.ci95:.2f}",
        f"{mean - theirs.mean:+.2f}",
    ]
    assert [row[0] for row in rows[ppo + 1 : ppo + 5]] == [""] * 4  # the name once, then its other metrics


def test_the_best_and_all_within_five_percent_are_bold_as_printed():
    """A gap of .0004 is printed .00 and is as good as none."""
    results = [
        synthetic_result(method="ppo", recalls=(0.5, 0.4), income=1000.0, noise=0.0),
        synthetic_result(method="dqn", recalls=(0.5, 0.4996), income=951.0, noise=0.0),
        synthetic_result(method="accept-all", recalls=(1.0, 1.0), income=949.0, noise=0.0),
    ]
    (scenario,) = by_scenario(results)
    grid = tables.paper_grid(scenario)
    column = {name: c for c, name in enumerate(grid.head)}
    rows = {row[0]: r for r, row in enumerate(grid.rows)}

    def bold(name):
        return {method for method, r in rows.items() if (r, column[name]) in grid.bold}

    assert bold("return ↑") == {"PPO", "DQN"}
    assert bold("recall gap ↓") == {"DQN", "accept-all"}
    assert bold("recall g1 ↑") == {"accept-all"}


def test_a_method_that_was_not_run_is_named():
    text = tables.markdown_tables(several_results())["lending-10-groups"]
    assert "not run here: PPO + Bisimulator (Reward only), ELBERT-PO." in text


def test_a_scenario_without_a_table_in_the_paper_has_no_differences():
    text = tables.markdown_tables([synthetic_result(settings={"population": 500})])["lending"]
    assert "Compared with the paper" not in text
    assert len(markdown_rows(text)) == 3


@pytest.mark.parametrize("text", [HOSTILE, "</td><script>", "| --- |"])
def test_text_stays_in_its_cell(text):
    grid = tables.Grid(["method", "x"], [[text, "1"]], frozenset({(0, 0)}))
    rows = markdown_rows(tables.markdown(grid))
    assert [len(row) for row in rows] == [2, 2, 2]
    assert "<" not in tables.markdown(grid)
    line = next(line for line in tables.latex(grid, text, "l").splitlines() if line.endswith(r"& 1 \\"))
    assert len(re.findall(r"(?<!\\)&", line)) == 1
    assert not re.search(r"(?<!\\)[%#_$]", line.replace(r"\textbf", ""))


def test_latex_has_balanced_braces_and_as_many_columns_everywhere():
    text = tables.latex_tables(several_results())["lending"]
    assert text.count("{") == text.count("}")
    for body in re.findall(r"\\midrule\n(.*?)\\bottomrule", text, re.S):
        rows = [line for line in body.splitlines() if line.strip()]
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1
    assert r"1.00 $\pm$ 0.0" in text
    assert r"95\%" in text


def test_csv_has_every_number_in_full_precision():
    results = several_results()
    scenario = by_scenario(results)[0]
    rows = [dict(zip(tables.CSV_COLUMNS, row, strict=True)) for row in tables.csv_rows(scenario)]
    assert len(rows) == len(scenario.entries) * len(scenario.columns)
    for row in rows:
        result = next(
            r for r in results if (r.spec.method, r.spec.scenario) == (row["registered_as"], "lending")
        )
        assert (row["mean"], row["ci95"]) == result.summary[row["metric"]]
        theirs = published.row("lending", row["method"]).get(row["metric"])
        if theirs is None:
            assert (row["paper_mean"], row["verdict"]) == ("", "")
        else:
            assert (row["paper_mean"], row["paper_ci95"]) == theirs
            assert row["difference"] == row["mean"] - theirs.mean


def test_no_difference_has_no_sign():
    assert [tables.signed(x) for x in (-0.001, 0.0, 0.004, -0.006, 1.5)] == [
        "0.00",
        "0.00",
        "0.00",
        "-0.01",
        "+1.50",
    ]
