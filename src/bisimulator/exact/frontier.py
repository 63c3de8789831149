"""The best attainable return at a given level of fairness, on lending.

Two columns: any policy (it may depend on the time; with a proof that nothing better exists), and policies that look
at score and group only, which an agent without a clock can reach.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from bisimulator._html import html_table
from bisimulator.core import Env, Values
from bisimulator.errors import check_array, check_known
from bisimulator.exact._column_generation import ColumnPool
from bisimulator.exact._occupancy import RETURN, Flags, groups_of
from bisimulator.exact._stationary_search import stationary_policies
from bisimulator.exact.chain import person_chain
from bisimulator.exact.criteria import CRITERIA, Criterion, MinRecall, Point, credit_gap, recalls

_MAX_LINES, _MAX_ROWS = 5, 11  # levels in a text, and in a table


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """The best attainable return at each level of a criterion; NaN where no policy reaches the level.

    Without hidden conscientiousness, `policy(i)` attains `value[i]`, and `upper_bound` proves that it is the optimum.
    With hidden conscientiousness, `attained` is False: `value` and `upper_bound` are those of a bank that knows
    everybody's conscientiousness. No real policy exceeds them, and only `stationary_value` is attained.

    `stationary_value` is the best found by local search from several starts: attained, but not proven optimal.
    """

    env: str
    criterion: str
    attained: bool
    levels: Float[Values, "L"]
    value: Float[Values, "L"]
    upper_bound: Float[Values, "L"]  # no policy exceeds it
    recalls: Float[Values, "L G"]
    credit_gap: Float[Values, "L"]
    stationary_value: Float[Values, "L"]
    stationary_recalls: Float[Values, "L G"]
    unconstrained_recalls: Float[Values, "G"]  # of the best policy without any demand
    group_names: tuple[str, ...]
    _solver: Criterion
    _points: Sequence[Point | None]
    _tables: Sequence[Float[Values, "G C"] | None]

    @property
    def levelling_down(self) -> Bool[Flags, "L"]:
        """Whether a level is reached by giving some group a lower recall than it has without any demand."""
        worse: Flags = np.any(self.recalls < self.unconstrained_recalls - 1e-6, axis=1)
        return worse

    def best_at(self, level: ArrayLike) -> float:
        """The provable optimum at any other level: no policy exceeds it.

        Args:
            level: one number; for "min-recall" also one per group.

        Returns:
            The upper bound on the return; NaN if no policy reaches the level.

        Raises:
            ValueError: if the level is out of range, or there are more numbers than the criterion takes.

        Example:
            >>> best = frontier(bisimulator.make("lending"), levels=[1.0])
            >>> round(best.best_at(0.9), 1)
            3914.3
            >>> round(best.best_at([0.9, 0.8]), 1)  # at least 0.9 for group 1, 0.8 for group 2
            4101.3
        """
        levels = _check_levels("level", level, type(self._solver))
        groups = len(self._solver.pools)
        if levels.size != 1 and not (self._solver.separable and levels.size == groups):
            rule = f"one number or one per group ({groups})" if self._solver.separable else "one number"
            raise ValueError(f"level of {self.criterion} must be {rule}, got {levels.size} numbers: {levels}")
        point = self._solver.solve(float(levels[0]) if levels.size == 1 else levels)
        return float("nan") if point is None else point.upper_bound

    def policy(self, i: int, *, stationary: bool = False) -> Float[Values, "T G C"] | Float[Values, "G C"]:
        """The policy behind the i-th level, ready for `bisimulator.evaluate`.

        Args:
            i: index into `levels`.
            stationary: return the best policy found that ignores the time, which attains `stationary_value[i]`.

        Returns:
            `pi_t(accept | group, score)`, an array (steps, groups, scores) that attains `value[i]`; with `stationary`
            `pi(accept | group, score)`, an array (groups, scores).

        Raises:
            ValueError: if no policy reaches the level, or none attains `value` (see `attained`).

        Example:
            >>> env = bisimulator.make("lending", population=50, horizon=500)
            >>> best = frontier(env, levels=[0.9])
            >>> best.policy(0).shape, best.policy(0, stationary=True).shape
            ((500, 2, 7), (2, 7))
        """
        table, point = self._tables[i], self._points[i]
        if not stationary and not self.attained:
            raise ValueError(
                f"no policy attains the bound of {self.env}: it knows everybody's conscientiousness; "
                f"use policy({i}, stationary=True)"
            )
        if stationary and table is not None:
            return table
        if stationary or point is None:
            raise ValueError(
                f"no policy was found at level {self.levels[i]:g} of {self.criterion}; choose a less strict level"
            )
        pairs = zip(self._solver.pools, point.mixtures, strict=True)
        return np.stack([pool.policy(mixture) for pool, mixture in pairs], axis=1)

    @property
    def _title(self) -> str:
        what = "provable optimum" if self.attained else "upper bound, not attained"
        return f"Frontier of {self.env}: best return by {self.criterion}, {len(self.levels)} levels ({what})"

    def _rows(self, limit: int) -> list[tuple[str, str, str, str]]:
        """Level, best return, best of stationary policies and recalls; at most `limit` levels, evenly spaced."""
        count = len(self.levels)
        shown = np.unique(np.linspace(0, count - 1, min(count, limit)).round().astype(int)).tolist()
        return [
            (
                f"{self.levels[i]:.3g}",
                f"{self.upper_bound[i]:.5g}",
                f"{self.stationary_value[i]:.5g}",
                ", ".join(f"{recall:.3g}" for recall in self.recalls[i]),
            )
            for i in shown
        ]

    def __repr__(self) -> str:
        lines = [
            f"  {self.criterion} {level}: {best} (score and group only: {stationary})"
            for level, best, stationary, _ in self._rows(_MAX_LINES)
        ]
        return "\n".join([self._title, *lines])

    def _repr_html_(self) -> str:
        head = (
            self.criterion,
            "best return",
            "score and group only",
            f"recalls ({', '.join(self.group_names)})",
        )
        return html_table(self._title, head, self._rows(_MAX_ROWS))


def frontier(env: Env, criterion: str = "min-recall", levels: ArrayLike | None = None) -> Frontier:
    """The best attainable return at each level of a fairness criterion, with a proof.

    Equal recalls can be reached by levelling the better-off down, which is why "min-recall" is the default;
    `Frontier.levelling_down` says where that happens.

    Args:
        env: an environment in which people are independent Markov chains (lending, us-credit).
        criterion: "min-recall": every group's recall is at least the level. "recall-gap": recalls differ by at most
            the level. "credit-gap": final scores differ by at most the level, in points.
        levels: by default 31 levels, from the strictest that can be reached to where the demand stops binding.

    Returns:
        One entry per level: the optimum, the upper bound that proves it, and the best stationary policy found.

    Raises:
        ValueError: if the criterion is unknown, a level is out of range, or the environment has no exact answer.

    Example:
        >>> frontier(bisimulator.make("lending"), levels=[0.9, 1.0])
        Frontier of lending: best return by min-recall, 2 levels (provable optimum)
          min-recall 0.9: 3914.3 (score and group only: 3835.2)
          min-recall 1: 3570.7 (score and group only: 3570.7)
    """
    chain = person_chain(env)
    check_known("criterion", criterion, CRITERIA)
    pools = [ColumnPool(group) for group in groups_of(chain)]
    solver = CRITERIA[criterion](pools)
    if levels is None:
        grid = np.linspace(*solver.default_levels(), 31)
    else:
        grid = _check_levels("levels", levels, type(solver))
    points = [solver.solve(float(level)) for level in grid]
    tables, moments = stationary_policies(solver, grid, points)
    unreached = np.full_like(solver.unconstrained.moments, np.nan)
    attained = [unreached if point is None else point.moments for point in points]
    sizes = np.array([pool.group.size for pool in pools])
    return Frontier(
        env=env.name,
        criterion=criterion,
        attained=not chain.has_hidden_type,
        levels=grid,
        value=np.array([np.nan if point is None else point.value for point in points]),
        upper_bound=np.array([np.nan if point is None else point.upper_bound for point in points]),
        recalls=np.array([recalls(m) for m in attained]),
        credit_gap=np.array([credit_gap(m) for m in attained]),
        stationary_value=np.array([sizes @ m[:, RETURN] for m in moments]),
        stationary_recalls=np.array([recalls(m) for m in moments]),
        unconstrained_recalls=solver.unconstrained_recalls,
        group_names=env.group_names,
        _solver=solver,
        _points=points,
        _tables=tables,
    )


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
    pools = [ColumnPool(group) for group in groups_of(person_chain(env))]
    lowest = check_array("min_recalls", min_recalls, ndim=(0, 1), hint="pass one number, or one per group")
    if lowest.shape not in ((), (len(pools),)):
        raise ValueError(
            f"min_recalls must be one number or one per group ({len(pools)}), got shape {lowest.shape}"
        )
    return MinRecall(pools).solve(_check_range("min_recalls", lowest, MinRecall)).upper_bound


def _check_levels(name: str, levels: ArrayLike, criterion: type[Criterion]) -> Float[Values, "L"]:
    array = check_array(name, levels, ndim=(0, 1), hint="pass one number or a list, such as [0.9, 1.0]")
    return _check_range(name, np.atleast_1d(array), criterion)


def _check_range(name: str, values: Values, criterion: type[Criterion]) -> Values:
    if (values < 0).any() or (values > criterion.max_level).any():
        wrong = values[(values < 0) | (values > criterion.max_level)].flat[0]
        what = f"({criterion.level_meaning}), got {wrong:g}"
        if criterion.max_level == 1:
            raise ValueError(f"{name} must lie in [0, 1] {what}; did you pass percentages? divide by 100")
        raise ValueError(f"{name} must not be negative {what}; pass a number such as 2.5")
    return values
