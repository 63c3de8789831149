"""Rules: methods that need no training, registered by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Generic

import numpy as np
from typing_extensions import TypeVar

from bisimulator import registry
from bisimulator.core import Env, Scenario
from bisimulator.errors import check_int
from bisimulator.policies.fixed import accept_all, reject_all, thresholds
from bisimulator.policies.policy import Policy

C = TypeVar("C", default=Any)  # the configuration of a method, a frozen dataclass


@dataclasses.dataclass(frozen=True)
class NoConfig:
    """The configuration of a method without options."""


NO_CONFIG: Any = NoConfig()  # Any, because it is the default of fields of type C


@dataclasses.dataclass(frozen=True)
class Rule(Generic[C]):
    """A method that needs no training: `build(config, env)` makes its policy for an environment.

    Example:
        >>> ACCEPT_ALL: Rule[NoConfig] = Rule("Accept everybody", lambda config, env: accept_all())
        >>> bisimulator.register("method", "my-rule", ACCEPT_ALL)
    """

    summary: str  # one line, shown by `bisimulator list`
    build: Callable[[C, Env], Policy]
    published: str = ""  # its name in the paper's tables
    config: C = NO_CONFIG  # the default configuration
    applies: Callable[[Scenario], bool] = lambda scenario: scenario.applicants


@dataclasses.dataclass(frozen=True)
class ThresholdConfig:
    """Where the threshold lies."""

    min_score: int | None = None  # the lowest score that is accepted; None: the lowest that is profitable

    def __post_init__(self) -> None:
        if self.min_score is not None:
            check_int("min_score", self.min_score, min=0)


def _threshold(config: ThresholdConfig, env: Env) -> Policy:
    """Accept from the score of the configuration on, for all groups."""
    level = _profitable_score(env) if config.min_score is None else config.min_score
    return thresholds((level,) * env.num_groups)


def _profitable_score(env: Env) -> int:
    """The lowest score at which a single decision is profitable in expectation."""
    p, (gain, loss) = env.params, env.params.accept_rewards
    profit = p.group_probs @ (p.qualified_probs * gain + (1 - p.qualified_probs) * loss) > 1e-6
    return int(np.argmax(profit)) if np.any(profit) else len(profit)


ACCEPT_ALL: Rule[NoConfig] = Rule("Accept everybody", lambda config, env: accept_all())
REJECT_ALL: Rule[NoConfig] = Rule("Reject everybody", lambda config, env: reject_all())
THRESHOLD: Rule[ThresholdConfig] = Rule(
    "One threshold for all groups: the lowest score at which a single decision is profitable",
    _threshold,
    config=ThresholdConfig(),
)


def rule_policy(name: str, env: Env, config: object = None) -> Policy:
    """The policy of a rule by name; `config` is the rule's default if it is not given."""
    rule = registry.lookup("method", name)
    if not isinstance(rule, Rule):
        raise ValueError(f"{name!r} has to be trained first; the rules are {', '.join(rule_names())}")
    check_applies(name, env.name, env.scenario)
    return rule.build(rule.config if config is None else config, env)


def rule_names() -> list[str]:
    """The methods that need no training."""
    return [name for name in registry.names("method") if isinstance(registry.lookup("method", name), Rule)]


def methods_for(scenario: Scenario) -> list[str]:
    """The methods that apply to a scenario."""
    return [name for name in registry.names("method") if registry.lookup("method", name).applies(scenario)]


def check_applies(method: str, env: str, scenario: Scenario) -> None:
    """Raise a ValueError if a method does not apply to an environment."""
    if not registry.lookup("method", method).applies(scenario):
        raise ValueError(
            f"{method!r} does not apply to {env!r}; methods that do: {', '.join(methods_for(scenario))}"
        )
