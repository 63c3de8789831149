"""Lending to real people: credit card holders in Taiwan in 2005, men and women.

The table is `data/uci_credit_default.csv` (`data/README.md`). The score is the number of the last six months in which
no payment was overdue, so one more month moves it by at most one. The table does not say what a default costs: as in
`lending-us-2003`, it costs the bank four times what a repaid loan earns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cache, wraps

import numpy as np

from bisimulator.envs._lending_params import Params
from bisimulator.envs._lending_params import make_params as make_lending_params
from bisimulator.envs._real_people import choose_groups, read_data
from bisimulator.envs.lending import LENDING
from bisimulator.people.population import Population

MONTHS = 6
GAIN, LOSS = 1.0, -4.0


def people(groups: int | Sequence[str] | None = None) -> Population:
    """Women and men, the larger group, or the named ones; with the default rates of the table."""
    return _people(None if groups is None else choose_groups(groups, _people(None).group_names))


@cache
def _people(groups: tuple[str, ...] | None) -> Population:
    table: dict[str, Iterable[object]] = {**read_data("uci_credit_default.csv")}
    counts = np.array([table["defaulted"], table["people"]], np.float64)
    table["default_rate"] = counts[0] / counts[1]
    population = Population.from_table(
        table,
        people="people",
        default_rate="default_rate",
        groups=groups,
        edges=np.arange(MONTHS + 2),  # a bin per number of months
        shrinkage=0,  # use the counted rates unchanged
    )
    return dataclasses.replace(population, origin="uci_credit_default.csv")


@wraps(make_lending_params)
def make_params(*, groups: int | Sequence[str] | None = None, **settings: object) -> Params:
    """As those of lending, with these people; `groups` is also a sequence of names."""
    defaults = {"reward_repaid": GAIN, "reward_default": LOSS}
    return LENDING.make_params(**people(groups).params(**defaults | settings))


LENDING_UCI_DEFAULT = dataclasses.replace(
    LENDING,
    summary="Loans; real payment histories of men and women (Taiwan, 2005)",
    make_params=make_params,
)
