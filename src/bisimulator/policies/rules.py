"""Rules: methods that need no training, registered by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from bisimulator.core import Env
from bisimulator.policies.fixed import accept_all, reject_all, thresholds
from bisimulator.policies.policy import Policy


@dataclasses.dataclass(frozen=True)
class NoConfig:
    """Nothing to configure."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """A method that needs no training: `build(config, env)` makes its policy for an environment."""

    summary: str
    build: Callable[[Any, Env], Policy]
    published: str = ""  # its name in the paper's tables
    config: Any = NoConfig()


def _middle_threshold(env: Env) -> Policy:
    """The lowest score at which accepting pays as far as the score alone tells, the same for all groups."""
    p, (gain, loss) = env.params, env.params.accept_rewards
    profit = p.group_probs @ (p.qualified_probs * gain + (1 - p.qualified_probs) * loss) > 1e-6
    level = int(np.argmax(profit)) if np.any(profit) else len(profit)
    return thresholds((level,) * env.num_groups)


ACCEPT_ALL = Rule("Accept everybody", lambda config, env: accept_all())
REJECT_ALL = Rule("Reject everybody", lambda config, env: reject_all())
THRESHOLD = Rule(
    "Accept where the score alone says that a single decision pays, the same for all groups",
    lambda config, env: _middle_threshold(env),
)
