"""The people and the model of the benchmark: the audit decides on each of them as the model does."""

import numpy as np
import pytest

import bisimulator

pytest.importorskip("sklearn.ensemble")

from benchmarks import model_audit
from bisimulator.auditing.feature_decisions import decide_for_all
from bisimulator.auditing.models import ModelOptions, decisions_of


def test_a_gradient_boosting_model_of_five_columns():
    records = model_audit.make_records(1000)
    model = model_audit.fit(records, iterations=5)
    people = bisimulator.Population.from_frame(
        records, features=model_audit.FEATURES, bins=11, score_range=(300, 850)
    )
    options = ModelOptions(cutoff=0.8, records=people.records)
    accept = decide_for_all(decisions_of("trees", model, options), people.make(), people.records)
    table = np.column_stack([records[name] for name in ("score", *model_audit.FEATURES)])
    own = people.records.bin_of(people.edges)
    np.testing.assert_array_equal(accept[np.arange(1000), own], model.predict_proba(table)[:, 1] >= 0.8)
    table[:, 0] = np.where(own < 10, table[:, 0] + 50, table[:, 0])  # one bin higher
    expected = model.predict_proba(table)[:, 1] >= 0.8
    np.testing.assert_array_equal(accept[np.arange(1000), np.minimum(own + 1, 10)], expected)


@pytest.mark.long
def test_the_benchmark_runs(capsys):
    model_audit.main(people=2000, bins=11)
    assert "repayers accepted, worst group (exact)" in capsys.readouterr().out
