"""Lending with the numbers of D'Amour et al. (2020), POCAR (Yu et al., 2022) and ELBERT-PO (Xu et al., 2024).

`lending-delayed-impact`: the dynamics of `lending` with 100 people in each group, exactly, and other distributions.
`lending-harder`, of ELBERT-PO: scores move by a table instead of by one point, and those of rejected people move, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bisimulator.envs._lending_params import MAX_GROUPS, MAX_SCORES, Params
from bisimulator.envs._lending_params import make_params as make_lending_params
from bisimulator.envs.lending import LENDING
from bisimulator.errors import check_array, check_int

REPAYMENT = (0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7)
INITIAL = ((0, 0.1, 0.1, 0.2, 0.3, 0.3, 0), (0.1, 0.1, 0.2, 0.3, 0.3, 0, 0))

INITIAL_HARDER = ((0.05, 0.05, 0, 0.2, 0.1, 0.3, 0.3), (0, 0, 0.3, 0.3, 0.3, 0.05, 0.05))
REJECTED_MOVES = (0.3, 0.1)  # of the first and the last group
# from every score to every score, after a default and after a repaid loan
MOVES = (
    (
        (0.5, 0, 0, 0, 0.5, 0, 0),
        (0.9, 0.1, 0, 0, 0, 0, 0),
        (0.2, 0.7, 0.1, 0, 0, 0, 0),
        (0, 0.2, 0.7, 0.1, 0, 0, 0),
        (0, 0, 0.2, 0.7, 0.1, 0, 0),
        (0, 0, 0, 0.2, 0.7, 0.1, 0),
        (0, 0, 0, 0, 0.2, 0.7, 0.1),
    ),
    (
        (0.2, 0.7, 0.1, 0, 0, 0, 0),
        (0, 0.2, 0.7, 0.1, 0, 0, 0),
        (0, 0, 0.2, 0.7, 0.1, 0, 0),
        (0, 0, 0, 0.2, 0.7, 0.1, 0),
        (0, 0.5, 0, 0, 0.2, 0.2, 0.1),
        (0, 0, 0, 0, 0, 0.2, 0.8),
        (0, 0, 0, 0, 0, 0, 1),
    ),
)


@wraps(make_lending_params)
def make_params(**settings: Any) -> Params:
    """As those of lending, with 200 people in groups of fixed sizes."""
    return make_lending_params(**_with_defaults(settings, INITIAL))


@wraps(make_lending_params)
def make_harder_params(**settings: Any) -> Params:
    """As those of `lending-delayed-impact`, with the tables of moves and of who moves after a rejection."""
    groups, _ = _shape(settings)
    tables = {"moves": MOVES, "rejected_moves": np.linspace(*REJECTED_MOVES, groups)}
    return make_lending_params(**_with_defaults(tables | settings, INITIAL_HARDER))


def _with_defaults(settings: Mapping[str, Any], initial: ArrayLike) -> dict[str, Any]:
    """The settings, with these papers' values for what they leave out."""
    defaults: dict[str, Any] = {"fixed_sizes": True, "population": 200}
    groups, scores = _shape(settings)
    if (groups, scores) == np.shape(initial):
        defaults["initial"] = initial
    if scores == len(REPAYMENT):
        defaults["repayment"] = REPAYMENT
    return defaults | dict(settings)


def _shape(settings: Mapping[str, Any]) -> tuple[int, int]:
    """How many groups and scores the settings imply."""
    if settings.get("initial") is not None:
        groups, scores = check_array("initial", settings["initial"], ndim=(2,)).shape
        return groups, scores
    groups, scores = settings.get("groups"), settings.get("c_max")
    return (
        2 if groups is None else check_int("groups", groups, min=1, max=MAX_GROUPS),
        len(REPAYMENT) if scores is None else check_int("c_max", scores, min=1, max=MAX_SCORES),
    )


LENDING_DELAYED_IMPACT = dataclasses.replace(
    LENDING,
    summary="Loans; the numbers of D'Amour et al., POCAR and ELBERT-PO, 100 people per group",
    make_params=make_params,
)
LENDING_HARDER = dataclasses.replace(
    LENDING,
    summary="Loans; scores move by a table, also those of rejected people (ELBERT-PO)",
    make_params=make_harder_params,
)
