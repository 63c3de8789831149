"""Lending to real people: credit scores and repayment in the United States in 2003, by group.

The table is `data/us_credit_2003.csv`. It comes from the Federal Reserve Board's Report to the Congress on Credit
Scoring of August 2007 (`data/README.md`). Score moves and the profit ratio are those of Liu, Dean, Rolf, Simchowitz and
Hardt, "Delayed Impact of Fair Machine Learning" (ICML 2018): on a scale from 300 to 850, a repaid loan raises the score
by 75 points and a default lowers it by 150; a default costs the bank four times what a repaid loan earns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cache, wraps

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bisimulator.core import Values
from bisimulator.envs._lending_params import Params
from bisimulator.envs._lending_params import make_params as make_lending_params
from bisimulator.envs._real_people import choose_groups, read_data
from bisimulator.envs.lending import LENDING
from bisimulator.people.population import Population

MIN_SCORE, MAX_SCORE, BIN_WIDTH = 300, 850, 25  # points; UP and DOWN are whole numbers of bins
UP, DOWN = 75, 150  # points
GAIN, LOSS = 1.0, -4.0

# Percent of people in each band of 50 points, from 300. The table has ranks from 0 to 100; Liu et al. convert them to
# points with these figures, published with the code of Barocas, Hardt and Narayanan, "Fairness and Machine Learning".
BANDS = (2.1, 4.2, 5.4, 6.5, 7.9, 9.6, 12.0, 13.8, 17.0, 15.8, 5.7)


def points_of(rank: ArrayLike) -> Float[Values, "..."]:
    """The score, 300 to 850, below which `rank` percent of all people lie."""
    edges = np.linspace(MIN_SCORE, MAX_SCORE, len(BANDS) + 1)
    return np.interp(np.asarray(rank, np.float64), np.append(0.0, np.cumsum(BANDS)), edges)


def people(groups: int | Sequence[str] | None = None) -> Population:
    """All four groups, the `groups` largest ones, or the named ones."""
    return _people(None if groups is None else choose_groups(groups, _people(None).group_names))


@cache
def _people(groups: tuple[str, ...] | None) -> Population:
    table: dict[str, Iterable[object]] = {**read_data("us_credit_2003.csv")}
    table["score"] = points_of(np.array(table["score"], np.float64))
    population = Population.from_table(
        table,
        cumulative_share="cumulative_share",
        default_rate="default_rate",
        people="group_people",
        groups=groups,
        edges=np.arange(MIN_SCORE, MAX_SCORE + 1, BIN_WIDTH),
        shrinkage=0,  # use the published rates unchanged
    )
    return dataclasses.replace(population, origin="us_credit_2003.csv")


@wraps(make_lending_params)
def make_params(*, groups: int | Sequence[str] | None = None, **settings: object) -> Params:
    """As those of lending, with these people; `groups` is also a sequence of names."""
    population = people(groups)
    defaults = {
        "score_up": population.bins_of(UP),
        "score_down": population.bins_of(DOWN),
        "reward_repaid": GAIN,
        "reward_default": LOSS,
    }
    return LENDING.make_params(**population.params(**defaults | settings))


LENDING_US_2003 = dataclasses.replace(
    LENDING,
    summary="Loans; real scores and repayment of four groups (United States, 2003)",
    make_params=make_params,
)
