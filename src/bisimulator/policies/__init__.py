"""Policies: fixed rules, functions, rules that are refitted, and trained networks."""

from bisimulator.policies.adaptive import Adaptive
from bisimulator.policies.allocating import Proportional, Uniform
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
from bisimulator.policies.juries import FixedJury, Jury
from bisimulator.policies.networks import MLP, Categoricals, Gaussian, Network, make_mlp
from bisimulator.policies.policy import DependsOn, Policy
from bisimulator.policies.rules import NoConfig, Rule
from bisimulator.policies.timed import Clock, clock
from bisimulator.policies.treating import TreatAtRandom, TreatFirst

__all__ = [
    "MLP",
    "Adaptive",
    "Categoricals",
    "Clock",
    "Constant",
    "DependsOn",
    "FixedJury",
    "Function",
    "Gaussian",
    "Jury",
    "Network",
    "NoConfig",
    "Policy",
    "Proportional",
    "Random",
    "Rule",
    "Table",
    "Thresholds",
    "TreatAtRandom",
    "TreatFirst",
    "Uniform",
    "accept_all",
    "as_policy",
    "clock",
    "make_mlp",
    "random",
    "reject_all",
    "table",
    "thresholds",
]
