"""The best attainable return at a given level of fairness, on lending.

Up to three columns: any policy (it may depend on the time; with a proof that nothing better exists), policies that look
at score and group only, which an agent without a clock can reach, and policies that look at the score only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bisimulator.core import Env, Values
from bisimulator.errors import check_array, check_bool, check_function, check_known
from bisimulator.exact._column_generation import ColumnPool
from bisimulator.exact._frontier_result import Frontier, check_levels, check_range
from bisimulator.exact._occupancy import groups_of
from bisimulator.exact._stationary_search import Found, group_blind_policies, stationary_policies
from bisimulator.exact.chain import person_chain
from bisimulator.exact.criteria import Point, credit_gap, make_criterion, recalls, why_too_large
from bisimulator.goals import DEMANDS
from bisimulator.goals.demands import MinRecall
from bisimulator.goals.moments import M

__all__ = ["Frontier", "best_return", "frontier"]


def frontier(
    env: Env,
    criterion: str = "min-recall",
    levels: ArrayLike | None = None,
    *,
    group_blind: bool = False,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Frontier:
    """The best attainable return at each level of a fairness criterion, with a proof.

    Equal recalls can be reached by levelling the better-off down, which is why "min-recall" is the default;
    `Frontier.levelling_down` says where that happens.

    Args:
        env: an environment in which people are independent Markov chains (lending, us-credit).
        criterion: a kind of demand of `bisimulator.goals`. "min-recall", "min-approval", "min-return": every group's
            recall, approval rate or return per person is at least the level. "recall-gap", "approval-gap",
            "return-gap", "benefit-gap": they differ by at most the level. "credit-gap": final scores differ by at most
            the level, in points.
        levels: by default 31 levels, from the strictest that can be reached to where the demand stops binding.
        group_blind: also look for the best policies that do not look at the group.
        on_progress: called with the share of the levels that is done, 0 to 1.

    Returns:
        One entry per level: the optimum, the upper bound that proves it, and the best stationary policy found.

    Raises:
        ValueError: if the criterion is unknown, a level is out of range, the environment has no exact answer, or there
            are too many groups.

    Example:
        >>> frontier(bisimulator.make("lending"), levels=[0.9, 1.0])
        Frontier of lending: best return by min-recall, 2 levels (provable optimum)
          min-recall 0.9: 3914.3 (score and group only: 3835.2)
          min-recall 1: 3570.7 (score and group only: 3570.7)
    """
    chain = person_chain(env)
    check_bool("group_blind", group_blind)
    check_function("on_progress", on_progress)
    check_known("criterion", criterion, DEMANDS)
    kind = DEMANDS[criterion]
    if too_large := why_too_large(kind, env.num_groups, chain.num_scores):
        raise ValueError(too_large)
    pools = [ColumnPool(group) for group in groups_of(chain)]
    grid = None if levels is None else check_levels("levels", levels, kind)
    solver = make_criterion(kind, pools)
    grid = np.linspace(*solver.default_levels(), 31) if grid is None else grid
    points: list[Point | None] = []
    for level in grid:
        points.append(solver.solve(float(level)))
        on_progress(len(points) / len(grid) / 2)
    blind = group_blind_policies(solver, grid, points) if group_blind else []
    stationary = stationary_policies(
        solver, grid, points, others=blind, on_progress=lambda share: on_progress(0.5 + share / 2)
    )
    unreached = np.full_like(solver.unconstrained.moments, np.nan)
    attained = [unreached if point is None else point.moments for point in points]
    sizes = np.array([pool.group.size for pool in pools])

    def value(found: list[Found]) -> Float[Values, "L"]:
        return np.array([sizes @ policy.moments[:, M.REWARD] for policy in found])

    return Frontier(
        env=env.name,
        criterion=criterion,
        attained=not chain.has_hidden_type,
        levels=grid,
        value=np.array([np.nan if point is None else point.value for point in points]),
        upper_bound=np.array([np.nan if point is None else point.upper_bound for point in points]),
        rates=np.array([solver.rates(m) for m in attained]),
        recalls=np.array([recalls(m) for m in attained]),
        credit_gap=np.array([credit_gap(m) for m in attained]),
        stationary_value=value(stationary),
        stationary_recalls=np.array([recalls(policy.moments) for policy in stationary]),
        group_blind_value=value(blind) if group_blind else None,
        group_blind_recalls=np.array([recalls(policy.moments) for policy in blind]) if group_blind else None,
        unconstrained_rates=solver.unconstrained_rates,
        unconstrained_recalls=recalls(solver.unconstrained.moments),
        group_names=env.group_names,
        _solver=solver,
        _points=points,
        _stationary=stationary,
        _group_blind=blind,
    )


def optimum_curve(env: Env, criterion: str, count: int = 7) -> tuple[Float[Values, "L"], Float[Values, "L"]]:
    """Levels, from the strictest to where the demand stops binding, and the return that no policy exceeds at each.

    It is the column `upper_bound` of `frontier`, without the search for the other columns.
    """
    pools = [ColumnPool(group) for group in groups_of(person_chain(env))]
    solver = make_criterion(DEMANDS[criterion], pools)
    levels = np.linspace(*solver.default_levels(), count)
    points = [solver.solve(float(level)) for level in levels]
    return levels, np.array([np.nan if point is None else point.upper_bound for point in points])


def best_return(env: Env, min_recalls: ArrayLike) -> float:
    """The provable optimum for given recalls, from which regret is measured.

    Args:
        env: an environment in which people are independent Markov chains (lending, us-credit).
        min_recalls: the smallest recall allowed: one number, or one per group.

    Returns:
        The return that no policy with at least these recalls exceeds.

    Raises:
        ValueError: if a recall is outside [0, 1], or their number is not that of the groups.

    Example:
        >>> round(best_return(bisimulator.make("lending"), [0.9, 0.8]), 1)
        4101.3
    """
    groups = groups_of(person_chain(env))
    lowest = check_array("min_recalls", min_recalls, ndim=(0, 1), hint="pass one number, or one per group")
    if lowest.shape not in ((), (len(groups),)):
        raise ValueError(
            f"min_recalls must be one number or one per group ({len(groups)}), got shape {lowest.shape}"
        )
    checked = check_range("min_recalls", lowest, MinRecall)
    point = make_criterion(MinRecall, [ColumnPool(group) for group in groups]).solve(checked)
    assert point is not None  # accepting everybody reaches every recall
    return point.upper_bound
