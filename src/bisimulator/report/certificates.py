"""Certificates as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator.core import Env, Values
from bisimulator.evaluation.certify import Estimate
from bisimulator.exact.certificate import HORIZONS, SIGNALS, Certificate
from bisimulator.people._bins import labels
from bisimulator.report.text import number, plain_table

_MAX_GROUP_COLUMNS = 4


def print_certificate(certificate: Certificate | Estimate, env: Env, *, title: str, console: Console) -> None:
    """Print a certificate, or an estimate, which says that it is one."""
    if isinstance(certificate, Estimate):
        console.print(f"{title}: {certificate}", soft_wrap=True, markup=False)
        return
    console.print(certificate_table(certificate, title, env.group_names), "")
    console.print(certificate.explanation, soft_wrap=True, markup=False)
    entry = certificate.main
    if entry.worst_pair is not None:
        g, h = (env.group_names[group] for group in entry.groups)
        one, other = (score_names(env)[score] for score in entry.worst_pair)
        console.print(
            f"Of those matched at the start, a person of group {g} with score {one} and one of group {h} with score "
            f"{other} differ most: by {entry.worst_distance:.2f}.",
            soft_wrap=True,
            markup=False,
        )


def score_names(env: Env) -> list[str]:
    """How scores are written: as the bins that they stand for, or as numbers."""
    edges = env.params.score_edges
    return labels(np.array(edges)) if edges else [str(score) for score in range(env.params.num_scores)]


def certificate_table(certificate: Certificate, title: str, groups: Sequence[str]) -> Table:
    """One row per signal and horizon: the expected sum per person of each group, the gap and its bound."""
    numbers = [*group_columns("group", groups), "gap", "bound", "slack"]
    table = plain_table(
        escape(f"{title} on {certificate.env}: exact, per person"), ["sum of", "horizon"], numbers
    )
    for horizon in HORIZONS:
        for signal, words in SIGNALS.items():
            entry = certificate.entries.get((signal, horizon))
            if entry is not None:
                cells = [*group_cells(entry.values), entry.gap, entry.bound, max(entry.slack, 0.0)]
                table.add_row(words, HORIZONS[horizon], *(number(cell) for cell in cells))
        table.add_section()
    return table


def group_columns(what: str, groups: Sequence[str]) -> list[str]:
    """One column per group; of many groups the lowest and the highest."""
    if len(groups) > _MAX_GROUP_COLUMNS:
        return [f"lowest {what}", f"highest {what}"]
    return [escape(f"{what} {group}") for group in groups]


def group_cells(values: Values) -> list[float]:
    return [values.min(), values.max()] if values.size > _MAX_GROUP_COLUMNS else list(values)
