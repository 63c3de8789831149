"""`bisimulator simulate`."""

from __future__ import annotations

from typing import Annotated

import tyro

from bisimulator.cli._console import make_console
from bisimulator.cli._settings import Settings, parse_settings


def simulate(
    scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
    policies: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="POLICY ...")],
    seeds: int = 10,
    episodes: int = 5,
    settings: Settings = (),
    next_to: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="METHOD ...")] = None,
) -> None:
    """Simulate rules on a scenario and print the results of each group next to the paper's (a few seconds).

    Args:
      scenario: an environment of `bisimulator list`.
      policies: one or more rules, such as accept-all threshold max-util.
      seeds: independent repetitions, over which intervals are computed.
      episodes: episodes per seed.
      settings: parameters of the scenario, such as population=500.
      next_to: methods of the paper whose published numbers are shown; all by default.
    """
    from bisimulator import published
    from bisimulator.core import make
    from bisimulator.errors import check_known
    from bisimulator.evaluation import evaluate
    from bisimulator.policies.rules import rule_policy
    from bisimulator.report.rule_tables import comparison_table, in_one_sentence, per_group_table
    from bisimulator.report.text import OTHER_SETTINGS

    if not policies:
        raise ValueError("got no policy; name one or more, such as: accept-all threshold")
    chosen = parse_settings(settings)
    env = make(scenario, **chosen)
    rules = {name: rule_policy(name, env) for name in policies}
    for name in next_to or ():
        check_known(f"published method for {scenario}", name, published.methods(scenario))
    rows = published.methods(scenario) if next_to is None else next_to
    summaries = {n: evaluate(env, p, seeds=seeds, episodes=episodes).summary for n, p in rules.items()}
    console = make_console()
    console.print(f"{env}, {seeds} seeds x {episodes} episodes\n", soft_wrap=True)
    console.print(per_group_table(summaries, env.group_names), "")
    console.print(comparison_table(scenario, summaries, rows), "")
    if chosen and rows:
        console.print(OTHER_SETTINGS)
    if len(summaries) > 1:
        console.print(in_one_sentence(summaries), soft_wrap=True, markup=False)
