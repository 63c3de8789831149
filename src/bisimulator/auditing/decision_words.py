"""Decisions by score and group in words: whom a policy accepts, and how it differs from another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.alternatives import Alternative
from bisimulator.core import Env, Values

_SAME = 1e-6


def accepted_in_words(table: Float[Values, "G C"], env: Env) -> str:
    """`a from 640 on, b from 615 on and 37% of those from 590 to 615`."""
    rules = [rule_in_words(row, env) for row in table]
    if len(set(rules)) == 1:
        return (
            rules[0] if len(rules) == 1 or rules[0] in ("everybody", "nobody") else f"every group {rules[0]}"
        )
    return "; ".join(f"{name} {rule}" for name, rule in zip(env.group_names, rules, strict=True))


def rule_in_words(row: Float[Values, "C"], env: Env) -> str:
    """Whom of a group a policy accepts: `everybody`, `nobody`, or ranges of scores, the highest first."""
    runs = [(chance, place) for chance, place in _runs(row, _edges(env)) if chance > 0]
    if not runs:
        return "nobody"
    if len(runs) == 1 and runs[0][1] == "everywhere":
        return "everybody" if runs[0][0] == 1 else f"{_percent(runs[0][0])} of all"
    parts = [
        place if chance == 1 else f"{_percent(chance)} of those {place}" for chance, place in reversed(runs)
    ]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def difference_in_words(ours: Float[Values, "G C"], audited: Float[Values, "G C"], env: Env) -> str:
    """How the decisions `ours` differ from the audited ones, group by group; both by the bins of `env`."""
    by_group = []
    for name, new, old in zip(env.group_names, ours, audited, strict=True):
        changes = list(_changes(new, old, _edges(env)))
        if changes:
            by_group.append(f"of group {name} it {', '.join(changes)}")
    return "; ".join(by_group)


def _changes(new: Float[Values, "C"], old: Float[Values, "C"], edges: Sequence[float]) -> Iterator[str]:
    codes = [f"{a:.6f} {b:.6f}" for a, b in zip(new, old, strict=True)]
    for start, stop in _spans(codes):
        a, b = float(new[start]), float(old[start])
        if abs(a - b) <= _SAME:
            continue
        place = _place(start, stop, edges)
        who = "everybody" if place == "everywhere" else f"those {place}"
        some = "all" if who == "everybody" else who
        if {a, b} <= {0.0, 1.0}:
            yield f"{'also accepts' if a > b else 'no longer accepts'} {who}"
        elif b == 0:
            yield f"also accepts {_percent(a)} of {some}"
        else:
            yield f"accepts {_percent(a)} instead of {_percent(b)} of {some}"


def alternative_in_words(alternative: Alternative) -> str:
    """The policy as an instruction, with its thresholds as `audit` takes them where it has some."""
    levels = alternative.thresholds
    text = f"Accept {accepted_in_words(alternative.table, alternative.env)}."
    if levels is None or len(set(levels.values())) == 1:
        return text
    return f"{text} As thresholds: {','.join(f'{name}={level:g}' for name, level in levels.items())}."


def _runs(row: Float[Values, "C"], edges: Sequence[float]) -> Iterator[tuple[float, str]]:
    """Stretches of scores with the same probability, from the lowest: the probability, and where it is."""
    for start, stop in _spans([f"{chance:.6f}" for chance in row]):
        yield float(row[start]), _place(start, stop, edges)


def _spans(codes: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for stop in range(1, len(codes) + 1):
        if stop == len(codes) or codes[stop] != codes[start]:
            yield start, stop
            start = stop


def _place(start: int, stop: int, edges: Sequence[float]) -> str:
    if start == 0 and stop == len(edges) - 1:
        return "everywhere"
    if stop == len(edges) - 1:
        return f"from {edges[start]:g} on"
    return f"below {edges[stop]:g}" if start == 0 else f"from {edges[start]:g} to below {edges[stop]:g}"


def _edges(env: Env) -> Sequence[float]:
    return env.params.score_edges or tuple(range(env.params.num_scores + 1))


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def decision_rows(
    alternative: Alternative, audited: Float[Values, "G C"] | None, split: Env
) -> list[tuple[object, ...]]:
    """One row per group and bin: its scores, the alternative's probability, and the audited policy's if it is known."""
    edges = _edges(split)
    parts = split.params.num_scores // alternative.env.params.num_scores
    table = np.repeat(alternative.table, parts, axis=1)
    return [
        (
            name,
            float(edges[c]),
            float(edges[c + 1]),
            float(table[g, c]),
            "" if audited is None else float(audited[g, c]),
        )
        for g, name in enumerate(split.group_names)
        for c in range(table.shape[1])
    ]


DECISION_COLUMNS = ("group", "score_from", "score_below", "accept", "accept_audited")
