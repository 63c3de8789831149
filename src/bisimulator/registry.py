"""What can be asked for by name. Adding an environment, a method or a metric is one line here.

Names map to "module:OBJECT" and are imported when asked for, so listing them costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from bisimulator.errors import check_known

ENVIRONMENTS = {
    "lending": "bisimulator.envs.lending:LENDING",
    "lending-conscientiousness": "bisimulator.envs.lending:LENDING_CONSCIENTIOUSNESS",
    "lending-10-groups": "bisimulator.envs.lending:LENDING_10_GROUPS",
    "lending-us-2003": "bisimulator.envs.us_credit:LENDING_US_2003",
    "college": "bisimulator.envs.college:COLLEGE",
}

METRICS = {
    "return": "bisimulator.metrics.returns:METRIC",
    "recall": "bisimulator.metrics.recall:METRIC",
    "precision": "bisimulator.metrics.precision:METRIC",
    "approval-rate": "bisimulator.metrics.approval_rate:METRIC",
    "approvals": "bisimulator.metrics.approvals:METRIC",
    "credit-gap": "bisimulator.metrics.credit_gap:METRIC",
    "observed-credit-gap": "bisimulator.metrics.credit_gap:OBSERVED",
    "social-burden": "bisimulator.metrics.social_burden:METRIC",
}

METHODS: dict[str, str] = {
    "accept-all": "bisimulator.policies:ACCEPT_ALL",
    "reject-all": "bisimulator.policies:REJECT_ALL",
    "threshold": "bisimulator.policies:THRESHOLD",
    "max-util": "bisimulator.methods.max_util:MAX_UTIL",
    "eo": "bisimulator.methods.eo:EO",
    "classifier": "bisimulator.methods.classifier:CLASSIFIER",
    "ppo": "bisimulator.methods.plain:PPO",
    "dqn": "bisimulator.methods.plain:DQN",
    "r-ppo": "bisimulator.methods.r_ppo:R_PPO",
    "a-ppo": "bisimulator.methods.a_ppo:A_PPO",
    "lag-ppo": "bisimulator.methods.lag_ppo:LAG_PPO",
    "elbert": "bisimulator.methods.elbert:ELBERT",
    "ppo-bisimulator": "bisimulator.methods.bisimulator:PPO_BISIMULATOR",
    "ppo-bisimulator-reward": "bisimulator.methods.bisimulator:PPO_BISIMULATOR_REWARD",
    "dqn-bisimulator": "bisimulator.methods.bisimulator:DQN_BISIMULATOR",
    "dqn-bisimulator-reward": "bisimulator.methods.bisimulator:DQN_BISIMULATOR_REWARD",
}

KINDS = {"environment": ENVIRONMENTS, "method": METHODS, "metric": METRICS}


def lookup(kind: str, name: str) -> Any:
    """The object registered under `name`; an unknown name says which names are close."""
    table = KINDS[kind]
    check_known(kind, name, table)
    module, _, attribute = table[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
