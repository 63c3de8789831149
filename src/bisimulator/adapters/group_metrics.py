"""`group_metrics`: how any policy treats the groups of any Gymnasium environment."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, cast

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from jaxtyping import Float, Int
from scipy import stats

from bisimulator._html import html_table
from bisimulator._lazy import import_pandas
from bisimulator._text import aligned
from bisimulator.adapters._decisions import Acceptance, Accepted
from bisimulator.adapters._episodes import ActFunction, AnyEnv, Model, act_function, episode_steps
from bisimulator.adapters._group_rates import RATES, decision_moments, rates
from bisimulator.adapters.group_info import check_groups, env_attribute, group_spec
from bisimulator.core import Values
from bisimulator.errors import MAX_EPISODES, MAX_SEED, check_function, check_int, explain, shown
from bisimulator.evaluation.intervals import Interval, mean_interval
from bisimulator.goals.moments import M
from bisimulator.policies import Policy

if TYPE_CHECKING:
    import pandas

_CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class GroupMetrics:
    """What `group_metrics` found. Every number has its 95% interval over episodes; NaN: there was nothing to count."""

    env: str
    sums: Float[Values, "E G K M"]  # moments of each episode, group and kind of acceptance
    returns_of_episodes: Float[Values, "E"]
    shown_kind: int = 0

    @property
    def approval(self) -> tuple[Interval, ...]:
        """The share of decisions that accept, per group."""
        return self._by_group("approval")

    @property
    def recall(self) -> tuple[Interval, ...]:
        """The share of qualified people who are accepted, per group; NaN if the environment does not know them."""
        return self._by_group("recall")

    @property
    def group_return(self) -> tuple[Interval, ...]:
        """Reward per person of each group; per decision if the environment has no `decisions_per_person`."""
        return self._by_group("return")

    @property
    def average_return(self) -> Interval:
        """The return of an episode."""
        return mean_interval(self.returns_of_episodes)

    @property
    def decisions(self) -> Int[Values, "G"]:
        """How many decisions were about each group."""
        counts: Int[Values, "G"] = self.sums[:, :, 0, M.APPLIED].sum(0).astype(np.int64)
        return counts

    @property
    def gaps(self) -> dict[str, Interval]:
        """The largest difference between two groups: of "approval", "recall" and "return"."""
        return {name: self._gap(name) for name in RATES}

    @property
    def kinds(self) -> int:
        """How many kinds of acceptance there are."""
        return int(self.sums.shape[2])

    def kind(self, index: int) -> GroupMetrics:
        """The same metrics for another kind of acceptance, from 0.

        Raises:
            ValueError: if there is no such kind.
        """
        return dataclasses.replace(self, shown_kind=check_int("kind", index, min=0, max=self.kinds - 1))

    def to_frame(self) -> pandas.DataFrame:
        """One row per metric, kind of acceptance and group; the group of a gap is "gap"."""
        pandas = import_pandas()
        rows = []
        for kind in range(self.kinds):
            metrics = self.kind(kind)
            for name in RATES:
                by_group = [(str(g), value) for g, value in enumerate(metrics._by_group(name))]
                rows += [
                    (name, kind, group, *value) for group, value in [*by_group, ("gap", metrics._gap(name))]
                ]
        return pandas.DataFrame(rows, columns=["metric", "kind", "group", "estimate", "low", "high"])

    def _influence(self, name: str) -> tuple[Float[Values, "G"], Float[Values, "E G"]]:
        """A rate per group, and by how much each episode moves it (the linearisation of a ratio of sums)."""
        sums = self.sums[:, :, self.shown_kind]
        part, whole = RATES[name]
        rate = rates(sums.sum(0), name)
        with np.errstate(invalid="ignore", divide="ignore"):
            influence = (sums[..., part] - rate * sums[..., whole]) / sums[..., whole].sum(0)
        return rate, influence

    def _by_group(self, name: str) -> tuple[Interval, ...]:
        rate, influence = self._influence(name)
        return tuple(_interval(r, i, name) for r, i in zip(rate, influence.T, strict=True))

    def _gap(self, name: str) -> Interval:
        rate, influence = self._influence(name)
        if np.isnan(rate).all():
            return Interval(np.nan, np.nan, np.nan)
        high, low = np.nanargmax(rate), np.nanargmin(rate)
        gap = _interval(rate[high] - rate[low], influence[:, high] - influence[:, low], name)
        return gap._replace(low=max(gap.low, 0.0) if gap.low == gap.low else gap.low)

    @property
    def _head(self) -> list[str]:
        return ["", *(f"group {g}" for g in range(self.sums.shape[1])), "gap"]

    @property
    def _rows(self) -> list[list[str]]:
        rows = [["decisions", *map(str, self.decisions), ""]]
        for kind in range(self.kinds):
            metrics, suffix = self.kind(kind), f" ({kind})" if self.kinds > 1 else ""
            for name in RATES:
                by_group = metrics._by_group(name)
                if (name != "return" or not kind) and not np.isnan([x.estimate for x in by_group]).all():
                    title = name if name == "return" else name + suffix
                    rows.append([title, *map(_text, by_group), _text(metrics._gap(name))])
        return rows

    @property
    def _title(self) -> str:
        return f"Group metrics of {self.env}: {len(self.sums)} episodes, return {_text(self.average_return)}"

    def __repr__(self) -> str:
        lines = aligned([self._head, *self._rows])
        return "\n".join([self._title, *(f"  {line}".rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        return html_table(self._title, self._head, self._rows)


def group_metrics(
    env: str | AnyEnv,
    policy: Policy | Model | ActFunction,
    *,
    episodes: int = 20,
    seed: int = 0,
    accepted: Accepted | None = None,
    num_groups: int | None = None,
) -> GroupMetrics:
    """Approval, recall and return per group of any Gymnasium environment that names groups, under any policy.

    Args:
        env: an environment, a vector environment, or a Gymnasium id.
        policy: a function from what the environment returns as an observation to actions, a model of
            Stable-Baselines3, or, in the library's environments, a policy of `bisimulator.policies`. On-policy models
            sample their actions, as in training; off-policy models take the best action. For another choice, pass
            `bisimulator.adapters.sb3.as_policy(model, deterministic=True)`.
        episodes: how many episodes to play.
        seed: of the environment and of the policies of the library. Episode i of a single environment has seed + i.
        accepted: which decisions accept, a function from a batch of actions to flags, or to one column of flags per
            kind of acceptance. By default `info["accepted"]`, or every action but the first.
        num_groups: how many groups there are, if the environment does not say so.

    Returns:
        The metrics, with 95% intervals over episodes.

    Raises:
        TypeError: if `policy` is no policy.
        ValueError: if the environment does not name groups, or a value is wrong.

    Example:
        >>> metrics = bisimulator.group_metrics("bisimulator/LendingLife-v0", lambda obs: 1, episodes=100)
        >>> metrics.gaps["approval"].estimate
        0.0
    """
    check_int("episodes", episodes, min=1, max=MAX_EPISODES)
    check_int("seed", seed, min=0, max=MAX_SEED)
    if accepted is not None:
        check_function("accepted", accepted)
    opened = _open(env)
    attribute = partial(env_attribute, opened)
    visits = cast("float", attribute("decisions_per_person") or 1.0)
    groups = group_spec(attribute, num_groups).num_groups
    space = opened.single_action_space if isinstance(opened, VectorEnv) else opened.action_space
    acceptance = Acceptance(space, accepted)
    sums: Values = np.zeros((episodes, groups, 1, M.FINAL))
    returns = np.zeros(episodes)
    for step in episode_steps(opened, act_function(policy, opened, seed), episodes, seed):
        counted = step.episode >= 0
        np.add.at(returns, step.episode[counted], step.rewards[counted])
        group = np.where(counted, step.said.group, -1)
        check_groups(group, groups)
        flags = acceptance(step.actions, step.said.accepted)
        moments = decision_moments(step.rewards, group, flags, step.said.qualified, visits)
        if len(moments) != sums.shape[2]:  # nothing was counted yet
            sums = np.repeat(sums, len(moments), 2)
        known = group >= 0
        np.add.at(sums, (step.episode[known], group[known]), moments[:, known].swapaxes(0, 1))
    name = str(opened.spec.id if opened.spec is not None else type(opened.unwrapped).__name__)
    if isinstance(env, str):
        opened.close()
    return GroupMetrics(name, sums, returns)


def _open(env: object) -> AnyEnv:
    if isinstance(env, gymnasium.Env | VectorEnv):
        return env
    try:
        return gymnasium.make(cast(str, env))
    except (gymnasium.error.Error, ImportError, TypeError, ValueError) as error:
        raise ValueError(
            f"env must be a Gymnasium environment or its id, got {shown(env)} ({explain(error)}); "
            'pass "bisimulator/LendingLife-v0"'
        ) from error


def _interval(estimate: float, influence: Float[Values, "E"], name: str) -> Interval:
    """Student's interval of a linearised estimate, within what is possible."""
    number = len(influence)
    if number < 2 or np.isnan(estimate):
        return Interval(float(estimate), np.nan, np.nan)
    error = np.sqrt(number / (number - 1) * (influence**2).sum())
    half = stats.t.ppf((1 + _CONFIDENCE) / 2, number - 1) * error
    low, high = estimate - half, estimate + half
    if name != "return":  # shares of people
        low, high = max(low, 0.0), min(high, 1.0)
    return Interval(float(estimate), float(low), float(high))


def _text(interval: Interval) -> str:
    if np.isnan(interval.estimate):
        return "-"
    if np.isnan(interval.low):
        return f"{interval.estimate:.3g}"
    return f"{interval.estimate:.3g} ({interval.low:.3g} to {interval.high:.3g})"
