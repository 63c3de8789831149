"""The paper's table with our rows: which rows, what is bold, what the files and the sentence say."""

import csv
import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

import bisimulator
from bisimulator import published
from bisimulator.jobs.spec import make_spec
from bisimulator.jobs.store import Result
from bisimulator.report import comparison
from bisimulator.report._observation_dynamics import omega_in_words
from bisimulator.report._table_columns import paper_columns
from bisimulator.report.text import number
from tests.report.synthetic_results import by_chance, synthetic_result

SETTINGS = {"population": 12, "horizon": 20}
METHODS = ("accept-all", "threshold")


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The results of two rules, and the folder of their tables."""
    folder = tmp_path_factory.mktemp("tables")
    results = [synthetic_result(method=method, settings=SETTINGS) for method in METHODS]
    comparison.write_comparison(results, folder)
    return results, folder


def with_summary(method, **means):
    """A result with a given summary."""
    spec = make_spec("lending", method, seeds=2, episodes=1)

    class WithSummary(Result):
        @property
        def summary(self):
            return {m: (means.get(m, 0.5), 0.01) for m in paper_columns("lending")}

    return WithSummary(spec, synthetic_result().outcome, {})


def rendered(renderable):
    console = Console(file=io.StringIO(), width=200)
    console.print(renderable)
    return console.file.getvalue()


def notes(*results):
    console = Console(file=io.StringIO(), width=200)
    comparison.print_notes(results, console)
    return console.file.getvalue()


def cells(table, title):
    """The column under a title, top to bottom."""
    column = next(c for c in table.columns if c.header == title)
    return list(column.cells)


def test_each_of_our_rows_has_the_published_one_below_it():
    table = comparison.paper_table([with_summary("ppo"), with_summary("ppo-bisimulator")])
    columns = paper_columns("lending")
    for row, method in ((1, "PPO"), (3, "PPO + Bisimulator")):
        theirs = published.row("lending", method)
        printed = [list(column.cells)[row] for column in table.columns[2:]]
        assert printed == [number(*theirs[metric]) for metric in columns]
    lines = [
        line.split()[0] for line in rendered(table).splitlines() if " here " in line or " paper " in line
    ]
    assert lines == ["ppo", "paper", "ppo-bisimulator", "paper"]


def test_a_method_that_the_paper_does_not_have_is_alone():
    table = comparison.paper_table([with_summary("reject-all")])
    assert len(table.rows) == 1


@pytest.mark.parametrize(
    ("method", "settings", "expected"),
    [("ppo", {}, False), ("ppo", SETTINGS, True), ("reject-all", SETTINGS, False)],
)
def test_published_rows_next_to_other_settings_are_said_to_be_for_the_papers_own(method, settings, expected):
    sentence = "The paper's rows are for the paper's parameters; yours differ."
    result = with_summary(method)
    result = dataclasses.replace(result, spec=dataclasses.replace(result.spec, settings=settings))
    assert (sentence in notes(result)) == expected
    assert (sentence in comparison.markdown_table([result])) == expected


def test_the_best_and_all_within_five_percent_are_bold():
    """A return is best high, a gap is best low; 95 is within 5% of 100 and 94 is not."""
    results = [
        with_summary("ppo", average_return=100.0, credit_gap=1.0),
        with_summary("dqn", average_return=95.0, credit_gap=1.06),
        with_summary("ppo-bisimulator", average_return=94.0, credit_gap=1.04),
    ]
    table = comparison.paper_table(results)
    returns, gaps = cells(table, "return")[::2], cells(table, "credit gap")[::2]
    assert ["[bold]" in cell for cell in returns] == [True, True, False]
    assert ["[bold]" in cell for cell in gaps] == [True, False, True]


def test_an_unknown_number_is_never_the_best():
    results = [
        with_summary("ppo", average_return=float("nan")),
        with_summary("dqn", average_return=-10.0),
        with_summary("ppo-bisimulator", average_return=-10.4),
    ]
    returns = cells(comparison.paper_table(results), "return")[::2]
    assert ["[bold]" in cell for cell in returns] == [False, True, True]


def read(path):
    with path.open() as file:
        return list(csv.reader(file))


def test_the_summary_has_the_columns_of_the_published_table(compared):
    results, folder = compared
    header, *rows = read(folder / "summary.csv")
    assert header == ["scenario", "method", "metric", "mean", "ci95"]
    assert {row[1] for row in rows} == set(METHODS)
    for result in results:
        mine = {row[2]: (float(row[3]), float(row[4])) for row in rows if row[1] == result.spec.method}
        assert mine.keys() == result.summary.keys()
        np.testing.assert_array_equal([*mine.values()], [*result.summary.values()])
    assert {row[2] for row in rows} >= set(published.row("lending", "PPO"))


def test_the_episodes_have_one_row_each(compared):
    results, folder = compared
    header, *rows = read(folder / "episodes.csv")
    assert header == ["scenario", "method", "seed", "episode", "metric", "value"]
    assert len(rows) == sum(values.size for r in results for values in r.columns.values())
    assert len({tuple(row[:5]) for row in rows}) == len(rows)


def test_variants_of_a_method_have_rows_of_their_own(tmp_path):
    results = [
        synthetic_result(method="max-util", config={"knows": knows}) for knows in ("population", "seen")
    ]
    written = comparison.write_comparison(results, tmp_path)
    assert sorted(path.name for path in written) == ["episodes.csv", "summary.csv", "table.md"]
    for name in ("summary.csv", "episodes.csv"):
        names = {row[1] for row in read(tmp_path / name)[1:]}
        assert names == {"max-util (knows population)", "max-util (knows seen)"}
    assert "| max-util (knows seen) |" in (tmp_path / "table.md").read_text()


def test_two_methods_whose_gaps_differ_significantly():
    wide = synthetic_result(method="ppo", recalls=(0.9, 0.4), noise=0.0, income=1000.0)
    narrow = synthetic_result(method="dqn", recalls=(0.8, 0.7), noise=0.0, income=900.0)
    assert comparison.in_one_sentence([wide, narrow]) == (
        "dqn instead of ppo: recall gap 0.10±0.00 instead of 0.50±0.00 (significantly lower), "
        "average return 900.0±0.0 instead of 1000.0±0.0 (10.0% less, significantly lower)."
    )


def test_two_methods_whose_gaps_may_differ_by_chance():
    assert comparison.in_one_sentence(by_chance()) == (
        "dqn instead of ppo: recall gap 0.20±0.00 instead of 0.50±5.08 (no significant difference), "
        "average return 1000.0±0.0 instead of 1000.0±0.0 (the same with every seed)."
    )


def test_two_methods_with_one_seed_cannot_be_told_apart():
    wide = synthetic_result(method="ppo", recalls=(0.9, 0.4), noise=0.0, seeds=1, income=0.0)
    narrow = synthetic_result(method="dqn", recalls=(0.8, 0.7), noise=0.0, seeds=1, income=-20.0)
    assert comparison.in_one_sentence([wide, narrow]) == (
        "dqn instead of ppo: recall gap 0.10 instead of 0.50 (too few seeds to tell), "
        "average return -20.00 instead of 0.00 (too few seeds to tell)."
    )


def test_methods_with_the_same_gap():
    result = synthetic_result(recalls=(0.9, 0.4), noise=0.0)
    assert comparison.in_one_sentence([result, result]) == "The recall gap is 0.50±0.00 with all methods."


def test_a_method_without_a_gap_is_left_out():
    nobody_qualified = synthetic_result(method="dqn")
    nobody_qualified.outcome.counts[..., 2:4] = 0
    known = synthetic_result(noise=0.0)
    nothing = "Fewer than two methods have a recall gap, so there is nothing to compare."
    assert comparison.in_one_sentence([known, nobody_qualified]) == nothing
    fair = synthetic_result(method="accept-all", recalls=(1.0, 1.0), noise=0.0)
    assert comparison.in_one_sentence([known, nobody_qualified, fair]).startswith(
        "accept-all instead of ppo: "
    )


def test_variants_are_named_by_what_differs():
    wide = synthetic_result(method="max-util", recalls=(0.9, 0.4), config={"knows": "seen"})
    narrow = synthetic_result(method="max-util", recalls=(0.9, 0.8))
    sentence = comparison.in_one_sentence([wide, narrow])
    assert sentence.startswith("max-util (knows population) instead of max-util (knows seen): recall gap ")


def test_what_was_learned_about_observations_is_reported():
    """Figure 2: the mean of omega over seeds, and the observed gap next to the true one."""
    result = synthetic_result(method="ppo-bisimulator", seeds=2)
    omega = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.5, 1.0], [2.0, 0.0]]])
    result = dataclasses.replace(result, learned={"omega": omega})
    true, observed = (number(*result.summary[m]) for m in ("credit_gap", "observed_credit_gap"))
    text = notes(result)
    assert (
        "ppo-bisimulator learned omega (mean over seeds): group 1: c_plus 0.25, c_minus 1.00; "
        "group 2: c_plus 1.50, c_minus 0.00." in text
    )
    assert f"Its observed credit gap is {observed}, the true one {true}." in text
    assert notes(synthetic_result(method="ppo-bisimulator-reward")) == ""


def test_a_method_that_accepts_everybody_is_said_to():
    result = synthetic_result()
    result.outcome.counts[..., 1] = result.outcome.counts[..., 0]
    assert notes(result) == "ppo decides like accept-all in every evaluation episode.\n"


def test_of_many_groups_the_lowest_and_the_highest_omega_are_reported():
    env = bisimulator.make("lending", groups=12, population=5)
    omega = np.ones((12, 2))
    omega[4], omega[11] = (0.2, 3.0), (1.8, 0.5)
    assert omega_in_words(env, omega) == (
        "c_plus from 0.20 (group 5) to 1.80 (group 12); c_minus from 0.50 (group 12) to 3.00 (group 5)"
    )


def test_names_of_groups_are_printed_as_they_are():
    result = synthetic_result(method="ppo-bisimulator", settings={"group_names": ["[red]", "blue"]})
    result = dataclasses.replace(result, learned={"omega": np.ones((3, 2, 2))})
    assert "group [red]: c_plus 1.00" in notes(result)
