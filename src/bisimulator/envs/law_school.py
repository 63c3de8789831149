"""College admissions with real people: law students in the United States in the 1990s, and who passed the bar.

The tables are `data/law_school.csv` and `data/law_school_income.csv` (`data/README.md`). The score is an index of LSAT
and undergraduate grades, success is passing the bar exam, and the budget is the income of the family on the scale from
1 to 5 of the study. What the tables do not say is assumed: a point, that is 50 points of the index, costs one unit of
income, and an admitted student who fails costs four times what one who passes is worth.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cache, wraps

import numpy as np
from jaxtyping import Float

from bisimulator.core import Values
from bisimulator.envs._college_params import Params
from bisimulator.envs._college_params import make_params as make_college_params
from bisimulator.envs._real_people import choose_groups, read_data
from bisimulator.envs.college import COLLEGE
from bisimulator.people.population import Population

MIN_SCORE, MAX_SCORE, BIN_WIDTH = 400, 1000, 50  # points of the index; the lowest bin takes everybody below
REWARDS = (1.0, -4.0, 0.0)


def people(groups: int | Sequence[str] | None = None) -> Population:
    """Both groups, the larger one, or the named ones. "Repaid" are those who passed the bar."""
    return _people(None if groups is None else choose_groups(groups, _people(None).group_names))


@cache
def _people(groups: tuple[str, ...] | None) -> Population:
    table: dict[str, Iterable[object]] = {**read_data("law_school.csv")}
    counts = np.array([table["passed"], table["people"]], np.float64)
    table["rate"] = counts[0] / counts[1]
    population = Population.from_table(
        table,
        people="people",
        repayment_rate="rate",
        groups=groups,
        edges=np.arange(MIN_SCORE, MAX_SCORE + 1, BIN_WIDTH),
        shrinkage=0,  # use the counted rates unchanged
    )
    return dataclasses.replace(population, origin="law_school.csv")


def incomes(names: Sequence[str]) -> Float[Values, "G 2"]:
    """Mean and standard deviation of the income of each group's families."""
    table = read_data("law_school_income.csv")
    group, income, count = (np.array(table[name]) for name in ("group", "income", "people"))
    result = []
    for name in names:
        levels, weights = income[group == name].astype(np.float64), count[group == name].astype(np.float64)
        mean = np.average(levels, weights=weights)
        result.append((mean, np.sqrt(np.average((levels - mean) ** 2, weights=weights))))
    return np.array(result)


@wraps(make_college_params)
def make_params(*, groups: int | Sequence[str] | None = None, **settings: object) -> Params:
    """As those of college, with these people; `groups` is also a sequence of names."""
    population = people(groups)
    budget_mean, budget_sd = incomes(population.group_names).T
    defaults: dict[str, object] = {
        "initial": population.initial,
        "success": population.repayment,
        "c_max": len(population.edges) - 1,
        "group_probs": population.shares,
        "group_names": population.group_names,
        "score_edges": population.edges.tolist(),
        "budget_mean": budget_mean,
        "budget_sd": budget_sd,
        "rewards": REWARDS,
    }
    return COLLEGE.make_params(**defaults | settings)


COLLEGE_LAW_SCHOOL = dataclasses.replace(
    COLLEGE,
    summary="Admissions; real LSAT, grades and bar passage (United States, 1990s)",
    make_params=make_params,
)
