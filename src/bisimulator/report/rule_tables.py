"""`bisimulator simulate`: fixed policies on a scenario, per group, next to the paper's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator import published, registry
from bisimulator.core import Env, make
from bisimulator.errors import check_int, check_known
from bisimulator.evaluation import evaluate
from bisimulator.policies import Policy, Rule

Summary = Mapping[str, tuple[float, float]]

PER_GROUP = {
    "approval_rate": "approval rate",
    "recall": "recall",
    "precision": "precision",
    "approvals": "approvals",
    "return": "return/person",
    "social_burden": "social burden",
}
# where the paper has no table of its own
HEADLINES = ("average_return", "credit_gap", "recall_mean", "recall_gap")
OTHER_SETTINGS = "The paper's rows hold for the paper's parameters; yours differ."


def show_simulation(
    scenario: str,
    methods: Sequence[str],
    *,
    settings: Mapping[str, Any],
    seeds: int,
    episodes: int,
    next_to: Sequence[str] | None,
    console: Console,
) -> None:
    """Everything is checked before anything runs. `next_to`: published methods to show, None: all."""
    env = make(scenario, **settings)
    policies = {name: rule_policy(name, env) for name in methods}
    for name in next_to or ():
        check_known(f"published method for {scenario}", name, published.methods(scenario))
    check_int("seeds", seeds, min=1)
    check_int("episodes", episodes, min=1)
    rows = published.methods(scenario) if next_to is None else next_to
    summaries = {
        name: evaluate(env, policy, seeds=seeds, episodes=episodes).summary
        for name, policy in policies.items()
    }
    console.print(f"{env}, {seeds} seeds x {episodes} episodes\n", soft_wrap=True)
    console.print(per_group_table(summaries, env.group_names), "")
    console.print(comparison_table(scenario, summaries, rows), "")
    if settings and rows:
        console.print(OTHER_SETTINGS)
    if len(summaries) > 1:
        console.print(in_one_sentence(summaries))


def rule_policy(name: str, env: Env, config: object = None) -> Policy:
    """The policy of a rule; `config` is the rule's own by default."""
    method = registry.lookup("method", name)
    if not isinstance(method, Rule):
        rules = [
            known for known in registry.names("method") if isinstance(registry.lookup("method", known), Rule)
        ]
        raise ValueError(f"{name!r} has to be trained first; simulate takes one of {', '.join(rules)}")
    return method.build(method.config if config is None else config, env)


def per_group_table(summaries: Mapping[str, Summary], groups: Sequence[str]) -> Table:
    known = [metric for metric in PER_GROUP if f"{metric}_g1" in next(iter(summaries.values()))]
    table = plain_table("Each group", ["policy"], ["group", *(PER_GROUP[metric] for metric in known)])
    for name, summary in summaries.items():
        for g, group in enumerate(groups, start=1):
            cells = [number(summary[f"{metric}_g{g}"][0]) for metric in known]
            table.add_row(name if g == 1 else "", escape(group), *cells)
        table.add_section()
    return table


def comparison_table(scenario: str, summaries: Mapping[str, Summary], rows: Sequence[str]) -> Table:
    """Our rows first, in the metrics of the paper's table for this scenario."""
    theirs = {method: published.row(scenario, method) for method in rows}
    ours = next(iter(summaries.values()))
    columns = list(dict.fromkeys(metric for row in theirs.values() for metric in row))
    columns = columns or [metric for metric in HEADLINES if metric in ours]
    titles = [metric.removeprefix("average_").removeprefix("social_").replace("_", " ") for metric in columns]
    table = plain_table("Next to the paper, ± half width of the 95% interval", ["", "method"], titles)
    for where, group in (("here", summaries), ("paper", theirs)):
        for name, summary in group.items():
            table.add_row(where, name, *(number(*summary[metric]) for metric in columns))
        table.add_section()
    return table


def plain_table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    for column in words:
        table.add_column(column)
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def number(mean: float, half: float = nan) -> str:
    if isnan(mean):
        return "-"
    digits = 1 if abs(mean) >= 100 else 2
    return f"{mean:.{digits}f}" + ("" if isnan(half) else f"±{half:.{digits}f}")


def in_one_sentence(summaries: Mapping[str, Summary]) -> str:
    """The first policy against the last, in words."""
    (one, a), *_, (other, b) = summaries.items()

    def change_of(metric: str) -> str:
        return f"from {b[metric][0]:.2f} to {a[metric][0]:.2f}"

    change = a["average_return"][0] / b["average_return"][0] - 1 if b["average_return"][0] else float("nan")
    cost = "" if isnan(change) else f", for {abs(change):.1%} {'more' if change > 0 else 'less'} return"
    scores = f" and their final scores {change_of('credit_gap')} points apart" if "credit_gap" in a else ""
    recalls = f"brings the groups' recalls {change_of('recall_gap')} apart"
    return f"{one.capitalize()} instead of {other} {recalls}{scores}{cost}."
