"""A fairness goal for any environment and any solver, with NumPy inputs and outputs.

It is `goals.control` for decisions from anywhere: multipliers follow how far the groups' rates are from the goal, and
each decision is paid for what it does to the rates. Nothing else about the environment or the solver is needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike, NDArray

from bisimulator._html import html_table
from bisimulator.adapters import _compiled_goal as compiled
from bisimulator.adapters._compiled_goal import known_groups
from bisimulator.adapters._group_rates import RATES, decision_moments, gap, rates
from bisimulator.adapters._recent_decisions import StateDict
from bisimulator.adapters.group_info import (
    AttributeLookup,
    check_finite,
    check_groups,
    env_attribute,
    group_spec,
)
from bisimulator.errors import check_int, check_keywords, check_real
from bisimulator.goals import Goal, GoalConfig
from bisimulator.goals.control import Controller, ControlState
from bisimulator.goals.moments import M


class GoalCorrector:
    """Pursues a goal by a reward correction: `record` decisions, `learn`, and ask for the `correction`.

    Args:
        goal: such as "approval-gap=0.05"; None only measures, and corrects nothing.
        num_groups: how many groups there are, at least 2.
        control: options of `GoalConfig`, such as `{"eta": 0.1}`, which change how multipliers are controlled.
        decisions_per_person: how often a person is decided on, on average. Returns are per person: with 1, per
            decision.

    Raises:
        ValueError: if the goal cannot be pursued here, or a value is wrong.
        TypeError: if `control` has no such option.

    Example:
        >>> corrector = GoalCorrector("approval-gap=0.05", num_groups=4)
        >>> corrector.record(rewards, groups, accepted)  # decisions of the current policy
        >>> corrector.learn()
        True
        >>> rewards = rewards + corrector.correction(rewards, groups, accepted)
    """

    def __init__(
        self,
        goal: str | Goal | Sequence[str] | None,
        num_groups: int,
        *,
        control: GoalConfig | Mapping[str, Any] | None = None,
        decisions_per_person: float = 1.0,
    ) -> None:
        self.goal = Goal(()) if goal is None else Goal.parse(goal)
        for demand in self.goal.demands:
            if demand.needs_lives:
                raise ValueError(
                    f"{demand.name} needs people's final scores, which only the library's own solvers know, got "
                    f"{demand.text!r}; use bisimulator.train, or a goal such as return-gap=0.1"
                )
        self.num_groups = check_int("num_groups", num_groups, min=2)
        self.decisions_per_person = check_real("decisions_per_person", decisions_per_person, min=1e-6)
        self.controller = Controller(self.goal, goal_config(control), self.num_groups, num_scores=0)
        self.recorded = 0  # decisions so far
        self._state: ControlState | None = None  # per kind of acceptance; unknown before the first decision
        self._unmeasured: list[tuple[NDArray[np.float32], NDArray[np.int64]]] = []
        self._num_unmeasured = 0

    @classmethod
    def from_env(
        cls,
        env: gymnasium.Env[ObsType, ActType] | VectorEnv[ObsType, ActType, Any],
        goal: str | Goal | Sequence[str] | None,
        *,
        num_groups: int | None = None,
        control: GoalConfig | Mapping[str, Any] | None = None,
    ) -> GoalCorrector:
        """For a Gymnasium environment, single or vector, that names groups (`adapters.group_info`).

        Args:
            env: the environment.
            goal: such as "approval-gap=0.05".
            num_groups: how many groups there are, if the environment does not say so.
            control: as for the class.

        Raises:
            ValueError: if the environment does not say how many groups there are, or a value is wrong.

        Example:
            >>> GoalCorrector.from_env(gymnasium.make("bisimulator/LendingLife-v0"), "min-recall=0.9")
            GoalCorrector('min-recall=0.9', groups=2, recorded=0)
        """
        return cls.from_attributes(partial(env_attribute, env), goal, num_groups, control)

    @classmethod
    def from_attributes(
        cls,
        attribute: AttributeLookup,
        goal: str | Goal | Sequence[str] | None,
        num_groups: int | None,
        control: GoalConfig | Mapping[str, Any] | None,
    ) -> GoalCorrector:
        """For an environment whose attributes `attribute(name)` gives."""
        visits = attribute("decisions_per_person")
        return cls(
            goal,
            group_spec(attribute, num_groups).num_groups,
            control=control,
            decisions_per_person=1.0 if visits is None else cast("float", visits),
        )

    def record(
        self,
        rewards: ArrayLike,
        groups: ArrayLike,
        accepted: ArrayLike | None = None,
        qualified: ArrayLike | None = None,
    ) -> None:
        """Remember decisions of the current policy, from which the groups' rates are measured.

        Args:
            rewards: one reward per decision, as the environment gave it.
            groups: one group per decision, from 0; decisions of group -1 are left out.
            accepted: whether each decision accepts, or to which share; or one column per kind of acceptance, and every
                demand is made of each kind.
            qualified: whether accepting the person is right, also if rejected.

        Raises:
            ValueError: if the goal needs what is not given, a group is unknown, or a reward is not finite.
        """
        moments, group = self._moments(rewards, groups, accepted, qualified)
        if self._state is None:
            one = self.controller.init()
            self._state = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(moments), *x.shape)), one)
        self._unmeasured.append((moments, group))
        self._num_unmeasured += len(group)
        self.recorded += int((group >= 0).sum())
        if self._num_unmeasured >= self.controller.config.window:  # older ones would hardly count
            self.learn()

    def learn(self) -> bool:
        """Measure what was recorded since the last call, and update the multipliers; False if nothing was recorded."""
        if not self._unmeasured:
            return False
        moments, group = zip(*self._unmeasured, strict=True)
        self._unmeasured, self._num_unmeasured = [], 0
        self._state = compiled.measure(
            self.controller,
            self._state,
            np.concatenate(moments, 1),
            known_groups(np.concatenate(group)),
        )
        return True

    def correction(
        self,
        rewards: ArrayLike,
        groups: ArrayLike,
        accepted: ArrayLike | None = None,
        qualified: ArrayLike | None = None,
    ) -> NDArray[np.float32]:
        """What the goal adds to the reward of each decision; 0 for group -1, and 0 for all before the first `learn`.

        It takes what `record` takes.
        """
        moments, group = self._moments(rewards, groups, accepted, qualified)
        if self._state is None or not self.goal.demands or not group.size:
            return np.zeros(group.shape, np.float32)
        return np.asarray(compiled.correction(self.controller, self._state, moments, known_groups(group)))

    def describe(self) -> dict[str, float]:
        """What is worth logging: rates per group on recent decisions, their gaps, and the multipliers.

        `multiplier/DEMAND_G` is what raising the rate of group G is paid; negative: the rate is to be lowered.
        """
        described: dict[str, float] = {}
        for kind in range(self.kinds):
            state: ControlState = jax.tree.map(lambda x, kind=kind: np.asarray(x[kind]), self._state)
            prefix = f"kind_{kind}/" if self.kinds > 1 else ""
            for name in RATES:
                values = rates(np.asarray(state.sums), name)
                described |= {f"{prefix}{name}_{g}": float(x) for g, x in enumerate(values)}
                described[f"{prefix}{name}_gap"] = gap(values)
            for demand, multipliers in zip(self.goal.demands, state.multipliers, strict=True):
                price = demand.pressure(multipliers, demand.rates(state.sums, np), np)[:, 0]
                start = f"{prefix}multiplier/{demand.name}"
                described |= {f"{start}_{g}": float(x) for g, x in enumerate(price)}
        return {name: value for name, value in described.items() if not np.isnan(value)}

    @property
    def kinds(self) -> int:
        """How many kinds of acceptance there are; 0 before the first decision."""
        return 0 if self._state is None else len(self._state.sums)

    def state_dict(self) -> StateDict:
        """The rates and multipliers, as plain arrays."""
        leaves = jax.tree.leaves(self._state)
        return {
            "goal_recorded": np.array(self.recorded),
            **{f"goal_{i:03d}": np.asarray(leaf) for i, leaf in enumerate(leaves)},
        }

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what `state_dict` returned.

        Raises:
            ValueError: if an array is missing or has another shape.
        """
        leaves, structure = jax.tree.flatten(self.controller.init())
        stored = [arrays[name] for i in range(len(leaves)) if (name := f"goal_{i:03d}") in arrays]
        if "goal_recorded" not in arrays or len(stored) not in (0, len(leaves)):
            raise ValueError("arrays of the goal are missing; they were saved for another goal")
        for leaf, array in zip(leaves, stored, strict=False):
            if array.shape[1:] != leaf.shape:
                raise ValueError(
                    f"the goal's arrays must have shape (kinds, {', '.join(map(str, leaf.shape))}), got {array.shape}; "
                    "they were saved for another goal or another number of groups"
                )
        self.recorded = int(arrays["goal_recorded"])
        self._unmeasured, self._num_unmeasured = [], 0
        self._state = jax.tree.unflatten(structure, map(jnp.asarray, stored)) if stored else None

    def __repr__(self) -> str:
        goal = repr(self.goal.text) if self.goal.demands else None
        return f"{type(self).__name__}({goal}, groups={self.num_groups}, recorded={self.recorded})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), [], [(name, f"{value:.4g}") for name, value in self.describe().items()])

    def _moments(
        self,
        rewards: ArrayLike,
        groups: ArrayLike,
        accepted: ArrayLike | None,
        qualified: ArrayLike | None,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """(K, B, M) and the groups."""
        for demand in self.goal.demands:
            columns = {demand.numerator, demand.denominator}
            if accepted is None and columns & {M.APPROVED, M.APPROVED_QUALIFIED}:
                raise _missing("accepted", demand.text, "whether the decision accepts the person")
            if qualified is None and columns & {M.QUALIFIED, M.APPROVED_QUALIFIED}:
                raise _missing("qualified", demand.text, "whether accepting the person would have been right")
        reward, group = np.asarray(rewards, np.float32), np.asarray(groups, np.int64)
        check_groups(group, self.num_groups)
        check_finite("rewards", reward[group >= 0])
        flags = None if accepted is None else np.asarray(accepted, np.float32)
        right = None if qualified is None else np.asarray(qualified, np.float32)
        return decision_moments(reward, group, flags, right, self.decisions_per_person), group


def goal_config(control: GoalConfig | Mapping[str, Any] | None) -> GoalConfig:
    """A user's options of the control as its configuration."""
    if isinstance(control, GoalConfig):
        return control
    options = control or {}
    check_keywords("the control of a goal", options, [field.name for field in dataclasses.fields(GoalConfig)])
    return GoalConfig(**options)


def _missing(name: str, goal: str, meaning: str) -> ValueError:
    return ValueError(
        f"{goal} needs info['{name}'], {meaning}, which is missing; set it in every step, or wrap the environment: "
        f"WithGroups(env, ..., {name}=lambda before, action, after, info: ...)"
    )
