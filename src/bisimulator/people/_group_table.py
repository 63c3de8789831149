"""The groups of a population in a few words: people, their share, past decisions, and how many repaid."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float

from bisimulator.core import Values


def group_table(
    names: Sequence[str],
    people: Float[Values, "G C"],
    accepted: Float[Values, "G C"],
    repaid: Float[Values, "G C"],
) -> tuple[list[str], list[list[str]]]:
    """Head and rows; the column of past decisions only if they rejected somebody."""
    everybody, known, paid = people.sum(1), accepted.sum(1), repaid.sum(1)
    has_rejected = bool((known < everybody).any())
    rows = []
    for g, name in enumerate(names):
        past = [f"{known[g] / everybody[g]:.1%}"] if has_rejected else []
        rate = f"{paid[g] / known[g]:.1%}" if known[g] else "unknown"
        rows.append([name, f"{everybody[g]:,.0f}", f"{everybody[g] / everybody.sum():.1%}", *past, rate])
    return ["group", "people", "share", *(["accepted in the past"] if has_rejected else []), "repaid"], rows
