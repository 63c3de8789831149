"""The paper's table next to ours: which rows, what is bold, what the files hold."""

import csv
import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

import bisimulator
from bisimulator import published
from bisimulator.jobs.run import Result
from bisimulator.jobs.spec import make_spec
from bisimulator.report import comparison
from bisimulator.report._progress_bar import describe, progress_bar
from bisimulator.report._table_columns import paper_columns

SETTINGS = {"population": 12, "horizon": 20}
METHODS = ("accept-all", "threshold")


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """(results, what was printed, the folder) of two rules in a tiny lending."""
    out, text = tmp_path_factory.mktemp("runs"), io.StringIO()
    console = Console(file=text, width=160)
    results = comparison.show_comparison(
        "lending", METHODS, out, console, seeds=2, episodes=2, settings=SETTINGS
    )
    return results, text.getvalue(), out


def with_summary(method, **means):
    """A result whose summary is made up."""
    spec = make_spec("lending", method, seeds=2, episodes=1)

    class MadeUp(Result):
        @property
        def summary(self):
            columns = paper_columns("lending")
            return {m: (means.get(m, 0.5), 0.01) for m in columns}

        @property
        def columns(self):
            return {}

    return MadeUp(spec, None, {})


def shown(renderable):
    console = Console(file=io.StringIO(), width=200)
    console.print(renderable)
    return console.file.getvalue()


def cells(table, title):
    """The column under a title, top to bottom."""
    column = next(c for c in table.columns if c.header == title)
    return list(column.cells)


def test_each_of_our_rows_has_the_published_one_below_it():
    table = comparison.paper_table([with_summary("ppo"), with_summary("ppo-bisimulator")])
    text = shown(table)
    for method in ("PPO", "PPO + Bisimulator"):
        for metric, (mean, _) in published.row("lending", method).items():
            if metric in paper_columns("lending"):
                assert f"{mean:.1f}" in text or f"{mean:.2f}" in text or f"{mean:.3f}" in text
    lines = [line.split()[0] for line in text.splitlines() if " here " in line or " paper " in line]
    assert lines == ["ppo", "paper", "ppo-bisimulator", "paper"]


def test_a_method_the_paper_does_not_have_stands_alone():
    table = comparison.paper_table([with_summary("reject-all")])
    assert len(table.rows) == 1


def test_rows_of_the_paper_beside_other_settings_are_said_to_hold_for_its_own():
    said = "rows hold for the paper's parameters"
    for method, settings, expected in (
        ("ppo", {}, False),
        ("ppo", SETTINGS, True),
        ("reject-all", SETTINGS, False),
    ):
        result = with_summary(method)
        result = dataclasses.replace(result, spec=dataclasses.replace(result.spec, settings=settings))
        console = Console(file=io.StringIO(), width=200)
        comparison._print_notes([result], console)
        assert (said in console.file.getvalue()) == expected
        assert (said in comparison.markdown_table([result])) == expected


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
    results, _, out = compared
    header, *rows = read(out / "summary.csv")
    assert header == ["scenario", "method", "metric", "mean", "ci95"]
    assert {row[1] for row in rows} == set(METHODS)
    for result in results:
        mine = {row[2]: (float(row[3]), float(row[4])) for row in rows if row[1] == result.spec.method}
        assert mine.keys() == result.summary.keys()
        np.testing.assert_array_equal([*mine.values()], [*result.summary.values()])
    assert {row[2] for row in rows} >= set(published.row("lending", "PPO"))


def test_the_episodes_have_one_row_each(compared):
    results, _, out = compared
    header, *rows = read(out / "episodes.csv")
    assert header == ["scenario", "method", "seed", "episode", "metric", "value"]
    assert len(rows) == sum(values.size for r in results for values in r.columns.values())
    assert len({tuple(row[:5]) for row in rows}) == len(rows)


def test_comparing_prints_the_table_and_one_sentence(compared):
    results, text, out = compared
    assert "lending, 2 seeds x 2 episodes" in text
    gaps = [r.summary["recall_gap"][0] for r in results]
    assert f"{max(gaps):.2f} apart" in text
    assert str(out / "summary.csv") in text


def test_all_jobs_are_checked_before_the_first_one_runs(tmp_path):
    with pytest.raises(ValueError, match="Unknown method 'pop'"):
        comparison.show_comparison("lending", ["accept-all", "pop"], tmp_path, Console(file=io.StringIO()))
    with pytest.raises(ValueError, match="population must be at least 1"):
        comparison.show_comparison(
            "lending", ["accept-all"], tmp_path, Console(file=io.StringIO()), settings={"population": 0}
        )
    assert not list(tmp_path.iterdir())


def test_one_sentence_about_returns_of_any_sign_and_equal_gaps():
    wide = with_summary("ppo", recall_gap=0.5, average_return=0.0)
    narrow = with_summary("dqn", recall_gap=0.1, average_return=-20.0)
    sentence = comparison.in_one_sentence([wide, narrow])
    assert "dqn brings the groups' recalls from 0.50 apart (ppo) to 0.10" in sentence
    assert "from 0 to -20" in sentence
    assert "equally" in comparison.in_one_sentence([wide, wide])


def test_what_was_learned_about_the_observation_is_told():
    """Figure 2: the mean of omega over seeds, and the observed gap beside the true one."""
    spec = make_spec("lending", "ppo-bisimulator", seeds=2)
    omega = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.5, 1.0], [2.0, 0.0]]])

    @dataclasses.dataclass(frozen=True)
    class MadeUp(Result):
        @property
        def columns(self):
            return {"credit_gap": 0, "observed_credit_gap": 0}

        @property
        def summary(self):
            return {"credit_gap": (2.21, 0.1), "observed_credit_gap": (1.52, 0.1)}

    console = Console(file=io.StringIO(), width=200)
    comparison._print_notes([MadeUp(spec, None, {"omega": omega})], console)
    text = console.file.getvalue()
    assert "group 1: c_plus 0.25, c_minus 1.00; group 2: c_plus 1.50, c_minus 0.00" in text
    assert "observed credit gap is 1.52, the true one 2.21" in text


def test_of_many_groups_the_lowest_and_the_highest_omega_are_told():
    env = bisimulator.make("lending", groups=12, population=5)
    omega = np.ones((12, 2))
    omega[4], omega[11] = (0.2, 3.0), (1.8, 0.5)
    assert comparison.omega_in_words(env, omega) == (
        "c_plus from 0.20 (group 5) to 1.80 (group 12); c_minus from 0.50 (group 12) to 3.00 (group 5)"
    )


def test_names_of_groups_are_printed_as_they_are():
    spec = make_spec("lending", "ppo-bisimulator", seeds=1, settings={"group_names": ["[red]", "blue"]})
    console = Console(file=io.StringIO(), width=200)

    class MadeUp(Result):
        @property
        def columns(self):
            return {}

    comparison._print_notes([MadeUp(spec, None, {"omega": np.ones((1, 2, 2))})], console)
    assert "group [red]: c_plus 1.00" in console.file.getvalue()


def progress(**changes):
    from bisimulator.solvers.trainer import Progress

    told = {
        "update": 3,
        "updates": 10,
        "steps": 1536,
        "steps_per_second": 123456.7,
        "episode_return": 3570.4,
        "recall": (0.975, 0.5),
        "loss": 0.1,
    }
    return Progress(**(told | changes))


def test_progress_in_words():
    assert describe(progress()) == "1,536 steps, 123,457 steps/s, return 3570, recall 0.97 / 0.50"
    many = progress(recall=tuple(np.linspace(0.3, 0.9, 10)))
    assert describe(many).endswith("recall 0.30 / 0.90")


def test_on_a_terminal_there_is_a_bar_and_elsewhere_nothing_in_the_first_seconds():
    bar, plain = (Console(file=io.StringIO(), force_terminal=t, width=160) for t in (True, False))
    for console in (bar, plain):
        with progress_bar(console, "lending ppo") as tell:
            tell(progress())
    assert "lending ppo" in bar.file.getvalue()
    assert "1,536 steps" in bar.file.getvalue()
    assert plain.file.getvalue() == ""
