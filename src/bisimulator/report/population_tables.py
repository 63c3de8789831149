"""`bisimulator population`: who the people of a file are, and their settings for lending."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator import files
from bisimulator.exact.chain import person_chain
from bisimulator.people.population import Population
from bisimulator.report.rule_tables import plain_table


def show_population(
    found: Population, settings: Mapping[str, Any], out: Path | None, console: Console
) -> None:
    """Print it; `out`: also write it as settings of lending, after checking them."""
    chain = person_chain(found.make(**settings))
    console.print(group_table(found), "")
    console.print(bin_table(found), "")
    for note in found.notes:
        console.print(f"Note: {note}", soft_wrap=True, markup=False)
    console.print(
        f"A repaid loan raises the score by {chain.score_up} bin(s), a default lowers it by "
        f"{chain.score_down}; they are worth {chain.reward_repaid:g} and {chain.reward_default:g}.",
        soft_wrap=True,
    )
    if out is not None:
        files.write_json(out, found.params(**settings))
        console.print(
            f"Written: {out}. Use it as: bisimulator compare lending --set @{out}",
            soft_wrap=True,
            markup=False,
        )


def group_table(found: Population) -> Table:
    table = plain_table(f"{escape(found.origin)}: groups", ["group"], ["people", "share", "repaid"])
    for g, name in enumerate(found.group_names):
        people, repaid = found.people[g].sum(), found.repaid[g].sum()
        table.add_row(
            escape(name), f"{people:,.0f}", f"{100 * found.shares[g]:.1f}%", f"{100 * repaid / people:.1f}%"
        )
    return table


def bin_table(found: Population) -> Table:
    """Each group's share of people in each bin and, after a stroke, their estimated rate of repayment."""
    title = "Bins of scores: % of the group / % that repay"
    table = plain_table(title, ["score"], [escape(name) for name in found.group_names])
    for c, label in enumerate(found.bin_labels):
        pairs = zip(100 * found.initial[:, c], 100 * found.repayment[:, c], strict=True)
        table.add_row(label, *(f"{share:.1f} / {np.round(rate, 1)}" for share, rate in pairs))
    return table
