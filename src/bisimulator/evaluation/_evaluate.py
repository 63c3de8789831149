"""Simulated evaluation: all episodes of all seeds in one compiled program."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, Key
from numpy.typing import ArrayLike

from bisimulator._html import html_table
from bisimulator._lazy import import_pandas
from bisimulator.core import Env, Outcome, Params, Scenario, Values, require_env
from bisimulator.core.compiling import BRIEFLY
from bisimulator.errors import MAX_EPISODES, check_int, check_seeds
from bisimulator.evaluation._decision_frame import decision_frame
from bisimulator.evaluation.intervals import mean_and_interval
from bisimulator.metrics import column, registered_metrics
from bisimulator.policies import Policy, as_policy
from bisimulator.simulation import action_range, check_action_range, evaluation_keys, in_batches, summarise

if TYPE_CHECKING:
    import pandas

# What is shown first where there is room for a few metrics only: of decisions on applicants, and on all groups at once.
_HEADLINES = ("average_return", "credit_gap", "social_burden_gap", "recall_mean", "recall_gap", "parity_gap")
_OF_GROUPS = (
    "average_return",
    "reward_per_step",
    "sick_days",
    "incidents_missed",
    "accuracy_mean",
    "eligible_burden_gap",
    "benefit_rate_mean",
    "benefit_rate_gap",
    "benefit_rate_bias",
)


def headlines(known: Iterable[str]) -> list[str]:
    """Those of the known metrics that are shown first where there is room for a few only."""
    columns = set(known)
    return [name for name in (_HEADLINES if "recall_gap" in columns else _OF_GROUPS) if name in columns]


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation:
    """Per-episode values of every metric, and the raw outcomes they come from."""

    env: str
    seeds: tuple[int, ...]
    episodes: Mapping[str, Float[Values, "S E"]]  # by metric
    outcome: Outcome  # leading axes (seeds, episodes)
    _env: Env
    _policy: Policy

    @property
    def summary(self) -> dict[str, tuple[float, float]]:
        """metric -> (mean, half width of the 95% confidence interval), both over seeds."""
        return {name: mean_and_interval(values) for name, values in self.episodes.items()}

    def decisions(self) -> pandas.DataFrame:
        """The decisions behind the numbers, one row each.

        fairlearn takes them as they are: `MetricFrame(metrics=..., y_true=rows["qualified"], y_pred=rows["accepted"],
        sensitive_features=rows["group"])`.

        The same episodes are simulated again, so that `evaluate` need not keep half a million rows. A policy that
        draws random numbers of its own, such as NumPy's, decides anew.

        Returns:
            Columns: seed, episode, step, group (its name), score (as it was observed, in points), accepted, qualified
            (would repay or succeed, also when rejected) and reward.

        Raises:
            ValueError: if a step of the environment decides on all groups at once.

        Example:
            >>> env = bisimulator.make("lending", population=50, horizon=500)
            >>> rows = evaluate(env, bisimulator.policies.accept_all(), seeds=4).decisions()
            >>> rows.groupby("group")["accepted"].mean().tolist()
            [1.0, 1.0]
        """
        return decision_frame(self._env, self._policy, self.seeds, self._num_episodes)

    @property
    def by_group(self) -> pandas.DataFrame:
        """One row per group, one column per metric that groups have: means over seeds, as `MetricFrame.by_group`."""
        pandas, names = import_pandas(), self._env.group_names
        means = {column: mean for column, (mean, _) in self.summary.items()}
        metrics = dict.fromkeys(column.removesuffix("_g1") for column in means if column.endswith("_g1"))
        table = {metric: [means[f"{metric}_g{g + 1}"] for g in range(len(names))] for metric in metrics}
        return pandas.DataFrame(table, index=pandas.Index(names, name="group"))

    @property
    def _num_episodes(self) -> int:
        return int(next(iter(self.episodes.values())).shape[1])

    @property
    def _title(self) -> str:
        return f"Evaluation of {self.env}: {len(self.seeds)} seeds x {self._num_episodes} episodes"

    @property
    def _rows(self) -> list[tuple[str, str]]:
        intervals = {m: mean_and_interval(self.episodes[m]) for m in headlines(self.episodes)}
        return [(column(m).title, f"{mean:.4g} ± {half:.2g}") for m, (mean, half) in intervals.items()]

    @property
    def _note(self) -> str:
        return f"All {len(self.episodes)} metrics with their 95% intervals are in .summary"

    def __repr__(self) -> str:
        return "\n".join(
            [self._title, *(f"  {name}: {value}" for name, value in self._rows), f"  {self._note}"]
        )

    def _repr_html_(self) -> str:
        return html_table(self._title, (), self._rows, self._note)


def evaluate(
    env: Env,
    policy: Policy | Callable[..., ArrayLike] | ArrayLike,
    *,
    episodes: int = 5,
    seeds: int | Sequence[int] = 10,
) -> Evaluation:
    """Simulate a policy and compute every metric that applies to the environment.

    Args:
        env: an environment from `bisimulator.make`.
        policy: a policy of `bisimulator.policies`, a function of observations, or an array of acceptance
            probabilities (groups, scores), or (steps, groups, scores) if they change with time.
        episodes: episodes per seed.
        seeds: how many seeds, or which ones. A seed's episodes do not depend on the other seeds, and no training
            uses them.

    Returns:
        Per-episode values of every metric, and their means with 95% intervals over seeds (`summary`).

    Raises:
        TypeError: if `env` is not an environment, or `policy` is not a policy.
        ValueError: if a number is out of range.

    Example:
        >>> env = bisimulator.make("lending", population=50, horizon=500)
        >>> evaluation = evaluate(env, bisimulator.policies.accept_all(), seeds=4)
        >>> evaluation.summary["recall_gap"]
        (0.0, 0.0)
    """
    require_env(env)
    check_int("episodes", episodes, min=1, max=MAX_EPISODES)
    checked = check_seeds(seeds)
    bound = as_policy(policy)
    outcome = run_episodes(env, bound, evaluation_keys(checked, episodes))
    return Evaluation(env.name, checked, metric_columns(env, outcome), outcome, env, bound)


def run_episodes(env: Env, policy: Policy, keys: Key[Array, "..."]) -> Outcome:
    """The outcomes of one episode per key, in batches of bounded memory; leading axes as those of the keys.

    Raises:
        ValueError: if the policy returns an action that the environment does not have.
    """

    def run(keys: Key[Array, "B"]) -> tuple[Outcome, Array, Array]:
        ran: tuple[Outcome, Array, Array] = _run(
            env.name, env.scenario, env.params, policy, keys, env.horizon
        )
        return ran

    flat, lowest, highest = in_batches(env, keys.reshape(-1), run)
    check_action_range(env, lowest.min(), highest.max())
    outcome: Outcome = jax.tree.map(lambda x: x.reshape(keys.shape + x.shape[1:]), flat)
    return outcome


def _run_episodes(
    name: str, scenario: Scenario, params: Params, policy: Policy, keys: Key[Array, "B"], horizon: int
) -> tuple[Outcome, Int[Array, "B"], Int[Array, "B"]]:
    """Outcomes, and the lowest and highest action of each episode."""
    env = Env(name, scenario, params)

    def one(key: Key[Array, ""]) -> tuple[Outcome, Array, Array]:
        decisions, state = policy.rollout(env, key, horizon)
        return summarise(decisions, state, scenario, params), *action_range(decisions)

    return jax.vmap(one)(keys)


_run = eqx.filter_jit(_run_episodes, compiler_options=BRIEFLY)  # type: ignore[call-overload]


def metric_columns(env: Env, outcome: Outcome) -> dict[str, Values]:
    """The columns of every metric that applies to the environment, with the leading axes of the outcome."""
    columns: dict[str, Values] = {}
    for metric in registered_metrics():
        if metric.applies(env.scenario):
            columns |= metric.columns(outcome)
    return columns
