"""Everything that is added to rewards: the learned correction, that of a goal, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from jaxtyping import PyTree
from numpy.typing import NDArray

from bisimulator.adapters._decisions import Acceptance, Accepted, Decisions, Said
from bisimulator.adapters._recent_decisions import StateDict
from bisimulator.adapters.corrector import Corrector, corrector_options
from bisimulator.adapters.goal_corrector import GoalCorrector
from bisimulator.adapters.group_info import AttributeLookup
from bisimulator.errors import shown
from bisimulator.goals import Goal, GoalConfig
from bisimulator.methods.bisimulator import Config

AnyGoal: TypeAlias = str | Goal | Sequence[str] | GoalCorrector | None
Control: TypeAlias = GoalConfig | Mapping[str, Any] | None


class Corrections:
    """The corrections of one environment, with one interface. Either of the two may be missing."""

    def __init__(
        self, corrector: Corrector | None, goal: GoalCorrector | None, acceptance: Acceptance
    ) -> None:
        self.corrector, self.goal, self._acceptance = corrector, goal, acceptance

    def decisions(
        self,
        observations: PyTree[np.ndarray],
        actions: NDArray[np.generic],
        rewards: NDArray[np.floating],
        said: Said,
    ) -> Decisions:
        """Decisions with everything that the corrections need to know of them."""
        accepted = self._acceptance(actions, said.accepted)
        return Decisions(observations, actions, rewards, said.group, accepted, said.qualified)

    def record(self, decisions: Decisions, measured: NDArray[np.bool_] | None = None) -> None:
        """Remember decisions; a goal measures only those that are `measured`, by default all."""
        d = decisions
        if self.corrector is not None:
            self.corrector.record(d.observations, d.actions, d.rewards, d.group)
        if self.goal is not None:
            group = d.group if measured is None else np.where(measured, d.group, -1)
            self.goal.record(d.rewards, group, d.accepted, d.qualified)

    def learn(self) -> bool:
        """Improve both on what was recorded; False if that is not enough yet."""
        learned = [part.learn() for part in (self.corrector, self.goal) if part is not None]
        return any(learned)

    def correction(self, decisions: Decisions) -> NDArray[np.float32]:
        """What is added to the reward of each decision."""
        d, total = decisions, np.zeros(decisions.group.shape, np.float32)
        if self.corrector is not None:
            total += self.corrector.correction(d.observations, d.actions, d.group)
        if self.goal is not None:
            total += self.goal.correction(d.rewards, d.group, d.accepted, d.qualified)
        return total

    def describe(self) -> dict[str, float]:
        described = {} if self.corrector is None else self.corrector.describe()
        return described if self.goal is None else described | self.goal.describe()

    def state_dict(self) -> StateDict:
        arrays = {} if self.corrector is None else self.corrector.state_dict()
        return arrays if self.goal is None else arrays | self.goal.state_dict()

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        if self.corrector is not None:
            self.corrector.load_state_dict(arrays)
        if self.goal is not None:
            self.goal.load_state_dict(arrays)


def check_request(goal: AnyGoal, control: Control, options: Mapping[str, Any]) -> None:
    """Raise if what a user asks for does not exist, before there is an environment."""
    corrector_options(options, Config())
    if goal is None and control is not None:
        raise ValueError(
            f"control is for goals, got {shown(control)} without one; add goal='approval-gap=0.05', for example"
        )
    if not isinstance(goal, GoalCorrector):
        GoalCorrector(goal, 2, control=control)


def make_corrections(
    spaces_of_one: tuple[spaces.Space[object], spaces.Space[object]],
    attribute: AttributeLookup,
    config: Config,
    *,
    num_groups: int | None,
    goal: AnyGoal,
    control: Control,
    accepted: Accepted | None,
    options: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    corrector: Corrector | None = None,
) -> Corrections:
    """The corrections that a user asks for: with a goal and no options of the Bisimulator, the goal's alone.

    Args:
        spaces_of_one: observation and action space of a single environment.
        attribute: the environment's attributes.
        config: the default configuration of the learned correction.
        num_groups, goal, control, accepted, options: the user's; `options` for the learned correction.
        defaults: of the keywords of `Corrector`.
        corrector: a learned correction that there is already.
    """
    check_request(goal, control, options)
    if corrector is None and (goal is None or options):
        config = config if goal is None else config.for_goal()
        keywords = {**(defaults or {}), **corrector_options(options, config)}
        corrector = Corrector.from_attributes(*spaces_of_one, attribute, num_groups, keywords)
    if goal is not None and not isinstance(goal, GoalCorrector):
        goal = GoalCorrector.from_attributes(attribute, goal, num_groups, control)
    return Corrections(corrector, goal, Acceptance(spaces_of_one[1], accepted))
