"""The page of approvals says what its example computes, and the range of recall holds for rising repayment rates."""

import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "examples" / "approvals.py"))


def test_the_page_has_the_table(script):
    page = (ROOT / "docs" / "approvals.md").read_text(encoding="utf-8")
    rows = script["rows"]()
    assert len(rows) == 3
    assert all(row in page for row in rows)


def test_recall_lies_in_its_range_whatever_the_repayment_rates(script):
    people, approved = script["read_counts"]()
    low, high = script["recall_range"](people, approved)
    rates = np.sort(np.random.default_rng(100).uniform(size=(1000, people.shape[1])), axis=1)
    recalls = (rates @ approved.T) / (rates @ people.T)
    assert (recalls >= low - 1e-12).all()
    assert (recalls <= high + 1e-12).all()
    assert (recalls.max(0) - recalls.min(0) > 0.5 * (high - low)).all()  # the range is not needlessly wide
