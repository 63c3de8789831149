"""Decision tables: what is written is what the policy does."""

import csv

import numpy as np
import pytest

import bisimulator
from bisimulator.evaluation import decision_table


@pytest.fixture(scope="module")
def env():
    return bisimulator.make(
        "lending", groups=2, c_max=3, group_names=("=a", "b"), score_edges=(300, 500, 600, 850)
    )


def test_one_row_per_group_and_bin(env, tmp_path):
    rows = decision_table(env, np.array([[0, 0.25, 1], [0, 0, 1]]), tmp_path / "policy.csv")
    assert rows[1] == {"group": "=a", "score_from": 500.0, "score_below": 600.0, "accept": 0.25}
    assert [row["accept"] for row in rows] == [0, 0.25, 1, 0, 0, 1]
    with (tmp_path / "policy.csv").open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert [float(row["accept"]) for row in written] == [0, 0.25, 1, 0, 0, 1]
    assert written[0]["group"].endswith("=a")


def test_policies_that_look_at_more_are_refused(env):
    with pytest.raises(ValueError, match=r"decides by more\. It looks at past loans\."):
        decision_table(env, lambda obs: obs[:, -1] < 0.5)
    with pytest.raises(ValueError, match="Write a network with to_onnx instead"):
        decision_table(env, np.ones((env.horizon, 2, 3)))
