"""Lending to real people: credit scores and repayment in the United States in 2003, by group.

The table is `data/us_credit_2003.csv`; its origin is the Federal Reserve Board's Report to the Congress on Credit
Scoring of August 2007 (`data/README.md`). Score moves and the profit ratio are those of Liu, Dean, Rolf, Simchowitz and
Hardt, "Delayed Impact of Fair Machine Learning" (ICML 2018): a repaid loan gains 75 points and a default costs 150,
on a scale from 300 to 850; a default loses the bank four times what a repaid loan gains.
"""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Sequence
from functools import cache, wraps
from importlib import resources
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator.envs import lending
from bisimulator.errors import check_int
from bisimulator.people.population import Population

LOWEST, HIGHEST, WIDTH = 300, 850, 25  # points; 75 and 150 of them are whole numbers of bins
UP, DOWN = 75, 150  # points
GAIN, LOSS = 1.0, -4.0

# Percent of people in each band of 50 points from 300 on. The table has ranks, 0 to 100; Liu et al. turn them into
# points with these figures, published with the code of Barocas, Hardt and Narayanan, "Fairness and Machine Learning".
BANDS = (2.1, 4.2, 5.4, 6.5, 7.9, 9.6, 12.0, 13.8, 17.0, 15.8, 5.7)


def points_of(rank: Any) -> Float[NDArray, "..."]:
    """The score, 300 to 850, below which `rank` percent of all people are."""
    edges = np.linspace(LOWEST, HIGHEST, len(BANDS) + 1)
    return np.interp(rank, np.append(0.0, np.cumsum(BANDS)), edges)


def people(groups: int | Sequence[str] | None = None) -> Population:
    """The four groups, or the first few (the largest), or those that are named."""
    if isinstance(groups, int):
        check_int("groups", groups, min=1)
        if groups > len(_people(None).group_names):
            known = ", ".join(_people(None).group_names)
            raise ValueError(f"the data has 4 groups ({known}), got groups={groups}; name those you want")
        return _people(_people(None).group_names[:groups])
    return _people(None if groups is None else tuple(groups))


@cache
def _people(groups: tuple[str, ...] | None) -> Population:
    text = resources.files("bisimulator").joinpath("data/us_credit_2003.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    table: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    table["score"] = points_of(np.array(table["score"], np.float64))
    found = Population.from_table(
        table,
        cumulative_share="cumulative_share",
        default_rate="default_rate",
        people="group_people",
        groups=groups,
        edges=np.arange(LOWEST, HIGHEST + 1, WIDTH),
        shrinkage=0,  # the published rates as they are
    )
    return dataclasses.replace(found, origin="us_credit_2003.csv")


@wraps(lending.make_params)
def make_params(*, groups: int | Sequence[str] | None = None, **settings: Any) -> lending.Params:
    """As lending's, with these people; `groups` may also name some of them."""
    who = people(groups)
    as_in_the_paper = {
        "score_up": who.bins_of(UP),
        "score_down": who.bins_of(DOWN),
        "reward_repaid": GAIN,
        "reward_default": LOSS,
    }
    return lending.make_params(**who.params(**as_in_the_paper | settings))


LENDING_US_2003 = dataclasses.replace(
    lending.LENDING,
    summary="Loans; real scores and repayment of four groups (United States, 2003)",
    make_params=make_params,
)
