"""Everything that can be asked for by name: environments, methods and metrics.

Built-in names map to "module:OBJECT" and are imported on first use, so that listing them costs nothing. Other packages
add their own through entry points (groups `bisimulator.environments`, `.methods` and `.metrics`), and programs through
`register`.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal, TypeAlias, get_args

from bisimulator.errors import check_known

Kind: TypeAlias = Literal["environment", "method", "metric"]

BUILT_IN: dict[Kind, dict[str, str]] = {
    "environment": {
        "lending": "bisimulator.envs.lending:LENDING",
        "lending-conscientiousness": "bisimulator.envs.lending:LENDING_CONSCIENTIOUSNESS",
        "lending-10-groups": "bisimulator.envs.lending:LENDING_10_GROUPS",
        "lending-us-2003": "bisimulator.envs.us_credit:LENDING_US_2003",
        "lending-uci-default": "bisimulator.envs.uci_default:LENDING_UCI_DEFAULT",
        "lending-delayed-impact": "bisimulator.envs.lending_delayed_impact:LENDING_DELAYED_IMPACT",
        "lending-harder": "bisimulator.envs.lending_delayed_impact:LENDING_HARDER",
        "college": "bisimulator.envs.college:COLLEGE",
        "college-threshold": "bisimulator.envs.college_threshold:COLLEGE_THRESHOLD",
        "college-law-school": "bisimulator.envs.law_school:COLLEGE_LAW_SCHOOL",
        "attention": "bisimulator.envs.attention:ATTENTION",
        "attention-harder": "bisimulator.envs.attention:ATTENTION_HARDER",
        "infectious": "bisimulator.envs.infectious:INFECTIOUS",
        "infectious-harder": "bisimulator.envs.infectious:INFECTIOUS_HARDER",
    },
    "method": {
        "accept-all": "bisimulator.policies.rules:ACCEPT_ALL",
        "reject-all": "bisimulator.policies.rules:REJECT_ALL",
        "threshold": "bisimulator.policies.rules:THRESHOLD",
        "uniform": "bisimulator.policies.allocating:UNIFORM",
        "proportional": "bisimulator.policies.allocating:PROPORTIONAL",
        "nobody": "bisimulator.policies.treating:NOBODY",
        "degree": "bisimulator.policies.treating:DEGREE",
        "eigenvector": "bisimulator.policies.treating:EIGENVECTOR",
        "betweenness": "bisimulator.policies.treating:BETWEENNESS",
        "random": "bisimulator.policies.allocating:RANDOM",
        "fixed-jury": "bisimulator.policies.juries:FIXED",
        "static-jury": "bisimulator.policies.juries:STATIC",
        "continuous-jury": "bisimulator.policies.juries:CONTINUOUS",
        "robust-jury": "bisimulator.policies.juries:ROBUST",
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
        "max-min-ppo": "bisimulator.methods.max_min_ppo:MAX_MIN_PPO",
        "ggf-ppo": "bisimulator.methods.ggf_ppo:GGF_PPO",
        "foc-ppo": "bisimulator.methods.foc_ppo:FOC_PPO",
        "f-ppo-l": "bisimulator.methods.f_ppo_l:F_PPO_L",
    },
    "metric": {
        "return": "bisimulator.metrics.returns:METRIC",
        "recall": "bisimulator.metrics.ratios:RECALL",
        "precision": "bisimulator.metrics.ratios:PRECISION",
        "approval-rate": "bisimulator.metrics.ratios:APPROVAL_RATE",
        "approvals": "bisimulator.metrics.approvals:METRIC",
        "credit-gap": "bisimulator.metrics.credit_gap:METRIC",
        "observed-credit-gap": "bisimulator.metrics.credit_gap:OBSERVED",
        "social-burden": "bisimulator.metrics.ratios:SOCIAL_BURDEN",
        "eligible-burden": "bisimulator.metrics.ratios:ELIGIBLE_BURDEN",
        "accuracy": "bisimulator.metrics.ratios:ACCURACY",
        "benefit-rate": "bisimulator.metrics.benefit_rate:METRIC",
        "reward-per-step": "bisimulator.metrics.reward_per_step:METRIC",
        "sick-days": "bisimulator.metrics.tallies:SICK_DAYS",
        "incidents-seen": "bisimulator.metrics.tallies:INCIDENTS_SEEN",
        "incidents-missed": "bisimulator.metrics.tallies:INCIDENTS_MISSED",
    },
}
_registered: dict[Kind, dict[str, object]] = {kind: {} for kind in get_args(Kind)}


def register(kind: Kind, name: str, entry: object) -> None:
    """Add an entry to the registry alone; `bisimulator.register` also gives an environment its Gymnasium id."""
    check_known("kind", kind, get_args(Kind))
    if name in names(kind):
        raise ValueError(f"there is already {_article(kind)} {kind} {name!r}; choose another name")
    _registered[kind][name] = entry


def unregister(kind: Kind, name: str) -> None:
    """Remove what `register` added."""
    check_known(f"registered {kind}", name, _registered[kind])
    del _registered[kind][name]


def names(kind: Kind) -> list[str]:
    """All names of a kind: built in, from other packages, then registered by the program."""
    return list(dict.fromkeys([*BUILT_IN[kind], *_entry_points(kind), *_registered[kind]]))


def lookup(kind: Kind, name: str) -> Any:
    """The object called `name`; an unknown name raises with the closest names."""
    check_known(kind, name, names(kind))
    if name in _registered[kind]:
        return _registered[kind][name]
    if name in BUILT_IN[kind]:
        module, _, attribute = BUILT_IN[kind][name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    return _entry_points(kind)[name].load()


def is_entry_point(kind: Kind, name: str) -> bool:
    """Whether another package offers it, so that `lookup` imports that package."""
    return name in _entry_points(kind) and name not in _registered[kind]


def is_registered(kind: Kind, name: str) -> bool:
    """Whether this program added it by `register`, so that other processes do not know it."""
    return name in _registered[kind]


@cache
def _entry_points(kind: Kind) -> dict[str, Any]:
    """What other installed packages offer; a built-in name cannot be replaced."""
    return {
        point.name: point
        for point in entry_points(group=f"bisimulator.{kind}s")
        if point.name not in BUILT_IN[kind]
    }


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
