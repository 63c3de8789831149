"""The table of all ratios: medians of rounds, the fastest peer, and what counts as worse."""

import dataclasses
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def run_all(monkeypatch):
    pytest.importorskip("ot")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import run_all

    return run_all


@pytest.fixture
def scaling(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import scaling

    return scaling


def test_rounds_are_compared_with_the_fastest_peer(run_all):
    rates = {"ours": iter([1, 30, 40, 50]), "slow": iter([9, 1, 1, 1]), "fast": iter([9, 10, 10, 5])}
    contestants = {name: lambda values=values: float(next(values)) for name, values in rates.items()}
    (row,) = run_all.compare("exact", "runs/s", 3, contestants, {"ours": ("slow", "fast")})
    assert (row.peer, row.ours, row.theirs, row.rounds) == ("fast", 40, 10, 3)
    assert (row.ratio, row.low, row.high) == (4, 3, 10)


def test_only_environments_and_trainings_can_be_worse_and_only_by_a_factor(run_all):
    row = run_all.Row("training", "PPO", "Stable-Baselines3 PPO", "steps/s", 50, 1, 50, 40, 60, 5)
    before = {(row.section, row.name): row}
    slower = [dataclasses.replace(row, ratio=ratio) for ratio in (36.0, 34.0)]
    assert run_all.worse(slower, before) == ["training, PPO: 34 times Stable-Baselines3 PPO, stored 50"]
    audit = dataclasses.replace(row, section="model audit")
    assert run_all.worse([dataclasses.replace(audit, ratio=1.0)], {("model audit", "PPO"): audit}) == []
    assert run_all.worse(slower, {}) == []


def test_the_page_has_every_row_with_its_range(run_all):
    row = run_all.Row(
        "exact", "metric", "POT", "metrics/s", 123.4, 2.0, 61.7, 50, 70, 5, "2026-01-01 on a machine"
    )
    text = run_all.page([row])
    assert "## Exact" in text
    assert "| metric | POT | metrics/s | 123 | 2 | 61.7 | 50 to 70 | 5 |" in text
    assert "Measured 2026-01-01 on a machine." in text
    assert "## Training" not in text


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_growth_is_the_exponent_of_a_power_law(scaling, exponent):
    sizes = (2, 10, 100, 1000)
    assert scaling.growth(sizes, [3 * n**exponent for n in sizes]) == pytest.approx((exponent, exponent))
    late = [1.0, 1.0, 1.0, 10.0]
    assert scaling.growth(sizes, late)[1] == pytest.approx(1)


def test_costs_are_per_unit_and_without_the_first_round(scaling, monkeypatch):
    clock = iter([0.0, 0.0, 6.0, 0.0, 2.0])
    monkeypatch.setattr(scaling.time, "process_time", lambda: next(clock))
    assert scaling.costs(lambda people, groups: lambda: 2, [(1, 1)], 2) == [2.0]


def test_tables_replace_what_stands_between_the_marks(scaling, monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- b -->\nold\n<!-- e -->\nz\n")
    monkeypatch.setattr(scaling, "PAGE", page)
    scaling.write("<!-- b -->", "<!-- e -->", ["new"])
    assert page.read_text() == "a\n<!-- b -->\nnew\n<!-- e -->\nz\n"
