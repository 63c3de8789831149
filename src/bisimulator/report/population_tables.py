"""`bisimulator population`: the people of a file by group and bin of scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator.exact.chain import person_chain
from bisimulator.people.population import Population
from bisimulator.report.text import move_in_words, plain_table


def print_population(population: Population, settings: Mapping[str, object], console: Console) -> None:
    """Print a population and the moves of its scores; `settings` are further parameters of lending."""
    env = population.make(**settings)
    chain = person_chain(env)
    console.print(group_table(population), "")
    console.print(bin_table(population), "")
    for note in population.notes:
        console.print(f"Note: {note}", soft_wrap=True, markup=False)
    moves = "A repaid loan and a default move the score by a table"
    if chain.shifts is not None:
        up, down = (move_in_words(env, move) for move in chain.shifts)
        moves = f"A repaid loan raises the score by {up}, a default lowers it by {down}"
    console.print(
        f"{moves}; they are worth {chain.reward_repaid:g} and {chain.reward_default:g}.", soft_wrap=True
    )


def group_table(population: Population) -> Table:
    head, rows = population.group_table()
    table = plain_table(f"{escape(population.origin)}: groups", head[:1], head[1:])
    for name, *cells in rows:
        table.add_row(escape(name), *cells)
    return table


def bin_table(population: Population) -> Table:
    """Each group's share of people in each bin and, after a slash, their estimated rate of repayment."""
    title = "Bins of scores: % of the group / % who repay"
    table = plain_table(title, ["score"], [escape(name) for name in population.group_names])
    for c, label in enumerate(population.bin_labels):
        pairs = zip(100 * population.initial[:, c], 100 * population.repayment[:, c], strict=True)
        table.add_row(label, *(f"{share:.1f} / {np.round(rate, 1)}" for share, rate in pairs))
    return table
