"""What holds for every registered metric."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from bisimulator import registry
from bisimulator.core import Direction
from tests.metrics.outcomes import outcome

DOCS = Path(__file__).parents[2] / "docs" / "metrics"
COUNTS = {
    "applied": [9, 7, 8, 6, 5],
    "approved": [6, 4, 7, 2, 4],
    "qualified": [5, 4, 6, 3, 4],
    "approved_qualified": [4, 3, 6, 1, 3],
    "reward": [2, 2, 5, 0, 2],
    "burden": [3, 2, 4, 1, 2],
    "burdened": [2, 2, 3, 1, 2],
}
TALLIES = {
    "steps": [3, 3, 3, 3, 3],
    "supply": [4, 3, 6, 1, 3],
    "demand": [5, 4, 6, 3, 4],
    "sick": [1, 2, 3, 4, 5],
    "seen": [4, 3, 6, 1, 3],
    "missed": [1, 1, 0, 2, 1],
    "applied": [9, 7, 8, 6, 5],
    "correct": [7, 5, 7, 4, 4],
    "needed": [5, 4, 6, 3, 4],
    "burden": [3, 2, 4, 1, 2],
    "burdened": [2, 2, 3, 1, 2],
}
PEOPLE = [[1, 2, 3], [4, 1, 0], [2, 2, 2], [0, 0, 5], [3, 0, 1]]


def small_outcome(groups, metric):
    return with_counts(metric, PEOPLE[:groups], lambda values: values[:groups])


def of_applicants(metric):
    return any(metric.applies(registry.lookup("environment", name)) for name in ("lending", "college"))


def with_counts(metric, people, change):
    """Of decisions on applicants if the metric applies to them, otherwise of decisions about all groups."""
    tallies = None if of_applicants(metric) else {name: change(values) for name, values in TALLIES.items()}
    return outcome(people, tallies=tallies, **{name: change(values) for name, values in COUNTS.items()})


@pytest.fixture(params=registry.names("metric"))
def metric(request):
    return registry.lookup("metric", request.param)


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_columns_are_finite_keep_leading_axes_and_are_named_after_the_metric(metric, groups):
    columns = metric.columns(small_outcome(groups, metric))
    assert columns
    for name, values in columns.items():
        assert values.shape == (2,)
        assert np.isfinite(values).all()
        assert name.startswith(metric.name) or name in ("average_return", "parity_gap")
    per_group = [name for name in columns if name.startswith(f"{metric.name}_g") and name[-1].isdigit()]
    assert len(per_group) == (groups if metric.by_group else 0)


def test_one_group_has_no_gap(metric):
    for name, values in metric.columns(small_outcome(1, metric)).items():
        if name.endswith(("_gap", "_sd")):
            np.testing.assert_allclose(values, 0, atol=1e-12)


def test_equal_groups_have_no_gap(metric):
    alike = with_counts(metric, [PEOPLE[0]] * 3, lambda values: values[:1] * 3)
    for name, values in metric.columns(alike).items():
        if name.endswith(("_gap", "_sd")):
            np.testing.assert_allclose(values, 0, atol=1e-9)


def test_an_empty_group_is_nan_and_does_not_count_over_groups(metric):
    empty = with_counts(metric, [*PEOPLE[:2], [0, 0, 0]], lambda values: [*values[:2], 0])
    columns, without = metric.columns(empty), metric.columns(small_outcome(2, metric))
    # a group without people has 0 approvals, and a benefit rate of 0
    counted = metric.name in ("approvals", "benefit_rate", "sick_days", "incidents_seen", "incidents_missed")
    for name, values in columns.items():
        if name.endswith("_g3"):
            assert (values == 0).all() if counted else np.isnan(values).all()
        elif not counted:
            np.testing.assert_allclose(values, without[name])


def random_outcome(seed, groups, metric):
    """Counts that an episode can have: nobody is approved without applying, and so on."""
    rng = np.random.default_rng(seed)
    applied = rng.integers(0, 40, groups)
    approved, qualified = rng.binomial(applied, 0.6), rng.binomial(applied, 0.5)
    at_least = np.maximum(approved + qualified - applied, 0)
    approved_qualified = rng.integers(at_least, np.minimum(approved, qualified) + 1)
    burdened = rng.binomial(approved, 0.5)
    counts = {
        "applied": applied,
        "approved": approved,
        "qualified": qualified,
        "approved_qualified": approved_qualified,
        "reward": 2 * approved_qualified - approved,
        "burden": burdened * rng.uniform(0.1, 5, groups),
        "burdened": burdened,
    }
    tallies = None
    if not of_applicants(metric):
        tallies = {name: rng.integers(0, 40, groups) for name in TALLIES} | {"steps": np.full(groups, 9)}
        tallies["correct"] = rng.integers(0, tallies["applied"] + 1)
    return outcome(rng.integers(0, 9, (groups, 7)), tallies=tallies, **counts)


@pytest.mark.parametrize("groups", [1, 2, 5, 40])
def test_every_column_has_a_title_a_direction_and_bounds_that_hold(metric, groups):
    for seed in range(20):
        for name, values in metric.columns(random_outcome(seed, groups, metric)).items():
            column = metric.column(name)
            assert column is not None, f"{metric.name} does not declare its column {name}"
            assert column.title
            assert column.head
            assert column.direction in get_args(Direction)
            low, high = column.bounds
            low, high = -np.inf if low is None else low, np.inf if high is None else high
            assert low < high
            known = values[~np.isnan(values)]
            assert ((known >= low - 1e-9) & (known <= high + 1e-9)).all(), (
                f"{name} is outside [{low}, {high}]"
            )


def test_a_metric_declares_only_its_own_columns(metric):
    assert metric.column("unknown") is None
    assert metric.column(f"{metric.name}_gx") is None
    others = [registry.lookup("metric", name) for name in registry.names("metric")]
    for name in metric.columns(small_outcome(3, metric)):
        assert [other.name for other in others if other.column(name) is not None] == [metric.name]


def test_every_metric_has_a_page_with_its_formula_and_the_meaning_of_0(metric):
    page = (DOCS / f"{metric.name.replace('_', '-')}.md").read_text(encoding="utf-8")
    assert f"`{metric.name}" in page
    for part in ("## Formula", "## What 0 means"):
        assert part in page
