"""What holds for every registered metric, whoever writes it."""

from pathlib import Path

import numpy as np
import pytest

from bisimulator import registry
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
PEOPLE = [[1, 2, 3], [4, 1, 0], [2, 2, 2], [0, 0, 5], [3, 0, 1]]


def made(groups):
    return outcome(PEOPLE[:groups], **{name: values[:groups] for name, values in COUNTS.items()})


@pytest.fixture(params=registry.names("metric"))
def metric(request):
    return registry.lookup("metric", request.param)


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_columns_are_finite_with_the_leading_axes_and_named_after_the_metric(metric, groups):
    columns = metric.columns(made(groups))
    assert columns
    for name, values in columns.items():
        assert values.shape == (2,)
        assert np.isfinite(values).all()
        assert name.startswith(metric.name) or name in ("average_return", "parity_gap")
    per_group = [name for name in columns if name.startswith(f"{metric.name}_g") and name[-1].isdigit()]
    assert len(per_group) == (groups if metric.by_group else 0)


def test_one_group_has_no_gap(metric):
    for name, values in metric.columns(made(1)).items():
        if name.endswith(("_gap", "_sd")):
            np.testing.assert_allclose(values, 0, atol=1e-12)


def test_groups_that_are_alike_have_no_gap(metric):
    alike = outcome([PEOPLE[0]] * 3, **{name: values[:1] * 3 for name, values in COUNTS.items()})
    for name, values in metric.columns(alike).items():
        if name.endswith(("_gap", "_sd")):
            np.testing.assert_allclose(values, 0, atol=1e-9)


def test_an_empty_group_is_nan_by_group_and_left_out_over_groups(metric):
    empty = outcome([*PEOPLE[:2], [0, 0, 0]], **{name: [*values[:2], 0] for name, values in COUNTS.items()})
    columns, without = metric.columns(empty), metric.columns(made(2))
    counted = metric.name == "approvals"  # nothing is a number there
    for name, values in columns.items():
        if name.endswith("_g3"):
            assert (values == 0).all() if counted else np.isnan(values).all()
        elif not counted:
            np.testing.assert_allclose(values, without[name])


def test_which_way_is_better_is_said(metric):
    assert metric.best in ("higher", "lower", "")


def test_there_is_a_page_with_formula_and_meaning(metric):
    page = (DOCS / f"{metric.name.replace('_', '-')}.md").read_text(encoding="utf-8")
    assert f"`{metric.name}" in page
    for part in ("## Formula", "## What 0 means"):
        assert part in page
