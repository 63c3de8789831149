"""Policies: fixed rules, functions, rules that are refitted, and trained networks."""

from bisimulator.policies.adaptive import Adaptive
from bisimulator.policies.fixed import (
    Constant,
    Random,
    Table,
    Thresholds,
    accept_all,
    random,
    reject_all,
    table,
    thresholds,
)
from bisimulator.policies.functions import Function, as_policy
from bisimulator.policies.networks import MLP, Network, make_mlp
from bisimulator.policies.policy import DependsOn, Policy
from bisimulator.policies.rules import NoConfig, Rule
from bisimulator.policies.timed import Clock, clock

__all__ = [
    "MLP",
    "Adaptive",
    "Clock",
    "Constant",
    "DependsOn",
    "Function",
    "Network",
    "NoConfig",
    "Policy",
    "Random",
    "Rule",
    "Table",
    "Thresholds",
    "accept_all",
    "as_policy",
    "clock",
    "make_mlp",
    "random",
    "reject_all",
    "table",
    "thresholds",
]
